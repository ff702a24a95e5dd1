//! The policy around any learner: initial pulls, replay, training schedule, snapshots and saving, written once.
//!
//! With the default rule of [`Decider::choose`] this is Algorithm 1 of the paper, Thompson sampling.

use std::fmt;
use std::sync::Arc;

use super::actions::{Limits, Retired};
use super::learner::{Breakdown, Decider, Learner, pick};
use super::plan::{Plan, Training};
use super::{Choose, FitReport, NUMBERED, Policy, Replay, Scratch, WeightDraws, check_length, check_reward};
use crate::error::Kind;
use crate::registry::save::{self, Decoder, Encoder};
use crate::registry::settings::InitialOrder;
use crate::registry::{Identity, begin_save, described_policies};
use crate::{Choice, Error, Outcome, Propensity, Request, Rng, Seed, Shape};

mod described;

/// A policy that decides and learns by a [`Learner`].
#[derive(Clone)]
pub(crate) struct Agent<L: Learner> {
    frame: Arc<Frame>,
    learner: L,
    training: Option<Trained>,
    n_observed: u64,
    last_round: LastRound,
    /// What the caller set; the highest round learned may be above it.
    next_round: u64,
    pulls: Arc<Pulls>,
    /// Only if actions have features.
    draws: Option<Arc<WeightDraws>>,
    /// Rows `[x, f_a]` of the outcomes that are being learned.
    joint: Vec<f32>,
}

/// The training of a policy: its schedule, its replay, and when it is due.
#[derive(Clone)]
struct Trained {
    training: Training,
    replay: Replay,
    /// The number of outcomes after which training is due.
    due_after: u64,
}

/// The highest round among the outcomes learned.
#[derive(Clone, Copy, Debug)]
enum LastRound {
    /// Nothing was learned.
    None,
    Known(u64),
    /// Outcomes were learned before the policy was saved in format 1, which did not store their rounds.
    Unknown,
}

/// Everything that deciding needs besides the model and the counts; learning does not change it.
#[derive(Clone)]
struct Frame {
    identity: Identity,
    name: String,
    plan: Plan,
    limits: Limits,
    retired: Retired,
}

/// A frozen decider.
struct Snapshot<D> {
    frame: Arc<Frame>,
    decider: D,
    pulls: Arc<Pulls>,
    draws: Option<Arc<WeightDraws>>,
}

/// How often each action was observed, by weight, up to the number of initial pulls.
#[derive(Clone, Debug)]
struct Pulls(Vec<f64>);

impl Pulls {
    /// Counts an outcome. Writes nothing, and so copies nothing, once the action has all its initial pulls.
    fn count(pulls: &mut Arc<Self>, outcome: &Outcome<'_>, initial_pulls: u32) {
        let most = f64::from(initial_pulls);
        if pulls.0[outcome.action] < most {
            let n = &mut Arc::make_mut(pulls).0[outcome.action];
            *n = (*n + outcome.weight).min(most);
        }
    }
}

impl LastRound {
    fn encode(self, encoder: &mut Encoder) {
        let (kind, round) = match self {
            Self::None => (0, 0),
            Self::Known(round) => (1, round),
            Self::Unknown => (2, 0),
        };
        encoder.u64(kind);
        encoder.u64(round);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        match (decoder.u64()?, decoder.u64()?) {
            (0, 0) => Ok(Self::None),
            (1, round) => Ok(Self::Known(round)),
            (2, 0) => Ok(Self::Unknown),
            (kind, _) => Err(decoder.damaged(format!("its highest round is of kind {kind}"))),
        }
    }
}

impl<L: Learner> Agent<L> {
    pub(crate) fn new(config: &L::Config, identity: Identity) -> Result<Self, Error> {
        identity.shape.check()?;
        check_support::<L>(&identity)?;
        let shape = identity.shape.of_learner();
        let plan = Self::checked_plan(config, shape, &identity)?;
        let learner = L::new(config, shape, identity.seed);
        let training = plan.training.clone().map(|training| {
            let keep = training.keep(&plan.agent, identity.seed);
            let (replay, due_after) =
                (Replay::keeping(shape.n_features, keep), training.next_after(0, &plan.agent));
            Trained { training, replay, due_after }
        });
        let pulls = Arc::new(Pulls(vec![0.0; identity.shape.n_actions]));
        let draws = begin_draws(&identity, &plan, 0);
        Ok(Self {
            frame: Arc::new(Frame::new(identity, plan)),
            learner,
            training,
            n_observed: 0,
            last_round: LastRound::None,
            next_round: 0,
            pulls,
            draws,
            joint: Vec::new(),
        })
    }

