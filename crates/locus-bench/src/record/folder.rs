//! The locked folder of a run: one process may write, and every write leaves the folder consistent.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::curves::write_curves;
use super::trials::{TrialRow, Trials};
use super::{CURVES_FOLDER, LOCK_FILE, RUN_FILE, RunFile, TRIALS_FILE};
use crate::Error;
use crate::error::ErrorKind;
use crate::trial::TrialResult;

/// The folder of a run, held for writing until it is dropped.
pub(crate) struct Folder {
    out: PathBuf,
    /// Held open, for the system frees the lock of a process that dies.
    _lock: File,
    rows: Mutex<Option<Rows>>,
}

/// `trials.csv`, open for appending.
struct Rows {
    file: File,
    length: u64,
}

impl Folder {
    /// Creates the folder if it does not exist, and locks it. Does not wait.
    pub(crate) fn lock(out: &Path) -> Result<Self, Error> {
        create_folder(out)?;
        let path = out.join(LOCK_FILE);
        let failed = |cause| Error::from(ErrorKind::OutFile { doing: "lock", path: path.clone(), cause });
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { out: out.to_owned(), _lock: lock, rows: Mutex::new(None) }),
            Err(TryLockError::WouldBlock) => Err(ErrorKind::OutInUse { out: out.to_owned() }.into()),
            Err(TryLockError::Error(cause)) => Err(failed(cause)),
        }
    }

    /// Writes what is run, then opens `trials.csv` for more rows. The file is rewritten where `rewritten` says
    /// how: without a torn line, without the failures that are tried again, with the columns of today.
    pub(crate) fn begin(&self, run: &RunFile, rewritten: Option<&Trials>) -> Result<(), Error> {
        self.write_run(run)?;
        let path = self.out.join(TRIALS_FILE);
        if let Some(trials) = rewritten {
            self.write_trials(trials)?;
        }
        let open = || {
            let file = OpenOptions::new().append(true).open(&path)?;
            let length = file.metadata()?.len();
            Ok(Rows { file, length })
        };
        let rows = open().map_err(|cause| ErrorKind::OutFile { doing: "open", path: path.clone(), cause })?;
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = Some(rows);
        Ok(())
    }

    /// Writes `run.json`.
    pub(crate) fn write_run(&self, run: &RunFile) -> Result<(), Error> {
        replace_file_durably(&self.out.join(RUN_FILE), run.to_json().as_bytes())
    }

    /// Writes all of `trials.csv`. The curves of its rows must be there before.
    pub(crate) fn write_trials(&self, trials: &Trials) -> Result<(), Error> {
        replace_file_durably(&self.out.join(TRIALS_FILE), &trials.to_bytes())
    }

    /// Copies an array of another folder.
    pub(crate) fn copy_curve(&self, from: &Path, to: &Path) -> Result<(), Error> {
        create_folder(&self.out.join(CURVES_FOLDER))?;
        let bytes = fs::read(from).map_err(|cause| {
            Error::from(ErrorKind::OutFile { doing: "read", path: from.to_owned(), cause })
        })?;
        replace_file(to, &bytes)
    }

    /// Records a trial: its curves, where it did not fail, and then its row in one write. After an error no
    /// more rows are taken, since they would follow a torn one.
    pub(crate) fn record(&self, row: &TrialRow, result: Option<&TrialResult>) -> Result<(), Error> {
        if let Some(result) = result {
            write_curves(&self.out, &row.id, result)?;
        }
        let line = row.to_line();
        let mut slot = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match slot.as_mut() {
            Some(rows) => rows.append(&line),
            None => Err(io::Error::other("an earlier write failed")),
        };
        written.map_err(|cause| {
            *slot = None;
            Error::from(ErrorKind::OutFile { doing: "append to", path: self.out.join(TRIALS_FILE), cause })
        })
    }
}

