//! Watching a trial while it runs.
//!
//! Events are plain structs of references, so they cost almost nothing. An [`Observer`] cannot change a result.

use locus::{Choice, FitReport, Shape};

use crate::trial::TrialResult;

/// Watches one trial; every method may stay empty. `()` watches nothing.
pub trait Observer {
    /// Before the first step.
    fn started(&mut self, _: &TrialStarted<'_>) {}
    /// After the policy has learned from a step.
    fn stepped(&mut self, _: &Step<'_>) {}
    /// After the last step, and only if there was no error.
    fn finished(&mut self, _: &TrialResult) {}
}

impl Observer for () {}

/// A trial begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialStarted<'a> {
    /// The policy in canonical form.
    pub policy: &'a str,
    /// Width of the contexts and number of actions.
    pub shape: Shape,
    /// T, the number of steps to come.
    pub steps: usize,
}

/// One step of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<'a> {
    /// The number of the step, from 0.
    pub round: u64,
    /// What the policy saw.
    pub context: &'a [f32],
    /// The policy's choice.
    pub choice: Choice,
    /// The reward of that choice.
    pub reward: f64,
    /// The regret: the round's best reward minus the earned one.
    pub regret: f64,
    /// The report of the policy's `learn`.
    pub fit: FitReport,
}
