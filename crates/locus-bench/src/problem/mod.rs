//! What policies are tried on.
//!
//! A [`Problem`] is loaded once per run and shared by all trials; it deals out a [`Sequence`] for each trial,
//! in which every reward of every action is known in hindsight.

use std::sync::Arc;

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

impl Sequence {
    /// A sequence of `best_rewards.len()` rounds.
    pub fn new(
        shape: Shape,
        contexts: Vec<f32>,
        rewards: Vec<f64>,
        best_rewards: Vec<f64>,
    ) -> Result<Self, Error> {
        Ok(Self { shape, contexts, rewards, best_rewards })
    }

    /// T, the number of rounds.
    pub fn len(&self) -> usize {
        self.best_rewards.len()
    }

    /// Whether there is no round at all.
    pub fn is_empty(&self) -> bool {
        self.best_rewards.is_empty()
    }

    /// Width of the contexts and number of actions.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Round `t`, from 0. Panics if there is no such round.
    pub fn round(&self, t: usize) -> Round<'_> {
        let Shape { n_features, n_actions } = self.shape;
        Round {
            context: &self.contexts[t * n_features..(t + 1) * n_features],
            rewards: &self.rewards[t * n_actions..(t + 1) * n_actions],
            best_reward: self.best_rewards[t],
        }
    }
}

/// A problem, and where it came from.
#[derive(Clone)]
pub struct Loaded {
    /// The problem, shared by all trials.
    pub problem: Arc<dyn Problem>,
    /// The files that it was read from.
    pub files: Vec<FileUsed>,
    /// What whoever runs it should know, e.g. how many rows were dropped.
    pub notes: Vec<String>,
}

/// A data file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUsed {
    /// Its name, without folder.
    pub name: String,
    /// Checksum of the uncompressed bytes, in hexadecimal.
    pub sha256: String,
    /// Whether the checksum is the known one, where one is known.
    pub known: Option<bool>,
}
