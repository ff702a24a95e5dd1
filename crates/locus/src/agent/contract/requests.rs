//! Masks, propensities, batches, counts and weights.

use super::*;

/// Masks to try: none, all actions, some, and each action alone.
fn masks() -> Vec<Option<[bool; SHAPE.n_actions]>> {
    let mut masks = vec![None, Some([true; SHAPE.n_actions])];
    for action in 0..SHAPE.n_actions {
        masks.push(Some(std::array::from_fn(|other| other != action)));
        masks.push(Some(std::array::from_fn(|other| other == action)));
    }
    masks
}

fn masked<'a>(request: Request<'a>, mask: &'a Option<[bool; SHAPE.n_actions]>) -> Request<'a> {
    mask.as_ref().map_or(request, |mask| request.allowing(mask))
}

pub(super) fn allowed_actions_are_obeyed_and_all_of_them_change_nothing(subject: &Subject<'_>) {
    let spec = &subject.spec;
    for policy in [subject.build(1), subject.trained()] {
        for number in [0, 1, 4, 60, 61, 62, 63, 64, 65, 1000] {
            let context = round(number).0;
            let plain = Request::new(number, &context);
            for request in [plain, plain.with_propensity()] {
                let all = policy.choose(request).unwrap();
                for mask in masks() {
                    let request = masked(request, &mask);
                    let choice = policy.choose(request).unwrap();
                    assert!(request.allows(choice.action), "{spec}: {choice:?} of {mask:?}");
                    if mask == Some([true; SHAPE.n_actions]) {
                        assert_eq!(choice, all, "{spec}: all actions allowed, in round {number}");
                    }
                    // The best of the same draw: if the overall best action is allowed, it remains the best.
                    if !request.wants_propensity
                        && all.propensity == Propensity::Unknown
                        && request.allows(all.action)
                    {
                        assert_eq!(choice.action, all.action, "{spec}: {mask:?} in round {number}");
                    }
                }
            }
        }
    }
    let policy = subject.build(1);
    let (before, context) = (policy.save(), round(0).0);
    let mut probabilities = [0.0; SHAPE.n_actions];
    let bad: [(&[bool], &str); 3] = [
        (&[true; 2], "the mask of allowed actions has 2 entries, expected 3, one for each action"),
        (&[true; 4], "the mask of allowed actions has 4 entries, expected 3, one for each action"),
        (&[false; 3], "the request allows none of the 3 actions"),
    ];
    for (mask, message) in bad {
        for number in [0, 100] {
            let request = Request::new(number, &context).allowing(mask);
            let chosen = policy.choose(request).map(|_| ()).unwrap_err();
            let asked = policy.choose(request.with_propensity()).map(|_| ()).unwrap_err();
            let distributed = policy.distribution(request, &mut probabilities).unwrap_err();
            let many =
                policy.choose_many(&[Request::new(number, &context), request]).map(|_| ()).unwrap_err();
            assert!(many.to_string().starts_with(&format!("request 1: {message}")), "{spec}: {many}");
            for error in [chosen, asked, distributed] {
                assert!(
                    error.is_invalid_input() && error.to_string().starts_with(message),
                    "{spec}: {error}"
                );
            }
        }
    }
    let error = policy.distribution(Request::new(0, &context), &mut [0.0; 2]).unwrap_err();
    assert_eq!(error.to_string(), "the slice for probabilities has length 2, expected 3", "{spec}");
    assert!(before == policy.save(), "{spec}");
}

pub(super) fn propensities_are_exact(subject: &Subject<'_>) {
    let registry = subject.registry;
    for floor in [0.0, 0.1] {
        check_propensities(registry, &with_setting(&subject.spec, "floor", floor), 3000);
    }
}

/// The same policy with another value of a setting.
pub(super) fn with_setting(spec: &PolicySpec, key: &str, value: impl std::fmt::Display) -> String {
    let full = spec.full();
    let (head, settings) = full.split_once('[').unwrap_or((&full, "]"));
    let settings = settings.trim_end_matches(']').split(',').filter(|setting| !setting.is_empty());
    let others = settings.filter(|setting| setting.split('=').next() != Some(key)).map(str::to_owned);
    let settings: Vec<String> = others.chain([format!("{key}={value}")]).collect();
    format!("{head}[{}]", settings.join(","))
}

