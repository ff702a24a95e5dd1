//! Initial pulls, schedule and replay, seen through a model that only takes notes.

use std::path::Path;

use super::*;
use crate::agent::highest;
use crate::registry::Definition;
use crate::registry::settings::{AgentConfig, config};
use crate::{Rng, Seed};

config! {
    /// Settings of the note taker.
    pub(crate) struct NotesConfig {
        /// Observations between rounds of training
        every: u32 = 3, Range::within(1.0, 100.0), "test";
        /// Observations kept
        capacity: u32 = 4, Range::within(1.0, 100.0), "test";
        /// The round of training that diverges, 0 for none
        breaks_in: u32 = 0, Range::within(0.0, 100.0), "test";
        ..agent: AgentConfig = AgentConfig::default();
    }
}

#[derive(Clone, Debug)]
struct Notes {
    breaks_in: u32,
    observed: Vec<f64>,
    /// The rewards in the replay at every round of training, and a random number drawn there.
    fits: Vec<Vec<f64>>,
    chances: Vec<u64>,
}

impl Decider for Notes {
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        _scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        rewards.iter_mut().for_each(|reward| *reward = rng.normal());
        // Negative contexts cause a reward that is not finite.
        rewards[1] = match contexts[0][0] {
            -1.0 => f64::NAN,
            -2.0 => f64::INFINITY,
            -3.0 => f64::NEG_INFINITY,
            _ => rewards[1],
        };
        Ok(())
    }
}

impl Learner for Notes {
    type Config = NotesConfig;
    type Decider = Self;

    fn plan(config: &NotesConfig) -> Plan {
        Plan::trained(&config.agent, config.every, Some(config.capacity as usize))
    }

    fn new(config: &NotesConfig, _shape: Shape, _seed: Seed) -> Self {
        Self { breaks_in: config.breaks_in, observed: Vec::new(), fits: Vec::new(), chances: Vec::new() }
    }

    fn decider(&self) -> &Self {
        self
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        self.observed.push(outcome.reward);
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        self.chances.push(rng.next_u64());
        self.fits.push((0..replay.len()).map(|index| replay.get(index).reward).collect());
        if self.fits.len() == self.breaks_in as usize {
            return Err(Breakdown { place: "the loss".to_owned(), found: f64::INFINITY });
        }
        Ok(FitReport { minibatches: 1, mean_loss: Some(0.5), interventions: 0 })
    }

    fn encode(&self, encoder: &mut Encoder) {
        for list in [&self.observed].into_iter().chain(&self.fits) {
            encoder.usize(list.len());
            encoder.f64s(list);
        }
        self.chances.iter().for_each(|&chance| encoder.u64(chance));
    }

    /// Only what [`notes_are_saved_with_replay_and_schedule`] saves: one round of training.
    fn decode(config: &NotesConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let mut list = || {
            let mut list = vec![0.0; decoder.usize()?];
            decoder.f64s(&mut list).map(|()| list)
        };
        let (observed, fits) = (list()?, vec![list()?]);
        let chances = vec![decoder.u64()?];
        Ok(Self { observed, fits, chances, ..Self::new(config, shape, Seed::new(0)) })
    }
}

fn notes(config: NotesConfig) -> Agent<Notes> {
    let spec = Definition::of::<Notes>("notes", "").spec(&config).unwrap();
    Agent::new(&config, Identity { spec, shape: Shape::new(1, 3), seed: Seed::new(0) }).unwrap()
}

fn outcome(round: u64) -> Outcome<'static> {
    Outcome::new(round, &[1.0], 0, round as f64)
}

#[test]
fn initial_pulls_follow_the_callers_rounds_not_the_rewards() {
    let policy = notes(NotesConfig::default());
    // No reward ever arrives; every action is still pulled twice, in turn.
    let actions: Vec<usize> =
        (0..6).map(|round| policy.choose(Request::new(round, &[1.0])).unwrap().action).collect();
    assert_eq!(actions, [0, 1, 2, 0, 1, 2]);
    let later = policy.choose(Request::new(6, &[1.0])).unwrap();
    assert_eq!(later.propensity, Propensity::Unknown);
}

#[test]
fn trains_on_schedule_on_the_last_observations() {
    let mut policy = notes(NotesConfig::default());
    let minibatches: Vec<u32> =
        (1..=7).map(|round| policy.learn(outcome(round)).unwrap().minibatches).collect();
    assert_eq!(minibatches, [0, 0, 1, 0, 0, 1, 0]);
    assert_eq!(policy.learner().fits, [vec![1.0, 2.0, 3.0], vec![3.0, 4.0, 5.0, 6.0]]);
    assert_eq!(policy.learner().observed.len(), 7);
}

