//! A file on its way: `NAME.part`, and beside it `NAME.part.json`, which says what it is the beginning of.
//!
//! Bytes are appended as they come, so whatever ends the process leaves a beginning to go on from. The note is
//! written before the first byte; without it, or for another address, the beginning is worth nothing.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Error;

/// A download under way. No other process writes to it.
pub(super) struct Part {
    path: PathBuf,
    note_path: PathBuf,
    /// Locked until it is dropped.
    file: File,
    length: u64,
    note: Option<Note>,
    /// Whether it came in more than one piece, which may not belong together.
    is_joined: bool,
}

/// What a `.part` is the beginning of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    /// Where it comes from.
    pub(super) address: String,
    /// Which version of the file it is, as the server tells them apart.
    pub(super) validator: Option<String>,
    /// How many bytes the whole has.
    pub(super) total: Option<u64>,
}

impl Part {
    /// Opens `NAME.part` in `folder`; what is there of another address is thrown away.
    pub(super) fn open(folder: &Path, name: &str, address: &str) -> Result<Self, Error> {
        let path = folder.join(format!("{name}.part"));
        let note_path = folder.join(format!("{name}.part.json"));
        let failed = |cause| Error::OutFile { doing: "open", path: path.clone(), cause };
        let file = loop {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(&path)
                .map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(Error::PartInUse { path }),
                Err(TryLockError::Error(cause)) => {
                    return Err(Error::OutFile { doing: "lock", path, cause });
                }
            }
            // Between opening and locking another process may have given it its final name.
            if is_at(&file, &path).map_err(failed)? {
                break file;
            }
        };
        let length = file.metadata().map_err(failed)?.len();
        let mut part = Self { path, note_path, file, length, note: None, is_joined: length > 0 };
        let note: Option<Note> =
            fs::read(&part.note_path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let is_ours = |note: &Note| note.address == address && note.total.is_none_or(|total| length <= total);
        match note.filter(is_ours) {
            Some(note) => {
                part.file.seek(SeekFrom::End(0)).map_err(|cause| part.failed("open", cause))?;
                part.note = Some(note);
            }
            None => part.clear()?,
        }
        Ok(part)
    }

    /// Throws away what is there.
    pub(super) fn clear(&mut self) -> Result<(), Error> {
        self.note = None;
        if self.length > 0 {
            self.file.set_len(0).map_err(|cause| self.failed("empty", cause))?;
        }
        self.file.seek(SeekFrom::Start(0)).map_err(|cause| self.failed("empty", cause))?;
        self.length = 0;
        self.is_joined = false;
        Ok(())
    }

    /// Begins anew, with what `note` describes.
    pub(super) fn begin(&mut self, note: Note) -> Result<(), Error> {
        self.clear()?;
        self.write_note(&note)?;
        self.note = Some(note);
        Ok(())
    }

    /// What comes now is the rest of the file; `total` says how long the whole is, if that is known now.
    pub(super) fn join(&mut self, total: Option<u64>) {
        self.is_joined = true;
        if let Some(note) = &mut self.note {
            note.total = note.total.or(total);
        }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|cause| {
            // Half of the bytes may have been written; they are right, and counted next time.
            self.failed("write", cause)
        })?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// What is there is all.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        if let Some(note) = &mut self.note {
            note.total = Some(self.length);
        }
        self.file.sync_all().map_err(|cause| self.failed("write", cause))?;
        match &self.note {
            Some(note) => self.write_note(note),
            None => Ok(()),
        }
    }

    /// Whether nothing is missing.
    pub(super) fn is_whole(&self) -> bool {
        self.note.as_ref().is_some_and(|note| note.total == Some(self.length))
    }

    /// Bytes that are there.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn note(&self) -> Option<&Note> {
        self.note.as_ref()
    }

    pub(super) fn is_joined(&self) -> bool {
        self.is_joined
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the download: its file moves to `path`, if one is given, and nothing stays behind.
    pub(super) fn close(self, path: Option<&Path>) -> Result<(), Error> {
        let Self { path: part, note_path, file, .. } = self;
        // Locked until it has its name, or another process could go on with it. Windows does not move a file that is open.
        let _locked = (!cfg!(windows)).then_some(file);
        match path {
            Some(path) => fs::rename(&part, path).map_err(|cause| Error::OutFile {
                doing: "create",
                path: path.to_owned(),
                cause,
            })?,
            None => remove(&part)?,
        }
        remove(&note_path)
    }

    fn write_note(&self, note: &Note) -> Result<(), Error> {
        let written = serde_json::to_vec(note)
            .map_err(io::Error::other)
            .and_then(|bytes| fs::write(&self.note_path, bytes));
        written.map_err(|cause| Error::OutFile { doing: "write", path: self.note_path.clone(), cause })
    }

    fn failed(&self, doing: &'static str, cause: io::Error) -> Error {
        Error::OutFile { doing, path: self.path.clone(), cause }
    }
}

/// Whether `path` still leads to this very file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match fs::metadata(path) {
        Ok(there) => Ok(identity(there) == identity(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere a file that is open is not moved.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Removes what earlier runs left of this download, if anything. Does not touch one that is under way.
pub(super) fn remove_left_over(folder: &Path, name: &str) {
    let path = folder.join(format!("{name}.part"));
    if let Ok(file) = File::open(&path)
        && file.try_lock().is_ok()
    {
        // If it stays, nothing is wrong but a file too many.
        let _ = fs::remove_file(&path);
        let _ = fs::remove_file(folder.join(format!("{name}.part.json")));
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::OutFile { doing: "remove", path: path.to_owned(), cause })
        }
        _ => Ok(()),
    }
}
