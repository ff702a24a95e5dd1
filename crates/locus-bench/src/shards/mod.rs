//! Plans: shards that take about as long each, by the seconds of recorded trials.
//!
//! The cut that needs no plan gives every shard as many trials of a kind as any other, but where a shard has few trials, one more of
//! the slowest policy matters. A plan assigns the longest trials first, each to the shard that has least so far. It is a file,
//! since machines that each made their own plan, from what they have recorded, would disagree.

mod simulate;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::ErrorKind;
use crate::experiment::{Experiment, Part, Shard};
use crate::record::{KindRecord, TrialRow, parse_format, replace_file};

use simulate::Time;
pub use simulate::{Durations, Simulation};

/// The newest format that is read and written.
const FORMAT: u32 = 1;

/// The trials of each of several shards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardPlan {
    format: u32,
    seed: u64,
    steps: usize,
    propensities: bool,
    trials: usize,
    first_trial: usize,
    problems: Vec<String>,
    policies: Vec<String>,
    shards: Vec<PlannedShard>,
}

/// One shard of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedShard {
    /// How long its trials take, one after another.
    pub seconds: f64,
    /// Its trials.
    pub trials: Vec<KindRecord>,
}

/// A plan, and the seconds behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan.
    pub plan: ShardPlan,
    /// Recorded seconds of trials, or one guess, for each policy on each problem, counted problem by problem.
    samples: Vec<Vec<f64>>,
    /// For how many of these something was recorded.
    pub n_measured: usize,
}

impl Planned {
    /// Cuts an experiment into `n_shards` shards by the seconds of `recorded` trials, which may be of other numbers of steps.
    ///
    /// Where nothing is recorded of a policy on a problem, its seconds are guessed from other problems and policies.
    pub fn new(experiment: &Experiment, n_shards: usize, recorded: &[TrialRow]) -> Result<Self, Error> {
        if n_shards == 0 {
            let problem = "the number of shards is 0, expected at least 1".to_owned();
            return Err(ErrorKind::InvalidExperiment { problem }.into());
        }
        // That there are not more shards than trials is checked, too.
        let part = Part::Shard(Shard { number: 1, of: n_shards });
        Experiment { part, ..experiment.clone() }.check()?;
        let (policies, problems) = experiment.names()?;
        let (samples, seconds, n_measured) = experiment.seconds_of_kinds(&policies, &problems, recorded);
        let mut order: Vec<usize> = (0..samples.len()).collect();
        order.sort_by(|one, other| seconds[*other].total_cmp(&seconds[*one]));
        let mut shards = vec![PlannedShard { seconds: 0.0, trials: Vec::new() }; n_shards];
        let mut least: BinaryHeap<Reverse<(Time, usize)>> =
            (0..n_shards).map(|shard| Reverse((Time(0.0), shard))).collect();
        for kind in order {
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            for _ in 0..experiment.trials {
                if let Some(Reverse((Time(load), shard))) = least.pop() {
                    *counts.entry(shard).or_default() += 1;
                    least.push(Reverse((Time(load + seconds[kind]), shard)));
                }
            }
            // Trials of one kind are alike, so each shard takes numbers side by side, and the file stays small.
            let (problem, policy) = (&problems[kind / policies.len()], &policies[kind % policies.len()]);
            let mut start = experiment.first_trial;
            for (shard, count) in counts {
                let numbers = vec![[start, start + count]];
                let (problem, policy) = (problem.clone(), policy.clone());
                shards[shard].trials.push(KindRecord { problem, policy, numbers });
                shards[shard].seconds += seconds[kind] * count as f64;
                start += count;
            }
        }
        // To the millisecond, for readers.
        shards.iter_mut().for_each(|shard| shard.seconds = (shard.seconds * 1e3).round() / 1e3);
        let plan = ShardPlan {
            format: FORMAT,
            seed: experiment.seed.number(),
            steps: experiment.steps,
            propensities: experiment.propensities,
            trials: experiment.trials,
            first_trial: experiment.first_trial,
            problems,
            policies,
            shards,
        };
        Ok(Self { plan, samples, n_measured })
    }

    /// How many pairs of a policy and a problem there are.
    pub fn n_kinds(&self) -> usize {
        self.samples.len()
    }
}

impl ShardPlan {
    /// Its shards, from number 1.
    pub fn shards(&self) -> &[PlannedShard] {
        &self.shards
    }

    /// How many trials all shards have together.
    pub fn n_trials(&self) -> usize {
        self.problems.len() * self.policies.len() * self.trials
    }

