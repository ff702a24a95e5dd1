//! What training a net takes, whatever the net.

pub(crate) mod breakdown;
pub(crate) mod minibatch;
pub(crate) mod optimized;
pub(crate) mod reward_scaling;
