//! The checks with actions that features describe, and other candidates each round.

use std::sync::Arc;

use super::{Subject, assert_same, body_of, sealed};
use crate::agent::{Choose, Policy};
use crate::{Choice, Outcome, Propensity, Request, Rng, Seed, Shape};

/// Neither a power of two, nor equal.
const SHAPE: Shape = Shape::described(3, 2);

/// The most candidates of a round.
const MOST: usize = 6;

/// A round's context, its candidates, and the reward of each.
struct Round {
    number: u64,
    context: Vec<f32>,
    candidates: Vec<f32>,
    rewards: Vec<f64>,
}

impl Round {
    fn new(number: u64) -> Self {
        let mut rng: Rng = Seed::new(98).stream("problem", number);
        let n_candidates = 1 + number as usize * 5 % MOST;
        let mut normals = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.normal() as f32).collect() };
        let context = normals(SHAPE.n_features);
        let candidates = normals(n_candidates * SHAPE.n_action_features);
        let noise = normals(n_candidates);
        let value = |(candidate, noise): (&[f32], &f32)| {
            let [first, second] = [candidate[0], candidate[1]];
            f64::from(first + context[0] * second + 0.1 * noise)
        };
        let rewards = candidates.chunks(SHAPE.n_action_features).zip(&noise).map(value).collect();
        Self { number, context, candidates, rewards }
    }

    fn len(&self) -> usize {
        self.rewards.len()
    }

    fn request(&self) -> Request<'_> {
        Request::new(self.number, &self.context).with_candidates(&self.candidates)
    }

    fn features_of(&self, candidate: usize) -> &[f32] {
        &self.candidates[candidate * SHAPE.n_action_features..][..SHAPE.n_action_features]
    }

    fn outcome(&self, candidate: usize) -> Outcome<'_> {
        Outcome::new(self.number, &self.context, candidate, self.rewards[candidate])
            .with_action_features(self.features_of(candidate))
    }

    /// The row `[x, f_a]` of a candidate.
    fn row(&self, candidate: usize) -> Vec<f32> {
        [&self.context, self.features_of(candidate)].concat()
    }
}

impl Subject<'_> {
    /// The policy for described actions, unless it does not support them.
    fn described(&self, seed: u64) -> Option<Box<dyn Policy>> {
        match self.spec.build(SHAPE, Seed::new(seed)) {
            Ok(policy) => Some(policy),
            Err(error) => {
                assert!(error.is_invalid_config(), "{}: {error}", self.spec);
                None
            }
        }
    }

    /// The same after 60 rounds.
    fn described_and_trained(&self) -> Option<Box<dyn Policy>> {
        let mut policy = self.described(1)?;
        play(&mut *policy, 0..60);
        Some(policy)
    }
}

fn play(policy: &mut dyn Policy, rounds: std::ops::Range<u64>) -> Vec<Choice> {
    let mut step = |number: u64| {
        let round = Round::new(number);
        let choice = policy.choose(round.request()).unwrap();
        policy.learn(round.outcome(choice.action)).unwrap();
        choice
    };
    rounds.map(&mut step).collect()
}

fn ask(chooser: &dyn Choose, rounds: std::ops::Range<u64>) -> Vec<Choice> {
    rounds.map(|number| chooser.choose(Round::new(number).request()).unwrap()).collect()
}

/// The same with propensities.
fn ask_both(chooser: &dyn Choose, rounds: std::ops::Range<u64>) -> Vec<Choice> {
    let mut choices = ask(chooser, rounds.clone());
    let with_propensity =
        |number: u64| chooser.choose(Round::new(number).request().with_propensity()).unwrap();
    choices.extend(rounds.map(with_propensity));
    choices
}

