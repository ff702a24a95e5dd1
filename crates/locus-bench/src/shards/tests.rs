use std::path::PathBuf;

use locus::{Registry, Seed};
use proptest::prelude::*;

use super::*;
use crate::problem;
use crate::record::Measured;
use crate::trial::TrialId;

fn experiment(trials: usize) -> Experiment {
    let registry = Registry::standard();
    Experiment {
        suite: "test".to_owned(),
        command: Vec::new(),
        problems: ["wheel", "linear"].map(|name| problem::load(name, None).unwrap()).to_vec(),
        policies: registry.parse_list("lin-full-post,lu-gauss").unwrap(),
        registry,
        trials,
        first_trial: 3,
        steps: 20,
        seed: Seed::new(0),
        propensities: false,
        jobs: 1,
        part: Part::All,
        out: PathBuf::from("out"),
    }
}

fn row(problem: &str, policy: &str, trial: usize, seconds: f64) -> TrialRow {
    let id = TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial };
    let outcome = Ok(Measured {
        cumulative_regret: 1.0,
        simple_regret: 1.0,
        seconds_choosing: 0.0,
        seconds_learning: seconds,
        cpu_seconds: None,
        interventions: Some(0),
    });
    TrialRow { id, seed: 0, steps: 40, outcome, version: "0.1.0".to_owned() }
}

/// Of six kinds, three trials each, LU-Gauss takes 10 and 6 seconds, the others 1 and less.
fn recorded() -> Vec<TrialRow> {
    let kind = |problem, policy, seconds| (0..3).map(move |trial| row(problem, policy, trial, 2.0 * seconds));
    kind("wheel", "uniform", 0.0)
        .chain(kind("linear", "uniform", 0.5))
        .chain(kind("wheel", "lin-full-post", 1.0))
        .chain(kind("linear", "lin-full-post", 1.0))
        .chain(kind("wheel", "lu-gauss", 10.0))
        .chain(kind("linear", "lu-gauss", 6.0))
        .chain([row("adult", "lu-gauss", 0, 1e9)])
        .collect()
}

/// 55.5 seconds in two shards: the longest first gives 28 and 27.5.
#[test]
fn shards_take_about_as_long() {
    let planned = Planned::new(&experiment(3), 2, &recorded()).unwrap();
    assert_eq!((planned.n_measured, planned.n_kinds(), planned.plan.n_trials()), (6, 6, 18));
    let mut seconds: Vec<f64> = planned.plan.shards().iter().map(|shard| shard.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    assert!((seconds.iter().sum::<f64>() - 55.5).abs() < 1e-6, "{seconds:?}");
    assert!(seconds[1] - seconds[0] < 1.1, "{seconds:?}");
    // Recorded seconds do not vary here, so the simulation is the plan.
    let simulated = planned.simulate(Durations::Drawn);
    assert!((planned.simulate(Durations::Median).seconds - simulated.seconds).abs() < 1e-3);
    assert!((simulated.seconds - seconds[1]).abs() < 1e-6);
    assert!((simulated.efficiency - 55.5 / (2.0 * seconds[1])).abs() < 1e-6);
    let queue = planned.simulate_queue(Durations::Median, 1, 0.0).unwrap();
    assert!((queue.efficiency - 1.0).abs() < 1e-9 && (queue.seconds - 55.5).abs() < 1e-6);
    for (nodes, failing) in [(0, 0.0), (2, 1.0), (2, 0.9), (2, -0.1), (2, f64::NAN)] {
        assert!(planned.simulate_queue(Durations::Drawn, nodes, failing).is_err(), "{nodes} {failing}");
    }
}

#[test]
fn a_plan_is_read_as_it_was_written_and_only_for_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    let plan = Planned::new(&experiment(3), 2, &[]).unwrap().plan;
    plan.write(&path).unwrap();
    plan.write(&path).unwrap();
    let read = ShardPlan::read(&path).unwrap();
    assert_eq!(read, plan);
    let other = Planned::new(&experiment(3), 3, &[]).unwrap().plan;
    assert!(other.write(&path).unwrap_err().to_string().contains("already exists"));
    let shard = Shard { number: 2, of: 2 };
    assert_eq!(
        read.part(shard, &experiment(3)).unwrap(),
        Part::Planned(shard, plan.shards[1].trials.clone())
    );
    let refused = |plan: &ShardPlan, shard, experiment: &Experiment, expected: &str| {
        let message = plan.part(shard, experiment).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    refused(&plan, shard, &experiment(4), "the plan was made for trials 3, but 4 was requested; use");
    refused(&plan, Shard { number: 2, of: 3 }, &experiment(3), "for number of shards 2, but 3 was requested");
    let mut damaged = plan.clone();
    damaged.shards[0].trials[0].numbers[0][0] += 1;
    refused(&damaged, shard, &experiment(3), "the plan is damaged: ");
    let mut damaged = plan.clone();
    damaged.shards[0].trials.pop();
    refused(&damaged, shard, &experiment(3), "the plan is damaged: ");
}

proptest! {
    /// Whatever was recorded, every trial is in one shard, and no shard has none.
    #[test]
    fn plans_are_partitions(
        trials in 1..20_usize, n_shards in 1..40_usize, seconds in prop::collection::vec(0.0..100.0_f64, 0..12),
    ) {
        let experiment = experiment(trials);
        let n_shards = n_shards.min(6 * trials);
        let kinds = [("wheel", "lu-gauss"), ("linear", "uniform"), ("linear", "lin-full-post")];
        let rows: Vec<TrialRow> = seconds.iter().enumerate().map(|(trial, seconds)| {
            let (problem, policy) = kinds[trial % kinds.len()];
            row(problem, policy, trial, *seconds)
        }).collect();
        let planned = Planned::new(&experiment, n_shards, &rows).unwrap();
        prop_assert_eq!(planned.plan.check_partition(), Ok(()));
        prop_assert!(planned.plan.shards().iter().all(|shard| !shard.trials.is_empty()));
        // No shard is ahead of another by more than the longest trial.
        let loads: Vec<f64> = planned.plan.shards().iter().map(|shard| shard.seconds).collect();
        let longest = planned.samples.iter().map(|samples| crate::summary::quantile(samples, 0.5)).fold(0.0, f64::max);
        let (least, most) = (loads.iter().copied().fold(f64::INFINITY, f64::min), loads.iter().copied().fold(0.0, f64::max));
        prop_assert!(most - least <= longest + 2e-3);
        let simulated = planned.simulate_queue(Durations::Drawn, 3, 0.34).unwrap();
        prop_assert!(simulated.failed == 1 && simulated.efficiency <= 1.0 + 1e-9);
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = parse_format::<ShardPlan>(&text, "a plan", FORMAT);
    }
}
