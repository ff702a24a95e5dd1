//! The mean and spread of all rewards seen, for models that learn on a scale of their own.

use crate::Error;
use crate::save::{Decoder, Encoder};

/// Number, mean and sum of squared deviations of all rewards seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RewardScaling {
    pub(super) n: u64,
    mean: f64,
    deviations: f64,
}

impl RewardScaling {
    /// Takes in one reward.
    pub(super) fn observe(&mut self, reward: f64) {
        self.n += 1;
        let deviation = reward - self.mean;
        self.mean += deviation / self.n as f64;
        self.deviations += deviation * (reward - self.mean);
    }

    /// Mean and standard deviation; 1 where rewards do not differ.
    pub(super) fn mean_and_std(self) -> (f64, f64) {
        let variance = self.deviations / self.n.max(1) as f64;
        (self.mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
    }

    pub(super) fn encode(self, encoder: &mut Encoder) {
        encoder.u64(self.n);
        encoder.f64(self.mean);
        encoder.f64(self.deviations);
    }

    pub(super) fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Self { n: decoder.u64()?, mean: decoder.f64()?, deviations: decoder.f64()? })
    }
}
