//! Runs that are killed, stopped, torn, or not alone.
#![cfg(unix)]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::harness::{Desk, Said, wait_for_first_row};

/// Hundreds of trials, about a second of work: time enough to be caught in the middle.
const LONG: &str = "bench --problems linear --policies lin-full-post --trials 150 --steps 2000 --jobs 2";
const N_TRIALS: usize = 300;

fn start(desk: &Desk, words: &str) -> Child {
    let words = format!("{words} --out out");
    let mut command = desk.command(words.split_whitespace());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_for_first_row(&mut child, &desk.path("out"));
    child
}

/// Goes on in `out`, where a run was cut short, and compares the end with a run that was not.
fn goes_on_as_if_nothing_had_happened(desk: &Desk) {
    let n_done = desk.rows("out").len();
    assert!((1..N_TRIALS).contains(&n_done), "{n_done} trials were done: not cut short");
    let said = desk.locus(format!("{LONG} --out out").split_whitespace()).ok();
    let expected = format!("{} ran, {n_done} done before, 0 failed\n", trials(N_TRIALS - n_done));
    assert!(said.stdout.contains(&expected), "expected {expected}, found {}", said.stdout);
    desk.locus(format!("{LONG} --out whole").split_whitespace()).ok();
    let (out, whole) = (desk.results("out"), desk.results("whole"));
    assert_eq!(out.len(), N_TRIALS);
    assert!(out == whole, "a run that was cut short came to another end");
    let is_left_over = |entry: fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".tmp");
    let left_over = fs::read_dir(desk.path("out/curves")).unwrap().any(|entry| is_left_over(entry.unwrap()));
    assert!(!left_over, "half-written curves stayed behind");
}

fn trials(number: usize) -> String {
    format!("{number} trial{}", if number == 1 { "" } else { "s" })
}

#[test]
fn a_killed_run_goes_on() {
    let desk = Desk::new();
    let mut child = start(&desk, LONG);
    child.kill().unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!((said.code, said.stdout.as_str()), (None, ""), "killed, without a word");
    goes_on_as_if_nothing_had_happened(&desk);
}

#[test]
fn ctrl_c_ends_a_run_cleanly() {
    let desk = Desk::new();
    let child = start(&desk, LONG);
    let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(kill.success());
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(
        said.stderr.contains("interrupted: stopping; finished trials are kept, running ones are discarded\n"),
        "{}",
        said.stderr
    );
    // At least one trial of the first policy was done.
    assert!(said.stdout.contains("uniform") && said.stdout.contains("over all problems"), "{}", said.stdout);
    // How many were running depends on the moment, but never more than there are jobs.
    let is_said = |discarded: &str| {
        said.stdout
            .contains(&format!("interrupted: {discarded} discarded; the same command resumes the run\n"))
    };
    assert!(
        ["0 running trials were", "1 running trial was", "2 running trials were"].into_iter().any(is_said),
        "{}",
        said.stdout
    );
    let n_done = desk.rows("out").len();
    assert!(said.stdout.contains(&format!("{} ran, 0 done before, 0 failed\n", trials(n_done))));
    goes_on_as_if_nothing_had_happened(&desk);
}

#[test]
fn two_processes_do_not_share_a_folder() {
    let desk = Desk::new();
    // Never waited for to its end, so it may be longer still.
    let longer = LONG.replace("--trials 150", "--trials 5000");
    let mut first = start(&desk, &longer);
    let second = desk.locus(format!("{LONG} --out out").split_whitespace());
    assert!(first.try_wait().unwrap().is_none(), "the first has ended, which proves nothing");
    // Reading is free.
    desk.locus(["table", "out"]).ok();
    let dry = desk.locus(format!("{LONG} --out out --dry-run").split_whitespace()).ok();
    assert!(dry.stdout.starts_with("300 trials of 2000 steps: "), "{}", dry.stdout);
    first.kill().unwrap();
    first.wait().unwrap();
    second.refused(&["another process is running trials in `out`", "--out"]);
    // The dead hold no lock.
    let tiny = "bench --problems linear --policies lin-full-post --trials 1 --steps 2000 --out out";
    desk.locus(tiny.split_whitespace()).ok();
}

#[test]
fn a_torn_last_line_is_ignored_and_mended() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out --jobs 1").ok();
    desk.tiny_bench("--problems linear --out whole --jobs 1").ok();
    let whole = desk.read("out/trials.csv");
    let last = whole.trim_end().rfind('\n').unwrap() + 1;
    for n_left in [last + 1, last + 30, whole.len() - 1] {
        desk.write("out/trials.csv", &whole[..n_left]);
        let table = desk.locus(["table", "out"]).ok();
        assert!(table.stdout.contains("uniform"), "{}", table.stdout);
        let said = desk.tiny_bench("--problems linear --out out").ok();
        assert!(said.stdout.contains("1 trial ran, 3 done before, 0 failed\n"), "{}", said.stdout);
        let warning = "warning: an earlier run ended while it wrote its last row; that trial runs again\n";
        assert!(said.stderr.contains(warning), "{}", said.stderr);
        assert!(desk.read("out/trials.csv").starts_with(&whole[..last]));
        assert!(desk.results("out") == desk.results("whole"));
    }
}

#[test]
fn a_damaged_line_within_stops_a_run_and_not_a_table() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    let whole = desk.locus(["table", "out"]).ok();
    assert_eq!(whole.stderr, "");
    let path = desk.path("out/trials.csv");
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(b"linear,what\nlinear,uni").unwrap();
    let expected = ["trials.csv`, line 6: found 2 fields, expected 13", "delete it"];
    desk.tiny_bench("--problems linear --out out").refused(&expected);
    let around = desk.locus(["table", "out"]).ok();
    assert_eq!(around.stdout, whole.stdout);
    assert!(around.stderr.starts_with("warning: "), "{}", around.stderr);
    assert!(expected.iter().all(|part| around.stderr.contains(part)), "{}", around.stderr);
}