#[test]
fn notes_are_saved_with_replay_and_schedule() {
    let config = NotesConfig::default();
    let mut policy = notes(config.clone());
    (1..=5).for_each(|round| assert!(policy.learn(outcome(round)).is_ok()));
    let file = policy.save();
    let mut body = save::unseal(&file).unwrap();
    // The registry reads text, shape and seed first; it does not know this policy.
    body.text().unwrap();
    (0..4).for_each(|_| assert!(body.u64().is_ok()));
    let identity = policy.frame.identity.clone();
    let mut loaded = Agent::<Notes>::decode(&config, identity, &mut body).unwrap();
    body.finish().unwrap();
    for round in 6..=10 {
        assert_eq!(policy.learn(outcome(round)).unwrap(), loaded.learn(outcome(round)).unwrap());
    }
    assert_eq!(loaded.learner().fits, policy.learner().fits);
    assert_eq!(loaded.learner().fits[1], [3.0, 4.0, 5.0, 6.0]);
    assert_eq!(loaded.learner().chances, policy.learner().chances);
    let distinct: std::collections::HashSet<u64> = policy.learner().chances.iter().copied().collect();
    assert_eq!(distinct.len(), 3, "every round of training has its own random stream");
}

#[test]
fn a_reward_that_is_not_finite_is_an_error_that_names_round_and_action() {
    let policy = notes(NotesConfig::default());
    for (feature, found) in [(-1.0, "NaN"), (-2.0, "inf"), (-3.0, "-inf")] {
        let context = [feature];
        let chosen = policy.choose(Request::new(9, &context)).map(|choice| choice.action);
        let sampled = policy.sample_rewards(9, &[&context]).map(|_| 0);
        for error in [chosen.unwrap_err(), sampled.unwrap_err()] {
            assert!(error.is_numeric());
            let expected =
                format!("the drawn reward of action 1 gave {found} in round 9; the policy did not act on it");
            assert_eq!(error.to_string(), expected);
        }
    }
}

#[test]
fn training_that_breaks_down_leaves_the_model_as_it_was() {
    let mut policy = notes(NotesConfig { breaks_in: 2, ..NotesConfig::default() });
    let errors: Vec<u64> = (1..=8).filter(|&round| policy.learn(outcome(round)).is_err()).collect();
    assert_eq!(errors, [6]);
    assert_eq!(policy.learner().fits, [vec![1.0, 2.0, 3.0]]);
    assert_eq!(policy.learner().observed.len(), 8, "the observations themselves are kept");
}

#[test]
fn the_first_of_equal_rewards_wins() {
    assert_eq!(highest(&[1.0, 3.0, 3.0]).unwrap(), 1);
    assert_eq!(highest(&[-1e300, -1e300]).unwrap(), 0);
    assert!(highest(&[1.0, f64::NAN]).is_err());
}

/// Chooses the action of its settings, even if it does not exist, and asks another policy first.
#[derive(Clone, Debug)]
struct Rogue {
    action: usize,
    probability: f64,
    adviser: Arc<dyn Choose>,
}

impl fmt::Debug for dyn Choose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

config! {
    /// Settings of the rogue.
    pub(crate) struct RogueConfig {
        /// The action
        action: u32 = 0, Range::ANY, "test";
        /// The probability that it reports
        probability: f64 = 1.0, Range::ANY, "test";
    }
}

impl Decider for Rogue {
    fn draw(&self, _: &[&[f32]], _: &mut Rng, _: &mut Scratch, _: &mut [f64]) -> Result<(), Breakdown> {
        Ok(())
    }

    fn choose(
        &self,
        request: Request<'_>,
        _: usize,
        _: &mut Rng,
        _: &mut Scratch,
    ) -> Result<Choice, Breakdown> {
        // A decision within a decision, on the same thread.
        self.adviser.choose(request).map_err(|error| Breakdown::new(error.to_string(), 0.0))?;
        Ok(Choice::new(self.action).with_propensity(self.probability))
    }
}

impl Learner for Rogue {
    type Config = RogueConfig;
    type Decider = Self;

    fn plan(_: &RogueConfig) -> Plan {
        Plan::untrained(&AgentConfig::default().initial_pulls(0))
    }

    fn new(config: &RogueConfig, shape: Shape, seed: Seed) -> Self {
        let adviser = crate::configs::LinFullPostConfig::default().build(shape, seed).unwrap().snapshot();
        Self { action: config.action as usize, probability: config.probability, adviser }
    }

    fn decider(&self) -> &Self {
        self
    }

