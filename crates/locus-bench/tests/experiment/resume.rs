//! Killed runs, torn files, and runs that have nothing left to do.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use locus_bench::experiment::{Plan, Progress, Warning};
use locus_bench::record::{TrialRow, curve_paths, read_run};

use crate::fakes::{Act, build, curves, experiment, results, run, run_with};

#[test]
fn a_second_run_has_nothing_to_do() {
    let out = tempfile::tempdir().unwrap();
    let experiment = experiment(out.path());
    let first = run(&experiment).unwrap();
    assert_eq!((first.ran, first.skipped, first.interrupted), (12, 0, false));
    assert!(first.failed.is_empty() && first.warnings.is_empty());
    let files = |name: &str| fs::read(out.path().join(name)).unwrap();
    let before = [files("trials.csv"), files("run.json"), files("summary.md")];
    let second = run_with(&experiment, &build(|_| panic!("nothing is to be built"))).unwrap();
    assert_eq!((second.ran, second.skipped, second.interrupted), (0, 12, false));
    assert_eq!([files("trials.csv"), files("run.json"), files("summary.md")], before);
    assert!(String::from_utf8(before[2].clone()).unwrap().contains("## Normalized simple regret"));
}

/// Killed while a row was written: at every byte of the last line.
#[test]
fn a_torn_row_is_mended_wherever_it_tore() {
    let out = tempfile::tempdir().unwrap();
    let experiment = experiment(out.path());
    run(&experiment).unwrap();
    let (complete, complete_curves) = (results(out.path()), curves(out.path()));
    let file = out.path().join("trials.csv");
    let bytes = fs::read(&file).unwrap();
    let last_line = bytes[..bytes.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    for length in last_line..bytes.len() {
        fs::write(&file, &bytes[..length]).unwrap();
        let plan = experiment.plan().unwrap();
        assert_eq!((plan.missing.len(), plan.done), (1, 11), "cut at byte {length}");
        let outcome = run(&experiment).unwrap();
        assert_eq!((outcome.ran, outcome.skipped), (1, 11), "cut at byte {length}");
        let expected = if length == last_line { vec![] } else { vec![Warning::TornRow] };
        assert_eq!(outcome.warnings, expected, "cut at byte {length}");
        assert_eq!(results(out.path()), complete, "cut at byte {length}");
    }
    assert_eq!(curves(out.path()), complete_curves);
    assert_eq!(read_run(out.path()).unwrap().unwrap().sessions.len(), 1);
}

/// Killed before the header was complete: all is to be done.
#[test]
fn a_torn_header_is_mended() {
    let out = tempfile::tempdir().unwrap();
    let experiment = experiment(out.path());
    run(&experiment).unwrap();
    let complete = results(out.path());
    let file = out.path().join("trials.csv");
    for torn in ["", "problem,pol"] {
        fs::write(&file, torn).unwrap();
        assert_eq!(run(&experiment).unwrap().ran, 12);
        assert_eq!(results(out.path()), complete);
    }
}

#[test]
fn a_damaged_row_in_the_middle_stops_the_run_and_is_kept() {
    let out = tempfile::tempdir().unwrap();
    let experiment = experiment(out.path());
    run(&experiment).unwrap();
    let file = out.path().join("trials.csv");
    let damaged = fs::read_to_string(&file).unwrap().replacen(",20,", ",twenty,", 1);
    fs::write(&file, &damaged).unwrap();
    let message = run(&experiment).unwrap_err().to_string();
    assert!(
        message.contains("trials.csv`, line 2: `steps` is `twenty`, expected a whole number"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), damaged);
}

/// Sets the flag when the first trial has ended, as Ctrl-C would.
struct StopAfterOne<'a> {
    stop: &'a AtomicBool,
    started: Mutex<usize>,
}

impl Progress for StopAfterOne<'_> {
    fn planned(&self, plan: &Plan) {
        assert_eq!(plan.missing.len(), 12);
    }
    fn started(&self, _: &locus_bench::trial::TrialId) {
        *self.started.lock().unwrap() += 1;
    }
    fn finished(&self, _: &TrialRow) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[test]
fn an_interrupted_run_keeps_what_it_has_and_goes_on_later() {
    let whole = tempfile::tempdir().unwrap();
    run(&experiment(whole.path())).unwrap();

    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    experiment.jobs = 1;
    let stop = AtomicBool::new(false);
    let progress = StopAfterOne { stop: &stop, started: Mutex::new(0) };
    let outcome = experiment.run_with(&build(|_| Act::Random), &progress, &stop).unwrap();
    assert_eq!((outcome.ran, outcome.interrupted, *progress.started.lock().unwrap()), (1, true, 1));
    assert_eq!(outcome.discarded, 0, "no trial was running");
    assert_eq!(results(out.path()).len(), 1);
    assert!(out.path().join("summary.md").exists());

    let outcome = run(&experiment).unwrap();
    assert_eq!((outcome.ran, outcome.skipped, outcome.interrupted), (11, 1, false));
    assert_eq!(results(out.path()), results(whole.path()));
}

