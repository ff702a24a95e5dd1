//! π-TS-DGF: Thompson sampling with particles that flow towards the posterior (Zhang, Wen, Chen and Carin, "Scalable Thompson
//! Sampling via Optimal Transport", AISTATS 2019).
//!
//! M nets represent the posterior: a decision draws a net and takes the action with its highest prediction. Training moves all
//! nets together, along the gradients of their log posteriors and by a force between them ([`flow`]); [`model`] has the nets and
//! the rewards.
//!
//! # What the authors' update does
//!
//! Preset `authors`, the default, is the authors' program. It lacks the usual repulsive term ∇k, and its Wasserstein term
//! attracts a particle to the previous positions of the others if they are more than h' away. So on a Gaussian target the mean is
//! right and the spread collapses (see the tests). Also, every parameter of every particle moves by the step size in the
//! direction of its sign, the likelihood is that of the minibatch regardless of the number of observations, and the reward noise
//! has a fixed variance of ½. In effect this is an ensemble of nets with different initial weights.
//!
//! Preset `stein` is Stein variational gradient descent (Liu and Wang, NeurIPS 2016): the force is ∇k, the likelihood counts all
//! observations, and steps are relative to the root mean square of past directions, which is the accumulator that the authors'
//! program resets at every step. It recovers the mean and the spread of a Gaussian.

pub(crate) mod config;
#[allow(unreachable_pub, reason = "benchmarks measure it")]
pub(crate) mod flow;
pub(crate) mod model;
#[cfg(test)]
mod tests;

use config::PiTsDgfConfig;
use model::PiTsDgf;

use crate::registry::Definition;

pub(crate) fn definition() -> Definition<PiTsDgfConfig> {
    let summary = "Thompson sampling with an ensemble of nets, moved as particles by gradients and a force between them";
    Definition::of::<PiTsDgf>("pi-ts-dgf", summary)
        .presets([("authors", PiTsDgfConfig::authors()), ("stein", PiTsDgfConfig::stein())])
}

buildable!(PiTsDgfConfig => PiTsDgf);
