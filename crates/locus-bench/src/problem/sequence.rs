//! The rounds of one trial.

use locus::Shape;

use crate::Error;
use crate::error::ErrorKind;

/// The rounds of one trial, the same for every policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    shape: Shape,
    /// [T, C]
    contexts: Vec<f32>,
    /// [T, A], realized.
    rewards: Vec<f64>,
    /// `[T]`, the reward that the regret of a step is measured against.
    best_rewards: Vec<f64>,
}

/// One round of a [`Sequence`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round<'a> {
    /// The context that the policy sees.
    pub context: &'a [f32],
    /// The realized reward of every action; the policy sees that of its choice.
    pub rewards: &'a [f64],
    /// The reward that the regret of this step is measured against.
    pub best_reward: f64,
}

impl Sequence {
    /// A sequence of `best_rewards.len()` rounds; `contexts` is [T, C] and `rewards` [T, A], row by row.
    ///
    /// Fails if a length does not fit or a number is not finite.
    pub fn new(
        shape: Shape,
        contexts: Vec<f32>,
        rewards: Vec<f64>,
        best_rewards: Vec<f64>,
    ) -> Result<Self, Error> {
        let n_rounds = best_rewards.len();
        for (what, found, width) in
            [("contexts", contexts.len(), shape.n_features), ("rewards", rewards.len(), shape.n_actions)]
        {
            if width == 0 {
                return Err(invalid(format!("{what} have width 0, expected at least 1")));
            }
            if n_rounds.checked_mul(width) != Some(found) {
                return Err(invalid(format!(
                    "{what} hold {found} numbers, expected {n_rounds} rounds of {width}"
                )));
            }
        }
        let all_finite = contexts.iter().all(|feature| feature.is_finite())
            && rewards.iter().chain(&best_rewards).all(|reward| reward.is_finite());
        if !all_finite {
            return Err(invalid("a number is not finite".to_owned()));
        }
        Ok(Self { shape, contexts, rewards, best_rewards })
    }

    /// A sequence without rounds, and with memory for `steps` of them.
    pub(super) fn with_room(shape: Shape, steps: usize) -> Result<Self, Error> {
        fn room<T>(length: Option<usize>) -> Option<Vec<T>> {
            let mut vector = Vec::new();
            vector.try_reserve_exact(length?).ok()?;
            Some(vector)
        }
        let contexts = room(steps.checked_mul(shape.n_features));
        let rewards = room(steps.checked_mul(shape.n_actions));
        let (Some(contexts), Some(rewards), Some(best_rewards)) = (contexts, rewards, room(Some(steps)))
        else {
            let Shape { n_features, n_actions, .. } = shape;
            return Err(ErrorKind::SequenceTooLarge { steps, n_features, n_actions }.into());
        };
        Ok(Self { shape, contexts, rewards, best_rewards })
    }

    /// Adds a round of the right lengths, all numbers finite.
    pub(super) fn push(&mut self, context: &[f32], rewards: &[f64], best_reward: f64) {
        debug_assert_eq!(context.len(), self.shape.n_features);
        debug_assert_eq!(rewards.len(), self.shape.n_actions);
        self.contexts.extend_from_slice(context);
        self.rewards.extend_from_slice(rewards);
        self.best_rewards.push(best_reward);
    }

    /// The first rounds, `steps` of them or all that there are.
    pub(crate) fn first(&self, steps: usize) -> Self {
        let steps = steps.min(self.len());
        let Shape { n_features, n_actions, .. } = self.shape;
        Self {
            shape: self.shape,
            contexts: self.contexts[..steps * n_features].to_vec(),
            rewards: self.rewards[..steps * n_actions].to_vec(),
            best_rewards: self.best_rewards[..steps].to_vec(),
        }
    }

    /// Number of rounds, T.
    pub fn len(&self) -> usize {
        self.best_rewards.len()
    }

    /// Whether there are no rounds.
    pub fn is_empty(&self) -> bool {
        self.best_rewards.is_empty()
    }

    /// Width of the contexts and number of actions.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Round `t`, from 0. Panics if there is none.
    pub fn round(&self, t: usize) -> Round<'_> {
        let Shape { n_features, n_actions, .. } = self.shape;
        Round {
            context: &self.contexts[t * n_features..][..n_features],
            rewards: &self.rewards[t * n_actions..][..n_actions],
            best_reward: self.best_rewards[t],
        }
    }

    /// All rounds, in order.
    pub fn rounds(&self) -> impl ExactSizeIterator<Item = Round<'_>> {
        (0..self.len()).map(|t| self.round(t))
    }
}

fn invalid(problem: String) -> Error {
    Error::from(ErrorKind::InvalidSequence { problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_rows_of_the_arrays() {
        let shape = Shape::new(3, 2);
        let contexts = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let sequence = Sequence::new(shape, contexts, vec![7.0, 8.0, 9.0, 10.0], vec![8.0, 11.0]).unwrap();
        assert_eq!((sequence.len(), sequence.is_empty(), sequence.shape()), (2, false, shape));
        let last = Round { context: &[4.0, 5.0, 6.0], rewards: &[9.0, 10.0], best_reward: 11.0 };
        assert_eq!(sequence.round(1), last);
        assert_eq!(sequence.rounds().collect::<Vec<_>>(), [sequence.round(0), last]);

        assert_eq!(sequence.first(1).rounds().collect::<Vec<_>>(), [sequence.round(0)]);
        assert_eq!(sequence.first(3), sequence);

        let mut pushed = Sequence::with_room(shape, 2).unwrap();
        for round in sequence.rounds() {
            pushed.push(round.context, round.rewards, round.best_reward);
        }
        assert_eq!(pushed, sequence);
    }

    #[test]
    fn lengths_and_numbers_are_checked() {
        let shape = Shape::new(3, 2);
        let new = |n_contexts, reward, n_best| {
            Sequence::new(shape, vec![0.0; n_contexts], vec![reward; 4], vec![0.0; n_best])
        };
        assert!(new(6, 0.0, 2).is_ok());
        let message = new(5, 0.0, 2).unwrap_err().to_string();
        assert!(message.contains("contexts hold 5 numbers, expected 2 rounds of 3"), "{message}");
        assert!(new(9, 0.0, 3).unwrap_err().to_string().contains("rewards hold 4"));
        assert!(new(6, f64::NAN, 2).unwrap_err().is_invalid_data());
        assert!(Sequence::new(Shape::new(0, 2), vec![], vec![], vec![]).is_err());
    }

    #[test]
    fn no_memory_is_an_error() {
        for steps in [usize::MAX, usize::MAX / 2, 1 << 58] {
            let error = Sequence::with_room(Shape::new(2, 5), steps).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::SequenceTooLarge { .. }));
        }
    }
}
