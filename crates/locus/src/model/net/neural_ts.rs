//! NeuralTS (Zhang, Zhou, Li and Gu, 2021): Thompson sampling around a net's predictions, as wide as its gradient says.
//!
//! Every action's reward is drawn by itself, `N(f, ν²λ·gᵀZ⁻¹g)`: in function space, not from one draw of the parameters.
//! `gradient_net` says what the width `√(gᵀZ⁻¹g)` is.

use crate::Rng;
use crate::model::net::gradient_net::{GradientNet, PrecisionMatrix, Widen};
use crate::model::net::reward_net::RewardNetConfig;
use crate::registry::Definition;
use crate::registry::settings::{AgentConfig, config};

config! {
    /// Settings of NeuralTS. Those of the net are the benchmark's (Riquelme et al., ICLR 2018).
    pub struct NeuralTsConfig {
        /// ν, by which the deviation of a draw is multiplied
        exploration: f64 = 0.1, Range::within(0.0, 1e6), "our choice among the paper's";
        /// λ, the precision of the parameters before any observation, with which they are drawn back to where they began
        prior_precision: f64 = 1.0, Range::above(0.0, 1e12), "our choice among the paper's";
        /// How much of the precision matrix is kept: its diagonal, as in the paper's experiments, or all
        precision_matrix: PrecisionMatrix = PrecisionMatrix::Diagonal, Range::ANY, "paper";
        ..net: RewardNetConfig = RewardNetConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

pub(crate) fn definition() -> Definition<NeuralTsConfig> {
    let summary = "Thompson sampling around a net's predictions, as wide as its gradient says";
    Definition::of::<NeuralTs>("neural-ts", summary)
        .presets([("diagonal", NeuralTsConfig::default()), ("full", NeuralTsConfig::full())])
}

buildable!(NeuralTsConfig => NeuralTs);

/// A reward net whose predictions are drawn around.
pub(crate) type NeuralTs = GradientNet<NeuralTsConfig>;

impl NeuralTsConfig {
    fn full() -> Self {
        Self { precision_matrix: PrecisionMatrix::Full, ..Self::default() }
    }

    /// ν√λ
    fn scale(&self) -> f64 {
        self.exploration * self.prior_precision.sqrt()
    }
}

impl Widen for NeuralTsConfig {
    const SPREAD: Option<fn(&Self) -> f64> = Some(Self::scale);

    fn net(&self) -> &RewardNetConfig {
        &self.net
    }

    fn agent(&self) -> &AgentConfig {
        &self.agent
    }

    fn precision(&self) -> (f64, PrecisionMatrix) {
        (self.prior_precision, self.precision_matrix)
    }

    fn deviate(&self, rng: &mut Rng, deviations: &mut [f64]) {
        let scale = self.scale();
        deviations.iter_mut().for_each(|deviation| *deviation = scale * rng.normal());
    }
}
