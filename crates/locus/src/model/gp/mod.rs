//! `multitask-gp`: Thompson sampling from a Gaussian process over contexts and actions.
//!
//! One process models the rewards of all actions. Its kernel ([`gp`](crate::gp)) is the covariance between contexts and actions,
//! so rewards of one action inform about others. The kernel's parameters are learned by maximizing the marginal likelihood of
//! random subsets of the observations (`prior`, which FBNN also uses for its prior); given them, the posterior is exact.

pub(crate) mod config;
pub(crate) mod model;
pub(crate) mod prior;
#[cfg(test)]
mod tests;

use config::MultitaskGpConfig;
use model::MultitaskGp;

use crate::registry::Definition;

pub(crate) fn definition() -> Definition<MultitaskGpConfig> {
    let summary = "Thompson sampling from a Gaussian process over contexts and actions; its kernel is learned by marginal likelihood";
    Definition::of::<MultitaskGp>("multitask-gp", summary)
}

buildable!(MultitaskGpConfig => MultitaskGp);

/// The policies of this family.
pub(crate) fn all() -> Vec<std::sync::Arc<dyn crate::registry::Entry>> {
    vec![std::sync::Arc::new(definition())]
}
