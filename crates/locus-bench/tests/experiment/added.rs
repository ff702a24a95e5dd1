//! What may be added to a folder, and what may not.

use std::collections::{BTreeMap, HashSet};
use std::fs;

use locus::Seed;
use locus_bench::Experiment;
use locus_bench::record::read_run;
use locus_bench::summary::{Format, Metric, Table};

use crate::fakes::{Act, MAX_STEPS, OTHER, build, dice, dice_from, experiment, results, run, run_with};

#[test]
fn trials_policies_and_problems_may_be_added() {
    let whole = tempfile::tempdir().unwrap();
    let mut all = experiment(whole.path());
    all.policies = locus::Registry::standard().parse_list(&format!("lin-full-post,{OTHER}")).unwrap();
    all.problems = vec![dice("a"), dice("b"), dice("c")];
    all.trials = 4;
    assert_eq!(run(&all).unwrap().ran, 3 * 3 * 4);

    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    assert_eq!(run(&experiment).unwrap().ran, 2 * 2 * 3);
    experiment.policies = locus::Registry::standard().parse_list(OTHER).unwrap();
    assert_eq!(run(&experiment).unwrap().ran, 2 * 3);
    experiment.problems = vec![dice("c")];
    assert_eq!(run(&experiment).unwrap().ran, 2 * 3);
    let remaining = Experiment { out: out.path().to_owned(), ..all };
    assert_eq!(run(&remaining).unwrap().ran, 3 * 3 * 4 - 12 - 6 - 6);
    assert_eq!(results(out.path()), results(whole.path()));

    let recorded = read_run(out.path()).unwrap().unwrap();
    let names: Vec<&str> = recorded.problems.iter().map(|problem| problem.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let policies: Vec<&str> = recorded.policies.iter().map(|policy| policy.policy.as_str()).collect();
    assert_eq!(policies, ["uniform", "lin-full-post", OTHER]);
    assert!(recorded.policies[1].settings.contains("prior_precision=0.25"), "{recorded:?}");
    assert_eq!(recorded.problems[0].files[0].sha256, "11");
    assert_eq!((recorded.seed, recorded.steps), (5, 20));
    assert!(recorded.sessions[0].machine.cpus > 0);
}

/// Trials 1 and 2 alone are what they are among trials 0 to 2; run.json says that they were asked for, and they join a folder of others.
#[test]
fn trials_may_begin_at_any_number() {
    let whole = tempfile::tempdir().unwrap();
    run(&experiment(whole.path())).unwrap();
    let out = tempfile::tempdir().unwrap();
    let last = Experiment { first_trial: 1, trials: 2, ..experiment(out.path()) };
    assert_eq!(run(&last).unwrap().ran, 2 * 2 * 2);
    let mut of_last = results(whole.path());
    of_last.retain(|row| row.id.trial >= 1);
    assert_eq!(results(out.path()), of_last);
    let session = read_run(out.path()).unwrap().unwrap().sessions.remove(0);
    assert_eq!((session.first_trial, session.trials), (1, 2));
    assert_eq!(run(&experiment(out.path())).unwrap().ran, 2 * 2);
    assert_eq!(results(out.path()), results(whole.path()));
}

#[test]
fn uniform_always_runs_and_first() {
    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    experiment.policies =
        locus::Registry::standard().parse_list(&format!("{OTHER},uniform,{OTHER}")).unwrap();
    let plan = experiment.plan().unwrap();
    let order: Vec<String> = plan.missing.iter().take(5).map(ToString::to_string).collect();
    assert_eq!(
        order,
        [
            "uniform on a, trial 0".to_owned(),
            format!("{OTHER} on a, trial 0"),
            "uniform on b, trial 0".to_owned(),
            format!("{OTHER} on b, trial 0"),
            "uniform on a, trial 1".to_owned(),
        ]
    );
    assert_eq!(plan.missing.len(), 12);
    experiment.policies.clear();
    assert_eq!(run(&experiment).unwrap().ran, 6);
}

/// Two policies that always choose the first action miss the same, trial by trial.
#[test]
fn all_policies_of_a_trial_see_the_same_rounds() {
    let out = tempfile::tempdir().unwrap();
    run_with(&experiment(out.path()), &build(|_| Act::First)).unwrap();
    let mut regrets: BTreeMap<(String, usize), Vec<f64>> = BTreeMap::new();
    for row in results(out.path()) {
        let regret = row.outcome.unwrap().cumulative_regret;
        regrets.entry((row.id.problem, row.id.trial)).or_default().push(regret);
    }
    assert!(regrets.values().all(|both| both.len() == 2 && both[0] == both[1]), "{regrets:?}");
    let different: HashSet<u64> = regrets.values().map(|both| both[0].to_bits()).collect();
    assert_eq!(different.len(), 6, "trials and problems have rounds of their own");
}

/// Changes one thing, and expects an error that names both values and touches nothing.
fn refused(change: impl Fn(&mut Experiment), expected: &[&str]) {
    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    run(&experiment).unwrap();
    let files = || ["trials.csv", "run.json"].map(|name| fs::read(out.path().join(name)).unwrap());
    let before = files();
    change(&mut experiment);
    for message in [run(&experiment).unwrap_err().to_string(), experiment.plan().unwrap_err().to_string()] {
        for part in expected.iter().chain(&["--out"]) {
            assert!(message.contains(part), "{message}\n  expected: {part}");
        }
    }
    assert_eq!(files(), before);
}

#[test]
fn another_seed_is_another_experiment() {
    refused(
        |experiment| experiment.seed = Seed::new(6),
        &["with seed 5, but 6 was requested", "use --seed 5"],
    );
}

#[test]
fn other_steps_are_another_experiment() {
    refused(|experiment| experiment.steps = 21, &["with steps 20, but 21 was requested", "use --steps 20"]);
}

#[test]
fn other_data_are_another_experiment() {
    refused(
        |experiment| experiment.problems = vec![dice("b"), dice_from("a", 1.0, "22")],
        &["with `a` data of checksum 11, but 22 was requested"],
    );
}

/// The same file, read in another way: another label, say.
#[test]
fn other_rounds_are_another_experiment() {
    refused(
        |experiment| experiment.problems[1] = dice_from("b", 2.0, "11"),
        &["with `b` rounds of checksum ", "use the label, the column options and the version"],
    );
}

#[test]
fn trials_without_their_run_file_are_not_continued() {
    let out = tempfile::tempdir().unwrap();
    let experiment = experiment(out.path());
    run(&experiment).unwrap();
    fs::remove_file(out.path().join("run.json")).unwrap();
    let message = run(&experiment).unwrap_err().to_string();
    assert!(message.contains("run.json`: missing, but trials exist"), "{message}");
    fs::write(out.path().join("run.json"), "{\"format\": 1").unwrap();
    let message = run(&experiment).unwrap_err().to_string();
    assert!(message.contains("run.json`: not the record of a run: "), "{message}");
}

#[test]
fn senseless_experiments_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    type Change = fn(&mut Experiment);
    let cases: [(Change, &str); 9] = [
        (|experiment| experiment.trials = 0, "`trials` is 0, expected at least 1"),
        (|experiment| experiment.steps = 0, "`steps` is 0, expected at least 1"),
        (|experiment| experiment.jobs = 0, "`jobs` is 0, expected at least 1"),
        // Two policies on two problems.
        (
            |experiment| experiment.trials = 250_001,
            "2 policies on 2 problems with 250001 trials each are 1000004 trials, expected at most 1000000",
        ),
        (
            |experiment| experiment.trials = usize::MAX,
            "expected at most 1000000 in one run; ask for fewer --trials",
        ),
        (|experiment| experiment.problems.clear(), "there is no problem to run"),
        (|experiment| experiment.problems.push(dice("a")), "two problems are called `a`"),
        (
            |experiment| experiment.problems.push(dice("a\nb")),
            "a problem is called \"a\\nb\", expected a name",
        ),
        (
            |experiment| experiment.steps = MAX_STEPS + 1,
            "problem `a` has 1000 rows, fewer than the 1001 steps",
        ),
    ];
    for (change, expected) in cases {
        let mut experiment = experiment(&out);
        change(&mut experiment);
        let message = run(&experiment).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
        assert!(!out.exists());
    }
}

