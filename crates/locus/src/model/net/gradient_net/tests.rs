//! Gradients against differences, widths against formulas, a linear net against LinUCB, and rejected settings.

use super::*;
use crate::agent::contract::assert_settings;
use crate::agent::{Agent, Choose, Policy};
use crate::model::linear::lin_ucb::LinUcbConfig;
use crate::model::net::neural_ts::NeuralTsConfig;
use crate::model::net::neural_ucb::NeuralUcbConfig;
use crate::registry::values::Layers;
use crate::{PolicySpec, Propensity};

const CONTEXT: [f32; 3] = [0.7, -1.2, 0.4];

/// A net 3→…→4 none of whose parameters is 0, after its prediction for [`CONTEXT`].
fn predicted(hidden: &[usize]) -> (RewardNet, Vec<f32>, Work) {
    let mut rng = Seed::new(5).stream("test", 0);
    let net = RewardNet::new(&Layers(hidden.to_vec()), Shape::new(3, 4));
    let mut parameters = net.initialize(0.9, &mut rng);
    parameters.iter_mut().for_each(|parameter| *parameter += 0.1 * rng.normal() as f32);
    let mut work = Work::default();
    net.predict_surely(&parameters, &CONTEXT, &mut work.net, &mut [0.0; 4]).unwrap();
    work.gradients.find(&net, &parameters, &work.net);
    (net, parameters, work)
}

fn gradients_of(net: &RewardNet, work: &Work) -> Vec<Vec<f64>> {
    let of_action = |action| {
        let mut gradient = vec![f64::NAN; net.n_parameters];
        work.gradients.of_action(net, &work.net, action, &mut gradient);
        gradient
    };
    (0..net.n_actions()).map(of_action).collect()
}

/// Where no ReLU turns, a prediction is linear in each parameter alone, so that differences have no error but rounding's.
#[test]
fn gradients_are_differences_of_predictions() {
    for hidden in [&[][..], &[8], &[8, 6]] {
        let (net, parameters, work) = predicted(hidden);
        let gradients = gradients_of(&net, &work);
        let (mut room, mut upper, mut lower) = (NetWork::default(), [0.0; 4], [0.0; 4]);
        for index in 0..parameters.len() {
            let mut moved = parameters.clone();
            moved[index] = parameters[index] + 0.01;
            net.predict_surely(&moved, &CONTEXT, &mut room, &mut upper).unwrap();
            moved[index] = parameters[index] - 0.01;
            net.predict_surely(&moved, &CONTEXT, &mut room, &mut lower).unwrap();
            for action in 0..4 {
                let (found, expected) = (gradients[action][index], (upper[action] - lower[action]) / 0.02);
                assert!((found - expected).abs() < 1e-4, "{hidden:?}, {index}, {action}: {found} {expected}");
            }
        }
    }
}

#[test]
fn weighed_squares_are_those_of_whole_gradients() {
    for hidden in [&[][..], &[8], &[8, 6]] {
        let (net, _, mut work) = predicted(hidden);
        let weights: Vec<f32> = (0..net.n_parameters).map(|index| 0.1 + (index % 7) as f32).collect();
        let mut sums = [10.0; 4];
        let gradients = gradients_of(&net, &work);
        work.gradients.weigh(&net, &work.net, &weights, &mut sums);
        for (sum, gradient) in sums.iter().zip(&gradients) {
            let terms =
                gradient.iter().zip(&weights).map(|(value, weight)| value * value * f64::from(*weight));
            let expected = 10.0 + terms.sum::<f64>();
            assert!((sum / expected - 1.0).abs() < 1e-6, "{hidden:?}: {sum} {expected}");
        }
    }
}

