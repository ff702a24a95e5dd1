//! NeuralUCB (Zhou, Li and Gu, 2020): upper confidence bounds of a net's predictions, with widths from its gradient.
//!
//! An action's value is its prediction plus γ widths; `gradient_net` defines the width. The choice is deterministic.

use crate::Rng;
use crate::model::net::gradient_net::{GradientNet, PrecisionMatrix, Widen};
use crate::model::net::reward_net::RewardNetConfig;
use crate::registry::Definition;
use crate::registry::settings::{AgentConfig, config};

config! {
    /// Settings of NeuralUCB. Those of the net are the benchmark's (Riquelme et al., ICLR 2018).
    pub struct NeuralUcbConfig {
        /// γ, the number of confidence widths added to a prediction
        exploration: f64 = 0.1, Range::within(0.0, 1e6), "our choice among the paper's values";
        /// λ, prior precision of the parameters around their initial values
        prior_precision: f64 = 1.0, Range::above(0.0, 1e12), "our choice among the paper's values";
        /// Precision matrix: its diagonal, as in the paper's experiments, or full
        precision_matrix: PrecisionMatrix = PrecisionMatrix::Diagonal, Range::ANY, "paper";
        ..net: RewardNetConfig = RewardNetConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

pub(crate) fn definition() -> Definition<NeuralUcbConfig> {
    let summary = "Upper confidence bounds of a net's predictions, from its gradient";
    Definition::of::<NeuralUcb>("neural-ucb", summary)
        .presets([("diagonal", NeuralUcbConfig::default()), ("full", NeuralUcbConfig::full())])
}

buildable!(NeuralUcbConfig => NeuralUcb);

/// A reward net with upper confidence bounds.
pub(crate) type NeuralUcb = GradientNet<NeuralUcbConfig>;

impl NeuralUcbConfig {
    fn full() -> Self {
        Self { precision_matrix: PrecisionMatrix::Full, ..Self::default() }
    }
}

impl Widen for NeuralUcbConfig {
    const SPREAD: Option<fn(&Self) -> f64> = None;

    fn net(&self) -> &RewardNetConfig {
        &self.net
    }

    fn agent(&self) -> &AgentConfig {
        &self.agent
    }

    fn precision(&self) -> (f64, PrecisionMatrix) {
        (self.prior_precision, self.precision_matrix)
    }

    fn deviate(&self, _rng: &mut Rng, deviations: &mut [f64]) {
        deviations.fill(self.exploration);
    }
}
