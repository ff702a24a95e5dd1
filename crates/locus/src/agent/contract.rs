//! Checks that every policy must pass, callable from any crate's tests.
//!
//! The checks run a policy on a small linear problem: the same seed gives the same choices, choosing changes no state, snapshots
//! decide the same on every thread, a loaded policy continues exactly, damaged files and bad input are clear errors, masks are
//! obeyed, propensities are exact, batches decide as single requests do, no policy acts on a NaN, and actions come and go. A policy
//! that supports actions with features passes the same checks with these; the others refuse.

mod actions;
mod described;
mod requests;
mod training;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::*;
use crate::registry::save::FORMAT;
use crate::{PolicySpec, Propensity, Registry, Rng, Seed};
use actions::{
    actions_are_added_while_it_runs, added_actions_are_chosen_as_probably_as_all_others,
    retired_actions_are_not_chosen_until_they_are_restored, what_no_action_is_left_for_is_an_error,
};
use described::{
    described_actions_are_supported_or_refused, described_bad_input_changes_nothing,
    described_decisions_are_reproducible, described_extremes_neither_panic_nor_act_on_nan,
    described_masks_batches_and_propensities, described_policies_are_saved_and_loaded,
    described_propensities_are_exact, described_weights_count,
};
use requests::{
    allowed_actions_are_obeyed_and_all_of_them_change_nothing, batches_decide_as_single_requests_do,
    counts_of_what_was_learned_are_kept, half_lives_are_obeyed_or_refused, propensities_are_exact,
    weighted_outcomes_count_as_so_many_equal_ones,
};
use training::{a_sampled_replay_is_saved, training_on_demand_is_that_of_learning};

/// Runs all checks on a policy, and panics with a message at the first failure.
///
/// Takes a few seconds for a small net.
///
/// Call it in a test for each preset, with settings that make training quick:
///
/// ```no_run
/// # use locus::Registry;
/// locus::contract::check(&Registry::standard(), "lu-gauss[latent_dim=4,minibatches=2]");
/// ```
///
/// The statistical checks use fixed seeds, so their result is the same in every run. A correct policy fails one of them with a
/// probability of about 2e-3.
pub fn check(registry: &Registry, policy: &str) {
    let spec = registry.parse(policy).unwrap_or_else(|error| panic!("{error}"));
    for (name, check) in CHECKS {
        let subject = Subject { registry, spec: spec.clone() };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&subject))) {
            eprintln!("`{spec}` fails the check `{name}`");
            resume_unwind(panic);
        }
    }
}

/// The policy under test.
struct Subject<'a> {
    registry: &'a Registry,
    spec: PolicySpec,
}

/// All different, and no power of two.
const SHAPE: Shape = Shape::new(5, 3);

impl Subject<'_> {
    fn build(&self, seed: u64) -> Box<dyn Policy> {
        self.spec.build(SHAPE, Seed::new(seed)).unwrap()
    }

    /// A policy that has learned from 60 rounds.
    fn trained(&self) -> Box<dyn Policy> {
        let mut policy = self.build(1);
        play(&mut *policy, 0..60);
        policy
    }

    /// The same policy with another seed: the same learned state, other random numbers.
    fn reseeded(&self, file: &[u8], seed: u64) -> Box<dyn Policy> {
        let mut body = body_of(file).to_vec();
        let place = 8 + self.spec.full().len() + 24;
        body[place..place + 8].copy_from_slice(&Seed::new(1000).derive_index(seed).number().to_le_bytes());
        self.registry.load(&sealed(&body)).unwrap()
    }
}

/// The context of a round, and each action's reward.
fn round(number: u64) -> (Vec<f32>, Vec<f64>) {
    let mut rng: Rng = Seed::new(99).stream("problem", number);
    let context: Vec<f32> = (0..SHAPE.n_features).map(|_| rng.normal() as f32).collect();
    let rewards =
        (0..SHAPE.n_actions).map(|action| f64::from(context[action]) + 0.1 * rng.normal()).collect();
    (context, rewards)
}

