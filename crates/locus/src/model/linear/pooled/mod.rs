//! The parts that `lin-pool` and `locus` share: scaling of rewards and contexts, and pooled noise.
//!
//! [`Scale`] standardizes rewards and contexts so that one prior suits all problems, and `Precision` optionally fits that prior.
//! [`Exploration`] sets the standard deviation of posterior samples: from the pooled noise or the action's own noise, and
//! decreasing with the number of observations. [`PooledConfig`] has their settings.

mod config;
mod exploration;
mod precision;
mod scale;

pub use config::PooledConfig;
pub(crate) use exploration::{Exploration, Seen, decode_n_built, encode_n_built, pooled_noise};
pub(crate) use precision::Precision;
pub(crate) use scale::Scale;
