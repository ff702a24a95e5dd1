//! Actions that come and go.

use super::*;

/// The index of the action that is added.
const ADDED: usize = SHAPE.n_actions;

/// One action more.
const GROWN: Shape = Shape::new(SHAPE.n_features, ADDED + 1);

/// A policy that has learned from 60 rounds and then got an action; `None` if it refuses to add one.
fn grown(subject: &Subject<'_>) -> Option<Box<dyn Policy>> {
    let mut policy = subject.trained();
    policy.add_action().ok().map(|_| policy)
}

/// The setting `initial_pulls`, 0 if it has none.
fn initial_pulls(spec: &PolicySpec) -> u64 {
    let setting = spec.settings().find(|(key, _)| *key == "initial_pulls");
    setting.map_or(0, |(_, value)| value.parse().unwrap())
}

/// Plays rounds in which the added action pays more than any other. In every third of them, some other rule takes it.
fn play_grown(policy: &mut dyn Policy, rounds: std::ops::Range<u64>) -> Vec<Choice> {
    let step = |number| {
        let (context, rewards) = round(number);
        let choice = policy.choose(Request::new(number, &context)).unwrap();
        let action = if number.is_multiple_of(3) { ADDED } else { choice.action };
        let reward = rewards.get(action).copied().unwrap_or(5.0);
        policy.learn(Outcome::new(number, &context, action, reward)).unwrap();
        choice
    };
    rounds.map(step).collect()
}

pub(super) fn actions_are_added_while_it_runs(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let mut policy = subject.trained();
    let (before, snapshot, expected) = (policy.save(), policy.snapshot(), ask(&*policy, 60..90));
    match policy.add_action() {
        Ok(action) => assert_eq!(action, ADDED, "{spec}: the index of the added action"),
        Err(error) => {
            assert!(error.is_unsupported(), "{spec}: {error}");
            assert!(error.to_string().contains("cannot add actions"), "{spec}: {error}");
            assert!(before == policy.save(), "{spec}: a refused addition changed the policy");
            return;
        }
    }
    assert_eq!((policy.shape(), policy.snapshot().shape()), (GROWN, GROWN), "{spec}");
    assert_eq!(snapshot.shape(), SHAPE, "{spec}: an earlier snapshot");
    assert_same(spec, "by a snapshot before the addition", &ask(&*snapshot, 60..90), &expected);
    assert!(policy.n_observed() == 60 && policy.retired_actions().is_empty(), "{spec}");
    let mut other = grown(subject).unwrap();
    assert!(other.save() == policy.save(), "{spec}: two additions to the same policy differ");

    // The highest round learned is 59. Forced until it has its pulls, in the rounds that it has for them.
    let n = initial_pulls(spec);
    let end = 59 + n * GROWN.n_actions as u64;
    let context = round(60).0;
    let is_forced = |policy: &dyn Policy, round| {
        let others = [false, false, false, true];
        let all = policy.choose(Request::new(round, &context)).unwrap();
        // Only the added action lacks observations.
        policy.choose(Request::new(round, &context).allowing(&others)).unwrap().action == ADDED
            && all == Choice::certain(ADDED)
    };
    if n > 0 && !spec.settings().any(|(key, value)| key == "floor" && value != "0") {
        assert!((60..end).all(|round| is_forced(&*policy, round)), "{spec}: initial pulls");
        for pull in 0..n {
            policy.learn(Outcome::new(60 + pull, &context, ADDED, 5.0)).unwrap();
            other.learn(Outcome::new(60 + pull, &context, ADDED, 5.0)).unwrap();
        }
        let choices: Vec<Choice> =
            (60 + n..end).map(|round| other.choose(Request::new(round, &context)).unwrap()).collect();
        let is_past = |choice: &Choice| choice.propensity != Propensity::Exact(1.0) || n == 0;
        // Deterministic policies always report 1, so only others can tell.
        let tells = other.choose(Request::new(end, &context)).unwrap().propensity != Propensity::Exact(1.0);
        assert!(!tells || choices.iter().all(is_past), "{spec}: forced although observed {n} times");
    }

    // Saved at once and later, it continues as if never interrupted.
    let mut loaded = subject.registry.load(&policy.save()).unwrap_or_else(|error| panic!("{spec}: {error}"));
    assert!(loaded.save() == policy.save(), "{spec}: saved and loaded after an addition");
    assert_eq!(loaded.shape(), GROWN, "{spec}");
    let uninterrupted = play_grown(&mut *policy, 100..200);
    let mut resumed = play_grown(&mut *loaded, 100..133);
    let mut loaded = subject.registry.load(&loaded.save()).unwrap();
    resumed.extend(play_grown(&mut *loaded, 133..200));
    assert_same(spec, "with an added action, loaded twice", &resumed, &uninterrupted);
    assert!(
        loaded.save() == policy.save(),
        "{spec}: with an added action, the loaded policy learns differently"
    );
}

