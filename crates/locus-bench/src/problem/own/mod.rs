//! Problems from the user's own data: a labeled table, or rounds with the rewards of all actions.

mod arrays;
mod csv;
mod npz;
mod options;
mod schema;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{FileUsed, INFOS};
use crate::Error;
use crate::data::Fingerprint;
use crate::error::ErrorKind;

pub use arrays::{from_labels, from_rounds};
pub use csv::{Inspected, inspect_csv, load_csv};
pub use npz::{RoundsSummary, inspect_npz, is_npz, load_npz};
pub use options::{CsvOptions, parse_delimiter};
pub use schema::{Column, MissingValues, Reason, Schema, Usage};

/// The name of the problem in this file: its stem. Fails if a built-in problem has that name, because tables would show the
/// paper's numbers beside other data, and records could be confused.
fn name(path: &Path) -> Result<String, Error> {
    let name = stem(path);
    match is_built_in(&name) {
        true => Err(ErrorKind::NameTaken { file: path.display().to_string(), name }.into()),
        false => Ok(name),
    }
}

/// Whether a built-in problem has this name.
fn is_built_in(name: &str) -> bool {
    INFOS.iter().any(|info| info.id == name)
}

/// The name of the file without folder, compression and extension.
fn stem(path: &Path) -> String {
    let name = Path::new(path.file_name().unwrap_or_default());
    let is_compressed = name.extension().is_some_and(|extension| extension == "gz" || extension == "zst");
    let name = if is_compressed { Path::new(name.file_stem().unwrap_or_default()) } else { name };
    name.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Fails for a file that is not text, and names the option that fits.
fn expect_text(path: &Path) -> Result<(), Error> {
    let problem = match first_bytes(path) {
        Some(bytes) if is_zip(&bytes) && path.extension().is_some_and(|extension| extension != "npz") => {
            "this is a zip archive (as .xlsx files are), expected text; save the table as a CSV file, or give NumPy's arrays with --npz FILE"
        }
        Some(bytes) if is_zip(&bytes) => "this is an NPZ file, expected text; give it with --npz FILE",
        Some(bytes) if bytes.starts_with(b"\x93NUMPY") => {
            "this is a .npy file, expected text; save the arrays `contexts` and `rewards` with numpy.savez, and give them with --npz FILE"
        }
        _ => return Ok(()),
    };
    Err(ErrorKind::InvalidFile { file: path.display().to_string(), problem: problem.to_owned() }.into())
}

/// Fails for a file that is not an archive, and names the option that fits.
fn expect_archive(path: &Path) -> Result<(), Error> {
    let problem = match first_bytes(path) {
        Some(bytes) if bytes.starts_with(b"\x93NUMPY") => {
            "this is a .npy file, which holds one array, expected an NPZ file with `contexts` and `rewards`; save both with numpy.savez"
        }
        Some(bytes) if !is_zip(&bytes) => {
            "this is not an NPZ file; if it is a table with a header, give it with --csv FILE --label COLUMN"
        }
        _ => return Ok(()),
    };
    Err(ErrorKind::InvalidFile { file: path.display().to_string(), problem: problem.to_owned() }.into())
}

/// Whether a zip archive, perhaps an empty one, begins like this.
fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// The first 8 bytes; `None` if the file cannot be read, which the caller reports when it opens it.
fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(8).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn file_used(path: &Path, fingerprint: Fingerprint) -> FileUsed {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    FileUsed { name, sha256: fingerprint.sha256, known: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's numbers would stand beside those of other data.
    #[test]
    fn names_of_built_in_problems_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        for info in &INFOS {
            let csv = folder.path().join(format!("{}.csv.gz", info.id));
            let npz = folder.path().join(format!("{}.npz", info.id));
            for error in
                [load_csv(&csv, "0", &CsvOptions::default()).unwrap_err(), load_npz(&npz).unwrap_err()]
            {
                let message = error.to_string();
                assert!(
                    message.contains(&format!("`{}` is the name of a built-in problem", info.id)),
                    "{message}"
                );
                assert!(message.contains("rename the file"), "{message}");
            }
        }
        let other = load_csv(&folder.path().join("my-adult.csv"), "0", &CsvOptions::default()).unwrap_err();
        assert!(matches!(other.kind(), ErrorKind::UnreadableFile { .. }), "{other}");
    }

    #[test]
    fn a_file_of_the_other_kind_is_refused_with_its_option() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let csv = |path: &Path| load_csv(path, "0", &CsvOptions::default()).unwrap_err().to_string();
        let npz = |path: &Path| load_npz(path).unwrap_err().to_string();
        let archive = write("mine.npz", b"PK\x03\x04...");
        assert!(
            csv(&archive).ends_with("mine.npz: this is an NPZ file, expected text; give it with --npz FILE")
        );
        let array = write("mine.npy", b"\x93NUMPY\x01\x00");
        assert!(csv(&array).contains("save the arrays `contexts` and `rewards` with numpy.savez"));
        assert!(npz(&array).contains("this is a .npy file, which holds one array"));
        let sheet = write("mine.xlsx", b"PK\x03\x04...");
        assert!(csv(&sheet).contains("this is a zip archive (as .xlsx files are), expected text"));
        for (name, text) in [("mine.csv", "a,b\n1,2\n"), ("empty.npz", "")] {
            let table = write(name, text.as_bytes());
            assert!(npz(&table).contains(
                "this is not an NPZ file; if it is a table with a header, give it with --csv FILE --label"
            ));
        }
        assert!(npz(&archive).contains("cannot read the archive"));
    }

    #[test]
    fn stems_lose_compression_and_extension() {
        for (path, expected) in [
            ("a/b.csv", "b"),
            ("b.csv.gz", "b"),
            ("b.c.csv.zst", "b.c"),
            ("b", "b"),
            ("b.gz", "b"),
            (".csv", ".csv"),
        ] {
            assert_eq!(stem(Path::new(path)), expected);
        }
    }
}
