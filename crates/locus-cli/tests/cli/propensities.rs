//! `locus bench --propensities`: every decision asks for its exact propensity.

use std::fs;

use locus_bench::record::read_run;

use crate::harness::{Desk, id};

/// The same policies on the same trials, without propensities in `plain` and with them in `with`.
fn both_kinds(desk: &Desk) {
    let words = "--problems linear,wheel --policies lin-full-post,lin-ucb";
    desk.tiny_bench(&format!("{words} --out plain")).ok();
    desk.tiny_bench(&format!("{words} --propensities --out with")).ok();
}

fn has_propensities(desk: &Desk, out: &str) -> bool {
    read_run(&desk.path(out)).unwrap().unwrap().propensities
}

/// Uniform and LinUCB, which draws nothing, choose alike in both; a posterior sample is not the choice that its probabilities give.
#[test]
fn the_flag_is_recorded_and_changes_the_choices_of_thompson_sampling_alone() {
    let desk = Desk::new();
    both_kinds(&desk);
    assert!(!has_propensities(&desk, "plain") && has_propensities(&desk, "with"));
    let (plain, with) = (desk.results("plain"), desk.results("with"));
    assert!(plain.keys().eq(with.keys()));
    for (id, found) in &plain {
        assert_eq!(with[id] == *found, id.policy != "lin-full-post", "{id}");
    }
    let said = desk.tiny_bench("--problems linear --propensities --out with").ok();
    assert!(said.stdout.contains("nothing left to run: 4 trials done before\n"), "{}", said.stdout);
}

#[test]
fn a_folder_is_bound_to_its_kind() {
    let desk = Desk::new();
    both_kinds(&desk);
    desk.write("old/trials.csv", include_str!("old_run/trials.csv"));
    desk.write("old/run.json", include_str!("old_run/run.json"));
    let off = ["trials with propensities off, but on was requested", "--out, or omit --propensities ("];
    let on = ["trials with propensities on, but off was requested", "--out, or add --propensities"];
    for (out, flag, expected) in [
        ("plain", "--propensities", off),
        ("old", "--propensities", off),
        ("with", "", on),
        ("with", "--propensities=false", on),
    ] {
        let files = || ["trials.csv", "run.json"].map(|name| fs::read(desk.path(out).join(name)).unwrap());
        let before = files();
        let words = format!("--problems linear --policies lin-pool --out {out} {flag}");
        desk.tiny_bench(&words).refused(&expected);
        desk.tiny_bench(&format!("{words} --dry-run")).refused(&expected);
        assert_eq!(files(), before, "{words}");
    }
    let words = "explore linear --policies lin-full-post --steps 60 --draws 10 --out with";
    desk.locus(words.split(' ')).refused(&[
        "`with` holds trials with propensities, but an exploration plays its trial without",
        "--out",
    ]);
}

#[test]
fn a_suite_may_ask_and_the_command_overrides_it() {
    let desk = Desk::new();
    let suite = "problems = ['linear']\npolicies = ['lin-full-post']\ntrials = 1\nsteps = 10\n";
    desk.write("asks.toml", format!("{suite}propensities = true\n"));
    desk.write("plain.toml", suite);
    for (words, out, expected) in [
        ("asks", "runs/suite-asks", true),
        ("asks --propensities", "runs/suite-asks", true),
        ("asks --propensities=false", "runs/suite-asks-no-propensities", false),
        ("plain", "runs/suite-plain", false),
        ("plain --propensities", "runs/suite-plain-propensities", true),
        ("plain --propensities=true", "runs/suite-plain-propensities", true),
    ] {
        let words = words.replacen("asks", "asks.toml", 1).replacen("plain", "plain.toml", 1);
        let said = desk.locus(format!("bench --suite {words}").split(' ')).ok();
        assert!(said.stdout.contains(&format!("in {out}: ")), "{words}: {}", said.stdout);
        assert_eq!(has_propensities(&desk, out), expected, "{words}");
    }
    desk.locus(["bench", "--propensities=maybe"]).refused(&["'maybe'", "--propensities"]);
}