/// Propensities, batches and masks with an added action.
pub(super) fn added_actions_are_chosen_as_probably_as_all_others(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let Some(mut policy) = grown(subject) else { return };
    play_grown(&mut *policy, 60..90);
    let mask = [false, true, true, true];
    let contexts: Vec<Vec<f32>> = (200..300).map(|number| round(number).0).collect();
    let requests: Vec<Request<'_>> = contexts
        .iter()
        .zip(200..)
        .map(|(context, number)| {
            let request = Request::new(number, context).with_propensity();
            if number % 3 == 0 { request.allowing(&mask) } else { request }
        })
        .collect();
    let many = policy.choose_many(&requests).unwrap();
    let mut of_many = vec![0.0; requests.len() * GROWN.n_actions];
    policy.distribution_many(&requests, &mut of_many).unwrap();
    let mut n_other = 0;
    for ((request, many), of_many) in requests.iter().zip(many).zip(of_many.chunks(GROWN.n_actions)) {
        let mut p = [0.0; GROWN.n_actions];
        policy.distribution(*request, &mut p).unwrap();
        let choice = policy.choose(*request).unwrap();
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{spec}: {p:?}");
        assert_eq!(choice.propensity, Propensity::Exact(p[choice.action]), "{spec}: {p:?}");
        assert!(request.allows(choice.action) && request.allows(many.action), "{spec}");
        assert!((0..GROWN.n_actions).all(|action| p[action] == 0.0 || request.allows(action)), "{spec}");
        // Rounding may decide a draw, which changes a share of draws.
        assert!(p.iter().zip(of_many).all(|(one, other)| (one - other).abs() < 0.02), "{spec}: {p:?}");
        n_other += usize::from(many.action != choice.action);
    }
    assert!(n_other <= 1, "{spec}: a batch may differ from single requests only by rounding");
    match policy.sample_rewards(0, &[&contexts[0]]) {
        Ok(rewards) => assert_eq!(rewards.len(), GROWN.n_actions, "{spec}"),
        Err(error) => assert!(error.is_no_rewards(), "{spec}: {error}"),
    }
    for mask in [&[true; 3][..], &[true; 5]] {
        let error = policy.choose(Request::new(200, &contexts[0]).allowing(mask)).unwrap_err();
        assert!(error.is_invalid_input(), "{spec}: {error}");
    }
}

