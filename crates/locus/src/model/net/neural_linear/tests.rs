//! The posterior against the regression by hand, and numbers that jump; the net's own tests are beside the net.

use super::*;
use crate::agent::contract::assert_settings;
use crate::agent::{Agent, Choose, Policy};
use crate::math::linear::LinearPosterior;
use crate::model::linear::heads::comparison::{assert_close, rounds, teach_both};
use crate::model::net::reward_net::RewardNetConfig;
use crate::registry::values::{Capacity, Layers};

fn small() -> NeuralLinearConfig {
    NeuralLinearConfig {
        net: RewardNetConfig {
            hidden_layers: Layers(vec![8, 6]),
            batch_size: 20,
            minibatches: 5,
            train_every: 10,
            ..NeuralLinearConfig::default().net
        },
        ..NeuralLinearConfig::default()
    }
}

fn random_context(n_features: usize, rng: &mut Rng) -> Vec<f32> {
    (0..n_features).map(|_| rng.normal() as f32).collect()
}

/// Plays without decisions: random contexts and actions, and what `reward` makes of round and context.
fn teach(
    policy: &mut Agent<NeuralLinear>,
    rounds: std::ops::Range<u64>,
    reward: impl Fn(u64, &[f32], usize) -> f64,
) -> Vec<(Vec<f32>, usize, f64)> {
    let shape = policy.shape();
    let teach = |round| {
        let mut rng = Seed::new(21).stream("problem", round);
        let context = random_context(shape.n_features, &mut rng);
        let action = rng.below(shape.n_actions);
        let reward = reward(round, &context, action);
        policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
        (context, action, reward)
    };
    rounds.map(teach).collect()
}

#[test]
fn weights_start_within_their_limit_and_biases_at_0() {
    let config = NeuralLinearConfig::default();
    let model = NeuralLinear::new(&config, Shape::new(30, 7), Seed::new(1));
    let (hidden, output) = model.net_heads.weights.parameters.split_at(31 * 50);
    for (weights, biases) in [hidden.split_at(30 * 50), output.split_at(50 * 7)] {
        let largest = weights.iter().fold(0.0_f32, |largest, weight| largest.max(weight.abs()));
        assert!(largest <= 0.3 && largest > 0.29, "{largest}");
        assert!(biases.iter().all(|bias| *bias == 0.0));
    }
    assert!(model.trainer.optimizer.squares.iter().all(|square| *square == 1.0));
}

/// Never reset, from one round of training to the next.
#[test]
fn the_learning_rate_falls_over_the_whole_life() {
    let config = NeuralLinearConfig::default();
    assert_eq!(config.net.learning_rate_after(0.0), 0.1);
    assert_eq!(config.net.learning_rate_after(2.0), 0.05);
    assert_eq!(config.net.learning_rate_after(3998.0), 5e-5);
    let mut policy = small().build_agent(Shape::new(3, 2), Seed::new(1)).unwrap();
    teach(&mut policy, 0..45, |_, context, _| f64::from(context[0]));
    assert_eq!(policy.learner().trainer.optimizer.n_steps, 4 * 5);
}

/// A regression by hand on the features of `seen`, which is what every action's posterior must be.
fn assert_regressions(model: &NeuralLinear, seen: &[(Vec<f32>, usize, f64)], n_actions: usize) {
    for action in 0..n_actions {
        let mut expected =
            LinearPosterior::new(model.net_heads.heads.dim(), NeuralLinearConfig::default().prior());
        let mut work = NetWork::default();
        for (context, _, reward) in seen.iter().filter(|(_, taken, _)| *taken == action) {
            let panel = model.net_heads.weights.features(&[context], &mut work).unwrap();
            expected.observe(&column_of(panel, 0).collect::<Vec<f64>>(), *reward);
        }
        let found = model.posterior(action);
        assert_eq!(found.noise_shape(), expected.noise_shape(), "action {action}");
        // The features of one context and of many differ by rounding of single precision.
        let tolerance =
            1e-4 * (1.0 + expected.mean().iter().fold(0.0_f64, |largest, m| largest.max(m.abs())));
        for (found, expected) in found.mean().iter().zip(expected.mean()) {
            assert!((found - expected).abs() < tolerance, "action {action}: {found} {expected}");
        }
        let (found, expected) = (found.noise_rate(), expected.noise_rate());
        assert!((found / expected - 1.0).abs() < 1e-4, "action {action}: {found} {expected}");
    }
}

