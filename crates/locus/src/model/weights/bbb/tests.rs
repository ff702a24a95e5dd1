//! BBB against finite differences, a posterior that is known, and rewards that jump.

use super::config::BbbConfig;
use super::model::{Bbb, LOG_STD_BOUNDS, Parts, Work};
use crate::agent::Learner;
use crate::agent::Replay;
use crate::agent::contract::assert_settings;
use crate::math::nn::gradient_check::check_gradient;
use crate::math::nn::{Input, Normals};
use crate::model::training::minibatch::{Contexts, Gathering, Minibatch};
use crate::model::training::reward_scaling::RewardScale;
use crate::registry::values::Layers;
use crate::{Outcome, Policy, PolicySpec, Request, Seed, Shape, load};

/// The kinks of the ReLUs need short steps, which leave fewer digits.
const TOLERANCE: f64 = 1e-2;

/// A context of which about this part is different in every round; the rest are small numbers, always the same.
fn context(n_features: usize, density: f64, round: u64) -> Vec<f32> {
    let mut rng = Seed::new(1).stream("batch", round);
    let number = |i: usize| if rng.uniform() < density { rng.normal() as f32 } else { 0.01 * (i % 3) as f32 };
    (0..n_features).map(number).collect()
}

/// A minibatch from a replay of such contexts.
fn batch(shape: Shape, n_rows: usize, density: f64) -> Minibatch<Contexts> {
    let mut replay = Replay::new(shape.n_features, None);
    for round in 0..40 {
        let context = context(shape.n_features, density, round);
        let reward = Seed::new(4).stream("test", round).normal();
        let action = round as usize % shape.n_actions;
        replay.push(&Outcome::new(round, &context, action, reward));
    }
    let gathering =
        Gathering { n_rows, n_features: shape.n_features, n_more_lines: 0, scale: RewardScale::AS_GIVEN };
    let mut batch = Minibatch::<Contexts>::default();
    batch.inputs.prepare(&replay, shape.n_features, 40);
    batch.gather(&replay, &mut Seed::new(5).stream("test", 0), gathering);
    batch
}

/// The loss at these parameters, always with the same noise.
fn loss(parts: &Parts, parameters: &[f32], work: &mut Work) -> f64 {
    let mut variances = Vec::new();
    parts.net.variances(parameters, &mut variances);
    let normals = &mut Normals::new(&mut Seed::new(2).stream("noise", 0));
    parts.loss(parameters, &variances, 17.0, normals, work)
}

/// For contexts that are mostly alike too.
#[test]
fn gradients_equal_finite_differences() {
    let config = BbbConfig {
        initial_mean_std: 0.5,
        initial_log_std: -1.0,
        initial_log_std_spread: 0.3,
        noise_std: 0.4,
        variance_floor: 1e-3,
        ..BbbConfig::default()
    };
    for (n_features, density) in [(3, 1.0), (120, 0.05)] {
        let shape = Shape::new(n_features, 4);
        for (layers, n_rows) in [(vec![], 21), (vec![6], 21), (vec![7, 5], 21), (vec![6], 1)] {
            let parts = Parts::new(&BbbConfig { layers: Layers(layers), ..config.clone() }, shape);
            let mut parameters = vec![0.0; parts.n_parameters];
            parts.net.initialize(&mut parameters, config.start(), &mut Seed::new(3).stream("init", 0));
            let gradients = vec![0.0; parts.n_parameters];
            let mut work = Work { batch: batch(shape, n_rows, density), gradients, ..Work::default() };
            assert_eq!(matches!(work.batch.inputs.input(), Input::Sparse(..)), density < 1.0);
            loss(&parts, &parameters, &mut work);
            let gradients = work.gradients.clone();
            let what = format!("BBB, layers {:?}, {n_features} features", parts.config.layers);
            check_gradient(&what, TOLERANCE, &parameters, &gradients, |parameters| {
                loss(&parts, parameters, &mut work)
            });
        }
    }
}

