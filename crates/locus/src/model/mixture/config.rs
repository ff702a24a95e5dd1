//! Settings of Locus.

use crate::model::linear::pooled::{Exploration, PooledConfig, Precision};
use crate::registry::settings::{AgentConfig, config};
use crate::registry::values::Layers;

config! {
    /// Settings of Locus.
    pub struct LocusConfig {
        /// ν, how many coefficients λ₀ counts as where λ is fitted
        precision_strength: f64 = 50.0, Range::within(0.0, 1e12), "our choice";
        /// D₀: with fewer coefficients than this, tempering comes later
        tempering_coefficients: f64 = 70.0, Range::within(0.0, 1e12), "our choice";
        /// t counts for an action as at most this many times A²·max(n_a, 1), where n_a are its observations that are kept: what was hardly tried is not yet tempered
        tempering_rarity: f64 = 0.35, Range::within(0.0, 1e12), "our choice";
        /// What is left of the evidence for the experts after each observation
        evidence_discount: f64 = 0.99, Range::within(0.0, 1.0), "our choice";
        /// The standard deviation of what the net's features add to a reward before anything is known
        net_size: f64 = 0.35, Range::above(0.0, 1e6), "our choice";
        /// Hidden layers of the net; the last one gives the features
        hidden_layers: Layers = Layers(vec![50]), Range::within(1.0, 9.0), "our choice";
        /// Learning rate of Adam
        learning_rate: f64 = 1e-3, Range::above(0.0, 10.0), "our choice";
        /// The standard deviations of rewards at the start, on the policy's scale
        reward_std: f64 = 0.5, Range::above(0.0, 1e6), "authors' program of LU-Gauss";
        /// N, rows of a minibatch
        batch_size: u32 = 512, Range::within(2.0, 1e6), "as the LU nets";
        /// Observations from one round of training, and of taking the scale anew, to the next
        train_every: u32 = 20, Range::within(1.0, 1e6), "as the LU nets";
        /// Minibatches of a round of training
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