    fn encode(&self, _: &mut Encoder) {}

    fn decode(config: &RogueConfig, shape: Shape, _: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Self::new(config, shape, Seed::new(0)))
    }
}

#[test]
fn choices_that_do_not_exist_are_errors_and_policies_may_ask_each_other() {
    let choose = |config: RogueConfig| {
        let definition = Definition::of::<Rogue>("rogue", "");
        let policy = definition.build(&config, Shape::new(1, 3), Seed::new(0)).unwrap();
        policy.choose(Request::new(50, &[1.0]))
    };
    let config = RogueConfig::default;
    assert_eq!(choose(config().action(2)).unwrap(), Choice::certain(2));
    assert_eq!(choose(config().probability(1.0 + 1e-12)).unwrap(), Choice::certain(0));
    for bad in [config().action(3), config().probability(0.0), config().probability(1.1)] {
        let error = choose(bad.clone()).unwrap_err();
        assert!(
            error.is_policy() && error.to_string().contains("an allowed action from 0 to 2"),
            "{bad:?}: {error}"
        );
    }
}

/// A policy that has observed its actions this often, in this order.
fn warm(config: NotesConfig, observed: [u32; 3]) -> Agent<Notes> {
    let mut policy = notes(config);
    for (action, n) in observed.into_iter().enumerate() {
        (0..n).for_each(|_| _ = policy.learn(Outcome::new(0, &[1.0], action, 1.0)).unwrap());
    }
    policy
}

/// The actions that rounds force; `None` where the model decides.
fn forced(
    policy: &Agent<Notes>,
    rounds: std::ops::Range<u64>,
    allowed: Option<&[bool]>,
) -> Vec<Option<usize>> {
    let choice = |round| {
        let choice = policy.choose(Request { allowed, ..Request::new(round, &[1.0]) }).unwrap();
        (choice.propensity == Propensity::Exact(1.0)).then_some(choice.action)
    };
    rounds.map(choice).collect()
}

#[test]
fn what_was_observed_is_not_forced() {
    let force = |observed, allowed| forced(&warm(NotesConfig::default(), observed), 0..7, allowed);
    assert_eq!(force([2, 2, 2], None), [None; 7]);
    let (zero, one, two) = (Some(0), Some(1), Some(2));
    assert_eq!(force([0, 0, 0], None), [zero, one, two, zero, one, two, None]);
    // The first at or after the round that lacks observations, and from the beginning again.
    assert_eq!(force([2, 1, 0], None), [one, one, two, one, one, two, None]);
    assert_eq!(force([1, 5, 2], None), [zero, zero, zero, zero, zero, zero, None]);
    assert_eq!(force([0, 0, 0], Some(&[false, true, true])), [one, one, two, one, one, two, None]);
    // None of the allowed actions lacks observations.
    assert_eq!(force([0, 2, 2], Some(&[false, true, true])), [None; 7]);
}

#[test]
fn weights_count_as_observations() {
    let mut policy = notes(NotesConfig::default());
    policy.training = None;
    Pulls::count(&mut policy.pulls, &outcome(0).with_weight(1.5), 2);
    assert_eq!(forced(&policy, 0..2, None), [Some(0), Some(1)]);
    Pulls::count(&mut policy.pulls, &outcome(0).with_weight(0.5), 2);
    assert_eq!(forced(&policy, 0..2, None), [Some(1), Some(1)]);
}

/// Over 3000 seeds a share of 1/2 has a standard deviation of 0.0091; five of them occur once in 1.7 million seeds.
#[test]
fn initial_pulls_can_be_drawn_uniformly() {
    let config = NotesConfig::default().agent(AgentConfig::default().initial(InitialOrder::Uniform));
    let policy = warm(config.clone(), [0, 2, 1]);
    let mut probabilities = [0.0; 3];
    policy.distribution(Request::new(1, &[1.0]), &mut probabilities).unwrap();
    assert_eq!(probabilities, [0.5, 0.0, 0.5]);
    let alone = policy.choose(Request::new(1, &[1.0]).allowing(&[true, true, false])).unwrap();
    assert_eq!(alone, Choice::certain(0));
    let spec = Definition::of::<Notes>("notes", "").spec(&config).unwrap();
    let mut n_first = [0.0; 2];
    for seed in 0..3000 {
        let identity = Identity { spec: spec.clone(), shape: Shape::new(1, 3), seed: Seed::new(seed) };
        let mut policy: Agent<Notes> = Agent::new(&config, identity).unwrap();
        policy.pulls = Arc::new(Pulls(vec![0.0, 2.0, 1.0]));
        for (place, request) in
            [Request::new(5, &[1.0]), Request::new(5, &[1.0]).with_propensity()].into_iter().enumerate()
        {
            let choice = policy.choose(request).unwrap();
            assert_eq!(choice.propensity, Propensity::Exact(0.5));
            assert!(choice.action != 1);
            n_first[place] += f64::from(u8::from(choice.action == 0));
        }
    }
    assert!(n_first.iter().all(|n| (n / 3000.0 - 0.5).abs() < 0.046), "{n_first:?}");
}

