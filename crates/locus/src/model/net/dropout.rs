//! Dropout as a posterior (Gal and Ghahramani, 2016): hidden units are left out at random, in training and in decisions alike.
//!
//! A unit is kept with one probability and then counts one over it as much, so that what the next layer sums up is right in
//! the mean. In training every row of a minibatch leaves out units of its own, which makes the net's predictions agree
//! where there are data; one pattern of units is one draw from what Gal and Ghahramani show to be an approximate posterior. A
//! decision draws one pattern and takes the action of the highest predicted reward; [`RewardModel::draw`] draws one for every context.
//!
//! It is a posterior that does not concentrate by itself: in the course of a policy's life draws come to agree as training goes on, but the same
//! amount of training on more data leaves them about as far apart (Osband, "Risk versus uncertainty in deep learning", 2016).

#[cfg(test)]
mod tests;

use crate::agent::FitReport;
use crate::agent::replay::Replay;
use crate::agent::scratch::{Cache, Scratch};
use crate::agent::wrapper::{Breakdown, RewardModel};
use crate::math::nn::Panel;
use crate::model::net::reward_net::{NetConfig, NetWork, TrainedNet, Units, reward_net_config};
use crate::registry::registered;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::values::{Capacity, Layers};
use crate::{Error, Rng, Seed, Shape};

reward_net_config! {
    /// Settings of dropout. The defaults are those of the benchmark (Riquelme et al., ICLR 2018).
    pub struct DropoutConfig {
        /// The probability with which a hidden unit is kept
        keep_probability: f64 = 0.8, Range::from(0.01, 1.0), "benchmark";
    }
}

registered!(
    DropoutConfig => Dropout,
    "dropout",
    "Thompson sampling with a net whose hidden units are left out at random",
    &[("benchmark", DropoutConfig::default)]
);

/// A reward net, and how many of its units are kept.
#[derive(Clone, Debug)]
pub struct Dropout {
    units: KeptUnits,
    trained: TrainedNet,
    /// Room for what is computed in learning; a copy makes its own.
    work: Cache<NetWork>,
}

/// Hidden units that are left out at random.
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

impl Units for KeptUnits {
    fn pass(&self, outputs: &mut Panel, rng: &mut Rng) {
        for run in outputs.runs_mut() {
            for pair in run.chunks_mut(2) {
                let mut bits = rng.next_u64();
                for output in pair {
                    let is_kept = (bits & 0xFFFF_FFFF) < self.threshold;
                    // What is left out may have overflowed: it is 0 all the same.
                    *output = if is_kept { *output * self.gain } else { 0.0 };
                    bits >>= 32;
                }
            }
        }
    }

    fn pass_back(&self, gradients: &mut Panel) {
        gradients.runs_mut().flatten().for_each(|gradient| *gradient *= self.gain);
    }
}

impl RewardModel for Dropout {
    type Config = DropoutConfig;

    fn new(config: &DropoutConfig, shape: Shape, seed: Seed) -> Self {
        let trained = TrainedNet::new(config.net(), shape, &mut seed.stream("init", 0));
        Self { units: KeptUnits::new(config.keep_probability), trained, work: Cache::default() }
    }

    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.trained.predict(contexts, &self.units, rng, scratch.work(), rewards)
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        self.trained.fit(replay, &self.units, rng, &mut self.work)
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.trained.encode(encoder);
    }

    fn decode(config: &DropoutConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let trained = TrainedNet::decode(config.net(), shape, decoder)?;
        Ok(Self { units: KeptUnits::new(config.keep_probability), trained, work: Cache::default() })
    }
}
