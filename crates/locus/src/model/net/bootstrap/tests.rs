//! Which nets include which observations, in training, with bounded replays and after a restart; and nets that differ.

use super::*;
use crate::agent::contract::assert_settings;
use crate::agent::{Choose, Policy};
use crate::registry::values::{Capacity, Layers};
use crate::{Request, load};

const SHAPE: Shape = Shape::new(3, 2);

fn small() -> BootstrapConfig {
    BootstrapConfig {
        net: RewardNetConfig {
            hidden_layers: Layers(vec![7]),
            batch_size: 64,
            minibatches: 3,
            train_every: 10,
            ..BootstrapConfig::default().net
        },
        ..BootstrapConfig::default()
    }
}

fn context(round: u64) -> [f32; 3] {
    let mut rng = Seed::new(7).stream("problem", round);
    std::array::from_fn(|_| rng.normal() as f32)
}

/// Rewards are the rounds, so that each tells its observation.
fn teach(policy: &mut dyn Policy, rounds: std::ops::Range<u64>) -> Vec<FitReport> {
    let teach = |round: u64| policy.learn(Outcome::new(round, &context(round), 0, round as f64)).unwrap();
    rounds.map(teach).collect()
}

/// Counts of 20 000 observations, alone and for pairs of nets and of neighbors, lie within five standard deviations; false alarms for one seed in 100 000 for all
/// of them.
#[test]
fn nets_take_in_observations_independently_with_their_probability() {
    const N: u64 = 20_000;
    for p in [0.95, 0.5] {
        let inclusion = Inclusion { seed: Seed::new(1), probability: p };
        let assert_count = |what: &str, count: usize, p: f64| {
            let (count, expected) = (count as f64, N as f64 * p);
            let bound = 5.0 * (expected * (1.0 - p)).sqrt();
            assert!((count - expected).abs() < bound, "{what}: {count} {expected}");
        };
        let takes = |net: usize, index: u64| inclusion.takes_in(net, index);
        for net in 0..3 {
            assert!(takes(net, 0), "the first observation is for all");
            let alone = (1..=N).filter(|&i| takes(net, i)).count();
            assert_count("alone", alone, p);
            let both = (1..=N).filter(|&i| takes(net, i) && takes((net + 1) % 3, i)).count();
            assert_count("two nets", both, p * p);
            let neighbors = (1..=N).filter(|&i| takes(net, i) && takes(net, i + 1)).count();
            assert_count("neighbors", neighbors, p * p);
        }
    }
    let all = Inclusion { seed: Seed::new(1), probability: 1.0 };
    assert!((0..N).all(|index| all.takes_in(2, index)));
}

/// The rows of the last minibatch, of the last net, are all and only its own observations among those that are kept.
#[test]
fn a_net_is_trained_on_its_own_observations() {
    for capacity in [None, Some(20)] {
        for nets in [1, 2, 3] {
            let config = BootstrapConfig {
                nets,
                inclusion_probability: 0.5,
                net: RewardNetConfig { batch_size: 1000, replay_capacity: Capacity(capacity), ..small().net },
                ..small()
            };
            let mut policy = config.build_agent(SHAPE, Seed::new(3)).unwrap();
            teach(&mut policy, 0..60);
            let model = policy.learner();
            let first = capacity.map_or(0, |capacity| 60 - capacity as u64);
            let own: Vec<u64> =
                (first..60).filter(|&index| model.inclusion.takes_in(nets as usize - 1, index)).collect();
            let batch = &model.work.0.as_ref().unwrap().net.batch;
            let mut seen: Vec<u64> = batch.rewards.iter().map(|&reward| reward as u64).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen, own, "{capacity:?}, {nets} nets");
        }
    }
}

#[test]
fn nets_start_apart_and_stay_apart() {
    let mut policy = small().build_agent(SHAPE, Seed::new(1)).unwrap();
    for _ in 0..2 {
        let nets = &policy.learner().draw.nets;
        assert_eq!(nets.len(), 3);
        for (first, second) in [(0, 1), (0, 2), (1, 2)] {
            assert_ne!(nets[first].parameters, nets[second].parameters);
        }
        let reports = teach(&mut policy, 0..10);
        assert_eq!((reports[9].minibatches, reports[9].interventions), (3 * 3, 0));
    }
}

/// Counts of 3000 draws lie within five standard deviations; false alarms for one seed in 500 000 for all three.
#[test]
fn every_net_decides_equally_often() {
    let mut policy = small().build_agent(SHAPE, Seed::new(1)).unwrap();
    teach(&mut policy, 0..30);
    let context = context(99);
    let mut work = NetWork::default();
    let by_net: Vec<Vec<f64>> = policy
        .learner()
        .draw
        .nets
        .iter()
        .map(|net| {
            let mut rewards = vec![0.0; 2];
            let rng = &mut Seed::new(0).stream("test", 0);
            net.predict(&[&context], &AllUnits, rng, &mut work, &mut rewards).unwrap();
            rewards
        })
        .collect();
    let drawn = policy.sample_rewards(5, &vec![context.as_slice(); 3000]).unwrap();
    let count = |net: &Vec<f64>| drawn.chunks(2).filter(|drawn| drawn == net).count();
    let counts: Vec<usize> = by_net.iter().map(count).collect();
    assert_eq!(counts.iter().sum::<usize>(), 3000);
    assert!(counts.iter().all(|&count| count.abs_diff(1000) < 129), "{counts:?}");
}