#[test]
fn a_floor_holds_in_initial_pulls_too() {
    let config = NotesConfig::default().agent(AgentConfig::default().floor(0.3));
    let policy = notes(config);
    let mut probabilities = [0.0; 3];
    policy.distribution(Request::new(1, &[1.0]), &mut probabilities).unwrap();
    let expected = [0.1, 0.8, 0.1];
    assert!(probabilities.iter().zip(expected).all(|(p, expected)| (p - expected).abs() < 1e-12));
    let request = Request::new(1, &[1.0]).allowing(&[true, true, false]);
    policy.distribution(request, &mut probabilities).unwrap();
    let expected = [0.15, 0.85, 0.0];
    assert!(probabilities.iter().zip(expected).all(|(p, expected)| (p - expected).abs() < 1e-12));
    let Propensity::Exact(p) = policy.choose(Request::new(1, &[1.0])).unwrap().propensity else {
        panic!("a floor makes propensities known")
    };
    assert!((p - 0.1).abs() < 1e-12 || (p - 0.8).abs() < 1e-12);
}

/// A batch is 256 requests.
#[test]
fn an_error_in_a_batch_says_which_request_was_at_fault() {
    let policy = notes(NotesConfig::default());
    let requests: Vec<Request<'_>> = (0..600).map(|round| Request::new(100 + round, &[1.0])).collect();
    for place in [0, 255, 256, 599] {
        for (context, is_numeric) in [(&[-1.0_f32][..], true), (&[f32::NAN], false), (&[], false)] {
            for is_asking in [false, true] {
                let mut requests = requests.clone();
                requests[place] = Request { wants_propensity: is_asking, ..Request::new(7, context) };
                let error = policy.choose_many(&requests).unwrap_err();
                assert_eq!(
                    (error.is_numeric(), error.is_invalid_input()),
                    (is_numeric, !is_numeric),
                    "{error}"
                );
                assert!(error.to_string().starts_with(&format!("request {place}: ")), "{error}");
                let mut probabilities = vec![0.0; 3 * requests.len()];
                let error = policy.distribution_many(&requests, &mut probabilities).unwrap_err();
                assert!(error.to_string().starts_with(&format!("request {place}: ")), "{error}");
            }
        }
    }
}