    /// The plan of a learner whose settings are compatible.
    fn checked_plan(config: &L::Config, shape: Shape, identity: &Identity) -> Result<Plan, Error> {
        let plan = L::plan(config);
        let checked = L::check(config, shape).and_then(|()| match plan.agent.half_life.0 {
            Some(half_life) if !L::FORGETS => {
                Err(Error::invalid_setting("half_life", half_life, "off: this policy cannot forget"))
            }
            _ => Ok(()),
        });
        checked.map_err(|error| error.of_policy(identity.spec.id()))?;
        Ok(plan)
    }

    /// The learner, for tests.
    #[cfg(test)]
    pub(crate) fn learner(&self) -> &L {
        &self.learner
    }

    pub(crate) fn boxed(config: &L::Config, identity: Identity) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(Self::new(config, identity)?))
    }

    pub(crate) fn load(
        config: &L::Config,
        identity: Identity,
        body: &mut Decoder<'_>,
    ) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(Self::decode(config, identity, body)?))
    }

    fn decode(config: &L::Config, identity: Identity, body: &mut Decoder<'_>) -> Result<Self, Error> {
        let (shape, learner_shape) = (identity.shape, identity.shape.of_learner());
        check_support::<L>(&identity).map_err(|error| body.damaged(error.to_string()))?;
        let plan = Self::checked_plan(config, learner_shape, &identity)?;
        // In format 1, `uniform` had no numbers of its own.
        let n_observed = if body.format() == 1 && body.remaining() == 0 { 0 } else { body.u64()? };
        // Without counts, rounds alone end the initial pulls, as when format 1 was written.
        let mut last_round = if n_observed == 0 { LastRound::None } else { LastRound::Unknown };
        let mut next_round = 0;
        let mut pulls = Vec::new();
        let (mut limits, mut retired) = (None, Retired::default());
        if body.format() > 1 {
            last_round = LastRound::decode(body)?;
            if body.format() > 2 {
                next_round = body.u64()?;
            }
            if body.remaining() / size_of::<f64>() < shape.n_actions {
                return Err(body.damaged("its counts of actions are cut short"));
            }
            pulls.resize(shape.n_actions, 0.0);
            body.f64s(&mut pulls)?;
            let possible = 0.0..=f64::from(plan.agent.initial_pulls);
            if let Some(found) = pulls.iter().find(|n| !possible.contains(n)) {
                return Err(body.damaged(format!("an action was observed {found} times")));
            }
            limits = Some(Limits::decode(shape.n_actions, plan.agent.initial_pulls, body)?);
            retired = Retired::decode(shape.n_actions, body)?;
        }
        let learner = L::decode(config, learner_shape, body)?;
        let training = match plan.training.clone() {
            Some(training) => {
                let due_after = match body.format() > 3 {
                    true => body.u64()?,
                    false => training.next_after(n_observed, &plan.agent),
                };
                let keep = training.keep(&plan.agent, identity.seed);
                let replay = Replay::decode(learner_shape.without_action_features(), keep, n_observed, body)?;
                Some(Trained { training, replay, due_after })
            }
            None => None,
        };
        pulls.resize(shape.n_actions, 0.0);
        let frame = Frame::new(identity, plan);
        let limits = limits.unwrap_or(frame.limits);
        let frame = Arc::new(Frame { limits, retired, ..frame });
        let pulls = Arc::new(Pulls(pulls));
        let draws = begin_draws(&frame.identity, &frame.plan, n_observed);
        let joint = Vec::new();
        Ok(Self { frame, learner, training, n_observed, last_round, next_round, pulls, draws, joint })
    }

    /// Fails if actions are described by features: then a policy knows none by its number.
    fn check_numbered(&self) -> Result<(), Error> {
        match self.shape().is_described() {
            true => Err(Kind::Unsupported { policy: self.frame.name.clone(), what: NUMBERED }.into()),
            false => Ok(()),
        }
    }

    /// Retires or restores an action.
    fn set_retired(&mut self, action: usize, is_retired: bool) -> Result<(), Error> {
        self.check_numbered()?;
        let n_actions = self.shape().n_actions;
        if action >= n_actions {
            return Err(Kind::ActionOutOfRange { found: action, n_actions }.into());
        }
        if self.frame.retired.contains(action) != is_retired {
            Arc::make_mut(&mut self.frame).retired.set(action, n_actions, is_retired);
        }
        Ok(())
    }

    /// Fails unless this policy can learn from an outcome.
    fn check_outcome(&self, outcome: &Outcome<'_>) -> Result<(), Error> {
        outcome.check(self.shape())?;
        if outcome.weight != 1.0 && !L::HEEDS_WEIGHTS {
            return Err(Kind::NoWeights { policy: self.frame.name.clone(), found: outcome.weight }.into());
        }
        Ok(())
    }

    /// Calls `observe` with the outcomes as the learner sees them, and counts them.
    fn observe(&mut self, outcomes: &[Outcome<'_>], observe: impl FnOnce(&mut L, &[Outcome<'_>])) {
        let take_in = |policy: &mut Self, outcomes: &[Outcome<'_>]| {
            observe(&mut policy.learner, outcomes);
            outcomes.iter().for_each(|outcome| policy.count(outcome));
        };
        if self.draws.is_none() {
            return take_in(self, outcomes);
        }
        let mut joint = std::mem::take(&mut self.joint);
        described::with_joint(outcomes, &mut joint, |outcomes| take_in(self, outcomes));
        self.joint = joint;
        WeightDraws::renew(&mut self.draws, self.n_observed);
    }

    /// Counts an outcome that the learner observed, and stores it for training.
    fn count(&mut self, outcome: &Outcome<'_>) {
        self.n_observed = self.n_observed.saturating_add(1);
        self.last_round = match self.last_round {
            LastRound::None => LastRound::Known(outcome.round),
            LastRound::Known(round) => LastRound::Known(round.max(outcome.round)),
            LastRound::Unknown => LastRound::Unknown,
        };
        if self.draws.is_none() {
            Pulls::count(&mut self.pulls, outcome, self.frame.plan.agent.initial_pulls);
        }
        let Some(Trained { replay, .. }) = &mut self.training else { return };
        replay.push(outcome);
    }

    /// Trains if it is due and the policy trains by itself.
    fn train_by_itself(&mut self, round: u64) -> Result<FitReport, Error> {
        match &self.training {
            Some(Trained { training, .. }) if !training.is_manual() => self.train_when_due(round),
            _ => Ok(FitReport::default()),
        }
    }

    /// Trains if it is due, and reverts the training if it diverges.
    fn train_when_due(&mut self, round: u64) -> Result<FitReport, Error> {
        let Some(Trained { training, replay, due_after }) = &mut self.training else {
            return Ok(FitReport::default());
        };
        if self.n_observed < *due_after {
            return Ok(FitReport::default());
        }
        *due_after = training.next_after(self.n_observed, &self.frame.plan.agent);
        WeightDraws::renew(&mut self.draws, self.n_observed);
        let untrained = self.learner.clone();
        let mut rng = self.frame.identity.seed.stream("fit", self.n_observed);
        let report = self.learner.fit(replay, &mut rng).map_err(|breakdown| {
            self.learner = untrained;
            let Breakdown { place, found } = breakdown;
            Error::from(Kind::Diverged { place, found, round })
        })?;
        replay.note_fit();
        Ok(report)
    }
}

