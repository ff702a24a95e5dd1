//! The contexts of an exploration: the followed one, and all of its kind.
//!
//! Contexts are those of the trial, named by the round in which they first occur. Two are of one kind if they have the same best
//! action. The best action of a round is the one whose reward is closest to the reward that regret is measured against; with
//! noisy rewards and an expected best reward (Financial), that is a good guess.

use std::collections::HashSet;

use locus::Choose;

use super::watched::Purpose;
use crate::problem::{Round, Sequence};

/// Draws by which a policy's mean reward of a context is judged.
pub(super) const JUDGING_DRAWS: usize = 20;
/// Contexts that are drawn for in one call, so that intermediate numbers stay few.
const CONTEXTS_AT_A_TIME: usize = 50;

/// The contexts for which one action is best, each once.
pub(super) struct Kind<'a> {
    pub(super) best_action: usize,
    /// The rounds in which they come first, ascending.
    pub(super) rounds: Vec<usize>,
    /// In the same order.
    pub(super) contexts: Vec<&'a [f32]>,
}

impl<'a> Kind<'a> {
    pub(super) fn new(sequence: &'a Sequence, best_action: usize) -> Self {
        let mut seen = HashSet::new();
        let mut kind = Self { best_action, rounds: Vec::new(), contexts: Vec::new() };
        for (t, round) in sequence.rounds().enumerate() {
            if self::best_action(&round) == best_action {
                let bits: Vec<u32> = round.context.iter().map(|feature| feature.to_bits()).collect();
                if seen.insert(bits) {
                    kind.rounds.push(t);
                    kind.contexts.push(round.context);
                }
            }
        }
        kind
    }

    /// How much more `decider` expects of some other action than of the best one, for each context: it misjudges those
    /// for which that is more than nothing. By the means of [`JUDGING_DRAWS`] draws.
    pub(super) fn margins(&self, decider: &dyn Choose, step: usize) -> Result<Vec<f64>, locus::Error> {
        let n_actions = decider.shape().n_actions;
        let mut margins = Vec::with_capacity(self.contexts.len());
        for (call, contexts) in self.contexts.chunks(CONTEXTS_AT_A_TIME).enumerate() {
            let repeated: Vec<&[f32]> =
                contexts.iter().flat_map(|context| std::iter::repeat_n(*context, JUDGING_DRAWS)).collect();
            let rewards = decider.sample_rewards(Purpose::Judge.round(step, call), &repeated)?;
            for drawn in rewards.chunks_exact(JUDGING_DRAWS * n_actions) {
                let mean = |action: usize| {
                    drawn.iter().skip(action).step_by(n_actions).sum::<f64>() / JUDGING_DRAWS as f64
                };
                let others = (0..n_actions).filter(|&action| action != self.best_action).map(mean);
                margins.push(others.fold(f64::NEG_INFINITY, f64::max) - mean(self.best_action));
            }
        }
        Ok(margins)
    }
}

/// The action whose reward lies nearest to the round's best reward, the first of several.
pub(super) fn best_action(round: &Round<'_>) -> usize {
    let distance = |action: usize| (round.rewards[action] - round.best_reward).abs();
    (0..round.rewards.len()).min_by(|&one, &other| distance(one).total_cmp(&distance(other))).unwrap_or(0)
}

/// The contexts that all policies misjudged at first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FirstMistakes {
    /// After how many steps; 0 where there was no such moment.
    pub(super) step: usize,
    /// Places in the kind, ascending.
    pub(super) places: Vec<usize>,
    /// The one of them that even the least mistaken policy is the most mistaken about.
    pub(super) clearest: Option<usize>,
}

