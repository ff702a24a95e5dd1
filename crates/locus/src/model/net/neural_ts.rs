//! NeuralTS (Zhang, Zhou, Li and Gu, 2021): Thompson sampling around a net's predictions, with widths from its gradient.
//!
//! Every action's reward is drawn independently from `N(f, ν²λ·gᵀZ⁻¹g)`: in function space, not from one draw of the parameters.
//! `gradient_net` defines the width `√(gᵀZ⁻¹g)`.

use crate::Rng;
use crate::model::net::gradient_net::{GradientNet, PrecisionMatrix, Widen};
use crate::model::net::reward_net::RewardNetConfig;
use crate::registry::Definition;
use crate::registry::settings::{AgentConfig, config};

config! {
    /// Settings of NeuralTS. Those of the net are the benchmark's (Riquelme et al., ICLR 2018).
    pub struct NeuralTsConfig {
        /// ν, the factor on the standard deviation of a posterior sample
        exploration: f64 = 0.1, Range::within(0.0, 1e6), "our choice among the paper's values";
        /// λ, prior precision of the parameters around their initial values
        prior_precision: f64 = 1.0, Range::above(0.0, 1e12), "our choice among the paper's values";
        /// Precision matrix: its diagonal, as in the paper's experiments, or full
        precision_matrix: PrecisionMatrix = PrecisionMatrix::Diagonal, Range::ANY, "paper";
        ..net: RewardNetConfig = RewardNetConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

pub(crate) fn definition() -> Definition<NeuralTsConfig> {
    let summary = "Thompson sampling around a net's predictions, with widths from its gradient";
    Definition::of::<NeuralTs>("neural-ts", summary)
        .presets([("diagonal", NeuralTsConfig::default()), ("full", NeuralTsConfig::full())])
}

buildable!(NeuralTsConfig => NeuralTs);

/// A reward net with Thompson sampling around its predictions.
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
