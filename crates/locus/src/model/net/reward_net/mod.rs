//! A net that predicts the reward of every action: what all policies share that learn one by squared errors.
//!
//! Neural Linear takes its features, ε-greedy, Boltzmann exploration, parameter noise, dropout and bootstrap its predictions, NeuralUCB
//! and NeuralTS its gradients. They
//! all learn as the benchmark's neural policies do (Riquelme et al., ICLR 2018), with the settings of [`RewardNetConfig`]:
//! [`net::RewardNet`] is the net and its loss, [`Weights`] the net with its parameters, which decides, and [`Trainer`] what trains it.

mod config;
mod net;
#[cfg(test)]
mod tests;
mod trained;

pub use config::RewardNetConfig;
pub(crate) use net::{AllUnits, NetWork, RewardNet, Units};
pub(crate) use trained::{Trainer, Weights};
