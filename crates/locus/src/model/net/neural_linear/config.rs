//! Settings of Neural Linear.

use crate::math::linear::LinearPrior;
use crate::model::net::reward_net::RewardNetConfig;
use crate::registry::settings::{AgentConfig, config};

config! {
    /// Settings of Neural Linear.
    ///
    /// The defaults are those of the benchmark (Riquelme et al., ICLR 2018). The features of the regressions are the outputs of
    /// the last hidden layer; with a bounded replay they forget dropped observations at every round of training.
    pub struct NeuralLinearConfig {
        /// λ, prior precision of the coefficients relative to the noise: their prior variance is σ²/λ
        prior_precision: f64 = 0.25, Range::within(1e-12, 1e12), "benchmark";
        /// a₀, shape of the inverse-gamma prior of the noise variance
        prior_shape: f64 = 6.0, Range::within(0.1, 1e12), "benchmark";
        /// b₀, rate of the inverse-gamma prior of the noise variance
        prior_rate: f64 = 6.0, Range::above(0.0, 1e12), "benchmark";
        /// With features of actions: S, samples of the coefficients that give the probabilities of decisions, if they are requested
        /// or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..net: RewardNetConfig = RewardNetConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

impl NeuralLinearConfig {
    pub(super) fn prior(&self) -> LinearPrior {
        LinearPrior { precision: self.prior_precision, shape: self.prior_shape, rate: self.prior_rate }
    }
}
