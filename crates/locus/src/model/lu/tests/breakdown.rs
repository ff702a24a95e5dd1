//! Numerical errors are detected where they arise, and named.

use std::ops::Range;
use std::sync::Arc;

use super::{quick, small_gauss, small_sivi};
use crate::agent::{Breakdown, Decider, Learner, Replay, Scratch};
use crate::error::Kind;
use crate::math::nn::{Dense, Mlp};
use crate::model::lu::config::{LuGaussConfig, LuSharedConfig, LuSiviConfig};
use crate::model::lu::model::{Lu, LuConfig};
use crate::model::lu::settings::StdScale;
use crate::{Outcome, Request, Seed, Shape, load};

const SHAPE: Shape = Shape::new(3, 4);
const CONTEXT: [f32; 3] = [3.0, 2.0, 4.0];

fn replay() -> Replay {
    let mut replay = Replay::new(SHAPE.n_features, None);
    for round in 0..20 {
        let action = round as usize % SHAPE.n_actions;
        replay.push(&Outcome::new(round, &CONTEXT, action, round as f64 / 20.0));
    }
    replay
}

/// Fits a model with altered parameters, and returns the numerical error.
fn broken<C: LuConfig>(config: &C, tamper: impl FnOnce(&mut Lu<C>)) -> Breakdown {
    let replay = replay();
    let mut model = Lu::<C>::new(config, SHAPE, Seed::new(1));
    tamper(&mut model);
    model.fit(&replay, &mut Seed::new(2).stream("fit", 0)).unwrap_err()
}

fn gauss() -> LuGaussConfig {
    LuGaussConfig {
        shared: LuSharedConfig { batch_size: 20, minibatches: 1, ..small_gauss().shared },
        ..small_gauss()
    }
}

fn sivi() -> LuSiviConfig {
    LuSiviConfig {
        shared: LuSharedConfig { batch_size: 20, minibatches: 1, ..small_sivi().shared },
        ..small_sivi()
    }
}

/// Weights and biases of a layer.
type Places = (Range<usize>, Range<usize>);

fn places(layer: &Dense) -> Places {
    (layer.weights(), layer.bias())
}

/// Makes the outputs of a layer overflow, given that before it.
fn overflow(parameters: &mut [f32], before: Option<Places>, weights: Range<usize>) {
    if let Some((weights, bias)) = before {
        parameters[weights].fill(0.0);
        parameters[bias].fill(3.0);
    }
    parameters[weights].fill(3e38);
}

fn assert_place(breakdown: &Breakdown, place: &str) {
    assert_eq!(breakdown.place, place, "{breakdown:?}");
    assert!(!breakdown.found.is_finite(), "{breakdown:?}");
}

/// Every layer of a net in turn; `first` is what its layers are counted from.
fn check_layers<C: LuConfig>(
    config: &C,
    name: &str,
    first: usize,
    before: impl Fn(&Lu<C>) -> Option<Places>,
    net: impl Fn(&Lu<C>) -> Mlp,
) {
    let n_layers = net(&Lu::new(config, SHAPE, Seed::new(1))).layers().len();
    for index in 0..n_layers {
        let found = broken(config, |model| {
            let net = net(model);
            let before = if index == 0 { before(model) } else { Some(places(&net.layers()[index - 1])) };
            overflow(model.parameters_mut(), before, net.layers()[index].weights());
        });
        assert_place(&found, &format!("{name} layer {}", first + index));
    }
}

#[test]
fn an_overflow_is_found_in_every_layer() {
    let encoded = |model: &Lu<LuGaussConfig>| model.decider.parts.latent.encoder.layers().last().map(places);
    check_layers(&gauss(), "encoder", 1, |_| None, |model| model.decider.parts.latent.encoder.clone());
    check_layers(&gauss(), "latent mean", 1, encoded, |model| model.decider.parts.latent.mean.clone());
    check_layers(&gauss(), "latent scale", 1, encoded, |model| model.decider.parts.latent.scale.clone());
    check_layers(&gauss(), "decoder", 1, |_| None, |model| model.decider.parts.decoder.clone());

    let found = broken(&sivi(), |model| {
        let weights = model.decider.parts.latent.first.weights();
        overflow(model.parameters_mut(), None, weights);
    });
    assert_place(&found, "ψ layer 1");
    let first = |model: &Lu<LuSiviConfig>| {
        let first = &model.decider.parts.latent.first;
        Some((first.weights(), first.bias()))
    };
    check_layers(&sivi(), "ψ", 2, first, |model| model.decider.parts.latent.rest.clone());
    check_layers(&sivi(), "latent scale", 1, |_| None, |model| model.decider.parts.latent.scale.clone());
    check_layers(&sivi(), "decoder", 1, |_| None, |model| model.decider.parts.decoder.clone());
}

