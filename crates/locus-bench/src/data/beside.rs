//! Created files: written under a temporary name in the same folder, and renamed once complete.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Error;
use crate::error::ErrorKind;

/// Why a file could not be created.
pub(super) enum Spoiled {
    /// The input is damaged or not as expected.
    Input(String),
    /// It could not be written.
    Here(Error),
}

impl From<Error> for Spoiled {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

/// A file `NAME.PROCESS-NUMBER.tmp` that no other process or thread writes to. Dropping it removes it, unless it was put in place.
pub(super) struct TemporaryFile {
    path: PathBuf,
    /// Locked until it is dropped, so that others can tell it from one whose process was killed.
    file: File,
}

impl TemporaryFile {
    /// Creates an empty file in the folder of `target`, and removes those that killed processes left of the same target.
    pub(super) fn create(target: &Path) -> Result<Self, Error> {
        static N_CREATED: AtomicUsize = AtomicUsize::new(0);
        remove_left_over(target);
        loop {
            let number = N_CREATED.fetch_add(1, Ordering::Relaxed);
            let mut name = target.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{}-{number}.tmp", process::id()));
            let path = target.with_file_name(name);
            let file = match File::create_new(&path) {
                Ok(file) => file,
                // Of a process with the same number, on another machine or long ago.
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(cause) => return Err(ErrorKind::OutFile { doing: "create", path, cause }.into()),
            };
            // On Windows a locked file cannot be read, and so not unpacked. Some file systems have no locks.
            let is_removed =
                cfg!(unix) && (matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !path.exists());
            // Another process may have taken it for a leftover before it was locked.
            if !is_removed {
                return Ok(Self { path, file });
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|cause| self.failed(cause))
    }

    /// Gives the file its final name. Readers see the complete file or none.
    pub(super) fn put_in_place(self, target: &Path) -> Result<(), Error> {
        self.file.sync_all().map_err(|cause| self.failed(cause))?;
        fs::rename(&self.path, target).map_err(|cause| {
            Error::from(ErrorKind::OutFile { doing: "create", path: target.to_owned(), cause })
        })
    }

    fn failed(&self, cause: io::Error) -> Error {
        Error::from(ErrorKind::OutFile { doing: "write", path: self.path.clone(), cause })
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // Fails where it has its final name. If it stays, the next try removes it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the temporary files of `target` that no process has locked.
fn remove_left_over(target: &Path) {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return };
    let prefix = format!("{}.", name.to_string_lossy());
    let is_temporary = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let numbers = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".tmp"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        numbers
            .and_then(|numbers| numbers.split_once('-'))
            .is_some_and(|(process, number)| is_number(process) && is_number(number))
    };
    // A folder that cannot be listed leads to an error when the file is created.
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if cfg!(unix)
            && is_temporary(&path)
            && let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            // If it stays, nothing is wrong but a file too many.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Writes a temporary file for `target` of at most `max_bytes`.
pub(super) fn write_beside(
    target: &Path,
    max_bytes: u64,
    fill: impl FnOnce(&mut Output<'_>) -> io::Result<()>,
) -> Result<TemporaryFile, Spoiled> {
    let mut beside = TemporaryFile::create(target)?;
    let mut output = Output { file: &mut beside.file, left: max_bytes, max_bytes, failure: None };
    let filled = fill(&mut output);
    match (filled, output.failure) {
        (_, Some(cause)) => Err(Spoiled::Here(beside.failed(cause))),
        (Err(cause), None) => Err(Spoiled::Input(cause.to_string())),
        (Ok(()), None) => Ok(beside),
    }
}

/// A file being written. It has a maximum size, and distinguishes its own errors from those of the input.
pub(super) struct Output<'a> {
    file: &'a mut File,
    left: u64,
    max_bytes: u64,
    failure: Option<io::Error>,
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            let limit = self.max_bytes;
            let problem = format!("it unpacks to more than {limit} bytes, the maximum");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The last to be put in place wins, and every reader sees a whole file.
    #[test]
    fn two_that_write_the_same_file_do_not_meet() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("data");
        let mut one = TemporaryFile::create(&target).unwrap();
        let mut other = TemporaryFile::create(&target).unwrap();
        one.append(b"1,2\n").unwrap();
        other.append(b"1,2,").unwrap();
        one.append(b"3,4\n").unwrap();
        one.put_in_place(&target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"1,2\n3,4\n");
        other.append(b"3\n").unwrap();
        other.put_in_place(&target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"1,2,3\n");
        drop(TemporaryFile::create(&target).unwrap());
        assert_eq!(names(folder.path()), ["data"]);
    }

    #[cfg(unix)]
    #[test]
    fn only_what_killed_processes_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["data.123-4.tmp", "data.tmp", "data.1-x.tmp", "other.123-4.tmp"] {
            fs::write(folder.path().join(name), "half").unwrap();
        }
        drop(TemporaryFile::create(&folder.path().join("data")).unwrap());
        assert_eq!(names(folder.path()), ["data.1-x.tmp", "data.tmp", "other.123-4.tmp"]);
    }
}
