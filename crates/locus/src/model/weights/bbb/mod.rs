//! BBB, "Bayes by Backprop": a net whose weights are independent Gaussians (Blundell et al., ICML 2015), as the benchmark has it.
//!
//! Uncertainty is global: it lies in the weights, which all contexts share. Their means and deviations are fitted to the posterior
//! by stochastic gradients, and one draw of the weights makes one decision. [`model`] holds all of it; the layers are those
//! of [`nn::BayesMlp`](crate::math::nn::BayesMlp).

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
