//! A net that predicts the reward of every action: what all policies share that learn one by squared errors.
//!
//! Neural Linear takes its features, ε-greedy, Boltzmann exploration, parameter noise, dropout and bootstrap its predictions, NeuralUCB
//! and NeuralTS its gradients. They
//! all learn as the benchmark's neural policies do (Riquelme et al., ICLR 2018), with the settings that
//! [`reward_net_config!`] declares once: [`net::RewardNet`] is the net and its loss, [`TrainedNet`] a net with what it has learned.

mod config;
mod net;
#[cfg(test)]
mod tests;
mod trained;

pub(crate) use config::{NetConfig, NetSettings, reward_net_config};
pub(crate) use net::{AllUnits, NetWork, RewardNet, Units};
pub(crate) use trained::TrainedNet;