/// `n` decisions after the initial pulls, with and without a mask, each with its own round and context:
///
/// - The probabilities of a decision are valid, and its reported propensity is the probability of its action.
/// - With a floor, every allowed action has at least its share of the floor, and the inverse-propensity estimate of the constant
///   1 for the uniform target policy over the allowed actions is 1, within 4 standard errors.
/// - Each action is chosen as often as its probabilities predict, and 1/p over the choices with p ≥ 0.02 adds up to the number of
///   actions with such a p, within 4 standard deviations.
/// - Probabilities agree on average with decisions that do not ask for them, within 5 standard deviations.
///
/// These are 9 comparisons for a mask, each of which a correct policy fails with probability 6e-5: 1e-3 in all for two masks.
pub(super) fn check_propensities(registry: &Registry, policy: &str, n: u64) {
    let spec = registry.parse(policy).unwrap_or_else(|error| panic!("{error}"));
    let subject = Subject { registry, spec };
    let spec = &subject.spec;
    let floor: f64 =
        spec.settings().find(|(key, _)| *key == "floor").map_or(0.0, |(_, value)| value.parse().unwrap());
    let policy = subject.trained();
    for mask in [None, Some([true, false, true])] {
        let n_allowed = mask.map_or(SHAPE.n_actions, |_| 2) as f64;
        let (mut inverse, mut inverse_squares) = (0.0, 0.0);
        let (mut excess, mut variance) = ([0.0; SHAPE.n_actions], [0.0; SHAPE.n_actions]);
        let (mut support, mut support_variance) = (0.0, 0.0);
        let (mut plain, mut plain_squares) = ([0.0; SHAPE.n_actions], [0.0; SHAPE.n_actions]);
        for number in 1000..1000 + n {
            let context = round(number).0;
            let request = masked(Request::new(number, &context), &mask);
            let mut p = [0.0; SHAPE.n_actions];
            policy.distribution(request, &mut p).unwrap();
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{spec}: {p:?} in round {number}");
            for (action, &p) in p.iter().enumerate() {
                let least = if request.allows(action) { floor / n_allowed } else { 0.0 };
                assert!(
                    p >= least && (p == 0.0 || request.allows(action)),
                    "{spec}: {p:?} in round {number}"
                );
            }
            let choice = policy.choose(request.with_propensity()).unwrap();
            let taken = p[choice.action];
            assert_eq!(choice.propensity, Propensity::Exact(taken), "{spec}: {p:?} in round {number}");
            let weight = 1.0 / n_allowed / taken;
            (inverse, inverse_squares) = (inverse + weight, inverse_squares + weight * weight);
            let unasked = policy.choose(request).unwrap();
            for (action, &p) in p.iter().enumerate() {
                excess[action] += f64::from(u8::from(choice.action == action)) - p;
                variance[action] += p * (1.0 - p);
                let difference = f64::from(u8::from(unasked.action == action)) - p;
                plain[action] += difference;
                plain_squares[action] += difference * difference;
            }
            let supported = p.iter().filter(|p| **p >= 0.02);
            let n_supported = supported.clone().count() as f64;
            support += if taken >= 0.02 { 1.0 / taken } else { 0.0 } - n_supported;
            support_variance += supported.map(|p| 1.0 / p).sum::<f64>() - n_supported * n_supported;
            if unasked.propensity != Propensity::Unknown {
                assert_eq!(unasked.propensity, Propensity::Exact(p[unasked.action]), "{spec}: {p:?}");
            }
        }
        let n = n as f64;
        if floor > 0.0 {
            let mean = inverse / n;
            let error = ((inverse_squares / n - mean * mean) / n).sqrt();
            assert!((mean - 1.0).abs() <= 4.0 * error + 1e-9, "{spec}: 1 is estimated as {mean} ± {error}");
        }
        for action in 0..SHAPE.n_actions {
            let bound = 4.0 * variance[action].sqrt() + 1e-6;
            let excess = excess[action];
            assert!(excess.abs() <= bound, "{spec}: action {action} is chosen {excess} times too often");
            let (plain, bound) = (plain[action], 5.0 * plain_squares[action].sqrt() + 1e-6);
            assert!(
                plain.abs() <= bound,
                "{spec}: without requested propensities, action {action} is chosen {plain} times more often than its probabilities predict, of {n}"
            );
        }
        let bound = 4.0 * support_variance.max(0.0).sqrt() + 1e-6;
        assert!(support.abs() <= bound, "{spec}: 1/p adds up to {support} more than there are actions");
    }
}

