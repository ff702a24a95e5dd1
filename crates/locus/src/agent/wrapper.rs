//! The policy around any learner: initial pulls, replay, training schedule, snapshots and saving, written once.
//!
//! With the default rule of [`Decider::choose`] this is Algorithm 1 of the paper, Thompson sampling.

use std::fmt;
use std::sync::Arc;

use super::learner::{Breakdown, Decider, Learner, pick};
use super::plan::{Plan, Training};
use super::{Choose, FitReport, Policy, Replay, Scratch, check_length, check_reward};
use crate::error::Kind;
use crate::registry::save::{self, Decoder};
use crate::registry::settings::InitialOrder;
use crate::registry::{Identity, begin_save};
use crate::{Choice, Error, Outcome, Propensity, Request, Rng, Shape};

/// A policy that decides and learns by a [`Learner`].
#[derive(Clone)]
pub(crate) struct Agent<L: Learner> {
    frame: Arc<Frame>,
    learner: L,
    training: Option<(Training, Replay)>,
    n_observed: u64,
    last_round: Option<u64>,
    pulls: Arc<Pulls>,
}

/// What never changes about a policy.
struct Frame {
    identity: Identity,
    name: String,
    plan: Plan,
}

/// What decides, frozen.
struct Snapshot<D> {
    frame: Arc<Frame>,
    decider: D,
    pulls: Arc<Pulls>,
}

/// How often each action was observed, by weight, as far as the initial pulls need to know.
#[derive(Clone, Debug)]
struct Pulls(Vec<f64>);

impl Pulls {
    /// Counts an outcome. Nothing is written, and so nothing copied, once the action has all its initial pulls.
    fn count(pulls: &mut Arc<Self>, outcome: &Outcome<'_>, initial_pulls: u32) {
        let most = f64::from(initial_pulls);
        if pulls.0[outcome.action] < most {
            let n = &mut Arc::make_mut(pulls).0[outcome.action];
            *n = (*n + outcome.weight).min(most);
        }
    }
}

impl<L: Learner> Agent<L> {
    pub(crate) fn new(config: &L::Config, identity: Identity) -> Result<Self, Error> {
        identity.shape.check()?;
        L::check(config, identity.shape).map_err(|error| error.of_policy(identity.spec.id()))?;
        let learner = L::new(config, identity.shape, identity.seed);
        let plan = L::plan(config);
        let training = plan
            .training
            .map(|training| (training, Replay::new(identity.shape.n_features, training.replay_capacity)));
        let pulls = Arc::new(Pulls(vec![0.0; identity.shape.n_actions]));
        let name = identity.spec.to_string();
        let frame = Arc::new(Frame { identity, name, plan });
        Ok(Self { frame, learner, training, n_observed: 0, last_round: None, pulls })
    }

    /// The learner, to look into.
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
        let shape = identity.shape;
        L::check(config, shape).map_err(|error| error.of_policy(identity.spec.id()))?;
        let plan = L::plan(config);
        // In format 1, `uniform` had no numbers of its own.
        let n_observed = if body.format() == 1 && body.remaining() == 0 { 0 } else { body.u64()? };
        // Without counts the rounds alone end the initial pulls, as they did when format 1 was written.
        let (mut last_round, mut pulls) = (None, Vec::new());
        if body.format() > 1 {
            last_round = body.u64()?.checked_sub(1);
            if body.remaining() / size_of::<f64>() < shape.n_actions {
                return Err(body.damaged("its counts of actions are cut short"));
            }
            pulls.resize(shape.n_actions, 0.0);
            body.f64s(&mut pulls)?;
            let possible = 0.0..=f64::from(plan.agent.initial_pulls);
            if let Some(found) = pulls.iter().find(|n| !possible.contains(n)) {
                return Err(body.damaged(format!("an action was observed {found} times")));
            }
        }
        let learner = L::decode(config, shape, body)?;
        let training = match plan.training {
            Some(training) => Some((training, Replay::decode(shape, training.replay_capacity, body)?)),
            None => None,
        };
        pulls.resize(shape.n_actions, 0.0);
        let name = identity.spec.to_string();
        let frame = Arc::new(Frame { identity, name, plan });
        Ok(Self { frame, learner, training, n_observed, last_round, pulls: Arc::new(Pulls(pulls)) })
    }

    /// Fails unless this policy can learn from an outcome.
    fn check_outcome(&self, outcome: &Outcome<'_>) -> Result<(), Error> {
        outcome.check(self.shape())?;
        if outcome.weight != 1.0 && !L::HEEDS_WEIGHTS {
            return Err(Kind::NoWeights { policy: self.frame.name.clone(), found: outcome.weight }.into());
        }
        Ok(())
    }

    /// Counts an outcome that the learner took in, and keeps it for training. Whether training is due.
    fn count(&mut self, outcome: &Outcome<'_>) -> bool {
        self.n_observed += 1;
        self.last_round = self.last_round.max(Some(outcome.round));
        Pulls::count(&mut self.pulls, outcome, self.frame.plan.agent.initial_pulls);
        let Some((training, replay)) = &mut self.training else { return false };
        replay.push(outcome);
        self.n_observed.is_multiple_of(u64::from(training.every))
    }

    /// Trains, and undoes it if it diverges.
    fn train(&mut self, round: u64) -> Result<FitReport, Error> {
        let Some((_, replay)) = &self.training else { return Ok(FitReport::default()) };
        let untrained = self.learner.clone();
        let mut rng = self.frame.identity.seed.stream("fit", self.n_observed);
        self.learner.fit(replay, &mut rng).map_err(|breakdown| {
            self.learner = untrained;
            let Breakdown { place, found } = breakdown;
            Kind::Diverged { place, found, round }.into()
        })
    }
}