/// Plays rounds with immediate rewards, and returns the choices.
fn play(policy: &mut dyn Policy, rounds: std::ops::Range<u64>) -> Vec<Choice> {
    rounds.map(|number| step(policy, number)).collect()
}

fn step(policy: &mut dyn Policy, number: u64) -> Choice {
    let (context, rewards) = round(number);
    let choice = policy.choose(Request::new(number, &context)).unwrap();
    let (action, reward) = (choice.action, rewards[choice.action]);
    policy.learn(Outcome::new(number, &context, action, reward)).unwrap();
    choice
}

fn ask(chooser: &dyn Choose, rounds: std::ops::Range<u64>) -> Vec<Choice> {
    rounds.map(|number| chooser.choose(Request::new(number, &round(number).0)).unwrap()).collect()
}

/// Fails at the first choice that differs.
fn assert_same(spec: &PolicySpec, when: &str, found: &[Choice], expected: &[Choice]) {
    if let Some(place) = (0..expected.len()).find(|&place| found.get(place) != Some(&expected[place])) {
        let (found, expected) = (found.get(place), expected[place]);
        panic!("{spec}: {when}, choice {place} is {found:?}, expected {expected:?}");
    }
}

/// What is in the envelope of a saved policy.
fn body_of(file: &[u8]) -> &[u8] {
    &file[20..file.len() - 4]
}

/// An envelope with the right length and checksum.
fn sealed(body: &[u8]) -> Vec<u8> {
    let mut file = b"LOCUSPOL".to_vec();
    file.extend_from_slice(&FORMAT.to_le_bytes());
    file.extend_from_slice(&(body.len() as u64).to_le_bytes());
    file.extend_from_slice(body);
    let checksum = crc32fast::hash(&file);
    file.extend_from_slice(&checksum.to_le_bytes());
    file
}

/// A policy may be deterministic if all its propensities are 1; otherwise its choices must depend on the seed.
fn same_seed_same_choices_other_seed_other_choices(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let choices = play(&mut *subject.build(1), 0..150);
    assert_same(spec, "with the same seed", &play(&mut *subject.build(1), 0..150), &choices);
    if choices.iter().any(|choice| choice.propensity != Propensity::Exact(1.0)) {
        assert!(
            choices != play(&mut *subject.build(2), 0..150),
            "{spec}: two seeds make the same 150 choices; a choice that is not random has a propensity of 1"
        );
    }
}

fn names_are_canonical_and_shapes_kept(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let policy = subject.build(1);
    assert_eq!(policy.name(), spec.to_string());
    assert_eq!(policy.shape(), SHAPE);
    assert_eq!(policy.snapshot().name(), policy.name());
    assert_eq!(policy.snapshot().shape(), SHAPE);
}

fn choosing_changes_nothing(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let policy = subject.trained();
    let before = policy.save();
    let choices = ask(&*policy, 60..90);
    assert_same(spec, "asked again", &ask(&*policy, 60..90), &choices);
    assert!(before == policy.save(), "{spec}: decisions changed the saved bytes");
}

fn snapshots_decide_alike_on_every_thread_and_do_not_learn(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let mut policy = subject.trained();
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
        assert_same(spec, "by a snapshot while the policy learns", &thread.join().unwrap(), &expected);
    }
}

fn saving_and_loading_leaves_no_trace(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let uninterrupted = play(&mut *subject.build(1), 0..200);
    let mut first = subject.build(1);
    let mut actions = play(&mut *first, 0..101);
    let loaded = subject.registry.load(&first.save());
    let mut second = loaded.unwrap_or_else(|error| panic!("{spec}: the saved policy does not load: {error}"));
    assert_eq!(second.name(), first.name());
    assert!(second.save() == first.save(), "{spec}: saving, loading and saving again gives other bytes");
    actions.extend(play(&mut *second, 101..200));
    assert_same(spec, "loaded after 101 rounds (does `encode` omit state?)", &actions, &uninterrupted);
}

