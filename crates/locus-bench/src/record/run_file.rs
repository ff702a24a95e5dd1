//! `run.json`: what was run in a folder, and whether more trials can be added.
//!
//! The trials of a folder are compared with each other, so they must be of one seed, one number of steps and the same data, and
//! all with propensities or all without. Files are identified by their checksums, and how they were read (for example the label
//! column) by the checksum of the first trial's rounds. The types here are the file's own; an incompatible change increments
//! [`FORMAT`].

use std::fs;
use std::io;
use std::path::Path;

use locus::{PolicySpec, PolicyText, Registry};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{RUN_FILE, SchemaRecord, TrialRow};
use crate::Error;
use crate::error::ErrorKind;
use crate::problem::Sequence;

/// The newest format that is read and written: that of trials with propensities, which older versions would continue without.
const FORMAT: u32 = 2;
/// The format of all other trials, so that older versions can read them.
const FORMAT_WITHOUT_PROPENSITIES: u32 = 1;

/// The contents of `run.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFile {
    /// The format of this file.
    pub format: u32,
    /// The seed of all trials.
    pub seed: u64,
    /// T, the number of steps of all trials.
    pub steps: usize,
    /// Whether all trials ran with propensities; not written if they did not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub propensities: bool,
    /// The problems, in the order in which they were added.
    pub problems: Vec<ProblemRecord>,
    /// The policies, in the order in which they were added.
    pub policies: Vec<PolicyRecord>,
    /// The runs, with what differed from the one before.
    pub sessions: Vec<Session>,
}

/// A problem and the data behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemRecord {
    /// The problem's name.
    pub name: String,
    /// C, the width of the contexts.
    pub n_features: usize,
    /// A, the number of actions, or of a round's candidates if actions have features.
    pub n_actions: usize,
    /// F, the number of features of an action; not written if actions are only numbered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_action_features: usize,
    /// The files that it was read from.
    pub files: Vec<FileRecord>,
    /// SHA-256 of all contexts and rewards of trial 0, in hexadecimal.
    pub first_trial_sha256: String,
    /// How the user's own table was read; missing in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaRecord>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A data file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its name.
    pub name: String,
    /// SHA-256 of its uncompressed bytes, in hexadecimal.
    pub sha256: String,
}

/// A policy and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRecord {
    /// The canonical form, as in `trials.csv`.
    pub policy: String,
    /// The same with every setting spelled out.
    pub settings: String,
}

/// One or more runs of one command by one version on one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The version of Locus.
    pub version: String,
    /// The suite.
    pub suite: String,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// The requested policies, in canonical form; earlier versions did not record them.
    #[serde(default)]
    pub policies: Vec<String>,
    /// The requested problems; earlier versions did not record them.
    #[serde(default)]
    pub problems: Vec<String>,
    /// The requested number of trials.
    pub trials: usize,
    /// The number of the first of them; earlier versions always began at 0.
    #[serde(default)]
    pub first_trial: usize,
    /// The requested part of them; not written if all were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartRecord>,
    /// How many threads ran them.
    pub jobs: usize,
    /// Where.
    pub machine: Machine,
}

/// A part of the trials that a session describes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Which of how many shards, e.g. `3/64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Its trials, where the arguments of the command do not tell them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<KindRecord>,
}

/// Trials of a policy on a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindRecord {
    /// The problem.
    pub problem: String,
    /// The policy, in canonical form.
    pub policy: String,
    /// Ranges of numbers, each from its first trial to before its end.
    pub numbers: Vec<[usize; 2]>,
}

/// The machine on which the seconds in `trials.csv` were measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The operating system, e.g. `linux`.
    pub os: String,
    /// The kind of processor, e.g. `aarch64`.
    pub arch: String,
    /// How many threads can run at once.
    pub cpus: usize,
    /// The processor's name, if the system reports it.
    pub cpu_model: Option<String>,
    /// The instruction set that loops over networks use, e.g. `avx2+fma`; unknown for earlier versions.
    ///
    /// The last bits of their numbers depend on it, so trials are equal to the bit only on machines where it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

