//! Files that are made here: written beside their place, and put there once they are whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Error;

/// Why no file could be made.
pub(super) enum Spoiled {
    /// What it is made of is damaged, or something else than expected.
    Input(String),
    /// It could not be written.
    Here(Error),
}

/// Writes `TARGET.tmp`, and takes it away again if that fails.
pub(super) fn write_beside(
    target: &Path,
    max_bytes: u64,
    fill: impl FnOnce(&mut Output) -> io::Result<()>,
) -> Result<PathBuf, Spoiled> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let path = target.with_file_name(name);
    let here = |cause| Spoiled::Here(Error::OutFile { doing: "write", path: path.clone(), cause });
    let file = File::create(&path).map_err(here)?;
    let mut output = Output { file, left: max_bytes, max_bytes, failure: None };
    let filled = fill(&mut output);
    let done = match (filled, output.failure) {
        (_, Some(cause)) => Err(here(cause)),
        (Err(cause), None) => Err(Spoiled::Input(cause.to_string())),
        (Ok(()), None) => output.file.sync_all().map_err(here),
    };
    match done {
        Ok(()) => Ok(path),
        Err(spoiled) => {
            let _ = fs::remove_file(&path);
            Err(spoiled)
        }
    }
}

/// Puts a file that was written beside into its place.
pub(super) fn put_in_place(beside: &Path, target: &Path) -> Result<(), Error> {
    fs::rename(beside, target).map_err(|cause| Error::OutFile {
        doing: "create",
        path: target.to_owned(),
        cause,
    })
}

/// A file that is being made. It takes only so much, and keeps its own troubles apart from those of what is read.
pub(super) struct Output {
    file: File,
    left: u64,
    max_bytes: u64,
    failure: Option<io::Error>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            let limit = self.max_bytes;
            let problem = format!("it unpacks to more than {limit} bytes, which are not taken");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        match self.file.write(bytes) {
            Ok(n_written) => {
                self.left -= n_written as u64;
                Ok(n_written)
            }
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => Err(cause),
            Err(cause) => {
                let kind = cause.kind();
                self.failure = Some(cause);
                Err(kind.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
