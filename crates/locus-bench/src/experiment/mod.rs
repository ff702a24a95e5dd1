//! Many trials: policies × problems × trials, in parallel, resumed where an earlier run ended.
//!
//! An [`Experiment`] is plain data. [`Experiment::plan`] lists the missing trials, [`Experiment::estimate`] estimates their
//! duration, and [`Experiment::run`] runs them, in the order of `queue`. The thread and the time of a trial do not affect its
//! result. [`Standing`] is the progress of a run.

mod estimate;
mod pace;
mod part;
mod plan;
mod progress;
mod queue;
mod run;
mod sequences;
mod standing;

use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;

use locus::{Policy, PolicySpec, Registry, Seed, Shape};

use crate::Error;
use crate::error::ErrorKind;
use crate::observer::Observer;
use crate::problem::{Loaded, Sequence};
use crate::trial::{Stop, TrialId, TrialResult, run_trial, run_trial_with_propensities};

pub use estimate::Estimate;
pub use part::{Part, Shard};
pub use plan::{Plan, Warning};
pub use progress::Progress;
pub use run::RunOutcome;
pub use standing::{KindStanding, Standing};

pub(crate) use progress::Watch;
pub(crate) use run::{Halt, without_panic};

/// What to run, and where to write it.
#[derive(Clone)]
pub struct Experiment {
    /// The name of the suite, for the record.
    pub suite: String,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The problems, each loaded once and shared by all trials.
    pub problems: Vec<Loaded>,
    /// The registry of the policies, and of those in a folder's records.
    pub registry: Registry,
    /// The policies. Uniform always runs, and runs first: the regret of all others is normalized by it.
    pub policies: Vec<PolicySpec>,
    /// Trials of each policy on each problem. Must be at least 1, and at most a million trials in all.
    pub trials: usize,
    /// The number of the first trial.
    ///
    /// Rounds depend on the number of the trial, so a policy can be evaluated on held-out trials.
    pub first_trial: usize,
    /// T, the steps of each trial. Must be at least 1.
    pub steps: usize,
    /// The random seed.
    pub seed: Seed,
    /// Whether every decision asks for its exact propensity.
    ///
    /// The action is then sampled from the reported probabilities. Policies that always report propensities, such as `uniform`,
    /// choose the same actions either way.
    pub propensities: bool,
    /// How many threads run trials. Must be at least 1.
    pub jobs: usize,
    /// Which of these trials to run.
    pub part: Part,
    /// The folder that everything is written to.
    pub out: PathBuf,
}

/// Builds a policy; [`Experiment::run_with`] accepts others than [`PolicySpec::build`].
pub type BuildPolicy<'a> =
    dyn Fn(&PolicySpec, Shape, Seed) -> Result<Box<dyn Policy>, locus::Error> + Sync + 'a;

/// Plays trials of external policies ([`PolicySpec::is_external`]) in another way than one after another in this process.
///
/// They run after all other trials. Without this, they run one after another: the libraries behind them may keep global state, such
/// as a random generator, which two trials must not share.
pub trait PlayExternal: Sync {
    /// How many trials may run at the same time.
    fn jobs(&self) -> usize;

    /// Plays one trial. Stops early where `stop` is set, with [`Error::interrupted`].
    fn play(&self, trial: &ExternalTrial<'_>, stop: &dyn Stop) -> Result<TrialResult, Error>;
}

/// A trial of an external policy.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ExternalTrial<'a> {
    /// The policy.
    pub policy: &'a PolicySpec,
    /// Its rounds.
    pub sequence: &'a Sequence,
    /// The seed of everything that the policy draws.
    pub seed: Seed,
    /// Whether decisions ask for their propensities.
    pub propensities: bool,
}

/// The maximum number of trials of one run, over all policies and problems. Their list is kept in memory, where this many take a
/// few hundred megabytes.
pub(crate) const MAX_TRIALS: usize = 1_000_000;

/// The highest number that the first trial may have.
const MAX_TRIAL: usize = 1_000_000_000;

/// The policy by which regret is normalized.
pub(crate) const UNIFORM: &str = "uniform";

