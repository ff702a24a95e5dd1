//! `locus data`: which of the benchmark's files are there? And those that are made here.

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

/// The folder, where one is needed.
pub(crate) fn folder(args: &DataArgs) -> Result<&Path> {
    args.folder
        .as_deref()
        .context("no folder for the files is known; name one with --data DIR, or set LOCUS_DATA")
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

/// Says what to compare where a checksum is not the known one.
pub(crate) fn warn_of_another(file: &CatalogFile, state: &FileState) {
    if let FileState::Found { path, bytes, rows, sha256, matches_known: Some(false), .. } = state
        && let Some(known) = file.sha256
    {
        let remark = file.if_another.map_or(String::new(), |remark| format!("; {remark}"));
        tell(&format!(
            "warning: {}: the checksum is not the known one, and the file is kept. Compare: sha256 {sha256}, {bytes} bytes, {rows} rows found; sha256 {known}, {} rows known{remark}. Look at the file, or get it from another source; delete it to fetch it anew",
            path.display(),
            file.rows
        ));
    }
}

/// Lists every file of the benchmark. Reads those that are there to their end.
///
/// Without a folder nothing is looked for, but whoever has no files yet learns what to get, and where.
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
            print("\n`locus data fetch --data DIR` gets them.\n")?;
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

pub(crate) fn describe(file: &CatalogFile, found: &str) -> String {
    format!(
        "{}, for {}\n    {found}\n    license: {}\n    source: {}\n",
        file.name,
        file.problems.join(", "),
        file.license,
        file.source
    )
}
