//! BBB against finite differences, a posterior that is known, and rewards that jump.

use super::config::BbbConfig;
use super::model::{Bbb, LOG_STD_BOUNDS, Parts, Work};
use crate::nn::{Normals, Panel};
use crate::policy::minibatch::Minibatch;
use crate::policy::settings::{Layers, Switch};
use crate::policy::thompson::RewardModel;
use crate::replay::Replay;
use crate::{Outcome, PolicySpec, Request, Seed, Shape};

fn batch(shape: Shape, n_rows: usize) -> Minibatch {
    let mut rng = Seed::new(1).stream("batch", 0);
    let mut inputs = Panel::new(shape.n_features, n_rows);
    inputs.all_mut().iter_mut().flatten().for_each(|value| *value = rng.normal() as f32);
    Minibatch {
        inputs,
        actions: (0..n_rows).map(|row| row % shape.n_actions).collect(),
        rewards: (0..n_rows).map(|_| rng.normal() as f32).collect(),
    }
}

/// The loss at these parameters, always with the same noise.
fn loss(parts: &Parts, parameters: &[f32], work: &mut Work) -> f64 {
    let mut variances = Vec::new();
    parts.net.variances(parameters, &mut variances);
    let normals = &mut Normals::new(&mut Seed::new(2).stream("noise", 0));
    parts.loss(parameters, &variances, 17, normals, work)
}

#[test]
fn gradients_equal_finite_differences() {
    let shape = Shape::new(3, 4);
    let config = BbbConfig {
        initial_mean_std: 0.5,
        initial_log_std: -1.0,
        initial_log_std_spread: 0.3,
        noise_std: 0.4,
        variance_floor: 1e-3,
        ..BbbConfig::default()
    };
    for layers in [vec![], vec![6], vec![7, 5]] {
        let parts = Parts::new(&BbbConfig { layers: Layers(layers), ..config.clone() }, shape);
        let mut parameters = vec![0.0; parts.n_parameters];
        parts.net.initialize(&mut parameters, config.start(), &mut Seed::new(3).stream("init", 0));
        let gradients = vec![0.0; parts.n_parameters];
        let mut work = Work { batch: batch(shape, 21), gradients, ..Work::default() };
        loss(&parts, &parameters, &mut work);
        let gradients = work.gradients.clone();
        let scale = gradients.iter().fold(1.0_f32, |largest, gradient| largest.max(gradient.abs()));
        let mut n_wrong = 0;
        for place in 0..parameters.len() {
            let step = 1e-3;
            let mut at = |offset: f32| {
                let mut moved = parameters.clone();
                moved[place] += offset;
                loss(&parts, &moved, &mut work)
            };
            let difference = (at(step) - at(-step)) / f64::from(2.0 * step);
            // Single precision and the kinks of the ReLUs leave a little.
            let bound = 0.01 * difference.abs() + 1e-3 * f64::from(scale);
            n_wrong += usize::from((difference - f64::from(gradients[place])).abs() > bound);
        }
        assert!(n_wrong * 50 <= parameters.len(), "{n_wrong} of {} gradients are wrong", parameters.len());
    }
}

/// A net without hidden layers on data that it describes: the optimum among independent Gaussians is known.
///
/// With Λ = XᵀX/noise² + I/prior² of the rows of an action, the variances are 1/Λ_ii, not the larger diagonal of Λ⁻¹. Means and bias
/// solve the normal equations, where the bias is free. Parameters are averaged over the second half of training, since Adam never
/// comes to rest; what remains is within 10 % of a standard deviation for means, and 5 % for variances.
#[test]
fn a_linear_net_finds_the_best_independent_gaussians() {
    const N: usize = 400;
    let shape = Shape::new(3, 2);
    let config = BbbConfig {
        layers: Layers(vec![]),
        noise_std: 0.5,
        learning_rate: 2e-3,
        batch_size: 256,
        minibatches: 100,
        ..BbbConfig::default()
    };
    let mut model = Bbb::new(&config, shape, Seed::new(1));
    let mut replay = Replay::new(shape.n_features, None);
    let mut rng = Seed::new(2).stream("problem", 0);
    // Rows of [x, 1 | r] by action; features are correlated, so that the independent Gaussians are not the posterior.
    let mut rows: [Vec<[f64; 5]>; 2] = Default::default();
    for round in 0..N {
        let shared = rng.normal();
        let context: [f32; 3] = std::array::from_fn(|_| (0.8 * shared + 0.6 * rng.normal()) as f32);
        let [a, b, c] = context.map(f64::from);
        // Actions are not played equally often.
        let action = usize::from(round % 4 == 0);
        let mean = if action == 0 { 0.5 * a - b + 0.3 } else { 0.2 * c - 0.4 * a };
        let reward = mean + 0.5 * rng.normal();
        let outcome = Outcome { round: round as u64, context: &context, action, reward };
        model.observe(&outcome);
        replay.push(&outcome);
        rows[action].push([a, b, c, 1.0, reward]);
    }
    const ROUNDS: u64 = 120;
    let mut average = vec![0.0_f64; model.parameters.len()];
    for round in 0..ROUNDS {
        let report = model.fit(&replay, &mut Seed::new(3).stream("fit", round)).unwrap();
        assert_eq!(report.interventions, 0);
        if round >= ROUNDS / 2 {
            let weight = 2.0 / ROUNDS as f64;
            average.iter_mut().zip(&model.parameters).for_each(|(sum, &p)| *sum += weight * f64::from(p));
        }
    }
    let layer = &model.parts.net.layers()[0];
    for (action, rows) in rows.iter().enumerate() {
        // The normal equations of means and bias, solved by elimination.
        let mut system = [[0.0; 5]; 4];
        for row in rows {
            for i in 0..4 {
                for j in 0..5 {
                    system[i][j] += row[i] * row[j] / 0.25;
                }
            }
        }
        // The prior's variance is 2/3; the bias has none.
        (0..3).for_each(|i| system[i][i] += 1.5);
        let precisions: [f64; 3] = std::array::from_fn(|i| system[i][i]);
        for i in 0..4 {
            let pivot = system[i];
            for (other, line) in system.iter_mut().enumerate() {
                let factor = line[i] / pivot[i];
                if other != i {
                    (0..5).for_each(|j| line[j] -= factor * pivot[j]);
                }
            }
        }
        for i in 0..3 {
            let (mean, std) = (system[i][4] / system[i][i], precisions[i].powf(-0.5));
            let found = average[layer.means()][i * 2 + action];
            assert!((found - mean).abs() < 0.1 * std, "mean {i} of {action}: {found}, {mean} ± {std}");
            let variance = (2.0 * average[layer.log_stds()][i * 2 + action]).exp();
            assert!((variance * precisions[i] - 1.0).abs() < 0.05, "variance {i} of {action}: {variance}");
        }
        let (found, bias) = (average[layer.bias()][action], system[3][4] / system[3][3]);
        assert!((found - bias).abs() < 0.002, "bias of {action}: {found}, {bias}");
    }
}

