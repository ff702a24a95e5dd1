//! Everything that can go wrong in the benchmark, as one type.
//!
//! [`Error`] is opaque, so that kinds can be added and changed: callers ask its predicates or print it.

use std::error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::report::EXPLORE_FOLDER;
use crate::trial::TrialId;

/// Why a file, a suite or a run was refused.
///
/// The text includes that of the cause, which [`source`](error::Error::source) returns as well.
#[derive(Debug)]
pub struct Error {
    kind: Box<ErrorKind>,
}

impl Error {
    /// An error of a [`Problem`](crate::problem::Problem) that another crate implements.
    pub fn other(problem: impl Into<String>) -> Self {
        ErrorKind::Other { problem: problem.into() }.into()
    }

    /// For [`PlayExternal`](crate::experiment::PlayExternal): the trial was told to stop before its end.
    pub fn interrupted() -> Self {
        ErrorKind::Interrupted.into()
    }

    pub(crate) fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Something that was named does not exist: a problem, a folder, a file, a column.
    pub fn is_not_found(&self) -> bool {
        match self.kind() {
            ErrorKind::UnknownProblem { .. }
            | ErrorKind::UnknownDataFile { .. }
            | ErrorKind::NoDataFolder { .. }
            | ErrorKind::FolderNotFound { .. }
            | ErrorKind::FileNotFound { .. }
            | ErrorKind::UnknownColumn { .. } => true,
            ErrorKind::UnreadableFile { cause, .. } => cause.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// A data file, or the folder of data files, is missing.
    pub fn is_missing_file(&self) -> bool {
        match self.kind() {
            ErrorKind::NoDataFolder { .. }
            | ErrorKind::FolderNotFound { .. }
            | ErrorKind::FileNotFound { .. } => true,
            ErrorKind::UnreadableFile { cause, .. } => cause.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// A data file was found, but its content is damaged or not as expected.
    pub fn is_invalid_data(&self) -> bool {
        match self.kind() {
            ErrorKind::InvalidFile { .. }
            | ErrorKind::InvalidRow { .. }
            | ErrorKind::InvalidCell { .. }
            | ErrorKind::InvalidSequence { .. } => true,
            ErrorKind::UnreadableFile { cause, .. } => {
                matches!(cause.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
            }
            _ => false,
        }
    }

    /// A file or folder of the run could not be read or written: the disk is full, or rights are missing.
    pub fn is_io(&self) -> bool {
        matches!(self.kind(), ErrorKind::OutFile { .. })
    }

    /// A trial or an exploration was told to stop before its end.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.kind(), ErrorKind::Interrupted)
    }

    /// A trial failed that the others need.
    pub fn is_trial_failed(&self) -> bool {
        matches!(self.kind(), ErrorKind::TrialFailed { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.kind.source()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self { kind: Box::new(kind) }
    }
}

/// What went wrong, for code of this crate that tells errors apart.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    /// No problem has this name.
    #[error("no problem is called `{name}`{hint}; there are {known}")]
    UnknownProblem {
        /// The name asked for.
        name: String,
        /// A name that may have been meant.
        hint: String,
        /// The names that exist.
        known: String,
    },
    /// A problem needs a file, but no folder was given to look in.
    #[error(
        "problem `{problem}` needs the file {file}, but no data folder is known; give it with `--data DIR` or set LOCUS_DATA"
    )]
    NoDataFolder {
        /// The problem.
        problem: String,
        /// The file that it needs.
        file: String,
    },
    /// The data folder is not there, or is no folder.
    #[error("{} is not a folder; give the folder of the data files with `--data DIR` or set LOCUS_DATA", folder.display())]
    FolderNotFound {
        /// The folder looked for.
        folder: PathBuf,
    },
    /// The file is not in the data folder, neither plain nor compressed.
    #[error(
        "found neither {file} nor {file}.gz nor {file}.zst in {}; put one there, or give another folder with `--data DIR` or LOCUS_DATA",
        folder.display()
    )]
    FileNotFound {
        /// Its uncompressed name.
        file: String,
        /// The folder looked in.
        folder: PathBuf,
    },
    /// The file could not be opened, read or decompressed.
    #[error("cannot read {file}: {cause}")]
    UnreadableFile {
        /// Its path.
        file: String,
        /// What the system or the decoder said.
        #[source]
        cause: io::Error,
    },
    /// No file of the benchmark has this name, and none belongs to a problem of this name.
    #[error("no data file or problem is called `{name}`{hint}; there are files for {known}")]
    UnknownDataFile {
        /// The name asked for.
        name: String,
        /// A name that may have been meant.
        hint: String,
        /// The problems that have a file.
        known: String,
    },
    /// The address of a mirror makes no sense.
    #[error("the mirror `{found}` is no address; expected one that begins with http:// or https://")]
    InvalidMirror {
        /// What was given.
        found: String,
    },
    /// No address had the file.
    #[error("cannot get {file}: {tried}; by hand: {by_hand}")]
    NotFetched {
        /// Its name.
        file: &'static str,
        /// Every address and what went wrong there.
        tried: String,
        /// What can be done without us.
        by_hand: String,
    },
    /// A file was to be made that is there.
    #[error("`{}` is already there; take it away to make it anew", path.display())]
    AlreadyThere {
        /// The file.
        path: PathBuf,
    },
    /// The file as a whole is not what was expected.
    #[error("{file}: {problem}")]
    InvalidFile {
        /// Its path.
        file: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// A row of a table is not what was expected.
    #[error("{file}, line {line}: {problem}")]
    InvalidRow {
        /// Path of the file.
        file: String,
        /// Where the row begins, from 1.
        line: u64,
        /// What was found and what was expected.
        problem: String,
    },
    /// A cell of a table is not what was expected.
    #[error("{file}, line {line}, {column}: {problem}")]
    InvalidCell {
        /// Path of the file.
        file: String,
        /// Where its row begins, from 1.
        line: u64,
        /// Number, from 1, and name of the column.
        column: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// A column was asked for by what is neither a name nor a number of one.
    #[error("{file}: {problem}; its columns are {columns}; give one by name, or by number from 0")]
    UnknownColumn {
        /// Path of the file.
        file: String,
        /// What was looked for.
        problem: String,
        /// The columns that exist.
        columns: String,
    },
    /// A problem of one's own is called by its file, but the name belongs to a built-in problem.
    #[error(
        "{file}: `{name}` is the name of a built-in problem, and a problem is called by its file; rename the file"
    )]
    NameTaken {
        /// Path of the file.
        file: String,
        /// The name.
        name: String,
    },
    /// A trial of no steps was asked for.
    #[error("problem `{problem}` was asked for 0 steps, expected at least 1")]
    NoSteps {
        /// The problem.
        problem: String,
    },
    /// A trial cannot have more steps than the problem has rows.
    #[error(
        "problem `{problem}` has {rows} rows, but {steps} steps were asked for; ask for at most {rows} steps"
    )]
    TooManySteps {
        /// The problem.
        problem: String,
        /// Its rows.
        rows: usize,
        /// The steps asked for.
        steps: usize,
    },
    /// There is no memory for so long a trial.
    #[error(
        "{steps} steps with {n_features} features and {n_actions} actions do not fit into memory; ask for fewer steps"
    )]
    SequenceTooLarge {
        /// The steps asked for.
        steps: usize,
        /// Features of a context.
        n_features: usize,
        /// Actions to choose from.
        n_actions: usize,
    },
    /// The arrays of a sequence contradict each other or hold numbers that are not finite.
    #[error("not a sequence of rounds: {problem}")]
    InvalidSequence {
        /// What was found and what was expected.
        problem: String,
    },
    /// The trial was told to stop before its end.
    #[error("the trial was interrupted")]
    Interrupted,
    /// The policy refused a request or an outcome.
    #[error("round {round}: {cause}")]
    PolicyFailed {
        /// The step of the trial, from 0.
        round: u64,
        /// What the policy said.
        #[source]
        cause: locus::Error,
    },
    /// The policy chose an action that the problem does not have.
    #[error("round {round}: the policy chose action {found}, but there are {n_actions} actions, from 0")]
    NoSuchAction {
        /// The step of the trial, from 0.
        round: u64,
        /// The action.
        found: usize,
        /// How many there are.
        n_actions: usize,
    },
    /// The rewards of a round gave a regret that is no number.
    #[error(
        "round {round}: the regret is {found}, expected a finite number; check the rewards of the problem"
    )]
    RegretNotFinite {
        /// The step of the trial, from 0.
        round: u64,
        /// What came out.
        found: f64,
    },
    /// The policy or the problem panicked, which is a bug in it.
    #[error("panicked: {message}")]
    Panicked {
        /// What it said.
        message: String,
    },
    /// A file or folder of a run could not be read or written.
    #[error("cannot {doing} `{}`: {cause}", path.display())]
    OutFile {
        /// What was being done.
        doing: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// Another process writes to the same folder.
    #[error(
        "another process is running trials in `{}`; wait until it ends, or choose another folder with --out",
        out.display()
    )]
    OutInUse {
        /// The folder.
        out: PathBuf,
    },
    /// The folder holds no trials.
    #[error("{}; expected a folder that `locus bench --out` wrote", no_trials(out))]
    NoTrials {
        /// The folder.
        out: PathBuf,
    },
    /// The folder holds no trial that has ended.
    #[error("no trial in `{}` has ended yet; `locus status` shows the progress of the run", out.display())]
    NothingToReport {
        /// The folder.
        out: PathBuf,
    },
    /// Several folders were given, but no place for what is made of them together.
    #[error("a report over {n_folders} folders belongs to none of them; say where to write it with --output")]
    NoPlaceForReport {
        /// How many.
        n_folders: usize,
    },
    /// Folders whose trials cannot stand in one table.
    #[error(
        "`{}` and `{}` did not see the same rounds: their seed, number of steps or data differ, so that their trials cannot \
         stand in one table; `locus report` shows them one after the other",
        one.display(),
        other.display()
    )]
    OtherRounds {
        /// A folder.
        one: PathBuf,
        /// The first that does not belong to it.
        other: PathBuf,
    },
    /// A report over a part of a run would take the place of the whole.
    #[error(
        "a report over a part of a run does not take the place of the whole; say where to write it with --output"
    )]
    NoPlaceForPart,
    /// A line of `trials.csv` is not what a run writes.
    #[error(
        "`{}`, line {line}: {problem}; {}",
        path.display(),
        if *line == 1 { "put that line back" } else { "mend the line, or delete it to run its trial again" }
    )]
    DamagedTrials {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// `run.json` is missing, or is not what a run writes.
    #[error("`{}`: {problem}; restore the file, or run into another folder with `locus bench --out`", path.display())]
    DamagedRunFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The folder holds trials of another experiment.
    #[error(
        "`{}` holds trials with {what} {recorded}, but {asked} was asked for; choose another folder with --out, or {remedy}",
        out.display()
    )]
    OtherExperiment {
        /// The folder.
        out: PathBuf,
        /// What differs.
        what: String,
        /// Its value in the folder.
        recorded: String,
        /// Its value now.
        asked: String,
        /// How to go on in this folder.
        remedy: String,
    },
    /// The folder holds another exploration.
    #[error(
        "`{}` holds an exploration with {what} {recorded}, but {asked} was asked for; choose another folder with --out, or \
         delete this one",
        out.display()
    )]
    OtherExploration {
        /// The folder.
        out: PathBuf,
        /// What differs.
        what: &'static str,
        /// Its value in the folder.
        recorded: String,
        /// Its value now.
        asked: String,
    },
    /// There is no context that all policies misjudge at first, so none to follow.
    #[error(
        "no context for which {best} is best is misjudged by all policies after one of the first {early} steps; follow one of \
         your choice with --context, its round in the trial, from 0 to {last_round}, or try another --trial"
    )]
    NothingMisjudged {
        /// The best action of the contexts that were judged.
        best: String,
        /// How many steps count as first.
        early: usize,
        /// The last round of the trial.
        last_round: usize,
    },
    /// A trial failed that others need.
    #[error("{id}: {cause}")]
    TrialFailed {
        /// Which.
        id: TrialId,
        /// Why.
        #[source]
        cause: Error,
    },
    /// A problem of another crate failed.
    #[error("{problem}")]
    Other {
        /// What it said.
        problem: String,
    },
    /// The experiment makes no sense.
    #[error("{problem}")]
    InvalidExperiment {
        /// What is wrong with it.
        problem: String,
    },
    /// A suite file could not be understood.
    #[error("suite `{suite}`, line {line}: {problem}")]
    InvalidSuite {
        /// Name or file.
        suite: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong there, with the key.
        problem: String,
    },
    /// There is no such suite.
    #[error(
        "no suite is called `{name}`, and there is no such file{hint}; expected quick, paper or a TOML file"
    )]
    UnknownSuite {
        /// The name asked for.
        name: String,
        /// A suite that may have been meant.
        hint: String,
    },
    /// A part of a run was asked for that it does not have.
    #[error("no {what} `{found}` has run there{hint}; there are {known}")]
    NotInRun {
        /// What was to be chosen.
        what: &'static str,
        /// The name.
        found: String,
        /// A name that may have been meant.
        hint: String,
        /// What has run.
        known: String,
    },
    /// Policies and problems were asked for that have run, but not together.
    #[error("none of the policies asked for has run on any of the problems asked for")]
    NothingTogether,
    /// A word that is none of those expected.
    #[error("no {what} is called `{found}`; there are {known}")]
    UnknownWord {
        /// What was to be chosen.
        what: &'static str,
        /// The word.
        found: String,
        /// The words that exist.
        known: &'static str,
    },
}

