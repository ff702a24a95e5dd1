//! Posteriors against those built one observation at a time, draws against their formula, decisions against draws, and the net's loss
//! against finite differences.

use super::*;
use crate::agent::contract::{assert_settings, assert_winners_are_those_of_draws};
use crate::agent::wrapper::Thompson;
use crate::agent::{Choose, Policy};
use crate::model::linear::pooled::Tempering;
use crate::random::kolmogorov::{KOLMOGOROV_ONE_IN_10_000, kolmogorov_of_two};
use crate::registry::values::{Capacity, Layers};

const SHAPE: Shape = Shape::new(4, 3);

fn small() -> LocusConfig {
    LocusConfig {
        hidden_layers: Layers(vec![7, 6]),
        batch_size: 32,
        minibatches: 10,
        net_sizes: Sizes(vec![0.5, 1.0]),
        tempering: Tempering::Root,
        tempering_steps: 100.0,
        tempering_rarity: 1e12,
        expert_choice: ExpertChoice::Drawn,
        ..LocusConfig::default()
    }
}

/// Rewards that are not linear in the context, of a size that needs a scale.
fn outcomes(n: u64) -> Vec<(Vec<f32>, usize, f64)> {
    let outcome = |round: u64| {
        let mut rng = Seed::new(5).stream("problem", round);
        let context: Vec<f32> = (0..4).map(|_| 2.0 * rng.normal() as f32).collect();
        let action = rng.below(3);
        let reward = 50.0 + 20.0 * f64::from(context[action].abs()) + rng.normal();
        (context, action, reward)
    };
    (0..n).map(outcome).collect()
}

fn trained(config: &LocusConfig, n: u64) -> Thompson<Locus> {
    let mut policy = config.build(SHAPE, Seed::new(1)).unwrap();
    for (round, (context, action, reward)) in outcomes(n).iter().enumerate() {
        let (round, action, reward) = (round as u64, *action, *reward);
        policy.learn(Outcome { round, context, action, reward }).unwrap();
    }
    policy
}

/// `[c·x, 1, φ/rms‖φ‖]`
fn features(model: &Locus, context: &[f32]) -> Vec<f64> {
    let mut features = vec![0.0; model.n_features()];
    model.fill_features(context, &mut FeatureWork::default(), &mut features).unwrap();
    features
}

/// What an expert sees of a context.
fn seen_by(model: &Locus, expert: usize, context: &[f32]) -> Vec<f64> {
    let expert = &model.experts[expert];
    let mut own = vec![0.0; expert.heads.dim()];
    expert.fill_features(&features(model, context), model.n_linear(), &mut own);
    own
}

/// At a round of training (60) and between two of them, λ having been looked for at the last (73) or before (133), with every kind of net; λ is no
/// longer the given one.
#[test]
fn rebuilt_posteriors_are_those_of_every_observation_in_turn() {
    for (n, feature_net) in [
        (60, NetKind::Plain),
        (73, NetKind::Plain),
        (133, NetKind::Plain),
        (73, NetKind::LuGauss),
        (73, NetKind::LuSivi),
    ] {
        let policy = trained(&LocusConfig { feature_net, precision_strength: 1.0, ..small() }, n);
        let model = policy.model();
        let precision = model.precision();
        assert_ne!(precision, 0.25);
        let weights = [None, Some(model.experts[1].net_weight), Some(model.experts[2].net_weight)];
        let n_features = model.n_features();
        assert_eq!(n_features, if feature_net == NetKind::Plain { 5 + 6 } else { 5 + 50 });
        let prior = LinearPrior { precision, ..small().prior() };
        let mut expected = [5, n_features, n_features].map(|dim| vec![LinearPosterior::new(dim, prior); 3]);
        let mut squares = 0.0;
        for (index, (context, action, reward)) in outcomes(n).iter().enumerate() {
            let features = features(model, context);
            let target = (reward - model.scale.reward_mean) / model.scale.reward_unit;
            for (weight, posteriors) in weights.iter().zip(&mut expected) {
                let mut own = features[..5].to_vec();
                own.extend(weight.iter().flat_map(|w| features[5..].iter().map(move |feature| w * feature)));
                posteriors[*action].observe(&own, target);
            }
            let n_trained_on = n / 20 * 20;
            if (index as u64) < n_trained_on {
                squares +=
                    features[5..].iter().map(|feature| feature * feature).sum::<f64>() / n_trained_on as f64;
            }
        }
        assert!((squares - 1.0).abs() < 1e-6, "the mean square length of the net's features is {squares}");
        for (expert, posteriors) in expected.iter().enumerate() {
            for (action, expected) in posteriors.iter().enumerate() {
                let found = model.posterior(expert, action);
                assert_eq!(found.noise_shape(), expected.noise_shape());
                assert!((found.noise_rate() - expected.noise_rate()).abs() < 1e-6);
                for (found, expected) in found.mean().iter().zip(expected.mean()) {
                    assert!(
                        (found - expected).abs() < 1e-5,
                        "{n} observations, expert {expert}, action {action}"
                    );
                }
            }
        }
    }
}

