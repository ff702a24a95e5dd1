//! LinPool: linear Thompson sampling with one scale for every problem, noise that actions share, and tempered draws.
//!
//! As in LinFullPost every action has a Bayesian linear regression with its exact posterior. What differs: rewards and contexts are
//! brought to one [`Scale`], which is taken anew, and every posterior with it, after so many observations; a draw deviates by the
//! larger of the action's own noise and the noise of all actions together ([`Exploration`]); and it deviates less the more was seen.
//! docs/locus-policy.md says why, and where it fails.

use crate::agent::FitReport;
use crate::agent::replay::{Observation, Replay};
use crate::agent::scratch::Scratch;
use crate::agent::wrapper::{Breakdown, Plan, Planned, RewardModel};
use crate::math::linear::{LinearPosterior, LinearPrior};
use crate::model::linear::heads::{LinearHeads, by_action};
use crate::model::linear::pooled::{Exploration, Precision, Scale, Seen, pooled_config};
use crate::registry::registered;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::values::Capacity;
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

pooled_config! {
    /// Settings of LinPool.
    pub struct LinPoolConfig {
        precision: Given, noise_prior: 1.0, tempering: Root, tempering_steps: 100.0, tempering_rarity: 1e12;
        /// Observations from one scale to the next
        rescale_every: u32 = 20, Range::from(1.0, 1e6), "our choice";
    }
}

registered!(
    LinPoolConfig => LinPool,
    "lin-pool",
    "Linear Thompson sampling with shared noise, tempered draws and a scale of its own",
    &[("default", LinPoolConfig::default)]
);

impl Planned for LinPoolConfig {
    fn plan(&self) -> Plan {
        Plan::trained(self.initial_pulls, self.rescale_every, self.replay_capacity.0)
    }
}

/// A linear posterior for every action, on the features `[c·x, 1]`.
#[derive(Clone, Debug)]
pub struct LinPool {
    heads: LinearHeads,
    precision: Precision,
    exploration: Exploration,
    reward_unit_floor: f64,
    scale: Scale,
    /// How much was observed.
    seen: Seen,
    /// The features of the observation that is taken in.
    features: Vec<f64>,
}

impl LinPool {
    /// The posterior of an action's coefficients, the intercept last. Panics if there is no such action.
    pub fn posterior(&self, action: usize) -> &LinearPosterior {
        self.heads.posterior(action)
    }

    /// What rewards and contexts are brought to.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    fn with_heads(config: &LinPoolConfig, heads: LinearHeads) -> Self {
        Self {
            precision: config.precision_rule(),
            exploration: config.exploration(),
            reward_unit_floor: config.reward_unit_floor,
            scale: Scale::AS_GIVEN,
            seen: Seen::NOTHING,
            features: vec![0.0; heads.dim()],
            heads,
        }
    }

    fn predict(&self, features: &[f64]) -> impl Fn(usize) -> f64 {
        |action| self.heads.posterior(action).predict(features)
    }

    fn deviate(&self, rng: &mut Rng) -> impl FnOnce(&mut [f64]) -> Result<(), Breakdown> {
        |deviations| self.exploration.draw_deviations(&self.heads, self.seen, rng, deviations)
    }
}

impl RewardModel for LinPool {
    type Config = LinPoolConfig;

    fn new(config: &LinPoolConfig, shape: Shape, _seed: Seed) -> Self {
        Self::with_heads(config, LinearHeads::new(shape.n_features + 1, shape.n_actions, config.prior()))
    }

    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        scratch.with_features(self.heads.dim(), |features, scratch| {
            for (context, rewards) in contexts.iter().zip(rewards.chunks_exact_mut(self.heads.n_actions())) {
                self.scale.fill_features(context, features);
                let (predict, deviate) = (self.predict(features), self.deviate(rng));
                self.heads.value(features, scratch, rewards, predict, deviate)?;
                self.scale.restore(rewards);
            }
            Ok(())
        })
    }

    fn choose(
        &self,
        request: Request<'_>,
        rng: &mut Rng,
        scratch: &mut Scratch,
        _n_actions: usize,
    ) -> Result<Choice, Breakdown> {
        scratch.with_features(self.heads.dim(), |features, scratch| {
            self.scale.fill_features(request.context, features);
            let (predict, deviate) = (self.predict(features), self.deviate(rng));
            self.heads.find_best(features, scratch, predict, deviate).map(Choice::drawn)
        })
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        self.scale.fill_features(outcome.context, &mut self.features);
        self.heads.observe(outcome.action, &self.features, self.scale.standardize(outcome.reward));
        self.seen = self.exploration.look(&self.heads, &self.scale, self.seen.n_observed + 1);
    }

    /// Takes the scale anew, and with it every posterior.
    fn fit(&mut self, replay: &Replay, _rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let scale = Scale::of(replay, self.reward_unit_floor)?;
        let (order, features) = (by_action(replay), &mut self.features);
        let mut take_in_all = |heads: &mut LinearHeads| {
            let mut rebuild = heads.rebuild();
            for &index in &order {
                let Observation { context, action, reward } = replay.get(index);
                scale.fill_features(context, features);
                rebuild.push(action, features.iter().copied(), scale.standardize(reward));
            }
            rebuild.finish();
        };
        match self.precision.is_due(self.seen.n_observed, replay.len()) {
            true => self.precision.fit(&mut self.heads, self.seen.n_observed, take_in_all),
            false => take_in_all(&mut self.heads),
        }
        self.scale = scale;
        self.seen = self.exploration.look(&self.heads, &self.scale, self.seen.n_observed);
        // All that is kept, at once.
        Ok(FitReport { minibatches: 1, ..FitReport::default() })
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.u64(self.seen.n_observed);
        self.precision.encode(encoder);
        self.scale.encode(encoder);
        self.heads.encode(encoder);
    }

    fn decode(config: &LinPoolConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let n_observed = decoder.u64()?;
        let precision = config.precision_rule().decode(decoder)?;
        let scale = Scale::decode(decoder)?;
        let dim = shape.n_features + 1;
        let prior = LinearPrior { precision: precision.value(), ..config.prior() };
        let heads = LinearHeads::decode(dim, shape.n_actions, prior, decoder)?;
        let seen = config.exploration().look(&heads, &scale, n_observed);
        Ok(Self { precision, scale, seen, ..Self::with_heads(config, heads) })
    }
}

#[cfg(test)]
mod tests;
