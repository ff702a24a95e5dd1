//! The rounds of one trial.

use locus::Shape;

use crate::Error;
use crate::error::ErrorKind;

/// The rounds of one trial, the same for every policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    shape: Shape,
    /// A, or how many candidates a round has if actions have features.
    n_choices: usize,
    /// [T, C]
    contexts: Vec<f32>,
    /// [T, K, F] if actions have features, otherwise empty.
    candidates: Vec<f32>,
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
    /// The features of every candidate, row-major, if actions have features.
    pub candidates: Option<&'a [f32]>,
    /// The realized reward of every action or candidate; the policy sees that of its choice.
    pub rewards: &'a [f64],
    /// The reward that the regret of this step is measured against.
    pub best_reward: f64,
}

impl<'a> Round<'a> {
    /// The features of an action or candidate, if it has any.
    pub fn action_features(&self, action: usize) -> Option<&'a [f32]> {
        let candidates = self.candidates?;
        let width = candidates.len() / self.rewards.len();
        candidates.get(action * width..(action + 1) * width)
    }
}

impl Sequence {
    /// A sequence of `best_rewards.len()` rounds; `contexts` is [T, C] and `rewards` [T, A], row by row.
    ///
    /// Fails if a length does not fit or a number is not finite, and if actions have features.
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
        Ok(Self {
            shape,
            n_choices: shape.n_actions,
            contexts,
            candidates: Vec::new(),
            rewards,
            best_rewards,
        })
    }

    /// A sequence without rounds, and with memory for `steps` of them.
    pub(super) fn with_room(shape: Shape, steps: usize) -> Result<Self, Error> {
        Self::with_choices(shape, shape.n_actions, steps)
    }

    /// The same, with `n_choices` candidates in each round if actions have features.
    pub(super) fn with_choices(shape: Shape, n_choices: usize, steps: usize) -> Result<Self, Error> {
        fn room<T>(length: Option<usize>) -> Option<Vec<T>> {
            let mut vector = Vec::new();
            vector.try_reserve_exact(length?).ok()?;
            Some(vector)
        }
        let contexts = room(steps.checked_mul(shape.n_features));
        let rewards = room(steps.checked_mul(n_choices));
        let width = n_choices.checked_mul(shape.n_action_features);
        let candidates = room(width.and_then(|width| steps.checked_mul(width)));
        let (Some(contexts), Some(candidates), Some(rewards), Some(best_rewards)) =
            (contexts, candidates, rewards, room(Some(steps)))
        else {
            let (n_features, n_actions) = (shape.n_features, n_choices);
            return Err(ErrorKind::SequenceTooLarge { steps, n_features, n_actions }.into());
        };
        Ok(Self { shape, n_choices, contexts, candidates, rewards, best_rewards })
    }

    /// Adds a round whose actions have features. All lengths are right and all numbers finite.
    pub(super) fn push_described(
        &mut self,
        context: &[f32],
        candidates: &[f32],
        rewards: &[f64],
        best_reward: f64,
    ) {
        debug_assert_eq!(candidates.len(), self.n_choices * self.shape.n_action_features);
        self.candidates.extend_from_slice(candidates);
        self.push(context, rewards, best_reward);
    }

    /// Adds a round of the right lengths, all numbers finite.
    pub(super) fn push(&mut self, context: &[f32], rewards: &[f64], best_reward: f64) {
        debug_assert_eq!(context.len(), self.shape.n_features);
        debug_assert_eq!(rewards.len(), self.n_choices);
        self.contexts.extend_from_slice(context);
        self.rewards.extend_from_slice(rewards);
        self.best_rewards.push(best_reward);
    }

    /// The first rounds, `steps` of them or all that there are.
    pub(crate) fn first(&self, steps: usize) -> Self {
        let steps = steps.min(self.len());
        let Shape { n_features, n_action_features, .. } = self.shape;
        Self {
            shape: self.shape,
            n_choices: self.n_choices,
            contexts: self.contexts[..steps * n_features].to_vec(),
            candidates: self.candidates[..steps * self.n_choices * n_action_features].to_vec(),
            rewards: self.rewards[..steps * self.n_choices].to_vec(),
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
        let (Shape { n_features, n_action_features, .. }, n_choices) = (self.shape, self.n_choices);
        let width = n_choices * n_action_features;
        Round {
            context: &self.contexts[t * n_features..][..n_features],
            candidates: (width > 0).then(|| &self.candidates[t * width..][..width]),
            rewards: &self.rewards[t * n_choices..][..n_choices],
            best_reward: self.best_rewards[t],
        }
    }

    /// How many actions or candidates a round has.
    pub fn n_choices(&self) -> usize {
        self.n_choices
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
        let last =
            Round { context: &[4.0, 5.0, 6.0], candidates: None, rewards: &[9.0, 10.0], best_reward: 11.0 };
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
    fn candidates_belong_to_their_round() {
        let mut sequence = Sequence::with_choices(Shape::described(1, 2), 3, 2).unwrap();
        sequence.push_described(&[0.5], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[7.0, 8.0, 9.0], 9.0);
        sequence.push_described(&[0.25], &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0], &[70.0, 80.0, 90.0], 80.0);
        let last = sequence.round(1);
        assert_eq!(
            (last.context, last.rewards, last.best_reward),
            (&[0.25][..], &[70.0, 80.0, 90.0][..], 80.0)
        );
        assert_eq!(last.action_features(2), Some(&[50.0, 60.0][..]));
        assert_eq!(last.action_features(3), None);
        assert_eq!((sequence.n_choices(), sequence.first(1).round(0)), (3, sequence.round(0)));
        // Such sequences have no constructor of arrays.
        assert!(Sequence::new(Shape::described(1, 2), vec![0.5], vec![], vec![9.0]).is_err());
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
