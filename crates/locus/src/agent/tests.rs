//! Batches against single decisions, for all policies that compute batches differently.

use super::contract::specs;
use super::learner::drawn;
use super::*;
use crate::{PolicySpec, Propensity, Seed};

/// A policy that has learned from some rounds of a linear problem.
fn trained(spec: &PolicySpec, shape: Shape, n_observed: u64) -> Box<dyn Policy> {
    let mut policy = spec.build(shape, Seed::new(1)).unwrap();
    for round in 0..n_observed {
        let mut rng = Seed::new(2).stream("problem", round);
        let context: Vec<f32> = (0..shape.n_features).map(|_| rng.normal() as f32).collect();
        let action = rng.below(shape.n_actions);
        let reward = f64::from(context[action % shape.n_features]) + 0.3 * rng.normal();
        policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
    }
    policy
}

/// Contexts and masks of many requests; every third allows a part of the actions.
struct Asked {
    contexts: Vec<Vec<f32>>,
    masks: Vec<Option<Vec<bool>>>,
}

impl Asked {
    fn new(shape: Shape, n: usize) -> Self {
        let (mut contexts, mut masks) = (Vec::new(), Vec::new());
        for index in 0..n {
            let mut rng = Seed::new(3).stream("request", index as u64);
            contexts.push((0..shape.n_features).map(|_| rng.normal() as f32).collect());
            let only = rng.below(shape.n_actions);
            let mask = (0..shape.n_actions).map(|action| action == only || rng.below(2) == 0).collect();
            masks.push((index % 3 == 0).then_some(mask));
        }
        Self { contexts, masks }
    }

    fn requests(&self) -> Vec<Request<'_>> {
        let asked = self.contexts.iter().zip(&self.masks).zip(1000..);
        asked
            .map(|((context, mask), round)| Request {
                allowed: mask.as_deref(),
                ..Request::new(round, context)
            })
            .collect()
    }
}

/// More requests than one batch, and numbers of requests that do and do not fill the SIMD lanes.
#[test]
fn linear_policies_decide_in_batches_as_one_by_one_to_the_bit() {
    let shapes =
        [Shape::new(1, 2), Shape::new(4, 7), Shape::new(13, 3), Shape::new(54, 20), Shape::new(6, 1)];
    for policy in ["lin-full-post", "lin-ucb", "lin-pool", "lin-full-post[floor=0.2]"] {
        for shape in shapes {
            let policy = trained(&policy.parse().unwrap(), shape, 150);
            for n in [1, 2, 7, 300] {
                let asked = Asked::new(shape, n);
                for is_asking in [false, true] {
                    let mut requests = asked.requests();
                    requests.iter_mut().for_each(|request| request.wants_propensity = is_asking);
                    let expected: Vec<Choice> =
                        requests.iter().map(|request| policy.choose(*request).unwrap()).collect();
                    assert_eq!(
                        policy.choose_many(&requests).unwrap(),
                        expected,
                        "{} {shape:?} {n}",
                        policy.name()
                    );
                    let mut many = vec![0.0; n * shape.n_actions];
                    policy.distribution_many(&requests, &mut many).unwrap();
                    let mut one = vec![0.0; shape.n_actions];
                    for (request, many) in requests.iter().zip(many.chunks_exact(shape.n_actions)) {
                        policy.distribution(*request, &mut one).unwrap();
                        assert_eq!(many, one, "{} {shape:?} {n}", policy.name());
                    }
                }
            }
        }
    }
}

/// The rewards that are compared agree to 1e-5 of their size, and do not depend on the batch at all.
#[test]
fn nets_draw_in_batches_what_they_draw_alone() {
    let shape = Shape::new(21, 4);
    let mut n_compared = 0;
    for spec in specs() {
        let policy = trained(&spec, shape, 110);
        let asked = Asked::new(shape, 37);
        let requests = asked.requests();
        drawn::take();
        policy.choose_many(&requests).unwrap();
        let many = drawn::take();
        if many.len() != requests.len() * shape.n_actions {
            // Decided one by one, or not by draws.
            continue;
        }
        n_compared += 1;
        for (request, many) in requests.iter().zip(many.chunks_exact(shape.n_actions)) {
            policy.choose(*request).unwrap();
            let alone = drawn::take();
            let size = alone.iter().fold(0.0, |size: f64, reward| size.max(reward.abs()));
            for (many, alone) in many.iter().zip(&alone) {
                assert!((many - alone).abs() <= 1e-5 * size, "{spec}: {many} {alone}");
            }
            policy.choose_many(&[*request]).unwrap();
            assert_eq!(drawn::take(), many, "{spec}: a batch of one");
        }
        for lot in requests.chunks(5) {
            policy.choose_many(lot).unwrap();
            let first = ((lot[0].round - 1000) as usize) * shape.n_actions;
            assert_eq!(
                drawn::take(),
                many[first..first + lot.len() * shape.n_actions],
                "{spec}: batches of five"
            );
        }
    }
    // LU-Gauss, LU-SIVI and their ablations in two presets each, BBB, FBNN in six, pi-ts-dgf in two, dropout, bootstrap.
    assert_eq!(n_compared, 8 + 1 + 6 + 2 + 1 + 1);
}