impl Rows {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if let Err(cause) = self.file.write_all(line) {
            // A full disk may have taken half of the line. If cutting it off fails too, readers ignore it.
            let _ = self.file.set_len(self.length);
            return Err(cause);
        }
        self.length += line.len() as u64;
        Ok(())
    }
}

pub(crate) fn create_folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|cause| {
        Error::from(ErrorKind::OutFile { doing: "create the folder", path: path.to_owned(), cause })
    })
}

/// Puts a whole file in its place: readers see the old one or the new one, also after this process is killed.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes, |_| Ok(()))
}

/// The same, also after the machine loses power. Slow: a disk may take its time.
fn replace_file_durably(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes, File::sync_all)
}

fn replace(path: &Path, bytes: &[u8], settle: impl Fn(&File) -> io::Result<()>) -> Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let beside = path.with_file_name(name);
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        settle(&file)?;
        fs::rename(&beside, path)
    };
    write().map_err(|cause| {
        let _ = fs::remove_file(&beside);
        Error::from(ErrorKind::OutFile { doing: "write", path: path.to_owned(), cause })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Measured, read_trials};
    use crate::trial::TrialId;

    fn row(trial: usize) -> TrialRow {
        let id = TrialId { problem: "p".to_owned(), policy: "uniform".to_owned(), trial };
        let outcome = Ok(Measured {
            cumulative_regret: 1.0,
            simple_regret: 0.5,
            seconds_choosing: 0.0,
            seconds_learning: 0.0,
            cpu_seconds: None,
            interventions: Some(0),
        });
        TrialRow { id, seed: 0, steps: 2, outcome, version: "0.1.0".to_owned() }
    }

    #[test]
    fn a_folder_is_held_by_one_at_a_time() {
        let out = tempfile::tempdir().unwrap();
        let first = Folder::lock(out.path()).unwrap();
        let message = Folder::lock(out.path()).err().unwrap().to_string();
        assert!(message.contains("another process is running trials in"), "{message}");
        drop(first);
        Folder::lock(out.path()).unwrap();
    }

    #[test]
    fn a_row_that_cannot_be_recorded_takes_no_other_with_it() {
        let out = tempfile::tempdir().unwrap();
        let folder = Folder::lock(out.path()).unwrap();
        folder.begin(&RunFile::new(0, 2, false), Some(&Trials::default())).unwrap();
        folder.record(&row(0), Some(&TrialResult::default())).unwrap();
        // A file stands where the folder of the curves should be.
        fs::remove_dir_all(out.path().join("curves")).unwrap();
        fs::write(out.path().join("curves"), "").unwrap();
        let message = folder.record(&row(1), Some(&TrialResult::default())).unwrap_err().to_string();
        assert!(message.starts_with("cannot create the folder `"), "{message}");
        assert_eq!(read_trials(out.path()).unwrap(), [row(0)]);
        folder.record(&row(2), None).unwrap();
        assert_eq!(read_trials(out.path()).unwrap(), [row(0), row(2)]);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_a_clear_error() {
        let out = tempfile::tempdir().unwrap();
        let file = out.path().join("file");
        fs::write(&file, "").unwrap();
        let message = Folder::lock(&file.join("out")).err().unwrap().to_string();
        assert!(
            message.starts_with("cannot create the folder `") && message.contains("file/out`: "),
            "{message}"
        );
    }

    /// /dev/full rejects every byte, like a full disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn after_a_full_disk_no_row_is_taken() {
        let out = tempfile::tempdir().unwrap();
        let folder = Folder::lock(out.path()).unwrap();
        let file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        *folder.rows.lock().unwrap() = Some(Rows { file, length: 0 });
        let message = folder.record(&row(0), None).unwrap_err().to_string();
        assert!(message.contains("cannot append to `") && message.contains("No space left"), "{message}");
        let message = folder.record(&row(1), None).unwrap_err().to_string();
        assert!(message.contains("an earlier write failed"), "{message}");
    }
}