/// Right after a round of training, with more observations than one pass and one block hold.
#[test]
fn after_training_the_posteriors_are_those_of_all_observations_on_new_features() {
    let shape = Shape::new(4, 3);
    let config = NeuralLinearConfig { net: RewardNetConfig { train_every: 700, ..small().net }, ..small() };
    let mut policy = config.build_agent(shape, Seed::new(3)).unwrap();
    let reward = |round: u64, context: &[f32], action: usize| {
        f64::from(context[action]) + 0.1 * Seed::new(4).stream("noise", round).normal()
    };
    let seen = teach(&mut policy, 0..699, reward);
    let before = policy.learner().net_heads.weights.parameters.clone();
    assert_regressions(policy.learner(), &seen, 3);
    let last = teach(&mut policy, 699..700, reward);
    assert_ne!(policy.learner().net_heads.weights.parameters, before);
    let mut seen = [seen, last].concat();
    assert_regressions(policy.learner(), &seen, 3);
    // From then on, each observation counts at once.
    seen.extend(teach(&mut policy, 700..720, reward));
    assert_regressions(policy.learner(), &seen, 3);
}

#[test]
fn a_bounded_replay_bounds_the_posteriors() {
    let config = NeuralLinearConfig {
        net: RewardNetConfig { replay_capacity: Capacity(Some(30)), ..small().net },
        ..small()
    };
    let mut policy = config.build_agent(Shape::new(4, 3), Seed::new(3)).unwrap();
    let seen = teach(&mut policy, 0..106, |_, context, action| f64::from(context[action]));
    // The last round of training was at 100, with observations 70 to 99.
    assert_regressions(policy.learner(), &seen[70..], 3);
}

/// Rewards that no linear policy could learn: the better action depends on the sign of a product.
#[test]
fn finds_the_better_action_where_it_is_not_linear() {
    let config = NeuralLinearConfig {
        net: RewardNetConfig { batch_size: 128, ..NeuralLinearConfig::default().net },
        ..NeuralLinearConfig::default()
    };
    let mut policy = config.build_agent(Shape::new(2, 2), Seed::new(0)).unwrap();
    let mut n_right = 0;
    for round in 0..1500 {
        let mut rng = Seed::new(9).stream("problem", round);
        let context = [rng.normal() as f32, rng.normal() as f32];
        let best = usize::from(context[0] * context[1] > 0.0);
        let action = policy.choose(Request::new(round, &context)).unwrap().action;
        let reward = f64::from(action == best) + 0.1 * rng.normal();
        policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
        n_right += usize::from(round >= 1300 && action == best);
    }
    assert!(n_right >= 170, "{n_right} of 200");
}

/// 20 000 rounds whose rewards jump to 1e6 and back: every call succeeds, and no outcome is omitted.
#[test]
fn rewards_that_jump_do_no_harm() {
    let config = NeuralLinearConfig {
        net: RewardNetConfig { train_every: 100, minibatches: 20, ..small().net },
        ..small()
    };
    let mut policy = config.build_agent(Shape::new(5, 3), Seed::new(0)).unwrap();
    for round in 0..20_000 {
        let mut rng = Seed::new(10).stream("problem", round);
        let context = random_context(5, &mut rng);
        let action = policy.choose(Request::new(round, &context)).unwrap().action;
        let scale = if (round / 700) % 3 == 1 { 1e6 } else { 1.0 };
        let reward = scale * (f64::from(context[action]) + rng.normal());
        let report = policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
        assert_eq!(report.interventions, 0, "round {round}");
        assert!(report.mean_loss.is_none_or(f64::is_finite), "round {round}");
    }
    // No step is longer than g/√(g²/10) learning rates, however large the rewards.
    let rates = (0..policy.learner().trainer.optimizer.n_steps)
        .map(|step| config.net.learning_rate_after(step as f64));
    let farthest = 0.3 + 10_f32.sqrt() * rates.sum::<f32>();
    assert!(policy.learner().net_heads.weights.parameters.iter().all(|parameter| parameter.abs() < farthest));
}

/// A context so large that its features overflow: the decision fails with a named error, the outcome is omitted and counted, and
/// training fails with a named error and changes nothing. Once the replay has dropped it, training succeeds again.
#[test]
fn features_that_overflow_are_named_and_counted() {
    let config = NeuralLinearConfig {
        net: RewardNetConfig { replay_capacity: Capacity(Some(12)), initial_weights: 100.0, ..small().net },
        ..small()
    };
    let mut policy = config.build_agent(Shape::new(3, 2), Seed::new(5)).unwrap();
    let reward = |_: u64, context: &[f32], _: usize| f64::from(context[0]);
    teach(&mut policy, 0..15, reward);
    let context = [f32::MAX; 3];
    let error = policy.choose(Request::new(15, &context)).unwrap_err();
    assert!(error.is_numeric() && error.to_string().contains("hidden layer 1"), "{error}");
    let shapes = |policy: &Agent<NeuralLinear>| [0, 1].map(|a| policy.learner().posterior(a).noise_shape());
    let before = shapes(&policy);
    policy.learn(Outcome::new(15, &context, 1, 1.0)).unwrap();
    assert_eq!(shapes(&policy), before);

    teach(&mut policy, 16..19, reward);
    let (parameters, squares) = (
        policy.learner().net_heads.weights.parameters.clone(),
        policy.learner().trainer.optimizer.squares.clone(),
    );
    let good = Outcome::new(19, &[0.5; 3], 0, 1.0);
    let error = policy.learn(good).unwrap_err();
    assert!(error.is_numeric() && error.to_string().contains("hidden layer 1"), "{error}");
    assert_eq!(
        (&policy.learner().net_heads.weights.parameters, &policy.learner().trainer.optimizer.squares),
        (&parameters, &squares)
    );

    let mut resumed = crate::load(&policy.save()).unwrap();
    teach(&mut policy, 20..29, reward);
    let report = policy.learn(Outcome { round: 29, ..good }).unwrap();
    assert_eq!((report.minibatches, report.interventions), (5, 1));
    assert_ne!(policy.learner().net_heads.weights.parameters, parameters);
    // The count of what was left out is saved too.
    for round in 20..30 {
        let report = resumed.learn(Outcome { round, ..good }).unwrap();
        assert_eq!(report.interventions, u64::from(round == 29));
    }
}

