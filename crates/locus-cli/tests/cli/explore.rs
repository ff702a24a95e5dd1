//! `locus explore`.

use std::fs;

use crate::harness::{Desk, id};

/// A net that trains in milliseconds.
const SMALL: &str =
    "lu-gauss[encoder_layers=8,decoder_layers=8,latent_dim=3,minibatches=5,batch_size=32,learning_rate=0.01]";

/// Ten sorts of mushrooms that their second column tells apart. The last two are poisonous, but for that column like the
/// others, so that policies first take them for edible.
fn mushrooms() -> String {
    let rest = ",s".repeat(21);
    ('a'..='j').map(|sort| format!("{},{sort}{rest}\n", if sort < 'i' { "e" } else { "p" })).collect()
}

fn desk_with_mushrooms() -> Desk {
    let desk = Desk::new();
    desk.write("data/mushroom.data", mushrooms());
    desk
}

#[test]
fn a_look_into_posteriors_is_shown_and_written() {
    let desk = desk_with_mushrooms();
    let policies = format!("lin-full-post,{SMALL}");
    let words =
        ["explore", "mushroom", "--data", "data", "--policies", &policies, "--steps", "200", "--trial", "1"];
    let said = desk.locus(words.iter().chain(&["--draws", "100", "--out", "out"])).ok();
    for part in [
        "mushroom, trial 1 of seed 0, 200 steps, looked at every 20",
        ", for which Not eat is best, the one that all policies first misjudged the most\n",
        "the followed context after step 200, 100 draws\n",
        "all 2 contexts for which Not eat is best after step 200, one draw each\n",
        "contexts with several",
        "that all misjudged at first",
        "in out/explore: 1-single and 2-many as .svg, statistics.csv",
    ] {
        assert!(said.stdout.contains(part), "expected {part:?} in {}", said.stdout);
    }
    for part in ["[1/2] ", "[2/2] ", "lin-full-post on mushroom, trial 1: regret "] {
        assert!(said.stderr.contains(part), "expected {part:?} in {}", said.stderr);
    }
    assert!(!said.stdout.contains("locus report"), "there is no run to report on: {}", said.stdout);
    let svg = desk.read("out/explore/1-single.svg");
    for part in [">lin-full-post: Not eat<", ">lin-full-post: Eat<", ">step<", ">drawn mean reward<"] {
        assert!(svg.contains(part), "{part}");
    }
    assert!(desk.read("out/explore/statistics.csv").starts_with("figure,policy,action,step,draws,mean,sd,"));
    assert!(
        desk.read("out/explore/histograms.csv").starts_with("figure,policy,action,step,low,high,draws\n")
    );
    assert!(said.stdout.starts_with(&desk.read("out/explore/summary.txt")));
}

/// Looking changes nothing: the regret is that of the benchmark's trial, and threads do not matter.
#[test]
fn the_trial_is_that_of_the_benchmark() {
    let desk = Desk::new();
    let policies = format!("lin-full-post,{SMALL}");
    let bench = [
        "bench",
        "--problems",
        "wheel",
        "--policies",
        &policies,
        "--trials",
        "2",
        "--steps",
        "100",
        "--out",
        "out",
    ];
    desk.locus(bench).ok();
    let mut summaries = Vec::new();
    for (jobs, out) in [("1", "out"), ("2", "other")] {
        let words = ["explore", "wheel", "--policies", &policies, "--steps", "100", "--trial", "1"];
        let more = ["--draws", "40", "--jobs", jobs, "--out", out];
        let said = desk.locus(words.iter().chain(&more)).ok();
        assert_eq!(said.stdout.contains("`locus report out` shows it\n"), out == "out", "{}", said.stdout);
        summaries.push(desk.read(&format!("{out}/explore/summary.txt")));
        for name in ["1-single.svg", "2-many.svg", "statistics.csv", "histograms.csv"] {
            let path = |folder: &str| desk.path(&format!("{folder}/explore/{name}"));
            assert!(fs::read(path("out")).unwrap() == fs::read(path(out)).unwrap(), "{name}");
        }
        let json = desk.read(&format!("{out}/explore/explore.json"));
        let rows = desk.rows("out");
        for policy in locus::Registry::standard().parse_list(&policies).unwrap() {
            let row = rows.iter().find(|row| row.id == id(&policy.to_string(), "wheel", 1)).unwrap();
            let regret = row.outcome.as_ref().unwrap().cumulative_regret;
            assert!(json.contains(&format!("\"cumulative_regret\": {regret:?}")), "{regret} in {json}");
        }
    }
    assert_eq!(summaries[0], summaries[1]);

    // The report of the run shows it, with words.
    desk.locus(["report", "out"]).ok();
    let page = desk.read("out/report.html");
    let single = page.find("wheel: posterior samples for one context (round 0)").unwrap();
    let many = page.find("contexts for which action").unwrap();
    assert!(single < page.rfind("(2-many.svg)").unwrap() && many > 0);
    assert!(page.contains("(1-single.svg). Histograms over the steps of one trial: "));
    assert!(page.contains("<pre tabindex=\"0\">wheel, trial 1 of seed 0, 100 steps"));
}

