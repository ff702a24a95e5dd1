//! Runs a plan on several threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use locus::PolicySpec;

use super::plan::{Job, Prepared};
use super::progress::Watch;
use super::queue::Queue;
use super::sequences::Sequences;
use super::{BuildPolicy, Experiment, ExternalTrial, PlayExternal, Progress, Warning};
use crate::Error;
use crate::error::ErrorKind;
use crate::record::{Folder, Measured, TrialRow};
use crate::summary::write_summary;
use crate::trial::{Stop, TrialResult};

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutcome {
    /// Trials that ran to their end.
    pub ran: usize,
    /// Trials that an earlier run finished.
    pub skipped: usize,
    /// Trials that failed; the next run tries them again.
    pub failed: Vec<TrialRow>,
    /// Whether the run was stopped before all trials had ended.
    pub interrupted: bool,
    /// Trials that were running when the run was stopped.
    ///
    /// They are not recorded, and the next run repeats them.
    pub discarded: usize,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

impl Experiment {
    /// Runs the missing trials, records each as it ends, and writes `summary.md`.
    ///
    /// **Blocks** until all trials have ended, `stop` is set, or a record cannot be written. Setting `stop` ends running trials
    /// at their next step and discards them; finished trials are recorded. A trial that fails or panics is recorded with its
    /// error, and the others continue.
    pub fn run(&self, progress: &dyn Progress, stop: &AtomicBool) -> Result<RunOutcome, Error> {
        self.run_with(&PolicySpec::build, progress, stop)
    }

    /// The same, and `external` plays the trials of external policies.
    pub fn run_external(
        &self,
        external: &dyn PlayExternal,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<RunOutcome, Error> {
        self.run_by(&PolicySpec::build, Some(external), progress, stop)
    }

    /// Like [`Experiment::run`], with another function that builds policies.
    pub fn run_with(
        &self,
        build: &BuildPolicy<'_>,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<RunOutcome, Error> {
        self.run_by(build, None, progress, stop)
    }

    fn run_by(
        &self,
        build: &BuildPolicy<'_>,
        external: Option<&dyn PlayExternal>,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<RunOutcome, Error> {
        self.check()?;
        let folder = Folder::lock(&self.out)?;
        let Prepared { plan, jobs, policies, run, rewritten, .. } = self.prepare()?;
        folder.begin(&run, rewritten.as_ref())?;
        progress.planned(&plan);
        let crew = Crew {
            experiment: self,
            jobs,
            policies,
            build,
            external,
            progress,
            folder,
            halt: Halt { asked: stop, broken: AtomicBool::new(false) },
            tally: Mutex::default(),
        };
        // External policies run last, so that they do not compete with the others for cores.
        for (is_external, threads) in [(false, self.jobs), (true, external.map_or(1, PlayExternal::jobs))] {
            let is_in = |job: &Job| crew.policies[job.policy].is_external() == is_external;
            let phase = Phase {
                sequences: Sequences::new(crew.jobs.iter().filter(|job| is_in(job))),
                queue: Mutex::new(Queue::new(&crew.jobs, is_in, plan.standing.pace().clone(), threads)),
            };
            thread::scope(|scope| {
                for _ in 0..threads.min(crew.jobs.iter().filter(|job| is_in(job)).count()) {
                    scope.spawn(|| crew.work(&phase));
                }
            });
        }
        let Tally { ran, failed, discarded, broken } = std::mem::take(&mut *crew.tally());
        if let Some(error) = broken {
            return Err(error);
        }
        write_summary(&self.out)?;
        let interrupted = ran + failed.len() < crew.jobs.len();
        let (skipped, warnings) = (plan.done, plan.warnings);
        Ok(RunOutcome { ran, skipped, failed, interrupted, discarded, warnings })
    }
}

/// What the threads of a run share.
struct Crew<'a> {
    experiment: &'a Experiment,
    jobs: Vec<Job>,
    policies: Vec<PolicySpec>,
    build: &'a BuildPolicy<'a>,
    progress: &'a dyn Progress,
    folder: Folder,
    external: Option<&'a dyn PlayExternal>,
    halt: Halt<'a>,
    tally: Mutex<Tally>,
}

/// The trials that run at the same time: those of our own policies, or those of external ones.
struct Phase {
    sequences: Sequences,
    /// The jobs that have not started.
    queue: Mutex<Queue>,
}

impl Phase {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Tally {
    ran: usize,
    failed: Vec<TrialRow>,
    discarded: usize,
    /// The error that prevents further records.
    broken: Option<Error>,
}

/// Ends running trials when the user interrupts, or when nothing can be recorded any more.
pub(crate) struct Halt<'a> {
    pub(crate) asked: &'a AtomicBool,
    pub(crate) broken: AtomicBool,
}

impl Stop for Halt<'_> {
    fn is_set(&self) -> bool {
        self.asked.is_set() || self.broken.is_set()
    }
}

impl Crew<'_> {
    fn work(&self, phase: &Phase) {
        while !self.halt.is_set()
            && let Some(job) = self.next_job(phase)
        {
            self.progress.started(&job.id);
            let result = match without_panic(|| self.run_job(job, phase)) {
                Err(error) if error.is_interrupted() => {
                    self.tally().discarded += 1;
                    return;
                }
                result => result.map_err(|error| error.to_string()),
            };
            let row = TrialRow {
                id: job.id.clone(),
                seed: self.experiment.seed.number(),
                steps: self.experiment.steps,
                outcome: result.as_ref().map(Measured::from).map_err(String::clone),
                version: self.policies[job.policy].version(),
            };
            if let Err(error) = self.folder.record(&row, result.as_ref().ok()) {
                self.halt.broken.store(true, Ordering::Relaxed);
                self.tally().broken.get_or_insert(error);
                return;
            }
            if let Ok(measured) = &row.outcome {
                phase.queue().measure(job, measured.seconds());
            }
            self.progress.finished(&row);
            let mut tally = self.tally();
            match row.outcome {
                Ok(_) => tally.ran += 1,
                Err(_) => tally.failed.push(row),
            }
        }
    }

    /// A function of its own, so that the queue is not held while the job runs.
    fn next_job(&self, phase: &Phase) -> Option<&Job> {
        let index = phase.queue().take()?;
        self.jobs.get(index)
    }

    fn run_job(&self, job: &Job, phase: &Phase) -> Result<TrialResult, Error> {
        let Experiment { problems, steps, seed, .. } = self.experiment;
        let problem = &problems[job.problem].problem;
        let slot = phase.sequences.take(job);
        let sequence = slot
            .get_or_init(|| {
                problem.sequence(*steps, job.id.sequence_seed(*seed)).map_err(|error| error.to_string())
            })
            .as_ref()
            .map_err(|problem| ErrorKind::InvalidExperiment { problem: problem.clone() })?;
        let (spec, policy_seed) = (&self.policies[job.policy], job.id.policy_seed(*seed));
        if let Some(external) = self.external.filter(|_| spec.is_external()) {
            let propensities = self.experiment.propensities;
            let trial = ExternalTrial { policy: spec, sequence, seed: policy_seed, propensities };
            return external.play(&trial, &self.halt);
        }
        let mut policy = (self.build)(spec, problem.shape(), policy_seed)
            .map_err(|cause| ErrorKind::PolicyFailed { round: 0, cause })?;
        let mut watch = Watch::new(self.progress, &job.id);
        self.experiment.play(sequence, &mut *policy, &mut watch, &self.halt)
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A bug in one policy must not end the trials of the others.
pub(crate) fn without_panic<T>(attempt: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(attempt)).unwrap_or_else(|panic| {
        let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(message), _) => (*message).to_owned(),
            (_, Some(message)) => message.clone(),
            _ => "no message".to_owned(),
        };
        Err(ErrorKind::Panicked { message }.into())
    })
}