#[test]
fn many_outcomes_are_learned_in_order_and_train_once() {
    let mut policy = notes(NotesConfig::default());
    let outcomes: Vec<Outcome<'_>> = (1..=7).map(outcome).collect();
    let report = policy.learn_many(&outcomes).unwrap();
    // Training fell due after the third and the sixth; it happens after the last, on the last four.
    assert_eq!(report.minibatches, 1);
    assert_eq!(policy.learner.observed, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(policy.learner.fits, [[4.0, 5.0, 6.0, 7.0]]);
    assert_eq!(policy.learn_many(&[outcome(8)]).unwrap(), FitReport::default());
    assert_eq!((policy.n_observed(), policy.last_round()), (8, Some(8)));
    assert_eq!(policy.learn_many(&[]).unwrap(), FitReport::default());
}

#[test]
fn a_learner_that_does_not_add_actions_refuses_with_a_sentence() {
    let mut policy = notes(NotesConfig::default());
    let (before, shape) = (policy.save(), policy.shape());
    let error = policy.add_action().unwrap_err();
    assert!(error.is_unsupported());
    assert_eq!(
        error.to_string(),
        "policy `notes` cannot add actions; build it with as many as there may be, and allow those that exist with `Request::allowing`"
    );
    assert!(before == policy.save() && policy.shape() == shape);
    // Retiring needs nothing of a learner.
    policy.retire_action(1).unwrap();
    assert_eq!(forced(&policy, 0..4, None), [0, 2, 2, 0].map(Some));
    policy.restore_action(1).unwrap();
    assert!(before == policy.save());
}

/// A policy of five actions with two initial pulls; the last of them was added after `last_round`.
fn added(last_round: Option<u64>) -> Box<dyn Policy> {
    let mut policy =
        crate::configs::LinFullPostConfig::default().build(Shape::new(1, 4), Seed::new(3)).unwrap();
    if let Some(round) = last_round {
        (0..4).for_each(|action| {
            let outcomes = [Outcome::new(round, &[1.0], action, 0.0); 2];
            policy.learn_many(&outcomes).unwrap();
        });
    }
    assert_eq!(policy.add_action().unwrap(), 4);
    policy
}

fn is_forced(policy: &dyn Policy, round: u64, expected: usize) -> bool {
    policy.choose(Request::new(round, &[1.0])).unwrap() == Choice::certain(expected)
}

/// Two pulls of five actions are ten rounds: after the highest round learned, or from round 0 where there is none.
#[test]
fn an_added_action_is_forced_until_a_limit_of_its_own() {
    for last_round in [7, 1000] {
        let mut policy = added(Some(last_round));
        let is_due = |policy: &dyn Policy, round| is_forced(policy, round, 4);
        assert!((0..last_round + 10).all(|round| is_due(&*policy, round)));
        assert!(!is_due(&*policy, last_round + 10));
        policy.learn(Outcome::new(last_round + 1, &[1.0], 4, 0.0)).unwrap();
        assert!(is_due(&*policy, last_round + 9) && !is_due(&*policy, last_round + 10));
        policy.learn(Outcome::new(last_round + 2, &[1.0], 4, 0.0)).unwrap();
        assert!(!is_due(&*policy, last_round + 3));
    }
    // Nothing learned: the others are forced in the first eight rounds, as without an addition, and the new one in ten.
    let mut policy = added(None);
    let expected = [0, 1, 2, 3, 4, 0, 1, 2, 4, 4];
    assert!((0..).zip(expected).all(|(round, action)| is_forced(&*policy, round, action)));
    assert!(!is_forced(&*policy, 10, 4));
    // The second added action: twelve rounds more.
    policy.learn(Outcome::new(20, &[1.0], 4, 0.0)).unwrap();
    assert_eq!(policy.add_action().unwrap(), 5);
    assert!((10..32).all(|round| is_forced(&*policy, round, 5)) && !is_forced(&*policy, 32, 5));
    // No round is above all limits of rounds that overflow.
    policy.learn(Outcome::new(u64::MAX, &[1.0], 5, 0.0)).unwrap();
    policy.add_action().unwrap();
    assert!(is_forced(&*policy, u64::MAX - 1, 6) && !is_forced(&*policy, u64::MAX, 6));
}

/// Format 1 did not store rounds: the number of outcomes stands in for the highest of them.
#[test]
fn an_action_is_added_even_if_no_round_is_known() {
    let config = NotesConfig::default();
    let identity = notes(config.clone()).frame.identity.clone();
    let frame = Frame::new(identity, Plan::untrained(&config.agent));
    let mut limits = frame.limits;
    limits.add(60, 2);
    assert_eq!((limits.of(2), limits.of(3), limits.highest()), (6, 68, 68));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved/format-1-lin-full-post.locus");
    let mut policy = crate::load(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!((policy.n_observed(), policy.last_round()), (30, None));
    let context = [0.5; 12];
    let action = policy.add_action().unwrap();
    let is_due = |round| policy.choose(Request::new(round, &context)).unwrap() == Choice::certain(action);
    assert!((30..40).all(is_due) && !is_due(40));
}

/// Damaged lists of added and retired actions, with a correct checksum.
#[test]
fn impossible_limits_and_masks_are_refused() {
    let body = |numbers: &[u64]| {
        let mut encoder = Encoder::default();
        numbers.iter().for_each(|number| encoder.u64(*number));
        encoder.into_bytes()
    };
    let limits = |numbers: &[u64]| Limits::decode(3, 2, &mut Decoder::new(&body(numbers)));
    assert_eq!(limits(&[2, 9, 70]).unwrap().highest(), 70);
    for numbers in [&[3, 1, 2, 3][..], &[u64::MAX], &[2, 9], &[]] {
        assert!(limits(numbers).is_err_and(|error| error.is_invalid_file()), "{numbers:?}");
    }
    let retired = |numbers: &[u64]| Retired::decode(3, &mut Decoder::new(&body(numbers)));
    assert_eq!(retired(&[2, 0, 2]).unwrap().actions(), [0, 2]);
    assert!(retired(&[0]).unwrap().actions().is_empty());
    for numbers in [&[1, 3][..], &[2, 1, 1], &[2, 1, 0], &[4, 0, 1, 2, 3], &[2, 0], &[u64::MAX], &[]] {
        assert!(retired(numbers).is_err_and(|error| error.is_invalid_file()), "{numbers:?}");
    }
}
