//! Whether a process is running trials in a folder, without touching its lock.
//!
//! Trying the lock would hold it for a moment, and a run that starts in that moment would fail. Linux lists locked files in
//! `/proc/locks`, by device and inode; other systems do not.

use std::path::Path;

/// The process that is running trials in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Worker {
    /// A process, with its id if the system reports it.
    Process(Option<u32>),
    /// No process.
    Nobody,
    /// Unknown on this system.
    Unknown,
}

/// Finds the process that is running trials in the folder `out`.
pub(crate) fn worker(out: &Path) -> Worker {
    let lock = out.join(super::LOCK_FILE);
    // A running process has created the file.
    if lock.try_exists().is_ok_and(|exists| !exists) {
        return Worker::Nobody;
    }
    holder_of(&lock).unwrap_or(Worker::Unknown)
}

#[cfg(target_os = "linux")]
fn holder_of(lock: &Path) -> Option<Worker> {
    use std::fs;
    use std::os::linux::fs::MetadataExt;

    let metadata = fs::metadata(lock).ok()?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let (device, inode) = (device_name(metadata.st_dev()), metadata.st_ino());
    // Some file systems tell a file's device otherwise than the list of locks does; then the open files of a process tell.
    let path = lock.canonicalize().ok();
    let has_it_open = |process: u32| {
        let links = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        path.is_some() && links.map(|link| fs::read_link(link.path()).ok()).any(|target| target == path)
    };
    let is_this =
        |held: &Held| held.inode == inode && (held.device == device || held.process.is_some_and(has_it_open));
    let held = locks.lines().filter_map(Held::parse).find(is_this);
    Some(held.map_or(Worker::Nobody, |held| Worker::Process(held.process)))
}

#[cfg(not(target_os = "linux"))]
fn holder_of(_: &Path) -> Option<Worker> {
    None
}

/// A line of `/proc/locks`: `1: FLOCK  ADVISORY  WRITE 29256 fe:00:10013544 0 EOF`.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
struct Held<'a> {
    process: Option<u32>,
    /// Major and minor number, in hexadecimal.
    device: &'a str,
    inode: u64,
}

#[cfg(target_os = "linux")]
impl<'a> Held<'a> {
    /// `None` for locks of other kinds, and for those that are waited for (`1: -> FLOCK …`).
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_whitespace().skip(1);
        let (kind, _, _) = (words.next()?, words.next()?, words.next()?);
        if kind != "FLOCK" {
            return None;
        }
        // A process that cannot be seen from here has the number 0 or -1.
        let process = words.next()?.parse().ok().filter(|process| *process > 0);
        let (device, inode) = words.next()?.rsplit_once(':')?;
        Some(Self { process, device, inode: inode.parse().ok()? })
    }
}

/// A device's number as `/proc/locks` writes it. The bits lie as in Linux's `makedev`.
#[cfg(target_os = "linux")]
fn device_name(device: u64) -> String {
    let major = device >> 8 & 0xfff | device >> 32 & !0xfff;
    let minor = device & 0xff | device >> 12 & !0xff & 0xffff_ffff;
    format!("{major:02x}:{minor:02x}")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::record::Folder;

    #[test]
    fn lines_of_the_kernel_are_understood() {
        let held = Held::parse("1: FLOCK  ADVISORY  WRITE 29256 fe:00:10013544 0 EOF");
        assert_eq!(held, Some(Held { process: Some(29_256), device: "fe:00", inode: 10_013_544 }));
        let unseen = Held::parse("17: FLOCK  ADVISORY  WRITE -1 103:05:7 0 EOF");
        assert_eq!(unseen, Some(Held { process: None, device: "103:05", inode: 7 }));
        for other in [
            "",
            "2: POSIX  ADVISORY  WRITE 1 fe:00:3 0 EOF",
            "2: -> FLOCK  ADVISORY  WRITE 1 fe:00:3 0 EOF",
            "2: FLOCK  ADVISORY  WRITE 1",
            "2: FLOCK  ADVISORY  WRITE 1 fe 0 EOF",
            "2: FLOCK  ADVISORY  WRITE 1 fe:00:x 0 EOF",
        ] {
            assert_eq!(Held::parse(other), None, "{other}");
        }
        assert_eq!(
            [device_name(0xfe00), device_name(0x801), device_name(0x0010_0305)],
            ["fe:00", "08:01", "03:105"]
        );
    }

    #[test]
    fn a_folder_tells_who_holds_it_and_is_left_alone() {
        let out = tempfile::tempdir().unwrap();
        assert_eq!(worker(out.path()), Worker::Nobody);
        assert_eq!(worker(&out.path().join("nowhere")), Worker::Nobody);
        let folder = Folder::lock(out.path()).unwrap();
        assert_eq!(worker(out.path()), Worker::Process(Some(std::process::id())));
        drop(folder);
        assert_eq!(worker(out.path()), Worker::Nobody);
        assert!(out.path().join(".lock").exists());
    }
}
