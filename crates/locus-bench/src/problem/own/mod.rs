//! Problems made of anybody's own data: a labelled table, or rounds whose rewards are all known.

mod csv;
mod npz;

use std::path::Path;

use super::{FileUsed, INFOS};
use crate::Error;
use crate::data::Fingerprint;
use crate::error::ErrorKind;

pub use csv::load_csv;
pub use npz::load_npz;

/// What the problem made of this file is called: its stem, unless a built-in problem has that name. The paper's numbers
/// would stand beside those of other data, and records could be confused.
fn name(path: &Path) -> Result<String, Error> {
    let name = stem(path);
    match INFOS.iter().any(|info| info.id == name) {
        true => Err(ErrorKind::NameTaken { file: path.display().to_string(), name }.into()),
        false => Ok(name),
    }
}

/// The name of the file without folder, compression and extension.
fn stem(path: &Path) -> String {
    let name = Path::new(path.file_name().unwrap_or_default());
    let is_compressed = name.extension().is_some_and(|extension| extension == "gz" || extension == "zst");
    let name = if is_compressed { Path::new(name.file_stem().unwrap_or_default()) } else { name };
    name.file_stem().unwrap_or_default().to_string_lossy().into_owned()
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
            for error in [load_csv(&csv, "0").unwrap_err(), load_npz(&npz).unwrap_err()] {
                let message = error.to_string();
                assert!(
                    message.contains(&format!("`{}` is the name of a built-in problem", info.id)),
                    "{message}"
                );
                assert!(message.contains("rename the file"), "{message}");
            }
        }
        let other = load_csv(&folder.path().join("my-adult.csv"), "0").unwrap_err();
        assert!(matches!(other.kind(), ErrorKind::UnreadableFile { .. }), "{other}");
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
