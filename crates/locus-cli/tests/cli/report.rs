//! `locus report OUT…`, and the report at the end of a run.

use std::fs;
use std::path::Path;

use crate::harness::Desk;

#[test]
fn a_run_ends_with_a_report() {
    let desk = Desk::new();
    let said = desk.tiny_bench("--problems linear,wheel --out out").ok();
    assert!(said.stdout.contains("report: out/report.html and 5 figures in figures/\n"), "{}", said.stdout);
    let page = desk.read("out/report.html");
    for part in [
        "<!DOCTYPE html>",
        "Normalized simple regret",
        "lin-full-post",
        "locus bench --problems linear,wheel",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for figure in ["regret", "boxes", "ranks", "cost", "actions"] {
        assert!(desk.read(&format!("out/figures/{figure}.svg")).starts_with("<svg "), "{figure}");
    }
    // From the same records comes the same page, and nothing is run or recorded.
    let rows = desk.read("out/trials.csv");
    let said = desk.locus(["report", "out"]).ok();
    assert_eq!(
        (said.stdout.as_str(), said.stderr.as_str()),
        ("report: out/report.html and 5 figures in figures/\n", "")
    );
    assert_eq!((desk.read("out/report.html"), desk.read("out/trials.csv")), (page, rows));
}

#[test]
fn several_runs_are_compared_in_one_report() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out one").ok();
    desk.tiny_bench("--problems linear --policies lin-full-post[prior_precision=9] --out two").ok();
    desk.locus(["report", "one", "two"])
        .refused(&["a report of 2 folders needs a place of its own", "--output"]);
    let said = desk.locus(["report", "one", "two", "--output", "both/page.html"]).ok();
    assert!(said.stdout.starts_with("report: both/page.html and "), "{}", said.stdout);
    let page = desk.read("both/page.html");
    assert!(
        page.contains("lin-full-post[prior_precision=9]") && page.contains("wins "),
        "one section for both"
    );
    assert!(!page.contains("id=\"run-2-"), "both saw the same rounds");
    assert!(desk.path("both/figures/regret.svg").exists());
}

/// What README and docs/results.md say of the evidence; its folders hold neither curves nor run.json, and no trial is common to all.
#[test]
fn the_report_of_the_evidence_names_its_winner() {
    let evidence = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence");
    // A package holds no evidence.
    if !evidence.is_dir() {
        return;
    }
    let folder = |name: &str| evidence.join(name).display().to_string();
    let policies = "bbb,neural-linear,lin-full-post,pi-ts-dgf,lu-gauss,lu-sivi,locus";
    let (paper, ours) = (folder("paper"), folder("locus-final"));
    let desk = Desk::new();
    desk.locus(["report", &paper, &ours, "--policies", policies, "--output", "out"]).ok();
    let page = desk.read("out/report.html");
    let start = &page[page.find("<header>").unwrap()..page.find("</header>").unwrap()];
    for part in [
        "<h1>Contextual bandit benchmark: 7 policies on the paper&#39;s eight problems</h1>",
        "<strong><code>locus</code> wins</strong>",
        "no paired comparison is possible; the difference of their means is",
        "<code>locus</code> ran trials 200–249",
    ] {
        assert!(start.contains(part), "{part} is not in {start}");
    }
    assert!(page.find("id=\"warnings\"").unwrap() > page.find("id=\"identity\"").unwrap());
}

/// A page over a part of what was asked for does not look like the end.
#[test]
fn a_run_that_has_not_ended_is_called_unfinished() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    assert!(!desk.read("out/report.html").contains("Unfinished"));
    let trials = desk.read("out/trials.csv");
    let without_last = trials.trim_end().rsplit_once('\n').unwrap().0;
    desk.write("out/trials.csv", format!("{without_last}\n"));
    desk.locus(["report", "out"]).ok();
    let expected = "Unfinished: out has 3 of the 4 trials asked for, and is not running.";
    assert!(desk.read("out/report.html").contains(expected));
}

#[test]
fn what_cannot_be_read_is_said() {
    let desk = Desk::new();
    desk.locus(["report"]).refused(&["required"]);
    desk.locus(["report", "nowhere"]).refused(&["there is no folder `nowhere`; expected a folder that"]);
    desk.write("empty/readme", "");
    desk.locus(["report", "empty"]).refused(&["`empty` holds no trials.csv"]);
    desk.tiny_bench("--problems linear --out out").ok();
    fs::remove_dir_all(desk.path("out/curves")).unwrap();
    fs::remove_file(desk.path("out/run.json")).unwrap();
    let said = desk.locus(["report", "out"]).ok();
    assert!(said.stderr.contains("warning: `out` holds no run.json"), "{}", said.stderr);
    assert!(said.stderr.contains("warning: `out` holds no folder curves"), "{}", said.stderr);
    // Where nothing can be written, nothing was wrong with the command.
    desk.write("file", "");
    let said = desk.locus(["report", "out", "--output", "file/page"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("error: cannot create the folder `file/page"), "{}", said.stderr);
}
