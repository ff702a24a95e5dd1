//! Distribution of dropout patterns, the gradient through one pattern, and samples that agree near the data.

use super::*;
use crate::agent::contract::assert_settings;
use crate::agent::{Choose, Policy};
use crate::math::nn::gradient_check::check_gradient;
use crate::model::net::reward_net::{AllUnits, RewardNet};
use crate::model::training::minibatch::Minibatch;
use crate::registry::values::Layers;
use crate::{Outcome, Propensity, Request};

/// The kinks of the ReLUs need short steps, which leave fewer digits.
const TOLERANCE: f64 = 1e-2;

/// Counts of each line lie within five standard deviations; false alarms for one seed in 100 000 for all lines and shapes.
#[test]
fn units_are_kept_as_often_as_they_should_be_and_count_for_those_left_out() {
    for keep in [0.8, 0.3, 1.0] {
        for (n_units, n_columns) in [(3, 10_001), (30_000, 1)] {
            let mut outputs = Panel::new(n_units, n_columns);
            outputs.fill(2.0);
            KeptUnits::new(keep).pass(&mut outputs, &mut Seed::new(1).stream("test", 0));
            for run in outputs.runs() {
                let n_kept = run.iter().filter(|output| **output != 0.0).count() as f64;
                let n = run.len() as f64;
                let bound = 5.0 * (n * keep * (1.0 - keep)).sqrt();
                assert!((n_kept - n * keep).abs() <= bound, "{n_kept} of {n}, expected {keep}");
                let expected = (2.0 / keep) as f32;
                assert!(run.iter().all(|&output| output == 0.0 || (output - expected).abs() < 1e-6));
            }
        }
    }
}

#[test]
fn what_is_left_out_may_have_overflowed() {
    let mut outputs = Panel::new(1000, 1);
    outputs.fill(f32::INFINITY);
    KeptUnits::new(0.5).pass(&mut outputs, &mut Seed::new(1).stream("test", 0));
    assert!(outputs.runs().flatten().all(|&output| output == 0.0 || output == f32::INFINITY));
    assert!(outputs.runs().flatten().any(|&output| output == 0.0));
}

/// With one pattern of units for every row, always the same one, the gradient of the loss equals differences: one and two hidden layers.
#[test]
fn the_gradient_through_a_fixed_pattern_equals_differences() {
    const N: usize = 21;
    let (shape, units) = (Shape::new(3, 4), KeptUnits::new(0.6));
    for layers in [vec![7], vec![8, 6]] {
        let net = RewardNet::new(&Layers(layers.clone()), shape);
        let mut rng = Seed::new(2).stream("test", 0);
        let mut parameters = net.initialize(0.9, &mut rng);
        // Biases too, so that none of them is 0.
        parameters.iter_mut().for_each(|parameter| *parameter += 0.1 * rng.normal() as f32);
        let mut inputs = Panel::new(shape.n_features, N);
        inputs.all_mut().iter_mut().flatten().for_each(|value| *value = rng.normal() as f32);
        let batch = Minibatch {
            inputs,
            actions: (0..N).map(|row| (row * row) % shape.n_actions).collect(),
            rewards: (0..N).map(|_| 3.0 * rng.normal() as f32).collect(),
        };
        let mut work = NetWork::default();
        (work.batch, work.gradients) = (batch, vec![0.0; net.n_parameters]);
        let loss = |parameters: &[f32], work: &mut NetWork| {
            net.loss(parameters, &units, &mut Seed::new(3).stream("pattern", 0), work)
        };
        loss(&parameters, &mut work);
        let gradients = work.gradients.clone();
        check_gradient(&format!("dropout, {layers:?}"), TOLERANCE, &parameters, &gradients, |parameters| {
            loss(parameters, &mut work)
        });
    }
}

/// With one hidden layer h and output weights w, a drawn reward has the mean Σ w·h + b and the variance Σ (w·h)²·(1 − p)/p.
/// 40 000 draws: the mean within five standard errors, false alarms for one seed in 1 700 000; the variance within 5 %, seven of its standard errors
/// for a sum of so many terms.
#[test]
fn draws_have_the_mean_and_variance_of_the_formula() {
    const N: usize = 40_000;
    const KEEP: f64 = 0.7;
    let config = DropoutConfig { keep_probability: KEEP, ..DropoutConfig::default() };
    let shape = Shape::new(3, 2);
    let policy = config.build_agent(shape, Seed::new(1)).unwrap();
    let weights = &policy.learner().decider.weights;
    let context = [0.5_f32, -1.0, 2.0];
    let mut work = NetWork::default();
    let features = weights.net.features(&weights.parameters, &[&context], &mut work).unwrap();
    let features: Vec<f64> = features.all().iter().flatten().map(|&feature| f64::from(feature)).collect();
    // Weights [50, 2] of the output layer, and its two biases, come last.
    let output = &weights.parameters[weights.parameters.len() - 102..];
    let drawn = policy.sample_rewards(0, &vec![context.as_slice(); N]).unwrap();
    for action in 0..2 {
        let products: Vec<f64> =
            features.iter().enumerate().map(|(unit, h)| h * f64::from(output[2 * unit + action])).collect();
        let mean = products.iter().sum::<f64>() + f64::from(output[100 + action]);
        let variance = products.iter().map(|product| product * product).sum::<f64>() * (1.0 - KEEP) / KEEP;
        let draws: Vec<f64> = drawn.iter().copied().skip(action).step_by(2).collect();
        let found_mean = draws.iter().sum::<f64>() / N as f64;
        let found_variance =
            draws.iter().map(|draw| (draw - found_mean).powi(2)).sum::<f64>() / (N - 1) as f64;
        let bound = 5.0 * (variance / N as f64).sqrt();
        assert!((found_mean - mean).abs() < bound, "action {action}: {found_mean} {mean}");
        assert!(
            (found_variance / variance - 1.0).abs() < 0.05,
            "action {action}: {found_variance} {variance}"
        );
    }
}