impl Machine {
    /// The machine that this runs on.
    pub fn here() -> Self {
        // Only Linux tells it in a file.
        let cpu_model = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
        Self {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            cpu_model,
            instructions: instructions().map(str::to_owned),
        }
    }
}

/// The instruction set that the library's loops choose at run time; `None` where they have no choice.
fn instructions() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;

        let is_512 =
            has!("avx512f") && has!("avx512bw") && has!("avx512cd") && has!("avx512dq") && has!("avx512vl");
        let name = match (is_512, has!("avx2") && has!("fma")) {
            (true, _) => "avx512",
            (false, true) => "avx2+fma",
            (false, false) => "sse2",
        };
        Some(name)
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

impl PolicyRecord {
    /// Whether every setting that was recorded has the same value in `now`. A later version may know more settings, and no longer
    /// know some: the old defaults of both leave a policy as it was, and [`RunFile::as_recorded`] builds it so. Fails where a
    /// setting that no longer exists had another value.
    fn still_holds(&self, now: &Self, registry: &Registry) -> Result<bool, locus::Error> {
        let (recorded, asked) = (PolicyText::parse(&self.settings)?, PolicyText::parse(&now.settings)?);
        let is_same = recorded.id == asked.id && recorded.preset == asked.preset;
        if is_same && recorded.settings.iter().all(|setting| asked.settings.contains(setting)) {
            return Ok(true);
        }
        match registry.parse_recorded(&self.settings) {
            Ok(spec) => Ok(registry.parse(&now.settings).is_ok_and(|now| now.is_recorded_as(&spec))),
            Err(error) if error.is_removed() => Err(error),
            Err(_) => Ok(false),
        }
    }
}

impl PolicyRecord {
    /// Whether trials of both are trials of one policy: settings that only one version knows have the values that change nothing.
    fn is_same(&self, other: &Self, registry: &Registry) -> bool {
        let spec = |record: &Self| registry.parse_recorded(&record.settings).ok();
        self.settings == other.settings || spec(self).is_some_and(|own| Some(own) == spec(other))
    }
}

impl RunFile {
    /// Nothing was run yet.
    pub(crate) fn new(seed: u64, steps: usize, propensities: bool) -> Self {
        let (problems, policies, sessions) = Default::default();
        let format = if propensities { FORMAT } else { FORMAT_WITHOUT_PROPENSITIES };
        Self { format, seed, steps, propensities, problems, policies, sessions }
    }

