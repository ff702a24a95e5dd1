//! `locus data`: which of the benchmark's files are there?

use anyhow::Result;
use locus_bench::data::catalog::{CatalogFile, FILES};
use locus_bench::data::{FileState, inspect};

use crate::args::DataArgs;
use crate::output::print;

/// Lists every file of the benchmark. Reads those that are there to their end.
///
/// Without a folder nothing is looked for, but whoever has no files yet learns what to get, and where.
pub(crate) fn list(args: &DataArgs) -> Result<u8> {
    match args.folder.as_deref() {
        Some(folder) => {
            for status in inspect(folder)? {
                print(&describe(status.file, &state(status.file, &status.state)))?;
            }
        }
        None => {
            for file in &FILES {
                print(&describe(file, &format!("{} rows expected", file.rows)))?;
            }
            print("\nNo folder was searched: name yours with --data DIR, or set LOCUS_DATA.\n")?;
        }
    }
    Ok(0)
}

fn state(file: &CatalogFile, state: &FileState) -> String {
    match state {
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
    }
}

fn describe(file: &CatalogFile, found: &str) -> String {
    format!(
        "{}, for {}\n    {found}\n    license: {}\n    source: {}\n",
        file.name,
        file.problems.join(", "),
        file.license,
        file.source
    )
}