pub(super) fn described_actions_are_supported_or_refused(subject: &Subject<'_>) {
    let spec = &subject.spec;
    match spec.build(SHAPE, Seed::new(1)) {
        Ok(mut policy) => {
            assert_eq!(policy.shape(), SHAPE, "{spec}");
            assert_eq!(policy.snapshot().shape(), SHAPE, "{spec}");
            let before = policy.save();
            let added = policy.add_action().unwrap_err();
            for error in [added, policy.retire_action(0).unwrap_err(), policy.restore_action(0).unwrap_err()]
            {
                assert!(error.is_unsupported(), "{spec}: {error}");
                assert!(error.to_string().contains("as the candidates of each request"), "{spec}: {error}");
            }
            assert!(policy.retired_actions().is_empty() && before == policy.save(), "{spec}");
            let mut mixed = SHAPE;
            mixed.n_actions = 3;
            for shape in [Shape::described(0, 2), Shape::described(usize::MAX, 2), mixed] {
                let error = spec.build(shape, Seed::new(1)).err().unwrap();
                assert!(error.is_invalid_config(), "{spec}: {error}");
            }
        }
        Err(error) => {
            let message = format!("policy `{spec}` does not support actions with features; `uniform`, ");
            assert!(error.is_invalid_config() && error.to_string().starts_with(&message), "{error}");
            assert!(error.to_string().contains("`lin-full-post`"), "{error}");
        }
    }
}

pub(super) fn described_decisions_are_reproducible(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let Some(mut policy) = subject.described_and_trained() else { return };
    let before = policy.save();
    let expected = ask_both(&*policy, 60..130);
    let again = subject.described_and_trained().unwrap();
    // In another order: what decisions share does not depend on which comes first.
    let mut reversed: Vec<Choice> = (60..130)
        .rev()
        .map(|number| again.choose(Round::new(number).request().with_propensity()).unwrap())
        .collect();
    reversed.reverse();
    assert_same(spec, "with features, in another order", &reversed, &expected[70..]);
    assert_same(spec, "with features and the same seed", &ask_both(&*again, 60..130), &expected);
    assert!(before == policy.save(), "{spec}: decisions changed the saved bytes");
    let other = subject.described(2);
    if expected.iter().any(|choice| choice.propensity != Propensity::Exact(1.0)) {
        let mut other = other.unwrap();
        play(&mut *other, 0..60);
        assert!(ask(&*other, 60..130) != expected[..70], "{spec}: two seeds make the same choices");
    }
    let snapshot = policy.snapshot();
    play(&mut *policy, 60..120);
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let snapshot = Arc::clone(&snapshot);
            std::thread::spawn(move || ask_both(&*snapshot, 60..130))
        })
        .collect();
    for thread in threads {
        assert_same(spec, "by a snapshot while the policy learns", &thread.join().unwrap(), &expected);
    }
}

pub(super) fn described_policies_are_saved_and_loaded(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let Some(mut uninterrupted) = subject.described(1) else { return };
    let expected = play(&mut *uninterrupted, 0..130);
    let mut first = subject.described(1).unwrap();
    let mut choices = play(&mut *first, 0..71);
    let file = first.save();
    let loaded = subject.registry.load(&file);
    let mut second = loaded.unwrap_or_else(|error| panic!("{spec}: does not load: {error}"));
    assert_eq!(second.shape(), SHAPE, "{spec}");
    assert!(second.save() == file, "{spec}: saving, loading and saving again gives other bytes");
    assert_same(spec, "loaded", &ask_both(&*second, 71..90), &ask_both(&*first, 71..90));
    choices.extend(play(&mut *second, 71..130));
    assert_same(spec, "with features, loaded after 71 rounds", &choices, &expected);

    for length in (0..file.len()).step_by(file.len().div_ceil(200)) {
        let loaded = subject.registry.load(&file[..length]);
        assert!(loaded.is_err_and(|error| error.is_invalid_file()), "{spec} cut at {length}");
    }
    for forgery in 0..60 {
        let mut rng = Seed::new(7).stream("forge", forgery);
        let mut body = body_of(&file).to_vec();
        let place = rng.below(body.len());
        let end = (place + rng.below(12)).min(body.len());
        body[place..end].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
        if forgery % 2 == 0 {
            body.truncate(place);
        }
        if let Ok(policy) = subject.registry.load(&sealed(&body))
            && policy.shape() == SHAPE
        {
            let _ = policy.choose(Round::new(1000).request());
        }
    }
    // No other number of features fits the rest of the file.
    let place = 8 + spec.full().len();
    for (place, n) in [(place, 4), (place + 8, 1), (place + 16, 0), (place + 16, 3), (place + 16, 1 << 40)] {
        let mut forged = body_of(&file).to_vec();
        forged[place..place + 8].copy_from_slice(&u64::to_le_bytes(n));
        match subject.registry.load(&sealed(&forged)) {
            // A policy without numbers of its own has the file of another shape.
            Ok(policy) => {
                assert!(spec.id() == "uniform" && policy.shape() != SHAPE, "{spec}: {n} at {place}")
            }
            Err(error) => assert!(error.is_invalid_file(), "{spec}: {error}"),
        }
    }
}