/// With λ = 0.25 and noise of variance 1 before anything was seen, w is half the size; afterwards it goes with the noise of the posteriors
/// that were there before.
#[test]
fn what_the_net_adds_has_a_size_of_its_own() {
    let config = LocusConfig { precision_strength: 1.0, ..small() };
    let model = |n| trained(&config, n).model().clone();
    assert_eq!(model(0).experts.iter().map(|expert| expert.net_weight).collect::<Vec<_>>(), [0.0, 0.25, 0.5]);
    let of_noise = LocusConfig { net_prior: NetPrior::Noise, ..small() };
    for n in [0, 40] {
        let weights: Vec<f64> =
            trained(&of_noise, n).model().experts.iter().map(|expert| expert.net_weight).collect();
        assert_eq!(weights, [0.0, 0.5, 1.0]);
    }
    let mut before = model(19);
    let context = &outcomes(20)[19];
    before.observe(&Outcome { round: 19, context: &context.0, action: context.1, reward: context.2 });
    let (shape, rate) = pooled_noise(&before.experts[2].heads);
    let after = model(20);
    let (weight, precision) = (after.experts[2].net_weight, after.precision());
    assert_ne!(precision, 0.25);
    // Residuals are smaller in a larger unit; the prior's rate is 3 in any.
    let unit_ratio = before.scale.reward_unit / after.scale.reward_unit;
    assert!(unit_ratio < 0.1, "{unit_ratio}");
    let rate = 3.0 + (rate - 3.0) * unit_ratio.powi(2);
    assert!((weight * weight * rate / shape / precision - 1.0).abs() < 1e-9, "{weight}");
}

/// Without deviations a draw is the mean of the experts' means, each by its probability.
#[test]
fn averaged_experts_count_by_their_probabilities() {
    let config = LocusConfig {
        expert_choice: ExpertChoice::Averaged,
        exploration: 0.0,
        evidence_discount: 0.1,
        ..small()
    };
    let policy = trained(&config, 70);
    let model = policy.model();
    let probabilities = model.expert_probabilities();
    assert!(probabilities.iter().all(|probability| *probability > 0.01), "{probabilities:?}");
    let context = [0.5, -1.0, 2.0, 0.3];
    let drawn = policy.sample_rewards(7, &[&context]).unwrap();
    for (action, drawn) in drawn.iter().enumerate() {
        let mean = |expert: usize| model.posterior(expert, action).predict(&seen_by(model, expert, &context));
        let value: f64 = (0..3).map(|expert| probabilities[expert] * mean(expert)).sum();
        let expected = model.scale.reward_mean + model.scale.reward_unit * value;
        assert!((drawn - expected).abs() < 1e-9, "action {action}: {drawn}, {expected}");
    }
}

