//! FBNN, a functional variational Bayesian neural network (Sun, Zhang, Shi and Grosse, ICLR 2019).
//!
//! As in BBB the weights of a net are independent Gaussians, but the prior is over functions rather than weights: the Gaussian
//! process of [`multitask_gp`](crate::model::gp), learned by its marginal likelihood. The distribution of the net's functions and
//! the prior are compared at finitely many points, those of a minibatch and random ones. The score of the drawn functions is not
//! known in closed form; `stein` estimates it from the draws. `objective` is the rest of the loss, [`model`] the training.

pub(crate) mod config;
pub(crate) mod model;
mod objective;
mod stein;
#[cfg(test)]
mod tests;

use config::FbnnConfig;
use model::Fbnn;

use crate::registry::Definition;

pub(crate) fn definition() -> Definition<FbnnConfig> {
    let summary = "Thompson sampling with a net of independent Gaussian weights and a Gaussian-process prior over functions";
    Definition::of::<Fbnn>("fbnn", summary).presets([
        ("1x50", FbnnConfig::default()),
        ("2x50", FbnnConfig::sized(&[50, 50])),
        ("3x50", FbnnConfig::sized(&[50, 50, 50])),
        ("1x500", FbnnConfig::sized(&[500])),
        ("2x500", FbnnConfig::sized(&[500, 500])),
        ("3x500", FbnnConfig::sized(&[500, 500, 500])),
    ])
}

buildable!(FbnnConfig => Fbnn);