/// What is there in place of a run.
fn no_trials(out: &Path) -> String {
    let out_name = out.display();
    match out {
        _ if out.is_dir() && out.join(EXPLORE_FOLDER).is_dir() => {
            format!(
                "`{out_name}` holds an exploration, whose pictures and summary are in its folder {EXPLORE_FOLDER}, but no trials.csv"
            )
        }
        _ if out.is_dir() => format!("`{out_name}` holds no trials.csv"),
        _ if out.exists() => format!("`{out_name}` is no folder"),
        _ => format!("there is no folder `{out_name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn causes_are_sources_and_named_once_in_the_text() {
        let cause = io::Error::from(io::ErrorKind::StorageFull);
        let text = cause.to_string();
        let error = Error::from(ErrorKind::OutFile { doing: "write", path: "out".into(), cause });
        assert!(error.is_io() && !error.is_not_found());
        assert_eq!(error.to_string(), format!("cannot write `out`: {text}"));
        assert!(error.source().unwrap().is::<io::Error>());

        let id = TrialId { problem: "wheel".to_owned(), policy: "bbb".to_owned(), trial: 3 };
        let failed = Error::from(ErrorKind::TrialFailed { id, cause: error });
        assert!(failed.is_trial_failed() && !failed.is_io());
        assert_eq!(failed.to_string(), format!("bbb on wheel, trial 3: cannot write `out`: {text}"));
        let inner = failed.source().unwrap();
        assert!(inner.is::<Error>() && inner.source().unwrap().is::<io::Error>());
        assert!(Error::other("no rows").source().is_none());
    }
}
