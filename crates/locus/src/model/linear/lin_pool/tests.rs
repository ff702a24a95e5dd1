//! Posteriors against those built one observation at a time, draws against their formula, and decisions against draws.

use super::*;
use crate::agent::Agent;
use crate::agent::contract::{assert_settings, assert_winners_are_those_of_draws};
use crate::agent::{Choose, Policy};
use crate::math::linear::LinearPosterior;
use crate::model::linear::heads::comparison::{assert_close, rounds, teach_both};
use crate::random::kolmogorov::{KOLMOGOROV_ONE_IN_10_000, kolmogorov_of_two};

use crate::registry::values::{Capacity, HalfLife};

const SHAPE: Shape = Shape::new(4, 3);

/// Contexts of width 4 and rewards of a size that needs a scale.
fn outcomes(n: u64) -> Vec<(Vec<f32>, usize, f64)> {
    let outcome = |round: u64| {
        let mut rng = Seed::new(5).stream("problem", round);
        let context: Vec<f32> = (0..4).map(|_| 3.0 * rng.normal() as f32).collect();
        let action = rng.below(3);
        let reward = 100.0 + 20.0 * f64::from(context[action]) + 5.0 * rng.normal();
        (context, action, reward)
    };
    (0..n).map(outcome).collect()
}

fn trained(config: &LinPoolConfig, n: u64) -> Agent<LinPool> {
    let mut policy = config.build_agent(SHAPE, Seed::new(1)).unwrap();
    for (round, (context, action, reward)) in outcomes(n).iter().enumerate() {
        let (round, action, reward) = (round as u64, *action, *reward);
        policy.learn(Outcome::new(round, context, action, reward)).unwrap();
    }
    policy
}

/// Posteriors of `outcomes` on the scale of the policy, observation by observation.
fn by_rank_one(policy: &Agent<LinPool>, outcomes: &[(Vec<f32>, usize, f64)]) -> Vec<LinearPosterior> {
    let (scale, precision) = (policy.learner().scale(), policy.learner().precision.value());
    let prior = LinearPrior { precision, ..LinPoolConfig::default().pooled.prior() };
    let mut posteriors = vec![LinearPosterior::new(5, prior); 3];
    for (context, action, reward) in outcomes {
        let mut features: Vec<f64> = context.iter().map(|&x| scale.context_factor * f64::from(x)).collect();
        features.push(1.0);
        posteriors[*action].observe(&features, (reward - scale.reward_mean) / scale.reward_unit);
    }
    posteriors
}

/// At a rescaling (60) and between two of them (73), and after loading.
#[test]
fn a_rebuilt_posterior_is_that_of_every_observation_in_turn() {
    for n in [60, 73] {
        let policy = trained(&LinPoolConfig::default(), n);
        assert_eq!(crate::load(&policy.save()).unwrap().save(), policy.save());
        let scaled_at = n as usize / 20 * 20;
        let rewards: Vec<f64> = outcomes(n)[..scaled_at].iter().map(|outcome| outcome.2).collect();
        let mean = rewards.iter().sum::<f64>() / scaled_at as f64;
        let variance = rewards.iter().map(|reward| (reward - mean).powi(2)).sum::<f64>() / scaled_at as f64;
        let scale = policy.learner().scale();
        assert!(
            (scale.reward_mean - mean).abs() < 1e-9 && (scale.reward_unit - variance.sqrt()).abs() < 1e-9
        );
        for (action, expected) in by_rank_one(&policy, &outcomes(n)).iter().enumerate() {
            let posterior = policy.learner().posterior(action);
            for (found, expected) in posterior.mean().iter().zip(expected.mean()) {
                assert!((found - expected).abs() < 1e-10, "{n} observations, action {action}");
            }
            assert!((posterior.noise_rate() - expected.noise_rate()).abs() < 1e-9);
            assert_eq!(posterior.noise_shape(), expected.noise_shape());
            let (features, mut work) = ([0.3, -0.2, 0.9, 0.1, 1.0], [0.0; 5]);
            let leverages = [posterior, expected].map(|posterior| posterior.leverage(&features, &mut work));
            assert!((leverages[0] - leverages[1]).abs() < 1e-10, "{leverages:?}");
        }
    }
}