    /// Adds `asked` to this file, or fails with the difference that prevents it.
    pub(crate) fn extended(mut self, asked: Self, out: &Path, registry: &Registry) -> Result<Self, Error> {
        let check = |what: &str, recorded: &str, asked: &str, remedy: &str| {
            if recorded == asked {
                return Ok(());
            }
            Err(ErrorKind::OtherExperiment {
                out: out.to_owned(),
                what: what.to_owned(),
                recorded: recorded.to_owned(),
                asked: asked.to_owned(),
                remedy: remedy.to_owned(),
            })
        };
        let (seed, steps) = (self.seed.to_string(), self.steps.to_string());
        check("seed", &seed, &asked.seed.to_string(), &format!("use --seed {seed}"))?;
        check("steps", &steps, &asked.steps.to_string(), &format!("use --steps {steps}"))?;
        let on_off = |is_on: bool| if is_on { "on" } else { "off" };
        let remedy = match self.propensities {
            true => "add --propensities",
            false => "omit --propensities (--propensities=false if the suite sets it)",
        };
        check("propensities", on_off(self.propensities), on_off(asked.propensities), remedy)?;
        for problem in asked.problems {
            let Some(old) = self.problems.iter_mut().find(|old| old.name == problem.name) else {
                self.problems.push(problem);
                continue;
            };
            let its = |what: &str| format!("`{}` {what}", problem.name);
            let remedy = "use the data of these trials";
            check(&its("data of checksum"), &old.checksums(), &problem.checksums(), remedy)?;
            // The files are the same from here on, so something else was made of them.
            let remedy = match problem.files[..] {
                [] => "use the version of locus of these trials",
                _ => {
                    "use the label, the column options and the version of locus of these trials: the data are the same"
                }
            };
            check(&its("of features × actions"), &old.shape(), &problem.shape(), remedy)?;
            check(&its("rounds of checksum"), &old.first_trial_sha256, &problem.first_trial_sha256, remedy)?;
            // The rounds are the same, so the schema holds for the recorded trials, too.
            old.schema = old.schema.take().or(problem.schema);
        }
        for policy in asked.policies {
            let Some(old) = self.policies.iter().find(|old| old.policy == policy.policy) else {
                self.policies.push(policy);
                continue;
            };
            let still_holds = old.still_holds(&policy, registry).map_err(|error| {
                let problem =
                    format!("`{}` holds trials of a policy that no longer exists: {error}", out.display());
                ErrorKind::InvalidExperiment { problem }
            })?;
            if !still_holds {
                let what = format!("`{}` meaning", policy.policy);
                let remedy = "write out the settings of these trials in --policies";
                check(&what, &old.settings, &policy.settings, remedy)?;
            }
        }
        for session in asked.sessions {
            if self.sessions.last() != Some(&session) {
                self.sessions.push(session);
            }
        }
        Ok(self)
    }

    /// Adds the runs of another folder, or fails with the difference that prevents it. `out` is the folder of this file.
    ///
    /// Unlike a run that is resumed, both have trials already, so a policy must have the same settings in both.
    pub(crate) fn joined(self, mut other: Self, out: &Path, registry: &Registry) -> Result<Self, Error> {
        for policy in &other.policies {
            let own = self.policies.iter().find(|own| own.policy == policy.policy);
            if let Some(own) = own.filter(|own| !own.is_same(policy, registry)) {
                return Err(ErrorKind::OtherExperiment {
                    out: out.to_owned(),
                    what: format!("`{}` meaning", policy.policy),
                    recorded: own.settings.clone(),
                    asked: policy.settings.clone(),
                    remedy: "give one of them another name by writing out its settings".to_owned(),
                }
                .into());
            }
        }
        other.policies.retain(|policy| self.policies.iter().all(|own| own.policy != policy.policy));
        let sessions = std::mem::take(&mut other.sessions);
        let mut joined = self.extended(other, out, registry)?;
        for session in sessions {
            if !joined.sessions.contains(&session) {
                joined.sessions.push(session);
            }
        }
        Ok(joined)
    }

    /// Fails if the first row of the folder `out` is not of its `run.json`, which may be missing.
    pub(crate) fn check_row(run: Option<&Self>, first: &TrialRow, out: &Path) -> Result<(), Error> {
        let problem = match run {
            Some(run) if (first.seed, first.steps) == (run.seed, run.steps) => return Ok(()),
            Some(run) => format!(
                "says seed {} and {} steps, but trials.csv has seed {} and {} steps",
                run.seed, run.steps, first.seed, first.steps
            ),
            None => "missing, but trials exist; without it their data are unknown".to_owned(),
        };
        Err(ErrorKind::DamagedRunFile { path: out.join(RUN_FILE), problem }.into())
    }

    /// The policy as this folder's trials have it: settings that came to exist later have the values that change nothing.
    pub(crate) fn as_recorded(&self, policy: &PolicySpec, registry: &Registry) -> PolicySpec {
        let name = policy.to_string();
        let record = self.policies.iter().find(|record| record.policy == name);
        record
            .and_then(|record| registry.parse_recorded(&record.settings).ok())
            .filter(|recorded| policy.is_recorded_as(recorded))
            .unwrap_or_else(|| policy.clone())
    }