/// A retired action is one that no request allows.
pub(super) fn retired_actions_are_not_chosen_until_they_are_restored(subject: &Subject<'_>) {
    const LEFT: [bool; SHAPE.n_actions] = [false, true, true];
    let spec = &subject.spec;
    for mut policy in [subject.build(1), subject.trained()] {
        let (before, snapshot) = (policy.save(), policy.snapshot());
        policy.retire_action(0).unwrap_or_else(|error| panic!("{spec}: {error}"));
        policy.retire_action(0).unwrap();
        assert_eq!(policy.retired_actions(), [0], "{spec}");
        let loaded = subject.registry.load(&policy.save()).unwrap();
        assert_eq!(loaded.retired_actions(), [0], "{spec}: loaded");
        assert!(loaded.save() == policy.save(), "{spec}: saved and loaded with a retired action");
        let choosers: [&dyn Choose; 3] = [&*policy, &*policy.snapshot(), &*loaded];
        let contexts: Vec<Vec<f32>> = (0..40).map(|number| round(number).0).collect();
        let some = [true, true, false];
        let requests: Vec<(Request<'_>, Request<'_>)> = contexts
            .iter()
            .zip((0..10).chain(60..))
            .map(|(context, number)| {
                let plain = Request::new(number, context);
                let request = if number % 3 == 0 { plain.with_propensity() } else { plain };
                match number % 4 {
                    0 => (request.allowing(&some), request.allowing(&[false, true, false])),
                    _ => (request, request.allowing(&LEFT)),
                }
            })
            .collect();
        let (asked, allowed): (Vec<_>, Vec<_>) = requests.iter().copied().unzip();
        let expected: Vec<Choice> =
            allowed.iter().map(|request| snapshot.choose(*request).unwrap()).collect();
        let expected_many = snapshot.choose_many(&allowed).unwrap();
        let mut p = [[0.0; SHAPE.n_actions]; 2];
        let mut of_many = [(); 2].map(|()| vec![0.0; SHAPE.n_actions * asked.len()]);
        snapshot.distribution_many(&allowed, &mut of_many[0]).unwrap();
        for chooser in choosers {
            let found: Vec<Choice> = asked.iter().map(|request| chooser.choose(*request).unwrap()).collect();
            assert_same(spec, "without a retired action", &found, &expected);
            let found = chooser.choose_many(&asked).unwrap();
            assert_same(spec, "in a batch without a retired action", &found, &expected_many);
            chooser.distribution_many(&asked, &mut of_many[1]).unwrap();
            assert_eq!(of_many[1], of_many[0], "{spec}");
            for (asked, allowed) in &requests {
                snapshot.distribution(*allowed, &mut p[0]).unwrap();
                chooser.distribution(*asked, &mut p[1]).unwrap();
                assert!(p[0] == p[1] && p[1][0] == 0.0, "{spec}: {p:?}");
            }
        }
        policy.restore_action(0).unwrap();
        policy.restore_action(0).unwrap();
        assert!(before == policy.save(), "{spec}: retired and restored");
        assert_same(spec, "restored", &ask(&*policy, 60..90), &ask(&*snapshot, 60..90));
    }
}

pub(super) fn what_no_action_is_left_for_is_an_error(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let mut policy = subject.trained();
    let before = policy.save();
    for action in [3, usize::MAX] {
        for error in [policy.retire_action(action).unwrap_err(), policy.restore_action(action).unwrap_err()] {
            assert!(error.is_invalid_input(), "{spec}: {error}");
            let message = format!("action is {action} but the policy has 3 actions, 0 to 2");
            assert_eq!(error.to_string(), message, "{spec}");
        }
    }
    assert!(before == policy.save(), "{spec}: a wrong index changed the policy");
    policy.retire_action(0).unwrap();
    policy.retire_action(2).unwrap();
    assert_eq!(policy.retired_actions(), [0, 2], "{spec}");
    let context = round(0).0;
    let fails = |policy: &dyn Policy, mask: Option<&[bool]>, message: &str| {
        // A round of initial pulls, and one that the model decides.
        for number in [0, 60] {
            let request = Request { allowed: mask, ..Request::new(number, &context) };
            let mut p = [0.0; SHAPE.n_actions];
            for error in [
                policy.choose(request).unwrap_err(),
                policy.choose(request.with_propensity()).unwrap_err(),
                policy.distribution(request, &mut p).unwrap_err(),
                policy.choose_many(&[request]).unwrap_err(),
                policy.distribution_many(&[request], &mut p).unwrap_err(),
            ] {
                assert!(error.is_invalid_input() && error.to_string().contains(message), "{spec}: {error}");
            }
        }
    };
    fails(
        &*policy,
        Some(&[true, false, true]),
        "the request allows none of the 1 available actions (2 of 3 are retired)",
    );
    assert_eq!(policy.choose(Request::new(60, &context)).unwrap().action, 1, "{spec}: the only one");
    // Rewards of retired actions may come late.
    policy.learn(Outcome::new(61, &context, 0, 0.5)).unwrap();
    policy.retire_action(1).unwrap();
    fails(&*policy, None, "all 3 actions are retired");
    fails(&*policy, Some(&[true; 3]), "all 3 actions are retired");
    if let Ok(added) = policy.add_action() {
        assert_eq!(policy.choose(Request::new(70, &context)).unwrap().action, added, "{spec}");
        assert_eq!(policy.retired_actions(), [0, 1, 2], "{spec}");
    }
}