/// A batch is decided as its requests are one at a time.
pub(super) fn batches_decide_as_single_requests_do(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let policy = subject.trained();
    let contexts: Vec<Vec<f32>> = (0..40).map(|number| round(number).0).collect();
    let mask = [true, false, true];
    let requests: Vec<Request<'_>> = contexts
        .iter()
        .zip(0..)
        .map(|(context, number)| {
            let request = Request::new(if number < 5 { number } else { 100 + number }, context);
            let request = if number % 3 == 0 { request.allowing(&mask) } else { request };
            if number % 4 == 0 { request.with_propensity() } else { request }
        })
        .collect();
    let choices = policy.choose_many(&requests).unwrap();
    let reversed: Vec<Request<'_>> = requests.iter().rev().copied().collect();
    let mut reversed = policy.snapshot().choose_many(&reversed).unwrap();
    reversed.reverse();
    assert_same(spec, "in another order", &reversed, &choices);
    let mut probabilities = vec![0.0; requests.len() * SHAPE.n_actions];
    policy.distribution_many(&requests, &mut probabilities).unwrap();
    for (place, request) in requests.iter().enumerate() {
        let alone = policy.choose_many(&[*request]).unwrap()[0];
        assert_eq!(alone, choices[place], "{spec}: alone and in a batch");
        assert!(request.allows(alone.action), "{spec}");
        let mut p = [0.0; SHAPE.n_actions];
        policy.distribution(*request, &mut p).unwrap();
        for (found, expected) in probabilities[place * SHAPE.n_actions..].iter().zip(p) {
            // Rounding may decide a draw, which changes a share of draws.
            assert!((found - expected).abs() < 0.02, "{spec}: {found} {expected}");
        }
    }
    let n_other = requests
        .iter()
        .zip(&choices)
        .filter(|(request, choice)| policy.choose(**request).unwrap().action != choice.action);
    assert!(n_other.count() <= 1, "{spec}: a batch may differ from single requests only by rounding");
    let mut two = [Choice::new(0); 2];
    assert!(policy.choose_into(&requests, &mut two).is_err_and(|error| error.is_invalid_input()), "{spec}");
    assert!(policy.choose_many(&[]).unwrap().is_empty());
}

/// Both observations and rounds end the initial pulls.
pub(super) fn counts_of_what_was_learned_are_kept(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let mut policy = subject.build(1);
    assert_eq!((policy.n_observed(), policy.last_round(), policy.next_round()), (0, None, 0), "{spec}");
    let context = round(0).0;
    for (number, action) in [(7, 0), (3, 1), (5, 2)] {
        policy.learn(Outcome::new(number, &context, action, 1.0)).unwrap();
    }
    let outcomes = [(2, 0), (1, 1)].map(|(number, action)| Outcome::new(number, &context, action, 0.5));
    policy.learn_many(&outcomes).unwrap();
    assert_eq!((policy.n_observed(), policy.last_round(), policy.next_round()), (5, Some(7), 8), "{spec}");
    policy.set_next_round(12);
    policy.set_next_round(9);
    let loaded = subject.registry.load(&policy.save()).unwrap();
    assert_eq!((loaded.n_observed(), loaded.last_round()), (5, Some(7)), "{spec}: saved and loaded");
    assert_eq!((policy.next_round(), loaded.next_round()), (12, 12), "{spec}: the caller's counter");
    let before = policy.save();
    let bad = [outcomes[0], Outcome::new(9, &context, 3, 1.0)];
    let error = policy.learn_many(&bad).unwrap_err();
    assert!(
        error.is_invalid_input() && error.to_string().starts_with("outcome 1: action is 3"),
        "{spec}: {error}"
    );
    for weight in [0.0, -1.0, 1e-7, f64::NAN, f64::INFINITY, 1e7] {
        let error = policy.learn(outcomes[0].with_weight(weight)).unwrap_err();
        assert!(error.is_invalid_input(), "{spec}: weight {weight}: {error}");
    }
    assert!(before == policy.save(), "{spec}: bad outcomes changed the policy");
}

