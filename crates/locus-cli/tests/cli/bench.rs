//! `locus bench`: what it says, what it writes, and what it does the second time.

use std::fs;

use locus_bench::record::{Measured, read_run};

use crate::harness::{Desk, id};

const HEADER: &str = "problem,policy,trial,seed,steps,cumulative_regret,simple_regret,seconds_choosing,seconds_learning,cpu_seconds,interventions,version,error";

#[test]
fn a_first_run_ends_with_a_table_and_files() {
    let desk = Desk::new();
    let said = desk.tiny_bench("--problems linear,wheel --out out").ok();
    for expected in [
        "linear\n",
        "wheel\n",
        "over all problems",
        "lin-full-post",
        "8 trials ran, 0 done before, 0 failed",
        " failed\nwall-clock seconds of all trials in this folder: ",
        "in out: trials.csv",
    ] {
        assert!(said.stdout.contains(expected), "{}", said.stdout);
    }
    // A line for each trial, since standard error is no terminal here.
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert_eq!(lines.len(), 9, "{}", said.stderr);
    assert_eq!(lines[0], "8 trials of 60 steps: 2 problems × 2 policies × 2 trials each");
    for (index, line) in lines[1..].iter().enumerate() {
        assert!(line.starts_with(&format!("[{}/8] ", index + 1)) && line.contains(": regret "), "{line}");
    }

    let trials = desk.read("out/trials.csv");
    assert_eq!(trials.lines().next(), Some(HEADER));
    assert!(trials.ends_with(&format!(",0,{},\n", locus::BUILD)), "{trials}");
    let rows = desk.rows("out");
    assert_eq!(rows.len(), 8);
    for row in &rows {
        assert_eq!((row.seed, row.steps, row.version.as_str()), (0, 60, locus::BUILD));
        let Measured { cumulative_regret, simple_regret, .. } = *row.outcome.as_ref().unwrap();
        let regrets = desk.regrets("out", &row.id);
        assert_eq!(regrets.len(), 60);
        assert_eq!(regrets.iter().sum::<f64>(), cumulative_regret);
        assert_eq!(regrets[45..].iter().sum::<f64>() / 15.0, simple_regret);
        let actions = desk.actions("out", &row.id);
        let n_actions = if row.id.problem == "wheel" { 5 } else { 8 };
        assert!(actions.len() == 60 && actions.iter().all(|action| *action < n_actions), "{actions:?}");
        if row.id.policy == "lin-full-post" {
            let pulls: Vec<u32> = (0..2 * n_actions).map(|step| step % n_actions).collect();
            assert_eq!(actions[..pulls.len()], pulls, "every action first, twice, round robin");
        }
    }
    assert_eq!(fs::read_dir(desk.path("out/curves")).unwrap().count(), 16);

    let run = read_run(&desk.path("out")).unwrap().unwrap();
    assert_eq!((run.seed, run.steps, run.problems.len()), (0, 60, 2));
    assert_eq!(run.policies[1].policy, "lin-full-post");
    assert!(run.policies[1].settings.contains("prior_precision=0.25"), "{}", run.policies[1].settings);
    let session = &run.sessions[0];
    assert_eq!(session.version, locus::BUILD);
    assert_eq!(session.machine.os, std::env::consts::OS);
    assert_eq!(session.command[1..4], ["bench", "--problems", "linear,wheel"]);

    let summary = desk.read("out/summary.md");
    for title in ["Normalized cumulative regret", "Normalized simple regret", "Seconds per trial"] {
        assert!(summary.contains(&format!("## {title}\n")), "{summary}");
    }
    assert!(summary.contains("## Seconds of all trials\n\n"), "{summary}");
}

#[test]
fn the_same_command_again_runs_nothing() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    let before = desk.read("out/trials.csv");
    let said = desk.tiny_bench("--problems linear --out out").ok();
    assert!(said.stdout.contains("nothing left to run: 4 trials done before\n"), "{}", said.stdout);
    assert!(said.stdout.contains("lin-full-post"), "the table is shown again: {}", said.stdout);
    assert_eq!(said.stderr, "4 trials of 60 steps: 1 problem × 2 policies × 2 trials each\n");
    assert_eq!(desk.read("out/trials.csv"), before);
}

