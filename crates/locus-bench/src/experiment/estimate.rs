//! Estimates the duration of a run.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use locus::PolicySpec;

use super::pace::{Pace, wall_seconds};
use super::plan::{Job, Prepared};
use super::run::without_panic;
use super::{BuildPolicy, Experiment, Plan};
use crate::Error;
use crate::error::ErrorKind;
use crate::record::{Measured, TrialRow};

/// What a run would do, and a rough estimate of its duration.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// What the run would do.
    pub plan: Plan,
    /// Wall seconds with the requested threads. A policy that slows down as it learns takes longer.
    pub seconds: f64,
    /// Policies that failed their probe, with the error; their trials are not in the estimate.
    pub unknown: Vec<String>,
}

/// A probe takes no more steps than this.
const PROBE_STEPS: usize = 100;

impl Experiment {
    /// Estimates the duration of the missing trials.
    ///
    /// Uses recorded trials of the same policy and problem, or else a probe of at most 100 steps. Takes a few seconds at most for
    /// fast policies; writes nothing.
    pub fn estimate(&self) -> Result<Estimate, Error> {
        self.estimate_with(&PolicySpec::build)
    }

    /// Like [`Experiment::estimate`], with another function that builds policies.
    pub fn estimate_with(&self, build: &BuildPolicy<'_>) -> Result<Estimate, Error> {
        let prepared = self.prepare()?;
        let mut kinds: BTreeMap<(usize, usize), (&Job, usize)> = BTreeMap::new();
        for job in &prepared.jobs {
            kinds.entry((job.problem, job.policy)).or_insert((job, 0)).1 += 1;
        }
        let (mut total, mut longest) = (0.0, 0.0_f64);
        let mut unknown = Vec::new();
        for (job, count) in kinds.into_values() {
            let seconds = match recorded_seconds(&prepared, job) {
                Some(seconds) => Ok(seconds),
                None => without_panic(|| self.probe(&prepared, job, build)),
            };
            match seconds {
                Ok(seconds) => {
                    total += seconds * count as f64;
                    longest = longest.max(seconds);
                }
                Err(error) => unknown.push(format!("{} on {}: {error}", job.id.policy, job.id.problem)),
            }
        }
        Ok(Estimate { plan: prepared.plan, seconds: wall_seconds(total, longest, self.jobs), unknown })
    }

    /// For each policy on each problem, counted problem by problem: the seconds of recorded trials, or a guess; their median; and for
    /// how many anything was recorded. Trials of other numbers of steps count in proportion.
    pub(crate) fn seconds_of_kinds(
        &self,
        policies: &[String],
        problems: &[String],
        recorded: &[TrialRow],
    ) -> (Vec<Vec<f64>>, Vec<f64>, usize) {
        let n_features: Vec<usize> =
            self.problems.iter().map(|loaded| loaded.problem.shape().n_features).collect();
        let mut pace = Pace::new(policies.iter().map(String::as_str), &n_features, self.steps);
        let place = |names: &[String], name: &String| names.iter().position(|other| other == name);
        let measured = recorded.iter().filter_map(|row| {
            let (policy, problem) = (place(policies, &row.id.policy)?, place(problems, &row.id.problem)?);
            let seconds = row.outcome.as_ref().ok()?.seconds();
            Some((policy, problem, seconds * self.steps as f64 / row.steps.max(1) as f64))
        });
        pace.measure_all(measured.collect());
        let kinds = || {
            (0..problems.len()).flat_map(|problem| (0..policies.len()).map(move |policy| (policy, problem)))
        };
        // A shard with a trial that takes no time must not look empty.
        let seconds = kinds().map(|(policy, problem)| pace.seconds(policy, problem).max(1e-9)).collect();
        let samples = kinds().map(|(policy, problem)| pace.samples(policy, problem)).collect();
        let n_measured = kinds().filter(|(policy, problem)| pace.has_measured(*policy, *problem)).count();
        (samples, seconds, n_measured)
    }

    fn probe(&self, prepared: &Prepared, job: &Job, build: &BuildPolicy<'_>) -> Result<f64, Error> {
        let problem = &self.problems[job.problem].problem;
        let steps = self.steps.min(PROBE_STEPS);
        let sequence = problem.sequence(steps, job.id.sequence_seed(self.seed))?;
        let spec = &prepared.policies[job.policy];
        let mut policy = build(spec, problem.shape(), job.id.policy_seed(self.seed))
            .map_err(|cause| ErrorKind::PolicyFailed { round: 0, cause })?;
        let result = self.play(&sequence, &mut *policy, &mut (), &AtomicBool::new(false))?;
        Ok(Measured::from(&result).seconds() * self.steps as f64 / steps as f64)
    }
}

fn recorded_seconds(prepared: &Prepared, job: &Job) -> Option<f64> {
    let of_this_kind = prepared
        .recorded
        .rows
        .iter()
        .filter(|row| row.id.problem == job.id.problem && row.id.policy == job.id.policy)
        .filter_map(|row| row.outcome.as_ref().ok());
    let all: Vec<f64> = of_this_kind.map(Measured::seconds).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}
