use super::config::MultitaskGpConfig;
use super::model::MultitaskGp;
use crate::agent::Learner;
use crate::agent::contract::assert_settings;
use crate::registry::save::{Decoder, Encoder};
use crate::{Outcome, Policy, PolicySpec, Request, Seed, Shape, load};

fn learn(policy: &mut dyn Policy, rounds: std::ops::Range<u64>) {
    for round in rounds {
        let mut rng = Seed::new(7).stream("problem", round);
        let context: [f32; 2] = std::array::from_fn(|_| rng.normal() as f32);
        let action = policy.choose(Request::new(round, &context)).unwrap().action;
        let reward = 100.0 + 5.0 * f64::from(context[action % 2]) + rng.normal();
        policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
    }
}

/// A policy that was saved and loaded learns exactly what it would have learned: between rounds of training, after
/// one, and after the room for observations was full.
#[test]
fn a_loaded_policy_learns_the_same_to_the_bit() {
    for (settings, saved_after, end) in [
        ("train_every=20,batch_size=10,minibatches=2", 33, 61),
        ("train_every=20,batch_size=10,minibatches=2,replay_capacity=25", 50, 61),
        ("train_every=1000,replay_capacity=40", 530, 540),
        ("train_every=1000,replay_capacity=40", 500, 540),
    ] {
        let spec: PolicySpec = format!("multitask-gp[{settings}]").parse().unwrap();
        let mut policy = spec.build(Shape::new(2, 3), Seed::new(9)).unwrap();
        learn(&mut *policy, 0..saved_after);
        let mut loaded = load(&policy.save()).unwrap();
        learn(&mut *policy, saved_after..end);
        learn(&mut *loaded, saved_after..end);
        assert!(policy.save() == loaded.save(), "{settings}, saved after {saved_after}");
        let context = [0.3_f32, -0.4];
        let draws = |policy: &dyn Policy| policy.sample_rewards(end, &[context.as_slice(); 5]).unwrap();
        assert_eq!(draws(&*policy), draws(&*loaded), "{settings}");
    }
}

/// What lies before the last observations has no part in the posterior once it was made again.
#[test]
fn the_posterior_rests_on_the_last_observations() {
    let spec: PolicySpec =
        "multitask-gp[train_every=30,replay_capacity=30,minibatches=20,batch_size=30]".parse().unwrap();
    let mut policy = spec.build(Shape::new(1, 1), Seed::new(1)).unwrap();
    for round in 0..60 {
        // Far lower at first, in the same context.
        let reward = if round < 30 { -1000.0 } else { 10.0 } + (round % 3) as f64;
        policy.learn(Outcome::new(round, &[1.0], 0, reward)).unwrap();
    }
    let drawn = policy.sample_rewards(100, &[[1.0_f32].as_slice(); 200]).unwrap();
    let mean = drawn.iter().sum::<f64>() / 200.0;
    // The mean of all rewards is −494.
    assert!((mean - 11.0).abs() < 60.0, "{mean}");
}

/// Draws for a context narrow as its rewards are seen, and those of another action, seen nowhere, stay wide.
#[test]
fn what_was_seen_is_known_and_what_was_not_is_not() {
    let spec: PolicySpec = "multitask-gp".parse().unwrap();
    let mut policy = spec.build(Shape::new(2, 2), Seed::new(3)).unwrap();
    for round in 0..100 {
        let mut rng = Seed::new(4).stream("problem", round);
        let context: [f32; 2] = std::array::from_fn(|_| rng.normal() as f32);
        let reward = f64::from(context[0]) + 0.01 * rng.normal();
        policy.learn(Outcome::new(round, &context, 0, reward)).unwrap();
    }
    let drawn = policy.sample_rewards(0, &[[0.5_f32, 0.2].as_slice(); 500]).unwrap();
    let std = |action: usize| {
        let values: Vec<f64> = drawn.iter().skip(action).step_by(2).copied().collect();
        let mean = values.iter().sum::<f64>() / 500.0;
        (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 500.0).sqrt()
    };
    assert!(std(0) < 0.25 && std(1) > 0.5, "{} {}", std(0), std(1));
}

#[test]
fn defaults_are_as_documented() {
    assert_settings(
        "multitask-gp",
        "task_dim=5 initial_noise=0 initial_amplitude=1 initial_linear_amplitude=1 initial_length=0 initial_task_std=1 \
         learning_rate=0.02 batch_size=250 minibatches=25 train_every=50 replay_capacity=2000 initial_pulls=2",
    );
}

/// A file may claim any number of observations; a factor of more than the policy keeps is not made.
#[test]
fn more_observations_at_once_than_are_kept_are_refused() {
    let config = |replay_capacity| MultitaskGpConfig {
        replay_capacity,
        train_every: 60,
        ..MultitaskGpConfig::default()
    };
    let mut policy = config(100).build_agent(Shape::new(2, 3), Seed::new(9)).unwrap();
    learn(&mut policy, 0..60);
    let mut encoder = Encoder::default();
    policy.learner().encode(&mut encoder);
    let bytes = encoder.into_bytes();
    let decode = |capacity| {
        MultitaskGp::decode(&config(capacity), Shape::new(2, 3), &mut Decoder::new(&bytes)).map(|_| ())
    };
    decode(60).unwrap();
    let refusal = decode(59).unwrap_err().to_string();
    assert!(
        refusal.contains("its 60 observations, 60 of them at once, are cut short or too many"),
        "{refusal}"
    );
}