/// Settings with which nothing is trained, so that gradients stay what they are.
fn untrained(precision_matrix: PrecisionMatrix) -> NeuralUcbConfig {
    NeuralUcbConfig {
        exploration: 2.0,
        prior_precision: 0.5,
        precision_matrix,
        net: RewardNetConfig {
            hidden_layers: Layers(vec![8, 6]),
            train_every: 1_000_000,
            ..NeuralUcbConfig::default().net
        },
        agent: AgentConfig { initial_pulls: 0, ..NeuralUcbConfig::default().agent },
        ..NeuralUcbConfig::default()
    }
}

/// Seen n times, a gradient g has the leverage `s/(λ + ns)`, s its square, by the full matrix, and `Σ gᵢ²/(λ + ngᵢ²)` by the diagonal.
/// Both fall as 1/n, to the number of parameters that count over n.
#[test]
fn widths_along_a_repeated_gradient_are_the_formulas() {
    for matrix in [PrecisionMatrix::Diagonal, PrecisionMatrix::Full] {
        let mut policy = untrained(matrix).build_agent(Shape::new(3, 4), Seed::new(1)).unwrap();
        let mut work = Work::default();
        let mut predictions = [0.0; 4];
        policy.learner().widened.predict(&CONTEXT, &mut work, &mut predictions).unwrap();
        let gradient = gradients_of(&policy.learner().widened.weights.net, &work).swap_remove(2);
        let squares = gradient.iter().map(|value| value * value);
        for round in 0..300 {
            let n = f64::from(round as u32);
            let leverage = match matrix {
                PrecisionMatrix::Full => {
                    squares.clone().sum::<f64>() / (0.5 + n * squares.clone().sum::<f64>())
                }
                PrecisionMatrix::Diagonal => squares.clone().map(|square| square / (0.5 + n * square)).sum(),
            };
            let bounds = policy.sample_rewards(round, &[&CONTEXT]).unwrap();
            let (found, expected) = (bounds[2] - predictions[2], 2.0 * leverage.sqrt());
            assert!((found / expected - 1.0).abs() < 1e-5, "{matrix:?}, {round}: {found} {expected}");
            policy.learn(Outcome::new(round, &CONTEXT, 2, 0.5)).unwrap();
        }
    }
}

/// After one outcome of weight w, a gradient g has the leverage `s/(λ + ws)` by the full matrix, and `Σ gᵢ²/(λ + wgᵢ²)` by the diagonal.
#[test]
fn a_weight_narrows_the_width_as_so_many_outcomes() {
    for matrix in [PrecisionMatrix::Diagonal, PrecisionMatrix::Full] {
        let mut policy = untrained(matrix).build_agent(Shape::new(3, 4), Seed::new(1)).unwrap();
        let mut work = Work::default();
        let mut predictions = [0.0; 4];
        policy.learner().widened.predict(&CONTEXT, &mut work, &mut predictions).unwrap();
        let gradient = gradients_of(&policy.learner().widened.weights.net, &work).swap_remove(2);
        let squares = gradient.iter().map(|value| value * value);
        let sum = squares.clone().sum::<f64>();
        let leverage = match matrix {
            PrecisionMatrix::Full => sum / (0.5 + 7.5 * sum),
            PrecisionMatrix::Diagonal => squares.map(|square| square / (0.5 + 7.5 * square)).sum(),
        };
        policy.learn(Outcome::new(0, &CONTEXT, 2, 0.5).with_weight(7.5)).unwrap();
        let bounds = policy.sample_rewards(0, &[&CONTEXT]).unwrap();
        let (found, expected) = (bounds[2] - predictions[2], 2.0 * leverage.sqrt());
        assert!((found / expected - 1.0).abs() < 1e-5, "{matrix:?}: {found} {expected}");
    }
}

