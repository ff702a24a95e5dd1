//! LinPool: linear Thompson sampling with pooled noise, tempered posterior samples and automatic scaling.
//!
//! As in LinFullPost, every action has a Bayesian linear regression with its exact posterior. Three things differ. Rewards and
//! contexts are standardized by a [`Scale`], which is recomputed at regular intervals, together with every posterior. The noise
//! of a posterior sample is the larger of the action's own noise and the pooled noise of all actions ([`Exploration`]). The
//! standard deviation of samples decreases with the number of observations. docs/locus-policy.md explains why, and where it
//! fails.

use crate::agent::{
    Breakdown, Decider, FitReport, JointRows, Learner, Observation, Plan, Replay, Scratch, WeightDraws,
};
use crate::math::decay::Decay;
use crate::math::linear::LinearPrior;
use crate::model::linear::heads::{LinearHeads, by_action};
use crate::model::linear::joint::{FeatureMap, draws_of};
use crate::model::linear::pooled::{
    Exploration, PooledConfig, Precision, Scale, Seen, decode_n_built, encode_n_built,
};
use crate::registry::Definition;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::{AgentConfig, config};
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

config! {
    /// Settings of LinPool.
    pub struct LinPoolConfig {
        /// Observations between rescalings
        rescale_every: u32 = 20, Range::within(1.0, 1e6), "our choice";
        ..pooled: PooledConfig = PooledConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

pub(crate) fn definition() -> Definition<LinPoolConfig> {
    let summary =
        "Linear Thompson sampling with pooled noise, tempered posterior samples and automatic scaling";
    Definition::of::<LinPool>("lin-pool", summary).removed(
        &[
            ("precision", "given"),
            ("precision_strength", "50"),
            ("noise", "larger"),
            ("tempering", "root"),
            ("tempering_coefficients", "70"),
            ("tempering_rarity", "1e12"),
        ],
        &[],
    )
}

buildable!(LinPoolConfig => LinPool);

/// A linear posterior for every action on the features `[c·x, 1]`, and its exploration rule.
#[derive(Clone, Debug)]
pub(crate) struct PooledHeads {
    heads: LinearHeads,
    map: FeatureMap,
    exploration: Exploration,
    scale: Scale,
    seen: Seen,
}

/// The heads, and the schedule of their rescaling.
#[derive(Clone, Debug)]
pub(crate) struct LinPool {
    pooled: PooledHeads,
    precision: Precision,
    decay: Decay,
    reward_unit_floor: f64,
    /// The features of the current observation.
    features: Vec<f64>,
}

impl PooledHeads {
    fn predict(&self, features: &[f64]) -> impl Fn(usize) -> f64 {
        |action| self.heads.posterior(action).predict(features)
    }

    fn fill(&self, context: &[f32], features: &mut [f64]) {
        self.scale.fill_features(&self.map, context, features);
    }

    /// Draws the coefficients that all actions share, if they have features. **Samples.**
    fn draw_coefficients(&self, rng: &mut Rng, coefficients: &mut [f64]) -> Result<(), Breakdown> {
        let spread = self.exploration.draw_shared_spread(&self.heads, self.seen, rng)?;
        self.heads.posterior(0).sample_coefficients(spread * spread, rng, coefficients);
        Ok(())
    }

    fn deviate(&self, rng: &mut Rng) -> impl FnOnce(&mut [f64]) -> Result<(), Breakdown> {
        |deviations| self.exploration.draw_deviations(&self.heads, self.seen, rng, deviations)
    }
}

impl Decider for PooledHeads {
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        scratch.with_features(self.heads.dim(), |features, scratch| {
            for (context, rewards) in contexts.iter().zip(rewards.chunks_exact_mut(self.heads.n_actions())) {
                self.fill(context, features);
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
        _n_actions: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Result<Choice, Breakdown> {
        scratch.with_features(self.heads.dim(), |features, scratch| {
            self.fill(request.context, features);
            let (predict, deviate) = (self.predict(features), self.deviate(rng));
            self.heads.find_best(&request, features, scratch, predict, deviate).map(Choice::new)
        })
    }

    fn distribution(
        &self,
        request: Request<'_>,
        _n_draws: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        scratch.with_features(self.heads.dim(), |features, scratch| {
            self.fill(request.context, features);
            let predict = self.predict(features);
            self.heads.find_wins(&request, features, scratch, probabilities, predict, |spreads| {
                self.exploration.draw_spreads(&self.heads, self.seen, rng, spreads)
            })
        })
    }

    fn choose_many(
        &self,
        requests: &[Request<'_>],
        _n_actions: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        choices: &mut [Choice],
    ) -> Result<(), (usize, Breakdown)> {
        let fill = |context: &[f32], features: &mut [f64]| self.fill(context, features);
        self.heads.with_rows(requests, scratch, fill, |rows, work| {
            let deviate = |rng: &mut Rng, deviations: &mut [f64]| {
                self.exploration.draw_deviations(&self.heads, self.seen, rng, deviations)
            };
            self.heads.find_best_many(rows, work, rngs, choices, self.heads.predict_rows(rows), deviate)
        })
    }

    fn distribution_many(
        &self,
        requests: &[Request<'_>],
        _n_draws: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), (usize, Breakdown)> {
        let fill = |context: &[f32], features: &mut [f64]| self.fill(context, features);
        self.heads.with_rows(requests, scratch, fill, |rows, work| {
            let spread = |rng: &mut Rng, spreads: &mut [f64]| {
                self.exploration.draw_spreads(&self.heads, self.seen, rng, spreads)
            };
            self.heads.find_wins_many(rows, work, rngs, probabilities, self.heads.predict_rows(rows), spread)
        })
    }

    const HEEDS_CANDIDATES: bool = true;

    fn draw_joint(
        &self,
        rows: JointRows<'_>,
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let [coefficients, reduced] = scratch.doubles([self.map.dim(), self.map.n_action()]);
        self.draw_coefficients(rng, coefficients)?;
        self.map.values(coefficients, self.scale.context_factor, rows, reduced, rewards);
        self.scale.restore(rewards);
        Ok(())
    }

    fn distribution_of_candidates(
        &self,
        request: Request<'_>,
        rows: JointRows<'_>,
        draws: &WeightDraws,
        _rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        let draws = draws_of(draws, self.map.dim(), |rng, weights| self.draw_coefficients(rng, weights))?;
        let factor = self.scale.context_factor;
        self.map.win_shares(draws, factor, None, (request, rows), scratch, probabilities)
    }
}

impl LinPool {
    #[cfg(test)]
    pub(crate) fn posterior(&self, action: usize) -> &crate::math::linear::LinearPosterior {
        self.pooled.heads.posterior(action)
    }

    #[cfg(test)]
    pub(crate) fn scale(&self) -> Scale {
        self.pooled.scale
    }

    fn assemble(
        config: &LinPoolConfig,
        (heads, map): (LinearHeads, FeatureMap),
        precision: Precision,
        scale: Scale,
        n_observed: f64,
    ) -> Self {
        let features = vec![0.0; heads.dim()];
        let seen = Seen::by(&heads, n_observed);
        let pooled =
            PooledHeads { heads, map, exploration: config.pooled.exploration_by_steps(), scale, seen };
        let decay = Decay::new(config.agent.half_life.0);
        Self { pooled, precision, decay, reward_unit_floor: config.pooled.reward_unit_floor, features }
    }
}

impl Learner for LinPool {
    type Config = LinPoolConfig;
    type Decider = PooledHeads;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn check(config: &LinPoolConfig, shape: Shape) -> Result<(), Error> {
        config.pooled.interactions.check(shape)
    }

    fn plan(config: &LinPoolConfig) -> Plan {
        Plan::trained(&config.agent, config.rescale_every, config.pooled.replay_capacity.0)
            .on_replay(&config.pooled.replay)
            .with_propensity_draws(config.pooled.propensity_draws as usize)
    }

    fn new(config: &LinPoolConfig, shape: Shape, _seed: Seed) -> Self {
        let map = config.pooled.map(shape);
        let heads = LinearHeads::new(map.dim(), shape.n_actions, config.pooled.prior());
        let precision = Precision::given(config.pooled.prior_precision);
        let heads = heads.forgetting(config.agent.half_life.0);
        Self::assemble(config, (heads, map), precision, Scale::AS_GIVEN, 0.0)
    }

    fn decider(&self) -> &PooledHeads {
        &self.pooled
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        let PooledHeads { heads, map, scale, seen, .. } = &mut self.pooled;
        scale.fill_features(map, outcome.context, &mut self.features);
        heads.observe(outcome.action, &self.features, scale.standardize(outcome.reward), outcome.weight);
        self.decay.pass(&mut seen.n_observed);
        seen.n_observed += outcome.weight;
    }

    fn observe_many(&mut self, outcomes: &[Outcome<'_>]) {
        if let [only] = outcomes {
            return self.observe(only);
        }
        let PooledHeads { heads, map, scale, seen, .. } = &mut self.pooled;
        heads.observe_many(outcomes, |heads, outcomes| {
            let mut blocks = heads.in_blocks();
            for outcome in outcomes {
                let Outcome { context, action, reward, weight, .. } = *outcome;
                scale.fill_features(map, context, &mut self.features);
                blocks.push(action, self.features.iter().copied(), scale.standardize(reward), weight);
                if !self.decay.is_on() {
                    seen.n_observed += weight;
                }
            }
            blocks.finish();
        });
        if self.decay.is_on() {
            for outcome in outcomes {
                self.decay.pass(&mut seen.n_observed);
                seen.n_observed += outcome.weight;
            }
        }
    }

    /// Recomputes the scale and every posterior.
    ///
    /// Once the replay holds only a part of what counts, the scale stays: the posteriors, updated in place, include all observations.
    fn fit(&mut self, replay: &Replay, _rng: &mut Rng) -> Result<FitReport, Breakdown> {
        if replay.is_outgrown() {
            return Ok(FitReport::default());
        }
        let scale = Scale::of(replay, self.reward_unit_floor, &self.pooled.map)?;
        let (order, features, map) = (by_action(replay), &mut self.features, self.pooled.map);
        let mut rebuild = self.pooled.heads.rebuild();
        for index in order {
            let Observation { context, action, reward, weight } = replay.get(index);
            scale.fill_features(&map, context, features);
            rebuild.push(action, features.iter().copied(), scale.standardize(reward), weight);
        }
        rebuild.finish();
        self.pooled.scale = scale;
        // All observations of the replay at once.
        Ok(FitReport { minibatches: 1, ..FitReport::default() })
    }

    fn add_action(&mut self, _config: &LinPoolConfig, _shape: Shape, _rng: &mut Rng) -> Result<(), Error> {
        let PooledHeads { heads, seen, .. } = &mut self.pooled;
        heads.add_action();
        *seen = Seen::by(heads, seen.n_observed);
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.f64(self.pooled.seen.n_observed);
        self.precision.encode(encoder);
        self.pooled.scale.encode(encoder);
        encode_n_built(&self.pooled.heads, encoder);
        self.pooled.heads.encode(encoder);
    }

    fn decode(config: &LinPoolConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let n_observed = decoder.weight_sum()?;
        let precision = Precision::given(config.pooled.prior_precision).decode(decoder)?;
        let scale = Scale::decode(decoder)?;
        let prior = LinearPrior { precision: precision.value(), ..config.pooled.prior() };
        let n_built = decode_n_built(shape, decoder)?;
        let map = config.pooled.map(shape);
        let (dim, half_life) = (map.dim(), config.agent.half_life.0);
        let heads = LinearHeads::decode(dim, shape.n_actions, prior, half_life, decoder)?.built_with(n_built);
        Ok(Self::assemble(config, (heads, map), precision, scale, n_observed))
    }
}

#[cfg(test)]
mod tests;