    /// The bytes of the file.
    pub(crate) fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("names and numbers are always JSON");
        text.push('\n');
        text
    }

    fn parse(text: &str) -> Result<Self, String> {
        parse_format(text, "a run", FORMAT)
    }
}

/// Reads a record of `what`, whose `format` tells whether this version understands it: up to `newest` it does.
pub(crate) fn parse_format<T: DeserializeOwned>(text: &str, what: &str, newest: u32) -> Result<T, String> {
    /// Enough to tell which format follows.
    #[derive(Deserialize)]
    struct Head {
        format: u32,
    }
    let unreadable = |error: serde_json::Error| format!("not the record of {what}: {error}");
    let Head { format } = serde_json::from_str(text).map_err(unreadable)?;
    if format > newest {
        return Err(format!(
            "written in format {format}, but this version of locus reads formats up to {newest}"
        ));
    }
    serde_json::from_str(text).map_err(unreadable)
}

impl ProblemRecord {
    /// Names do not matter: the same bytes are the same data.
    fn checksums(&self) -> String {
        match &self.files[..] {
            [] => "none".to_owned(),
            files => files.iter().map(|file| file.sha256.as_str()).collect::<Vec<_>>().join(" and "),
        }
    }

    fn shape(&self) -> String {
        match self.n_action_features {
            0 => format!("{} × {}", self.n_features, self.n_actions),
            n => format!("{} × {} of {n} features", self.n_features, self.n_actions),
        }
    }
}

/// What was run in the folder `out`; `None` where nothing was.
pub fn read_run(out: &Path) -> Result<Option<RunFile>, Error> {
    let path = out.join(RUN_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(ErrorKind::OutFile { doing: "read", path, cause }.into()),
    };
    RunFile::parse(&text)
        .map(Some)
        .map_err(|problem| Error::from(ErrorKind::DamagedRunFile { path, problem }))
}