/// L_e ← δ·L_e + log N(y; m_e, s²(1 + v_e²)), where s² is the noise of the action or of all: the odds of the experts, before and after one observation.
#[test]
fn evidence_has_the_noise_that_is_asked_for() {
    for evidence_noise in [EvidenceNoise::Own, EvidenceNoise::Pooled] {
        let config = LocusConfig { evidence_noise, evidence_discount: 0.7, ..small() };
        let policy = trained(&config, 70);
        let mut model = policy.model().clone();
        let before = model.expert_probabilities();
        let (context, action, reward) = &outcomes(71)[70];
        let target = model.scale.standardize(*reward);
        let log_density = |expert: usize| {
            let own = seen_by(&model, expert, context);
            let posterior = model.posterior(expert, *action);
            let noise = match evidence_noise {
                EvidenceNoise::Own => posterior.noise_rate() / posterior.noise_shape(),
                EvidenceNoise::Pooled => {
                    let (shape, rate) = pooled_noise(&model.experts[expert].heads);
                    rate / shape
                }
            };
            let variance = noise * (1.0 + posterior.leverage(&own, &mut vec![0.0; own.len()]));
            let deviation = target - posterior.predict(&own);
            -0.5 * (variance.ln() + deviation * deviation / variance)
        };
        let densities = [0, 1, 2].map(log_density);
        model.observe(&Outcome { round: 70, context, action: *action, reward: *reward });
        let after = model.expert_probabilities();
        for expert in [1, 2] {
            let found = (after[expert] / after[0]).ln();
            let expected = 0.7 * (before[expert] / before[0]).ln() + densities[expert] - densities[0];
            assert!((found - expected).abs() < 1e-9, "{evidence_noise:?}, {expert}: {found}, {expected}");
        }
    }
}

/// The mean of the expert that is drawn, and deviations by the linear one. Two-sample Kolmogorov–Smirnov of 50 000 draws each,
/// exceeded by chance once in 10 000 seeds for each action.
#[test]
fn rewards_are_drawn_as_the_formula_says() {
    const N_DRAWS: usize = 50_000;
    // Without much left of the evidence, all experts are drawn.
    let policy = trained(&LocusConfig { evidence_discount: 0.1, ..small() }, 70);
    let model = policy.model();
    let probabilities = model.expert_probabilities();
    assert!(probabilities.iter().all(|probability| *probability > 0.02), "{probabilities:?}");
    let context = [0.5, -1.0, 2.0, 0.3];
    let features = features(model, &context);
    let own = |expert: usize| {
        let mut own = vec![0.0; if expert == 0 { 5 } else { 11 }];
        model.experts[expert].fill_features(&features, 5, &mut own);
        own
    };
    let (shape, rate) = pooled_noise(model.linear());
    let drawn = policy.sample_rewards(7, &vec![&context[..]; N_DRAWS]).unwrap();
    let mut rng = Seed::new(6).stream("test", 0);
    for action in 0..3 {
        let drawn: Vec<f64> = drawn.iter().skip(action).step_by(3).copied().collect();
        let linear = model.posterior(0, action);
        let leverage = linear.leverage(&features[..5], &mut [0.0; 5]);
        let means = [0, 1, 2].map(|expert| model.posterior(expert, action).predict(&own(expert)));
        let by_formula = (0..N_DRAWS).map(|_| {
            let place = rng.uniform();
            let is_cautious = place < probabilities[0] + probabilities[1];
            let mean = if place < probabilities[0] { means[0] } else { means[2 - usize::from(is_cautious)] };
            let variance = (rate / rng.gamma(shape)).max(linear.sample_noise_variance(&mut rng));
            let deviation = (variance * leverage / 1.7).sqrt() * rng.normal();
            model.scale.reward_mean + model.scale.reward_unit * (mean + deviation)
        });
        let statistic = kolmogorov_of_two(drawn, by_formula.collect());
        assert!(statistic < KOLMOGOROV_ONE_IN_10_000, "action {action}: {statistic}");
    }
}

#[test]
fn the_winner_is_that_of_the_full_draw() {
    for expert_choice in [ExpertChoice::Drawn, ExpertChoice::Likelier, ExpertChoice::Averaged] {
        for deviation in [Deviation::Linear, Deviation::Drawn] {
            let config = LocusConfig { expert_choice, deviation, evidence_discount: 0.1, ..small() };
            let policy = trained(&config, 70);
            assert_winners_are_those_of_draws(policy.model(), SHAPE, &format!("{config:?}"));
        }
    }
}

/// Where rewards bend, the net's expert predicts better and is found out; where they do not, the linear one is not given up.
#[test]
fn evidence_tells_which_expert_is_right() {
    let config = LocusConfig { learning_rate: 0.01, minibatches: 40, ..small() };
    let bent = trained(&config, 400);
    let linear = bent.model().expert_probabilities()[0];
    assert!(linear < 0.01, "{linear}");
    let mut straight = config.build(SHAPE, Seed::new(1)).unwrap();
    for (round, (context, action, _)) in outcomes(400).iter().enumerate() {
        let noise = Seed::new(7).stream("noise", round as u64).normal();
        let reward = f64::from(context[*action]) + noise;
        straight.learn(Outcome { round: round as u64, context, action: *action, reward }).unwrap();
    }
    let linear = straight.model().expert_probabilities()[0];
    assert!(linear > 0.2, "{linear}");
}