fn context(round: u64) -> [f32; 4] {
    let mut rng = Seed::new(5).stream("problem", round);
    std::array::from_fn(|_| rng.normal() as f32)
}

fn outcome(round: u64, context: &[f32; 4]) -> Outcome<'_> {
    let action = round as usize % 2;
    Outcome::new(round, context, action, f64::from(context[action]))
}

/// The mean variance of drawn rewards, over contexts that were never seen.
fn draw_variance(model: &Dropout) -> f64 {
    const N: usize = 200;
    let mut total = 0.0;
    for number in 0..50 {
        let context = context(1_000_000 + number);
        let mut drawn = vec![0.0; 2 * N];
        let rng = &mut Seed::new(2).stream("sample", number);
        let contexts = vec![context.as_slice(); N];
        Scratch::with(|scratch| model.decider().draw(&contexts, rng, scratch, &mut drawn)).unwrap();
        for action in 0..2 {
            let draws = || drawn.iter().skip(action).step_by(2);
            let mean = draws().sum::<f64>() / N as f64;
            total += draws().map(|draw| (draw - mean).powi(2)).sum::<f64>() / (N - 1) as f64;
        }
    }
    total / 100.0
}

/// In the course of a policy's life, from its first round of training on, every tenfold of data takes variance from the draws.
#[test]
fn the_variance_of_draws_falls_with_data() {
    let config = DropoutConfig {
        net: RewardNetConfig { batch_size: 128, train_every: 20, ..DropoutConfig::default().net },
        ..DropoutConfig::default()
    };
    for seed in 1..=2 {
        let mut policy = config.build_agent(Shape::new(4, 2), Seed::new(seed)).unwrap();
        let mut variances = Vec::new();
        for round in 0..2000 {
            policy.learn(outcome(round, &context(round))).unwrap();
            if [20, 200, 2000].contains(&(round + 1)) {
                variances.push(draw_variance(policy.learner()));
            }
        }
        for pair in variances.windows(2) {
            assert!(pair[1] < 0.95 * pair[0], "seed {seed}: {variances:?}");
        }
    }
}

/// A net that was trained with all its units has more than twice the variance when some are dropped.
#[test]
fn training_makes_patterns_agree() {
    let config = DropoutConfig {
        net: RewardNetConfig {
            learning_rate: 0.01,
            learning_rate_decay: 0.0,
            ..DropoutConfig::default().net
        },
        ..DropoutConfig::default()
    };
    let mut model = Dropout::new(&config, Shape::new(4, 2), Seed::new(1));
    let mut replay = Replay::new(4, None);
    (0..500).for_each(|round| replay.push(&outcome(round, &context(round))));
    let mut undropped = model.clone();
    for round in 0..5 {
        let rng = || Seed::new(1).stream("fit", round);
        model.fit(&replay, &mut rng()).unwrap();
        let Dropout { decider, trainer, work } = &mut undropped;
        trainer.fit(&mut decider.weights, &replay, &AllUnits, &mut rng(), work).unwrap();
    }
    let variances = [&model, &undropped].map(draw_variance);
    assert!(2.0 * variances[0] < variances[1], "{variances:?}");
}

/// The pattern is drawn per decision: the same round gives the same choice, other rounds may differ, and the propensity is unknown.
#[test]
fn every_decision_has_a_pattern_of_its_own() {
    let policy = DropoutConfig::default().build_agent(Shape::new(4, 5), Seed::new(1)).unwrap();
    let context = context(0);
    let choose = |round| policy.choose(Request::new(round, &context)).unwrap();
    let choices: Vec<usize> = (10..60).map(|round| choose(round).action).collect();
    assert_eq!(choices, (10..60).map(|round| choose(round).action).collect::<Vec<_>>());
    assert!(choices.iter().any(|action| *action != choices[0]), "{choices:?}");
    assert_eq!(choose(10).propensity, Propensity::Unknown);
}

#[test]
fn defaults_are_the_benchmarks() {
    let expected = "hidden_layers=50 initial_weights=0.3 learning_rate=0.1 learning_rate_decay=0.5 max_gradient_norm=5 \
        batch_size=512 train_every=50 minibatches=100 replay_capacity=all keep_probability=0.8 initial_pulls=2";
    assert_settings("dropout", expected);
}
