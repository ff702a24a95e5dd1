//! Thompson sampling over any model of rewards (Algorithm 1 of the paper).
//!
//! What differs between policies is a [`RewardModel`]; initial pulls, replay, training schedule, snapshots and
//! saving are written here once. Explorers that are no Thompson samplers use all of it too: their models
//! decide by a rule of their own in [`RewardModel::choose`].

use std::sync::Arc;

use crate::agent::replay::Replay;
use crate::agent::scratch::Scratch;
use crate::agent::{Choose, FitReport, Policy};
use crate::registry::save::{self, Decoder, Encoder};
use crate::registry::settings::Config;
use crate::registry::{Identity, begin_save};
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

/// What rewards to expect, and how uncertain they are.
///
/// The policies of this crate implement it, nobody else can: CONTRIBUTING.md walks through adding one.
/// A clone is taken for every snapshot, so what is large should be shared (`Arc`) and copied on change.
pub trait RewardModel: Clone + Send + Sync + Sized + 'static {
    /// Its settings.
    type Config: Planned;

    /// Fails where settings that are right by themselves do not go with this shape.
    fn check(_config: &Self::Config, _shape: Shape) -> Result<(), Error> {
        Ok(())
    }

    /// The untrained model.
    fn new(config: &Self::Config, shape: Shape, seed: Seed) -> Self;

    /// One posterior draw of every action's mean reward for each context, into `rewards`: the A rewards of a context side
    /// by side. The same context given twice is drawn for twice. **Samples.**
    ///
    /// A model that is not drawn from gives what its decisions compare, such as predictions or upper bounds, and says so.
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown>;

    /// Decides. **Samples.**
    ///
    /// As it stands, this is Thompson sampling: the action whose reward is the highest of one draw, the first of several. How
    /// probable that was is unknown. A model that can tell the winner without drawing every reward does so here; it must be the
    /// winner that [`RewardModel::draw`] gives with the same `rng`. A model that explores in another way
    /// decides here by its own rule, and says how probable its choice was if it knows.
    fn choose(
        &self,
        request: Request<'_>,
        rng: &mut Rng,
        scratch: &mut Scratch,
        n_actions: usize,
    ) -> Result<Choice, Breakdown> {
        scratch.with_rewards(n_actions, |rewards, scratch| {
            self.draw(&[request.context], rng, scratch, rewards)?;
            highest(rewards).map(Choice::drawn)
        })
    }

    /// Takes in one outcome at once. Rank-one updates live here; nets do nothing.
    fn observe(&mut self, _outcome: &Outcome<'_>) {}

    /// Trains on the replay, when the plan says so.
    fn fit(&mut self, _replay: &Replay, _rng: &mut Rng) -> Result<FitReport, Breakdown> {
        Ok(FitReport::default())
    }

    /// Writes all that [`RewardModel::decode`] needs to carry on.
    fn encode(&self, encoder: &mut Encoder);

    /// Reads what [`RewardModel::encode`] wrote.
    fn decode(config: &Self::Config, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error>;
}

/// Settings of a model that say how the policy around it behaves.
pub trait Planned: Config {
    /// How it behaves.
    fn plan(&self) -> Plan;
}

/// How a policy behaves around its model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How often every action is played, round robin, before the model is asked.
    pub initial_pulls: u32,
    /// When the model is trained on past observations; `None` keeps none.
    pub training: Option<Training>,
}

impl Plan {
    /// A model that learns from each outcome at once.
    pub fn untrained(initial_pulls: u32) -> Self {
        Self { initial_pulls, training: None }
    }

    /// A model that is trained every so many observations, on the last `replay_capacity` of them or on all.
    pub fn trained(initial_pulls: u32, every: u32, replay_capacity: Option<usize>) -> Self {
        Self { initial_pulls, training: Some(Training { every, replay_capacity }) }
    }
}

/// When a model is trained, and on what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// Observations from one round of training to the next. At least 1.
    pub every: u32,
    /// How many of the last observations are kept to train on; `None` keeps all.
    pub replay_capacity: Option<usize>,
}

/// Numbers that broke down inside a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// Which computation.
    pub place: String,
    /// What came out.
    pub found: f64,
}

impl Breakdown {
    fn in_round(self, round: u64) -> Error {
        Error::Numeric { place: self.place, found: self.found, round }
    }
}

/// The index of the highest reward, the first of several. Fails if any is not a finite number: no policy acts on such a draw.
pub fn highest(rewards: &[f64]) -> Result<usize, Breakdown> {
    let mut best = 0;
    for (action, &reward) in rewards.iter().enumerate() {
        check_reward(action, reward)?;
        if reward > rewards[best] {
            best = action;
        }
    }
    Ok(best)
}

/// Fails if a drawn reward is not a finite number.
pub(crate) fn check_reward(action: usize, reward: f64) -> Result<(), Breakdown> {
    if reward.is_finite() {
        return Ok(());
    }
    Err(Breakdown { place: format!("the drawn reward of action {action}"), found: reward })
}

/// A policy that decides by a model of rewards: as a rule it draws from it and takes the action that looks best.
#[derive(Clone, Debug)]
pub struct Thompson<M> {
    decider: Decider<M>,
    identity: Identity,
    training: Option<(Training, Replay)>,
    n_observed: u64,
}

