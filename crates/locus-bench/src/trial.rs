//! One policy on one sequence: the loop that everything else exists for.
//!
//! A trial is named by its [`TrialId`], and all its chance follows from the experiment's seed and that name.
//! The clock is read here and nowhere else, for the seconds that a policy takes; no result depends on it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use locus::{Outcome, Policy, Request, Seed};

use crate::Error;
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

    /// The seed of everything that the policy draws.
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

/// What came of a trial, step by step.
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

/// Says when a trial is to end early.
pub trait Stop: Sync {
    /// Whether to end now.
    fn is_set(&self) -> bool;
}

impl Stop for AtomicBool {
    fn is_set(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// Lets `policy` choose and learn through all rounds of `sequence`.
///
/// Asks `stop` before every step and fails with [`Error::Interrupted`] if it is set. Any other error is the
/// policy's, or comes of rewards that are no numbers.
pub fn run_trial(
    sequence: &Sequence,
    policy: &mut dyn Policy,
    observer: &mut dyn Observer,
    stop: &dyn Stop,
) -> Result<TrialResult, Error> {
    let steps = sequence.len();
    observer.started(&TrialStarted { policy: policy.name(), shape: sequence.shape(), steps });
    let mut result = TrialResult {
        regrets: Vec::with_capacity(steps),
        actions: Vec::with_capacity(steps),
        ..TrialResult::default()
    };
    for t in 0..steps {
        if stop.is_set() {
            return Err(Error::Interrupted);
        }
        let round = t as u64;
        let failed = |cause| Error::PolicyFailed { round, cause };
        let known = sequence.round(t);
        let context = known.context;

        let before = now();
        let choice = policy.choose(Request { round, context }).map_err(failed)?;
        result.seconds_choosing += before.elapsed().as_secs_f64();

        let (n_actions, found) = (known.rewards.len(), choice.action);
        let reward = *known.rewards.get(found).ok_or(Error::NoSuchAction { round, found, n_actions })?;
        let regret = known.best_reward - reward;
        if !regret.is_finite() {
            return Err(Error::RegretNotFinite { round, found: regret });
        }

        let before = now();
        let fit = policy.learn(Outcome { round, context, action: found, reward }).map_err(failed)?;
        result.seconds_learning += before.elapsed().as_secs_f64();

        result.regrets.push(regret);
        result.actions.push(found as u32);
        observer.stepped(&Step { round, context, choice, reward, regret, fit });
    }
    observer.finished(&result);
    Ok(result)
}

#[allow(clippy::disallowed_methods)] // Time itself is measured.
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use locus::{PolicySpec, Shape};

    /// Three actions; action `a` of round `t` earns `a`, the best is 2.
    fn sequence(steps: usize) -> Sequence {
        let rewards = (0..steps).flat_map(|_| [0.0, 1.0, 2.0]).collect();
        Sequence::new(Shape::new(1, 3), vec![0.5; steps], rewards, vec![2.0; steps]).unwrap()
    }

    fn uniform() -> Box<dyn Policy> {
        "uniform".parse::<PolicySpec>().unwrap().build(Shape::new(1, 3), Seed::new(3)).unwrap()
    }

    #[derive(Default)]
    struct Watcher {
        started: usize,
        rounds: Vec<u64>,
        regret: f64,
        finished: Option<TrialResult>,
    }

    impl Observer for Watcher {
        fn started(&mut self, event: &TrialStarted<'_>) {
            assert_eq!((event.policy, event.shape), ("uniform", Shape::new(1, 3)));
            self.started += event.steps;
        }
        fn stepped(&mut self, step: &Step<'_>) {
            assert_eq!(step.reward, step.choice.action as f64);
            self.rounds.push(step.round);
            self.regret += step.regret;
        }
        fn finished(&mut self, result: &TrialResult) {
            self.finished = Some(result.clone());
        }
    }

    #[test]
    fn regret_is_what_the_best_action_earns_more() {
        let mut watcher = Watcher::default();
        let result =
            run_trial(&sequence(100), &mut *uniform(), &mut watcher, &AtomicBool::new(false)).unwrap();
        for (regret, action) in result.regrets.iter().zip(&result.actions) {
            assert_eq!(*regret, 2.0 - f64::from(*action));
        }
        assert!((0..3).all(|action| result.actions.contains(&action)));
        assert_eq!(watcher.started, 100);
        assert_eq!(watcher.rounds, (0..100).collect::<Vec<_>>());
        assert_eq!(watcher.regret, result.cumulative_regret());
        assert_eq!(watcher.finished, Some(result));
    }

    #[test]
    fn simple_regret_is_of_the_last_500_steps_or_the_last_quarter() {
        let simple = |steps: usize| {
            let regrets = (0..steps).map(|t| t as f64).collect();
            TrialResult { regrets, ..TrialResult::default() }.simple_regret()
        };
        assert_eq!(simple(4000), (3500..4000).sum::<usize>() as f64 / 500.0);
        assert_eq!(simple(2000), (1500..2000).sum::<usize>() as f64 / 500.0);
        assert_eq!(simple(1999), (1500..1999).sum::<usize>() as f64 / 499.0);
        assert_eq!(simple(8), 6.5);
        assert_eq!(simple(3), 2.0);
        assert_eq!(simple(1), 0.0);
        assert_eq!(simple(0), 0.0);
    }

    #[test]
    fn a_stopped_trial_takes_no_step() {
        let mut watcher = Watcher::default();
        let stopped = run_trial(&sequence(5), &mut *uniform(), &mut watcher, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(Error::Interrupted)));
        assert!(watcher.rounds.is_empty() && watcher.finished.is_none());
    }

    /// Finite rewards can still be too far apart for their difference.
    #[test]
    fn a_regret_that_is_no_number_is_refused() {
        let rewards = vec![-f64::MAX; 3];
        let sequence = Sequence::new(Shape::new(1, 3), vec![0.0], rewards, vec![f64::MAX]).unwrap();
        let refused = run_trial(&sequence, &mut *uniform(), &mut (), &AtomicBool::new(false));
        assert!(matches!(refused, Err(Error::RegretNotFinite { round: 0, .. })), "{refused:?}");
    }

    #[test]
    fn the_sequence_knows_nothing_of_the_policy() {
        let id = |policy: &str, trial| TrialId { problem: "wheel".into(), policy: policy.into(), trial };
        let root = Seed::new(7);
        assert_eq!(id("a", 1).sequence_seed(root), id("b", 1).sequence_seed(root));
        assert_ne!(id("a", 1).policy_seed(root), id("b", 1).policy_seed(root));
        assert_ne!(id("a", 1).sequence_seed(root), id("a", 2).sequence_seed(root));
        assert_ne!(id("a", 1).sequence_seed(root), id("a", 1).policy_seed(root));
        assert_eq!(
            id("a", 1).policy_seed(root),
            root.derive("problem").derive("wheel").derive_index(1).derive("policy").derive("a")
        );
    }
}
