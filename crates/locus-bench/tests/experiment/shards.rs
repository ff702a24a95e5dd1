//! Parts of an experiment: shards and single trials.

use std::sync::atomic::{AtomicBool, Ordering};

use locus_bench::Experiment;
use locus_bench::experiment::{Part, Progress, Shard};
use locus_bench::record::{TrialRow, read_run};
use locus_bench::status::read_status;
use locus_bench::trial::TrialId;

use crate::fakes::{Act, build, curves, experiment, results, run};

fn shard(number: usize, of: usize) -> Part {
    Part::Shard(Shard { number, of })
}

/// Twelve trials in five shards: together the rows and the curves of one run, bit for bit.
#[test]
fn shards_have_every_trial_of_one_run_once() {
    let whole = tempfile::tempdir().unwrap();
    run(&experiment(whole.path())).unwrap();
    let folders = tempfile::tempdir().unwrap();
    let (mut rows, mut files) = (Vec::new(), std::collections::BTreeMap::new());
    for number in 1..=5 {
        let out = folders.path().join(number.to_string());
        let experiment = Experiment { part: shard(number, 5), jobs: number, ..experiment(&out) };
        let n_own = run(&experiment).unwrap().ran;
        assert_eq!(n_own, if number <= 2 { 3 } else { 2 });
        let status = read_status(&out).unwrap().standing.total();
        assert_eq!((status.asked, status.done), (n_own, n_own));
        let session = read_run(&out).unwrap().unwrap().sessions.remove(0);
        assert_eq!(session.part.unwrap().shard, Some(format!("{number}/5")));
        rows.extend(results(&out));
        files.extend(curves(&out));
    }
    rows.sort_by(|one: &TrialRow, other| one.id.cmp(&other.id));
    assert_eq!(rows, results(whole.path()));
    assert_eq!(files, curves(whole.path()));
}

/// Sets the flag when the first trial has ended, as Ctrl-C would.
struct StopAfterOne<'a>(&'a AtomicBool);

impl Progress for StopAfterOne<'_> {
    fn finished(&self, _: &TrialRow) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn an_interrupted_shard_resumes_and_misses_only_its_own_trials() {
    let out = tempfile::tempdir().unwrap();
    let experiment = Experiment { part: shard(2, 2), jobs: 1, ..experiment(out.path()) };
    let stop = AtomicBool::new(false);
    let outcome = experiment.run_with(&build(|_| Act::Random), &StopAfterOne(&stop), &stop).unwrap();
    assert_eq!((outcome.ran, outcome.interrupted), (1, true));
    let total = read_status(out.path()).unwrap().standing.total();
    assert_eq!((total.asked, total.done), (6, 1));
    let plan = experiment.plan().unwrap();
    assert_eq!((plan.missing.len(), plan.done, plan.standing.total().asked), (5, 1, 6));
    let outcome = run(&experiment).unwrap();
    assert_eq!((outcome.ran, outcome.skipped), (5, 1));
    assert_eq!(read_run(out.path()).unwrap().unwrap().sessions.len(), 1);
    // The other half in the same folder, and then all of it: nothing runs twice.
    let other = Experiment { part: shard(1, 2), ..experiment.clone() };
    assert_eq!(run(&other).unwrap().ran, 6);
    assert_eq!(run(&Experiment { part: Part::All, ..experiment }).unwrap().skipped, 12);
    assert_eq!(read_status(out.path()).unwrap().standing.total().asked, 12);
}

#[test]
fn single_trials_run_alone() {
    let whole = tempfile::tempdir().unwrap();
    run(&experiment(whole.path())).unwrap();
    let out = tempfile::tempdir().unwrap();
    let id = |problem: &str, policy: &str, trial| TrialId {
        problem: problem.to_owned(),
        policy: policy.to_owned(),
        trial,
    };
    let ids = vec![id("b", "lin-full-post", 2), id("a", "uniform", 0), id("b", "lin-full-post", 2)];
    let only = |ids: &[TrialId]| Experiment { part: Part::Only(ids.to_vec()), ..experiment(out.path()) };
    assert_eq!(run(&only(&ids)).unwrap().ran, 2);
    let mut expected = results(whole.path());
    expected.retain(|row| ids.contains(&row.id));
    assert_eq!(results(out.path()), expected);
    let total = read_status(out.path()).unwrap().standing.total();
    assert_eq!((total.asked, total.done), (2, 2));
    // What is asked for later is added.
    assert_eq!(run(&only(&[id("a", "uniform", 1)])).unwrap().ran, 1);
    assert_eq!(read_status(out.path()).unwrap().standing.total().asked, 3);
}

#[test]
fn parts_that_there_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let id = |problem: &str, policy: &str, trial| TrialId {
        problem: problem.to_owned(),
        policy: policy.to_owned(),
        trial,
    };
    for (part, expected) in [
        (shard(0, 3), "there is no shard 0/3: shards are numbered from 1 to 3"),
        (shard(4, 3), "there is no shard 4/3: shards are numbered from 1 to 3"),
        (shard(1, 13), "13 shards of 12 trials would leave some without a trial; expected at most 12 shards"),
        (
            Part::Only(vec![id("a", "uniform", 0), id("c", "uniform", 0)]),
            "this run has no trial `uniform on c, trial 0`: the problems are a, b; name others with --problems",
        ),
        (
            Part::Only(vec![id("a", "bbb", 0)]),
            "this run has no trial `bbb on a, trial 0`: the policies are uniform, lin-full-post; name others with --policies",
        ),
        (
            Part::Only(vec![id("a", "uniform", 3)]),
            "this run has no trial `uniform on a, trial 3`: its trials are 0 to 2; change them with --trials and --first-trial",
        ),
    ] {
        let experiment = Experiment { part, ..experiment(&out) };
        assert_eq!(run(&experiment).unwrap_err().to_string(), expected);
    }
    assert!(!out.exists());
}