/// Without hidden layers the gradient of an action is `[x, 1]` in its own block: LinUCB's features, and its matrix. The net learns what
/// ridge regression would, as far as descent along noisy gradients comes near it.
#[test]
fn a_linear_net_is_lin_ucb() {
    let shape = Shape::new(3, 2);
    let config = NeuralUcbConfig {
        exploration: 0.8,
        prior_precision: 2.0,
        precision_matrix: PrecisionMatrix::Full,
        net: RewardNetConfig {
            hidden_layers: Layers(vec![]),
            initial_weights: 1e-9,
            learning_rate: 0.05,
            learning_rate_decay: 0.05,
            batch_size: 1024,
            minibatches: 3000,
            train_every: 60,
            ..NeuralUcbConfig::default().net
        },
        agent: AgentConfig { initial_pulls: 0, ..NeuralUcbConfig::default().agent },
        ..NeuralUcbConfig::default()
    };
    let linear = LinUcbConfig::default()
        .alpha(0.8)
        .prior_precision(2.0)
        .agent(AgentConfig::default().initial_pulls(0));
    let mut net = config.build_agent(shape, Seed::new(3)).unwrap();
    let mut linear = linear.build_agent(shape, Seed::new(3)).unwrap();
    for round in 0..60 {
        let mut rng = Seed::new(4).stream("problem", round);
        let context: Vec<f32> = (0..3).map(|_| rng.normal() as f32).collect();
        let action = rng.below(2);
        let reward = f64::from(context[action]) - 0.5 + 0.3 * rng.normal();
        let outcome = Outcome::new(round, &context, action, reward);
        net.learn(outcome).unwrap();
        linear.learn(outcome).unwrap();
    }
    let (mut work, mut predictions) = (Work::default(), [0.0; 2]);
    for round in 0..50 {
        let mut rng = Seed::new(6).stream("problem", round);
        let context: Vec<f32> = (0..3).map(|_| rng.normal() as f32).collect();
        let bounds = net.sample_rewards(round, &[&context]).unwrap();
        let expected = linear.sample_rewards(round, &[&context]).unwrap();
        net.learner().widened.predict(&context, &mut work, &mut predictions).unwrap();
        let features = [context[0], context[1], context[2], 1.0].map(f64::from);
        for action in 0..2 {
            assert!((bounds[action] - expected[action]).abs() < 0.02, "{bounds:?} {expected:?}");
            let width = 0.8 * linear.learner().regression(action).leverage(&features, &mut [0.0; 4]).sqrt();
            let found = bounds[action] - predictions[action];
            assert!((found / width - 1.0).abs() < 1e-9, "{found} {width}");
        }
        if (expected[0] - expected[1]).abs() > 0.04 {
            let request = Request::new(100, &context);
            assert_eq!(net.choose(request).unwrap(), linear.choose(request).unwrap());
        }
    }
}

/// 4000 draws: the mean within 5 of its deviations, the variance within 5 of its own, and no two actions correlated; false alarms for one seed in 100 000.
#[test]
fn neural_ts_draws_around_predictions_with_the_width_of_the_gradient() {
    let config = NeuralTsConfig {
        exploration: 1.5,
        prior_precision: 0.5,
        net: RewardNetConfig {
            hidden_layers: Layers(vec![8]),
            train_every: 1_000_000,
            ..NeuralTsConfig::default().net
        },
        ..NeuralTsConfig::default()
    };
    let policy = config.build_agent(Shape::new(3, 4), Seed::new(1)).unwrap();
    let (mut work, mut predictions) = (Work::default(), [0.0; 4]);
    policy.learner().widened.predict(&CONTEXT, &mut work, &mut predictions).unwrap();
    const N: usize = 4000;
    let draws = policy.sample_rewards(0, &[&CONTEXT[..]; N]).unwrap();
    let centered = |draw: &[f64], action: usize| draw[action] - predictions[action];
    for action in 0..4 {
        let variance = 1.5 * 1.5 * 0.5 * work.leverages[action];
        let sum: f64 = draws.chunks_exact(4).map(|draw| centered(draw, action)).sum();
        let squares: f64 = draws.chunks_exact(4).map(|draw| centered(draw, action).powi(2)).sum();
        let n = N as f64;
        assert!((sum / n).abs() < 5.0 * (variance / n).sqrt(), "{action}: {sum}");
        assert!(
            (squares / n / variance - 1.0).abs() < 5.0 * (2.0 / n).sqrt(),
            "{action}: {squares} {variance}"
        );
        let other = (action + 1) % 4;
        let product: f64 =
            draws.chunks_exact(4).map(|draw| centered(draw, action) * centered(draw, other)).sum();
        let scale = variance * work.leverages[other] / work.leverages[action];
        assert!((product / n).abs() < 5.0 * (variance * scale / n).sqrt(), "{action}: {product}");
    }
}