/// Rewards of order one become a million times larger: training goes on without a NaN, in either scale.
#[test]
fn rewards_that_jump_to_a_million_do_not_break_training() {
    for scaling in [Switch::Off, Switch::On] {
        let word = if scaling == Switch::On { "on" } else { "off" };
        let text = format!("bbb[reward_scaling={word},batch_size=64,minibatches=40]");
        let shape = Shape::new(4, 3);
        let mut policy = text.parse::<PolicySpec>().unwrap().build(shape, Seed::new(1)).unwrap();
        let mut best = 0;
        for round in 0..2000 {
            let mut rng = Seed::new(4).stream("problem", round);
            let context: Vec<f32> = (0..4).map(|_| rng.normal() as f32).collect();
            let action = policy.choose(Request { round, context: &context }).unwrap().action;
            let size = if round < 500 { 1.0 } else { 1e6 };
            // Action 2 is the best by far for every context.
            let reward = size * (action as f64 + 0.1 * rng.normal());
            policy.learn(Outcome { round, context: &context, action, reward }).unwrap();
            best += usize::from(round >= 1500 && action == 2);
        }
        // Uniform choices would find it 167 times.
        assert!(best > 400, "{text}: {best} of 500");
    }
}

/// Guards are counted: a learning rate of 10 throws standard deviations out of their bounds, where they are held.
#[test]
fn standard_deviations_are_held_within_their_bounds_and_counted() {
    let shape = Shape::new(3, 2);
    let config = BbbConfig {
        learning_rate: 10.0,
        batch_size: 32,
        minibatches: 20,
        layers: Layers(vec![4]),
        ..BbbConfig::default()
    };
    let mut model = Bbb::new(&config, shape, Seed::new(1));
    let mut replay = Replay::new(shape.n_features, None);
    for round in 0..50 {
        let outcome = Outcome { round, context: &[0.1, -0.2, 0.3], action: 0, reward: 1.0 };
        model.observe(&outcome);
        replay.push(&outcome);
    }
    let report = model.fit(&replay, &mut Seed::new(3).stream("fit", 0)).unwrap();
    assert!(report.interventions > 0);
    let (low, high) = LOG_STD_BOUNDS;
    for layer in model.parts.net.layers() {
        assert!(model.parameters[layer.log_stds()].iter().all(|log_std| (low..=high).contains(log_std)));
    }
}

#[test]
fn a_breakdown_says_in_which_layer_and_round() {
    let shape = Shape::new(2, 2);
    let spec: PolicySpec = "bbb[train_every=3,batch_size=8,layers=4]".parse().unwrap();
    let mut policy = spec.build(shape, Seed::new(1)).unwrap();
    let before = policy.snapshot();
    // Squares of such features are beyond what a single number can hold.
    let context = [1e30_f32, 1.0];
    for round in 0..2 {
        policy.learn(Outcome { round, context: &context, action: 0, reward: 1.0 }).unwrap();
    }
    let error = policy.learn(Outcome { round: 2, context: &context, action: 0, reward: 1.0 }).unwrap_err();
    assert!(error.is_numeric());
    let message = error.to_string();
    assert!(message.contains("standard deviations of layer 1") && message.contains("round 2"), "{message}");
    let request = Request { round: 100, context: &[0.5, 0.5] };
    assert_eq!(policy.choose(request).unwrap(), before.choose(request).unwrap());
}
