//! The policy around any learner: initial pulls, replay, training schedule, snapshots and saving, written once.
//!
//! With the default rule of [`Decider::choose`] this is Algorithm 1 of the paper, Thompson sampling.

use std::fmt;
use std::sync::Arc;

use super::learner::{Breakdown, Decider, Learner, highest};
use super::plan::{Plan, Training};
use super::{Choose, FitReport, Policy, Replay, Scratch};
use crate::error::Kind;
use crate::registry::save::{self, Decoder};
use crate::registry::{Identity, begin_save};
use crate::{Choice, Error, Outcome, Propensity, Request, Shape};

/// A policy that decides and learns by a [`Learner`].
#[derive(Clone)]
pub(crate) struct Agent<L: Learner> {
    frame: Arc<Frame>,
    learner: L,
    training: Option<(Training, Replay)>,
    n_observed: u64,
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
}

impl<L: Learner> Agent<L> {
    pub(crate) fn new(config: &L::Config, identity: Identity) -> Result<Self, Error> {
        identity.shape.check()?;
        L::check(config, identity.shape).map_err(|error| error.of_policy(identity.spec.id()))?;
        let learner = L::new(config, identity.shape, identity.seed);
        let plan = L::plan(config);
        let replay = plan
            .training
            .map(|training| (training, Replay::new(identity.shape.n_features, training.replay_capacity)));
        Ok(Self::assemble(identity, plan, learner, replay, 0))
    }

    fn assemble(
        identity: Identity,
        plan: Plan,
        learner: L,
        training: Option<(Training, Replay)>,
        n_observed: u64,
    ) -> Self {
        let name = identity.spec.to_string();
        Self { frame: Arc::new(Frame { identity, name, plan }), learner, training, n_observed }
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
        L::check(config, identity.shape).map_err(|error| error.of_policy(identity.spec.id()))?;
        let n_observed = body.u64()?;
        let learner = L::decode(config, identity.shape, body)?;
        let plan = L::plan(config);
        let replay = match plan.training {
            Some(training) => {
                Some((training, Replay::decode(identity.shape, training.replay_capacity, body)?))
            }
            None => None,
        };
        Ok(Self::assemble(identity, plan, learner, replay, n_observed))
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

    fn choose(&self, decider: &impl Decider, request: Request<'_>) -> Result<Choice, Error> {
        self.shape().check_context(request.context)?;
        let n_actions = self.shape().n_actions;
        if request.round < u64::from(self.plan.agent.initial_pulls) * n_actions as u64 {
            let action = (request.round % n_actions as u64) as usize;
            return Ok(Choice::certain(action));
        }
        let mut rng = self.identity.seed.stream("choose", request.round);
        let choice = Scratch::with(|scratch| decider.choose(request, n_actions, &mut rng, scratch))
            .map_err(|breakdown| in_round(breakdown, request.round))?;
        let is_possible = match choice.propensity {
            Propensity::Exact(probability) => probability > 0.0 && probability <= 1.0 + 1e-9,
            Propensity::Unknown => true,
        };
        if choice.action < n_actions && is_possible {
            // Probabilities that were added up may exceed 1 by rounding.
            return Ok(match choice.propensity {
                Propensity::Exact(probability) if probability > 1.0 => choice.with_propensity(1.0),
                _ => choice,
            });
        }
        let Choice { action, propensity } = choice;
        Err(Kind::InvalidChoice { policy: self.name.clone(), action, propensity, n_actions }.into())
    }

    fn sample_rewards(
        &self,
        decider: &impl Decider,
        round: u64,
        contexts: &[&[f32]],
    ) -> Result<Vec<f64>, Error> {
        contexts.iter().try_for_each(|context| self.shape().check_context(context))?;
        let n_actions = self.shape().n_actions;
        let mut rewards = vec![0.0; contexts.len() * n_actions];
        if contexts.is_empty() {
            return Ok(rewards);
        }
        let mut rng = self.identity.seed.stream("sample", round);
        Scratch::with(|scratch| decider.draw(contexts, &mut rng, scratch, &mut rewards))
            .and_then(|()| rewards.chunks_exact(n_actions).try_for_each(|drawn| highest(drawn).map(|_| ())))
            .map_err(|breakdown| in_round(breakdown, round))?;
        Ok(rewards)
    }
}

fn in_round(Breakdown { place, found }: Breakdown, round: u64) -> Error {
    Kind::Numeric { place, found, round }.into()
}

impl<D: Decider> Choose for Snapshot<D> {
    fn name(&self) -> &str {
        &self.frame.name
    }

    fn shape(&self) -> Shape {
        self.frame.shape()
    }

    fn choose(&self, request: Request<'_>) -> Result<Choice, Error> {
        self.frame.choose(&self.decider, request)
    }

    fn sample_rewards(&self, round: u64, contexts: &[&[f32]]) -> Result<Vec<f64>, Error> {
        self.frame.sample_rewards(&self.decider, round, contexts)
    }
}

impl<L: Learner> Choose for Agent<L> {
    fn name(&self) -> &str {
        &self.frame.name
    }

    fn shape(&self) -> Shape {
        self.frame.shape()
    }

    fn choose(&self, request: Request<'_>) -> Result<Choice, Error> {
        self.frame.choose(self.learner.decider(), request)
    }

    fn sample_rewards(&self, round: u64, contexts: &[&[f32]]) -> Result<Vec<f64>, Error> {
        self.frame.sample_rewards(self.learner.decider(), round, contexts)
    }
}

impl<L: Learner> Policy for Agent<L> {
    fn learn(&mut self, outcome: Outcome<'_>) -> Result<FitReport, Error> {
        outcome.check(self.shape())?;
        self.learner.observe(&outcome);
        self.n_observed += 1;
        let Some((training, replay)) = &mut self.training else {
            return Ok(FitReport::default());
        };
        replay.push(&outcome);
        if !self.n_observed.is_multiple_of(u64::from(training.every)) {
            return Ok(FitReport::default());
        }
        let untrained = self.learner.clone();
        let mut rng = self.frame.identity.seed.stream("fit", self.n_observed);
        self.learner.fit(replay, &mut rng).map_err(|breakdown| {
            self.learner = untrained;
            let Breakdown { place, found } = breakdown;
            Kind::Diverged { place, found, round: outcome.round }.into()
        })
    }

    fn snapshot(&self) -> Arc<dyn Choose> {
        Arc::new(Snapshot { frame: Arc::clone(&self.frame), decider: self.learner.decider().clone() })
    }

    fn save(&self) -> Vec<u8> {
        let mut body = begin_save(&self.frame.identity);
        body.u64(self.n_observed);
        self.learner.encode(&mut body);
        if let Some((_, replay)) = &self.training {
            replay.encode(&mut body);
        }
        save::seal(body)
    }
}

#[cfg(test)]
mod tests;
