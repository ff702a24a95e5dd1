//! Policies that fail, folders that cannot be written, and two runs at once.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};

use locus::PolicySpec;
use locus_bench::experiment::Progress;
use locus_bench::record::TrialRow;
use locus_bench::trial::TrialId;

use crate::fakes::{Act, OTHER, build, curves, experiment, results, run, run_with};

fn act_badly(act: Act) -> impl Fn(&str) -> Act + Sync {
    move |policy| if policy == "lin-full-post" { act } else { Act::Random }
}

#[test]
fn a_failing_policy_is_recorded_and_tried_again_while_the_others_go_on() {
    let whole = tempfile::tempdir().unwrap();
    let out = tempfile::tempdir().unwrap();
    let [mut good, mut bad] = [whole.path(), out.path()].map(experiment);
    for experiment in [&mut good, &mut bad] {
        experiment.policies =
            locus::Registry::standard().parse_list(&format!("lin-full-post,{OTHER}")).unwrap();
    }
    run(&good).unwrap();
    let cases = [
        (Act::Fail(7), "round 7: the \"draw\", / of gave NaN in round 7; the policy did not act on it"),
        (Act::Panic(3), "panicked: fell over, / in round 3"),
        (Act::OutOfRange, "round 0: the policy chose action 3, but there are 3 actions, from 0"),
    ];
    for (turn, (act, expected)) in cases.into_iter().enumerate() {
        let plan = bad.plan().unwrap();
        assert_eq!((plan.missing.len(), plan.retried), if turn == 0 { (18, 0) } else { (6, 6) });
        let outcome = run_with(&bad, &build(act_badly(act))).unwrap();
        assert_eq!((outcome.ran, outcome.failed.len()), (if turn == 0 { 12 } else { 0 }, 6));
        assert!(!outcome.interrupted);
        let rows = results(out.path());
        assert_eq!(rows.len(), 18);
        for row in rows.iter().filter(|row| row.id.policy == "lin-full-post") {
            assert_eq!(row.outcome, Err(expected.to_owned()));
        }
        assert_eq!(curves(out.path()).len(), 2 * 12);
        let summary = fs::read_to_string(out.path().join("summary.md")).unwrap();
        assert!(summary.contains("lin-full-post on a: 3 trials failed, not counted."), "{summary}");
    }
    let outcome = run(&bad).unwrap();
    assert_eq!((outcome.ran, outcome.skipped, outcome.failed.len()), (6, 12, 0));
    assert_eq!(results(out.path()), results(whole.path()));
    assert_eq!(curves(out.path()), curves(whole.path()));
}

/// A run that does not ask for the failed policy leaves its rows alone.
#[test]
fn failures_of_others_stay() {
    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    run_with(&experiment, &build(act_badly(Act::OutOfRange))).unwrap();
    experiment.policies = locus::Registry::standard().parse_list(OTHER).unwrap();
    run(&experiment).unwrap();
    assert_eq!(results(out.path()).iter().filter(|row| row.outcome.is_err()).count(), 6);
}

#[test]
fn a_policy_that_cannot_be_built_is_a_failed_trial() {
    let out = tempfile::tempdir().unwrap();
    let refuse = |spec: &PolicySpec, shape: locus::Shape, _: locus::Seed| {
        assert_eq!(spec.id(), "uniform");
        Err(locus::Error::policy(format!("cannot be built for {} features", shape.n_features)))
    };
    let mut experiment = experiment(out.path());
    experiment.policies.clear();
    let outcome = run_with(&experiment, &refuse).unwrap();
    assert_eq!((outcome.ran, outcome.failed.len()), (0, 6));
    let estimate = experiment.estimate_with(&refuse).unwrap();
    assert_eq!(estimate.unknown.len(), 2);
    assert!(
        estimate.unknown[0].starts_with("uniform on a: round 0: cannot be built for"),
        "{:?}",
        estimate.unknown
    );
}

/// Begins a second run on the same folder while the first is under way.
struct RunsAgain<'a> {
    out: &'a Path,
    message: Mutex<Option<String>>,
}