/// Fails unless the learner's decider supports the shape.
fn check_support<L: Learner>(identity: &Identity) -> Result<(), Error> {
    if !identity.shape.is_described() || L::Decider::HEEDS_CANDIDATES {
        return Ok(());
    }
    let policy = identity.spec.to_string();
    Err(Kind::NotDescribed { policy, known: described_policies() }.into())
}

/// Samples of weights that are still to be drawn, if actions have features.
fn begin_draws(identity: &Identity, plan: &Plan, n_observed: u64) -> Option<Arc<WeightDraws>> {
    let draws = || Arc::new(WeightDraws::new(identity.seed, n_observed, plan.propensity_draws));
    identity.shape.is_described().then(draws)
}

impl<L: Learner> fmt::Debug for Agent<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Agent({}, {} outcomes)", self.frame.name, self.n_observed)
    }
}

impl Frame {
    /// Without added or retired actions.
    fn new(identity: Identity, plan: Plan) -> Self {
        let name = identity.spec.to_string();
        let limits = Limits::new(identity.shape.n_actions, plan.agent.initial_pulls);
        Self { identity, name, plan, limits, retired: Retired::default() }
    }

    fn shape(&self) -> Shape {
        self.identity.shape
    }

    /// The random stream of a decision.
    fn rng(&self, round: u64) -> Rng {
        self.identity.seed.stream("choose", round)
    }

