//! Problems made of anybody's own data: a labelled table, or rounds whose rewards are all known.

mod csv;
mod npz;

use std::path::Path;

use super::FileUsed;
use crate::data::Fingerprint;

pub use csv::load_csv;
pub use npz::load_npz;

/// The name of the file without folder, compression and extension: what the problem is called.
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