    /// A shard as the part of an experiment; fails if the plan was made for other arguments.
    pub fn part(&self, shard: Shard, experiment: &Experiment) -> Result<Part, Error> {
        let invalid = |problem: String| Error::from(ErrorKind::InvalidExperiment { problem });
        let (policies, problems) = experiment.names()?;
        let on_off = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
        for (what, planned, asked) in [
            ("problems", self.problems.join(", "), problems.join(", ")),
            ("policies", self.policies.join(", "), policies.join(", ")),
            ("trials", self.trials.to_string(), experiment.trials.to_string()),
            ("first trial", self.first_trial.to_string(), experiment.first_trial.to_string()),
            ("steps", self.steps.to_string(), experiment.steps.to_string()),
            ("seed", self.seed.to_string(), experiment.seed.number().to_string()),
            ("propensities", on_off(self.propensities), on_off(experiment.propensities)),
            ("number of shards", self.shards.len().to_string(), shard.of.to_string()),
        ] {
            if planned != asked {
                return Err(invalid(format!(
                    "the plan was made for {what} {planned}, but {asked} was requested; use the arguments of the plan, or make \
                     another with `locus plan`"
                )));
            }
        }
        self.check_partition().map_err(invalid)?;
        let planned = shard.number.checked_sub(1).and_then(|place| self.shards.get(place));
        let planned = planned.ok_or_else(|| invalid(format!("the plan has no shard {shard}")))?;
        Ok(Part::Planned(shard, planned.trials.clone()))
    }

    /// Fails if a trial is in no shard or in several; such a plan was not written by `locus plan`.
    fn check_partition(&self) -> Result<(), String> {
        let mut ranges: BTreeMap<(&str, &str), Vec<[usize; 2]>> = BTreeMap::new();
        for KindRecord { problem, policy, numbers } in self.shards.iter().flat_map(|shard| &shard.trials) {
            ranges.entry((problem, policy)).or_default().extend(numbers);
        }
        let mut n_whole = 0;
        for ((problem, policy), mut numbers) in ranges {
            numbers.sort_unstable();
            let mut next = self.first_trial;
            for [start, end] in numbers {
                if start != next || end <= start {
                    return Err(format!(
                        "the plan is damaged: {policy} on {problem} has not each trial once; make another"
                    ));
                }
                next = end;
            }
            let is_known = self.problems.iter().any(|known| known == problem)
                && self.policies.iter().any(|known| known == policy);
            n_whole += usize::from(is_known && Some(next) == self.first_trial.checked_add(self.trials));
        }
        let n_kinds = self.problems.len() * self.policies.len();
        if n_whole != n_kinds {
            return Err(format!(
                "the plan is damaged: it has all trials of {n_whole} of {n_kinds} policies on problems; make another with `locus plan`"
            ));
        }
        Ok(())
    }

    /// The file: a line for each shard.
    pub fn to_json(&self) -> String {
        let json = |value: serde_json::Result<String>| value.expect("names and numbers are always JSON");
        let mut text = String::from("{\n");
        for (key, value) in [
            ("format", json(serde_json::to_string(&self.format))),
            ("seed", json(serde_json::to_string(&self.seed))),
            ("steps", json(serde_json::to_string(&self.steps))),
            ("propensities", json(serde_json::to_string(&self.propensities))),
            ("trials", json(serde_json::to_string(&self.trials))),
            ("first_trial", json(serde_json::to_string(&self.first_trial))),
            ("problems", json(serde_json::to_string(&self.problems))),
            ("policies", json(serde_json::to_string(&self.policies))),
        ] {
            text.push_str(&format!("  \"{key}\": {value},\n"));
        }
        let shards: Vec<String> =
            self.shards.iter().map(|shard| format!("    {}", json(serde_json::to_string(shard)))).collect();
        text.push_str(&format!("  \"shards\": [\n{}\n  ]\n}}\n", shards.join(",\n")));
        text
    }

    /// Reads a plan.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path)
            .map_err(|cause| ErrorKind::UnreadableFile { file: path.display().to_string(), cause })?;
        parse_format(&text, "a plan", FORMAT)
            .map_err(|problem| ErrorKind::InvalidFile { file: path.display().to_string(), problem }.into())
    }

    /// Writes the plan, unless another file is there: shards of two plans do not make a run.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let text = self.to_json();
        match fs::read(path) {
            Ok(there) if there == text.as_bytes() => Ok(()),
            Ok(_) => Err(ErrorKind::AlreadyThere { path: path.to_owned() }.into()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => replace_file(path, text.as_bytes()),
            Err(cause) => Err(ErrorKind::OutFile { doing: "read", path: path.to_owned(), cause }.into()),
        }
    }
}

#[cfg(test)]
mod tests;