/// Tells whether two sequences are the same, to the bit.
pub(crate) fn sequence_checksum(sequence: &Sequence) -> String {
    let mut hasher = Sha256::new();
    for t in 0..sequence.len() {
        let round = sequence.round(t);
        let features = round.context.iter().chain(round.candidates.unwrap_or_default());
        let contexts = features.flat_map(|feature| feature.to_le_bytes());
        let rewards =
            round.rewards.iter().chain([&round.best_reward]).flat_map(|reward| reward.to_le_bytes());
        hasher.update(contexts.chain(rewards).collect::<Vec<u8>>());
    }
    hex(&hasher.finalize())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Column, MissingValues, Reason, Schema, Usage};
    use locus::Shape;
    use proptest::prelude::*;

    fn run(seed: u64, problems: &[(&str, &str)], policies: &[(&str, &str)]) -> RunFile {
        let mut run = RunFile::new(seed, 10, false);
        run.problems = problems
            .iter()
            .map(|&(name, sha256)| ProblemRecord {
                name: name.to_owned(),
                n_features: 2,
                n_actions: 3,
                n_action_features: 0,
                files: vec![FileRecord { name: format!("{name}.csv"), sha256: sha256.to_owned() }],
                first_trial_sha256: "00".to_owned(),
                schema: None,
            })
            .collect();
        run.policies = policies
            .iter()
            .map(|&(policy, settings)| PolicyRecord {
                policy: policy.to_owned(),
                settings: settings.to_owned(),
            })
            .collect();
        run
    }

    #[test]
    fn problems_and_policies_may_be_added_in_any_order() {
        let first = run(1, &[("a", "11")], &[("x", "x[k=1]")]);
        let second = run(1, &[("b", "22"), ("a", "11")], &[("y", "y[]")]);
        let both = first.clone().extended(second, Path::new("out"), &Registry::standard()).unwrap();
        assert_eq!(both, run(1, &[("a", "11"), ("b", "22")], &[("x", "x[k=1]"), ("y", "y[]")]));
        assert_eq!(RunFile::parse(&both.to_json()), Ok(both.clone()));
        assert_eq!(both.clone().extended(first, Path::new("out"), &Registry::standard()).unwrap(), both);
    }

    /// A file of an earlier version has no schema, and gains it when the same rounds are run again.
    #[test]
    fn a_schema_is_kept_and_may_be_missing() {
        let column = |usage| Column {
            name: "a".to_owned(),
            usage,
            is_forced: usage == Usage::Ignored(Reason::Asked),
            missing: 3,
            rows_dropped: 2,
        };
        let schema = Schema {
            columns: vec![
                column(Usage::Numeric { is_constant: true }),
                column(Usage::Categorical { values: 4 }),
                column(Usage::Label { values: 3 }),
                column(Usage::Ignored(Reason::Identifier { values: 9 })),
                column(Usage::Ignored(Reason::Asked)),
            ],
            n_features: 2,
            n_actions: Some(3),
            rows_read: 9,
            rows_dropped: 2,
            missing: MissingValues::Median,
            delimiter: b'\t',
        };
        let old = run(1, &[("a", "11")], &[]);
        assert!(!old.to_json().contains("schema"), "older files stay as they are");
        let mut new = old.clone();
        new.problems[0].schema = Some(SchemaRecord::from(&schema));
        let json = new.to_json();
        assert_eq!(RunFile::parse(&json), Ok(new.clone()));
        assert!(json.contains("\"format\": 1,") && json.contains("\"missing\": \"median\""), "{json}");
        let columns = &new.problems[0].schema.as_ref().unwrap().columns;
        let said: Vec<_> =
            columns.iter().map(|c| (c.usage.as_str(), c.reason.as_deref(), c.values, c.forced)).collect();
        let expected = [
            ("numeric", Some("constant"), None, false),
            ("categorical", None, Some(4), false),
            ("label", None, Some(3), false),
            ("ignored", Some("identifier"), Some(9), false),
            ("ignored", Some("asked"), None, true),
        ];
        assert_eq!(said, expected);
        let extended = |one: &RunFile, other: &RunFile| {
            one.clone().extended(other.clone(), Path::new("out"), &Registry::standard()).unwrap()
        };
        assert_eq!(extended(&old, &new), new);
        assert_eq!(extended(&new, &old), new);
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        let first = run(1, &[("a", "11")], &[("x", "x[k=1]")]);
        let mut wider = run(1, &[("a", "11")], &[]);
        wider.problems[0].n_features = 7;
        let mut relabelled = run(1, &[("a", "11")], &[]);
        relabelled.problems[0].first_trial_sha256 = "ff".to_owned();
        let cases = [
            (
                run(2, &[], &[]),
                "trials with seed 1, but 2 was requested; choose another folder with --out, or use",
            ),
            (run(1, &[("a", "33")], &[]), "trials with `a` data of checksum 11, but 33 was requested"),
            (run(1, &[], &[("x", "x[k=2]")]), "trials with `x` meaning x[k=1], but x[k=2] was requested"),
            (wider, "trials with `a` of features × actions 2 × 3, but 7 × 3 was requested"),
            (relabelled, "trials with `a` rounds of checksum 00, but ff was requested"),
        ];
        for (asked, expected) in cases {
            let message = first
                .clone()
                .extended(asked, Path::new("out"), &Registry::standard())
                .unwrap_err()
                .to_string();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_setting_that_came_to_exist_later_is_no_difference() {
        let first = run(1, &[], &[("x", "x@p[k=1]")]);
        let later = run(1, &[], &[("x", "x@p[j=0,k=1,m=2]")]);
        assert!(first.clone().extended(later.clone(), Path::new("out"), &Registry::standard()).is_ok());
        assert!(later.extended(first, Path::new("out"), &Registry::standard()).is_err());
    }

    /// `lin-pool` once had a setting `noise`, whose default was `larger`.
    #[test]
    fn a_removed_setting_is_no_difference_at_its_old_default_and_an_error_otherwise() {
        let now = Registry::standard().parse("lin-pool").unwrap().full();
        let asked = run(1, &[], &[("lin-pool", &now)]);
        let old = |noise: &str| now.replace('[', &format!("[noise={noise},"));
        let extended = |recorded: &str| {
            let first = run(1, &[], &[("lin-pool", recorded)]);
            first.extended(asked.clone(), Path::new("out"), &Registry::standard())
        };
        assert!(extended(&old("larger")).is_ok());
        let message = extended(&old("own")).unwrap_err().to_string();
        assert!(message.starts_with("`out` holds trials of a policy that no longer exists: "), "{message}");
        assert!(message.contains("`noise=own` was removed; the tag `locus-search`"), "{message}");
        let changed = old("larger").replace("rescale_every=20", "rescale_every=30");
        let message = extended(&changed).unwrap_err().to_string();
        assert!(message.contains("trials with `lin-pool` meaning"), "{message}");
    }

    #[test]
    fn sessions_are_told_apart_only_where_they_differ() {
        let mut asked = RunFile::new(1, 10, false);
        let machine = Machine::here();
        let (version, suite) = ("0.1.0".to_owned(), "quick".to_owned());
        let (command, policies, problems) = Default::default();
        asked.sessions = vec![Session {
            version,
            suite,
            command,
            policies,
            problems,
            trials: 1,
            first_trial: 0,
            part: None,
            jobs: 2,
            machine,
        }];
        let once = RunFile::new(1, 10, false);
        let once = once.extended(asked.clone(), Path::new("out"), &Registry::standard()).unwrap();
        let mut twice = once.extended(asked.clone(), Path::new("out"), &Registry::standard()).unwrap();
        assert_eq!(twice.sessions.len(), 1);
        asked.sessions[0].trials = 2;
        twice = twice.extended(asked, Path::new("out"), &Registry::standard()).unwrap();
        assert_eq!(twice.sessions.len(), 2);
    }

    #[test]
    fn a_file_of_the_future_is_refused_as_such() {
        let problem = RunFile::parse(r#"{"format": 3, "news": []}"#).unwrap_err();
        assert_eq!(problem, "written in format 3, but this version of locus reads formats up to 2");
    }

    /// Versions that know no propensities read format 1 and refuse format 2.
    #[test]
    fn only_a_run_with_propensities_is_written_in_a_new_way() {
        let (without, with) = (RunFile::new(1, 10, false).to_json(), RunFile::new(1, 10, true).to_json());
        assert!(without.contains("\"format\": 1,") && !without.contains("propensities"), "{without}");
        assert!(with.contains("\"format\": 2,") && with.contains("\"propensities\": true,"), "{with}");
        assert!(!RunFile::parse(&without).unwrap().propensities);
        assert!(RunFile::parse(&with).unwrap().propensities);
    }

    #[test]
    fn every_number_of_a_sequence_counts() {
        let sequence = |context, reward, best| {
            Sequence::new(Shape::new(1, 2), vec![context], vec![0.0, reward], vec![best]).unwrap()
        };
        let all = [(0.5, 1.0, 1.0), (0.25, 1.0, 1.0), (0.5, 0.75, 1.0), (0.5, 1.0, 1.5)]
            .map(|(context, reward, best)| sequence_checksum(&sequence(context, reward, best)));
        assert_eq!(all[0], sequence_checksum(&sequence(0.5, 1.0, 1.0)));
        assert!(all[1..].iter().all(|other| *other != all[0]));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), cut in 0..200_usize) {
            let _ = RunFile::parse(&text);
            let json = run(1, &[("a", "11")], &[("x", "x[k=1]")]).to_json();
            let _ = RunFile::parse(json.get(..cut).unwrap_or(&json));
        }
    }
}