/// The normalised mean of the table against the rows, by the definition.
#[test]
fn the_table_divides_by_uniform_over_the_policys_own_trials() {
    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    run(&experiment).unwrap();
    experiment.policies.clear();
    experiment.trials = 6;
    run(&experiment).unwrap();
    let rows = results(out.path());
    let sum = |policy: &str, trials: usize| -> f64 {
        let own = rows
            .iter()
            .filter(|row| row.id.problem == "a" && row.id.policy == policy && row.id.trial < trials);
        own.map(|row| row.outcome.as_ref().unwrap().cumulative_regret).sum()
    };
    let table = Table::new(&rows, Metric::Cumulative);
    let ours = table.lines[1].cells[0].ours.unwrap();
    assert_eq!((table.lines[1].policy.as_str(), ours.n), ("lin-full-post", 3));
    assert!((ours.mean - 100.0 * sum("lin-full-post", 3) / sum("uniform", 3)).abs() < 1e-9);
    assert!((sum("uniform", 6) / 6.0 - sum("uniform", 3) / 3.0).abs() > 1e-3, "the test would not tell");
    assert_eq!(table.lines[0].cells[0].ours.unwrap().mean, 100.0);
    assert!(
        fs::read_to_string(out.path().join("summary.md")).unwrap().contains(&table.render(Format::Markdown))
    );
}
