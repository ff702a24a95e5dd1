//! Trials whose decisions ask for their propensities.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use locus::{PolicySpec, Seed};
use locus_bench::experiment::Experiment;
use locus_bench::record::{Selection, read_run};
use locus_bench::report::{Pairs, compared_trials};
use locus_bench::summary::{Format, Metric, Table};

use crate::fakes::{Act, Asked, build, build_recording, experiment, results, run};

fn with_propensities(out: &Path) -> Experiment {
    Experiment { propensities: true, ..experiment(out) }
}

/// Policies, and whether they were asked for propensities.
type Kinds = BTreeSet<(String, bool)>;

/// What the policies of a run were asked, and the seeds that they were built from.
fn asked(experiment: &Experiment) -> (Kinds, BTreeSet<(String, u64)>) {
    let (asked, seeds) = (Asked::default(), Mutex::new(BTreeSet::new()));
    let recording = build_recording(|_| Act::Random, Arc::clone(&asked));
    let build = |spec: &PolicySpec, shape, seed: Seed| {
        seeds.lock().unwrap().insert((spec.to_string(), seed.number()));
        recording(spec, shape, seed)
    };
    experiment.run_with(&build, &(), &AtomicBool::new(false)).unwrap();
    let asked = asked.lock().unwrap().clone();
    (asked, seeds.into_inner().unwrap())
}

fn expected(is_asking: bool) -> Kinds {
    ["lin-full-post", "uniform"].map(|policy| (policy.to_owned(), is_asking)).into()
}

/// All policies are asked, each built from the same seed as without.
#[test]
fn every_decision_asks_and_nothing_else_differs() {
    let [plain, with] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (asked_plain, seeds_plain) = asked(&experiment(plain.path()));
    let (asked_with, seeds_with) = asked(&with_propensities(with.path()));
    assert_eq!((asked_plain, asked_with), (expected(false), expected(true)));
    assert_eq!((seeds_plain.len(), &seeds_plain), (12, &seeds_with));
    // These fakes answer both questions alike, so that equal rounds give equal results.
    assert_eq!(results(plain.path()), results(with.path()));
}

#[test]
fn a_dry_run_asks_too() {
    let out = tempfile::tempdir().unwrap();
    let asked = Asked::default();
    let recording = build_recording(|_| Act::Random, Arc::clone(&asked));
    with_propensities(out.path()).estimate_with(&recording).unwrap();
    assert_eq!(*asked.lock().unwrap(), expected(true));
}

#[test]
fn run_json_says_so() {
    let out = tempfile::tempdir().unwrap();
    run(&with_propensities(out.path())).unwrap();
    assert!(read_run(out.path()).unwrap().unwrap().propensities);
    assert_eq!(run(&with_propensities(out.path())).unwrap().ran, 0);
    let out = tempfile::tempdir().unwrap();
    run(&experiment(out.path())).unwrap();
    let text = fs::read_to_string(out.path().join("run.json")).unwrap();
    assert!(!text.contains("propensities"), "as earlier versions wrote it: {text}");
    assert!(!read_run(out.path()).unwrap().unwrap().propensities);
}

/// In both directions: what the folder holds, what was asked for and the way out are named, and nothing is touched.
#[test]
fn a_folder_holds_one_kind() {
    for (first, parts) in [
        (false, ["with propensities off, but on was requested", "or omit --propensities"]),
        (true, ["with propensities on, but off was requested", "or add --propensities"]),
    ] {
        let out = tempfile::tempdir().unwrap();
        let mut experiment = Experiment { propensities: first, ..experiment(out.path()) };
        run(&experiment).unwrap();
        let files = || ["trials.csv", "run.json"].map(|name| fs::read(out.path().join(name)).unwrap());
        let before = files();
        // Even where trials are missing.
        experiment.trials += 1;
        experiment.propensities = !first;
        for message in [run(&experiment).unwrap_err(), experiment.plan().unwrap_err()] {
            let message = message.to_string();
            for part in parts.iter().chain(&["another folder with --out"]) {
                assert!(message.contains(part), "{message}\n  expected: {part}");
            }
        }
        assert_eq!(files(), before);
        experiment.propensities = first;
        assert_eq!(run(&experiment).unwrap().ran, 4);
    }
}

/// Which policies a table over these folders has, and in how many trials.
fn shown(outs: &[&Path]) -> (BTreeMap<String, usize>, Vec<String>) {
    let outs: Vec<_> = outs.iter().map(|out| (*out).to_owned()).collect();
    let (rows, warnings) = compared_trials(&outs, &Selection::default()).unwrap();
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(row.id.policy).or_default() += 1;
    }
    (counts, warnings)
}

#[test]
fn folders_of_both_kinds_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, with, more] = ["plain", "with", "more"].map(|name| folder.path().join(name));
    run(&experiment(&plain)).unwrap();
    // The first action always, so that the results differ; Uniform as before.
    let first = build(|policy| if policy == "uniform" { Act::Random } else { Act::First });
    with_propensities(&with).run_with(&first, &(), &AtomicBool::new(false)).unwrap();
    let counts =
        |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 6)).collect::<BTreeMap<_, _>>();
    let marked = "lin-full-post (propensities)";
    assert_eq!(shown(&[&plain, &with]), (counts(&["uniform", "lin-full-post", marked]), vec![]));
    // One kind alone needs no mark.
    assert_eq!(shown(&[&with]), (counts(&["uniform", "lin-full-post"]), vec![]));

    let outs = [plain.clone(), with.clone()];
    let (rows, _) = compared_trials(&outs, &Selection::default()).unwrap();
    let text = Table::new(&rows, Metric::Cumulative).render(Format::Text);
    assert!(text.contains("\n(propensities): every decision asked for its exact propensity"), "{text}");
    let pairs = Pairs::new(&rows, Metric::Cumulative, "lin-full-post");
    assert_eq!(pairs.lines.iter().map(|line| line.policy.as_str()).collect::<Vec<_>>(), [marked]);
    let overall = pairs.lines[0].overall.unwrap();
    let (low, high) = overall.interval.unwrap();
    assert!(low < overall.difference && overall.difference < high, "{overall:?}");
    // `--policies lin-full-post` is both.
    let selection = Selection { policies: vec!["lin-full-post".to_owned()], problems: Vec::new() };
    assert_eq!(compared_trials(&outs, &selection).unwrap().0, rows);

    // Where folders of one kind disagree, they are told apart within their kind.
    run(&with_propensities(&more)).unwrap();
    let (names, warnings) = shown(&[&plain, &with, &more]);
    let disputed = ["lin-full-post (propensities) · more", "lin-full-post (propensities) · with"];
    assert_eq!(names, counts(&[&["uniform", "lin-full-post"][..], &disputed].concat()));
    assert!(warnings.len() == 1 && warnings[0].starts_with(&format!("`{marked}` has other")), "{warnings:?}");
}
