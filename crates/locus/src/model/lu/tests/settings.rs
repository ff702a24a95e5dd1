//! Both presets as docs/paper.md lists them, and what the settings do in training.

use super::{ablated_gauss, parameters, small_gauss, small_sivi, work};
use crate::agent::contract::assert_settings;
use crate::agent::{Learner, Replay};
use crate::math::nn::gradient_check::random;
use crate::math::nn::{LowRank, Normals};
use crate::model::lu::config::{LuGaussConfig, LuSharedConfig, LuSiviConfig};
use crate::model::lu::model::{Lu, LuConfig, Parts};
use crate::model::lu::settings::StdScale;
use crate::model::lu::sivi::Sivi;
use crate::registry::values::{Layers, Switch};
use crate::{Outcome, PolicySpec, Seed, Shape};

const SHAPE: Shape = Shape::new(3, 4);

/// What all LU policies have in common, in both presets.
const COMMON: &str = "latent_dim=50 reward_std=0.5 reward_std_spread=0.05 learn_prior_std=on reward_scaling=off \
    batch_size=512 train_every=20 minibatches=40 replay_capacity=all initial_pulls=2 reward_std_floor=0.001";
const GAUSS_PAPER: &str =
    "encoder_layers=100x50 head_layers=50 decoder_layers=50 learning_rate=0.001 prior_std=1.25";
const GAUSS_AUTHORS: &str =
    "encoder_layers=100x50 head_layers=none decoder_layers=100x50 learning_rate=0.0002 prior_std=1";
const SIVI: &str = "psi_layers=100 scale_layers=50 decoder_layers=50 extra_draws=50 noise_std=2 low_rank_noise=on \
    learning_rate=0.001 prior_std=1.25";
const PAPER: &str = "latent_std_link=exp reward_std_scale=log";
const AUTHORS: &str = "latent_std_link=exp-half reward_std_scale=linear";
const LOCAL_PAPER: &str = "latent_input=context kl_weight=one kl_warmup_rounds=0";
const LOCAL_AUTHORS: &str = "latent_input=context kl_weight=one kl_warmup_rounds=15";
const ABLATION: &str = "latent_input=ones kl_weight=per-observation kl_warmup_rounds=0";

#[test]
fn presets_are_the_papers_and_the_authors() {
    for (id, parts) in [
        ("lu-gauss@paper", [COMMON, GAUSS_PAPER, PAPER, LOCAL_PAPER]),
        ("lu-gauss@authors", [COMMON, GAUSS_AUTHORS, AUTHORS, LOCAL_AUTHORS]),
        ("lu-gauss-ablation@paper", [COMMON, GAUSS_PAPER, PAPER, ABLATION]),
        ("lu-gauss-ablation@authors", [COMMON, GAUSS_AUTHORS, AUTHORS, ABLATION]),
        ("lu-sivi@paper", [COMMON, SIVI, PAPER, LOCAL_PAPER]),
        ("lu-sivi@authors", [COMMON, SIVI, AUTHORS, LOCAL_AUTHORS]),
        ("lu-sivi-ablation@paper", [COMMON, SIVI, PAPER, ABLATION]),
        ("lu-sivi-ablation@authors", [COMMON, SIVI, AUTHORS, ABLATION]),
    ] {
        assert_settings(id, &parts.join(" "));
    }
    let plain: PolicySpec = "lu-gauss".parse().unwrap();
    assert_eq!(plain.preset(), "authors");
}

/// The weight of the KL term before each of some rounds of training, with 20 observations more each time.
fn kl_weights<C: LuConfig>(config: &C, n_fits: u64) -> Vec<f32> {
    let mut model = Lu::<C>::new(config, SHAPE, Seed::new(1));
    let mut replay = Replay::new(SHAPE.n_features, None);
    let mut weights = Vec::new();
    for fit in 0..n_fits {
        for round in 0..20 {
            let outcome = Outcome::new(round, &[1.0, 0.5, -0.5], 1, 0.5);
            model.observe(&outcome);
            replay.push(&outcome);
        }
        weights.push(model.kl_weight());
        model.fit(&replay, &mut Seed::new(2).stream("fit", fit)).unwrap();
    }
    weights
}

