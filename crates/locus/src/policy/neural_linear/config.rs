//! Settings of Neural Linear.

use super::{NeuralLinear, REGISTERED};
use crate::config::config;
use crate::linear::LinearPrior;
use crate::policy::registry::Identity;
use crate::policy::settings::{Capacity, Layers};
use crate::policy::thompson::{Plan, Thompson, Training};
use crate::{Error, Seed, Shape};

config! {
    /// Settings of Neural Linear. The defaults are those of the benchmark (Riquelme et al., ICLR 2018).
    pub struct NeuralLinearConfig {
        /// Hidden layers of the net; the regressions see the output of the last one
        hidden_layers: Layers = Layers(vec![50]), Range::from(1.0, 9.0), "benchmark";
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
        /// How many of the last observations the net is trained on; a round of training makes the regressions forget the others
        replay_capacity: Capacity = Capacity(None), Range::ANY, "benchmark";
        /// λ, how strongly the prior holds the coefficients to 0
        prior_precision: f64 = 0.25, Range::from(1e-12, 1e12), "benchmark";
        /// a₀, the prior's shape of the noise variance
        prior_shape: f64 = 6.0, Range::from(0.1, 1e12), "benchmark";
        /// b₀, the prior's rate of the noise variance
        prior_rate: f64 = 6.0, Range::above(0.0, 1e12), "benchmark";
        /// How often every action is played, round robin, before the model decides
        initial_pulls: u32 = 2, Range::from(0.0, 1000.0), "benchmark";
    }
}

impl NeuralLinearConfig {
    /// Builds the policy.
    pub fn build(&self, shape: Shape, seed: Seed) -> Result<Thompson<NeuralLinear>, Error> {
        Thompson::new(self, Identity { spec: REGISTERED.spec(self)?, shape, seed })
    }

    pub(super) fn prior(&self) -> LinearPrior {
        LinearPrior { precision: self.prior_precision, shape: self.prior_shape, rate: self.prior_rate }
    }

    pub(super) fn plan(&self) -> Plan {
        let training = Training { every: self.train_every, replay_capacity: self.replay_capacity.0 };
        Plan { initial_pulls: self.initial_pulls, training: Some(training) }
    }

    /// The learning rate of the next minibatch after `n_steps` of them.
    pub(super) fn learning_rate_after(&self, n_steps: u64) -> f32 {
        (self.learning_rate / (1.0 + self.learning_rate_decay * n_steps as f64)) as f32
    }
}
