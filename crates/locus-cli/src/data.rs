//! `locus data`: the state of the benchmark's files, and files derived from raw data.

use std::path::Path;

use anyhow::{Context, Result};
use locus_bench::data::catalog::{self, CatalogFile, FILES};
use locus_bench::data::{FileState, inspect, jester};

use crate::args::{DataArgs, DataCommand, DataListArgs, DeriveArgs, Derived};
use crate::output::{print, tell};
use crate::{FAILED, fetch};

pub(crate) fn run(args: &DataListArgs) -> Result<u8> {
    match &args.command {
        None => list(&args.data),
        Some(DataCommand::Fetch(args)) => fetch::run(args),
        Some(DataCommand::Derive(args)) => derive(args),
    }
}

/// The folder, if one is required.
pub(crate) fn folder(args: &DataArgs) -> Result<&Path> {
    args.folder.as_deref().context("the data folder is not set; name it with --data DIR, or set LOCUS_DATA")
}

fn derive(args: &DeriveArgs) -> Result<u8> {
    let (made, name) = match args.what {
        Derived::Jester => (jester::derive(&args.raw, folder(&args.data)?), jester::FILE),
    };
    let found = match made {
        Err(error) if error.is_io() => {
            tell(&format!("error: {error}"));
            return Ok(FAILED);
        }
        found => found?,
    };
    if let Some(file) = catalog::find(name) {
        print(&describe(file, &state(file, &found)))?;
        warn_of_another(file, &found);
    }
    Ok(0)
}

/// The warning for a checksum that does not match.
pub(crate) fn warn_of_another(file: &CatalogFile, state: &FileState) {
    if let FileState::Found { path, bytes, rows, sha256, matches_known: Some(false), .. } = state
        && let Some(known) = file.sha256
    {
        let remark = file.if_another.map_or(String::new(), |remark| format!("; {remark}"));
        tell(&format!(
            "warning: {}: the checksum does not match the known one; the file is kept. Found: sha256 {sha256}, {bytes} bytes, {rows} rows; expected: sha256 {known}, {} rows{remark}. Check the file, or get it from another source; delete it to download it again",
            path.display(),
            file.rows
        ));
    }
}

/// Lists every file of the benchmark. Reads existing files to their end.
///
/// Without a folder it searches for nothing, but lists the files and their sources.
fn list(args: &DataArgs) -> Result<u8> {
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
            print("\n`locus data fetch --data DIR` downloads them.\n")?;
            print("No folder was searched: name yours with --data DIR, or set LOCUS_DATA.\n")?;
        }
    }
    Ok(0)
}

pub(crate) fn state(file: &CatalogFile, state: &FileState) -> String {
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
                Some(true) => "matches the known one",
                Some(false) => "warning: does not match the known one",
                None => "no known checksum",
            };
            format!("{}\n    {rows}\n    sha256 {sha256} ({checksum})", path.display())
        }
        // Future states are shown by their debug form.
        other => format!("{other:?}"),
    }
}

pub(crate) fn describe(file: &CatalogFile, found: &str) -> String {
    format!(
        "{}, for {}\n    {found}\n    license: {}\n    source: {}\n",
        file.name,
        file.problems.join(", "),
        file.license,
        file.source
    )
}
