//! Settings of every policy with a reward net.

use crate::agent::Plan;
use crate::registry::settings::{AgentConfig, ReplayConfig, config};
use crate::registry::values::{Capacity, Layers};

config! {
    /// Settings of a reward net and its training.
    ///
    /// The defaults are those of the benchmark (Riquelme et al., ICLR 2018).
    pub struct RewardNetConfig {
        /// Hidden layers of the reward net; without any it is linear
        hidden_layers: Layers = Layers(vec![50]), Range::within(0.0, 9.0), "benchmark";
        /// Bound b of the initial weights, uniform between -b and b; biases start at 0
        initial_weights: f64 = 0.3, Range::above(0.0, 1e3), "benchmark";
        /// Initial learning rate of RMSProp
        learning_rate: f64 = 0.1, Range::above(0.0, 10.0), "benchmark";
        /// Decay d of the learning rate: after k minibatches in total it is divided by 1 + k·d; with a half-life, k is what remains
        /// of them
        learning_rate_decay: f64 = 0.5, Range::within(0.0, 1e3), "benchmark";
        /// Gradients with a larger norm are clipped to this norm
        max_gradient_norm: f64 = 5.0, Range::above(0.0, 1e12), "benchmark";
        /// N, rows per minibatch
        batch_size: u32 = 512, Range::within(2.0, 1e6), "benchmark";
        /// Observations between rounds of training
        train_every: u32 = 50, Range::within(1.0, 1e6), "benchmark";
        /// Minibatches per round of training
        minibatches: u32 = 100, Range::within(1.0, 1e6), "benchmark";
        /// Replay capacity: how many of the last observations are trained on
        replay_capacity: Capacity = Capacity(None), Range::ANY, "benchmark";
        ..replay: ReplayConfig = ReplayConfig::default();
    }
}

impl RewardNetConfig {
    /// The learning rate of the next minibatch after `n_steps` of them; with a half-life, after what remains of their number.
    pub(crate) fn learning_rate_after(&self, n_steps: f64) -> f32 {
        (self.learning_rate / (1.0 + self.learning_rate_decay * n_steps)) as f32
    }

    pub(crate) fn plan(&self, agent: &AgentConfig) -> Plan {
        Plan::trained(agent, self.train_every, self.replay_capacity.0).on_replay(&self.replay)
    }
}
