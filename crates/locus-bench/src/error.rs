//! Everything that can go wrong in the benchmark, as one type.

use std::io;
use std::path::PathBuf;

/// Why a file, a suite or a run was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No problem has this name.
    #[error("no problem is called `{name}`; there are {known}")]
    UnknownProblem {
        /// The name asked for.
        name: String,
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
        cause: io::Error,
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
    /// The label is neither the name nor the number of a column.
    #[error("{file}: {problem}; its columns are {columns}; give one by name, or by number from 0")]
    UnknownLabel {
        /// Path of the file.
        file: String,
        /// What was looked for.
        problem: String,
        /// The columns that exist.
        columns: String,
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
}

impl Error {
    /// Something that was named does not exist: a problem, a folder, a file, a column.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::UnknownProblem { .. }
            | Self::NoDataFolder { .. }
            | Self::FolderNotFound { .. }
            | Self::FileNotFound { .. }
            | Self::UnknownLabel { .. } => true,
            Self::UnreadableFile { cause, .. } => cause.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// A data file was found, but its content is damaged or not as expected.
    pub fn is_invalid_data(&self) -> bool {
        match self {
            Self::InvalidFile { .. }
            | Self::InvalidRow { .. }
            | Self::InvalidCell { .. }
            | Self::InvalidSequence { .. } => true,
            Self::UnreadableFile { cause, .. } => {
                matches!(cause.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
            }
            _ => false,
        }
    }
}
