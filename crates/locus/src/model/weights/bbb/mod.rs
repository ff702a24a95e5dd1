//! BBB, "Bayes by Backprop": a net whose weights are independent Gaussians (Blundell et al., ICML 2015), as in the benchmark.
//!
//! Uncertainty is global: it is in the weights, which all contexts share. Their means and standard deviations are fitted to the
//! posterior by stochastic gradients, and one draw of the weights makes one decision. [`model`] has the implementation; the
//! layers are those of [`nn::BayesMlp`](crate::math::nn::BayesMlp).

pub(crate) mod config;
pub(crate) mod model;
#[cfg(test)]
mod tests;

use config::BbbConfig;
use model::Bbb;

use crate::registry::Definition;

pub(crate) fn definition() -> Definition<BbbConfig> {
    let summary = "Thompson sampling with a net of independent Gaussian weights, fitted by Bayes by Backprop";
    Definition::of::<Bbb>("bbb", summary).presets([("authors", BbbConfig::default())])
}

buildable!(BbbConfig => Bbb);
