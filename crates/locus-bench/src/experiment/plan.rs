//! Finished and missing trials.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::Range;

use locus::PolicySpec;

use super::{Experiment, Standing};
use crate::Error;
use crate::problem::Loaded;
use crate::record::{
    FileRecord, Machine, PolicyRecord, ProblemRecord, RunFile, SchemaRecord, Session, TrialIndex, Trials,
    VERSION, read_all_trials, read_run, sequence_checksum,
};
use crate::trial::{TrialId, sequence_seed};

/// What a run would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The trials to run. In which order is decided while they run, as it becomes known how long they take.
    pub missing: Vec<TrialId>,
    /// How many of the requested trials are done.
    pub done: usize,
    /// How many of the missing ones failed before.
    pub retried: usize,
    /// The progress of the folder.
    pub standing: Standing,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

/// A warning; the run continues.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Another version ran some trials; its results may differ.
    OtherVersion {
        /// That version.
        version: String,
        /// The version that would run them now.
        now: String,
        /// How many of the requested trials.
        trials: usize,
    },
    /// The last row of `trials.csv` was cut short, so its trial is run again.
    TornRow,
    /// An earlier version recorded a policy that lacked settings, so it runs as it was then.
    OldMeaning {
        /// Its name in this folder.
        policy: String,
        /// The text of the policy that runs.
        runs: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherVersion { version, now, trials } => write!(
                f,
                "{trials} of these trials were run by locus {version}, but this version is {now}; choose another folder \
                 with --out to run them again"
            ),
            Self::OldMeaning { policy, runs } => write!(
                f,
                "an earlier version began this folder, so `{policy}` runs as it was then: `{runs}`; choose another folder with \
                 --out for today's `{policy}`"
            ),
            Self::TornRow => {
                f.write_str("an earlier run ended while it wrote its last row; that trial runs again")
            }
        }
    }
}

/// One missing trial, by place in the lists of the experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) id: TrialId,
    pub(super) problem: usize,
    pub(super) policy: usize,
}

/// A plan and its inputs.
pub(super) struct Prepared {
    pub(super) plan: Plan,
    pub(super) jobs: Vec<Job>,
    /// As the folder has them; the names in `jobs` are those that were asked for.
    pub(super) policies: Vec<PolicySpec>,
    pub(super) run: RunFile,
    /// All rows that were recorded, those of other policies and problems too.
    pub(super) recorded: Trials,
    /// The rows to begin from, where they are not what the file holds.
    pub(super) rewritten: Option<Trials>,
}

impl Experiment {
    /// Plans the missing trials. Reads the folder, writes nothing.
    pub fn plan(&self) -> Result<Plan, Error> {
        Ok(self.prepare()?.plan)
    }

    /// Fails if the folder holds another experiment.
    pub(super) fn prepare(&self) -> Result<Prepared, Error> {
        self.check()?;
        let policies = self.policies_in_order()?;
        let asked = self.describe(&policies)?;
        let on_disk = read_all_trials(&self.out)?;
        let run = match read_run(&self.out)? {
            Some(old) => old.extended(asked, &self.out, &self.registry)?,
            None => {
                let first = on_disk.as_ref().and_then(|trials| trials.rows.first());
                first.map_or(Ok(()), |first| RunFile::check_row(None, first, &self.out))?;
                asked
            }
        };
        let is_new = on_disk.is_none();
        let recorded = on_disk.unwrap_or_default();
        if let Some(first) = recorded.rows.first() {
            RunFile::check_row(Some(&run), first, &self.out)?;
        }

        let rows = TrialIndex::of(recorded.rows.iter().map(|row| &row.id));
        let mut jobs = self.all_jobs(&policies);
        let n_asked = jobs.len();
        let versions: Vec<String> = policies.iter().map(PolicySpec::version).collect();
        let mut other_versions: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut failed_before = 0;
        jobs.retain(|job| match rows.get(&job.id).map(|place| &recorded.rows[place]) {
            Some(row) if row.outcome.is_ok() => {
                let now = &versions[job.policy];
                if row.version != *now {
                    *other_versions.entry((&row.version, now)).or_default() += 1;
                }
                false
            }
            Some(_) => {
                failed_before += 1;
                true
            }
            None => true,
        });
        let mut warnings: Vec<Warning> = other_versions
            .into_iter()
            .map(|((version, now), trials)| {
                let (version, now) = (version.to_owned(), now.to_owned());
                Warning::OtherVersion { version, now, trials }
            })
            .collect();
        if recorded.is_torn {
            warnings.push(Warning::TornRow);
        }

        // Trials of one name in one folder are trials of one policy.
        let as_recorded: Vec<PolicySpec> =
            policies.iter().map(|policy| run.as_recorded(policy, &self.registry)).collect();
        for (policy, runs) in policies.iter().zip(&as_recorded).filter(|(policy, runs)| policy != runs) {
            let (policy, runs) = (policy.to_string(), runs.to_string());
            warnings.push(Warning::OldMeaning { policy, runs });
        }

        let is_whole = !(is_new || recorded.is_torn || recorded.is_of_old || recorded.rows.is_empty());
        let rewritten = (!is_whole || failed_before > 0).then(|| {
            let again: HashSet<&TrialId> = jobs.iter().map(|job| &job.id).collect();
            let rows = recorded.rows.iter().filter(|row| !again.contains(&row.id)).cloned().collect();
            Trials { rows, ..Trials::default() }
        });
        let mut standing = self.standing(&policies);
        // Those that failed are tried again.
        standing.record_all(recorded.rows.iter().filter(|row| row.outcome.is_ok()));
        let plan = Plan {
            missing: jobs.iter().map(|job| job.id.clone()).collect(),
            done: n_asked - jobs.len(),
            retried: failed_before,
            standing,
            warnings,
        };
        Ok(Prepared { plan, jobs, policies: as_recorded, run, recorded, rewritten })
    }

