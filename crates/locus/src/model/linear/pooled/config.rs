//! The settings that policies with pooled noise have.

use super::Exploration;
use crate::math::linear::LinearPrior;
use crate::registry::settings::config;
use crate::registry::values::Capacity;

config! {
    /// Settings that `lin-pool` and `locus` share.
    pub struct PooledConfig {
        /// λ₀, how strongly the prior holds the coefficients to 0
        prior_precision: f64 = 0.25, Range::within(1e-12, 1e12), "benchmark";
        /// a₀, the prior's shape of the noise variance
        prior_shape: f64 = 1.0, Range::within(0.1, 1e12), "our choice";
        /// b₀, the prior's rate of the noise variance
        prior_rate: f64 = 1.0, Range::above(0.0, 1e12), "our choice";
        /// The least that the unit of rewards is; above it, it is the standard deviation of all rewards kept
        reward_unit_floor: f64 = 1.0, Range::above(0.0, 1e12), "our choice";
        /// τ, the number of observations after which tempering matters
        tempering_steps: f64 = 100.0, Range::above(0.0, 1e12), "our choice";
        /// What every deviation is multiplied by
        exploration: f64 = 1.0, Range::within(0.0, 1e6), "our choice";
        /// How many of the last observations scale and posteriors are rebuilt from, and nets trained on
        replay_capacity: Capacity = Capacity(None), Range::ANY, "our choice";
    }
}

impl PooledConfig {
    pub(crate) fn prior(&self) -> LinearPrior {
        LinearPrior { precision: self.prior_precision, shape: self.prior_shape, rate: self.prior_rate }
    }

    /// Draws tempered by t alone.
    pub(crate) fn exploration_by_steps(&self) -> Exploration {
        Exploration {
            tempering_steps: self.tempering_steps,
            tempering_coefficients: 0.0,
            tempering_rarity: f64::INFINITY,
            width: self.exploration,
        }
    }
}
