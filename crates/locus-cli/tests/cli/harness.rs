//! A folder of its own for each test, the binary run inside of it, and what it left behind.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use assert_cmd::cargo::CommandCargoExt;
use locus_bench::data::npy::{read_npy, read_npy_u32};
use locus_bench::record::{TrialRow, curve_paths, read_trials};
use locus_bench::trial::TrialId;
use tempfile::TempDir;

/// Settings so small that a run takes milliseconds.
pub(crate) const TINY: [&str; 4] = ["--trials", "2", "--steps", "60"];

/// A folder that vanishes after the test.
pub(crate) struct Desk {
    folder: TempDir,
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("both outputs are UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The command ended well.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// The command was refused: exit code 2, nothing on standard output, and an error that says all of this.
    #[track_caller]
    pub(crate) fn refused(self, expected: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{self:?}");
        assert!(self.stderr.lines().any(|line| line.starts_with("error: ")), "{self:?}");
        for part in expected {
            assert!(self.stderr.contains(part), "expected {part:?} in {}", self.stderr);
        }
    }
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A path on this desk.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The binary, about to run on this desk and knowing of no data. A bench that names neither suite nor policies gets
    /// quick ones: the nets of the suite `quick` would take a minute each time.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::cargo_bin("locus").unwrap();
        let words: Vec<OsString> = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        let is_bench = words.first().is_some_and(|word| word == "bench");
        let is_named = words.iter().any(|word| word == "--policies" || word == "--suite" || word == "--help");
        if is_bench && !is_named {
            command.args(words).args(["--policies", "lin-full-post"]);
        } else {
            command.args(words);
        }
        command.current_dir(self.folder.path()).env_remove("LOCUS_DATA").stdin(Stdio::null());
        command
    }

    pub(crate) fn locus<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Said {
        Said::from(self.command(words).output().unwrap())
    }

    /// `locus bench`, the words of one string, and `--trials 2 --steps 60`.
    pub(crate) fn tiny_bench(&self, words: &str) -> Said {
        self.locus(["bench"].into_iter().chain(words.split_whitespace()).chain(TINY))
    }

    pub(crate) fn rows(&self, out: &str) -> Vec<TrialRow> {
        read_trials(&self.path(out)).unwrap()
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    /// All that a run found out and no clock can change.
    pub(crate) fn results(&self, out: &str) -> BTreeMap<TrialId, Result<Found, String>> {
        let rows = self.rows(out);
        let n_rows = rows.len();
        let found = |row: TrialRow| {
            let outcome = row.outcome.map(|measured| Found {
                regrets: [measured.cumulative_regret, measured.simple_regret].map(f64::to_bits),
                curves: curve_bytes(&self.path(out), &row.id),
            });
            (row.id, outcome)
        };
        let results: BTreeMap<_, _> = rows.into_iter().map(found).collect();
        assert_eq!(results.len(), n_rows, "a trial has two rows");
        results
    }

    /// The regret of every step.
    pub(crate) fn regrets(&self, out: &str, id: &TrialId) -> Vec<f64> {
        let path = curve_paths(&self.path(out), id).regret;
        read_npy(fs::File::open(&path).unwrap(), "regret").unwrap().into_f64()
    }

    /// The action of every step.
    pub(crate) fn actions(&self, out: &str, id: &TrialId) -> Vec<u32> {
        let path = curve_paths(&self.path(out), id).action;
        read_npy_u32(fs::File::open(&path).unwrap(), "action").unwrap()
    }
}

/// What a trial found out.
#[derive(Debug, PartialEq)]
pub(crate) struct Found {
    regrets: [u64; 2],
    curves: [Vec<u8>; 2],
}

fn curve_bytes(out: &Path, id: &TrialId) -> [Vec<u8>; 2] {
    let paths = curve_paths(out, id);
    [paths.regret, paths.action].map(|path| fs::read(path).unwrap())
}

pub(crate) fn id(policy: &str, problem: &str, trial: usize) -> TrialId {
    TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial }
}

/// Waits until a run has recorded its first trial; fails if it ends before, or within ten seconds does not.
pub(crate) fn wait_for_first_row(child: &mut Child, out: &Path) {
    for _ in 0..10_000 {
        if read_trials(out).is_ok_and(|rows| !rows.is_empty()) {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it was seen to run");
        thread::sleep(Duration::from_millis(1));
    }
    panic!("no trial ended");
}