pub(super) fn described_bad_input_changes_nothing(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let mut plain = subject.build(1);
    let (context, features) = ([0.5; super::SHAPE.n_features], [0.5; SHAPE.n_action_features]);
    let asked = plain.choose(Request::new(0, &context).with_candidates(&features)).unwrap_err();
    assert!(asked.to_string().contains("built for 3 actions without features"), "{spec}: {asked}");
    let outcome = Outcome::new(0, &context, 0, 1.0).with_action_features(&features);
    let learned = plain.learn(outcome).unwrap_err();
    assert!(learned.to_string().contains("built for 3 actions without features"), "{spec}: {learned}");
    assert!(asked.is_invalid_input() && learned.is_invalid_input(), "{spec}");

    let Some(mut policy) = subject.described(1) else { return };
    play(&mut *policy, 0..30);
    let before = policy.save();
    let context = [0.5; SHAPE.n_features];
    let plain = Request::new(30, &context);
    let nan = [0.5, 0.5, 0.5, f32::NAN];
    let four = [0.5; 4];
    let requests = [
        (Request::new(30, &context[1..]).with_candidates(&four), "context has 2 features"),
        (plain, "the request has no candidates, but the policy was built for actions with 2 features"),
        (plain.with_candidates(&[]), "the candidates have 0 features in all, expected 2 for each"),
        (plain.with_candidates(&four[1..]), "the candidates have 3 features in all, expected 2 for each"),
        (plain.with_candidates(&nan), "feature 1 of candidate 1 is NaN, expected a finite number"),
        (
            plain.with_candidates(&four).allowing(&[true]),
            "the mask of allowed actions has 1 entries, expected 2",
        ),
        (plain.with_candidates(&four).allowing(&[false; 2]), "the request allows none of the 2 actions"),
    ];
    for (request, message) in requests {
        let good = plain.with_candidates(&four);
        let many = policy.choose_many(&[good, request]).map(|_| ()).unwrap_err();
        assert!(many.to_string().starts_with(&format!("request 1: {message}")), "{spec}: {many}");
        let chosen = policy.choose(request).map(|_| ()).unwrap_err();
        let asked = policy.choose(request.with_propensity()).map(|_| ()).unwrap_err();
        let distributed = policy.distribution(request, &mut [0.0; 2]).unwrap_err();
        for error in [chosen, asked, distributed] {
            assert!(error.is_invalid_input() && error.to_string().starts_with(message), "{spec}: {error}");
        }
    }
    let good = plain.with_candidates(&four);
    for length in [1, 3] {
        let error = policy.distribution(good, &mut vec![0.0; length]).unwrap_err();
        assert!(error.to_string().ends_with("expected 2"), "{spec}: {error}");
        let error = policy.distribution_many(&[good], &mut vec![0.0; length]).unwrap_err();
        assert!(error.to_string().ends_with("expected 2"), "{spec}: {error}");
    }
    let plain = Outcome::new(30, &context, 7, 1.0);
    let outcomes = [
        (plain, "the outcome has no features of its action, but the policy was built for actions with 2"),
        (plain.with_action_features(&four), "the action has 4 features but the policy was built for 2"),
        (plain.with_action_features(&nan[2..]), "feature 1 of the action is NaN, expected a finite number"),
        (
            Outcome::new(30, &context, 7, f64::NAN).with_action_features(&four[..2]),
            "reward is NaN, expected a finite number",
        ),
    ];
    for (outcome, message) in outcomes {
        let good = plain.with_action_features(&four[..2]);
        let many = policy.learn_many(&[good, outcome]).unwrap_err();
        assert!(many.to_string().starts_with(&format!("outcome 1: {message}")), "{spec}: {many}");
        let error = policy.learn(outcome).unwrap_err();
        assert!(error.is_invalid_input() && error.to_string().starts_with(message), "{spec}: {error}");
    }
    assert!(before == policy.save(), "{spec}: bad input changed the policy");
    // The number of an action is the caller's.
    policy.learn(plain.with_action_features(&four[..2])).unwrap();
    assert_eq!(policy.n_observed(), 31, "{spec}");
}