/// A weight ends the initial pulls as that many equal outcomes do, and is saved; a policy without support for weights rejects them.
pub(super) fn weighted_outcomes_count_as_so_many_equal_ones(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let context = round(0).0;
    let outcome = Outcome::new(0, &context, 0, 0.5);
    let mut weighted = subject.build(1);
    let before = weighted.save();
    if let Err(error) = weighted.learn(outcome.with_weight(2.0)) {
        assert!(error.is_invalid_input(), "{spec}: {error}");
        assert!(before == weighted.save(), "{spec}: a rejected weight changed the policy");
        return;
    }
    let mut repeated = subject.build(1);
    (0..2).for_each(|_| assert!(repeated.learn(outcome).is_ok()));
    let initial_pulls = spec.settings().find(|(key, _)| *key == "initial_pulls");
    let initial_pulls: u64 = initial_pulls.map_or(0, |(_, value)| value.parse().unwrap());
    let rounds = 0..initial_pulls * SHAPE.n_actions as u64;
    assert_same(spec, "weighted", &ask(&*weighted, rounds.clone()), &ask(&*repeated, rounds));
    assert_eq!(
        (weighted.n_observed(), repeated.n_observed()),
        (1, 2),
        "{spec}: `n_observed` must count outcomes, not weights"
    );
    // Training rounds, a batch, and rounds after it.
    let teach = |policy: &mut dyn Policy, numbers: std::ops::Range<u64>| {
        for number in numbers {
            let (context, rewards) = round(number);
            let action = number as usize % SHAPE.n_actions;
            let outcome = Outcome::new(number, &context, action, rewards[action]);
            let weight = [0.25, 1.0, 3.0, 2.5, 1.0][number as usize % 5];
            policy.learn(outcome.with_weight(weight)).unwrap();
        }
        policy.learn_many(&[outcome.with_weight(4.0), outcome.with_weight(0.5)]).unwrap();
    };
    teach(&mut *weighted, 1..101);
    let mut loaded = subject.registry.load(&weighted.save()).unwrap();
    assert!(
        loaded.save() == weighted.save(),
        "{spec}: with weights, saving, loading and saving again gives other bytes"
    );
    teach(&mut *weighted, 101..160);
    teach(&mut *loaded, 101..160);
    assert!(loaded.save() == weighted.save(), "{spec}: with weights, the loaded policy learns differently");
    assert_same(spec, "with weights, loaded", &ask(&*loaded, 160..200), &ask(&*weighted, 160..200));
}

/// With a half-life a policy continues exactly from anywhere, and stays finite for actions that are never observed again; or it
/// refuses one.
pub(super) fn half_lives_are_obeyed_or_refused(subject: &Subject<'_>) {
    let keys: Vec<&str> = subject.spec.settings().map(|(key, _)| key).collect();
    if !keys.contains(&"half_life") {
        return;
    }
    let spec = subject.registry.parse(&with_setting(&subject.spec, "half_life", 37.0)).unwrap();
    let mut policy = match spec.build(SHAPE, Seed::new(1)) {
        Ok(policy) => policy,
        Err(error) => {
            assert!(
                error.is_invalid_config() && error.to_string().contains("`half_life`"),
                "{spec}: {error}"
            );
            return;
        }
    };
    let mut loaded = spec.build(SHAPE, Seed::new(1)).unwrap();
    for end in [7, 52, 53, 101, 160] {
        let rounds = policy.n_observed()..end;
        let choices = play(&mut *policy, rounds.clone());
        assert_same(&spec, "loaded with a half-life", &play(&mut *loaded, rounds), &choices);
        assert!(loaded.save() == policy.save(), "{spec}: after {end} rounds a loaded policy is another one");
        loaded = subject.registry.load(&policy.save()).unwrap();
    }
    // Only action 1 is ever observed again.
    for number in 160..2160 {
        let (context, rewards) = round(number);
        policy.learn(Outcome::new(number, &context, 1, rewards[1])).unwrap();
    }
    ask(&*policy, 2160..2200);
    subject.registry.load(&policy.save()).unwrap();
}
