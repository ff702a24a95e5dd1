//! What every policy in the registry must do, tried on each of them with each of its presets.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::agent::scratch::Scratch;
use crate::agent::wrapper::{RewardModel, highest};
use crate::{PolicySpec, Propensity, Rng, Seed, load, policies};

/// All different, and no power of two.
const SHAPE: Shape = Shape::new(5, 3);

/// Nets that are small, but of every size another, so that what is tried here stays quick.
const SMALL: [(&str, &str); 16] = [
    ("hidden_layers", "7"),
    ("latent_dim", "4"),
    ("encoder_layers", "8x7"),
    ("head_layers", "9"),
    ("decoder_layers", "6"),
    ("psi_layers", "4"),
    ("scale_layers", "11"),
    ("extra_draws", "3"),
    ("layers", "10"),
    ("particles", "4"),
    ("hidden_units", "10"),
    ("batch_size", "20"),
    ("minibatches", "2"),
    ("samples", "8"),
    ("prior_batch_size", "12"),
    ("prior_minibatches", "2"),
];

/// Every preset of every policy.
fn specs() -> Vec<PolicySpec> {
    let mut specs = Vec::new();
    for info in policies() {
        let keys: Vec<&str> = info.settings.iter().map(|setting| setting.key).collect();
        let small = SMALL.iter().filter(|(key, _)| keys.contains(key));
        let small: Vec<String> = small.map(|(key, value)| format!("{key}={value}")).collect();
        for preset in &info.presets {
            specs.push(format!("{}@{preset}[{}]", info.id, small.join(",")).parse().unwrap());
        }
    }
    specs
}

/// Fails unless a policy has these settings and no others: `key=value`, separated by spaces.
pub(crate) fn assert_settings(policy: &str, expected: &str) {
    let spec: PolicySpec = policy.parse().unwrap();
    let found: BTreeMap<&str, &str> = spec.settings().collect();
    let expected = expected.split_whitespace().map(|setting| setting.split_once('=').unwrap());
    assert_eq!(found, expected.collect(), "{policy}");
}

/// Fails unless a model chooses the action that its draw with the same chance values highest.
pub(crate) fn assert_winners_are_those_of_draws<M: RewardModel>(model: &M, shape: Shape, whose: &str) {
    for round in 0..100 {
        let mut rng = Seed::new(8).stream("test", round);
        let context: Vec<f32> = (0..shape.n_features).map(|_| 3.0 * rng.normal() as f32).collect();
        let stream = Seed::new(9).stream("choose", round);
        let mut rewards = vec![0.0; shape.n_actions];
        Scratch::with(|scratch| {
            let request = Request { round, context: &context };
            let chosen = model.choose(request, &mut stream.clone(), scratch, shape.n_actions).unwrap();
            model.draw(&[&context], &mut stream.clone(), scratch, &mut rewards).unwrap();
            assert_eq!(chosen.action, highest(&rewards).unwrap(), "{whose}, {rewards:?}");
        });
    }
}

fn build(spec: &PolicySpec, seed: u64) -> Box<dyn Policy> {
    spec.build(SHAPE, Seed::new(seed)).unwrap()
}

/// The context of a round, and each action's reward.
fn round(number: u64) -> (Vec<f32>, Vec<f64>) {
    let mut rng: Rng = Seed::new(99).stream("problem", number);
    let context: Vec<f32> = (0..SHAPE.n_features).map(|_| rng.normal() as f32).collect();
    let rewards =
        (0..SHAPE.n_actions).map(|action| f64::from(context[action]) + 0.1 * rng.normal()).collect();
    (context, rewards)
}

/// Plays rounds with immediate rewards; the choices that were made.
fn play(policy: &mut dyn Policy, rounds: std::ops::Range<u64>) -> Vec<Choice> {
    rounds.map(|number| step(policy, number)).collect()
}

fn step(policy: &mut dyn Policy, number: u64) -> Choice {
    let (context, rewards) = round(number);
    let choice = policy.choose(Request { round: number, context: &context }).unwrap();
    let (action, reward) = (choice.action, rewards[choice.action]);
    policy.learn(Outcome { round: number, context: &context, action, reward }).unwrap();
    choice
}

fn ask(chooser: &dyn Choose, rounds: std::ops::Range<u64>) -> Vec<Choice> {
    rounds
        .map(|number| chooser.choose(Request { round: number, context: &round(number).0 }).unwrap())
        .collect()
}