/// The part of [`Thompson`] that decides.
#[derive(Clone, Debug)]
struct Decider<M> {
    name: Arc<str>,
    shape: Shape,
    seed: Seed,
    initial_pulls: u32,
    model: M,
}

impl<M: RewardModel> Thompson<M> {
    pub(crate) fn new(config: &M::Config, identity: Identity) -> Result<Self, Error> {
        identity.shape.check()?;
        M::check(config, identity.shape)?;
        let model = M::new(config, identity.shape, identity.seed);
        let plan = config.plan();
        let replay = plan
            .training
            .map(|training| (training, Replay::new(identity.shape.n_features, training.replay_capacity)));
        Ok(Self::assemble(identity, plan, model, replay, 0))
    }

    fn assemble(
        identity: Identity,
        plan: Plan,
        model: M,
        training: Option<(Training, Replay)>,
        n_observed: u64,
    ) -> Self {
        let decider = Decider {
            name: identity.spec.to_string().into(),
            shape: identity.shape,
            seed: identity.seed,
            initial_pulls: plan.initial_pulls,
            model,
        };
        Self { decider, identity, training, n_observed }
    }

    /// The model, to look into.
    pub fn model(&self) -> &M {
        &self.decider.model
    }

    pub(crate) fn boxed(config: &M::Config, identity: Identity) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(Self::new(config, identity)?))
    }

    pub(crate) fn load(
        config: &M::Config,
        identity: Identity,
        body: &mut Decoder<'_>,
    ) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(Self::decode(config, identity, body)?))
    }

    fn decode(config: &M::Config, identity: Identity, body: &mut Decoder<'_>) -> Result<Self, Error> {
        M::check(config, identity.shape)?;
        let n_observed = body.u64()?;
        let model = M::decode(config, identity.shape, body)?;
        let plan = config.plan();
        let replay = match plan.training {
            Some(training) => {
                Some((training, Replay::decode(identity.shape, training.replay_capacity, body)?))
            }
            None => None,
        };
        Ok(Self::assemble(identity, plan, model, replay, n_observed))
    }
}

impl<M: RewardModel> Choose for Decider<M> {
    fn name(&self) -> &str {
        &self.name
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn choose(&self, request: Request<'_>) -> Result<Choice, Error> {
        self.shape.check_context(request.context)?;
        let n_actions = self.shape.n_actions;
        if request.round < u64::from(self.initial_pulls) * n_actions as u64 {
            let action = (request.round % n_actions as u64) as usize;
            return Ok(Choice::certain(action));
        }
        let mut rng = self.seed.stream("choose", request.round);
        Scratch::with(|scratch| self.model.choose(request, &mut rng, scratch, n_actions))
            .map_err(|breakdown| breakdown.in_round(request.round))
    }

    fn sample_rewards(&self, round: u64, contexts: &[&[f32]]) -> Result<Vec<f64>, Error> {
        contexts.iter().try_for_each(|context| self.shape.check_context(context))?;
        let n_actions = self.shape.n_actions;
        let mut rewards = vec![0.0; contexts.len() * n_actions];
        if contexts.is_empty() {
            return Ok(rewards);
        }
        let mut rng = self.seed.stream("sample", round);
        Scratch::with(|scratch| self.model.draw(contexts, &mut rng, scratch, &mut rewards))
            .and_then(|()| rewards.chunks_exact(n_actions).try_for_each(|drawn| highest(drawn).map(|_| ())))
            .map_err(|breakdown| breakdown.in_round(round))?;
        Ok(rewards)
    }
}

impl<M: RewardModel> Choose for Thompson<M> {
    fn name(&self) -> &str {
        self.decider.name()
    }

    fn shape(&self) -> Shape {
        self.decider.shape()
    }

    fn choose(&self, request: Request<'_>) -> Result<Choice, Error> {
        self.decider.choose(request)
    }

    fn sample_rewards(&self, round: u64, contexts: &[&[f32]]) -> Result<Vec<f64>, Error> {
        self.decider.sample_rewards(round, contexts)
    }
}

impl<M: RewardModel> Policy for Thompson<M> {
    fn learn(&mut self, outcome: Outcome<'_>) -> Result<FitReport, Error> {
        outcome.check(self.shape())?;
        let Decider { model, seed, .. } = &mut self.decider;
        model.observe(&outcome);
        self.n_observed += 1;
        let Some((training, replay)) = &mut self.training else {
            return Ok(FitReport::default());
        };
        replay.push(&outcome);
        if !self.n_observed.is_multiple_of(u64::from(training.every)) {
            return Ok(FitReport::default());
        }
        let untrained = model.clone();
        model.fit(replay, &mut seed.stream("fit", self.n_observed)).map_err(|breakdown| {
            *model = untrained;
            breakdown.in_round(outcome.round)
        })
    }

    fn snapshot(&self) -> Arc<dyn Choose> {
        Arc::new(self.decider.clone())
    }

    fn save(&self) -> Vec<u8> {
        let Identity { spec, shape, seed } = &self.identity;
        let mut body = begin_save(spec, *shape, *seed);
        body.u64(self.n_observed);
        self.decider.model.encode(&mut body);
        if let Some((_, replay)) = &self.training {
            replay.encode(&mut body);
        }
        save::seal(body)
    }
}

#[cfg(test)]
mod tests;