    /// Nothing has run yet.
    fn standing(&self, policies: &[PolicySpec]) -> Standing {
        let names = policies.iter().map(ToString::to_string).collect();
        let problem = |loaded: &Loaded| (loaded.problem.name().to_owned(), loaded.problem.shape().n_features);
        let problems = self.problems.iter().map(problem).collect();
        let asked = self.asked_of_all(policies);
        Standing::new(names, problems, self.steps, self.jobs, |policy, problem| {
            asked[problem][policy].clone()
        })
    }

    /// The numbers of the requested trials, by place of problem and policy.
    fn asked_of_all(&self, policies: &[PolicySpec]) -> Vec<Vec<Vec<Range<usize>>>> {
        let names: Vec<String> = policies.iter().map(ToString::to_string).collect();
        let of_problem =
            |problem| (0..names.len()).map(|policy| self.asked(&names, policy, problem)).collect();
        (0..self.problems.len()).map(of_problem).collect()
    }

    /// The requested trials, trial by trial.
    fn all_jobs(&self, policies: &[PolicySpec]) -> Vec<Job> {
        let names: Vec<String> = policies.iter().map(ToString::to_string).collect();
        let mut places: Vec<(usize, usize, usize)> = Vec::new();
        for (problem, of_problem) in self.asked_of_all(policies).into_iter().enumerate() {
            for (policy, numbers) in of_problem.into_iter().enumerate() {
                places.extend(numbers.into_iter().flatten().map(|trial| (trial, problem, policy)));
            }
        }
        places.sort_unstable();
        // A trial may be named twice.
        places.dedup();
        let job = |(trial, problem, policy): (usize, usize, usize)| {
            let problem_name = self.problems[problem].problem.name().to_owned();
            Job {
                id: TrialId { problem: problem_name, policy: names[policy].clone(), trial },
                problem,
                policy,
            }
        };
        places.into_iter().map(job).collect()
    }

    /// The experiment as `run.json` knows it. Makes the first sequence of every problem, for its checksum.
    pub(crate) fn describe(&self, policies: &[PolicySpec]) -> Result<RunFile, Error> {
        let mut run = RunFile::new(self.seed.number(), self.steps, self.propensities);
        for Loaded { problem, files, schema, .. } in &self.problems {
            let first = problem.sequence(self.steps, sequence_seed(self.seed, problem.name(), 0))?;
            let file = |file: &crate::problem::FileUsed| FileRecord {
                name: file.name.clone(),
                sha256: file.sha256.clone(),
            };
            run.problems.push(ProblemRecord {
                name: problem.name().to_owned(),
                n_features: problem.shape().n_features,
                n_actions: first.n_choices(),
                n_action_features: problem.shape().n_action_features,
                files: files.iter().map(file).collect(),
                first_trial_sha256: sequence_checksum(&first),
                schema: schema.as_ref().map(SchemaRecord::from),
            });
        }
        let policy =
            |policy: &PolicySpec| PolicyRecord { policy: policy.to_string(), settings: policy.full() };
        run.policies = policies.iter().map(policy).collect();
        run.sessions = vec![Session {
            version: VERSION.to_owned(),
            suite: self.suite.clone(),
            command: self.command.clone(),
            policies: run.policies.iter().map(|record| record.policy.clone()).collect(),
            problems: run.problems.iter().map(|record| record.name.clone()).collect(),
            trials: self.trials,
            first_trial: self.first_trial,
            part: self.part.record(),
            jobs: self.jobs,
            machine: Machine::here(),
        }];
        Ok(run)
    }
}
