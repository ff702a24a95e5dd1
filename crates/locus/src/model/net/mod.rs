//! Policies around a net that predicts rewards by squared error.

pub mod boltzmann;
pub mod bootstrap;
pub mod dropout;
pub mod epsilon_greedy;
mod gradient_net;
pub mod neural_linear;
pub mod neural_ts;
pub mod neural_ucb;
pub mod param_noise;
mod randomized;
pub(crate) mod reward_net;