/// A policy that is certain of every choice may do without chance; any other differs by its seed.
#[test]
fn same_seed_same_choices_other_seed_other_choices() {
    for spec in specs() {
        let choices = play(&mut *build(&spec, 1), 0..150);
        assert_eq!(choices, play(&mut *build(&spec, 1), 0..150), "{spec}");
        if choices.iter().any(|choice| choice.propensity != Propensity::Exact(1.0)) {
            assert_ne!(choices, play(&mut *build(&spec, 2), 0..150), "{spec}");
        }
    }
}

#[test]
fn names_are_canonical_and_shapes_kept() {
    for spec in specs() {
        let policy = build(&spec, 1);
        assert_eq!(policy.name(), spec.to_string());
        assert_eq!(policy.shape(), SHAPE);
        assert_eq!(policy.snapshot().name(), policy.name());
        assert_eq!(policy.snapshot().shape(), SHAPE);
    }
}

#[test]
fn choosing_changes_nothing() {
    for spec in specs() {
        let mut policy = build(&spec, 1);
        play(&mut *policy, 0..60);
        let before = policy.save();
        let actions = ask(&*policy, 60..90);
        assert_eq!(actions, ask(&*policy, 60..90), "{spec}");
        assert_eq!(before, policy.save(), "{spec}");
    }
}

#[test]
fn snapshots_decide_alike_on_every_thread_and_do_not_learn() {
    for spec in specs() {
        let mut policy = build(&spec, 1);
        play(&mut *policy, 0..60);
        let expected = ask(&*policy, 60..200);
        let snapshot = policy.snapshot();
        play(&mut *policy, 60..120);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let snapshot = Arc::clone(&snapshot);
                std::thread::spawn(move || ask(&*snapshot, 60..200))
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), expected, "{spec}");
        }
    }
}

/// Whether the policy knows how probable its choices are, once initial pulls are over.
fn knows_propensities(policy: &dyn Policy) -> bool {
    let choice = policy.choose(Request { round: 1000, context: &round(3).0 }).unwrap();
    matches!(choice.propensity, Propensity::Exact(_))
}

/// A policy whose choices have propensities draws nothing but the action: the rewards that it compares are the same each time, and the action of the
/// highest is the most frequent. Every other action is chosen as often as its propensities say: the sum of their inverses is
/// the number of rounds, within five standard deviations, by chance once in 100 000 seeds for all policies.
#[test]
fn propensities_are_frequencies() {
    const N: u64 = 5000;
    for spec in specs() {
        let mut policy = build(&spec, 1);
        play(&mut *policy, 0..60);
        if !knows_propensities(&*policy) {
            continue;
        }
        let context = round(3).0;
        let mut counts = [0_u64; SHAPE.n_actions];
        let (mut sums, mut variances) = ([0.0; SHAPE.n_actions], [0.0; SHAPE.n_actions]);
        for round in 100..100 + N {
            let choice = policy.choose(Request { round, context: &context }).unwrap();
            let Propensity::Exact(propensity) = choice.propensity else { panic!("{spec}: {choice:?}") };
            assert!(propensity > 0.0 && propensity <= 1.0, "{spec}: {choice:?}");
            counts[choice.action] += 1;
            sums[choice.action] += 1.0 / propensity;
            // What the sum of (1 − p)/p over all rounds is in expectation.
            variances[choice.action] += (1.0 - propensity) / (propensity * propensity);
        }
        for action in 0..SHAPE.n_actions {
            if counts[action] >= 30 {
                let bound = 5.0 * variances[action].sqrt() + 1e-6;
                assert!((sums[action] - N as f64).abs() < bound, "{spec}: {action} {sums:?}");
            }
        }
        let Ok(rewards) = policy.sample_rewards(0, &[context.as_slice(); 7]) else { continue };
        for other in rewards.chunks(SHAPE.n_actions) {
            for (reward, other) in rewards.iter().zip(other) {
                assert!((reward - other).abs() <= 1e-5 * reward.abs(), "{spec}: {rewards:?}");
            }
        }
        let best = wrapper::highest(&rewards[..SHAPE.n_actions]).unwrap();
        let slack = 5.0 * (2.0 * N as f64).sqrt();
        assert!(
            counts.iter().all(|&count| count as f64 <= counts[best] as f64 + slack),
            "{spec}: {counts:?}"
        );
    }
}

