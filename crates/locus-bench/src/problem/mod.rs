//! What policies are tried on.
//!
//! A [`Problem`] is loaded once per run and shared by all trials; it deals out a [`Sequence`] for each trial,
//! in which every reward of every action is known in hindsight.

use locus::{Seed, Shape};

use crate::Error;

/// A source of trials: a data file, or a rule that generates rounds.
pub trait Problem: Send + Sync {
    /// Stable short name for records, tables and files, e.g. `mushroom`.
    fn name(&self) -> &str;

    /// Width of the contexts and number of actions, the same in every trial.
    fn shape(&self) -> Shape;

    /// The most steps that a trial can have; `None` where rounds are generated or drawn with replacement.
    fn max_steps(&self) -> Option<usize>;

    /// The rounds of the trial with this seed: the same seed and number of steps give the same rounds.
    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error>;
}

/// The rounds of one trial, the same for every policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    shape: Shape,
    /// [T, C]
    contexts: Vec<f32>,
    /// [T, A], realised.
    rewards: Vec<f64>,
    /// [T], what the regret of a step is measured against.
    best_rewards: Vec<f64>,
}

/// One round of a [`Sequence`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round<'a> {
    /// What the policy sees.
    pub context: &'a [f32],
    /// The realised reward of every action; the policy sees that of its choice.
    pub rewards: &'a [f64],
    /// What the regret of this step is measured against.
    pub best_reward: f64,
}
