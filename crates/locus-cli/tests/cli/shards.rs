//! `locus bench --shard` and `--only`: parts of a run in folders of their own.

use std::collections::BTreeMap;

use crate::harness::{Desk, id};

const WORDS: &str = "--problems linear,wheel";

#[test]
fn shards_have_the_rows_and_curves_of_one_run() {
    let desk = Desk::new();
    desk.tiny_bench(&format!("{WORDS} --out whole")).ok();
    let mut together = BTreeMap::new();
    for number in 1..=3 {
        let said = desk.tiny_bench(&format!("{WORDS} --shard {number}/3")).ok();
        let n_own = if number < 3 { 3 } else { 2 };
        let expected = format!(
            "shard {number}/3: {n_own} of 8 trials of 60 steps: 2 problems × 2 policies × 2 trials each\n"
        );
        assert!(said.stderr.contains(&expected), "{}", said.stderr);
        let out = format!("runs/linear+wheel-steps-60-shard-{number}-of-3");
        assert!(said.stdout.contains(&format!("in {out}: ")), "{}", said.stdout);
        let status = desk.locus(["status", &out]).ok().stdout;
        assert!(status.contains(&format!("{n_own} of {n_own} trials done; ")), "{status}");
        assert!(status.contains("nothing left to run"), "{status}");
        assert!(!desk.read(&format!("{out}/report.html")).contains("Unfinished:"));
        assert!(desk.read(&format!("{out}/run.json")).contains(&format!("\"shard\": \"{number}/3\"")));
        let dry = desk.tiny_bench(&format!("{WORDS} --shard {number}/3 --dry-run")).ok().stdout;
        assert!(dry.ends_with(&format!("\n{n_own} done, nothing left to run\n")), "{dry}");
        together.extend(desk.results(&out));
    }
    assert!(together == desk.results("whole"));
}

#[test]
fn a_single_trial() {
    let desk = Desk::new();
    desk.tiny_bench(&format!("{WORDS} --out whole")).ok();
    let said = desk.tiny_bench(&format!("{WORDS} --only wheel lin-full-post 1")).ok();
    assert!(said.stderr.contains("only some trials: 1 of 8 trials of 60 steps: "), "{}", said.stderr);
    let out = "runs/linear+wheel-steps-60-only-wheel-lin-full-post-1";
    let (found, whole) = (desk.results(out), desk.results("whole"));
    let only = id("lin-full-post", "wheel", 1);
    assert_eq!(found.len(), 1);
    assert!(found[&only] == whole[&only]);
    let status = desk.locus(["status", out]).ok().stdout;
    assert!(status.contains("1 of 1 trial done; ") && !status.contains("linear\n"), "{status}");
}

#[test]
fn parts_that_make_no_sense_are_refused() {
    let desk = Desk::new();
    let refused = |words: &str, expected: &[&str]| {
        desk.tiny_bench(&format!("{WORDS} {words}")).refused(expected);
        assert!(!desk.path("runs").exists(), "something was written");
    };
    refused("--shard 3", &["'3'", "--shard <I/N>", "expected i/n, for example 3/64"]);
    refused("--shard 0/3", &["'0/3'", "shards are numbered from 1 to 3"]);
    refused("--shard 4/3", &["'4/3'", "shards are numbered from 1 to 3"]);
    refused("--shard 1/9", &["9 shards of 8 trials", "expected at most 8"]);
    refused("--shard 1/2 --only wheel uniform 0", &["--shard", "--only", "cannot be used with"]);
    refused("--only wheel uniform", &["--only <PROBLEM> <POLICY> <N>"]);
    refused("--only wheel uniform x", &["--only wheel uniform x: expected the number of a trial"]);
    refused("--only wheel unifrom 0", &["no policy is called `unifrom` (did you mean `uniform`?)"]);
    refused(
        "--only adult uniform 0",
        &["no trial `uniform on adult, trial 0`: the problems are linear, wheel"],
    );
    refused(
        "--only wheel bbb 0",
        &["no trial `bbb on wheel, trial 0`: the policies are uniform, lin-full-post"],
    );
    refused("--only wheel uniform 2", &["no trial `uniform on wheel, trial 2`: its trials are 0 to 1"]);
}
