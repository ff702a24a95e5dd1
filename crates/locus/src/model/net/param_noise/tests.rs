//! The distribution of the noise, the divergence against its formula, and the scale against its target.

use super::*;
use crate::Outcome;
use crate::agent::contract::assert_settings;
use crate::random::kolmogorov::{KOLMOGOROV_ONE_IN_10_000, kolmogorov, normal_cdf};
use crate::registry::values::Layers;

const SHAPE: Shape = Shape::new(5, 3);

/// Observations of which each context has another best action.
fn replay() -> Replay {
    let mut replay = Replay::new(SHAPE.n_features, None);
    for round in 0..200 {
        let mut rng = Seed::new(4).stream("problem", round);
        let context: Vec<f32> = (0..SHAPE.n_features).map(|_| rng.normal() as f32).collect();
        let action = rng.below(SHAPE.n_actions);
        replay.push(&Outcome::new(round, &context, action, f64::from(context[action])));
    }
    replay
}

fn trained(config: &ParamNoiseConfig) -> (ParamNoise, Replay) {
    let config =
        ParamNoiseConfig { net: RewardNetConfig { batch_size: 32, ..config.clone().net }, ..config.clone() };
    let (mut model, replay) = (ParamNoise::new(&config, SHAPE, Seed::new(1)), replay());
    model.fit(&replay, &mut Seed::new(1).stream("fit", 0)).unwrap();
    (model, replay)
}

/// 50·5 + 50 + 50·3 + 3 parameters, 40 times; the statistic exceeds the bound for one seed in 10 000.
#[test]
fn every_parameter_gets_independent_gaussian_noise() {
    let (model, _) = trained(&ParamNoiseConfig { noise_std: 0.3, noise_factor: 1.0, ..Default::default() });
    let mut perturbed = Vec::new();
    let mut noise = Vec::new();
    for round in 0..40 {
        model.noisy.perturb(&mut Seed::new(2).stream("choose", round), &mut perturbed);
        let pairs = perturbed.iter().zip(&model.noisy.weights.parameters);
        noise.extend(pairs.map(|(perturbed, plain)| f64::from(perturbed - plain) / 0.3));
    }
    assert_eq!(noise.len(), 40 * 453);
    let statistic = kolmogorov(noise, normal_cdf);
    assert!(statistic < KOLMOGOROV_ONE_IN_10_000, "{statistic}");
}

/// Shares (½, ½) against (e/(1 + e), 1/(1 + e)): log((1 + e)/2) − ½. Far apart, nearly the distance itself.
#[test]
fn the_divergence_is_that_of_the_softmax() {
    let e = std::f64::consts::E;
    assert!((softmax_divergence(&[7.0, 7.0], &[1.0, 0.0]) - (((1.0 + e) / 2.0).ln() - 0.5)).abs() < 1e-14);
    assert_eq!(softmax_divergence(&[3.0, -1.0, 2.0], &[3.0, -1.0, 2.0]), 0.0);
    assert!((softmax_divergence(&[5000.0, 0.0], &[0.0, 5000.0]) - 5000.0).abs() < 1e-9);
    assert_eq!(softmax_divergence(&[3e38, -3e38], &[3e38, -3e38]), 0.0);
    assert!(softmax_divergence(&[3e38, -3e38], &[-3e38, 3e38]).is_finite());
}

/// ε-greedy against greedy has the divergence −log(1 − ε + ε/A), which is 0 where there is nothing to choose.
#[test]
fn the_target_is_the_divergence_of_epsilon_greedy_and_falls() {
    let (model, _) = trained(&ParamNoiseConfig { target_epsilon: 0.2, ..Default::default() });
    assert!((model.target_epsilon - 0.2 * 0.99).abs() < 1e-15, "one round of training was done");
    let epsilon = 0.2 * 0.99;
    assert!((model.target(model.target_epsilon) + (1.0 - epsilon + epsilon / 3.0_f64).ln()).abs() < 1e-15);
    let config = ParamNoiseConfig { target_epsilon: 1.0, ..Default::default() };
    assert_eq!(ParamNoise::new(&config, Shape::new(2, 1), Seed::new(0)).target(0.3), 0.0);
    let greatest = ParamNoise::new(&config, Shape::new(2, 5), Seed::new(0)).target(config.target_epsilon);
    assert!((greatest - 5_f64.ln()).abs() < 1e-15);
}