/// Noise of more than seven, so rare that only one of many extra draws has it.
#[test]
fn an_overflow_is_found_in_extra_draws() {
    let config = LuSiviConfig { extra_draws: 1000, ..sivi() };
    let found = broken(&config, |model| {
        let parts = Arc::clone(&model.decider.parts);
        let first = &parts.latent.first;
        model.parameters_mut()[first.weights()].fill(0.0);
        let one_noise_number = first.own_weights().start..first.own_weights().start + first.n_out();
        model.parameters_mut()[one_noise_number].fill(f32::MAX / 7.0);
        let next = model.decider.parts.latent.rest.layers()[0].weights();
        model.parameters_mut()[next].fill(0.0);
    });
    assert_place(&found, "extra draws of ψ layer 1");
}

/// LU-SIVI divides by σ, so there it must not vanish either.
#[test]
fn a_latent_standard_deviation_that_overflows_or_vanishes_is_found() {
    let in_gauss = broken(&gauss(), |model| {
        let bias = model.decider.parts.latent.scale.layers()[1].bias();
        model.parameters_mut()[bias.start + 2] = 200.0;
    });
    let in_sivi = [200.0, -200.0].map(|output| {
        broken(&sivi(), |model| {
            let bias = model.decider.parts.latent.scale.layers()[1].bias();
            model.parameters_mut()[bias.start + 2] = output;
        })
    });
    let infinite = f64::INFINITY;
    for (found, expected) in [in_gauss].into_iter().chain(in_sivi).zip([infinite, infinite, 0.0]) {
        assert_eq!(found, Breakdown { place: "the latent standard deviation".to_owned(), found: expected });
    }
}

/// In LU-Gauss it is not an error: z is the mean for any noise, and log q, whose σ has not rounded to 0, increases it again.
#[test]
fn lu_gauss_goes_on_where_the_latent_standard_deviation_rounds_to_zero() {
    let config = gauss();
    let replay = replay();
    let mut model = Lu::<LuGaussConfig>::new(&config, SHAPE, Seed::new(1));
    let last = &model.decider.parts.latent.scale.layers()[1];
    let (weights, bias) = (last.weights(), last.bias());
    model.parameters_mut()[weights].fill(0.0);
    model.parameters_mut()[bias.clone()].fill(-250.0);
    let draw = |model: &Lu<LuGaussConfig>, round| {
        let mut rewards = [0.0; SHAPE.n_actions];
        let mut rng = Seed::new(3).stream("choose", round);
        Scratch::with(|scratch| model.decider().draw(&[&CONTEXT], &mut rng, scratch, &mut rewards)).unwrap();
        rewards
    };
    assert_eq!(draw(&model, 0), draw(&model, 1));
    for round in 0..3 {
        model.fit(&replay, &mut Seed::new(2).stream("fit", round)).unwrap();
    }
    assert!(model.decider.parameters.iter().all(|parameter| parameter.is_finite()));
    assert!(model.decider.parameters[bias].iter().all(|&output| output > -250.0));
}

#[test]
fn a_latent_variable_that_overflows_is_found() {
    let found = broken(&gauss(), |model| {
        let (mean, scale) = (
            model.decider.parts.latent.mean.layers()[1].bias(),
            model.decider.parts.latent.scale.layers()[1].bias(),
        );
        model.parameters_mut()[mean].fill(3.3e38);
        model.parameters_mut()[scale].fill(175.0);
    });
    assert_place(&found, "the latent variable");
}

#[test]
fn a_reward_standard_deviation_that_overflows_or_vanishes_is_found() {
    for (log_std, expected) in [(200.0, f64::INFINITY), (-200.0, 0.0)] {
        let place = "the reward standard deviation of action 2".to_owned();
        let expected = Breakdown { place, found: expected };
        let config = LuGaussConfig {
            shared: LuSharedConfig { reward_std_scale: StdScale::Log, ..gauss().shared },
            ..gauss()
        };
        let tamper = |model: &mut Lu<LuGaussConfig>| {
            let place = model.decider.parts.reward_std.start + 2;
            model.parameters_mut()[place] = log_std;
        };
        assert_eq!(broken(&config, tamper), expected);
        let config = LuSiviConfig {
            shared: LuSharedConfig { reward_std_scale: StdScale::Log, ..sivi().shared },
            ..sivi()
        };
        let tamper = |model: &mut Lu<LuSiviConfig>| {
            let place = model.decider.parts.reward_std.start + 2;
            model.parameters_mut()[place] = log_std;
        };
        assert_eq!(broken(&config, tamper), expected);
    }
    let negative = broken(&gauss(), |model| {
        let place = model.decider.parts.reward_std.start;
        model.parameters_mut()[place] = -0.25;
    });
    let place = "the reward standard deviation of action 0".to_owned();
    assert_eq!(negative, Breakdown { place, found: -0.25 });
}

