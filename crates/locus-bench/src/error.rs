//! Everything that can go wrong in the benchmark, as one type.

use std::io;
use std::path::PathBuf;

/// Why a file, a suite or a run was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The trial was told to stop before its end.
    #[error("the trial was interrupted")]
    Interrupted,
    /// The policy refused a request or an outcome.
    #[error("round {round}: {cause}")]
    PolicyFailed {
        /// The step of the trial, from 0.
        round: u64,
        /// What the policy said.
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
    #[error("`{}` holds no trials.csv; expected a folder that `locus bench --out` wrote", out.display())]
    NoTrials {
        /// The folder.
        out: PathBuf,
    },
    /// A line of `trials.csv` is not what a run writes.
    #[error("`{}`, line {line}: {problem}; mend the line, or delete it to run its trial again", path.display())]
    DamagedTrials {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// `run.json` is missing, or is not what a run writes.
    #[error("`{}`: {problem}; restore the file, or choose another folder with --out", path.display())]
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
    #[error("no suite is called `{name}`, and there is no such file; expected quick, paper or a TOML file")]
    UnknownSuite {
        /// The name asked for.
        name: String,
    },
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