#[test]
fn trials_policies_and_problems_can_be_added() {
    let desk = Desk::new();
    let bench = |words: &str| {
        let words = format!("bench --steps 60 --out out {words}");
        desk.locus(words.split_whitespace()).ok().stdout
    };
    let policies = "--policies uniform,lin-full-post,lin-full-post[prior_precision=1]";
    for (words, ran, skipped) in [
        ("--problems linear --trials 1 --policies uniform".to_owned(), "1 trial", 0),
        ("--problems linear --trials 3 --policies uniform".to_owned(), "2 trials", 1),
        ("--problems linear --trials 3".to_owned(), "3 trials", 3),
        (format!("--problems linear --trials 3 {policies}"), "3 trials", 6),
        (format!("--problems linear,wheel --trials 3 {policies}"), "9 trials", 9),
    ] {
        let before = desk.read_if_there("out/trials.csv");
        let stdout = bench(&words);
        let expected = format!("{ran} ran, {skipped} done before, 0 failed\n");
        assert!(stdout.contains(&expected), "{words}: expected {expected}, found {stdout}");
        assert!(desk.read("out/trials.csv").starts_with(&before), "what was recorded stays as it was");
    }
    let all = desk.rows("out");
    assert_eq!(all.len(), 18);
    assert!(all.iter().any(|row| row.id == id("lin-full-post[prior_precision=1]", "wheel", 2)));
    // The table at the end is of what was asked for; the folder and its summary hold everything.
    let stdout = bench("--problems wheel --trials 1 --policies uniform");
    assert!(stdout.contains("nothing left to run: 1 trial done before\n"), "{stdout}");
    assert!(
        stdout.contains("\nwheel\n") && !stdout.contains("linear\n") && !stdout.contains("lin-full-post")
    );
    assert!(stdout.contains("`locus table out` shows all trials of this folder\n"), "{stdout}");
    let stdout = bench(&format!("--problems wheel --trials 1 {policies}"));
    assert!(stdout.contains("prior_precision=1") && !stdout.contains("linear\n"), "{stdout}");
    let stdout = bench(&format!("--problems wheel,linear --trials 1 {policies}"));
    assert!(!stdout.contains("shows all trials of this folder"), "{stdout}");
    let summary = desk.read("out/summary.md");
    assert!(summary.contains("| linear |") && summary.contains("prior_precision=1"), "{summary}");
}

#[test]
fn a_folder_is_bound_to_its_seed_and_steps() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out --seed 7").ok();
    let before = desk.read("out/trials.csv");
    let other = desk.tiny_bench("--problems linear --out out --seed 8");
    other.refused(&["`out` holds trials with seed 7, but 8 was requested", "--out", "--seed 7"]);
    let words = "bench --problems linear --out out --seed 7 --trials 2 --steps 61";
    let other = desk.locus(words.split_whitespace());
    other.refused(&["`out` holds trials with steps 60, but 61 was requested", "--out", "--steps 60"]);
    assert_eq!(desk.read("out/trials.csv"), before);
}

/// Where a run went that was told no folder.
#[track_caller]
fn default_out(desk: &Desk, words: &str) -> String {
    let stdout = desk.locus(["bench", "--trials", "1"].into_iter().chain(words.split(' '))).ok().stdout;
    let line = stdout.lines().find_map(|line| line.strip_prefix("in ")).expect("it says where");
    line.split_once(": ").unwrap().0.to_owned()
}

#[test]
fn without_out_the_folder_is_called_by_what_is_run_and_by_seed_and_steps() {
    let desk = Desk::new();
    let table = format!("a,b\n{}", "1,x\n2,y\n".repeat(9));
    for file in ["mine.csv", "other.csv", "quick.csv", "suite-mine.csv", "My Own.csv"] {
        desk.write(file, &table);
    }
    let suite = "problems = [\"linear\"]\npolicies = [\"uniform\"]\ntrials = 1\nsteps = 5\n";
    for file in ["suites/mine.toml", "quick.toml"] {
        desk.write(file, suite);
    }
    for (words, out) in [
        ("--steps 6", "runs/quick-steps-6"),
        ("--steps 6 --policies uniform", "runs/quick-steps-6"),
        ("--steps 6 --seed 3 --problems linear", "runs/linear-steps-6-seed-3"),
        ("--steps 6 --problems linear,wheel", "runs/linear+wheel-steps-6"),
        ("--steps 6 --csv mine.csv --label b", "runs/mine-steps-6"),
        ("--steps 6 --csv mine.csv --label b --csv other.csv --label 1", "runs/mine+other-steps-6"),
        ("--steps 6 --csv mine.csv --label b --problems wheel", "runs/wheel+mine-steps-6"),
        ("--suite suites/mine.toml", "runs/suite-mine"),
        ("--suite quick.toml", "runs/suite-quick"),
        ("--suite suites/mine.toml --problems wheel", "runs/suite-mine+wheel"),
        ("--suite quick --steps 6 --problems wheel --policies uniform", "runs/quick+wheel-steps-6"),
        // Never where a suite goes.
        ("--steps 6 --csv quick.csv --label b", "runs/data-quick-steps-6"),
        ("--steps 6 --csv suite-mine.csv --label b", "runs/data-suite-mine-steps-6"),
    ] {
        assert_eq!(default_out(&desk, words), out, "{words}");
    }
    assert_eq!(desk.rows("runs/linear-steps-6-seed-3")[0].seed, 3);
    // What no file system likes is left out, and a hash tells what was meant.
    let words = ["bench", "--trials", "1", "--steps", "6", "--csv", "My Own.csv", "--label", "b"];
    let stdout = desk.locus(words).ok().stdout;
    assert!(stdout.contains("in runs/My_Own~"), "{stdout}");
}

