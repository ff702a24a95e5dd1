//! π-TS-DGF: Thompson sampling with particles that flow towards the posterior (Zhang, Wen, Chen and Carin, "Scalable Thompson
//! Sampling via Optimal Transport", AISTATS 2019).
//!
//! M nets stand for the posterior of one: a decision draws a net and takes the action that it likes best. Training moves all nets
//! at once, along the gradients of their log posteriors and by a force between them ([`flow`]); [`model`] has nets and rewards.
//!
//! # What the authors' update does
//!
//! Preset `authors`, the default, is what the authors' program runs. The usual repulsive term ∇k is absent from it, and its
//! Wasserstein term pulls a particle towards the places where others were, as soon as these are more than h' away. So on a Gaussian
//! target the mean comes out right and the spread collapses (see the tests). Besides, every parameter of every particle moves by
//! the step size in the direction of its sign, the likelihood is that of the minibatch alone whatever the number of observations,
//! and the noise of rewards has a fixed variance of ½. What is left of Thompson sampling is an ensemble that started from different nets.
//!
//! Preset `stein` is Stein variational gradient descent (Liu and Wang, NeurIPS 2016): the force is ∇k, the likelihood counts all
//! observations, and steps are relative to the root mean square of past directions, which is the accumulator that the authors' program has
//! but begins anew at every step. It finds mean and spread of a Gaussian.

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
    let summary = "Thompson sampling with nets as particles, moved by gradients and a force between them";
    Definition::of::<PiTsDgf>("pi-ts-dgf", summary)
        .presets([("authors", PiTsDgfConfig::authors()), ("stein", PiTsDgfConfig::stein())])
}

buildable!(PiTsDgfConfig => PiTsDgf);
