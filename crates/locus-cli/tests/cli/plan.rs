//! `locus plan`: shards that take about as long each, and what a simulation says of them.

use crate::harness::Desk;

const WORDS: &str = "--problems linear,wheel --policies lin-full-post,lin-ucb --trials 4 --steps 60";

fn words<'a>(command: &'a str, rest: &'a str) -> Vec<&'a str> {
    [command].into_iter().chain(WORDS.split(' ')).chain(rest.split_whitespace()).collect()
}

#[test]
fn planned_shards_together_are_the_run_of_one_machine() {
    let desk = Desk::new();
    desk.locus(words("bench", "--out whole")).ok();
    let said = desk.locus(words("plan", "--shards 3 --pace whole --simulate 2")).ok();
    assert!(said.stdout.starts_with("24 trials in 3 shards of "), "{}", said.stdout);
    assert!(
        said.stdout.contains("in all; recorded: 6 of 6 policies on problems\nefficiency "),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains(": a node for each shard\n"), "{}", said.stdout);
    assert!(
        said.stdout.contains(": a queue of the shards on 2 nodes, seconds drawn from recorded trials\n"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.ends_with("`locus bench … --shard 1/3 --plan plan.json`\n"), "{}", said.stdout);
    // A line for each shard.
    assert_eq!(desk.read("plan.json").lines().filter(|line| line.contains("\"seconds\":")).count(), 3);
    let mut n_together = 0;
    for number in 1..=3 {
        let said = desk.locus(words("bench", &format!("--shard {number}/3 --plan plan.json"))).ok();
        let out = format!("runs/linear+wheel-steps-60-planned-shard-{number}-of-3");
        let n_own = desk.rows(&out).len();
        let expected = format!(
            "shard {number}/3: {n_own} of 24 trials of 60 steps: 2 problems × 3 policies × 4 trials each\n"
        );
        assert!(said.stderr.contains(&expected), "{}", said.stderr);
        let status = desk.locus(["status", &out]).ok().stdout;
        assert!(status.contains(&format!("{n_own} of {n_own} trial")), "{status}");
        n_together += n_own;
    }
    assert_eq!(n_together, 24);
    let shards = [1, 2, 3].map(|number| format!("runs/linear+wheel-steps-60-planned-shard-{number}-of-3"));
    let said = desk.locus(["merge", "out", &shards[0], &shards[2]]).ok();
    assert!(said.stdout.contains("not among the merged folders: shard 2 of 3\n"), "{}", said.stdout);
    let said = desk.locus(["merge", "out", &shards[1]]).ok();
    assert!(said.stdout.contains("24 of 24 trials done; nothing is missing\n`"), "{}", said.stdout);
    assert!(desk.results("out") == desk.results("whole"));
    // The same plan again is the same file; another plan does not replace it.
    let before = desk.read("plan.json");
    desk.locus(words("plan", "--shards 3 --pace whole")).ok();
    assert_eq!(desk.read("plan.json"), before);
    desk.locus(words("plan", "--shards 4 --pace whole")).refused(&["`plan.json` already exists; delete it"]);
    desk.locus(words("plan", "--shards 4 --output four.json")).ok();
    assert_eq!(desk.read("plan.json"), before);
}

#[test]
fn a_plan_of_other_arguments_is_refused() {
    let desk = Desk::new();
    desk.locus(words("plan", "--shards 3")).ok();
    let refused = |rest: &str, expected: &str| {
        let words = format!("bench --steps 60 --plan plan.json {rest}");
        desk.locus(words.split_whitespace()).refused(&[expected]);
        assert!(!desk.path("runs").exists());
    };
    let same = "--problems linear,wheel --policies lin-full-post,lin-ucb --trials 4 --shard 1/3";
    for (from, to, expected) in [
        (
            "--trials 4",
            "--trials 5",
            "the plan was made for trials 4, but 5 was requested; use the arguments of the plan",
        ),
        (
            "linear,wheel",
            "wheel,linear",
            "the plan was made for problems linear, wheel, but wheel, linear was requested",
        ),
        (
            ",lin-ucb",
            "",
            "for policies uniform, lin-full-post, lin-ucb, but uniform, lin-full-post was requested",
        ),
        ("1/3", "1/4", "for number of shards 3, but 4 was requested"),
        ("--shard", "--seed 4 --shard", "for seed 0, but 4 was requested"),
        ("--shard", "--first-trial 4 --shard", "for first trial 0, but 4 was requested"),
        ("--shard", "--propensities --shard", "for propensities off, but on was requested"),
        ("--shard 1/3", "", "--shard <I/N>"),
        ("plan.json", "plan.json", "--shard <I/N>"),
    ] {
        if from == to {
            desk.locus(["bench", "--plan", "plan.json"]).refused(&[expected]);
        } else {
            refused(&same.replacen(from, to, 1), expected);
        }
    }
    let longer = format!("bench {same} --steps 61 --plan plan.json");
    desk.locus(longer.split_whitespace()).refused(&["for steps 60, but 61 was requested"]);
    let whole = desk.read("plan.json");
    for (text, expected) in [
        (whole[..whole.len() / 2].to_owned(), "plan.json: not the record of a plan: "),
        (whole.replace("\"format\": 1", "\"format\": 2"), "written in format 2, but this version"),
        (whole.replacen("\"numbers\":[[0,", "\"numbers\":[[1,", 1), "the plan is damaged: "),
        (whole.replacen("\"trials\": 4", "\"trails\": 4", 1), "plan.json: not the record of a plan: "),
    ] {
        desk.write("plan.json", text);
        refused(same, expected);
    }
    std::fs::remove_file(desk.path("plan.json")).unwrap();
    refused(same, "cannot read plan.json: ");
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let desk = Desk::new();
    let refused = |rest: &str, expected: &[&str]| {
        desk.locus(words("plan", rest)).refused(expected);
        assert!(!desk.path("plan.json").exists());
    };
    refused("", &["--shards <N>"]);
    refused("--shards 0", &["the number of shards is 0, expected at least 1"]);
    refused("--shards 25", &["25 shards of 24 trials", "expected at most 24"]);
    refused("--shards 3 --pace nowhere", &["there is no folder `nowhere`"]);
    refused("--shards 3 --simulate 0", &["0 nodes", "expected at least 1 node"]);
    refused("--shards 3 --simulate 2 --failing 1", &["expected at least 1 node, and that not all fail"]);
    refused("--shards 3 --failing 0.1", &["--simulate <NODES>"]);
}