impl<L: Learner> fmt::Debug for Agent<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Agent({}, {} outcomes)", self.frame.name, self.n_observed)
    }
}

impl Frame {
    fn shape(&self) -> Shape {
        self.identity.shape
    }

    /// Where the random numbers of a decision come from.
    fn rng(&self, round: u64) -> Rng {
        self.identity.seed.stream("choose", round)
    }

    /// Whether the action is sampled from the probabilities of all, rather than chosen by the model alone.
    fn is_by_distribution(&self, request: &Request<'_>) -> bool {
        request.wants_propensity || self.plan.agent.floor > 0.0
    }

    /// The allowed actions that still have to be tried, if there are any.
    fn forced<'a>(
        &self,
        pulls: &'a Pulls,
        request: &'a Request<'_>,
    ) -> Option<impl Iterator<Item = usize> + Clone + 'a> {
        let (initial_pulls, n_actions) = (self.plan.agent.initial_pulls, self.shape().n_actions);
        if request.round >= u64::from(initial_pulls) * n_actions as u64 {
            return None;
        }
        let first = (request.round % n_actions as u64) as usize;
        let forced = (first..n_actions)
            .chain(0..first)
            .filter(move |&action| pulls.0[action] < f64::from(initial_pulls) && request.allows(action));
        forced.clone().next().is_some().then_some(forced)
    }

    fn choose(&self, decider: &impl Decider, pulls: &Pulls, request: Request<'_>) -> Result<Choice, Error> {
        request.check(self.shape())?;
        if self.is_by_distribution(&request) {
            return Scratch::with(|scratch| {
                scratch.with_probabilities(self.shape().n_actions, |probabilities, scratch| {
                    self.fill(decider, pulls, request, scratch, probabilities)?;
                    Ok(self.pick(request.round, probabilities))
                })
            });
        }
        if let Some(choice) = self.initial(pulls, &request) {
            return Ok(choice);
        }
        let (n_actions, mut rng) = (self.shape().n_actions, self.rng(request.round));
        let choice = Scratch::with(|scratch| decider.choose(request, n_actions, &mut rng, scratch))
            .map_err(|breakdown| in_round(breakdown, request.round))?;
        self.checked(choice, &request)
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

    /// Samples an action from its probabilities, with a number of its own stream.
    fn pick(&self, round: u64, probabilities: &[f64]) -> Choice {
        pick(probabilities, self.identity.seed.stream("act", round).uniform())
    }

    /// Fails if a decider chose what it may not.
    fn checked(&self, choice: Choice, request: &Request<'_>) -> Result<Choice, Error> {
        let n_actions = self.shape().n_actions;
        let is_possible = match choice.propensity {
            Propensity::Exact(probability) => probability > 0.0 && probability <= 1.0 + 1e-9,
            Propensity::Unknown => true,
        };
        if choice.action < n_actions && request.allows(choice.action) && is_possible {
            // Probabilities that were added up may exceed 1 by rounding.
            return Ok(match choice.propensity {
                Propensity::Exact(probability) if probability > 1.0 => choice.with_propensity(1.0),
                _ => choice,
            });
        }
        let Choice { action, propensity } = choice;
        Err(Kind::InvalidChoice { policy: self.name.clone(), action, propensity, n_actions }.into())
    }

    /// Fills in the probabilities of a request that was checked.
    fn fill(
        &self,
        decider: &impl Decider,
        pulls: &Pulls,
        request: Request<'_>,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Error> {
        if !self.fill_initial(pulls, &request, probabilities) {
            let (n_draws, mut rng) = (self.plan.propensity_draws, self.rng(request.round));
            decider
                .distribution(request, n_draws, &mut rng, scratch, probabilities)
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

    /// Fails unless a decider's probabilities are some.
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
        request.check(self.shape())?;
        check_length("probabilities", probabilities.len(), self.shape().n_actions)?;
        Scratch::with(|scratch| self.fill(decider, pulls, request, scratch, probabilities))
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
        // Those that the model decides, and those that are sampled from probabilities.
        let (mut by_model, mut by_distribution) = (Batch::default(), Batch::default());
        for (index, request) in requests.iter().enumerate() {
            if self.is_by_distribution(request) {
                by_distribution.push(index, *request, self.rng(request.round));
            } else if let Some(choice) = self.initial(pulls, request) {
                choices[index] = choice;
            } else {
                by_model.push(index, *request, self.rng(request.round));
            }
        }
        let n_actions = self.shape().n_actions;
        let Batch { indices, requests, rngs } = &mut by_model;
        let mut chosen = vec![Choice::new(0); requests.len()];
        Scratch::with(|scratch| decider.choose_many(requests, n_actions, rngs, scratch, &mut chosen))
            .map_err(|(place, breakdown)| {
                in_round(breakdown, requests[place].round).of_request(indices[place])
            })?;
        for (place, choice) in chosen.into_iter().enumerate() {
            let index = indices[place];
            choices[index] =
                self.checked(choice, &requests[place]).map_err(|error| error.of_request(index))?;
        }
        let mut probabilities = vec![0.0; by_distribution.requests.len() * n_actions];
        self.fill_batch(decider, pulls, &mut by_distribution, &mut probabilities)?;
        let probabilities = probabilities.chunks_exact(n_actions);
        for ((index, request), probabilities) in
            by_distribution.indices.iter().zip(&by_distribution.requests).zip(probabilities)
        {
            choices[*index] = self.pick(request.round, probabilities);
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
        check_length("probabilities", probabilities.len(), requests.len() * self.shape().n_actions)?;
        self.check_all(requests)?;
        let mut batch = Batch::default();
        for (index, request) in requests.iter().enumerate() {
            batch.push(index, *request, self.rng(request.round));
        }
        self.fill_batch(decider, pulls, &mut batch, probabilities)
    }

    fn check_all(&self, requests: &[Request<'_>]) -> Result<(), Error> {
        for (index, request) in requests.iter().enumerate() {
            request.check(self.shape()).map_err(|error| error.of_request(index))?;
        }
        Ok(())
    }

    /// Fills in the probabilities of requests that were checked, those of a request side by side.
    fn fill_batch(
        &self,
        decider: &impl Decider,
        pulls: &Pulls,
        batch: &mut Batch<'_>,
        probabilities: &mut [f64],
    ) -> Result<(), Error> {
        let n_actions = self.shape().n_actions;
        let is_initial = |request: &Request<'_>| self.forced(pulls, request).is_some();
        // Initial pulls come first, if at all, so that the rest is one batch.
        let n_initial = batch.requests.iter().take_while(|request| is_initial(request)).count();
        if batch.requests[n_initial..].iter().any(is_initial) {
            // Rounds out of order, at the very beginning: one by one.
            for (place, request) in batch.requests.iter().enumerate() {
                let probabilities = &mut probabilities[place * n_actions..][..n_actions];
                Scratch::with(|scratch| self.fill(decider, pulls, *request, scratch, probabilities))
                    .map_err(|error| error.of_request(batch.indices[place]))?;
            }
            return Ok(());
        }
        let (initial, rest) = probabilities.split_at_mut(n_initial * n_actions);
        for (request, probabilities) in batch.requests.iter().zip(initial.chunks_exact_mut(n_actions)) {
            self.fill_initial(pulls, request, probabilities);
        }
        let (requests, rngs) = (&batch.requests[n_initial..], &mut batch.rngs[n_initial..]);
        let n_draws = self.plan.propensity_draws;
        Scratch::with(|scratch| decider.distribution_many(requests, n_draws, rngs, scratch, rest)).map_err(
            |(place, breakdown)| {
                in_round(breakdown, requests[place].round).of_request(batch.indices[n_initial + place])
            },
        )?;
        for (place, (request, probabilities)) in
            batch.requests.iter().zip(probabilities.chunks_exact_mut(n_actions)).enumerate()
        {
            self.check_distribution(request, probabilities)
                .map_err(|error| error.of_request(batch.indices[place]))?;
            self.mix_floor(request, probabilities);
        }
        Ok(())
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

/// Requests that are decided together, and where they stood.
#[derive(Default)]
struct Batch<'a> {
    indices: Vec<usize>,
    requests: Vec<Request<'a>>,
    rngs: Vec<Rng>,
}

impl<'a> Batch<'a> {
    fn push(&mut self, index: usize, request: Request<'a>, rng: Rng) {
        self.indices.push(index);
        self.requests.push(request);
        self.rngs.push(rng);
    }
}

fn in_round(Breakdown { place, found }: Breakdown, round: u64) -> Error {
    Kind::Numeric { place, found, round }.into()
}

/// Both kinds of deciders decide through the frame.
macro_rules! choose_by_frame {
    () => {
        fn name(&self) -> &str {
            &self.frame.name
        }

        fn shape(&self) -> Shape {
            self.frame.shape()
        }

        fn choose(&self, request: Request<'_>) -> Result<Choice, Error> {
            self.frame.choose(self.decider(), &self.pulls, request)
        }

        fn distribution(&self, request: Request<'_>, probabilities: &mut [f64]) -> Result<(), Error> {
            self.frame.distribution(self.decider(), &self.pulls, request, probabilities)
        }

        fn choose_into(&self, requests: &[Request<'_>], choices: &mut [Choice]) -> Result<(), Error> {
            self.frame.choose_into(self.decider(), &self.pulls, requests, choices)
        }

        fn distribution_many(
            &self,
            requests: &[Request<'_>],
            probabilities: &mut [f64],
        ) -> Result<(), Error> {
            self.frame.distribution_many(self.decider(), &self.pulls, requests, probabilities)
        }

        fn sample_rewards(&self, round: u64, contexts: &[&[f32]]) -> Result<Vec<f64>, Error> {
            self.frame.sample_rewards(self.decider(), round, contexts)
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
        self.learner.observe(&outcome);
        match self.count(&outcome) {
            true => self.train(outcome.round),
            false => Ok(FitReport::default()),
        }
    }

    fn learn_many(&mut self, outcomes: &[Outcome<'_>]) -> Result<FitReport, Error> {
        for (index, outcome) in outcomes.iter().enumerate() {
            self.check_outcome(outcome).map_err(|error| error.of_outcome(index))?;
        }
        self.learner.observe_many(outcomes);
        let mut is_due = false;
        for outcome in outcomes {
            // Every outcome is counted, whether or not training is due already.
            is_due |= self.count(outcome);
        }
        match outcomes.last() {
            Some(last) if is_due => self.train(last.round),
            _ => Ok(FitReport::default()),
        }
    }

    fn n_observed(&self) -> u64 {
        self.n_observed
    }

    fn last_round(&self) -> Option<u64> {
        self.last_round
    }

    fn snapshot(&self) -> Arc<dyn Choose> {
        let (frame, pulls) = (Arc::clone(&self.frame), Arc::clone(&self.pulls));
        Arc::new(Snapshot { frame, decider: self.learner.decider().clone(), pulls })
    }

    fn save(&self) -> Vec<u8> {
        let mut body = begin_save(&self.frame.identity);
        body.u64(self.n_observed);
        // 0 for none; no policy lives to the last of all rounds.
        body.u64(self.last_round.map_or(0, |round| round.saturating_add(1)));
        body.f64s(&self.pulls.0);
        self.learner.encode(&mut body);
        if let Some((_, replay)) = &self.training {
            replay.encode(&mut body);
        }
        save::seal(body)
    }
}

#[cfg(test)]
mod tests;
