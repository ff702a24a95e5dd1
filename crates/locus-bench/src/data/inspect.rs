//! Which of the benchmark's files a folder holds, and whether their checksums match.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::catalog::{CatalogFile, FILES};
use super::npy::read_npy_shape;
use super::{Compression, DataFile};
use crate::Error;
use crate::error::ErrorKind;

/// What a folder holds of a file of the benchmark.
#[derive(Debug)]
pub struct FileStatus {
    /// The file.
    pub file: &'static CatalogFile,
    /// What was found.
    pub state: FileState,
}

/// What was found of a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileState {
    /// Neither the file nor a compressed form of it exists.
    Missing,
    /// It exists and was read to its end.
    Found {
        /// Where.
        path: PathBuf,
        /// How it is stored.
        compression: Compression,
        /// Uncompressed bytes.
        bytes: u64,
        /// Rows, without the header.
        rows: usize,
        /// SHA-256 of the uncompressed bytes.
        sha256: String,
        /// Whether the checksum matches the known one; `None` if none is known.
        matches_known: Option<bool>,
    },
    /// It exists but cannot be read.
    Unreadable {
        /// Why.
        error: Error,
    },
}

/// Searches `folder` for every file of the benchmark, and reads those that exist.
///
/// Fails only if there is no such folder; a damaged file is a state of that file.
pub fn inspect(folder: &Path) -> Result<Vec<FileStatus>, Error> {
    if !folder.is_dir() {
        return Err(ErrorKind::FolderNotFound { folder: folder.to_owned() }.into());
    }
    let status = |file| {
        let state = inspect_file(folder, file).unwrap_or_else(|error| match error.kind() {
            ErrorKind::FileNotFound { .. } => FileState::Missing,
            _ => FileState::Unreadable { error },
        });
        FileStatus { file, state }
    };
    Ok(FILES.iter().map(status).collect())
}

fn inspect_file(folder: &Path, file: &CatalogFile) -> Result<FileState, Error> {
    read_to_end(DataFile::find(folder, file.name)?, file)
}

/// Reads what lies at `path` as if it were `file`.
pub(super) fn inspect_path(path: &Path, file: &CatalogFile) -> Result<FileState, Error> {
    read_to_end(DataFile::open(path)?, file)
}

fn read_to_end(mut input: DataFile, file: &CatalogFile) -> Result<FileState, Error> {
    let path = input.path().to_owned();
    let compression = input.compression();
    let rows = match file.header_lines {
        Some(header_lines) => count_rows(&mut input)
            .map_err(|cause| ErrorKind::UnreadableFile { file: input.label(), cause })?
            .saturating_sub(header_lines),
        None => {
            let label = input.label();
            read_npy_shape(&mut input, &label)?[0]
        }
    };
    let fingerprint = input.finish()?;
    Ok(FileState::Found {
        path,
        compression,
        bytes: fingerprint.bytes,
        rows,
        matches_known: file.sha256.map(|known| known == fingerprint.sha256),
        sha256: fingerprint.sha256,
    })
}

/// Counts the lines that are not blank, the last one with or without a line end.
fn count_rows(mut input: impl Read) -> io::Result<usize> {
    let mut buffer = vec![0; super::file::BUFFER_BYTES];
    let (mut n_rows, mut is_blank) = (0, true);
    loop {
        let n_read = match input.read(&mut buffer) {
            Ok(0) => return Ok(n_rows + usize::from(!is_blank)),
            Ok(n_read) => n_read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => return Err(cause),
        };
        for &byte in &buffer[..n_read] {
            if byte == b'\n' {
                n_rows += usize::from(!is_blank);
                is_blank = true;
            } else if is_blank {
                is_blank = byte.is_ascii_whitespace();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::npy::tests::npy_f64;

    #[test]
    fn rows_are_lines_that_are_not_blank() {
        for (text, n_rows) in [("", 0), ("\n \r\n", 0), ("a", 1), ("a\n", 1), ("a\r\n\r\n b\n\nc", 3)] {
            assert_eq!(count_rows(text.as_bytes()).unwrap(), n_rows, "{text:?}");
        }
    }

    #[test]
    fn every_file_is_found_missing_or_unreadable() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        write("mushroom.data", b"p,x\ne,y\n");
        write("USCensus1990.data.txt", b"caseid,dOccup\r\n1,2\r\n");
        write("jester_data_40jokes_19181users.npy", &npy_f64("(3, 1)", &[1.0, 2.0, 3.0]));
        write("shuttle.trn.zst", b"not zstd");

        let found = inspect(folder.path()).unwrap();
        assert_eq!(found.len(), FILES.len());
        let state = |name: &str| &found.iter().find(|status| status.file.name == name).unwrap().state;
        assert!(matches!(
            state("mushroom.data"),
            FileState::Found { rows: 2, bytes: 8, matches_known: Some(false), .. }
        ));
        assert!(matches!(
            state("USCensus1990.data.txt"),
            FileState::Found { rows: 1, matches_known: None, .. }
        ));
        assert!(matches!(state("jester_data_40jokes_19181users.npy"), FileState::Found { rows: 3, .. }));
        assert!(matches!(state("shuttle.trn"), FileState::Unreadable { .. }));
        assert!(matches!(state("adult.full"), FileState::Missing));
        assert!(inspect(&folder.path().join("nowhere")).unwrap_err().is_not_found());
    }
}
