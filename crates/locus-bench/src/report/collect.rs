//! What the folders hold, and which of them can be compared.
//!
//! Folders of one seed, one number of steps and the same data saw the same rounds, so their policies are compared as if they
//! had run in one folder. A policy that ran in several of them with the same results is one policy; with other results or
//! settings each folder's is one of its own, called `policy · folder`. Folders that saw other rounds are shown apart.
//!
//! Where some of the compared folders ran with propensities and others without, a policy of the former is a policy of its own, called
//! `policy (propensities)`. Uniform chooses the same actions in both, and stays one policy.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::Error;
use crate::error::ErrorKind;
use crate::experiment::UNIFORM;
use crate::record::{
    RunFile, Selection, TRIALS_FILE, TrialRow, WITH_PROPENSITIES, read_readable_trials, read_run,
};
use crate::trial::TrialId;

/// Stands between a policy and its folder, where folders disagree on it.
pub const OF_FOLDER: &str = " · ";

/// One folder of a run.
#[derive(Clone, Debug)]
pub(super) struct RunFolder {
    pub(super) out: PathBuf,
    /// What it is called where it must be told from others.
    pub(super) name: String,
    /// Whether the names of its policies say that they ran with propensities, since folders without are beside it.
    is_marked: bool,
    pub(super) run: Option<RunFile>,
    pub(super) rows: Vec<TrialRow>,
    /// When a trial was last recorded, by the file's date.
    pub(super) written: Option<SystemTime>,
}

impl RunFolder {
    /// Whether its trials ran with propensities; not without a `run.json` that says so.
    pub(super) fn has_propensities(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.propensities)
    }

    /// What a policy of this folder is called among the folders that it is compared with.
    fn called(&self, policy: &str) -> String {
        let mark = if self.is_marked && policy != UNIFORM { WITH_PROPENSITIES } else { "" };
        format!("{policy}{mark}")
    }
}

/// Folders whose trials are compared with each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) folders: Vec<RunFolder>,
    /// All their rows that are asked for, by the policies' names in this group.
    pub(super) rows: Vec<TrialRow>,
    /// Where each row came from: the place of its folder, and what it is called there.
    pub(super) sources: Vec<(usize, TrialId)>,
    /// The policies that are several here, since their results or settings differ between the folders.
    disputed: BTreeSet<String>,
}

/// Reads what is asked for from every folder; what cannot be read is said in `warnings`. An error where no folder holds a trial.
pub(super) fn collect(
    outs: &[PathBuf],
    selection: &Selection,
    warnings: &mut Vec<String>,
) -> Result<Vec<Group>, Error> {
    let mut folders: Vec<RunFolder> = Vec::new();
    let mut first_error = None;
    for out in each_once(outs) {
        match read_folder(out) {
            Ok(Read { folder, damages, unknown }) => {
                folders.push(folder);
                warnings.extend(damages.into_iter().chain(unknown));
            }
            Err(error) => {
                warnings.push(error.to_string());
                first_error.get_or_insert(error);
            }
        }
    }
    if let Some(error) = first_error.filter(|_| folders.is_empty()) {
        return Err(error);
    }
    selection.check(folders.iter().flat_map(|folder| &folder.rows))?;
    name_folders(&mut folders);
    let mut grouped: Vec<Vec<RunFolder>> = Vec::new();
    for folder in folders {
        match grouped.iter_mut().find(|group| group.iter().all(|other| saw_the_same(other, &folder))) {
            Some(group) => group.push(folder),
            None => grouped.push(vec![folder]),
        }
    }
    let groups = grouped.into_iter().map(|folders| merged(folders, selection));
    Ok(groups.filter(|group| !group.rows.is_empty()).collect())
}

/// The trials of folders that saw the same rounds, each once, as far as they are asked for; and what is damaged or disputed. A
/// policy that has other results or settings in another folder is called `policy · folder`, and one with propensities
/// `policy (propensities)` where it is compared with policies without. An error where any folder holds no trial.
pub fn compared_trials(
    outs: &[PathBuf],
    selection: &Selection,
) -> Result<(Vec<TrialRow>, Vec<String>), Error> {
    let mut folders: Vec<RunFolder> = Vec::new();
    let mut warnings = Vec::new();
    for out in each_once(outs) {
        let Read { folder, damages, .. } = read_folder(out)?;
        if let Some(other) = folders.iter().find(|other| !saw_the_same(other, &folder)) {
            return Err(ErrorKind::OtherRounds { one: other.out.clone(), other: folder.out }.into());
        }
        folders.push(folder);
        warnings.extend(damages);
    }
    selection.check(folders.iter().flat_map(|folder| &folder.rows))?;
    name_folders(&mut folders);
    let group = merged(folders, selection);
    warnings.extend(group.disputed.iter().map(|policy| {
        format!("`{policy}` has other results or settings in one folder than in another: each is a policy of its own")
    }));
    Ok((group.rows, warnings))
}

/// Each folder once, however its path is written.
fn each_once(outs: &[PathBuf]) -> Vec<&PathBuf> {
    let mut seen = HashSet::new();
    outs.iter().filter(|out| seen.insert(out.canonicalize().unwrap_or_else(|_| (*out).clone()))).collect()
}

/// What a folder holds.
struct Read {
    folder: RunFolder,
    /// Rows that cannot be read.
    damages: Vec<String>,
    /// Why its `run.json` says nothing.
    unknown: Option<String>,
}