pub(super) fn described_extremes_neither_panic_nor_act_on_nan(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let features = [0.0, 1e-6, 1e6, -1e6, f32::MAX, f32::MIN_POSITIVE];
    let rewards = [0.0, -35.0, 50.0, 1e6, 3e38, -3e38];
    for (shape, n_candidates) in [(Shape::described(1, 1), 1), (Shape::described(2, 5), 7)] {
        let Ok(mut policy) = spec.build(shape, Seed::new(3)) else { continue };
        for number in 0..60_usize {
            let value = |i: usize| features[(number * 7 + i * i) % features.len()];
            let context: Vec<f32> = (0..shape.n_features).map(value).collect();
            let candidates: Vec<f32> = (0..n_candidates * shape.n_action_features).map(value).collect();
            let request = Request::new(number as u64, &context).with_candidates(&candidates);
            if let Err(error) = policy.choose(request.with_propensity()) {
                assert!(error.is_numeric(), "{spec}: {error}");
            }
            let action = match policy.choose(request) {
                Ok(choice) => choice.action,
                Err(error) => {
                    assert!(error.is_numeric(), "{spec}: {error}");
                    0
                }
            };
            let taken = &candidates[action * shape.n_action_features..][..shape.n_action_features];
            let reward = rewards[number % rewards.len()];
            let outcome = Outcome::new(number as u64, &context, action, reward).with_action_features(taken);
            if let Err(error) = policy.learn(outcome) {
                assert!(error.is_numeric(), "{spec}: {error}");
            }
        }
    }
}

/// Masks are obeyed, and batches and rows of rewards are what single calls give.
pub(super) fn described_masks_batches_and_propensities(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let Some(policy) = subject.described_and_trained() else { return };
    let rounds: Vec<Round> = (100..140).map(Round::new).collect();
    let masks: Vec<Vec<bool>> =
        rounds.iter().map(|round| (0..round.len()).map(|candidate| candidate % 3 != 1).collect()).collect();
    let requests: Vec<Request<'_>> = rounds
        .iter()
        .zip(&masks)
        .map(|(round, mask)| {
            let request = round.request();
            let request = if round.number % 3 == 0 { request.allowing(mask) } else { request };
            if round.number % 2 == 0 { request.with_propensity() } else { request }
        })
        .collect();
    let singly: Vec<Choice> = requests.iter().map(|request| policy.choose(*request).unwrap()).collect();
    assert_same(spec, "in a batch", &policy.choose_many(&requests).unwrap(), &singly);
    let n_candidates = |request: &Request<'_>| request.n_actions(SHAPE);
    let mut probabilities = vec![0.0; requests.iter().map(n_candidates).sum()];
    policy.distribution_many(&requests, &mut probabilities).unwrap();
    let mut rest = probabilities.as_slice();
    for (request, choice) in requests.iter().zip(&singly) {
        let mut own = vec![0.0; n_candidates(request)];
        policy.distribution(*request, &mut own).unwrap();
        assert_eq!(own, rest[..own.len()], "{spec}");
        rest = &rest[own.len()..];
        assert!(request.allows(choice.action), "{spec}");
        if request.wants_propensity {
            assert_eq!(choice.propensity, Propensity::Exact(own[choice.action]), "{spec}");
        }
        // The best of the same draw: if the overall best candidate is allowed, it remains the best.
        let unmasked = Request { allowed: None, wants_propensity: false, ..*request };
        let all = policy.choose(unmasked).unwrap();
        if all.propensity == Propensity::Unknown && request.allows(all.action) && !request.wants_propensity {
            assert_eq!(all.action, choice.action, "{spec}");
        }
        let everything = vec![true; n_candidates(request)];
        assert_eq!(policy.choose(unmasked.allowing(&everything)).unwrap(), all, "{spec}");
    }

    let rows: Vec<Vec<f32>> = rounds.iter().map(|round| round.row(0)).collect();
    let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
    match policy.sample_rewards(5, &rows) {
        Ok(rewards) => {
            assert_eq!(rewards.len(), rows.len(), "{spec}: one reward for each row");
            assert_eq!(rewards, policy.snapshot().sample_rewards(5, &rows).unwrap(), "{spec}");
            assert!(policy.sample_rewards(5, &[]).unwrap().is_empty(), "{spec}");
            let error = policy.sample_rewards(5, &[rows[0], &rows[1][1..]]).unwrap_err();
            let message = "row has 4 features, expected 3 of the context followed by 2 of an action";
            assert!(error.is_invalid_input() && error.to_string() == message, "{spec}: {error}");
        }
        Err(error) => assert!(error.is_no_rewards(), "{spec}: {error}"),
    }
}

