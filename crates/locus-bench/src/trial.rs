//! The loop of a trial: one policy on one sequence.
//!
//! A trial is named by its [`TrialId`], and all its randomness follows from the experiment's seed and that name.
//! Clocks are read for the seconds that a policy takes; no result depends on them.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use locus::{Outcome, Policy, Request, Seed};

use crate::Error;
use crate::error::ErrorKind;
use crate::observer::{Observer, Step, TrialStarted};
use crate::problem::Sequence;

/// Which trial of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrialId {
    /// The problem's name.
    pub problem: String,
    /// The policy in canonical form.
    pub policy: String,
    /// The number of the trial, from 0.
    pub trial: usize,
}

impl TrialId {
    /// The seed of the rounds, the same for every policy.
    pub fn sequence_seed(&self, root: Seed) -> Seed {
        sequence_seed(root, &self.problem, self.trial)
    }

    /// The seed of the policy.
    pub fn policy_seed(&self, root: Seed) -> Seed {
        self.sequence_seed(root).derive("policy").derive(&self.policy)
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}, trial {}", self.policy, self.problem, self.trial)
    }
}

/// The seed of the rounds of a trial, from the experiment's seed.
pub fn sequence_seed(root: Seed, problem: &str, trial: usize) -> Seed {
    root.derive("problem").derive(problem).derive_index(trial as u64)
}

/// The result of a trial, step by step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialResult {
    /// `[T]`, the regret of every step.
    pub regrets: Vec<f64>,
    /// `[T]`, the chosen actions.
    pub actions: Vec<u32>,
    /// Wall seconds that the policy took to choose, over all steps.
    pub seconds_choosing: f64,
    /// Wall seconds that the policy took to learn, over all steps.
    pub seconds_learning: f64,
    /// CPU seconds of the whole trial; `None` if the system has no CPU clock.
    ///
    /// Other work on the machine affects wall seconds more than these.
    pub cpu_seconds: Option<f64>,
    /// How often a guard changed a number to continue training, over all steps.
    pub interventions: u64,
}

impl TrialResult {
    /// The sum of all regrets, added in the order of the steps.
    pub fn cumulative_regret(&self) -> f64 {
        self.regrets.iter().sum()
    }

    /// The mean regret of the last steps: 500 of them, or the last quarter of fewer than 2000.
    pub fn simple_regret(&self) -> f64 {
        let steps = self.regrets.len();
        let window = (steps / 4).clamp(1, 500).min(steps);
        if window == 0 {
            return 0.0;
        }
        self.regrets[steps - window..].iter().sum::<f64>() / window as f64
    }
}

/// A signal that ends a trial early.
pub trait Stop: Sync {
    /// Whether to end now.
    fn is_set(&self) -> bool;
}

impl Stop for AtomicBool {
    fn is_set(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// Runs `policy` through all rounds of `sequence`.
///
/// Checks `stop` before every step and, if it is set, fails with an error for which [`Error::is_interrupted`] holds. Any other
/// error is the policy's, or is due to rewards that are not finite.
pub fn run_trial(
    sequence: &Sequence,
    policy: &mut dyn Policy,
    observer: &mut dyn Observer,
    stop: &dyn Stop,
) -> Result<TrialResult, Error> {
    play(sequence, policy, observer, stop, false)
}

/// Like [`run_trial`], with exact propensities; see [`Request::with_propensity`].
pub fn run_trial_with_propensities(
    sequence: &Sequence,
    policy: &mut dyn Policy,
    observer: &mut dyn Observer,
    stop: &dyn Stop,
) -> Result<TrialResult, Error> {
    play(sequence, policy, observer, stop, true)
}

fn play(
    sequence: &Sequence,
    policy: &mut dyn Policy,
    observer: &mut dyn Observer,
    stop: &dyn Stop,
    wants_propensity: bool,
) -> Result<TrialResult, Error> {
    let steps = sequence.len();
    observer.started(&TrialStarted { policy: policy.name(), shape: sequence.shape(), steps });
    let mut result = TrialResult {
        regrets: Vec::with_capacity(steps),
        actions: Vec::with_capacity(steps),
        ..TrialResult::default()
    };
    let cpu_before = thread_cpu_seconds();
    for t in 0..steps {
        if stop.is_set() {
            return Err(ErrorKind::Interrupted.into());
        }
        let round = t as u64;
        let failed = |cause| Error::from(ErrorKind::PolicyFailed { round, cause });
        let known = sequence.round(t);
        let context = known.context;

        let request = Request::new(round, context);
        let request = match known.candidates {
            Some(candidates) => request.with_candidates(candidates),
            None => request,
        };
        let request = if wants_propensity { request.with_propensity() } else { request };

        let before = now();
        let choice = policy.choose(request).map_err(failed)?;
        result.seconds_choosing += before.elapsed().as_secs_f64();

        let (n_actions, found) = (known.rewards.len(), choice.action);
        let reward = *known.rewards.get(found).ok_or(ErrorKind::NoSuchAction { round, found, n_actions })?;
        let regret = known.best_reward - reward;
        if !regret.is_finite() {
            return Err(ErrorKind::RegretNotFinite { round, found: regret }.into());
        }

        let outcome = Outcome::new(round, context, found, reward);
        let outcome = match known.action_features(found) {
            Some(features) => outcome.with_action_features(features),
            None => outcome,
        };
        let before = now();
        let fit = policy.learn(outcome).map_err(failed)?;
        result.seconds_learning += before.elapsed().as_secs_f64();

        result.interventions += fit.interventions;
        result.regrets.push(regret);
        result.actions.push(found as u32);
        observer.stepped(&Step { round, context, choice, reward, regret, fit });
    }
    result.cpu_seconds = thread_cpu_seconds().zip(cpu_before).map(|(after, before)| after - before);
    observer.finished(&result);
    Ok(result)
}

/// CPU seconds that this thread has used so far; policies start no threads of their own.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn thread_cpu_seconds() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn thread_cpu_seconds() -> Option<f64> {
    None
}

#[allow(clippy::disallowed_methods)] // Time itself is measured.
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
