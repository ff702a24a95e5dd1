//! What `lin-pool` and `locus` share: rewards and contexts on one scale, and noise that all actions share.
//!
//! [`Scale`] brings whatever comes to numbers that one prior suits, and `Precision` fits that prior to them where it
//! is asked to. [`Exploration`] says how far a draw deviates from the mean: by the noise of all actions together or of the action
//! itself, and less the more was seen. [`PooledConfig`] has their settings.

mod config;
mod exploration;
mod precision;
mod scale;

pub use config::PooledConfig;
pub(crate) use exploration::pooled_noise;
pub(crate) use exploration::{Exploration, Seen};
pub(crate) use precision::Precision;
pub(crate) use scale::Scale;