fn damaged_and_future_files_are_errors(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let mut policy = subject.build(1);
    play(&mut *policy, 0..30);
    let file = policy.save();
    // Every byte of a small file, many bytes of a large one.
    let step = file.len().div_ceil(1000);
    for length in (0..file.len()).step_by(step) {
        assert!(
            subject.registry.load(&file[..length]).is_err_and(|error| error.is_invalid_file()),
            "{spec} cut at {length}"
        );
    }
    for place in (0..file.len()).step_by(step) {
        let mut altered = file.clone();
        altered[place] ^= 1 << (place % 8);
        assert!(
            subject.registry.load(&altered).is_err_and(|error| error.is_invalid_file()),
            "{spec} altered at {place}"
        );
    }
    let mut longer = file.clone();
    longer.push(0);
    assert!(subject.registry.load(&longer).is_err(), "{spec}");
    let mut future = file.clone();
    future[8..12].copy_from_slice(&(FORMAT + 1).to_le_bytes());
    let message = subject.registry.load(&future).err().unwrap().to_string();
    let format = format!("format {}", FORMAT + 1);
    assert!(message.contains(&format) && message.contains("newer version"), "{message}");
}

fn bad_input_is_an_error_and_changes_nothing(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let mut policy = subject.build(1);
    play(&mut *policy, 0..30);
    let before = policy.save();
    let good = [0.5_f32; 5];
    let contexts: [(&[f32], &str); 4] = [
        (&good[..4], "context has 4 features but the policy was built for 5"),
        (&[], "context has 0 features but the policy was built for 5"),
        (&[0.5, f32::NAN, 0.5, 0.5, 0.5], "feature 1 of the context is NaN, expected a finite number"),
        (&[0.5, 0.5, 0.5, 0.5, f32::INFINITY], "feature 4 of the context is inf, expected a finite number"),
    ];
    for (context, message) in contexts {
        // A round of initial pulls, and one that the model decides.
        for round in [0, 30] {
            let error = policy.choose(Request::new(round, context)).unwrap_err();
            assert!(error.is_invalid_input(), "{spec}");
            assert_eq!(error.to_string(), message, "{spec}");
        }
        let error = policy.learn(Outcome::new(30, context, 0, 1.0)).unwrap_err();
        assert_eq!(error.to_string(), message, "{spec}");
    }
    let error = policy.learn(Outcome::new(30, &good, 3, 1.0)).unwrap_err();
    assert_eq!(error.to_string(), "action is 3 but the policy has 3 actions, 0 to 2", "{spec}");
    for reward in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e39] {
        let error = policy.learn(Outcome::new(30, &good, 0, reward)).unwrap_err();
        assert!(error.is_invalid_input(), "{spec}");
    }
    assert_eq!(before, policy.save(), "{spec}");
}

fn empty_and_absurd_shapes_are_errors(subject: &Subject<'_>) {
    let spec = &subject.spec;
    for shape in [Shape::new(0, 3), Shape::new(5, 0), Shape::new(usize::MAX, 3), Shape::new(1 << 33, 2)] {
        assert!(spec.build(shape, Seed::new(1)).is_err_and(|error| error.is_invalid_config()), "{spec}");
    }
}

/// Impossible shapes and unknown policies, with a correct checksum.
fn forged_shapes_and_unknown_policies_are_errors(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let file = subject.build(1).save();
    let body = body_of(&file);
    let shape = 8 + spec.full().len();
    for n in [0, 1 << 33, u64::MAX / 8, u64::MAX - 1, u64::MAX] {
        for place in [shape, shape + 8, shape + 16] {
            if n == 0 && place == shape + 16 {
                // Actions have no features.
                continue;
            }
            let mut forged = body.to_vec();
            forged[place..place + 8].copy_from_slice(&u64::to_le_bytes(n));
            assert!(
                subject.registry.load(&sealed(&forged)).is_err_and(|error| error.is_invalid_file()),
                "{spec} {n}"
            );
        }
    }
    let mut forged = body.to_vec();
    forged[8] = b'?';
    let error = subject.registry.load(&sealed(&forged)).err().unwrap();
    assert!(error.is_invalid_file());
    assert!(error.to_string().contains("perhaps a newer version"), "{error}");
}

