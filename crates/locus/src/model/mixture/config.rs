//! Settings of Locus.

use crate::model::linear::pooled::{Exploration, PooledConfig, Precision};
use crate::registry::settings::{AgentConfig, config};
use crate::registry::values::Layers;

config! {
    /// Settings of Locus.
    pub struct LocusConfig {
        /// ν, strength of the prior on λ: λ₀ counts as this many coefficients when λ is fitted
        precision_strength: f64 = 50.0, Range::within(0.0, 1e12), "our choice";
        /// D₀: with fewer coefficients than this, tempering starts later
        tempering_coefficients: f64 = 70.0, Range::within(0.0, 1e12), "our choice";
        /// Cap on t for an action, in units of A²·max(n_a, 1) with its n_a observations in the replay: actions with few
        /// observations are not tempered yet
        tempering_rarity: f64 = 0.35, Range::within(0.0, 1e12), "our choice";
        /// Discount of the experts' evidence after each observation
        evidence_discount: f64 = 0.99, Range::within(0.0, 1.0), "our choice";
        /// Prior standard deviation of the net features' contribution to a reward
        net_size: f64 = 0.35, Range::above(0.0, 1e6), "our choice";
        /// Hidden layers of the net; the outputs of the last one are the features
        hidden_layers: Layers = Layers(vec![50]), Range::within(1.0, 9.0), "our choice";
        /// Learning rate of Adam
        learning_rate: f64 = 1e-3, Range::above(0.0, 10.0), "our choice";
        /// Initial standard deviations of rewards, on the policy's scale
        reward_std: f64 = 0.5, Range::above(0.0, 1e6), "authors' program of LU-Gauss";
        /// N, rows per minibatch
        batch_size: u32 = 512, Range::within(2.0, 1e6), "as the LU nets";
        /// Observations between rounds of training, which also recompute the scale
        train_every: u32 = 20, Range::within(1.0, 1e6), "as the LU nets";
        /// Minibatches per round of training
        minibatches: u32 = 40, Range::within(1.0, 1e6), "as the LU nets";
        ..pooled: PooledConfig = PooledConfig::default().prior_shape(3.0).prior_rate(3.0).tempering_steps(10.0);
        ..agent: AgentConfig = AgentConfig::default();
    }
}

impl LocusConfig {
    pub(super) fn precision_rule(&self) -> Precision {
        Precision::fitted(self.pooled.prior_precision, self.precision_strength)
    }

    pub(super) fn exploration(&self) -> Exploration {
        Exploration {
            tempering_coefficients: self.tempering_coefficients,
            tempering_rarity: self.tempering_rarity,
            ..self.pooled.exploration_by_steps()
        }
    }
}
