//! `--dry-run`: how much is left, and nothing is written.

use std::fs;

use crate::failing::{FAILING, REASON};
use crate::harness::Desk;

#[test]
fn a_new_folder_is_not_even_made() {
    let desk = Desk::new();
    let said = desk.tiny_bench("--problems linear --out out --jobs 2 --dry-run").ok();
    let expected = "4 trials of 60 steps: 1 problem × 2 policies × 2 trials each\n\
                    0 done, 4 to run, less than a second with 2 jobs\n";
    assert_eq!(said.stdout, expected);
    assert_eq!(said.stderr, "");
    desk.locus(["bench", "--dry-run"]).ok();
    assert_eq!(fs::read_dir(desk.path("")).unwrap().count(), 0);
}

#[test]
fn what_is_done_is_counted() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    let files = ["out/trials.csv", "out/run.json", "out/summary.md"];
    let before = files.map(|file| desk.read(file));
    let words = "bench --problems linear --trials 5 --steps 60 --out out --jobs 1 --dry-run";
    let said = desk.locus(words.split_whitespace()).ok();
    assert!(said.stdout.ends_with("\n4 done, 6 to run, less than a second with 1 job\n"), "{}", said.stdout);
    let said = desk.tiny_bench("--problems linear --out out --dry-run").ok();
    assert!(said.stdout.ends_with("\n4 done, nothing left to run\n"), "{}", said.stdout);
    assert_eq!(files.map(|file| desk.read(file)), before);
}

#[test]
fn what_cannot_be_tried_out_is_named() {
    let desk = Desk::new();
    let policies = FAILING;
    let said = desk.tiny_bench(&format!("--problems linear --policies {policies} --out out --dry-run")).ok();
    let expected = format!("not in the estimate: {policies} on linear: round 0: {REASON}");
    assert!(said.stdout.contains(&expected), "{}", said.stdout);
}

#[test]
fn a_dry_run_is_refused_where_the_run_would_be() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    desk.tiny_bench("--problems linear --out out --seed 1 --dry-run")
        .refused(&["seed 0, but 1 was requested"]);
}
