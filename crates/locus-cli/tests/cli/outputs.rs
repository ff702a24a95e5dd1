//! Outputs that nobody reads, that are full, or that have odd names.

use std::io;
use std::process::Stdio;

use crate::harness::{Desk, Said};

/// The end of a pipe whose reader has gone, as after `| head -1`.
fn closed_pipe() -> io::PipeWriter {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    for words in [&["table", "out"][..], &["problems"], &["policies"], &["data"], &["completions", "bash"]] {
        let output = desk.command(words).stdout(closed_pipe()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(Said::from(output).ok().stderr, "", "{words:?}");
    }
}

#[test]
fn a_run_that_nobody_watches_goes_on() {
    let desk = Desk::new();
    let words = "bench --problems linear --trials 5 --steps 60 --out out";
    let mut command = desk.command(words.split(' '));
    let status = command.stdout(closed_pipe()).stderr(closed_pipe()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(desk.rows("out").len(), 10);
    assert!(desk.path("out/summary.md").exists());
    let status = desk.command(["bench", "--problems", "nope"]).stderr(closed_pipe()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

/// /dev/full takes no byte, as a full disk.
#[cfg(target_os = "linux")]
#[test]
fn an_output_that_is_full_is_an_error() {
    let desk = Desk::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = desk.command(["problems"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    let said = Said::from(output);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.starts_with("error: cannot write to standard output: "), "{}", said.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_need_not_be_unicode() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::new();
    let out = OsStr::from_bytes(b"out-\xFF");
    let words = ["bench", "--problems", "linear", "--trials", "1", "--steps", "5", "--out"].map(OsStr::new);
    desk.locus(words.into_iter().chain([out])).ok();
    desk.locus([OsStr::new("table"), out]).ok();
}
