//! `locus data`: which of the benchmark's files are there?

use anyhow::{Context, Result};
use locus_bench::data::{FileState, FileStatus, inspect};

use crate::args::DataArgs;
use crate::output::print;

/// Lists every file of the benchmark. Reads those that are there to their end.
pub(crate) fn list(args: &DataArgs) -> Result<u8> {
    let folder = args
        .folder
        .as_deref()
        .context("no data folder was given; name it with --data DIR, or set LOCUS_DATA")?;
    for status in inspect(folder)? {
        print(&describe(&status))?;
    }
    Ok(0)
}

fn describe(FileStatus { file, state }: &FileStatus) -> String {
    let found = match state {
        FileState::Missing => format!("missing ({} rows expected)", file.rows),
        FileState::Unreadable { error } => format!("cannot be read: {error}"),
        FileState::Found { path, rows, sha256, matches_known, .. } => {
            let rows = if *rows == file.rows {
                format!("{rows} rows")
            } else {
                format!("{rows} rows, but {} were expected", file.rows)
            };
            let checksum = match matches_known {
                Some(true) => "the known one",
                Some(false) => "warning: not the known one",
                None => "none is known",
            };
            format!("{}\n    {rows}\n    sha256 {sha256} ({checksum})", path.display())
        }
        // The states may grow; what is new says so itself.
        other => format!("{other:?}"),
    };
    format!(
        "{}, for {}\n    {found}\n    license: {}\n    source: {}\n",
        file.name,
        file.problems.join(", "),
        file.license,
        file.source
    )
}