/// f·μ_a + α·√max(σ_p², σ_a²)·√(fᵀΛ_a⁻¹f)·ξ, on the scale of the rewards given. Two-sample Kolmogorov–Smirnov of 50 000 draws each,
/// exceeded for one seed in 10 000 for each action.
#[test]
fn rewards_are_drawn_as_the_formula_says() {
    const N_DRAWS: usize = 50_000;
    let policy = trained(&LinPoolConfig::default(), 30);
    let posteriors = by_rank_one(&policy, &outcomes(30));
    let scale = policy.learner().scale();
    let context = [0.5, -1.0, 2.0, 0.3];
    let features: Vec<f64> =
        context.iter().map(|&x| scale.context_factor * f64::from(x)).chain([1.0]).collect();
    let residuals: f64 = posteriors.iter().map(|posterior| posterior.noise_rate() - 1.0).sum();
    let mut rng = Seed::new(6).stream("test", 0);
    let drawn = policy.sample_rewards(7, &vec![&context[..]; N_DRAWS]).unwrap();
    for (action, posterior) in posteriors.iter().enumerate() {
        let drawn: Vec<f64> = drawn.iter().skip(action).step_by(3).copied().collect();
        let leverage = posterior.leverage(&features, &mut [0.0; 5]);
        let by_formula = (0..N_DRAWS).map(|_| {
            let pooled = (1.0 + residuals) / rng.gamma(1.0 + 15.0);
            let own = posterior.noise_rate() / rng.gamma(posterior.noise_shape());
            let alpha = 1.0 / 1.3_f64.sqrt();
            let deviation = alpha * (pooled.max(own) * leverage).sqrt() * rng.normal();
            scale.reward_mean + scale.reward_unit * (posterior.predict(&features) + deviation)
        });
        let statistic = kolmogorov_of_two(drawn, by_formula.collect());
        assert!(statistic < KOLMOGOROV_ONE_IN_10_000, "action {action}: {statistic}");
    }
}

#[test]
fn the_winner_is_that_of_the_full_draw() {
    for n in [0, 7, 45, 200] {
        let policy = trained(&LinPoolConfig::default(), n);
        assert_winners_are_those_of_draws(policy.learner().decider(), SHAPE, &format!("{n} observations"));
    }
}

/// A bounded replay forgets at the next rescaling, but t still counts all that was seen.
#[test]
fn a_bounded_replay_rebuilds_from_what_is_kept() {
    let config = LinPoolConfig::default().pooled(PooledConfig::default().replay_capacity(Capacity(Some(25))));
    let policy = trained(&config, 60);
    for (action, expected) in by_rank_one(&policy, &outcomes(60)[35..]).iter().enumerate() {
        let found = policy.learner().posterior(action);
        assert_eq!(found.noise_shape(), expected.noise_shape());
        for (found, expected) in found.mean().iter().zip(expected.mean()) {
            assert!((found - expected).abs() < 1e-10, "action {action}");
        }
    }
    assert_eq!(policy.learner().pooled.seen.n_observed, 60.0);
}

#[test]
fn settings_are_documented_ones() {
    assert_settings(
        "lin-pool",
        "prior_precision=0.25 prior_shape=1 prior_rate=1 reward_unit_floor=1 tempering_steps=100 exploration=1 rescale_every=20 \
         replay_capacity=all initial_pulls=2",
    );
}

/// Before any training and after one round of it, with and without weights. Parts end where training is due, so both train on the same.
#[test]
fn many_at_once_are_learned_as_one_by_one() {
    for is_weighted in [false, true] {
        let config = LinPoolConfig::default().rescale_every(45);
        for n in [40, 60] {
            let [mut one_by_one, mut many] =
                [(); 2].map(|()| config.build_agent(SHAPE, Seed::new(1)).unwrap());
            let rounds = rounds(SHAPE, n, is_weighted);
            let (first, last) = rounds.split_at(rounds.len().min(45));
            teach_both(&mut one_by_one, &mut many, first);
            if !last.is_empty() {
                teach_both(&mut one_by_one, &mut many, last);
            }
            let [found, expected] = [&many, &one_by_one].map(|policy| policy.learner());
            assert_eq!(found.pooled.seen, expected.pooled.seen);
            assert_eq!(found.scale(), expected.scale());
            for action in 0..3 {
                let what = format!("{n} rounds, action {action}");
                assert_close(&what, found.posterior(action), expected.posterior(action), 1e-9);
            }
        }
    }
}