#[test]
fn the_kl_term_is_weighted_as_the_setting_says() {
    let quick = LuGaussConfig {
        shared: LuSharedConfig { batch_size: 20, minibatches: 1, ..small_gauss().shared },
        ..small_gauss()
    };
    let warm_up = LuGaussConfig {
        shared: LuSharedConfig { kl_warmup_rounds: 4, ..quick.clone().shared },
        ..quick.clone()
    };
    assert_eq!(kl_weights(&warm_up, 6), [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]);
    let none = LuGaussConfig {
        shared: LuSharedConfig { kl_warmup_rounds: 0, ..quick.clone().shared },
        ..quick.clone()
    };
    assert_eq!(kl_weights(&none, 2), [1.0, 1.0]);
    assert_eq!(kl_weights(&ablated_gauss(&quick), 3), [1.0 / 20.0, 1.0 / 40.0, 1.0 / 60.0]);
}

/// σ_r starts as N(0.5, 0.05²) on both scales: means of 2000 and bounds of five standard errors, once in a million seeds each.
#[test]
fn reward_deviations_start_around_a_half() {
    let shape = Shape::new(1, 2000);
    for reward_std_scale in [StdScale::Linear, StdScale::Log] {
        let config = LuGaussConfig {
            shared: LuSharedConfig { reward_std_scale, ..small_gauss().shared },
            ..small_gauss()
        };
        let model = Lu::<LuGaussConfig>::new(&config, shape, Seed::new(3));
        let stds: Vec<f64> = model.decider.parameters[model.decider.parts.reward_std.clone()]
            .iter()
            .map(|&parameter| match reward_std_scale {
                StdScale::Linear => f64::from(parameter),
                StdScale::Log => f64::from(parameter).exp(),
            })
            .collect();
        let n = stds.len() as f64;
        let mean = stds.iter().sum::<f64>() / n;
        let std = (stds.iter().map(|std| (std - mean).powi(2)).sum::<f64>() / n).sqrt();
        assert!((mean - 0.5).abs() < 5.0 * 0.05 / n.sqrt(), "{mean}");
        assert!((std - 0.05).abs() < 5.0 * 0.05 / (2.0 * n).sqrt(), "{std}");
        let log_prior_std = model.decider.parameters[model.decider.parts.log_prior_std.start];
        assert!((f64::from(log_prior_std).exp() - config.prior_std).abs() < 1e-6);
    }
}

/// The prior's deviation moves only if it is learned.
#[test]
fn a_fixed_prior_has_no_gradient() {
    for learn_prior_std in [Switch::On, Switch::Off] {
        let config = LuSiviConfig {
            shared: LuSharedConfig { learn_prior_std, ..small_sivi().shared },
            ..small_sivi()
        };
        let parts: Parts<Sivi> = Parts::new(&config, config.resolved(), SHAPE);
        let parameters = parameters(&parts, &mut Seed::new(4).stream("init", 0));
        let mut work = work(&parts, 20, &mut Seed::new(5).stream("batch", 0), |rng| random(3, rng));
        let mut normals = Normals::new(&mut Seed::new(6).stream("noise", 0));
        parts.forward(&parameters, &mut normals, &mut work);
        parts.loss(&parameters, 1.0, &mut normals, &mut work);
        let gradient = work.gradients[parts.log_prior_std.start];
        assert_eq!(gradient != 0.0, learn_prior_std == Switch::On, "{gradient}");
    }
}

/// The factor that low-rank noise is drawn by belongs to the weights of its own minibatch, not to those of an earlier one.
#[test]
fn low_rank_noise_follows_the_weights_minibatch_by_minibatch() {
    let shape = Shape::new(9, 2);
    let fitted = |minibatches: u32| {
        let config = LuSiviConfig {
            psi_layers: Layers(vec![4]),
            learning_rate: 0.01,
            shared: LuSharedConfig { batch_size: 20, minibatches, ..small_sivi().shared },
            ..small_sivi()
        };
        let mut model = Lu::<LuSiviConfig>::new(&config, shape, Seed::new(1));
        let mut replay = Replay::new(shape.n_features, None);
        let mut rng = Seed::new(2).stream("problem", 0);
        for round in 0..30 {
            let context = random(shape.n_features, &mut rng);
            let outcome = Outcome::new(round, &context, rng.below(2), rng.normal());
            model.observe(&outcome);
            replay.push(&outcome);
        }
        model.fit(&replay, &mut Seed::new(3).stream("fit", 0)).unwrap();
        model
    };
    let (one, two) = (fitted(1), fitted(2));
    let mut expected = LowRank::default();
    let first = &one.decider.parts.latent.first;
    expected.prepare(&one.decider.parameters[first.own_weights()], first.n_out());
    let found = two.work.0.as_ref().unwrap().latent.low_rank.as_ref().unwrap();
    assert_eq!(found.weights(), expected.weights());
}