#[test]
fn noise_that_is_too_weak_grows_by_its_factor_and_too_strong_shrinks() {
    for (noise_std, expected) in [(1e-6, 1e-6 * 1.01), (20.0, 20.0 / 1.01)] {
        let (model, _) = trained(&ParamNoiseConfig { noise_std, ..Default::default() });
        assert!((model.noise_std() / expected - 1.0).abs() < 1e-12, "{} {expected}", model.noise_std());
    }
}

/// From far below and far above, the noise comes to where its divergence is as often above the target as below, so that steps up
/// and down balance: the median over 300 draws lies within a fifth of the target.
#[test]
fn the_scale_adapts_to_its_target() {
    let mut reached = Vec::new();
    for noise_std in [1e-3, 2.0] {
        let config = ParamNoiseConfig {
            noise_std,
            noise_factor: 1.05,
            target_decay: 1.0,
            divergence_contexts: 50,
            ..Default::default()
        };
        let (mut model, replay) = trained(&config);
        let mut work = Work::default();
        let mut total = 0.0;
        for round in 0..600 {
            let rng = &mut Seed::new(3).stream("adapt", round);
            model.adapt(&replay, rng, &mut work).unwrap();
            if round >= 300 {
                total += libm::log(model.noise_std()) / 300.0;
            }
        }
        model.noisy.noise_std = libm::exp(total);
        let draws = (0..300).map(|round| {
            model.noisy.divergence(50, &replay, &mut Seed::new(5).stream("test", round), &mut work).unwrap()
        });
        let mut draws: Vec<f64> = draws.collect();
        draws.sort_by(f64::total_cmp);
        let (median, target) = (draws[150], model.target(model.target_epsilon));
        assert!((median / target - 1.0).abs() < 0.2, "{median} {target}");
        reached.push(model.noise_std());
    }
    assert!((reached[0] / reached[1] - 1.0).abs() < 0.1, "{reached:?}");
}

/// Predictions that overflow only with noise fail with a named error, and the noise does not change.
#[test]
fn noise_that_overflows_is_a_breakdown() {
    let mut config = ParamNoiseConfig {
        noise_std: 1e3,
        net: RewardNetConfig { batch_size: 8, minibatches: 1, ..ParamNoiseConfig::default().net },
        ..Default::default()
    };
    config.net.hidden_layers = Layers(vec![16; 9]);
    let mut model = ParamNoise::new(&config, SHAPE, Seed::new(1));
    let mut replay = Replay::new(SHAPE.n_features, None);
    replay.push(&Outcome::new(0, &[1e9; 5], 0, 0.0));
    Arc::make_mut(&mut model.noisy.weights).parameters.fill(0.0);
    let breakdown = model.fit(&replay, &mut Seed::new(1).stream("fit", 0)).unwrap_err();
    assert!(breakdown.place.starts_with("hidden layer") || breakdown.place == "the predicted rewards");
    assert_eq!(model.noise_std(), 1e3);
}

#[test]
fn defaults_are_the_benchmarks() {
    let expected = "hidden_layers=50 initial_weights=0.3 learning_rate=0.1 learning_rate_decay=0.5 max_gradient_norm=5 \
        batch_size=512 train_every=50 minibatches=100 replay_capacity=all noise_std=0.05 noise_factor=1.01 \
        target_epsilon=0.1 target_decay=0.99 divergence_contexts=300 initial_pulls=2";
    assert_settings("param-noise", expected);
}
