//! Posteriors against those built one observation at a time, draws against their formula, decisions against draws, and the net's loss
//! against finite differences.

use super::*;
use crate::agent::Agent;
use crate::agent::contract::{assert_settings, assert_winners_are_those_of_draws};
use crate::agent::{Choose, Policy};
use crate::math::linear::LinearPosterior;
use crate::model::linear::heads::comparison::assert_close;
use crate::random::kolmogorov::{KOLMOGOROV_ONE_IN_10_000, kolmogorov_of_two};
use crate::registry::values::{Capacity, Layers};

const SHAPE: Shape = Shape::new(4, 3);

fn small() -> LocusConfig {
    LocusConfig {
        hidden_layers: Layers(vec![7, 6]),
        batch_size: 32,
        minibatches: 10,
        net_size: 0.5,
        tempering_coefficients: 0.0,
        tempering_rarity: 1e12,
        pooled: LocusConfig::default().pooled.tempering_steps(100.0),
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

fn trained(config: &LocusConfig, n: u64) -> Agent<Locus> {
    let mut policy = config.build_agent(SHAPE, Seed::new(1)).unwrap();
    for (round, (context, action, reward)) in outcomes(n).iter().enumerate() {
        let (round, action, reward) = (round as u64, *action, *reward);
        policy.learn(Outcome::new(round, context, action, reward)).unwrap();
    }
    policy
}

/// `[c·x, 1, w·φ/rms‖φ‖]`
fn features(experts: &Experts, context: &[f32]) -> Vec<f64> {
    let mut features = vec![0.0; experts.deep.dim()];
    experts.fill_features(context, &mut NetWork::default(), &mut features).unwrap();
    features
}

/// An expert, and what it sees of a context.
fn seen_by(experts: &Experts, is_deep: bool, context: &[f32]) -> (LinearHeads, Vec<f64>) {
    let mut features = features(experts, context);
    let heads = if is_deep { &experts.deep } else { &experts.linear };
    features.truncate(heads.dim());
    (heads.clone(), features)
}

/// At a round of training (60) and between two of them, λ having been looked for at the last (73) or before (133); λ is no longer the given one.
#[test]
fn rebuilt_posteriors_are_those_of_every_observation_in_turn() {
    for n in [60, 73, 133] {
        let policy = trained(&small().precision_strength(1.0), n);
        let Locus { experts, precision, .. } = policy.learner();
        let precision = precision.value();
        assert_ne!(precision, 0.25);
        let n_features = experts.deep.dim();
        assert_eq!(n_features, 5 + 6);
        let prior = LinearPrior { precision, ..small().pooled.prior() };
        let mut expected = [5, n_features].map(|dim| vec![LinearPosterior::new(dim, prior); 3]);
        let mut squares = 0.0;
        for (index, (context, action, reward)) in outcomes(n).iter().enumerate() {
            let features = features(experts, context);
            let target = (reward - experts.scale.reward_mean) / experts.scale.reward_unit;
            for posteriors in &mut expected {
                let dim = posteriors[0].mean().len();
                posteriors[*action].observe(&features[..dim], target);
            }
            let n_trained_on = n / 20 * 20;
            if (index as u64) < n_trained_on {
                let by_net = features[5..].iter().map(|feature| (feature / experts.net_weight).powi(2));
                squares += by_net.sum::<f64>() / n_trained_on as f64;
            }
        }
        assert!((squares - 1.0).abs() < 1e-6, "the mean square length of the net's features is {squares}");
        for (heads, posteriors) in [&experts.linear, &experts.deep].into_iter().zip(&expected) {
            for (action, expected) in posteriors.iter().enumerate() {
                let found = heads.posterior(action);
                assert_eq!(found.noise_shape(), expected.noise_shape());
                assert!((found.noise_rate() - expected.noise_rate()).abs() < 1e-6);
                for (found, expected) in found.mean().iter().zip(expected.mean()) {
                    assert!((found - expected).abs() < 1e-5, "{n} observations, action {action}");
                }
            }
        }
    }
}

/// With λ = 0.25 and noise of variance 1 before anything was seen, w is half the size; afterwards it goes with the noise of the posteriors
/// that were there before.
#[test]
fn what_the_net_adds_has_a_size_of_its_own() {
    let config = small().precision_strength(1.0);
    let model = |n| trained(&config, n).learner().clone();
    assert_eq!(model(0).experts.net_weight, 0.25);
    let mut before = model(19);
    let context = &outcomes(20)[19];
    before.observe(&Outcome::new(19, &context.0, context.1, context.2));
    let (shape, rate) = pooled_noise(&before.experts.deep);
    let after = model(20);
    let (weight, precision) = (after.experts.net_weight, after.precision.value());
    assert_ne!(precision, 0.25);
    // Residuals are smaller in a larger unit; the prior's rate is 3 in any.
    let unit_ratio = before.experts.scale.reward_unit / after.experts.scale.reward_unit;
    assert!(unit_ratio < 0.1, "{unit_ratio}");
    let rate = 3.0 + (rate - 3.0) * unit_ratio.powi(2);
    assert!((weight * weight * rate / shape / precision / 0.25 - 1.0).abs() < 1e-9, "{weight}");
}

/// L_e ← δ·L_e + log N(y; m_e, s²(1 + v_e²)), where s² is the noise of the action: the odds of the experts, before and after one observation.
#[test]
fn evidence_is_the_density_of_what_was_observed() {
    let policy = trained(&small().evidence_discount(0.7), 70);
    let mut model = policy.learner().clone();
    let before = model.experts.probabilities;
    let (context, action, reward) = &outcomes(71)[70];
    let target = model.experts.scale.standardize(*reward);
    let log_density = |is_deep: bool| {
        let (heads, own) = seen_by(&model.experts, is_deep, context);
        let posterior = heads.posterior(*action);
        let noise = posterior.noise_rate() / posterior.noise_shape();
        let variance = noise * (1.0 + posterior.leverage(&own, &mut vec![0.0; own.len()]));
        let deviation = target - posterior.predict(&own);
        -0.5 * (variance.ln() + deviation * deviation / variance)
    };
    let densities = [false, true].map(log_density);
    model.observe(&Outcome::new(70, context, *action, *reward));
    let after = model.experts.probabilities;
    let found = (after[1] / after[0]).ln();
    let expected = 0.7 * (before[1] / before[0]).ln() + densities[1] - densities[0];
    assert!((found - expected).abs() < 1e-9, "{found}, {expected}");
}

/// The experts' means, each by its probability, and deviations by the linear one. Two-sample Kolmogorov–Smirnov of 50 000 draws each,
/// exceeded for one seed in 10 000 for each action.
#[test]
fn rewards_are_drawn_as_the_formula_says() {
    const N_DRAWS: usize = 50_000;
    // Without much left of the evidence, both experts count.
    let policy = trained(&small().evidence_discount(0.1), 70);
    let experts = &policy.learner().experts;
    let probabilities = experts.probabilities;
    assert!(probabilities.iter().all(|probability| *probability > 0.02), "{probabilities:?}");
    let context = [0.5, -1.0, 2.0, 0.3];
    let features = features(experts, &context);
    let (shape, rate) = pooled_noise(&experts.linear);
    let drawn = policy.sample_rewards(7, &vec![&context[..]; N_DRAWS]).unwrap();
    let mut rng = Seed::new(6).stream("test", 0);
    for action in 0..3 {
        let drawn: Vec<f64> = drawn.iter().skip(action).step_by(3).copied().collect();
        let linear = experts.linear.posterior(action);
        let leverage = linear.leverage(&features[..5], &mut [0.0; 5]);
        let mean = probabilities[0] * linear.predict(&features[..5])
            + probabilities[1] * experts.deep.posterior(action).predict(&features);
        let by_formula = (0..N_DRAWS).map(|_| {
            let variance = (rate / rng.gamma(shape)).max(linear.sample_noise_variance(&mut rng));
            let deviation = (variance * leverage / 1.7).sqrt() * rng.normal();
            experts.scale.reward_mean + experts.scale.reward_unit * (mean + deviation)
        });
        let statistic = kolmogorov_of_two(drawn, by_formula.collect());
        assert!(statistic < KOLMOGOROV_ONE_IN_10_000, "action {action}: {statistic}");
    }
}

#[test]
fn the_winner_is_that_of_the_full_draw() {
    let policy = trained(&small().evidence_discount(0.1), 70);
    assert_winners_are_those_of_draws(policy.learner().decider(), SHAPE, "70 observations");
}

/// With nonlinear rewards the net's expert gets the higher weight; with linear rewards the linear one keeps its weight.
#[test]
fn evidence_tells_which_expert_is_right() {
    let config = small().learning_rate(0.01).minibatches(40);
    let bent = trained(&config, 400);
    let linear = bent.learner().experts.probabilities[0];
    assert!(linear < 0.01, "{linear}");
    let mut straight = config.build_agent(SHAPE, Seed::new(1)).unwrap();
    for (round, (context, action, _)) in outcomes(400).iter().enumerate() {
        let noise = Seed::new(7).stream("noise", round as u64).normal();
        let reward = f64::from(context[*action]) + noise;
        straight.learn(Outcome::new(round as u64, context, *action, reward)).unwrap();
    }
    let linear = straight.learner().experts.probabilities[0];
    assert!(linear > 0.2, "{linear}");
}

#[test]
fn settings_are_documented_ones() {
    assert_settings(
        "locus",
        "prior_precision=0.25 precision_strength=50 prior_shape=3 prior_rate=3 reward_unit_floor=1 tempering_steps=10 \
         tempering_coefficients=70 tempering_rarity=0.35 exploration=1 evidence_discount=0.99 net_size=0.35 hidden_layers=50 \
         learning_rate=0.001 reward_std=0.5 batch_size=512 train_every=20 minibatches=40 replay_capacity=all initial_pulls=2",
    );
}

/// A record of an earlier version names settings that no longer exist.
#[test]
fn removed_settings_are_skipped_at_their_old_default_and_refused_otherwise() {
    let registry = crate::Registry::standard();
    let old = |change: (&str, &str)| {
        "locus@default[prior_precision=0.25,precision=fitted,precision_strength=50,prior_shape=3,prior_rate=3,reward_unit_floor=1,\
         noise=larger,tempering=coefficients,tempering_steps=10,tempering_coefficients=70,tempering_rarity=0.35,exploration=1,\
         deviation=linear,expert_choice=averaged,evidence_discount=0.99,evidence_noise=own,net_sizes=0.35,net_prior=fixed,\
         feature_net=plain,hidden_layers=50,learning_rate=0.001,reward_std=0.5,batch_size=512,train_every=20,minibatches=40,\
         replay_capacity=all,initial_pulls=2]"
            .replace(change.0, change.1)
    };
    // Training stays as frequent and the replay as large as when these were written.
    let same = registry.parse_recorded(&old(("", ""))).unwrap();
    assert_eq!(same.to_string(), "locus[replay_bound=all,stretch_after=never]");
    let today = registry.parse("locus").unwrap();
    assert!(today.is_recorded_as(&same) && !same.is_recorded_as(&today));
    let tempered = registry.parse_recorded(&old(("tempering_steps=10", "tempering_steps=20"))).unwrap();
    assert_eq!(tempered.to_string(), "locus[replay_bound=all,stretch_after=never,tempering_steps=20]");
    assert!(!today.is_recorded_as(&tempered));
    let resized = registry.parse_recorded(&old(("net_sizes=0.35", "net_sizes=0.5"))).unwrap();
    assert_eq!(resized.to_string(), "locus[net_size=0.5,replay_bound=all,stretch_after=never]");
    for (change, what) in [
        (("noise=larger", "noise=own"), "the setting `noise=own`"),
        (("net_sizes=0.35", "net_sizes=0.35x1"), "the setting `net_sizes=0.35x1`"),
        (("@default", "@lu-gauss"), "the preset `lu-gauss`"),
    ] {
        let error = registry.parse_recorded(&old(change)).unwrap_err();
        assert!(error.is_removed() && error.is_invalid_config() && error.is_not_found());
        assert_eq!(
            error.to_string(),
            format!(
                "policy `locus`: {what} was removed; the tag `locus-search` (commit 8922e91) still has it"
            )
        );
    }
    // What a person writes today names today's settings.
    assert!(registry.parse("locus[noise=larger]").unwrap_err().to_string().contains("was removed"));
    let pooled = "lin-pool@default[precision=given,precision_strength=50,noise=larger,tempering=root,tempering_coefficients=70,tempering_rarity=1e12]";
    let pooled = registry.parse_recorded(pooled).unwrap().to_string();
    assert_eq!(pooled, "lin-pool[replay_bound=all,stretch_after=never]");
}

/// A context so large that the net's features overflow: the decision fails with a named error, only the linear expert learns from
/// it, and it is counted once training succeeds again.
#[test]
fn features_that_overflow_are_named_and_counted() {
    // Large steps make large weights.
    let pooled = small().pooled.replay_capacity(Capacity(Some(22)));
    let config = small().learning_rate(1.0).pooled(pooled);
    let mut policy = trained(&config, 60);
    let context = [f32::MAX; 4];
    let error = policy.choose(Request::new(60, &context)).unwrap_err();
    assert!(error.is_numeric() && error.to_string().contains("hidden layer"), "{error}");
    let shapes = |policy: &Agent<Locus>| {
        let Experts { linear, deep, .. } = &policy.learner().experts;
        [linear, deep].map(|heads| heads.posterior(1).noise_shape())
    };
    let (before, probabilities) = (shapes(&policy), policy.learner().experts.probabilities);
    policy.learn(Outcome::new(60, &context, 1, 60.0)).unwrap();
    assert_eq!(shapes(&policy), [before[0] + 0.5, before[1]]);
    assert_eq!(policy.learner().experts.probabilities, probabilities);

    let good = |round: u64| outcomes(round + 1).pop().unwrap();
    let teach = |policy: &mut dyn Policy, round: u64| {
        let (context, action, reward) = good(round);
        policy.learn(Outcome::new(round, &context, action, reward))
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

/// Across a round of training the scale, both experts' posteriors, the net's factor, λ and what tempers draws are those of repeated outcomes,
/// on the features of the same net. Only the net's own training, which draws rows, may differ; here it has no minibatch that could move it far.
#[test]
fn a_weight_is_so_many_equal_outcomes() {
    let outcomes = outcomes(30);
    let policy = |weight: u32| {
        let config = LocusConfig {
            train_every: if weight == 1 { 75 } else { 25 },
            minibatches: 1,
            learning_rate: 1e-12,
            precision_strength: 1.0,
            ..small()
        };
        let mut policy = config.build_agent(SHAPE, Seed::new(1)).unwrap();
        for (context, action, reward) in &outcomes {
            let outcome = Outcome::new(0, context, *action, *reward).with_weight(f64::from(weight));
            (0..3 / weight).for_each(|_| assert!(policy.learn(outcome).is_ok()));
        }
        policy
    };
    let [weighted, repeated] = [policy(3), policy(1)];
    let [found, expected] = [&weighted, &repeated].map(|policy| policy.learner());
    assert_eq!(found.experts.seen, expected.experts.seen);
    assert_eq!(found.experts.seen.n_observed, 90.0);
    assert_eq!(found.precision, expected.precision);
    assert_ne!(found.precision.value(), 0.25);
    let numbers = |locus: &Locus| [locus.experts.net_factor, locus.experts.net_weight];
    for (found, expected) in numbers(found).into_iter().zip(numbers(expected)) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found}, {expected}");
    }
    for (what, found, expected) in [
        ("linear", &found.experts.linear, &expected.experts.linear),
        ("deep", &found.experts.deep, &expected.experts.deep),
    ] {
        for action in 0..3 {
            assert_close(
                &format!("{what}, {action}"),
                found.posterior(action),
                expected.posterior(action),
                1e-7,
            );
        }
    }
    let loaded = crate::load(&weighted.save()).unwrap();
    assert_eq!(loaded.save(), weighted.save());
}

/// The prior of an added action has the fitted precision, and tempering takes note of the action at the next rebuild, also where the
/// policy was saved in between.
#[test]
fn an_added_action_starts_at_the_fitted_prior_and_counts_from_the_next_rebuild() {
    let mut policy = trained(&LocusConfig { precision_strength: 1.0, ..small() }, 200);
    let fitted = policy.learner().precision.value();
    assert!(fitted != small().pooled.prior_precision, "{fitted}");
    let before = policy.learner().experts.seen;
    policy.add_action().unwrap();
    let experts = &policy.learner().experts;
    assert_eq!(experts.seen, before);
    for heads in [&experts.linear, &experts.deep] {
        let (dim, work) = (heads.dim(), &mut vec![0.0; heads.dim()]);
        let leverage = heads.posterior(3).leverage(&vec![1.0; dim], work);
        assert!((leverage / (dim as f64 / fitted) - 1.0).abs() < 1e-12, "{leverage}");
    }
    let mut loaded = crate::load(&policy.save()).unwrap();
    for (round, (context, action, reward)) in (200..).zip(outcomes(220).split_off(200)) {
        let outcome = Outcome::new(round, &context, action, reward);
        assert_eq!(policy.learn(outcome).unwrap(), loaded.learn(outcome).unwrap());
        let request = Request::new(1000 + round, &context);
        assert_eq!(policy.choose(request).unwrap(), loaded.choose(request).unwrap());
    }
    let seen = policy.learner().experts.seen;
    assert_eq!((seen.n_observed, seen.n_actions, seen.n_coefficients), (220.0, 4.0, 20.0));
    assert!(policy.save() == loaded.save());
}
