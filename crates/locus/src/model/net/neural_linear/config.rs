//! Settings of Neural Linear.

use crate::math::linear::LinearPrior;
use crate::model::net::reward_net::RewardNetConfig;
use crate::registry::settings::{AgentConfig, config};

config! {
    /// Settings of Neural Linear. The defaults are those of the benchmark (Riquelme et al., ICLR 2018). The regressions see the
    /// output of the last hidden layer; a bounded replay makes them forget at every round of training.
    pub struct NeuralLinearConfig {
        /// λ, how strongly the prior holds the coefficients to 0
        prior_precision: f64 = 0.25, Range::within(1e-12, 1e12), "benchmark";
        /// a₀, the prior's shape of the noise variance
        prior_shape: f64 = 6.0, Range::within(0.1, 1e12), "benchmark";
        /// b₀, the prior's rate of the noise variance
        prior_rate: f64 = 6.0, Range::above(0.0, 1e12), "benchmark";
        ..net: RewardNetConfig = RewardNetConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

impl NeuralLinearConfig {
    pub(super) fn prior(&self) -> LinearPrior {
        LinearPrior { precision: self.prior_precision, shape: self.prior_shape, rate: self.prior_rate }
    }
}
