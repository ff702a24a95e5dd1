//! Dropout as a posterior (Gal and Ghahramani, 2016): hidden units are dropped at random, in training and in decisions.
//!
//! A unit is kept with probability p and its output divided by p, so that the sums of the next layer are unbiased. In training
//! every row of a minibatch drops its own units, which makes the net's predictions agree near the data. Gal and Ghahramani show
//! that one pattern of units is a sample of an approximate posterior. A decision draws one pattern and takes the action with the
//! highest predicted reward; [`Decider::draw`] draws one for every context.
//!
//! This posterior does not concentrate by itself: samples agree more as training continues, but the same amount of training on
//! more data hardly changes their spread (Osband, "Risk versus uncertainty in deep learning", 2016).

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::agent::{
    Breakdown, Cache, Decider, FitReport, JointRows, Learner, Plan, Replay, Scratch, choose_by_draws,
};
use crate::math::nn::Panel;
use crate::model::net::reward_net::{NetWork, RewardNetConfig, Trainer, Units, Weights};
use crate::registry::Definition;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::{AgentConfig, config};
use crate::{Choice, Error, Request, Rng, Seed, Shape};

config! {
    /// Settings of dropout. The defaults are those of the benchmark (Riquelme et al., ICLR 2018).
    pub struct DropoutConfig {
        /// Probability that a hidden unit is kept
        keep_probability: f64 = 0.8, Range::within(0.01, 1.0), "benchmark";
        /// S, posterior samples that give the probabilities of a decision, if they are requested or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..net: RewardNetConfig = RewardNetConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

pub(crate) fn definition() -> Definition<DropoutConfig> {
    let summary = "Thompson sampling with dropout in a neural reward model";
    Definition::of::<Dropout>("dropout", summary).presets([("benchmark", DropoutConfig::default())])
}

buildable!(DropoutConfig => Dropout);

/// A reward net and its dropout rate.
#[derive(Clone, Debug)]
pub(crate) struct DropoutDecider {
    units: KeptUnits,
    weights: Arc<Weights>,
}

/// The decider and its training state.
#[derive(Clone, Debug)]
pub(crate) struct Dropout {
    decider: DropoutDecider,
    trainer: Trainer,
    /// Buffers for learning; a clone allocates its own.
    work: Cache<NetWork>,
}

impl Dropout {
    fn assemble(config: &DropoutConfig, (weights, trainer): (Weights, Trainer)) -> Self {
        let units = KeptUnits::new(config.keep_probability);
        let decider = DropoutDecider { units, weights: Arc::new(weights) };
        Self { decider, trainer, work: Cache::default() }
    }
}

/// Random dropout of hidden units.
#[derive(Clone, Copy, Debug)]
struct KeptUnits {
    /// A unit is kept if 32 random bits are below this.
    threshold: u64,
    /// One over the probability of being kept.
    gain: f32,
}

impl KeptUnits {
    fn new(keep_probability: f64) -> Self {
        let threshold = (keep_probability * (1_u64 << 32) as f64).round() as u64;
        Self { threshold, gain: (1.0 / keep_probability) as f32 }
    }
}

impl KeptUnits {
    /// Changes every column as [`Units::pass`] changes a single one, with random numbers of its own. **Samples.**
    fn pass_columns(&self, outputs: &mut Panel, rngs: &mut [Rng]) {
        let n_features = outputs.n_features();
        for (column, rng) in rngs.iter_mut().enumerate() {
            for first in (0..n_features).step_by(2) {
                let mut bits = rng.next_u64();
                for feature in first..n_features.min(first + 2) {
                    let output = &mut outputs.line_mut(feature)[column];
                    *output = self.keep(bits, *output);
                    bits >>= 32;
                }
            }
        }
    }

    /// Drops the same units in every column. **Samples.**
    fn pass_alike(&self, outputs: &mut Panel, rng: &mut Rng) {
        for first in (0..outputs.n_features()).step_by(2) {
            let mut bits = rng.next_u64();
            for feature in first..outputs.n_features().min(first + 2) {
                outputs.line_mut(feature).iter_mut().for_each(|output| *output = self.keep(bits, *output));
                bits >>= 32;
            }
        }
    }

    /// What is left of an output, by the lower 32 of random bits.
    fn keep(&self, bits: u64, output: f32) -> f32 {
        // Also sets a dropped output to 0 if it overflowed.
        if (bits & 0xFFFF_FFFF) < self.threshold { output * self.gain } else { 0.0 }
    }
}

impl Units for KeptUnits {
    fn pass(&self, outputs: &mut Panel, rng: &mut Rng) {
        for run in outputs.runs_mut() {
            for pair in run.chunks_mut(2) {
                let mut bits = rng.next_u64();
                for output in pair {
                    *output = self.keep(bits, *output);
                    bits >>= 32;
                }
            }
        }
    }

    fn pass_back(&self, gradients: &mut Panel) {
        gradients.runs_mut().flatten().for_each(|gradient| *gradient *= self.gain);
    }
}

impl Decider for DropoutDecider {
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.weights.predict(contexts, &self.units, rng, scratch.work(), rewards)
    }

    fn choose_many(
        &self,
        requests: &[Request<'_>],
        n_actions: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        choices: &mut [Choice],
    ) -> Result<(), (usize, Breakdown)> {
        let Weights { net, parameters } = &*self.weights;
        choose_by_draws(requests, n_actions, scratch, choices, |contexts, scratch, rewards| {
            net.predict_batch(parameters, contexts, scratch.work(), rewards, |outputs| {
                self.units.pass_columns(outputs, rngs);
            })
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
        let Weights { net, parameters } = &*self.weights;
        let pass = |outputs: &mut Panel| self.units.pass_alike(outputs, rng);
        net.predict_joint(parameters, rows, scratch.work(), rewards, pass)
    }
}

impl Learner for Dropout {
    type Config = DropoutConfig;
    type Decider = DropoutDecider;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn plan(config: &DropoutConfig) -> Plan {
        config.net.plan(&config.agent).with_propensity_draws(config.propensity_draws as usize)
    }

    fn new(config: &DropoutConfig, shape: Shape, seed: Seed) -> Self {
        Self::assemble(config, Trainer::new(&config.net, shape, &mut seed.stream("init", 0)))
    }

    fn decider(&self) -> &DropoutDecider {
        &self.decider
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let DropoutDecider { units, weights } = &mut self.decider;
        self.trainer.fit(weights, replay, units, rng, &mut self.work)
    }

    fn add_action(&mut self, _config: &DropoutConfig, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        self.trainer.add_action(Arc::make_mut(&mut self.decider.weights), shape, rng);
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.trainer.encode(&self.decider.weights, encoder);
    }

    fn decode(config: &DropoutConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Self::assemble(config, Trainer::decode(&config.net, shape, decoder)?))
    }
}