#[test]
fn settings_are_those_of_the_page() {
    assert_settings(
        "locus",
        "prior_precision=0.25 precision=fitted precision_strength=50 prior_shape=3 prior_rate=3 reward_unit_floor=1 noise=larger \
         tempering=coefficients tempering_steps=10 tempering_coefficients=70 tempering_rarity=0.35 exploration=1 deviation=linear \
         expert_choice=averaged evidence_discount=0.99 evidence_noise=own net_sizes=0.35 net_prior=fixed feature_net=plain \
         hidden_layers=50 learning_rate=0.001 reward_std=0.5 batch_size=512 train_every=20 minibatches=40 replay_capacity=all initial_pulls=2",
    );
}

#[test]
fn earlier_settings_are_those_of_the_page() {
    assert_settings(
        "locus@given",
        "prior_precision=0.25 precision=given precision_strength=50 prior_shape=3 prior_rate=3 reward_unit_floor=1 noise=larger \
         tempering=coefficients tempering_steps=20 tempering_coefficients=50 tempering_rarity=1e12 exploration=1 deviation=linear \
         expert_choice=drawn evidence_discount=0.99 evidence_noise=pooled net_sizes=0.35 net_prior=fixed feature_net=plain \
         hidden_layers=50 learning_rate=0.001 reward_std=0.5 batch_size=512 train_every=20 minibatches=40 replay_capacity=all initial_pulls=2",
    );
    assert_settings(
        "locus@mixture",
        "prior_precision=0.25 precision=given precision_strength=50 prior_shape=1 prior_rate=1 reward_unit_floor=1 noise=larger \
         tempering=root tempering_steps=100 tempering_coefficients=50 tempering_rarity=1e12 exploration=1 deviation=linear \
         expert_choice=drawn evidence_discount=0.99 evidence_noise=pooled net_sizes=1 net_prior=noise feature_net=plain \
         hidden_layers=50 learning_rate=0.001 reward_std=0.5 batch_size=512 train_every=20 minibatches=40 replay_capacity=all initial_pulls=2",
    );
}

/// A context so large that the net's features overflow: the decision is refused by place, the linear expert learns from it, the others do not,
/// and it is counted once training succeeds again.
#[test]
fn features_that_overflow_are_named_and_counted() {
    // Large steps make large weights.
    let config = LocusConfig { replay_capacity: Capacity(Some(22)), learning_rate: 1.0, ..small() };
    let mut policy = trained(&config, 60);
    let context = [f32::MAX; 4];
    let error = policy.choose(Request { round: 60, context: &context }).unwrap_err();
    assert!(error.is_numeric() && error.to_string().contains("hidden layer"), "{error}");
    let shapes = |policy: &Thompson<Locus>| [0, 1, 2].map(|e| policy.model().posterior(e, 1).noise_shape());
    let (before, probabilities) = (shapes(&policy), policy.model().expert_probabilities());
    policy.learn(Outcome { round: 60, context: &context, action: 1, reward: 60.0 }).unwrap();
    assert_eq!(shapes(&policy), [before[0] + 0.5, before[1], before[2]]);
    assert_eq!(policy.model().expert_probabilities(), probabilities);

    let good = |round: u64| outcomes(round + 1).pop().unwrap();
    let teach = |policy: &mut dyn Policy, round: u64| {
        let (context, action, reward) = good(round);
        policy.learn(Outcome { round, context: &context, action, reward })
    };
    for round in 61..79 {
        teach(&mut policy, round).unwrap();
    }
    let error = teach(&mut policy, 79).unwrap_err();
    assert!(error.is_numeric() && error.to_string().contains("hidden layer"), "{error}");
    let mut resumed = crate::load(&policy.save()).unwrap();
    for policy in [&mut policy as &mut dyn Policy, &mut *resumed] {
        for round in 80..100 {
            let report = teach(policy, round).unwrap();
            assert_eq!(report.interventions, u64::from(round == 99));
        }
    }
}
