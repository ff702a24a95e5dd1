//! Settings of policies with pooled noise.

use super::Exploration;
use crate::Shape;
use crate::math::linear::LinearPrior;
use crate::model::linear::joint::FeatureMap;
use crate::registry::settings::{ReplayConfig, config};
use crate::registry::values::{Capacity, Interactions};

config! {
    /// Settings that `lin-pool` and `locus` share.
    pub struct PooledConfig {
        /// λ₀, prior precision of the coefficients relative to the noise: their prior variance is σ²/λ₀
        prior_precision: f64 = 0.25, Range::within(1e-12, 1e12), "benchmark";
        /// a₀, shape of the inverse-gamma prior of the noise variance
        prior_shape: f64 = 1.0, Range::within(0.1, 1e12), "our choice";
        /// b₀, rate of the inverse-gamma prior of the noise variance
        prior_rate: f64 = 1.0, Range::above(0.0, 1e12), "our choice";
        /// Lower bound of the reward unit, which otherwise is the standard deviation of the rewards in the replay
        reward_unit_floor: f64 = 1.0, Range::above(0.0, 1e12), "our choice";
        /// τ, the number of observations after which tempering takes effect
        tempering_steps: f64 = 100.0, Range::above(0.0, 1e12), "our choice";
        /// Factor on the standard deviation of every posterior sample
        exploration: f64 = 1.0, Range::within(0.0, 1e6), "our choice";
        /// Replay capacity: how many of the last observations are used to rebuild scale and posteriors, and to train nets
        replay_capacity: Capacity = Capacity(None), Range::ANY, "our choice";
        /// With features of actions: off regresses on [x, f, 1], all also on the products x_i·f_j, only on [x, 1] ⊗ f alone
        interactions: Interactions = Interactions::Off, Range::ANY, "our choice";
        /// With features of actions: S, samples of the coefficients that give the probabilities of decisions, if they are requested
        /// or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..replay: ReplayConfig = ReplayConfig::default();
    }
}

impl PooledConfig {
    pub(crate) fn prior(&self) -> LinearPrior {
        LinearPrior { precision: self.prior_precision, shape: self.prior_shape, rate: self.prior_rate }
    }

    pub(crate) fn map(&self, shape: Shape) -> FeatureMap {
        FeatureMap::new(shape, self.interactions)
    }

    /// Tempering that depends on t alone.
    pub(crate) fn exploration_by_steps(&self) -> Exploration {
        Exploration {
            tempering_steps: self.tempering_steps,
            tempering_coefficients: 0.0,
            tempering_rarity: f64::INFINITY,
            width: self.exploration,
        }
    }
}
