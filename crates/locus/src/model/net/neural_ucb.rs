//! NeuralUCB (Zhou, Li and Gu, 2020): the action whose predicted reward could be the highest, by the confidence that the net's gradient gives.
//!
//! An action is valued γ widths above its prediction; `gradient_net` says what the width is. The choice is certain.

use crate::Rng;
use crate::model::net::gradient_net::{GradientNet, PrecisionMatrix, Widen};
use crate::model::net::reward_net::RewardNetConfig;
use crate::registry::Definition;
use crate::registry::settings::{AgentConfig, config};

config! {
    /// Settings of NeuralUCB. Those of the net are the benchmark's (Riquelme et al., ICLR 2018).
    pub struct NeuralUcbConfig {
        /// γ, how many widths are added to a prediction
        exploration: f64 = 0.1, Range::within(0.0, 1e6), "our choice among the paper's";
        /// λ, the precision of the parameters before any observation, with which they are drawn back to where they began
        prior_precision: f64 = 1.0, Range::above(0.0, 1e12), "our choice among the paper's";
        /// How much of the precision matrix is kept: its diagonal, as in the paper's experiments, or all
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

/// A reward net that is acted on by upper confidence bounds.
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