/// Stopped in the middle of a trial: no row, no curves of it.
#[test]
fn a_trial_under_way_leaves_nothing_behind() {
    struct StopMidway<'a>(&'a AtomicBool);
    impl Progress for StopMidway<'_> {
        fn stepped(&self, _: &locus_bench::trial::TrialId, _: usize) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    (experiment.steps, experiment.jobs) = (200, 1);
    let stop = AtomicBool::new(false);
    let outcome = experiment.run_with(&build(|_| Act::Random), &StopMidway(&stop), &stop).unwrap();
    assert_eq!((outcome.ran, outcome.failed.len(), outcome.interrupted), (0, 0, true));
    assert_eq!(outcome.discarded, 1);
    assert!(results(out.path()).is_empty());
    assert!(!out.path().join("curves").exists());
}

#[test]
fn trials_of_another_version_are_kept_with_a_warning() {
    let out = tempfile::tempdir().unwrap();
    let experiment = experiment(out.path());
    run(&experiment).unwrap();
    let file = out.path().join("trials.csv");
    let version = format!(",{},", locus_bench::record::VERSION);
    fs::write(&file, fs::read_to_string(&file).unwrap().replacen(&version, ",0.0.9,", 4)).unwrap();
    let outcome = run(&experiment).unwrap();
    assert_eq!(outcome.ran, 0);
    assert_eq!(
        outcome.warnings,
        [Warning::OtherVersion { version: "0.0.9".to_owned(), now: locus::BUILD.to_owned(), trials: 4 }]
    );
    let message = outcome.warnings[0].to_string();
    assert!(
        message.starts_with("4 of these trials were run by locus 0.0.9, but this version is "),
        "{message}"
    );
}

/// A folder of a version without these settings: its further trials are those of the same policy, and have the same name.
#[test]
fn settings_that_came_to_exist_later_keep_a_folder_as_it_was() {
    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    experiment.policies = locus::Registry::standard().parse_list("lin-pool").unwrap();
    let later = [",stretch_after=2000", ",replay_bound=16384"];
    for (is_old, expected) in [(false, "lin-pool"), (true, "lin-pool[replay_bound=all,stretch_after=never]")]
    {
        let built = Mutex::new(Vec::new());
        let fake = build(|_| Act::Random);
        let outcome = run_with(&experiment, &|spec, shape, seed| {
            built.lock().unwrap().push(spec.to_string());
            fake(spec, shape, seed)
        });
        let n = 2 * experiment.trials;
        let expected_built = [vec![expected; 6], vec!["uniform"; 6]].concat();
        let mut built = built.into_inner().unwrap();
        built.sort();
        assert_eq!(built, expected_built);
        let names = results(out.path()).into_iter().map(|row| row.id.policy);
        assert_eq!(names.filter(|name| name == "lin-pool").count(), n);
        let expected_warnings = match is_old {
            true => vec![Warning::OldMeaning { policy: "lin-pool".to_owned(), runs: expected.to_owned() }],
            false => vec![],
        };
        assert_eq!(outcome.unwrap().warnings, expected_warnings);

        let file = out.path().join("run.json");
        let text = later.iter().fold(fs::read_to_string(&file).unwrap(), |text, setting| {
            assert_eq!(text.contains(setting), !is_old);
            text.replace(setting, "")
        });
        fs::write(&file, text).unwrap();
        experiment.trials += 3;
    }
}

/// What numpy would read: the regrets of the steps, which add up to the row's cumulative regret.
#[test]
fn curves_hold_the_steps_of_their_row() {
    let out = tempfile::tempdir().unwrap();
    run(&experiment(out.path())).unwrap();
    let rows = results(out.path());
    for row in &rows {
        let paths = curve_paths(out.path(), &row.id);
        let array = |path, dtype: &str| {
            let bytes = fs::read(path).unwrap();
            let header = String::from_utf8_lossy(&bytes[10..128]).into_owned();
            assert!(header.contains(dtype) && header.contains("(20,)"), "{header}");
            bytes[128..].to_vec()
        };
        let (regrets, actions) = (array(&paths.regret, "<f8"), array(&paths.action, "<u4"));
        let regrets: Vec<f64> =
            regrets.chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect();
        let actions: Vec<u32> =
            actions.chunks(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect();
        let measured = row.outcome.as_ref().unwrap();
        assert_eq!(regrets.iter().sum::<f64>(), measured.cumulative_regret);
        assert_eq!(regrets[15..].iter().sum::<f64>() / 5.0, measured.simple_regret);
        assert_eq!(actions.len(), 20);
        assert!(actions.iter().all(|&action| action < 3));
        assert!(regrets.iter().all(|&regret| (0.0..1.0).contains(&regret)));
    }
    assert_eq!(curves(out.path()).len(), 2 * rows.len());
}
