//! The settings that every policy with a reward net has.

use crate::agent::Plan;
use crate::registry::settings::{AgentConfig, config};
use crate::registry::values::{Capacity, Layers};

config! {
    /// Settings of a net that predicts rewards, and of its training. The defaults are those of the benchmark (Riquelme et al., ICLR 2018).
    pub struct RewardNetConfig {
        /// Hidden layers of the net that predicts rewards; without any it is linear
        hidden_layers: Layers = Layers(vec![50]), Range::within(0.0, 9.0), "benchmark";
        /// Weights start uniformly between minus this and this, biases at 0
        initial_weights: f64 = 0.3, Range::above(0.0, 1e3), "benchmark";
        /// Learning rate of RMSProp at the start
        learning_rate: f64 = 0.1, Range::above(0.0, 10.0), "benchmark";
        /// After k minibatches, over the policy's whole life, the learning rate is divided by 1 + k times this
        learning_rate_decay: f64 = 0.5, Range::within(0.0, 1e3), "benchmark";
        /// The length to which gradients are shortened where they are longer
        max_gradient_norm: f64 = 5.0, Range::above(0.0, 1e12), "benchmark";
        /// N, rows of a minibatch
        batch_size: u32 = 512, Range::within(2.0, 1e6), "benchmark";
        /// Observations from one round of training to the next
        train_every: u32 = 50, Range::within(1.0, 1e6), "benchmark";
        /// Minibatches of a round of training
        minibatches: u32 = 100, Range::within(1.0, 1e6), "benchmark";
        /// How many of the last observations are trained on
        replay_capacity: Capacity = Capacity(None), Range::ANY, "benchmark";
    }
}

impl RewardNetConfig {
    /// The learning rate of the next minibatch after `n_steps` of them.
    pub(crate) fn learning_rate_after(&self, n_steps: u64) -> f32 {
        (self.learning_rate / (1.0 + self.learning_rate_decay * n_steps as f64)) as f32
    }

    pub(crate) fn plan(&self, agent: &AgentConfig) -> Plan {
        Plan::trained(agent, self.train_every, self.replay_capacity.0)
    }
}