impl Progress for RunsAgain<'_> {
    fn finished(&self, _: &TrialRow) {
        let refused = run(&experiment(self.out)).unwrap_err();
        assert!(refused.to_string().starts_with("another process is running trials in `"), "{refused}");
        *self.message.lock().unwrap() = Some(refused.to_string());
        // Looking is allowed at any time.
        experiment(self.out).plan().unwrap();
    }
}

#[test]
fn two_runs_on_one_folder_do_not_mix() {
    let out = tempfile::tempdir().unwrap();
    let progress = RunsAgain { out: out.path(), message: Mutex::new(None) };
    let stop = AtomicBool::new(false);
    let outcome = experiment(out.path()).run_with(&build(|_| Act::Random), &progress, &stop).unwrap();
    assert_eq!(outcome.ran, 12);
    let message = progress.message.lock().unwrap().take().unwrap();
    assert!(message.starts_with("another process is running trials in `"), "{message}");
    assert_eq!(run(&experiment(out.path())).unwrap().skipped, 12);
}

/// Puts a file where the curves should go, as soon as the first trial is recorded.
struct BreaksDisk<'a>(&'a Path);

impl Progress for BreaksDisk<'_> {
    fn finished(&self, _: &TrialRow) {
        fs::remove_dir_all(self.0.join("curves")).unwrap();
        fs::write(self.0.join("curves"), "").unwrap();
    }
}

#[test]
fn a_disk_that_fails_ends_the_run_and_loses_nothing() {
    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    experiment.jobs = 1;
    let stop = AtomicBool::new(false);
    let broken = experiment.run_with(&build(|_| Act::Random), &BreaksDisk(out.path()), &stop);
    let message = broken.unwrap_err().to_string();
    assert!(message.starts_with("cannot create the folder `") && message.contains("curves`: "), "{message}");
    assert_eq!(results(out.path()).len(), 1);
    fs::remove_file(out.path().join("curves")).unwrap();
    let outcome = run(&experiment).unwrap();
    assert_eq!((outcome.ran, outcome.skipped), (11, 1));
}

/// Holds back all trials but the first until the thread that runs the first has gone.
struct FirstAlone {
    /// Nothing is ever sent: whoever receives waits until the sender is dropped.
    sender: Mutex<Option<Sender<()>>>,
    receiver: Mutex<Receiver<()>>,
}

thread_local! {
    /// Dropped when its thread ends.
    static SENDER: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
}

impl Progress for FirstAlone {
    fn started(&self, id: &TrialId) {
        if (id.trial, id.problem.as_str(), id.policy.as_str()) == (0, "a", "uniform") {
            let sender = self.sender.lock().unwrap().take();
            SENDER.with(|held| *held.borrow_mut() = sender);
        } else {
            // A thread that goes on after the first trial must not wait for itself: the test is to fail, not to hang.
            SENDER.with(|held| held.borrow_mut().take());
            assert!(self.receiver.lock().unwrap().recv().is_err());
        }
    }
}

/// Only the first trial cannot be written, yet the other thread stops too: a user whose disk is full wants to know
/// now.
#[test]
fn a_record_that_cannot_be_written_ends_all_threads() {
    let out = tempfile::tempdir().unwrap();
    let experiment = experiment(out.path());
    fs::create_dir_all(out.path().join("curves/a.uniform.0000.regret.npy")).unwrap();
    let (sender, receiver) = channel();
    let progress = FirstAlone { sender: Mutex::new(Some(sender)), receiver: Mutex::new(receiver) };
    let broken = experiment.run_with(&build(|_| Act::Random), &progress, &AtomicBool::new(false));
    let message = broken.unwrap_err().to_string();
    assert!(
        message.starts_with("cannot write `") && message.contains("a.uniform.0000.regret.npy`"),
        "{message}"
    );
    assert_eq!(results(out.path()), [], "trials were run after the error");
}

#[test]
fn a_folder_that_cannot_be_made_is_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    let message = run(&experiment(&file)).unwrap_err().to_string();
    assert!(message.starts_with("cannot create the folder `"), "{message}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}
