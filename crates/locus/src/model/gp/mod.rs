//! `multitask-gp`: Thompson sampling from a Gaussian process over contexts and actions.
//!
//! Rewards of all actions are one process, whose kernel ([`gp`](crate::gp)) says how contexts and actions vary together, so what is
//! seen of one action tells of others. Its parameters are learned by the marginal likelihood of random parts of what was seen
//! (`prior`, which FBNN has for its prior too); given them, the posterior is exact.

pub(crate) mod config;
pub(crate) mod model;
pub(crate) mod prior;
#[cfg(test)]
mod tests;

use config::MultitaskGpConfig;
use model::MultitaskGp;

use crate::registry::Definition;

pub(crate) fn definition() -> Definition<MultitaskGpConfig> {
    let summary = "Thompson sampling from a Gaussian process over contexts and actions, its kernel learned by the marginal likelihood";
    Definition::of::<MultitaskGp>("multitask-gp", summary)
}

buildable!(MultitaskGpConfig => MultitaskGp);

/// Every policy of the family.
pub(crate) fn all() -> Vec<std::sync::Arc<dyn crate::registry::Entry>> {
    vec![std::sync::Arc::new(definition())]
}