fn rewards_may_come_late_in_batches_or_never(subject: &Subject<'_>) {
    let mut policy = subject.build(1);
    let mut waiting = Vec::new();
    for number in 0..120 {
        let (context, rewards) = round(number);
        let action = policy.choose(Request::new(number, &context)).unwrap().action;
        assert!(action < SHAPE.n_actions);
        // Every fifth reward is lost; the others come 40 at a time.
        if number % 5 != 0 {
            waiting.push((number, context, action, rewards[action]));
        }
        if number % 40 == 39 {
            for (round, context, action, reward) in waiting.drain(..) {
                policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
            }
        }
    }
}

fn extremes_neither_panic_nor_act_on_nan(subject: &Subject<'_>) {
    let shapes = [Shape::new(1, 1), Shape::new(1, 7), Shape::new(40, 2)];
    let features = [0.0, 1e-6, 1e6, -1e6, f32::MAX, f32::MIN_POSITIVE];
    let rewards = [0.0, -35.0, 50.0, 1e6, 3e38, -3e38];
    let spec = &subject.spec;
    for shape in shapes {
        let mut policy = match spec.build(shape, Seed::new(3)) {
            Err(error) if error.is_invalid_config() => continue,
            built => built.unwrap(),
        };
        for number in 0..80_usize {
            let context: Vec<f32> =
                (0..shape.n_features).map(|i| features[(number * 7 + i * i) % features.len()]).collect();
            let request = Request::new(number as u64, &context);
            let asked = policy.choose(request.with_propensity()).map(|_| ());
            let many = policy.choose_many(&[request, request.with_propensity()]).map(|_| ());
            for error in [asked, many].into_iter().filter_map(Result::err) {
                assert!(error.is_numeric(), "{spec}: {error}");
            }
            let action = match policy.choose(request) {
                Ok(choice) => choice.action,
                Err(error) => {
                    assert!(error.is_numeric(), "{spec}: {error}");
                    0
                }
            };
            assert!(action < shape.n_actions);
            let reward = rewards[number % rewards.len()];
            let outcome = Outcome::new(number as u64, &context, action, reward);
            if let Err(error) = policy.learn(outcome) {
                assert!(error.is_numeric(), "{spec}: {error}");
            }
        }
    }
}

/// An action must have the highest sampled reward as often as decisions choose it. Bounds are five standard deviations of the
/// difference of two proportions of 2000.
fn drawn_rewards_win_as_often_as_decisions_choose(subject: &Subject<'_>) {
    const N: usize = 2000;
    let spec = &subject.spec;
    let policy = subject.trained();
    let context = round(3).0;
    let rewards = match policy.sample_rewards(0, &vec![context.as_slice(); N]) {
        Ok(rewards) => rewards,
        Err(error) => {
            assert!(error.is_no_rewards(), "{spec}: {error}");
            return;
        }
    };
    assert_eq!(rewards.len(), N * SHAPE.n_actions);
    assert_eq!(rewards, policy.snapshot().sample_rewards(0, &vec![context.as_slice(); N]).unwrap());
    assert!(policy.sample_rewards(0, &[]).unwrap().is_empty());
    assert!(
        policy.sample_rewards(0, &[&context, &context[1..]]).is_err_and(|error| error.is_invalid_input())
    );
    let file = policy.save();
    let (mut drawn, mut chosen) = ([0_usize; SHAPE.n_actions], [0_usize; SHAPE.n_actions]);
    rewards.chunks(SHAPE.n_actions).for_each(|rewards| drawn[highest(rewards).unwrap()] += 1);
    for seed in 0..N as u64 {
        let choice = subject.reseeded(&file, seed).choose(Request::new(1000, &context)).unwrap();
        if choice.propensity != Propensity::Unknown {
            // It does not decide by Thompson sampling; the check of propensities covers its frequencies.
            return;
        }
        chosen[choice.action] += 1;
    }
    for (action, (drawn, chosen)) in drawn.into_iter().zip(chosen).enumerate() {
        let bound = 5.0 * ((drawn + chosen) as f64).sqrt() + 1.0;
        assert!(
            (drawn as f64 - chosen as f64).abs() < bound,
            "{spec}: of {N}, action {action} wins {drawn} draws but {chosen} decisions"
        );
    }
}