/// Draws are made as decisions are: an action wins as often in one as in the other. Bounds are five standard deviations
/// of the difference of two proportions of 2000: by chance once in 100 000 seeds for all policies.
#[test]
fn drawn_rewards_win_as_often_as_decisions_choose() {
    const N: usize = 2000;
    for spec in specs() {
        let mut policy = build(&spec, 1);
        play(&mut *policy, 0..60);
        let context = round(3).0;
        let rewards = match policy.sample_rewards(0, &vec![context.as_slice(); N]) {
            Ok(rewards) => rewards,
            Err(error) => {
                assert!(matches!(error, Error::NoRewards { .. }), "{spec}: {error}");
                continue;
            }
        };
        assert_eq!(rewards.len(), N * SHAPE.n_actions);
        assert_eq!(rewards, policy.snapshot().sample_rewards(0, &vec![context.as_slice(); N]).unwrap());
        assert!(policy.sample_rewards(0, &[]).unwrap().is_empty());
        assert!(
            policy.sample_rewards(0, &[&context, &context[1..]]).is_err_and(|error| error.is_invalid_input())
        );
        if knows_propensities(&*policy) {
            continue;
        }
        let (mut drawn, mut chosen) = ([0_usize; SHAPE.n_actions], [0_usize; SHAPE.n_actions]);
        rewards.chunks(SHAPE.n_actions).for_each(|rewards| drawn[wrapper::highest(rewards).unwrap()] += 1);
        for round in 100..100 + N as u64 {
            chosen[policy.choose(Request { round, context: &context }).unwrap().action] += 1;
        }
        for (drawn, chosen) in drawn.iter().zip(chosen) {
            let bound = 5.0 * ((drawn + chosen) as f64).sqrt() + 1.0;
            assert!((*drawn as f64 - chosen as f64).abs() < bound, "{spec}: {drawn} {chosen}");
        }
    }
}

#[test]
fn saving_and_loading_leaves_no_trace() {
    for spec in specs() {
        let uninterrupted = play(&mut *build(&spec, 1), 0..200);
        let mut first = build(&spec, 1);
        let mut actions = play(&mut *first, 0..101);
        let mut second = load(&first.save()).unwrap();
        assert_eq!(second.name(), first.name());
        assert_eq!(second.save(), first.save(), "{spec}");
        actions.extend(play(&mut *second, 101..200));
        assert_eq!(actions, uninterrupted, "{spec}");
    }
}

#[test]
fn damaged_and_future_files_are_errors() {
    for spec in specs() {
        let mut policy = build(&spec, 1);
        play(&mut *policy, 0..30);
        let file = policy.save();
        // Every place of a small file, many of a large one.
        let step = file.len().div_ceil(1000);
        for length in (0..file.len()).step_by(step) {
            assert!(
                load(&file[..length]).is_err_and(|error| error.is_invalid_file()),
                "{spec} cut at {length}"
            );
        }
        for place in (0..file.len()).step_by(step) {
            let mut altered = file.clone();
            altered[place] ^= 1 << (place % 8);
            assert!(load(&altered).is_err_and(|error| error.is_invalid_file()), "{spec} altered at {place}");
        }
        let mut longer = file.clone();
        longer.push(0);
        assert!(load(&longer).is_err(), "{spec}");
        let mut future = file.clone();
        future[8] = 2;
        let message = load(&future).err().unwrap().to_string();
        assert!(message.contains("format 2") && message.contains("newer version"), "{message}");
    }
}

#[test]
fn bad_input_is_an_error_and_changes_nothing() {
    for spec in specs() {
        let mut policy = build(&spec, 1);
        play(&mut *policy, 0..30);
        let before = policy.save();
        let good = [0.5_f32; 5];
        let contexts: [(&[f32], &str); 4] = [
            (&good[..4], "context has 4 features but the policy was built for 5"),
            (&[], "context has 0 features but the policy was built for 5"),
            (&[0.5, f32::NAN, 0.5, 0.5, 0.5], "feature 1 of the context is NaN, expected a finite number"),
            (
                &[0.5, 0.5, 0.5, 0.5, f32::INFINITY],
                "feature 4 of the context is inf, expected a finite number",
            ),
        ];
        for (context, message) in contexts {
            // Rounds of initial pulls and of drawing alike.
            for round in [0, 30] {
                let error = policy.choose(Request { round, context }).unwrap_err();
                assert!(error.is_invalid_input(), "{spec}");
                assert_eq!(error.to_string(), message, "{spec}");
            }
            let error = policy.learn(Outcome { round: 30, context, action: 0, reward: 1.0 }).unwrap_err();
            assert_eq!(error.to_string(), message, "{spec}");
        }
        let error = policy.learn(Outcome { round: 30, context: &good, action: 3, reward: 1.0 }).unwrap_err();
        assert_eq!(error.to_string(), "action is 3 but the policy was built for 3 actions, 0 to 2", "{spec}");
        for reward in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e39] {
            let error = policy.learn(Outcome { round: 30, context: &good, action: 0, reward }).unwrap_err();
            assert!(error.is_invalid_input(), "{spec}");
        }
        assert_eq!(before, policy.save(), "{spec}");
    }
}