/// Probabilities of nets that follow a rule, and of those with linear regressions on their features.
#[test]
fn nets_have_in_batches_the_probabilities_that_they_have_alone() {
    let shape = Shape::new(21, 4);
    for id in [
        "epsilon-greedy",
        "boltzmann",
        "neural-linear",
        "locus",
        "neural-ucb",
        "neural-ts",
        "neural-ts[hidden_layers=9x8]",
    ] {
        let policy = trained(&id.parse().unwrap(), shape, 110);
        let asked = Asked::new(shape, 37);
        let requests = asked.requests();
        let mut many = vec![0.0; requests.len() * shape.n_actions];
        policy.distribution_many(&requests, &mut many).unwrap();
        let choices = policy.choose_many(&requests).unwrap();
        for (place, (request, many)) in requests.iter().zip(many.chunks_exact(shape.n_actions)).enumerate() {
            let mut alone = vec![0.0; shape.n_actions];
            policy.distribution(*request, &mut alone).unwrap();
            for (many, alone) in many.iter().zip(&alone) {
                assert!((many - alone).abs() < 1e-4, "{id}: {many} {alone}");
            }
            assert_eq!(policy.choose_many(&[*request]).unwrap()[0], choices[place], "{id}: a batch of one");
            if let Propensity::Exact(propensity) = choices[place].propensity {
                assert_eq!(propensity, many[choices[place].action], "{id}");
            }
        }
    }
}

/// A context so large that its reward overflows fails alone, and in a batch the error names its index.
#[test]
fn what_overflows_in_a_batch_is_named() {
    let shape = Shape::new(21, 4);
    for spec in specs() {
        let policy = trained(&spec, shape, 110);
        let huge = vec![3e38; 21];
        let asked = Asked::new(shape, 20);
        for place in [0, 7, 19] {
            let mut requests = asked.requests();
            requests[place] = Request::new(requests[place].round, &huge);
            let alone = policy.choose(requests[place]);
            match policy.choose_many(&requests) {
                Ok(_) => assert!(alone.is_ok(), "{spec}: {alone:?}"),
                Err(error) => {
                    assert!(error.is_numeric() && alone.is_err(), "{spec}: {error}");
                    assert_eq!(error.index(), Some(place), "{spec}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_floor_of_1_is_uniform() {
    let policy = trained(&"lin-full-post[floor=1]".parse().unwrap(), Shape::new(3, 4), 50);
    let mut probabilities = [0.0; 4];
    let request = Request::new(100, &[1.0, 2.0, 3.0]).allowing(&[true, true, false, true]);
    policy.distribution(request, &mut probabilities).unwrap();
    assert!(probabilities.iter().zip([1.0, 1.0, 0.0, 1.0]).all(|(p, share)| (p - share / 3.0).abs() < 1e-15));
}

/// So many actions that a batch is one request, and that a scan for each of them would take minutes.
#[test]
fn many_actions_are_decided_among_in_a_time_that_grows_with_their_number() {
    let shape = Shape::new(2, 200_000);
    let mut policy =
        "lin-full-post[initial_pulls=0]".parse::<PolicySpec>().unwrap().build(shape, Seed::new(1)).unwrap();
    policy.learn(Outcome::new(0, &[1.0, 0.5], 7, 30.0)).unwrap();
    let requests = [Request::new(1, &[1.0, 0.5]).with_propensity(), Request::new(2, &[1.0, 0.4])];
    let choices = policy.choose_many(&requests).unwrap();
    for (request, choice) in requests.iter().zip(choices) {
        assert_eq!(policy.choose(*request).unwrap(), choice);
    }
}

/// The file does not store them, and later outcomes cannot recover them.
#[test]
fn rounds_learned_before_format_2_stay_unknown() {
    let file = include_bytes!("../../tests/saved/format-1-lin-full-post.locus");
    let mut policy = crate::load(file).unwrap();
    assert_eq!((policy.n_observed(), policy.last_round()), (30, None));
    let context = vec![0.5; policy.shape().n_features];
    policy.learn(Outcome::new(3, &context, 0, 1.0)).unwrap();
    let loaded = crate::load(&policy.save()).unwrap();
    assert_eq!((loaded.n_observed(), loaded.last_round()), (31, None));
    let mut policy =
        "lin-full-post".parse::<PolicySpec>().unwrap().build(Shape::new(1, 2), Seed::new(1)).unwrap();
    policy.learn(Outcome::new(u64::MAX, &[1.0], 0, 1.0)).unwrap();
    assert_eq!(crate::load(&policy.save()).unwrap().last_round(), Some(u64::MAX));
}