impl Experiment {
    /// Whether the experiment has the problem and the policy of a trial.
    ///
    /// A folder may hold trials of others too.
    pub fn concerns(&self, id: &TrialId) -> bool {
        let is_asked = |policy: &PolicySpec| policy.to_string() == id.policy;
        self.problems.iter().any(|loaded| loaded.problem.name() == id.problem)
            && (id.policy == UNIFORM || self.policies.iter().any(is_asked))
    }

    /// Fails if a policy cannot play a problem: not every policy decides among actions with features.
    fn check_support(&self) -> Result<(), Error> {
        let described = self.problems.iter().map(|loaded| &loaded.problem);
        for problem in described.filter(|problem| problem.shape().n_action_features > 0) {
            let name = problem.name();
            for policy in self.policies_in_order()? {
                let refused = match policy.is_external() {
                    true => {
                        Some(format!("`{policy}` is not built in, and such policies take numbered actions"))
                    }
                    false => policy.build(problem.shape(), self.seed).err().map(|error| error.to_string()),
                };
                if let Some(reason) = refused {
                    let problem = format!("the actions of `{name}` have features: {reason}");
                    return Err(ErrorKind::InvalidExperiment { problem }.into());
                }
            }
        }
        Ok(())
    }

    /// Fails if the experiment is invalid, before anything is run or written.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let invalid = |problem: String| Err(ErrorKind::InvalidExperiment { problem }.into());
        for (what, number) in [("trials", self.trials), ("steps", self.steps), ("jobs", self.jobs)] {
            if number == 0 {
                return invalid(format!("`{what}` is 0, expected at least 1"));
            }
        }
        if self.problems.is_empty() {
            return invalid("there is no problem to run; name one with --problems".to_owned());
        }
        self.check_support()?;
        let (n_policies, n_problems) = (self.policies_in_order()?.len(), self.problems.len());
        let n_trials = self.trials.saturating_mul(n_policies).saturating_mul(n_problems);
        if n_trials > MAX_TRIALS {
            return invalid(format!(
                "{n_policies} policies on {n_problems} problems with {} trials each are {n_trials} trials, expected at \
                 most {MAX_TRIALS} in one run; ask for fewer --trials",
                self.trials
            ));
        }
        if self.first_trial > MAX_TRIAL {
            let (what, first) = ("`first_trial`", self.first_trial);
            return invalid(format!(
                "{what} is {first}, expected at most {MAX_TRIAL}; choose another --first-trial"
            ));
        }
        self.check_part(n_trials)?;
        let mut names = HashSet::new();
        for Loaded { problem, .. } in &self.problems {
            let name = problem.name();
            // Line breaks and a byte order mark would be lost in `trials.csv`.
            if name.is_empty() || name.contains(|letter: char| letter.is_control() || letter == '\u{feff}') {
                return invalid(format!(
                    "a problem is called {name:?}, expected a name of visible characters"
                ));
            }
            if !names.insert(name) {
                return invalid(format!("two problems are called `{name}`; give one of them another name"));
            }
            if let Some(rows) = problem.max_steps().filter(|&rows| rows < self.steps) {
                return Err(
                    ErrorKind::TooManySteps { problem: name.to_owned(), rows, steps: self.steps }.into()
                );
            }
        }
        Ok(())
    }

    /// Runs one trial; its requests ask for propensities if the experiment does.
    fn play(
        &self,
        sequence: &Sequence,
        policy: &mut dyn Policy,
        observer: &mut dyn Observer,
        stop: &dyn Stop,
    ) -> Result<TrialResult, Error> {
        match self.propensities {
            true => run_trial_with_propensities(sequence, policy, observer, stop),
            false => run_trial(sequence, policy, observer, stop),
        }
    }

    /// The numbers of the trials of each policy on each problem.
    fn trial_numbers(&self) -> Range<usize> {
        self.first_trial..self.first_trial + self.trials
    }

    /// The policies as they are run: Uniform first, each once.
    fn policies_in_order(&self) -> Result<Vec<PolicySpec>, Error> {
        let uniform: PolicySpec =
            UNIFORM.parse().map_err(|cause| ErrorKind::PolicyFailed { round: 0, cause })?;
        let mut policies = vec![uniform];
        for policy in &self.policies {
            if !policies.contains(policy) {
                policies.push(policy.clone());
            }
        }
        Ok(policies)
    }
}
