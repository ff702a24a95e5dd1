//! Training code that all nets share.

pub(crate) mod breakdown;
pub(crate) mod minibatch;
pub(crate) mod optimized;
pub(crate) mod reward_scaling;