#[test]
fn a_prior_standard_deviation_that_vanishes_is_found() {
    let found = broken(&gauss(), |model| {
        let place = model.decider.parts.log_prior_std.start;
        model.parameters_mut()[place] = -60.0;
    });
    assert_eq!(found.place, "the prior standard deviation");
    assert!(found.found > 0.0 && found.found < 1e-25, "{found:?}");
}

#[test]
fn an_optimizer_that_overflowed_is_found_in_the_layer_that_it_moved() {
    let found = broken(&gauss(), |model| {
        let place = model.decider.parts.decoder.layers()[1].bias().start;
        model.optimizer.squares[place] = f32::INFINITY;
    });
    assert_place(&found, "the gradient of decoder layer 2");
    let found = broken(&sivi(), |model| {
        let place = model.decider.parts.latent.first.weights().start;
        model.parameters_mut()[place] = f32::NAN;
    });
    assert_place(&found, "the gradient of ψ layer 1");
}

/// Squares of the gradients of rewards of 1e18 are beyond f32. A model that kept them could never train again, nor be loaded.
#[test]
fn rewards_too_large_to_square_are_an_error_and_leave_no_trace() {
    for id in super::POLICIES {
        let settings = [("minibatches", "1"), ("replay_capacity", "20")];
        let mut policy = quick(id, &settings, SHAPE, 1);
        let teach = |policy: &mut dyn crate::Policy, round: u64, reward: f64| {
            policy.learn(Outcome::new(round, &CONTEXT, round as usize % 4, reward))
        };
        for round in 0..20 {
            let result = teach(&mut *policy, round, 1e18);
            assert_eq!(result.is_err(), round == 19, "{id}: {result:?}");
            if let Err(error) = result {
                assert!(error.is_numeric());
                let message = error.to_string();
                assert!(
                    message.starts_with("the gradient of ") && message.contains(" in round 19"),
                    "{message}"
                );
            }
        }
        // Moderate rewards replace the large ones, and training continues.
        for round in 20..60 {
            let report = teach(&mut *policy, round, 1.0).unwrap();
            assert_eq!(report.minibatches, u32::from(round % 20 == 19), "{id}");
        }
        assert!(load(&policy.save()).is_ok(), "{id}");
    }
}

#[test]
fn a_loss_beyond_all_numbers_is_an_error_that_names_the_round() {
    for id in super::POLICIES {
        let mut policy = quick(id, &[], SHAPE, 1);
        let before = policy.sample_rewards(0, &[&CONTEXT]).unwrap();
        for round in 100..120 {
            let result = policy.learn(Outcome::new(round, &CONTEXT, 1, 3e38));
            if let Err(error) = &result {
                let message = error.to_string();
                assert_eq!(
                    message,
                    "the loss gave inf in round 119; the model was restored to its state before this round of training",
                    "{id}"
                );
            }
            assert_eq!(result.is_err(), round == 119, "{id}");
        }
        assert_eq!(policy.sample_rewards(0, &[&CONTEXT]).unwrap(), before, "{id}");
    }
}

/// A decision that overflows fails, and the error names the place.
#[test]
fn decisions_name_the_layer_and_the_round() {
    let model = {
        let mut model = Lu::<LuSiviConfig>::new(&sivi(), SHAPE, Seed::new(1));
        let decoder = model.decider.parts.decoder.clone();
        overflow(model.parameters_mut(), Some(places(&decoder.layers()[0])), decoder.layers()[1].weights());
        model
    };
    let mut rewards = [0.0; SHAPE.n_actions];
    let drawn = Scratch::with(|scratch| {
        model.decider().draw(&[&CONTEXT], &mut Seed::new(3).stream("choose", 0), scratch, &mut rewards)
    });
    assert_place(&drawn.unwrap_err(), "decoder layer 2");

    for id in super::POLICIES {
        let policy = quick(id, &[], Shape::new(40, 2), 1);
        let (modest, huge) = ([1.0; 40], [f32::MAX; 40]);
        let errors = [
            policy.choose(Request::new(77, &huge)).unwrap_err(),
            policy.sample_rewards(77, &[&modest, &huge]).unwrap_err(),
        ];
        for error in errors {
            let Kind::Numeric { place, found, round } = error.kind() else { panic!("{id}: {error}") };
            let is_named = place.contains(" layer ") && !found.is_finite()
                || place == "the latent standard deviation" && *found == 0.0;
            assert!(is_named && *round == 77, "{id}: {error}");
        }
    }
}
