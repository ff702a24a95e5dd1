//! Joins the folders of several runs, such as the shards of one, into one folder.
//!
//! Everything is read and compared before anything is written, so that a merge that is refused changes nothing. The merge then
//! writes in the order of a run: `run.json`, the curves, the rows. Rows are written in one file at the end, which replaces the
//! old one, and no file that the destination's rows need is ever removed. So a merge that is killed loses nothing, and the same
//! merge again ends as if it had not been killed. Merging what was merged before changes nothing.
//!
//! A trial that several folders have is kept once, from the first folder of those given (the destination before all others): the
//! folders must agree on its regrets and curves to the bit, while its seconds may differ. A success replaces a failure. Trials of
//! different builds are kept with a warning, as in a resumed run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use locus::Registry;

use crate::Error;
use crate::error::ErrorKind;
use crate::experiment::{MAX_TRIALS, Shard, Standing};
use crate::record::{
    CURVES_FOLDER, Folder, RUN_FILE, RunFile, TRIALS_FILE, TrialIndex, TrialRow, Trials, Worker, curve_paths,
    read_all_trials, read_run, worker,
};
use crate::status::asked_for;
use crate::summary::write_summary_of;
use crate::trial::TrialId;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// Trials that the destination did not have.
    pub added: usize,
    /// Trials that it had, or that several folders have, with equal results.
    pub equal: usize,
    /// Failed trials that were replaced by successful ones.
    pub replaced: usize,
    /// The progress of the destination: what its sessions requested, and what is done of it.
    pub standing: Standing,
    /// Shards of a run of which other shards were merged; nothing else in the destination tells that their trials are missing.
    pub absent: Vec<AbsentShards>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Shards that were not merged, although others of the same run were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsentShards {
    /// Their numbers, from 1.
    pub numbers: Vec<usize>,
    /// How many shards the run has.
    pub of: usize,
}

/// Joins the runs in `folders` into the folder `out`, which may be new, or hold a run.
///
/// Fails, and changes nothing, if the folders have different seeds, steps, propensities, data or settings, if they have different
/// results of a trial, or if their records are damaged.
pub fn merge(out: &Path, folders: &[PathBuf], registry: &Registry) -> Result<Merged, Error> {
    let holds_run = || [RUN_FILE, TRIALS_FILE].iter().any(|file| out.join(file).exists());
    // A new folder is created once nothing can be refused any more.
    let mut lock = if holds_run() { Some(Folder::lock(out)?) } else { None };
    let mut joint = Joint::begin(out)?;
    let mut seen = HashSet::from([identity(out)]);
    for folder in folders.iter().filter(|folder| seen.insert(identity(folder))) {
        joint.add(folder, registry)?;
    }
    joint.check()?;
    if lock.is_none() {
        lock = Some(Folder::lock(out)?);
        if holds_run() {
            // Created by another process meanwhile.
            return Err(ErrorKind::OutInUse { out: out.to_owned() }.into());
        }
    }
    match lock {
        Some(folder) => joint.write(&folder),
        None => Err(ErrorKind::OutInUse { out: out.to_owned() }.into()),
    }
}