    /// Whether the action is sampled from the probabilities of all actions rather than chosen by the model directly.
    fn is_by_distribution<D: Decider>(&self, request: &Request<'_>) -> bool {
        (request.wants_propensity && !D::KNOWS_PROPENSITIES) || self.plan.agent.floor > 0.0
    }

    /// The allowed actions that still have to be tried, if there are any.
    fn forced<'a>(
        &'a self,
        pulls: &'a Pulls,
        request: &'a Request<'_>,
    ) -> Option<impl Iterator<Item = usize> + Clone + 'a> {
        let (round, limits) = (request.round, &self.limits);
        // Past all limits no action is looked at.
        if round >= limits.highest() {
            return None;
        }
        let (initial_pulls, n_actions) = (f64::from(self.plan.agent.initial_pulls), self.shape().n_actions);
        let first = (round % n_actions as u64) as usize;
        let forced = (first..n_actions).chain(0..first).filter(move |&action| {
            pulls.0[action] < initial_pulls && round < limits.of(action) && request.allows(action)
        });
        forced.clone().next().is_some().then_some(forced)
    }

    /// Fails unless the policy can decide for the request.
    fn check(&self, request: &Request<'_>) -> Result<(), Error> {
        request.check(self.shape())?;
        self.retired.check(request)
    }

    fn choose<D: Decider>(&self, decider: &D, pulls: &Pulls, request: Request<'_>) -> Result<Choice, Error> {
        self.check(&request)?;
        self.retired.restrict(request, |request| self.choose_available(decider, pulls, request))
    }

    /// Decides for a checked request that allows no retired action.
    fn choose_available<D: Decider>(
        &self,
        decider: &D,
        pulls: &Pulls,
        request: Request<'_>,
    ) -> Result<Choice, Error> {
        if self.is_by_distribution::<D>(&request) {
            return Scratch::with(|scratch| {
                scratch.with_probabilities(self.shape().n_actions, |probabilities, scratch| {
                    let mut rng = self.rng(request.round);
                    self.fill(decider, pulls, request, &mut rng, scratch, probabilities)?;
                    Ok(pick(probabilities, rng.uniform()))
                })
            });
        }
        if let Some(choice) = self.initial(pulls, &request) {
            return Ok(choice);
        }
        let (n_actions, mut rng) = (self.shape().n_actions, self.rng(request.round));
        let choice = Scratch::with(|scratch| decider.choose(request, n_actions, &mut rng, scratch))
            .map_err(|breakdown| in_round(breakdown, request.round))?;
        self.checked::<D>(choice, &request)
    }

    /// The choice of an initial pull, if one is due.
    fn initial(&self, pulls: &Pulls, request: &Request<'_>) -> Option<Choice> {
        let mut forced = self.forced(pulls, request)?;
        match self.plan.agent.initial {
            InitialOrder::RoundRobin => forced.next().map(Choice::certain),
            InitialOrder::Uniform => {
                let n = forced.clone().count();
                let action = forced.nth(self.rng(request.round).below(n))?;
                Some(Choice::new(action).with_propensity(1.0 / n as f64))
            }
        }
    }

    /// Fails if a decider made an invalid choice.
    fn checked<D: Decider>(&self, choice: Choice, request: &Request<'_>) -> Result<Choice, Error> {
        let n_actions = request.n_actions(self.shape());
        let is_possible = match choice.propensity {
            Propensity::Exact(probability) => probability > 0.0 && probability <= 1.0 + 1e-9,
            Propensity::Unknown => !D::KNOWS_PROPENSITIES,
        };
        if choice.action < n_actions && request.allows(choice.action) && is_possible {
            // A sum of probabilities may exceed 1 by rounding.
            return Ok(match choice.propensity {
                Propensity::Exact(probability) if probability > 1.0 => choice.with_propensity(1.0),
                _ => choice,
            });
        }
        let Choice { action, propensity } = choice;
        Err(Kind::InvalidChoice { policy: self.name.clone(), action, propensity, n_actions }.into())
    }

    /// Computes the probabilities of a checked request that allows no retired action.
    fn fill(
        &self,
        decider: &impl Decider,
        pulls: &Pulls,
        request: Request<'_>,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Error> {
        if !self.fill_initial(pulls, &request, probabilities) {
            let n_draws = self.plan.propensity_draws;
            decider
                .distribution(request, n_draws, rng, scratch, probabilities)
                .map_err(|breakdown| in_round(breakdown, request.round))?;
            self.check_distribution(&request, probabilities)?;
        }
        self.mix_floor(&request, probabilities);
        Ok(())
    }

    /// The probabilities of an initial pull, without the floor; false if none is due.
    fn fill_initial(&self, pulls: &Pulls, request: &Request<'_>, probabilities: &mut [f64]) -> bool {
        let Some(forced) = self.forced(pulls, request) else { return false };
        probabilities.fill(0.0);
        let n = match self.plan.agent.initial {
            InitialOrder::RoundRobin => 1,
            InitialOrder::Uniform => forced.clone().count(),
        };
        forced.take(n).for_each(|action| probabilities[action] = 1.0 / n as f64);
        true
    }

    /// Fails unless a decider's probabilities are valid.
    fn check_distribution(&self, request: &Request<'_>, probabilities: &[f64]) -> Result<(), Error> {
        let total: f64 = probabilities.iter().sum();
        let is_possible = |action: usize| {
            let probability = probabilities[action];
            (probability == 0.0 || request.allows(action)) && (0.0..=1.0 + 1e-9).contains(&probability)
        };
        let wrong = (0..probabilities.len()).find(|&action| !is_possible(action));
        if wrong.is_none() && (total - 1.0).abs() < 1e-6 {
            return Ok(());
        }
        let (policy, action) = (self.name.clone(), wrong.unwrap_or(0));
        Err(Kind::InvalidDistribution { policy, action, found: probabilities[action], total }.into())
    }

    /// Spreads the floor evenly over the allowed actions.
    fn mix_floor(&self, request: &Request<'_>, probabilities: &mut [f64]) {
        let floor = self.plan.agent.floor;
        if floor == 0.0 {
            return;
        }
        let share = floor / request.n_allowed(probabilities.len()) as f64;
        for (action, probability) in probabilities.iter_mut().enumerate() {
            if request.allows(action) {
                *probability = share + (1.0 - floor) * *probability;
            }
        }
    }

    fn distribution(
        &self,
        decider: &impl Decider,
        pulls: &Pulls,
        request: Request<'_>,
        probabilities: &mut [f64],
    ) -> Result<(), Error> {
        self.check(&request)?;
        check_length("probabilities", probabilities.len(), self.shape().n_actions)?;
        let mut rng = self.rng(request.round);
        self.retired.restrict(request, |request| {
            Scratch::with(|scratch| self.fill(decider, pulls, request, &mut rng, scratch, probabilities))
        })
    }

    fn choose_into(
        &self,
        decider: &impl Decider,
        pulls: &Pulls,
        requests: &[Request<'_>],
        choices: &mut [Choice],
    ) -> Result<(), Error> {
        check_length("choices", choices.len(), requests.len())?;
        self.check_all(requests)?;
        let lot_len = lot_len(self.shape().n_actions);
        let lots = requests.chunks(lot_len).zip(choices.chunks_mut(lot_len));
        for (lot, (requests, choices)) in lots.enumerate() {
            self.retired
                .restrict_many(requests, |requests| self.choose_lot(decider, pulls, requests, choices))
                .map_err(|(index, error)| error.of_request(lot * lot_len + index))?;
        }
        Ok(())
    }

    /// Decides for checked requests that allow no retired action. Fails with the index of the request that failed.
    fn choose_lot<D: Decider>(
        &self,
        decider: &D,
        pulls: &Pulls,
        requests: &[Request<'_>],
        choices: &mut [Choice],
    ) -> Result<(), (usize, Error)> {
        // Requests that the model decides, and requests whose action is sampled from probabilities.
        let (mut by_model, mut by_distribution) = (Batch::default(), Batch::default());
        for (index, request) in requests.iter().enumerate() {
            if self.forced(pulls, request).is_some() {
                let choice = self.choose_available(decider, pulls, *request);
                choices[index] = choice.map_err(|error| (index, error))?;
            } else if self.is_by_distribution::<D>(request) {
                by_distribution.push(index, *request, self.rng(request.round));
            } else {
                by_model.push(index, *request, self.rng(request.round));
            }
        }
        let n_actions = self.shape().n_actions;
        if !by_model.requests.is_empty() {
            let Batch { indices, requests, rngs } = &mut by_model;
            let mut chosen = vec![Choice::new(0); requests.len()];
            Scratch::with(|scratch| decider.choose_many(requests, n_actions, rngs, scratch, &mut chosen))
                .map_err(|(place, breakdown)| (indices[place], in_round(breakdown, requests[place].round)))?;
            for ((choice, request), &index) in chosen.into_iter().zip(requests).zip(&*indices) {
                choices[index] = self.checked::<D>(choice, request).map_err(|error| (index, error))?;
            }
        }
        if !by_distribution.requests.is_empty() {
            let probabilities = self.distribution_of_batch(decider, &mut by_distribution)?;
            let Batch { indices, rngs, .. } = &mut by_distribution;
            let decided = indices.iter().zip(rngs).zip(probabilities.chunks_exact(n_actions));
            for ((&index, rng), probabilities) in decided {
                choices[index] = pick(probabilities, rng.uniform());
            }
        }
        Ok(())
    }

    fn distribution_many(
        &self,
        decider: &impl Decider,
        pulls: &Pulls,
        requests: &[Request<'_>],
        probabilities: &mut [f64],
    ) -> Result<(), Error> {
        let n_actions = self.shape().n_actions;
        check_length("probabilities", probabilities.len(), requests.len() * n_actions)?;
        self.check_all(requests)?;
        let lot_len = lot_len(n_actions);
        let lots = requests.chunks(lot_len).zip(probabilities.chunks_mut(lot_len * n_actions));
        for (lot, (requests, probabilities)) in lots.enumerate() {
            self.retired
                .restrict_many(requests, |requests| {
                    self.distribution_of_lot(decider, pulls, requests, probabilities)
                })
                .map_err(|(index, error)| error.of_request(lot * lot_len + index))?;
        }
        Ok(())
    }

    /// Computes the probabilities of checked requests that allow no retired action, row-major. Fails with the index of the request
    /// that failed.
    fn distribution_of_lot(
        &self,
        decider: &impl Decider,
        pulls: &Pulls,
        requests: &[Request<'_>],
        probabilities: &mut [f64],
    ) -> Result<(), (usize, Error)> {
        let n_actions = self.shape().n_actions;
        let mut by_model = Batch::default();
        for (index, request) in requests.iter().enumerate() {
            let probabilities = &mut probabilities[index * n_actions..][..n_actions];
            if self.fill_initial(pulls, request, probabilities) {
                self.mix_floor(request, probabilities);
            } else {
                by_model.push(index, *request, self.rng(request.round));
            }
        }
        if by_model.requests.is_empty() {
            return Ok(());
        }
        let found = self.distribution_of_batch(decider, &mut by_model)?;
        for (&index, found) in by_model.indices.iter().zip(found.chunks_exact(n_actions)) {
            probabilities[index * n_actions..][..n_actions].copy_from_slice(found);
        }
        Ok(())
    }

    fn check_all(&self, requests: &[Request<'_>]) -> Result<(), Error> {
        for (index, request) in requests.iter().enumerate() {
            self.check(request).map_err(|error| error.of_request(index))?;
        }
        Ok(())
    }

    /// The probabilities of requests that the model decides, row-major. Fails with the index of the request that failed.
    fn distribution_of_batch(
        &self,
        decider: &impl Decider,
        batch: &mut Batch<'_>,
    ) -> Result<Vec<f64>, (usize, Error)> {
        let Batch { indices, requests, rngs } = batch;
        let (n_actions, n_draws) = (self.shape().n_actions, self.plan.propensity_draws);
        let mut probabilities = vec![0.0; requests.len() * n_actions];
        Scratch::with(|scratch| {
            decider.distribution_many(requests, n_draws, rngs, scratch, &mut probabilities)
        })
        .map_err(|(place, breakdown)| (indices[place], in_round(breakdown, requests[place].round)))?;
        let found = probabilities.chunks_exact_mut(n_actions).zip(&*requests).zip(&*indices);
        for ((probabilities, request), &index) in found {
            self.check_distribution(request, probabilities).map_err(|error| (index, error))?;
            self.mix_floor(request, probabilities);
        }
        Ok(probabilities)
    }

    fn sample_rewards<D: Decider>(
        &self,
        decider: &D,
        round: u64,
        contexts: &[&[f32]],
    ) -> Result<Vec<f64>, Error> {
        if !D::HAS_REWARDS {
            return Err(Kind::NoRewards { policy: self.name.clone() }.into());
        }
        contexts.iter().try_for_each(|context| self.shape().check_context(context))?;
        let n_actions = self.shape().n_actions;
        let mut rewards = vec![0.0; contexts.len() * n_actions];
        if contexts.is_empty() {
            return Ok(rewards);
        }
        let mut rng = self.identity.seed.stream("sample", round);
        Scratch::with(|scratch| decider.draw(contexts, &mut rng, scratch, &mut rewards))
            .and_then(|()| {
                let drawn = rewards.iter().enumerate();
                { drawn }.try_for_each(|(place, &reward)| check_reward(place % n_actions, reward))
            })
            .map_err(|breakdown| in_round(breakdown, round))?;
        Ok(rewards)
    }
}

/// The largest batch that a decider gets: smaller for many actions, so that its intermediate results stay small.
const BATCH: usize = 256;

fn lot_len(n_actions: usize) -> usize {
    ((1 << 17) / n_actions).clamp(1, BATCH)
}

/// Requests that are decided together, their original indices, and the random stream of each.
#[derive(Default)]
struct Batch<'a> {
    indices: Vec<usize>,
    requests: Vec<Request<'a>>,
    rngs: Vec<Rng>,
}

impl<'a> Batch<'a> {
    fn push(&mut self, index: usize, request: Request<'a>, rng: Rng) {
        if self.rngs.is_empty() {
            // Generators are large, so the list reserves its capacity rather than moving them as it grows.
            self.rngs.reserve(BATCH);
        }
        self.indices.push(index);
        self.requests.push(request);
        self.rngs.push(rng);
    }
}

fn in_round(Breakdown { place, found }: Breakdown, round: u64) -> Error {
    Kind::Numeric { place, found, round }.into()
}

/// The policy and its snapshots decide through the same code.
macro_rules! choose_by_frame {
    () => {
        fn name(&self) -> &str {
            &self.frame.name
        }

        fn shape(&self) -> Shape {
            self.frame.shape()
        }

        fn choose(&self, request: Request<'_>) -> Result<Choice, Error> {
            match &self.draws {
                None => self.frame.choose(self.decider(), &self.pulls, request),
                Some(draws) => self.frame.choose_candidate(self.decider(), draws, request),
            }
        }

        fn distribution(&self, request: Request<'_>, probabilities: &mut [f64]) -> Result<(), Error> {
            let decider = self.decider();
            match &self.draws {
                None => self.frame.distribution(decider, &self.pulls, request, probabilities),
                Some(draws) => self.frame.distribution_of_candidates(decider, draws, request, probabilities),
            }
        }

        fn choose_into(&self, requests: &[Request<'_>], choices: &mut [Choice]) -> Result<(), Error> {
            match &self.draws {
                None => self.frame.choose_into(self.decider(), &self.pulls, requests, choices),
                Some(draws) => self.frame.choose_candidates(self.decider(), draws, requests, choices),
            }
        }

        fn distribution_many(
            &self,
            requests: &[Request<'_>],
            probabilities: &mut [f64],
        ) -> Result<(), Error> {
            let decider = self.decider();
            match &self.draws {
                None => self.frame.distribution_many(decider, &self.pulls, requests, probabilities),
                Some(draws) => {
                    self.frame.distributions_of_candidates(decider, draws, requests, probabilities)
                }
            }
        }

        fn sample_rewards(&self, round: u64, contexts: &[&[f32]]) -> Result<Vec<f64>, Error> {
            match &self.draws {
                None => self.frame.sample_rewards(self.decider(), round, contexts),
                Some(_) => self.frame.sample_rows(self.decider(), round, contexts),
            }
        }
    };
}

impl<D: Decider> Snapshot<D> {
    fn decider(&self) -> &D {
        &self.decider
    }
}

impl<D: Decider> Choose for Snapshot<D> {
    choose_by_frame!();
}

impl<L: Learner> Agent<L> {
    fn decider(&self) -> &L::Decider {
        self.learner.decider()
    }
}

impl<L: Learner> Choose for Agent<L> {
    choose_by_frame!();
}

impl<L: Learner> Policy for Agent<L> {
    fn learn(&mut self, outcome: Outcome<'_>) -> Result<FitReport, Error> {
        self.check_outcome(&outcome)?;
        self.observe(&[outcome], |learner, outcomes| learner.observe(&outcomes[0]));
        self.train_by_itself(outcome.round)
    }

    fn learn_many(&mut self, outcomes: &[Outcome<'_>]) -> Result<FitReport, Error> {
        for (index, outcome) in outcomes.iter().enumerate() {
            self.check_outcome(outcome).map_err(|error| error.of_outcome(index))?;
        }
        self.observe(outcomes, L::observe_many);
        match outcomes.last() {
            Some(last) => self.train_by_itself(last.round),
            None => Ok(FitReport::default()),
        }
    }

    fn train(&mut self) -> Result<FitReport, Error> {
        self.train_when_due(self.last_round().unwrap_or(0))
    }

    fn seed(&self) -> Seed {
        self.frame.identity.seed
    }

    fn n_observed(&self) -> u64 {
        self.n_observed
    }

    fn last_round(&self) -> Option<u64> {
        match self.last_round {
            LastRound::Known(round) => Some(round),
            LastRound::None | LastRound::Unknown => None,
        }
    }

    fn next_round(&self) -> u64 {
        let learned = match self.last_round {
            LastRound::None => 0,
            LastRound::Known(round) => round.saturating_add(1),
            // Whoever counts decisions has counted at least those that were learned.
            LastRound::Unknown => self.n_observed,
        };
        learned.max(self.next_round)
    }

    fn set_next_round(&mut self, round: u64) {
        self.next_round = self.next_round.max(round);
    }

    fn add_action(&mut self) -> Result<usize, Error> {
        let action = self.shape().n_actions;
        let shape = Shape { n_actions: action + 1, ..self.shape() };
        self.check_numbered()?;
        shape.check()?;
        let Identity { spec, seed, .. } = &self.frame.identity;
        let (config, mut rng) = (spec.config::<L::Config>(), seed.stream("add-action", action as u64));
        L::check(config, shape)
            .and_then(|()| self.learner.add_action(config, shape, &mut rng))
            .map_err(|error| error.of_policy(spec.id()))?;
        let highest_round = match self.last_round {
            LastRound::None => 0,
            LastRound::Known(round) => round,
            // Whoever counts decisions has counted at least those that were learned.
            LastRound::Unknown => self.n_observed,
        };
        let frame = Arc::make_mut(&mut self.frame);
        frame.identity.shape = shape;
        frame.limits.add(highest_round, frame.plan.agent.initial_pulls);
        frame.retired.add();
        Arc::make_mut(&mut self.pulls).0.push(0.0);
        Ok(action)
    }

    fn retire_action(&mut self, action: usize) -> Result<(), Error> {
        self.set_retired(action, true)
    }

    fn restore_action(&mut self, action: usize) -> Result<(), Error> {
        self.set_retired(action, false)
    }

    fn retired_actions(&self) -> Vec<usize> {
        self.frame.retired.actions()
    }

    fn snapshot(&self) -> Arc<dyn Choose> {
        let (frame, pulls) = (Arc::clone(&self.frame), Arc::clone(&self.pulls));
        let (decider, draws) = (self.learner.decider().clone(), self.draws.clone());
        Arc::new(Snapshot { frame, decider, pulls, draws })
    }

    fn save(&self) -> Vec<u8> {
        let mut body = begin_save(&self.frame.identity);
        body.u64(self.n_observed);
        self.last_round.encode(&mut body);
        body.u64(self.next_round);
        body.f64s(&self.pulls.0);
        self.frame.limits.encode(&mut body);
        self.frame.retired.encode(&mut body);
        self.learner.encode(&mut body);
        if let Some(Trained { replay, due_after, .. }) = &self.training {
            body.u64(*due_after);
            replay.encode(&mut body);
        }
        save::seal(body)
    }
}

#[cfg(test)]
mod tests;