/// A policy that was saved and loaded learns exactly what it would have learned: from contexts that are mostly
/// alike, then others, then as before, so that a bounded replay changes how they are taken both before and after it was saved.
#[test]
fn a_policy_loaded_among_contexts_mostly_alike_learns_the_same_to_the_bit() {
    let text = "bbb[minibatches=3,train_every=4,batch_size=16,layers=7,replay_capacity=20]";
    let shape = Shape::new(120, 2);
    let spec: PolicySpec = text.parse().unwrap();
    let learn = |policy: &mut dyn Policy, rounds: std::ops::Range<u64>| {
        for round in rounds {
            let density = if (30..60).contains(&round) { 0.9 } else { 0.05 };
            let context = context(shape.n_features, density, round);
            let mut rng = Seed::new(10).stream("problem", round);
            let action = policy.choose(Request::new(round, &context)).unwrap().action;
            policy.learn(Outcome::new(round, &context, action, rng.normal())).unwrap();
        }
    };
    for saved_after in [22, 33, 47, 66] {
        let mut policy = spec.build(shape, Seed::new(9)).unwrap();
        learn(&mut *policy, 0..saved_after);
        let mut loaded = load(&policy.save()).unwrap();
        learn(&mut *policy, saved_after..100);
        learn(&mut *loaded, saved_after..100);
        assert!(policy.save() == loaded.save(), "saved after {saved_after}");
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
        let outcome = Outcome::new(round as u64, &context, action, reward);
        model.observe(&outcome);
        replay.push(&outcome);
        rows[action].push([a, b, c, 1.0, reward]);
    }
    const ROUNDS: u64 = 120;
    let mut average = vec![0.0_f64; model.net.parameters.len()];
    for round in 0..ROUNDS {
        let report = model.fit(&replay, &mut Seed::new(3).stream("fit", round)).unwrap();
        assert_eq!(report.interventions, 0);
        if round >= ROUNDS / 2 {
            let weight = 2.0 / ROUNDS as f64;
            average
                .iter_mut()
                .zip(&*model.net.parameters)
                .for_each(|(sum, &p)| *sum += weight * f64::from(p));
        }
    }
    let layer = &model.net.parts.net.layers()[0];
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

/// Plays 2000 rounds whose rewards become a million times larger after 500. How often each action was played in the last 500, and the
/// mean of all rewards that it gave.
fn play_a_jump(text: &str, seed: u64) -> ([usize; 3], [f64; 3]) {
    let mut policy = text.parse::<PolicySpec>().unwrap().build(Shape::new(4, 3), Seed::new(seed)).unwrap();
    let (mut counts, mut sums, mut last_counts) = ([0; 3], [0.0; 3], [0; 3]);
    for round in 0..2000 {
        let mut rng = Seed::new(4).stream("problem", round);
        let context: Vec<f32> = (0..4).map(|_| rng.normal() as f32).collect();
        let action = policy.choose(Request::new(round, &context)).unwrap().action;
        let size = if round < 500 { 1.0 } else { 1e6 };
        // Action 2 is the best by far for every context.
        let reward = size * (action as f64 + 0.1 * rng.normal());
        policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
        counts[action] += 1;
        sums[action] += reward;
        last_counts[action] += usize::from(round >= 1500);
    }
    (last_counts, std::array::from_fn(|action| sums[action] / f64::from(counts[action])))
}

/// Rewards of order one become a million times larger: training continues without a NaN, with or without scaling, and finds the
/// best action. Scaled rewards need a replay that forgets those before the jump.
#[test]
fn rewards_that_jump_to_a_million_do_not_break_training() {
    for settings in ["reward_scaling=off", "reward_scaling=on,replay_capacity=500"] {
        let text = format!("bbb[{settings},batch_size=64,minibatches=40]");
        for seed in [2, 5, 7, 8] {
            let (counts, _) = play_a_jump(&text, seed);
            // Uniform choices would find it 167 times.
            assert!(counts[2] > 400, "{text}, seed {seed}: {counts:?}");
        }
    }
}

/// A replay that forgets nothing holds hundreds of rewards of the best action from before the jump, next to nothing on the scale of now.
/// So another action, of which it holds few, may be the better one by all that was seen, and on some seeds is: that one is then played.
#[test]
fn with_scaled_rewards_the_action_is_played_that_was_the_best_in_all_of_the_replay() {
    let mut played = [false; 3];
    for seed in [1, 2, 3, 7] {
        let (counts, means) = play_a_jump("bbb[reward_scaling=on,batch_size=64,minibatches=40]", seed);
        let best = crate::agent::highest(&means).unwrap();
        assert!(counts[best] > 400, "seed {seed}: {counts:?}, {means:?}");
        played[best] = true;
    }
    assert_eq!(played, [false, true, true]);
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
        let outcome = Outcome::new(round, &[0.1, -0.2, 0.3], 0, 1.0);
        model.observe(&outcome);
        replay.push(&outcome);
    }
    let report = model.fit(&replay, &mut Seed::new(3).stream("fit", 0)).unwrap();
    assert!(report.interventions > 0);
    let (low, high) = LOG_STD_BOUNDS;
    for layer in model.net.parts.net.layers() {
        assert!(model.net.parameters[layer.log_stds()].iter().all(|log_std| (low..=high).contains(log_std)));
    }
}