#[test]
fn empty_and_absurd_shapes_are_errors() {
    for spec in specs() {
        for shape in [Shape::new(0, 3), Shape::new(5, 0), Shape::new(usize::MAX, 3), Shape::new(1 << 33, 2)] {
            assert!(spec.build(shape, Seed::new(1)).is_err_and(|error| error.is_invalid_config()), "{spec}");
        }
    }
}

/// Shapes and policies that nobody can have saved, with a checksum that is right.
#[test]
fn forged_shapes_and_unknown_policies_are_errors() {
    for spec in specs() {
        let file = build(&spec, 1).save();
        let body = &file[20..file.len() - 4];
        let shape = 8 + spec.full().len();
        for n in [0, 1 << 33, u64::MAX / 8, u64::MAX - 1, u64::MAX] {
            for place in [shape, shape + 8] {
                let mut forged = body.to_vec();
                forged[place..place + 8].copy_from_slice(&u64::to_le_bytes(n));
                assert!(load(&sealed(&forged)).is_err_and(|error| error.is_invalid_file()), "{spec} {n}");
            }
        }
        let mut forged = body.to_vec();
        forged[8] = b'?';
        let error = load(&sealed(&forged)).err().unwrap();
        assert!(error.is_invalid_file());
        assert!(error.to_string().contains("perhaps a newer version"), "{error}");
    }
}

/// An envelope with the right length and checksum.
fn sealed(body: &[u8]) -> Vec<u8> {
    let mut file = b"LOCUSPOL".to_vec();
    file.extend_from_slice(&1_u32.to_le_bytes());
    file.extend_from_slice(&(body.len() as u64).to_le_bytes());
    file.extend_from_slice(body);
    let checksum = crc32fast::hash(&file);
    file.extend_from_slice(&checksum.to_le_bytes());
    file
}

#[test]
fn rewards_may_come_late_in_batches_or_never() {
    for spec in specs() {
        let mut policy = build(&spec, 1);
        let mut waiting = Vec::new();
        for number in 0..120 {
            let (context, rewards) = round(number);
            let action = policy.choose(Request { round: number, context: &context }).unwrap().action;
            assert!(action < SHAPE.n_actions);
            // Every fifth reward is lost; the others come 40 at a time.
            if number % 5 != 0 {
                waiting.push((number, context, action, rewards[action]));
            }
            if number % 40 == 39 {
                for (round, context, action, reward) in waiting.drain(..) {
                    policy.learn(Outcome { round, context: &context, action, reward }).unwrap();
                }
            }
        }
    }
}

#[test]
fn extremes_neither_panic_nor_act_on_nan() {
    let shapes = [Shape::new(1, 1), Shape::new(1, 7), Shape::new(40, 2)];
    let features = [0.0, 1e-6, 1e6, -1e6, f32::MAX, f32::MIN_POSITIVE];
    let rewards = [0.0, -35.0, 50.0, 1e6, 3e38, -3e38];
    for spec in specs() {
        for shape in shapes {
            let mut policy = spec.build(shape, Seed::new(3)).unwrap();
            for number in 0..80_usize {
                let context: Vec<f32> =
                    (0..shape.n_features).map(|i| features[(number * 7 + i * i) % features.len()]).collect();
                let request = Request { round: number as u64, context: &context };
                let action = match policy.choose(request) {
                    Ok(choice) => choice.action,
                    Err(error) => {
                        assert!(error.is_numeric(), "{spec}: {error}");
                        0
                    }
                };
                assert!(action < shape.n_actions);
                let reward = rewards[number % rewards.len()];
                let outcome = Outcome { round: number as u64, context: &context, action, reward };
                if let Err(error) = policy.learn(outcome) {
                    assert!(error.is_numeric(), "{spec}: {error}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic_the_loader(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(load(&bytes).is_err());
    }

    /// A checksum only guards against accidents: bodies that nobody saved must not panic either.
    #[test]
    fn no_forged_body_panics_the_loader(
        which in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..12),
        cut in any::<bool>(),
    ) {
        let specs = specs();
        let mut policy = build(which.get(&specs), 1);
        play(&mut *policy, 0..10);
        let file = policy.save();
        let mut body = file[20..file.len() - 4].to_vec();
        let place = place.index(body.len());
        body.splice(place..(place + bytes.len()).min(body.len()), bytes);
        if cut {
            body.truncate(place);
        }
        if let Ok(policy) = load(&sealed(&body))
            && policy.shape().n_features < 1_000_000
        {
            let context = vec![0.5; policy.shape().n_features];
            let _ = policy.choose(Request { round: 1000, context: &context });
        }
    }
}