/// Net C→50→A, uniform(−0.3, 0.3), RMSProp at 0.1/(1 + 0.5·step), clip 5, 100 minibatches of 512 every 50 steps, λ = 0.25, a₀ = b₀ = 6.
#[test]
fn defaults_are_the_benchmarks() {
    let expected = "hidden_layers=50 initial_weights=0.3 learning_rate=0.1 learning_rate_decay=0.5 max_gradient_norm=5 \
        batch_size=512 train_every=50 minibatches=100 replay_capacity=all prior_precision=0.25 prior_shape=6 \
        prior_rate=6 initial_pulls=2";
    assert_settings("neural-linear", expected);
}

/// A gradient much longer than the limit is shortened to it. The accumulators begin at 1 and keep 0.9 of it, so the first step has the
/// length 0.1 · limit / √0.9, but for the squares of the short gradient.
#[test]
fn long_gradients_are_shortened_in_training() {
    let config = NeuralLinearConfig {
        net: RewardNetConfig { max_gradient_norm: 0.1, minibatches: 1, ..small().net },
        ..small()
    };
    let mut policy = config.build_agent(Shape::new(3, 2), Seed::new(1)).unwrap();
    let before = policy.learner().net_heads.weights.parameters.clone();
    teach(&mut policy, 0..10, |_, context, _| 1e3 * f64::from(context[0]));
    let moves = policy
        .learner()
        .net_heads
        .weights
        .parameters
        .iter()
        .zip(&before)
        .map(|(after, before)| f64::from(after - before));
    let length = moves.map(|change| change * change).sum::<f64>().sqrt();
    let expected = 0.1 * 0.1 / 0.9_f64.sqrt();
    assert!((length / expected - 1.0).abs() < 0.01, "{length} {expected}");
}

/// More outcomes than one pass holds; one of them, whose features overflow, is left out alone. Features of one context and of many differ by
/// rounding of single precision, and these are ill-conditioned.
#[test]
fn many_at_once_are_learned_as_one_by_one() {
    let shape = Shape::new(3, 2);
    let net = RewardNetConfig { train_every: 100_000, initial_weights: 100.0, ..small().net };
    let config = NeuralLinearConfig { net, ..small() };
    let mut rounds = rounds(shape, 700, true);
    rounds[300].0 = vec![f32::MAX; 3];
    let [mut one_by_one, mut many] = [(); 2].map(|()| config.build_agent(shape, Seed::new(1)).unwrap());
    teach_both(&mut one_by_one, &mut many, &rounds);
    let [found, expected] = [&many, &one_by_one].map(|policy| policy.learner());
    assert_eq!((found.n_left_out, expected.n_left_out), (1, 1));
    for action in 0..2 {
        assert_close(&format!("action {action}"), found.posterior(action), expected.posterior(action), 1e-3);
        let [found, expected] = [found, expected].map(|model| model.posterior(action).noise_shape());
        assert!((found - expected).abs() < 1e-9, "{found}, {expected}");
    }
}

/// Before a round of training and after it, when posteriors are rebuilt from the replay.
#[test]
fn a_weight_is_so_many_equal_outcomes() {
    let shape = Shape::new(3, 2);
    for n in [30, 60] {
        let policy = |weight: u32| {
            let train_every = if weight == 1 { 120 } else { 40 };
            // Without steps to speak of, both nets stay the same.
            let net = RewardNetConfig { train_every, learning_rate: 1e-12, ..small().net };
            let config = NeuralLinearConfig { net, ..small() };
            let mut policy = config.build_agent(shape, Seed::new(1)).unwrap();
            for (context, action, reward, _) in &rounds(shape, n, false) {
                let outcome = Outcome::new(0, context, *action, *reward).with_weight(f64::from(weight));
                (0..3 / weight).for_each(|_| assert!(policy.learn(outcome).is_ok()));
            }
            policy
        };
        let [weighted, repeated] = [policy(3), policy(1)];
        for action in 0..2 {
            let [found, expected] = [&weighted, &repeated].map(|policy| policy.learner().posterior(action));
            assert_close(&format!("{n} rounds, action {action}"), found, expected, 1e-6);
        }
    }
}
