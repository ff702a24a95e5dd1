//! Watching a trial while it runs.
//!
//! Events are plain structs of references to what is known at that moment, so making one costs next to nothing, watched or not. Watching
//! cannot change a result: an [`Observer`] sees, and has no say.

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

/// One step, with what the policy saw and what it did not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<'a> {
    /// The number of the step, from 0.
    pub round: u64,
    /// What the policy saw.
    pub context: &'a [f32],
    /// What it chose.
    pub choice: Choice,
    /// What that earned.
    pub reward: f64,
    /// What was missed: the round's best reward minus the earned one.
    pub regret: f64,
    /// What the policy made of it.
    pub fit: FitReport,
}