#[test]
fn a_folder_of_many_problems_has_a_short_name_of_its_own() {
    let desk = Desk::new();
    let name = |place: usize| format!("a-table-with-a-long-name-{place}");
    let words = |n: usize| {
        let tables = (0..n).map(|place| format!("--csv {}.csv --label b", name(place))).collect::<Vec<_>>();
        format!("--steps 6 {}", tables.join(" "))
    };
    for place in 0..5 {
        desk.write(&format!("{}.csv", name(place)), format!("a,b\n{}", "1,x\n2,y\n".repeat(9)));
    }
    let [four, five] = [4, 5].map(|n| default_out(&desk, &words(n)));
    assert_ne!(four, five);
    for out in [four, five] {
        assert!(out.starts_with("runs/a-table-with-a-long-name-0+a-table") && out.len() < 90, "{out}");
    }
}

/// Whoever names problems means trials as long as the paper's, not those of the suite `quick`.
#[test]
fn the_number_of_steps_fits_what_is_asked_for_and_is_printed() {
    let desk = Desk::new();
    for (file, rows) in [("small.csv", 30), ("smaller.csv", 24), ("large.csv", 2002)] {
        desk.write(file, format!("a,b\n{}", "1,x\n2,y\n".repeat(rows / 2)));
    }
    desk.write("mine.toml", "problems = [\"linear\"]\npolicies = [\"uniform\"]\ntrials = 1\nsteps = 7\n");
    let by_default =
        |steps: usize, why: &str| format!("steps: {steps} by default, {why}; --steps changes it\n");
    let from_suite =
        |steps: usize, suite: &str| format!("steps: {steps}, from the suite {suite}; --steps changes it\n");
    for (words, steps, note) in [
        ("", 2000, String::new()),
        ("--suite quick", 2000, String::new()),
        ("--suite mine.toml", 7, String::new()),
        ("--problems wheel", 2000, by_default(2000, "as in the paper")),
        ("--problems wheel --steps 9", 9, String::new()),
        ("--suite quick --problems wheel", 2000, from_suite(2000, "quick")),
        ("--suite mine.toml --problems wheel", 7, from_suite(7, "mine.toml")),
        ("--csv small.csv --label b", 30, by_default(30, "all rows of small")),
        (
            "--csv small.csv --label b --csv smaller.csv --label b --problems wheel",
            24,
            by_default(24, "all rows of smaller"),
        ),
        ("--csv large.csv --label b", 2000, by_default(2000, "as in the paper")),
    ] {
        let words = format!("bench --policies uniform --trials 2 --out out --dry-run {words}");
        let said = desk.locus(words.split_whitespace()).ok();
        let (first, rest) = said.stdout.split_once('\n').unwrap();
        assert!(first.contains(&format!(" trials of {steps} steps: ")), "{words}: {}", said.stdout);
        let (noted, _) = rest.split_at(
            rest.find(" done, ").map_or(0, |place| rest[..place].rfind('\n').map_or(0, |line| line + 1)),
        );
        assert_eq!(noted, note, "{words}: {}", said.stdout);
    }
    // The run itself takes that many, and says so before it starts.
    let words = "bench --policies uniform --trials 1 --csv small.csv --label b --out out";
    let said = desk.locus(words.split_whitespace()).ok();
    let expected = "1 trial of 30 steps: 1 problem × 1 policy × 1 trial each\nsteps: 30 by default, all rows of small; --steps changes it\n[1/1] ";
    assert!(said.stderr.contains(expected), "{}", said.stderr);
    assert_eq!(desk.rows("out")[0].steps, 30);
}

/// A folder of another number of steps is not mixed, whether the steps were named or not.
#[test]
fn a_folder_of_other_steps_is_refused_where_the_default_differs() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    desk.locus(["bench", "--problems", "linear", "--trials", "2", "--out", "out"]).refused(&[
        "`out` holds trials with steps 60, but 2000 was requested",
        "--out",
        "--steps 60",
    ]);
}

#[test]
fn the_suite_quick_needs_no_words() {
    let desk = Desk::new();
    let said = desk.locus(["bench"]).ok();
    assert!(
        said.stderr.starts_with("72 trials of 2000 steps: 3 problems × 2 policies × 12 trials each\n["),
        "{}",
        said.stderr
    );
    assert!(
        said.stdout.contains("72 trials ran") && said.stdout.contains("in runs/quick: "),
        "{}",
        said.stdout
    );
    let said = desk.locus(["bench"]).ok();
    assert!(said.stdout.contains("nothing left to run"), "{}", said.stdout);
}

impl Desk {
    fn read_if_there(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_default()
    }
}