/// Probabilities are valid and the action is sampled from them. Over 1500 decisions the number of times that the candidate in each
/// place is chosen is within 4.5 standard deviations of the sum of its probabilities, which a correct policy misses with probability
/// 7e-6 in each of 12 comparisons. The seeds are fixed.
pub(super) fn described_propensities_are_exact(subject: &Subject<'_>) {
    for floor in [0.0, 0.2] {
        let text = super::requests::with_setting(&subject.spec, "floor", floor);
        let spec = subject.registry.parse(&text).unwrap();
        let subject = Subject { registry: subject.registry, spec };
        let spec = &subject.spec;
        let Some(policy) = subject.described_and_trained() else { return };
        let (mut excess, mut variance) = ([0.0; MOST], [0.0; MOST]);
        for number in 1000..2500 {
            let round = Round::new(number);
            let mut p = vec![0.0; round.len()];
            policy.distribution(round.request(), &mut p).unwrap();
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{spec}: {p:?}");
            assert!(p.iter().all(|p| *p >= floor / round.len() as f64), "{spec}: {p:?}");
            let choice = policy.choose(round.request().with_propensity()).unwrap();
            assert_eq!(choice.propensity, Propensity::Exact(p[choice.action]), "{spec}: {p:?}");
            for (candidate, p) in p.iter().enumerate() {
                excess[candidate] += f64::from(u8::from(candidate == choice.action)) - p;
                variance[candidate] += p * (1.0 - p);
            }
        }
        for (excess, variance) in excess.iter().zip(variance) {
            assert!(excess.abs() <= 4.5 * variance.sqrt() + 1e-6, "{spec}: {excess}, {variance}");
        }
    }
}

pub(super) fn described_weights_count(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let Some(mut policy) = subject.described(1) else { return };
    let round = Round::new(5);
    if let Err(error) = policy.learn(round.outcome(0).with_weight(2.0)) {
        assert!(error.is_invalid_input(), "{spec}: {error}");
        return;
    }
    assert_eq!((policy.n_observed(), policy.last_round(), policy.next_round()), (1, Some(5), 6), "{spec}");
    for number in 6..90 {
        let round = Round::new(number);
        let weight = [0.25, 1.0, 3.0, 2.5, 1.0][number as usize % 5];
        let candidate = number as usize % round.len();
        policy.learn(round.outcome(candidate).with_weight(weight)).unwrap();
    }
    let rounds: Vec<Round> = (90..97).map(Round::new).collect();
    let outcomes: Vec<Outcome<'_>> = rounds.iter().map(|round| round.outcome(0).with_weight(1.5)).collect();
    policy.learn_many(&outcomes).unwrap();
    let loaded = subject.registry.load(&policy.save()).unwrap();
    assert!(loaded.save() == policy.save(), "{spec}: with weights, saving and loading gives other bytes");
    assert_same(spec, "with weights, loaded", &ask_both(&*loaded, 97..130), &ask_both(&*policy, 97..130));
}