fn read_folder(out: &Path) -> Result<Read, Error> {
    let (rows, damages) = read_readable_trials(out)?;
    if rows.is_empty() {
        return Err(ErrorKind::NothingToReport { out: out.to_owned() }.into());
    }
    let (run, unknown) = match read_run(out) {
        Ok(Some(run)) => (Some(run), None),
        Ok(None) => {
            let out = out.display();
            (
                None,
                Some(format!(
                    "`{out}` holds no run.json: settings, data and machine of its trials are not known"
                )),
            )
        }
        Err(error) => {
            (None, Some(format!("{error}: settings, data and machine of its trials are not shown")))
        }
    };
    let written = fs::metadata(out.join(TRIALS_FILE)).and_then(|file| file.modified()).ok();
    let (out, name) = (out.to_owned(), String::new());
    let folder = RunFolder { out, name, is_marked: false, run, rows, written };
    Ok(Read { folder, damages: damages.iter().map(Error::to_string).collect(), unknown })
}

/// The last parts of their paths, as many as tell them apart.
fn name_folders(folders: &mut [RunFolder]) {
    let name = |out: &Path, n_parts: usize| {
        let full = out.canonicalize().unwrap_or_else(|_| out.to_owned());
        let parts: Vec<_> =
            full.iter().rev().take(n_parts).map(|part| part.to_string_lossy().into_owned()).collect();
        parts.into_iter().rev().collect::<Vec<_>>().join("/")
    };
    for n_parts in 1..10 {
        folders.iter_mut().for_each(|folder| folder.name = name(&folder.out, n_parts));
        let mut names: Vec<&str> = folders.iter().map(|folder| folder.name.as_str()).collect();
        names.sort_unstable();
        if names.windows(2).all(|pair| pair[0] != pair[1]) {
            return;
        }
    }
}

/// Whether trials with the same number on the same problem had the same rounds. Uniform tells where `run.json` cannot.
fn saw_the_same(one: &RunFolder, other: &RunFolder) -> bool {
    let key = |folder: &RunFolder| (folder.rows[0].seed, folder.rows[0].steps);
    if key(one) != key(other) {
        return false;
    }
    if let (Some(one), Some(other)) = (&one.run, &other.run) {
        let differs = one.problems.iter().any(|problem| {
            let twin = other.problems.iter().find(|twin| twin.name == problem.name);
            twin.is_some_and(|twin| twin.first_trial_sha256 != problem.first_trial_sha256)
        });
        if differs {
            return false;
        }
    }
    agree(one, other, UNIFORM)
}

/// Whether a policy has the same results in all trials that both folders hold, and the same settings.
fn agree(one: &RunFolder, other: &RunFolder, policy: &str) -> bool {
    let regrets = |folder: &RunFolder| -> HashMap<TrialId, u64> {
        let of_policy = folder.rows.iter().filter(|row| row.id.policy == policy);
        let regret =
            |row: &TrialRow| Some((row.id.clone(), row.outcome.as_ref().ok()?.cumulative_regret.to_bits()));
        of_policy.filter_map(regret).collect()
    };
    let (ours, theirs) = (regrets(one), regrets(other));
    let settings = |folder: &RunFolder| {
        let records = &folder.run.as_ref()?.policies;
        Some(records.iter().find(|record| record.policy == policy)?.settings.clone())
    };
    let same_settings = match (settings(one), settings(other)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    same_settings && ours.iter().all(|(id, regret)| theirs.get(id).is_none_or(|other| other == regret))
}

/// Marks the folders with propensities, if there are others beside them.
fn mark_propensities(folders: &mut [RunFolder]) {
    if !folders.iter().all(RunFolder::has_propensities) {
        folders.iter_mut().for_each(|folder| folder.is_marked = folder.has_propensities());
    }
}

/// The policies on whose results or settings two folders disagree, as they are called in these folders.
fn disputed_policies(folders: &[RunFolder]) -> BTreeSet<String> {
    let policies: HashSet<&str> =
        folders.iter().flat_map(|folder| &folder.rows).map(|row| row.id.policy.as_str()).collect();
    let mut disputed = BTreeSet::new();
    for (place, one) in folders.iter().enumerate() {
        for other in &folders[..place] {
            let names = policies.iter().map(|policy| (policy, one.called(policy)));
            let same = names.filter(|(policy, name)| *name == other.called(policy));
            disputed.extend(same.filter(|(policy, _)| !agree(one, other, policy)).map(|(_, name)| name));
        }
    }
    disputed
}

fn merged(mut folders: Vec<RunFolder>, selection: &Selection) -> Group {
    mark_propensities(&mut folders);
    let mut rows: Vec<TrialRow> = Vec::new();
    let mut sources = Vec::new();
    let mut seen: HashMap<TrialId, usize> = HashMap::new();
    let disputed = disputed_policies(&folders);
    for (place, folder) in folders.iter().enumerate() {
        for row in &folder.rows {
            let mut named = row.clone();
            named.id.policy = folder.called(&row.id.policy);
            if disputed.contains(&named.id.policy) {
                named.id.policy = format!("{}{OF_FOLDER}{}", named.id.policy, folder.name);
            }
            match seen.get(&named.id) {
                // One folder may hold the failure of a trial that went well in another.
                Some(&earlier) if rows[earlier].outcome.is_err() && named.outcome.is_ok() => {
                    sources[earlier] = (place, row.id.clone());
                    rows[earlier] = named;
                }
                Some(_) => {}
                None => {
                    seen.insert(named.id.clone(), rows.len());
                    sources.push((place, row.id.clone()));
                    rows.push(named);
                }
            }
        }
    }
    let picked = selection.picks(sources.iter().map(|(_, id)| id));
    let pairs = rows.into_iter().zip(sources).zip(picked);
    let (rows, sources) = pairs.filter_map(|(pair, is_picked)| is_picked.then_some(pair)).unzip();
    Group { folders, rows, sources, disputed }
}
