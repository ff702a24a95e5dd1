//! All errors of the benchmark, as one type.
//!
//! [`Error`] is opaque, so that kinds can be added and changed: callers ask its predicates or print it.

use std::error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::report::EXPLORE_FOLDER;
use crate::trial::TrialId;

/// The error of this crate: an invalid file, suite or run, or a failed trial.
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

    /// A named problem, folder, file or column does not exist.
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

    /// A file or folder of the run could not be read or written, for example on a full disk.
    pub fn is_io(&self) -> bool {
        matches!(self.kind(), ErrorKind::OutFile { .. })
    }

    /// A trial or an exploration was interrupted.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.kind(), ErrorKind::Interrupted)
    }

    /// An error about a folder's experiment as one about two folders.
    pub(crate) fn between_folders(self, out: &Path, folder: &Path) -> Self {
        match *self.kind {
            ErrorKind::OtherExperiment { what, recorded, asked, .. } => {
                let (out, folder) = (out.to_owned(), folder.to_owned());
                ErrorKind::OtherFolder { out, folder, what, recorded, asked }.into()
            }
            kind => kind.into(),
        }
    }

    /// A trial failed that others depend on.
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

/// The kind of error, for code of this crate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    /// No problem has this name.
    #[error("no problem is called `{name}`{hint}; there are {known}")]
    UnknownProblem {
        /// The requested name.
        name: String,
        /// A name that may have been meant.
        hint: String,
        /// The names that exist.
        known: String,
    },
    /// A problem needs a file, but the data folder is not set.
    #[error(
        "problem `{problem}` needs the file {file}, but the data folder is not set; name it with `--data DIR` (`data=` in Python) or set LOCUS_DATA"
    )]
    NoDataFolder {
        /// The problem.
        problem: String,
        /// The file that it needs.
        file: String,
    },
    /// The data folder does not exist, or is not a folder.
    #[error("{} is not a folder; name the data folder with `--data DIR` (`data=` in Python) or set LOCUS_DATA", folder.display())]
    FolderNotFound {
        /// The folder.
        folder: PathBuf,
    },
    /// The file is not in the data folder, neither plain nor compressed.
    #[error(
        "found neither {file} nor {file}.gz nor {file}.zst in {}; put one there, or name another folder with `--data DIR` or LOCUS_DATA",
        folder.display()
    )]
    FileNotFound {
        /// Its uncompressed name.
        file: String,
        /// The folder that was searched.
        folder: PathBuf,
    },
    /// The file could not be opened, read or decompressed.
    #[error("cannot read {file}: {cause}")]
    UnreadableFile {
        /// Its path.
        file: String,
        /// The error of the system or the decoder.
        #[source]
        cause: io::Error,
    },
    /// No file of the benchmark has this name, and none belongs to a problem of this name.
    #[error("no data file or problem is called `{name}`{hint}; there are files for {known}")]
    UnknownDataFile {
        /// The requested name.
        name: String,
        /// A name that may have been meant.
        hint: String,
        /// The problems that have a file.
        known: String,
    },
    /// The URL of a mirror is invalid.
    #[error("the mirror `{found}` is not a URL; expected one that begins with http:// or https://")]
    InvalidMirror {
        /// The given text.
        found: String,
    },
    /// All addresses of the file failed.
    #[error("cannot get {file}: {tried}; by hand: {by_hand}")]
    NotFetched {
        /// Its name.
        file: &'static str,
        /// Every address and what went wrong there.
        tried: String,
        /// How to get the file by hand.
        by_hand: String,
    },
    /// The file to create already exists.
    #[error("`{}` already exists; delete it to create it again", path.display())]
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
    /// No column has this name or number.
    #[error("{file}: {problem}; its columns are {columns}; name one by name, or by number from 0")]
    UnknownColumn {
        /// Path of the file.
        file: String,
        /// The requested column.
        problem: String,
        /// The columns that exist.
        columns: String,
    },
    /// A user's problem is named after its file, but the name belongs to a built-in problem.
    #[error(
        "{file}: `{name}` is the name of a built-in problem, and a problem is named after its file; rename the file"
    )]
    NameTaken {
        /// Path of the file.
        file: String,
        /// The name.
        name: String,
    },
    /// The trial has no steps.
    #[error("problem `{problem}`: the number of steps is 0, expected at least 1")]
    NoSteps {
        /// The problem.
        problem: String,
    },
    /// A trial cannot have more steps than the problem has rows.
    #[error("problem `{problem}` has {rows} rows, fewer than the {steps} steps; use at most {rows} steps")]
    TooManySteps {
        /// The problem.
        problem: String,
        /// Its rows.
        rows: usize,
        /// The requested steps.
        steps: usize,
    },
    /// The trial does not fit into memory.
    #[error(
        "{steps} steps with {n_features} features and {n_actions} actions do not fit into memory; use fewer steps"
    )]
    SequenceTooLarge {
        /// The requested steps.
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
    /// The trial was interrupted.
    #[error("the trial was interrupted")]
    Interrupted,
    /// The policy failed on a request or an outcome.
    #[error("round {round}: {cause}")]
    PolicyFailed {
        /// The step of the trial, from 0.
        round: u64,
        /// The policy's error.
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
    /// The regret of a round is not finite.
    #[error(
        "round {round}: the regret is {found}, expected a finite number; check the rewards of the problem"
    )]
    RegretNotFinite {
        /// The step of the trial, from 0.
        round: u64,
        /// What came out.
        found: f64,
    },
    /// The policy or the problem panicked, which is a bug.
    #[error("panicked: {message}")]
    Panicked {
        /// What it said.
        message: String,
    },
    /// A file or folder of a run could not be read or written.
    #[error("cannot {doing} `{}`: {cause}", path.display())]
    OutFile {
        /// The operation, such as `write`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
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
    /// A report of several folders needs --output.
    #[error("a report of {n_folders} folders needs a place of its own; name it with --output")]
    NoPlaceForReport {
        /// How many.
        n_folders: usize,
    },
    /// Folders whose trials cannot stand in one table.
    #[error(
        "`{}` and `{}` have different rounds: their seed, number of steps or data differ, so their trials cannot be shown \
         in one table; `locus report` shows them separately",
        one.display(),
        other.display()
    )]
    OtherRounds {
        /// A folder.
        one: PathBuf,
        /// The first that does not belong to it.
        other: PathBuf,
    },
    /// A report of a part of a run would replace the report of the whole run.
    #[error(
        "a report of a part of a run does not replace the report of the whole run; name another place with --output"
    )]
    NoPlaceForPart,
    /// A line of `trials.csv` is not what a run writes.
    #[error(
        "`{}`, line {line}: {problem}; {}",
        path.display(),
        if *line == 1 { "restore the header" } else { "fix the line, or delete it to run its trial again" }
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
        "`{}` holds trials with {what} {recorded}, but {asked} was requested; choose another folder with --out, or {remedy}",
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
        /// How to continue in this folder.
        remedy: String,
    },
    /// Two folders hold trials of different experiments.
    #[error(
        "`{}` holds trials with {what} {recorded}, but `{}` with {asked}; only folders of the same seed, steps, propensities, \
         data and settings can be merged; nothing was changed",
        out.display(), folder.display()
    )]
    OtherFolder {
        /// A folder.
        out: PathBuf,
        /// The folder that does not belong to it.
        folder: PathBuf,
        /// What differs.
        what: String,
        /// Its value in the first folder.
        recorded: String,
        /// Its value in the second one.
        asked: String,
    },
    /// Folders have different results of the same trials.
    #[error(
        "the folders have different results of the same trials, {n_trials} in all; nothing was changed; merge only one of the \
         folders of a trial, or delete the wrong lines from trials.csv:{listed}"
    )]
    Disputed {
        /// How many.
        n_trials: usize,
        /// A line for each of them, with a line break before.
        listed: String,
    },
    /// The folder holds another exploration.
    #[error(
        "`{}` holds an exploration with {what} {recorded}, but {asked} was requested; choose another folder with --out, or \
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
        "within the first {early} steps, no context with the best action {best} is misjudged by all policies; choose a context \
         with --context (its round in the trial, from 0 to {last_round}), or try another --trial"
    )]
    NothingMisjudged {
        /// The best action of the contexts that were judged.
        best: String,
        /// How many steps count as first.
        early: usize,
        /// The last round of the trial.
        last_round: usize,
    },
    /// A trial failed that others depend on.
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
    /// The experiment is invalid.
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
    /// The suite does not exist.
    #[error(
        "no suite is called `{name}`, and there is no such file{hint}; expected quick, paper or a TOML file"
    )]
    UnknownSuite {
        /// The requested name.
        name: String,
        /// A suite that may have been meant.
        hint: String,
    },
    /// The run does not have the requested part.
    #[error("the run has no {what} `{found}`{hint}; it has {known}")]
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
    /// The requested policies and problems have run, but not together.
    #[error("none of the requested policies has run on any of the requested problems")]
    NothingTogether,
    /// An unknown word.
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

/// What the folder holds instead of a run.
fn no_trials(out: &Path) -> String {
    let out_name = out.display();
    match out {
        _ if out.is_dir() && out.join(EXPLORE_FOLDER).is_dir() => {
            format!("`{out_name}` holds an exploration in {EXPLORE_FOLDER}/, but no trials.csv")
        }
        _ if out.is_dir() => format!("`{out_name}` holds no trials.csv"),
        _ if out.exists() => format!("`{out_name}` is not a folder"),
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
