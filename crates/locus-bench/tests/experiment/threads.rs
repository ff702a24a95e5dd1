//! Any number of threads gives the same results; the estimate divides by it.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use locus_bench::experiment::Progress;
use locus_bench::record::TrialRow;
use locus_bench::trial::TrialId;

use crate::fakes::{Act, OTHER, build, curves, experiment, results, run};

#[test]
fn threads_change_nothing_but_the_time() {
    let [one, four] = [1, 4].map(|jobs| {
        let out = tempfile::tempdir().unwrap();
        let mut experiment = experiment(out.path());
        experiment.policies =
            locus::Registry::standard().parse_list(&format!("lin-full-post,{OTHER}")).unwrap();
        experiment.trials = 10;
        experiment.jobs = jobs;
        assert_eq!(run(&experiment).unwrap().ran, 60);
        out
    });
    assert_eq!(results(one.path()), results(four.path()));
    assert_eq!(curves(one.path()), curves(four.path()));
    assert_eq!(curves(one.path()).len(), 120);
}

/// The policies of the registry, as `locus bench` runs them.
#[test]
fn uniform_runs_from_the_registry() {
    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    experiment.policies.clear();
    assert_eq!(experiment.run(&(), &AtomicBool::new(false)).unwrap().ran, 6);
    let estimate = experiment.estimate().unwrap();
    assert_eq!((estimate.plan.done, estimate.seconds, estimate.unknown.len()), (6, 0.0, 0));
}

#[derive(Default)]
struct Counts {
    started: Mutex<Vec<TrialId>>,
    steps: Mutex<usize>,
    finished: Mutex<Vec<TrialId>>,
}

impl Progress for Counts {
    fn started(&self, id: &TrialId) {
        self.started.lock().unwrap().push(id.clone());
    }
    fn stepped(&self, _: &TrialId, more_steps: usize) {
        *self.steps.lock().unwrap() += more_steps;
    }
    fn finished(&self, row: &TrialRow) {
        self.finished.lock().unwrap().push(row.id.clone());
    }
}

#[test]
fn progress_sees_every_trial_and_every_step() {
    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    experiment.steps = 130;
    experiment.jobs = 3;
    let counts = Counts::default();
    experiment.run_with(&build(|_| Act::Random), &counts, &AtomicBool::new(false)).unwrap();
    let sorted = |ids: Mutex<Vec<TrialId>>| {
        let mut ids = ids.into_inner().unwrap();
        ids.sort();
        ids
    };
    let recorded: Vec<TrialId> = results(out.path()).into_iter().map(|row| row.id).collect();
    assert_eq!(sorted(counts.started), recorded);
    assert_eq!(sorted(counts.finished), recorded);
    assert_eq!(counts.steps.into_inner().unwrap(), 12 * 130);
}

/// Recorded seconds of 2 and 4 give 3 for each missing trial of that kind; nothing is probed.
#[test]
fn the_estimate_follows_recorded_trials() {
    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    experiment.problems.truncate(1);
    experiment.policies.clear();
    experiment.trials = 2;
    run(&experiment).unwrap();
    let file = out.path().join("trials.csv");
    let mut lines: Vec<String> = std::fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
    for (line, (choosing, learning)) in lines[1..].iter_mut().zip([("1.5", "0.5"), ("1", "3")]) {
        let mut fields: Vec<&str> = line.split(',').collect();
        (fields[7], fields[8]) = (choosing, learning);
        *line = fields.join(",");
    }
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let no_probe = build(|_| panic!("nothing is to be built"));
    experiment.trials = 10;
    let estimate = experiment.estimate_with(&no_probe).unwrap();
    assert_eq!((estimate.plan.missing.len(), estimate.plan.done, estimate.seconds), (8, 2, 12.0));
    experiment.jobs = 100;
    assert_eq!(experiment.estimate_with(&no_probe).unwrap().seconds, 3.0);
}

#[test]
fn the_estimate_probes_what_was_never_run_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut experiment = experiment(&out);
    experiment.steps = 1000;
    // A probe of 100 steps does not come to round 100.
    let estimate = experiment.estimate_with(&build(|_| Act::Panic(100))).unwrap();
    assert_eq!((estimate.plan.missing.len(), estimate.unknown.len()), (12, 0));
    assert!(estimate.seconds > 0.0);
    let estimate = experiment.estimate_with(&build(|_| Act::Panic(99))).unwrap();
    assert_eq!((estimate.seconds, estimate.unknown.len()), (0.0, 4));
    assert!(!out.exists());
}
