//! Training on demand, and training on a replay that holds only a part of what was learned.

use super::requests::with_setting;
use super::*;

/// Whether the policy has a setting of this name.
fn has(subject: &Subject<'_>, key: &str) -> bool {
    subject.spec.settings().any(|(other, _)| other == key)
}

fn build(subject: &Subject<'_>, text: &str) -> Box<dyn Policy> {
    subject.registry.parse(text).unwrap().build(SHAPE, Seed::new(1)).unwrap()
}

/// With `training=manual`, a call of `train` after every outcome gives the same policy as training by itself, and without such
/// calls nothing is trained. A policy that trains by itself, or never, has nothing to do.
pub(super) fn training_on_demand_is_that_of_learning(subject: &Subject<'_>) {
    let spec = &subject.spec;
    let mut automatic = subject.build(1);
    let is_trained = has(subject, "training");
    // The name is part of the random seed of no decision, so both make the same choices.
    let mut manual = is_trained.then(|| build(subject, &with_setting(spec, "training", "manual")));
    let mut idle = is_trained.then(|| build(subject, &with_setting(spec, "training", "manual")));
    let mut n_fits = 0;
    for number in 0..120 {
        let (context, rewards) = round(number);
        let choice = automatic.choose(Request::new(number, &context)).unwrap();
        let outcome = Outcome::new(number, &context, choice.action, rewards[choice.action]);
        let report = automatic.learn(outcome).unwrap();
        assert_eq!(automatic.train().unwrap(), FitReport::default(), "{spec}: nothing was left to train");
        let (Some(manual), Some(idle)) = (&mut manual, &mut idle) else { continue };
        assert_eq!(manual.choose(Request::new(number, &context)).unwrap(), choice, "{spec}: round {number}");
        assert_eq!(manual.learn(outcome).unwrap(), FitReport::default(), "{spec}: `learn` trained");
        assert_eq!(manual.train().unwrap(), report, "{spec}: round {number}");
        assert_eq!(manual.train().unwrap(), FitReport::default(), "{spec}: trained twice");
        assert_eq!(
            idle.learn_many(&[outcome]).unwrap(),
            FitReport::default(),
            "{spec}: `learn_many` trained"
        );
        n_fits += u32::from(report.minibatches > 0);
        // What is due is saved.
        if number == 90 {
            *idle = subject.registry.load(&idle.save()).unwrap();
        }
    }
    if let Some(mut idle) = idle {
        assert!(n_fits > 1, "{spec}: {n_fits} rounds of training");
        assert_ne!(idle.train().unwrap(), FitReport::default(), "{spec}: training was due");
        assert_eq!(idle.train().unwrap(), FitReport::default(), "{spec}: trained twice");
    }
}

/// A policy whose replay holds a sample of what it learned, and that trains ever more rarely, is saved and loaded exactly.
pub(super) fn a_sampled_replay_is_saved(subject: &Subject<'_>) {
    let spec = &subject.spec;
    if !has(subject, "replay_bound") {
        return;
    }
    let bounded = subject.registry.parse(&with_setting(spec, "replay_bound", 40)).unwrap();
    let mut first = build(subject, &with_setting(&bounded, "stretch_after", 25));
    play(&mut *first, 0..101);
    for weight in [1.0, 2.5] {
        // Weights change how the sample is kept.
        let (context, rewards) = round(101);
        first.learn(Outcome::new(101, &context, 0, rewards[0]).with_weight(weight)).unwrap();
        let mut second = subject.registry.load(&first.save()).unwrap();
        assert!(second.save() == first.save(), "{spec}: saving, loading and saving again gives other bytes");
        let expected = play(&mut *first, 102..180);
        assert_same(spec, "loaded with a sampled replay", &play(&mut *second, 102..180), &expected);
        assert!(first.save() == second.save(), "{spec}: another state after 78 rounds more");
    }
}