/// Also where contexts are taken as what they have in common and the rest.
#[test]
fn a_breakdown_says_in_which_layer_and_round() {
    for n_features in [2, 100] {
        let spec: PolicySpec = "bbb[train_every=3,batch_size=8,layers=4]".parse().unwrap();
        let mut policy = spec.build(Shape::new(n_features, 2), Seed::new(1)).unwrap();
        let before = policy.snapshot();
        let mut learn = |round: u64| {
            let mut context = vec![0.0; n_features];
            // Squares of such features are beyond what a single number can hold.
            context[..2].copy_from_slice(&[1e30 * (1.0 + round as f32), 1.0 + round as f32]);
            policy.learn(Outcome::new(round, &context, 0, 1.0))
        };
        (0..2).for_each(|round| assert!(learn(round).is_ok()));
        let error = learn(2).unwrap_err();
        assert!(error.is_numeric());
        let message = error.to_string();
        assert!(
            message.contains("standard deviations of layer 1") && message.contains("round 2"),
            "{message}"
        );
        let context = vec![0.5; n_features];
        let request = Request::new(100, &context);
        assert_eq!(policy.choose(request).unwrap(), before.choose(request).unwrap());
    }
}

/// No policy accepts NaN contexts, so this guards against defects elsewhere: a NaN is never part of the common row, and the error names it.
#[test]
fn contexts_that_are_no_numbers_are_named_among_zeros() {
    for bad in [f32::NAN, f32::INFINITY] {
        let mut context = vec![0.0; 100];
        context[17] = bad;
        let config = BbbConfig { layers: Layers(vec![4]), batch_size: 8, ..BbbConfig::default() };
        let mut model = Bbb::new(&config, Shape::new(100, 2), Seed::new(1));
        let mut replay = Replay::new(100, None);
        let outcome = Outcome::new(0, &context, 0, 1.0);
        model.observe(&outcome);
        replay.push(&outcome);
        let breakdown = model.fit(&replay, &mut Seed::new(3).stream("fit", 0)).unwrap_err();
        assert_eq!(breakdown.place, "the contexts of the minibatch");
        assert!(!breakdown.found.is_finite());
    }
}

/// Net C→50→A, means N(0, 0.05²), log-sds N(−5, 0.05²), prior variance 2/inputs, noise 0.1, floor 1e-6, Adam at 0.1, 100
/// minibatches of 512 every 50 steps.
#[test]
fn defaults_are_the_authors() {
    let expected = "layers=50 noise_std=0.1 prior_gain=2 initial_mean_std=0.05 initial_log_std=-5 \
        initial_log_std_spread=0.05 variance_floor=1e-6 learning_rate=0.1 reward_scaling=off batch_size=512 \
        train_every=50 minibatches=100 replay_capacity=all initial_pulls=2";
    assert_settings("bbb", expected);
}

/// One minibatch of one reward; the error of its training.
fn error_of_one_minibatch(reward: f64) -> String {
    let spec: PolicySpec = "bbb[train_every=1,batch_size=8,minibatches=1,layers=4]".parse().unwrap();
    let mut policy = spec.build(Shape::new(2, 2), Seed::new(1)).unwrap();
    policy.learn(Outcome::new(0, &[0.5, 1.0], 0, reward)).unwrap_err().to_string()
}

#[test]
fn gradients_that_overflow_are_found_in_their_own_minibatch() {
    // The squared error is 1e38, which a single number holds; the gradient of the bias is 1e20, whose square none does.
    let message = error_of_one_minibatch(1e18);
    assert!(message.starts_with("a squared gradient of the ") && message.contains("gave inf"), "{message}");
    let message = error_of_one_minibatch(1e25);
    assert!(message.starts_with("the loss gave inf"), "{message}");
}

#[test]
fn no_decision_is_made_on_an_infinite_reward() {
    let spec: PolicySpec = "bbb[initial_pulls=0,layers=none]".parse().unwrap();
    let policy = spec.build(Shape::new(2, 2), Seed::new(1)).unwrap();
    // Its square overflows, and so the deviation of what is drawn, but not the mean.
    let error = policy.choose(Request::new(0, &[1e30, 0.0])).unwrap_err().to_string();
    let found = error.strip_prefix("the drawn reward of action 0 gave ").unwrap();
    assert!(found.trim_start_matches('-').starts_with("inf"), "{error}");
}

/// 20 000 rounds whose rewards jump to a million and back: every call succeeds.
#[test]
fn a_long_life_with_jumps_breaks_nothing() {
    for scaling in ["off", "on"] {
        let text = format!("bbb[reward_scaling={scaling},layers=8,batch_size=16,minibatches=10]");
        let mut policy = text.parse::<PolicySpec>().unwrap().build(Shape::new(4, 3), Seed::new(1)).unwrap();
        for round in 0..20_000 {
            let mut rng = Seed::new(5).stream("problem", round);
            let context: Vec<f32> = (0..4).map(|_| rng.normal() as f32).collect();
            let action = policy.choose(Request::new(round, &context)).unwrap().action;
            let size = if (round / 700) % 3 == 1 { 1e6 } else { 1.0 };
            let reward = size * (f64::from(context[action]) + rng.normal());
            let report = policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
            assert!(report.mean_loss.is_none_or(f64::is_finite), "{text}, round {round}");
        }
    }
}