impl FirstMistakes {
    /// The first look at which all policies misjudge some context together. `margins` holds, for each policy, its looks;
    /// of each, the step and the margins of all contexts.
    pub(super) fn find(margins: &[Vec<(usize, Vec<f64>)>]) -> Self {
        let n_looks = margins.iter().map(Vec::len).min().unwrap_or(0);
        for look in 0..n_looks {
            let (step, first) = &margins[0][look];
            let least =
                |place: usize| margins.iter().map(|looks| looks[look].1[place]).fold(f64::INFINITY, f64::min);
            let places: Vec<usize> = (0..first.len()).filter(|&place| least(place) > 0.0).collect();
            // The first of several: `max_by` would take the last.
            let clearest =
                places.iter().copied().rev().max_by(|&one, &other| least(one).total_cmp(&least(other)));
            if clearest.is_some() {
                return Self { step: *step, places, clearest };
            }
        }
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locus::{PolicySpec, Seed, Shape};

    #[test]
    fn a_kind_has_each_context_once() {
        // Contexts 1, 2, 1, 3; of the third action 0 is best by luck only, for regret is measured against 0.
        let rewards = vec![0.0, -1.0, 0.0, 5.0, 0.0, 5.0, 0.0, -1.0];
        let best = vec![0.0, 5.0, 0.0, 0.0];
        let sequence = Sequence::new(Shape::new(1, 2), vec![1.0, 2.0, 1.0, 3.0], rewards, best).unwrap();
        let kind = Kind::new(&sequence, 0);
        assert_eq!(kind.rounds, [0, 3]);
        assert_eq!(kind.contexts, [[1.0], [3.0]]);
        assert_eq!(Kind::new(&sequence, 1).rounds, [1]);
    }

    /// A linear policy that saw action 1 pay the context, and action 0 pay nothing.
    #[test]
    fn a_margin_is_what_is_expected_more_of_another_action() {
        let spec: PolicySpec = "lin-full-post".parse().unwrap();
        let mut policy = spec.build(Shape::new(1, 2), Seed::new(1)).unwrap();
        for round in 0..2000 {
            let action = (round % 2) as usize;
            let x = (round / 2 % 5) as f32 - 2.0;
            let reward = f64::from(x) * action as f64;
            policy.learn(locus::Outcome::new(round, &[x], action, reward)).unwrap();
        }
        let contexts = [2.0, -2.0, 1.0];
        let rewards = [0.0, 1.0].repeat(3);
        let sequence =
            Sequence::new(Shape::new(1, 2), contexts.to_vec(), rewards.clone(), vec![0.0; 3]).unwrap();
        let margins = Kind::new(&sequence, 0).margins(&*policy, 7).unwrap();
        for (margin, x) in margins.iter().zip(contexts) {
            assert!((margin - f64::from(x)).abs() < 0.1, "{margins:?}");
        }
        let sequence = Sequence::new(Shape::new(1, 2), contexts.to_vec(), rewards, vec![1.0; 3]).unwrap();
        let margins = Kind::new(&sequence, 1).margins(&*policy, 7).unwrap();
        assert!((margins[0] + 2.0).abs() < 0.1, "{margins:?}");
    }

    #[test]
    fn the_first_mistake_is_one_of_all_policies() {
        let one = vec![(20, vec![1.0, -1.0, -1.0, 0.0]), (40, vec![-1.0, 3.0, 2.0, 5.0])];
        let other = vec![(20, vec![-1.0, 1.0, -1.0, 1.0]), (40, vec![9.0, 0.5, 2.0, 2.0])];
        let found = FirstMistakes::find(&[one.clone(), other]);
        assert_eq!(found, FirstMistakes { step: 40, places: vec![1, 2, 3], clearest: Some(2) });
        let alone = FirstMistakes::find(std::slice::from_ref(&one));
        assert_eq!(alone, FirstMistakes { step: 20, places: vec![0], clearest: Some(0) });
        let none = FirstMistakes::find(&[one, vec![(20, vec![-1.0; 4]), (40, vec![-1.0; 4])]]);
        assert_eq!(none, FirstMistakes::default());
    }
}