#[test]
fn choices_are_certain_by_bounds_and_drawn_by_thompson_sampling() {
    let request = Request::new(1000, &CONTEXT);
    let ucb: Agent<_> = NeuralUcbConfig::default().build_agent(Shape::new(3, 4), Seed::new(1)).unwrap();
    assert_eq!(ucb.choose(request).unwrap().propensity, Propensity::Exact(1.0));
    let ts = NeuralTsConfig::default().build_agent(Shape::new(3, 4), Seed::new(1)).unwrap();
    assert_eq!(ts.choose(request).unwrap().propensity, Propensity::Unknown);
}

/// 99·48 + 48 + 48·4 + 4 = 4996 parameters, and with one more feature 5044.
#[test]
fn a_full_matrix_is_refused_above_5000_parameters() {
    for id in ["neural-ucb", "neural-ts"] {
        let spec: PolicySpec = format!("{id}@full[hidden_layers=48]").parse().unwrap();
        let refusal = spec.build(Shape::new(100, 4), Seed::new(0)).err().unwrap();
        let expected = format!(
            "policy `{id}`: `precision_matrix` is `full`, expected diagonal for a net of 5044 parameters: the full matrix is for at most 5000; \
             fewer hidden units make them fewer"
        );
        assert_eq!(refusal.to_string(), expected);
        assert!(spec.build(Shape::new(99, 4), Seed::new(0)).is_ok());
        let spec: PolicySpec = format!("{id}[hidden_layers=48]").parse().unwrap();
        assert!(spec.build(Shape::new(100, 4), Seed::new(0)).is_ok());
    }
}

/// Contexts whose gradient overflows do not enter the matrix, and are counted.
#[test]
fn gradients_that_overflow_are_left_out_and_counted() {
    for matrix in [PrecisionMatrix::Diagonal, PrecisionMatrix::Full] {
        let config = NeuralUcbConfig {
            net: RewardNetConfig {
                train_every: 3,
                minibatches: 1,
                initial_weights: 1e3,
                ..untrained(matrix).net
            },
            ..untrained(matrix)
        };
        let mut policy = config.build_agent(Shape::new(3, 4), Seed::new(1)).unwrap();
        let before = policy.sample_rewards(0, &[&CONTEXT]).unwrap();
        for round in 0..2 {
            let outcome = Outcome::new(round, &[3e38, 3e38, 3e38], 1, 0.0);
            policy.learn(outcome).unwrap();
        }
        assert_eq!(policy.sample_rewards(0, &[&CONTEXT]).unwrap(), before);
        assert_eq!(policy.learner().n_left_out, 2);
    }
}

#[test]
fn defaults_are_documented_ones() {
    let net = "hidden_layers=50 initial_weights=0.3 learning_rate=0.1 learning_rate_decay=0.5 max_gradient_norm=5 batch_size=512 \
               train_every=50 minibatches=100 replay_capacity=all initial_pulls=2";
    for id in ["neural-ucb", "neural-ts"] {
        for matrix in ["diagonal", "full"] {
            let own = format!("exploration=0.1 prior_precision=1 precision_matrix={matrix}");
            assert_settings(&format!("{id}@{matrix}"), &format!("{net} {own}"));
        }
    }
}