#[test]
fn both_kinds_stand_side_by_side_in_a_table_and_a_report() {
    let desk = Desk::new();
    both_kinds(&desk);
    let table = |words: &str| desk.locus(["table"].into_iter().chain(words.split(' '))).ok();
    let marked = "lin-full-post (propensities)";
    let said = table("plain with");
    assert_eq!(said.stderr, "");
    for name in
        ["  uniform  ", "  lin-full-post  ", "  lin-full-post (propensities)  ", "  lin-ucb (propensities)  "]
    {
        assert!(said.stdout.contains(name), "{name}: {}", said.stdout);
    }
    assert!(
        !said.stdout.contains("uniform (propensities)") && !said.stdout.contains(" · "),
        "{}",
        said.stdout
    );
    // Each keeps the numbers that it has in a table of its own.
    let row = |csv: &str, policy: &str| {
        let start = format!("cumulative,{policy},linear,");
        let line = csv.lines().find(|line| line.starts_with(&start)).expect(&start);
        line[start.len()..].split(',').take(5).collect::<Vec<_>>().join(",")
    };
    let [both, plain, with] =
        ["plain with", "plain", "with"].map(|outs| table(&format!("{outs} --format csv")).stdout);
    assert_eq!(row(&both, "lin-full-post"), row(&plain, "lin-full-post"));
    assert_eq!(row(&both, marked), row(&with, "lin-full-post"));
    assert!(!with.contains("(propensities)"), "{with}");

    // The paired differences over all problems are the mean of those of each problem.
    let csv = table("plain with --policies lin-full-post --against lin-full-post --format csv").stdout;
    let difference = |problem: &str| -> f64 {
        let start = format!("{marked},lin-full-post,{problem},");
        let line = csv.lines().find(|line| line.starts_with(&start)).expect(&csv);
        line[start.len()..].split(',').next().unwrap().parse().unwrap()
    };
    let [linear, wheel, all] = ["linear", "wheel", "all problems"].map(difference);
    assert!((all - (linear + wheel) / 2.0).abs() < 1e-9 && all != 0.0, "{csv}");
    assert_eq!(csv.lines().count(), 4, "{csv}");
    let regret = |out: &str, policy: &str| {
        (0..2).map(|trial| desk.regrets(out, &id(policy, "linear", trial)).iter().sum::<f64>()).sum::<f64>()
    };
    let expected = 100.0 * (regret("with", "lin-full-post") - regret("plain", "lin-full-post"))
        / regret("plain", "uniform");
    assert!((linear - expected).abs() < 1e-9, "{linear} is not {expected}");
    let said =
        desk.locus(["table", "plain", "with", "--policies", "lin-full-post", "--against", marked]).ok();
    assert!(said.stdout.contains(&format!("against {marked} ")), "{}", said.stdout);
    assert!(
        said.stdout.contains("\nall problems\n") && said.stdout.contains("\n  lin-full-post "),
        "{}",
        said.stdout
    );
    desk.locus(["table", "with", "--against", marked])
        .refused(&[&format!("the run has no policy `{marked}`")]);

    desk.locus("report plain with --output page.html".split(' ')).ok();
    let page = desk.read("page.html");
    assert!(
        page.contains(&format!("data-sort=\"{marked}\"")) && !page.contains("id=\"run-2-"),
        "one section"
    );
    assert_eq!(page.matches("<dt>propensities</dt>").count(), 1);
}

#[test]
fn status_tells_the_kind() {
    let desk = Desk::new();
    both_kinds(&desk);
    let line = "\nwith --propensities: actions are sampled from the reported probabilities\n";
    for (out, expected) in [("plain", 0), ("with", 1)] {
        let said = desk.locus(["status", out]).ok().stdout;
        assert_eq!(said.matches(line).count(), expected, "{said}");
    }
}
