//! The settings that every policy with a reward net has.

use crate::agent::wrapper::Planned;
use crate::registry::values::Layers;

/// Settings of a policy with a reward net.
pub trait NetConfig: Planned {
    /// What the net is, and how it learns.
    fn net(&self) -> NetSettings;
}

/// What a reward net is, and how it learns.
#[derive(Clone, Debug, PartialEq)]
pub struct NetSettings {
    /// Hidden layers.
    pub hidden_layers: Layers,
    /// Weights start uniformly between minus this and this.
    pub initial_weights: f64,
    /// Learning rate of RMSProp at the start.
    pub learning_rate: f64,
    /// How quickly it falls.
    pub learning_rate_decay: f64,
    /// The length to which gradients are shortened.
    pub max_gradient_norm: f64,
    /// N, rows of a minibatch.
    pub batch_size: usize,
    /// Minibatches of a round of training.
    pub minibatches: u32,
}

impl NetSettings {
    /// The learning rate of the next minibatch after `n_steps` of them.
    pub(crate) fn learning_rate_after(&self, n_steps: u64) -> f32 {
        (self.learning_rate / (1.0 + self.learning_rate_decay * n_steps as f64)) as f32
    }
}

/// Declares the settings of a policy with a reward net: those of the net, the policy's own, and the initial pulls. The module must
/// have `Capacity` and `Layers` in scope.
macro_rules! reward_net_config {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $crate::registry::settings::config! {
            $(#[$meta])*
            pub struct $name {
                /// Hidden layers of the net that predicts rewards; without any it is linear
                hidden_layers: Layers = Layers(vec![50]), Range::from(0.0, 9.0), "benchmark";
                /// Weights start uniformly between minus this and this, biases at 0
                initial_weights: f64 = 0.3, Range::above(0.0, 1e3), "benchmark";
                /// Learning rate of RMSProp at the start
                learning_rate: f64 = 0.1, Range::above(0.0, 10.0), "benchmark";
                /// After k minibatches, over the policy's whole life, the learning rate is divided by 1 + k times this
                learning_rate_decay: f64 = 0.5, Range::from(0.0, 1e3), "benchmark";
                /// The length to which gradients are shortened where they are longer
                max_gradient_norm: f64 = 5.0, Range::above(0.0, 1e12), "benchmark";
                /// N, rows of a minibatch
                batch_size: u32 = 512, Range::from(2.0, 1e6), "benchmark";
                /// Observations from one round of training to the next
                train_every: u32 = 50, Range::from(1.0, 1e6), "benchmark";
                /// Minibatches of a round of training
                minibatches: u32 = 100, Range::from(1.0, 1e6), "benchmark";
                /// How many of the last observations are trained on
                replay_capacity: Capacity = Capacity(None), Range::ANY, "benchmark";
                $($own)*
                /// How often every action is played, round robin, before the model decides
                initial_pulls: u32 = 2, Range::from(0.0, 1000.0), "benchmark";
            }
        }

        impl $crate::model::net::reward_net::NetConfig for $name {
            fn net(&self) -> $crate::model::net::reward_net::NetSettings {
                $crate::model::net::reward_net::NetSettings {
                    hidden_layers: self.hidden_layers.clone(),
                    initial_weights: self.initial_weights,
                    learning_rate: self.learning_rate,
                    learning_rate_decay: self.learning_rate_decay,
                    max_gradient_norm: self.max_gradient_norm,
                    batch_size: self.batch_size as usize,
                    minibatches: self.minibatches,
                }
            }
        }

        impl $crate::agent::wrapper::Planned for $name {
            fn plan(&self) -> $crate::agent::wrapper::Plan {
                $crate::agent::wrapper::Plan::trained(
                    self.initial_pulls,
                    self.train_every,
                    self.replay_capacity.0,
                )
            }
        }
    };
}
pub(crate) use reward_net_config;