/// With a bounded replay, inclusion still depends on the index since the first observation: a restart changes nothing.
#[test]
fn a_restart_with_a_bounded_replay_leaves_no_trace() {
    let config = BootstrapConfig {
        inclusion_probability: 0.5,
        net: RewardNetConfig { replay_capacity: Capacity(Some(17)), ..small().net },
        ..small()
    };
    let mut uninterrupted = config.build_agent(SHAPE, Seed::new(2)).unwrap();
    teach(&mut uninterrupted, 0..33);
    let mut resumed = load(&uninterrupted.save()).unwrap();
    assert_eq!(teach(&mut uninterrupted, 33..64), teach(&mut *resumed, 33..64));
    assert_eq!(uninterrupted.save(), resumed.save());
    for round in 64..164 {
        let context = context(round);
        let request = Request::new(round, &context);
        assert_eq!(uninterrupted.choose(request).unwrap(), resumed.choose(request).unwrap());
    }
}

/// A replay of one observation, which about half of the nets do not include: those do not change, and are counted.
#[test]
fn a_net_without_observations_is_not_trained() {
    let config = BootstrapConfig {
        nets: 40,
        inclusion_probability: 0.5,
        net: RewardNetConfig { replay_capacity: Capacity(Some(1)), ..small().net },
        ..small()
    };
    let mut policy = config.build_agent(SHAPE, Seed::new(2)).unwrap();
    let before: Vec<Vec<f32>> = policy.learner().draw.nets.iter().map(|net| net.parameters.clone()).collect();
    let report = teach(&mut policy, 0..10)[9];
    let model = policy.learner();
    let takes = |net: usize| model.inclusion.takes_in(net, 9);
    let n_trained = (0..40).filter(|&net| takes(net)).count();
    assert!(n_trained > 0 && n_trained < 40, "{n_trained}");
    assert_eq!((report.minibatches as usize, report.interventions as usize), (3 * n_trained, 40 - n_trained));
    for (net, before) in before.iter().enumerate() {
        assert_eq!(*before != model.draw.nets[net].parameters, takes(net), "net {net}");
    }
}

#[test]
fn defaults_are_the_benchmarks() {
    let expected = "hidden_layers=50 initial_weights=0.3 learning_rate=0.1 learning_rate_decay=0.5 max_gradient_norm=5 \
        batch_size=512 train_every=50 minibatches=100 replay_capacity=all nets=3 inclusion_probability=0.95 \
        initial_pulls=2";
    assert_settings("bootstrap", expected);
}

/// Weights of 1 to 4 in turn. In a minibatch of 50 000 rows the count of each of about 20 observations lies within five standard deviations; false alarms
/// for one seed in 80 000 for all.
#[test]
fn a_net_draws_its_own_observations_in_proportion_to_their_weights() {
    const N: usize = 50_000;
    let config = BootstrapConfig {
        nets: 1,
        inclusion_probability: 0.5,
        net: RewardNetConfig {
            batch_size: N as u32,
            minibatches: 1,
            train_every: 40,
            replay_capacity: Capacity(Some(35)),
            ..small().net
        },
        ..small()
    };
    let mut policy = config.build_agent(SHAPE, Seed::new(3)).unwrap();
    let weight = |round: u64| (1 + round % 4) as f64;
    for round in 0..40 {
        let context = context(round);
        let outcome = Outcome::new(round, &context, 0, round as f64);
        policy.learn(outcome.with_weight(weight(round))).unwrap();
    }
    let model = policy.learner();
    let own: Vec<u64> = (5..40).filter(|&index| model.inclusion.takes_in(0, index)).collect();
    let total: f64 = own.iter().map(|&index| weight(index)).sum();
    let mut counts = [0.0; 40];
    let batch = &model.work.0.as_ref().unwrap().net.batch;
    batch.rewards.iter().for_each(|&reward| counts[reward as usize] += 1.0);
    for index in 0..40 {
        let share = if own.contains(&index) { weight(index) / total } else { 0.0 };
        let (count, expected) = (counts[index as usize], N as f64 * share);
        let bound = 5.0 * (expected * (1.0 - share)).sqrt();
        assert!((count - expected).abs() <= bound, "{index}: {count}, {expected}");
    }
    assert_eq!(draw_place(2, &[1.0, 1.0 + f64::EPSILON], &mut Seed::new(1).stream("test", 0)), 0);
}