/// Across a rescaling: the scale, every posterior and what tempers draws count weights. Repeated outcomes are rescaled at the same sum of weights.
#[test]
fn a_weight_is_so_many_equal_outcomes() {
    let rounds = rounds(SHAPE, 60, false);
    let policy = |weight: u32| {
        let every = if weight == 1 { 150 } else { 50 };
        let mut policy =
            LinPoolConfig::default().rescale_every(every).build_agent(SHAPE, Seed::new(1)).unwrap();
        for (context, action, reward, _) in &rounds {
            let outcome = Outcome::new(0, context, *action, *reward).with_weight(f64::from(weight));
            (0..3 / weight).for_each(|_| assert!(policy.learn(outcome).is_ok()));
        }
        policy
    };
    let [weighted, repeated] = [policy(3), policy(1)];
    let [found, expected] = [&weighted, &repeated].map(|policy| policy.learner());
    assert_eq!(found.pooled.seen, expected.pooled.seen);
    assert_eq!(found.pooled.seen.n_observed, 180.0);
    for action in 0..3 {
        assert_close(&format!("action {action}"), found.posterior(action), expected.posterior(action), 1e-9);
    }
}

/// Outcomes that come all at once are more than the replay holds. The policy scales and learns from its sample, as it would from all.
#[test]
fn a_log_that_is_larger_than_the_replay_is_scaled() {
    let learn = |lot: usize| {
        let config = LinPoolConfig::default();
        let replay = config.pooled.replay.clone().replay_bound(Capacity(Some(60)));
        let config = LinPoolConfig { pooled: config.pooled.replay(replay), ..config };
        let mut policy = config.build_agent(Shape::new(2, 2), Seed::new(1)).unwrap();
        let mut rng = Seed::new(4).stream("test", 0);
        let rows: Vec<([f32; 2], usize, f64)> = (0..400)
            .map(|round| {
                let context = [1000.0 * rng.normal() as f32, 1000.0 * rng.normal() as f32];
                (context, round % 2, 1000.0 + f64::from(context[round % 2]) + rng.normal())
            })
            .collect();
        let outcomes: Vec<Outcome<'_>> =
            rows.iter().map(|(context, action, reward)| Outcome::new(0, context, *action, *reward)).collect();
        outcomes.chunks(lot).for_each(|lot| assert!(policy.learn_many(lot).is_ok()));
        policy
    };
    let [gradual, at_once] = [10, 400].map(learn);
    for policy in [&gradual, &at_once] {
        let scale = policy.learner().scale();
        // 60 of 400 rewards, of standard deviation 1000, tell their mean to about 130.
        assert!((scale.reward_mean - 1000.0).abs() < 650.0, "{scale:?}");
        assert!((500.0..2000.0).contains(&scale.reward_unit) && scale.context_factor < 0.01, "{scale:?}");
    }
    // From here on both are updated in place.
    let mut at_once = at_once;
    let before = at_once.learner().scale();
    (0..100).for_each(|_| assert!(at_once.learn(Outcome::new(0, &[1.0, 2.0], 0, 3.0)).is_ok()));
    assert_eq!(at_once.learner().scale(), before);
}

/// A replay that is shorter than what a half-life counts does not shorten the memory of the posteriors.
#[test]
fn a_half_life_is_kept_beyond_the_replay() {
    let config = LinPoolConfig::default();
    let replay = config.pooled.replay.clone().replay_bound(Capacity(Some(50)));
    let agent = config.agent.clone().half_life(HalfLife(Some(100.0)));
    let config = LinPoolConfig { pooled: config.pooled.replay(replay), agent, ..config };
    let mut policy = config.build_agent(Shape::new(2, 2), Seed::new(1)).unwrap();
    let mut rng = Seed::new(4).stream("test", 0);
    for round in 0..800 {
        let context = [rng.normal() as f32, 1.0];
        policy.learn(Outcome::new(round, &context, round as usize % 2, rng.normal())).unwrap();
    }
    let prior = LinPoolConfig::default().pooled.prior_shape;
    let n: f64 = (0..2).map(|action| 2.0 * (policy.learner().posterior(action).noise_shape() - prior)).sum();
    // 1/(1 − 2^(−1/100)), up to what blocks add.
    assert!((135.0..175.0).contains(&n), "{n}");
}
