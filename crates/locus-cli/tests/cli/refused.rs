//! Words that are refused: exit code 2, and a message that says what was found, what was expected, what to do.

use std::fs;

use crate::harness::{Desk, TINY};

/// `locus bench` with these words is refused, and nothing is written.
#[track_caller]
fn refused(words: &[&str], expected: &[&str]) {
    let desk = Desk::new();
    desk.locus(["bench"].iter().chain(words)).refused(expected);
    assert_eq!(fs::read_dir(desk.path("")).unwrap().count(), 0, "something was written");
}

#[test]
fn names_that_nothing_has() {
    refused(
        &["--problems", "linear,whel"],
        &["no problem is called `whel` (did you mean `wheel`?); there are mushroom,", "sparse-linear"],
    );
    refused(&["--policies", "lin"], &["no policy is called `lin`", "lin-full-post"]);
    refused(&["--policies", "lin-full-post@mine"], &["`lin-full-post` has no preset `mine`", "benchmark"]);
    refused(
        &["--policies", "lu-gaus"],
        &["no policy is called `lu-gaus` (did you mean `lu-gauss`?); there are "],
    );
    refused(&["--policies", "lu-gauss@papr"], &["no preset `papr` (did you mean `paper`?)"]);
    refused(
        &["--suite", "papers"],
        &[
            "no suite is called `papers`",
            "file (did you mean `paper`?); expected quick, paper or a TOML file",
        ],
    );
    refused(&["--suite", "mine.toml"], &["`mine.toml`, and there is no such file"]);
}

#[test]
fn settings_that_make_no_sense() {
    refused(
        &["--policies", "lin-full-post[lambda=1]"],
        &["`lin-full-post` has no setting `lambda`", "prior_precision, prior_shape, prior_rate"],
    );
    refused(
        &["--policies", "lin-full-post[prior_shap=1]"],
        &["no setting `prior_shap` (did you mean `prior_shape`?)"],
    );
    refused(
        &["--policies", "lin-full-post[prior_precision=0]"],
        &["`prior_precision` is `0`, expected a number from 1e-12 to 1e12"],
    );
    refused(
        &["--policies", "lin-full-post[initial_pulls=1.5]"],
        &["`initial_pulls` is `1.5`, expected a whole number from 0 to 1000"],
    );
    refused(&["--policies", "lin-full-post[prior_shape=1"], &["policy `lin-full-post[prior_shape=1`: "]);
    refused(&["--policies", ""], &["`locus policies`"]);
}

#[test]
fn numbers_that_make_no_sense() {
    for what in ["trials", "steps", "jobs"] {
        let flag = format!("--{what}");
        refused(&[&flag, "0"], &[&format!("`{what}` is 0, expected at least 1")]);
        refused(&[&flag, "many"], &["'many'", &flag]);
        refused(&[&flag, "-1"], &["-1"]);
    }
    refused(
        &["--trials", "100000000", "--dry-run"],
        &["600000000 trials, expected at most 1000000 in one run"],
    );
    refused(&["--seed", "1.5"], &["'1.5'", "--seed"]);
    refused(&["--step", "60"], &["'--step'", "'--steps'"]);
}

#[test]
fn a_suite_file_that_is_broken_is_refused_with_its_line() {
    let good = "problems = [\"linear\"]\npolicies = [\"uniform\"]\ntrials = 1\nsteps = 5\n";
    let cases: [(&str, &str, &[&str]); 7] = [
        ("[\"linear\"]", "[\"linear\"", &["line 2: "]),
        ("steps = 5", "steps = many", &["line 4: "]),
        ("trials = 1", "trials = \"one\"", &["line 3: `trials`", "\"one\""]),
        ("trials = 1", "trials = 0", &["line 3: `trials` is 0, expected at least 1"]),
        ("steps = 5", "step = 5", &["line 4: ", "`step`", "`steps`"]),
        ("\"uniform\"", "\"unifrom\"", &["line 2: `policies`: no policy is called `unifrom`"]),
        ("[\"linear\"]", "[]", &["there is no problem", "[[csv]]"]),
    ];
    for (from, to, expected) in cases {
        let desk = Desk::new();
        desk.write("mine.toml", good.replace(from, to));
        let all: Vec<&str> = ["suite `mine.toml`, "].iter().chain(expected).copied().collect();
        desk.locus(["bench", "--suite", "mine.toml"]).refused(&all);
        assert!(!desk.path("runs").exists());
    }
}

#[test]
fn a_suite_names_its_problems_as_the_command_line_does() {
    let desk = Desk::new();
    desk.write("mine.toml", "problems = [\"lineal\"]\npolicies = [\"uniform\"]\ntrials = 1\nsteps = 5\n");
    desk.locus(["bench", "--suite", "mine.toml"]).refused(&["no problem is called `lineal`"]);
}

#[test]
fn a_folder_that_is_no_record_is_refused() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    let run = desk.read("out/run.json");
    desk.write("out/run.json", &run[..run.len() / 2]);
    desk.tiny_bench("--problems linear --out out").refused(&["out/run.json`: not the record of a run"]);
    fs::remove_file(desk.path("out/run.json")).unwrap();
    desk.tiny_bench("--problems linear --out out").refused(&["out/run.json`: missing, but trials exist"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_a_failure_to_write() {
    let desk = Desk::new();
    desk.write("file", "");
    let said = desk.tiny_bench("--problems linear --out file/out");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.starts_with("error: cannot create the folder `file/out`: "), "{}", said.stderr);
    assert_eq!(said.stdout, "");
}

#[test]
fn words_come_before_the_command_is_understood() {
    let desk = Desk::new();
    let said = desk.locus::<&str>([]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
    assert!(said.stderr.contains("Usage: locus <COMMAND>") && said.stderr.contains("Examples:"));
    desk.locus(["benhc"].iter().chain(&TINY)).refused(&["'benhc'", "'bench'"]);
    desk.locus(["table"]).refused(&["<OUT>"]);
    desk.locus(["table", "out", "--metric", "regret"]).refused(&["'regret'", "cumulative, simple, runtime"]);
    desk.locus(["table", "out", "--format", "pdf"]).refused(&["'pdf'", "text, markdown, csv, latex"]);
}