#[test]
fn own_data_can_be_looked_into() {
    let desk = Desk::new();
    let rows: String = (0..60).map(|row| format!("{},{}\n", row % 7, ["red", "blue"][row % 2])).collect();
    desk.write("mine.csv", format!("size,color\n{rows}"));
    let words =
        "explore --csv mine.csv --label color --policies lin-full-post --steps 60 --draws 20 --context 7";
    let said = desk.locus(words.split(' ')).ok();
    assert!(said.stdout.contains("followed: the context of round 7"), "{}", said.stdout);
    assert!(
        said.stdout.contains("action 0 (blue)") && said.stdout.contains("action 1 (red)"),
        "{}",
        said.stdout
    );
    assert!(desk.path("runs/explore-mine-steps-60-context-7/explore/1-single.svg").exists());
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_written() {
    let desk = desk_with_mushrooms();
    let refused = |words: &str, expected: &[&str]| {
        desk.locus(["explore"].into_iter().chain(words.split_whitespace())).refused(expected);
        assert!(!desk.path("runs").exists(), "something was written");
    };
    refused("", &["<PROBLEM|--csv <FILE>|--npz <FILE>>"]);
    refused(
        "mushrooms",
        &["no problem is called `mushrooms` (did you mean `mushroom`?); there are mushroom,"],
    );
    refused("mushroom", &["missing file: mushroom.data (for mushroom)", "--data DIR, or set LOCUS_DATA"]);
    refused("wheel --npz mine.npz", &["cannot be used with"]);
    refused("--csv mine.csv", &["--label <COLUMN>"]);
    let quick = "wheel --steps 50 --policies lin-full-post";
    refused(&format!("{quick} --draws 0"), &["`draws` is 0, expected at least 1"]);
    refused(&format!("{quick} --every 0"), &["`every` is 0, expected at least 1"]);
    refused(&format!("{quick} --jobs 0"), &["`jobs` is 0, expected at least 1"]);
    refused("wheel --steps 0", &["`steps` is 0, expected at least 1"]);
    refused(&format!("{quick} --context 50"), &["there is no context 50", "from 0 to 49"]);
    refused(&format!("{quick} --context -1"), &["-1"]);
    refused("wheel --policies uniform", &["`uniform` has no reward model to sample from"]);
    refused("wheel --policies lin", &["no policy is called `lin`"]);
    refused("wheel --policies=", &["`locus policies`"]);
    refused(&format!("{quick} --draws 100000000000"), &["expected at most 50000000"]);
    let none = "mushroom --data data --policies lin-full-post --steps 2000 --every 2000";
    refused(none, &["no context with the best action Not eat is misjudged by all policies", "--context"]);
}

#[test]
fn another_exploration_is_not_overwritten() {
    let desk = Desk::new();
    let words = "explore wheel --policies lin-full-post --steps 40 --out out --draws";
    let draws = |number: &'static str| desk.locus(words.split(' ').chain([number]));
    draws("10").ok();
    let before = desk.read("out/explore/statistics.csv");
    draws("11").refused(&["`out/explore` holds an exploration with draws 10, but 11 was requested", "--out"]);
    assert_eq!(desk.read("out/explore/statistics.csv"), before);
    draws("10").ok();
    assert_eq!(desk.read("out/explore/statistics.csv"), before);
    desk.write("file", "");
    let said = desk.locus("explore wheel --policies lin-full-post --steps 40 --out file/out".split(' '));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.stderr.contains("error: cannot read `file/out/run.json`: Not a directory"),
        "{}",
        said.stderr
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it_and_nothing_is_written() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    let desk = Desk::new();
    // Minutes of work, if it were left alone.
    let words = "explore linear --policies lu-gauss --steps 100000 --every 10000 --draws 10 --out out";
    let mut command = desk.command(words.split(' '));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("playing the first steps"), "{line}");
    let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(kill.success());
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("interrupted: nothing was written\n"), "{rest}");
    assert!(!desk.path("out").exists());
}
