//! Settings of BBB.

use crate::math::nn::BayesStart;
use crate::registry::settings::{AgentConfig, config};
use crate::registry::values::{Capacity, Layers, Switch};

config! {
    /// Settings of BBB. The defaults are what the authors' program runs.
    pub struct BbbConfig {
        /// Hidden layers of the net that maps the context to rewards
        layers: Layers = Layers(vec![50]), Range::within(0.0, 9.0), "authors' program";
        /// Standard deviation of a reward around its mean
        noise_std: f64 = 0.1, Range::above(0.0, 1e6), "authors' program";
        /// The prior's variance of a weight, times the inputs of its layer
        prior_gain: f64 = 2.0, Range::above(0.0, 1e6), "authors' program";
        /// Standard deviation of the weights' means, and of the biases, at the start
        initial_mean_std: f64 = 0.05, Range::within(0.0, 1e3), "authors' program";
        /// Mean of the logarithms of the weights' standard deviations at the start
        initial_log_std: f64 = -5.0, Range::within(-10.0, 2.0), "authors' program";
        /// Standard deviation of the logarithms of the weights' standard deviations at the start
        initial_log_std_spread: f64 = 0.05, Range::within(0.0, 1.0), "authors' program";
        /// What is added to the variance of every sum in training, so that its root has a slope
        variance_floor: f64 = 1e-6, Range::within(1e-12, 1.0), "authors' program";
        /// Learning rate of Adam
        learning_rate: f64 = 0.1, Range::above(0.0, 10.0), "authors' program";
        /// Whether rewards are standardized by the mean and deviation of all seen so far; if they may jump, bound the replay too
        reward_scaling: Switch = Switch::Off, Range::ANY, "our addition";
        /// N, rows of a minibatch
        batch_size: u32 = 512, Range::within(2.0, 1e6), "authors' program";
        /// Observations from one round of training to the next
        train_every: u32 = 50, Range::within(1.0, 1e6), "authors' program";
        /// Minibatches of a round of training
        minibatches: u32 = 100, Range::within(1.0, 1e6), "authors' program";
        /// How many of the last observations are trained on
        replay_capacity: Capacity = Capacity(None), Range::ANY, "authors' program";
        /// S, draws that the probabilities of a decision are shares of, where they are asked for or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..agent: AgentConfig = AgentConfig::default();
    }
}

impl BbbConfig {
    pub(super) fn start(&self) -> BayesStart {
        BayesStart {
            mean_std: self.initial_mean_std,
            log_std: self.initial_log_std,
            log_std_spread: self.initial_log_std_spread,
        }
    }
}
