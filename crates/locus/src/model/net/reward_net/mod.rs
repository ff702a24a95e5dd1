//! A net that predicts the reward of every action, trained on squared errors; shared by many policies.
//!
//! Neural Linear uses its features; ε-greedy, Boltzmann exploration, parameter noise, dropout and bootstrap use its predictions;
//! NeuralUCB and NeuralTS use its gradients. They all learn as the benchmark's neural policies do (Riquelme et al., ICLR 2018),
//! with the settings of [`RewardNetConfig`]: [`net::RewardNet`] is the net and its loss, [`Weights`] the net with its parameters,
//! and [`Trainer`] its training state.

mod config;
mod net;
#[cfg(test)]
mod tests;
mod trained;

pub use config::RewardNetConfig;
pub(crate) use net::{AllUnits, NetWork, RewardNet, Units};
pub(crate) use trained::{Extent, Trainer, Weights};