/// A folder, however its path is written.
fn identity(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// What several folders hold together.
struct Joint {
    /// The folders, first the destination; and what each ran, `None` in a new destination.
    folders: Vec<(PathBuf, Option<RunFile>)>,
    run: Option<RunFile>,
    /// Whether `trials.csv` in the destination is as this version writes it.
    is_whole: bool,
    /// Rows of the destination, then those that the other folders add.
    rows: Vec<TrialRow>,
    /// For each row the folder, by place, that it is from.
    origins: Vec<u32>,
    /// For each row the folder, by place, that holds its curves, if any does.
    curves: Vec<Option<u32>>,
    index: TrialIndex,
    added: usize,
    equal: usize,
    replaced: usize,
    disputes: Vec<Dispute>,
    warnings: Vec<String>,
}

/// Two folders, by place, with different results of one trial.
struct Dispute {
    id: TrialId,
    one: usize,
    other: usize,
    what: String,
}

/// What one folder holds.
struct Source {
    run: Option<RunFile>,
    trials: Option<Trials>,
}

impl Source {
    fn read(out: &Path) -> Result<Self, Error> {
        let (run, trials) = (read_run(out)?, read_all_trials(out)?);
        if let Some(first) = trials.as_ref().and_then(|trials| trials.rows.first()) {
            RunFile::check_row(run.as_ref(), first, out)?;
        }
        Ok(Self { run, trials })
    }
}

impl Joint {
    /// With what the destination holds.
    fn begin(out: &Path) -> Result<Self, Error> {
        let Source { run, trials } = Source::read(out)?;
        let is_whole = trials.as_ref().is_some_and(|trials| !trials.is_torn && !trials.is_of_old);
        let rows = trials.unwrap_or_default().rows;
        let has_curves = out.join(CURVES_FOLDER).is_dir();
        let curves = rows.iter().map(|row| has_curves_of(out, has_curves, row).then_some(0)).collect();
        Ok(Self {
            folders: vec![(out.to_owned(), run.clone())],
            run,
            is_whole,
            origins: vec![0; rows.len()],
            index: TrialIndex::of(rows.iter().map(|row| &row.id)),
            rows,
            curves,
            added: 0,
            equal: 0,
            replaced: 0,
            disputes: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// Adds what another folder holds.
    fn add(&mut self, folder: &Path, registry: &Registry) -> Result<(), Error> {
        let (run, trials) = match Source::read(folder)? {
            Source { run: Some(run), trials } => (run, trials.unwrap_or_default()),
            Source { run: None, .. } => return Err(ErrorKind::NoTrials { out: folder.to_owned() }.into()),
        };
        if matches!(worker(folder), Worker::Process(_)) {
            let name = folder.display();
            self.warnings
                .push(format!("a process is running trials in `{name}`; merge it again when it has ended"));
        }
        if trials.is_torn {
            let name = folder.display();
            self.warnings.push(format!("the last row of `{name}` was cut short; its trial is missing"));
        }
        self.run = Some(match self.run.take() {
            None => run.clone(),
            Some(joint) => joint
                .joined(run.clone(), folder, registry)
                .map_err(|error| self.earlier_folder_that_differs(&run, folder, registry).unwrap_or(error))?,
        });
        let place = self.folders.len();
        self.folders.push((folder.to_owned(), Some(run)));
        let has_curves = folder.join(CURVES_FOLDER).is_dir();
        let mut without_curves = Vec::new();
        for row in trials.rows {
            let curves = has_curves_of(folder, has_curves, &row).then_some(place as u32);
            if has_curves && curves.is_none() && row.outcome.is_ok() {
                without_curves.push(row.id.clone());
            }
            self.add_row(row, curves, place)?;
        }
        if let Some(first) = without_curves.first() {
            self.warnings.push(format!(
                "`{}` lacks the curves of {} of its trials, the first of which is {first}; their rows were merged",
                folder.display(),
                without_curves.len()
            ));
        }
        Ok(())
    }

    /// Of the folders so far, the first that `run` cannot join, as an error that names it.
    fn earlier_folder_that_differs(
        &self,
        run: &RunFile,
        folder: &Path,
        registry: &Registry,
    ) -> Option<Error> {
        self.folders.iter().find_map(|(out, earlier)| {
            let error = earlier.clone()?.joined(run.clone(), out, registry).err()?;
            Some(error.between_folders(out, folder))
        })
    }

    fn add_row(&mut self, row: TrialRow, curves: Option<u32>, place: usize) -> Result<(), Error> {
        let Some(known) = self.index.get(&row.id) else {
            self.index.insert(&row.id, self.rows.len());
            self.rows.push(row);
            self.origins.push(place as u32);
            self.curves.push(curves);
            self.added += 1;
            return Ok(());
        };
        match (&self.rows[known].outcome, &row.outcome) {
            (_, Err(_)) => self.equal += 1,
            (Err(_), Ok(_)) => {
                self.rows[known] = row;
                self.origins[known] = place as u32;
                self.curves[known] = curves;
                self.replaced += 1;
            }
            (Ok(one), Ok(other)) => {
                let regrets = |measured: &crate::record::Measured| {
                    [measured.cumulative_regret, measured.simple_regret].map(f64::to_bits)
                };
                let is_same = regrets(one) == regrets(other);
                let with_curves = self.curves[known].zip(curves);
                let what = match with_curves {
                    _ if !is_same => Some(format!(
                        "cumulative regret {:?} and {:?}, simple regret {:?} and {:?}",
                        one.cumulative_regret,
                        other.cumulative_regret,
                        one.simple_regret,
                        other.simple_regret
                    )),
                    Some((kept, new)) if !self.has_same_curves(&row.id, kept, new)? => {
                        Some("equal regrets in trials.csv, but different curves".to_owned())
                    }
                    _ => None,
                };
                match what {
                    Some(what) => {
                        let one = self.origins[known] as usize;
                        let id = row.id;
                        self.disputes.push(Dispute { id, one, other: place, what });
                    }
                    None => {
                        self.equal += 1;
                        self.curves[known] = self.curves[known].or(curves);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the curves of a trial in two folders are equal to the byte.
    fn has_same_curves(&self, id: &TrialId, one: u32, other: u32) -> Result<bool, Error> {
        let paths = |place: u32| {
            let paths = curve_paths(&self.folders[place as usize].0, id);
            [paths.regret, paths.action]
        };
        for (one, other) in paths(one).iter().zip(&paths(other)) {
            if read(one)? != read(other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Fails if the folders disagree.
    fn check(&self) -> Result<(), Error> {
        /// More would hide the sentence before them.
        const SHOWN: usize = 20;
        if self.disputes.is_empty() {
            return Ok(());
        }
        let name = |place: usize| self.folders[place].0.display();
        let line = |dispute: &Dispute| {
            format!(
                "\n  {}: {} in `{}` and `{}`",
                dispute.id,
                dispute.what,
                name(dispute.one),
                name(dispute.other)
            )
        };
        let mut listed: String = self.disputes.iter().take(SHOWN).map(line).collect();
        if self.disputes.len() > SHOWN {
            listed.push_str(&format!("\n  and {} more", self.disputes.len() - SHOWN));
        }
        Err(ErrorKind::Disputed { n_trials: self.disputes.len(), listed }.into())
    }

    /// Writes what the destination lacks.
    fn write(mut self, folder: &Folder) -> Result<Merged, Error> {
        let out = self.folders[0].0.clone();
        let Some(run) = self.run.take() else { return Err(ErrorKind::NoTrials { out }.into()) };
        if self.folders[0].1.as_ref() != Some(&run) {
            folder.write_run(&run)?;
        }
        for (row, place) in self.rows.iter().zip(&self.curves) {
            if let Some(place) = place.filter(|place| *place > 0) {
                let (from, to) =
                    (curve_paths(&self.folders[place as usize].0, &row.id), curve_paths(&out, &row.id));
                folder.copy_curve(&from.regret, &to.regret)?;
                folder.copy_curve(&from.action, &to.action)?;
            }
        }
        let trials = Trials { rows: self.rows, ..Trials::default() };
        if self.added + self.replaced > 0 || !self.is_whole {
            folder.write_trials(&trials)?;
        }
        write_summary_of(&out, &trials.rows)?;
        let mut standing = asked_for(&run);
        standing.record_all(&trials.rows);
        self.warnings.extend(other_builds(&trials.rows));
        self.warnings.extend(other_instructions(&run));
        Ok(Merged {
            added: self.added,
            equal: self.equal,
            replaced: self.replaced,
            standing,
            absent: absent_shards(&run),
            warnings: self.warnings,
        })
    }
}

/// Whether a folder, which may have no curves at all, holds both curves of a row.
fn has_curves_of(out: &Path, has_any: bool, row: &TrialRow) -> bool {
    if !has_any || row.outcome.is_err() {
        return false;
    }
    let paths = curve_paths(out, &row.id);
    paths.regret.exists() && paths.action.exists()
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|cause| ErrorKind::OutFile { doing: "read", path: path.to_owned(), cause }.into())
}

/// A warning where rows come from several builds.
fn other_builds(rows: &[TrialRow]) -> Option<String> {
    let mut builds: BTreeMap<&str, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *builds.entry(&row.version).or_default() += 1);
    let words: Vec<String> = builds.iter().map(|(version, n)| format!("{n} of {version}")).collect();
    (words.len() > 1)
        .then(|| format!("trials of several builds, whose results may differ: {}", words.join(", ")))
}

/// A warning where sessions ran on several kinds of processor.
fn other_instructions(run: &RunFile) -> Option<String> {
    let machines = run.sessions.iter().map(|session| &session.machine);
    let kinds: BTreeSet<String> = machines
        .filter_map(|machine| Some(format!("{} with {}", machine.arch, machine.instructions.as_ref()?)))
        .collect();
    (kinds.len() > 1).then(|| {
        format!(
            "trials of several kinds of processor ({}): those of networks may differ in the last bits from one machine's",
            kinds.into_iter().collect::<Vec<_>>().join(", ")
        )
    })
}

/// The shards that no session has, of runs of which others do.
fn absent_shards(run: &RunFile) -> Vec<AbsentShards> {
    let mut present: Vec<(_, BTreeSet<usize>)> = Vec::new();
    let mut whole = Vec::new();
    for session in &run.sessions {
        let described = (&session.policies, &session.problems, session.trials, session.first_trial);
        let Some(part) = &session.part else {
            whole.push(described);
            continue;
        };
        let Some(Shard { number, of }) = part.shard.as_ref().and_then(|shard| shard.parse().ok()) else {
            continue;
        };
        // A plan cuts otherwise.
        let key = (described, of, part.trials.is_empty());
        match present.iter_mut().find(|(other, _)| *other == key) {
            Some((_, numbers)) => _ = numbers.insert(number),
            None => present.push((key, BTreeSet::from([number]))),
        }
    }
    let absent = present.into_iter().filter(|((described, ..), _)| !whole.contains(described)).map(
        |((_, of, _), numbers)| {
            // A damaged file may claim any number of shards.
            let numbers = (1..=of.min(MAX_TRIALS)).filter(|number| !numbers.contains(number)).collect();
            AbsentShards { numbers, of }
        },
    );
    absent.filter(|absent| !absent.numbers.is_empty()).collect()
}