/// A checksum only guards against accidents: the loader must not panic on forged bodies either.
fn forged_bodies_do_not_panic(subject: &Subject<'_>) {
    let mut policy = subject.build(1);
    play(&mut *policy, 0..10);
    let file = policy.save();
    for forgery in 0..100 {
        let mut rng = Seed::new(7).stream("forge", forgery);
        let mut body = body_of(&file).to_vec();
        let place = rng.below(body.len());
        let end = (place + rng.below(12)).min(body.len());
        body[place..end].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
        if forgery % 2 == 0 {
            body.truncate(place);
        }
        if let Ok(policy) = subject.registry.load(&sealed(&body))
            && policy.shape().n_features < 1_000_000
        {
            let context = vec![0.5; policy.shape().n_features];
            let _ = policy.choose(Request::new(1000, &context));
        }
    }
}

/// Declares the list of all checks; in this crate's tests, each is a test over every preset of every policy.
macro_rules! checks {
    ($($name:ident),+ $(,)?) => {
        const CHECKS: &[(&str, fn(&Subject<'_>))] = &[$((stringify!($name), $name)),+];

        #[cfg(test)]
        mod every_policy {
            use crate::Registry;

            $(
                #[test]
                fn $name() {
                    let registry = Registry::standard();
                    for spec in super::tests::specs() {
                        super::$name(&super::Subject { registry: &registry, spec });
                    }
                }
            )+
        }
    };
}

checks! {
    same_seed_same_choices_other_seed_other_choices,
    names_are_canonical_and_shapes_kept,
    choosing_changes_nothing,
    snapshots_decide_alike_on_every_thread_and_do_not_learn,
    saving_and_loading_leaves_no_trace,
    damaged_and_future_files_are_errors,
    bad_input_is_an_error_and_changes_nothing,
    empty_and_absurd_shapes_are_errors,
    forged_shapes_and_unknown_policies_are_errors,
    rewards_may_come_late_in_batches_or_never,
    extremes_neither_panic_nor_act_on_nan,
    allowed_actions_are_obeyed_and_all_of_them_change_nothing,
    propensities_are_exact,
    batches_decide_as_single_requests_do,
    counts_of_what_was_learned_are_kept,
    weighted_outcomes_count_as_so_many_equal_ones,
    half_lives_are_obeyed_or_refused,
    drawn_rewards_win_as_often_as_decisions_choose,
    forged_bodies_do_not_panic,
    training_on_demand_is_that_of_learning,
    a_sampled_replay_is_saved,
    actions_are_added_while_it_runs,
    added_actions_are_chosen_as_probably_as_all_others,
    retired_actions_are_not_chosen_until_they_are_restored,
    what_no_action_is_left_for_is_an_error,
    described_actions_are_supported_or_refused,
    described_decisions_are_reproducible,
    described_policies_are_saved_and_loaded,
    described_bad_input_changes_nothing,
    described_extremes_neither_panic_nor_act_on_nan,
    described_masks_batches_and_propensities,
    described_propensities_are_exact,
    described_weights_count,
}

#[cfg(test)]
pub(crate) use tests::{assert_settings, assert_winners_are_those_of_draws, specs};

#[cfg(test)]
mod tests;
