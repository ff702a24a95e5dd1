//! Problems whose actions have features.

use std::fs;
use std::sync::atomic::AtomicBool;

use locus::Registry;
use locus_bench::Experiment;
use locus_bench::problem::load;
use locus_bench::record::read_run;

use crate::fakes::{experiment, results};

fn bilinear(out: &std::path::Path, policies: &str) -> Experiment {
    Experiment {
        problems: vec![load("bilinear", None).unwrap()],
        policies: Registry::standard().parse_list(policies).unwrap(),
        trials: 2,
        steps: 400,
        ..experiment(out)
    }
}

/// The reward is bilinear in context and candidate: with products of features a linear policy finds good candidates, without them it
/// learns only which features are good everywhere.
#[test]
fn policies_choose_among_candidates() {
    let out = tempfile::tempdir().unwrap();
    let (products, plain) = ("lin-full-post[interactions=all]", "lin-full-post");
    let experiment = bilinear(out.path(), &format!("{products},{plain}"));
    let outcome = experiment.run(&(), &AtomicBool::new(false)).unwrap();
    assert_eq!((outcome.ran, outcome.failed.len()), (6, 0));
    for trial in 0..2 {
        let regret = |policy: &str| {
            let rows = results(out.path());
            let row = rows.into_iter().find(|row| row.id.policy == policy && row.id.trial == trial).unwrap();
            row.outcome.unwrap().cumulative_regret
        };
        let [products, plain, uniform] = [products, plain, "uniform"].map(regret);
        assert!(products < 0.35 * uniform && plain < 0.95 * uniform, "{products}, {plain}, {uniform}");
        assert!(products < 0.6 * plain, "{products}, {plain}");
    }
    let recorded = read_run(out.path()).unwrap().unwrap().problems.remove(0);
    assert_eq!((recorded.n_features, recorded.n_actions, recorded.n_action_features), (10, 20, 5));
    let text = fs::read_to_string(out.path().join("run.json")).unwrap();
    assert!(text.contains("\"n_action_features\": 5"), "{text}");
}

/// With and without propensities; the same row on any number of threads.
#[test]
fn trials_with_candidates_are_repeated_exactly() {
    let rows = |jobs, propensities| {
        let out = tempfile::tempdir().unwrap();
        let experiment =
            Experiment { jobs, propensities, steps: 60, ..bilinear(out.path(), "lin-full-post") };
        assert_eq!(experiment.run(&(), &AtomicBool::new(false)).unwrap().ran, 4);
        results(out.path())
    };
    for propensities in [false, true] {
        assert_eq!(rows(1, propensities), rows(2, propensities));
    }
}

#[test]
fn policies_without_a_model_of_candidates_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new");
    let error = bilinear(&out, "lin-full-post,bbb").run(&(), &AtomicBool::new(false)).err().unwrap();
    let message = error.to_string();
    assert!(
        message.contains("the actions of `bilinear` have features: policy `bbb` does not support"),
        "{message}"
    );
    assert!(!out.exists());
}
