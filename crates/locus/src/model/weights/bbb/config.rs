//! Settings of BBB.

use crate::math::nn::BayesStart;
use crate::registry::settings::{AgentConfig, ReplayConfig, config};
use crate::registry::values::{Capacity, Layers, Switch};

config! {
    /// Settings of BBB. The defaults are those of the authors' program.
    pub struct BbbConfig {
        /// Hidden layers of the net that maps the context to rewards
        layers: Layers = Layers(vec![50]), Range::within(0.0, 9.0), "authors' program";
        /// Standard deviation of a reward around its mean
        noise_std: f64 = 0.1, Range::above(0.0, 1e6), "authors' program";
        /// Prior variance of a weight, times the number of inputs of its layer
        prior_gain: f64 = 2.0, Range::above(0.0, 1e6), "authors' program";
        /// Initial standard deviation of the weights' means and of the biases
        initial_mean_std: f64 = 0.05, Range::within(0.0, 1e3), "authors' program";
        /// Initial log standard deviations of the weights: mean
        initial_log_std: f64 = -5.0, Range::within(-10.0, 2.0), "authors' program";
        /// Initial log standard deviations of the weights: spread
        initial_log_std_spread: f64 = 0.05, Range::within(0.0, 1.0), "authors' program";
        /// Added to the variance of every sum in training, so that its square root is differentiable
        variance_floor: f64 = 1e-6, Range::within(1e-12, 1.0), "authors' program";
        /// Learning rate of Adam
        learning_rate: f64 = 0.1, Range::above(0.0, 10.0), "authors' program";
        /// Whether rewards are standardized by the mean and standard deviation of all rewards so far; if rewards may change scale
        /// abruptly, bound the replay too
        reward_scaling: Switch = Switch::Off, Range::ANY, "our addition";
        /// N, rows per minibatch
        batch_size: u32 = 512, Range::within(2.0, 1e6), "authors' program";
        /// Observations between rounds of training
        train_every: u32 = 50, Range::within(1.0, 1e6), "authors' program";
        /// Minibatches per round of training
        minibatches: u32 = 100, Range::within(1.0, 1e6), "authors' program";
        /// Replay capacity: how many of the last observations are trained on
        replay_capacity: Capacity = Capacity(None), Range::ANY, "authors' program";
        /// S, posterior samples that give the probabilities of a decision, if they are requested or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..replay: ReplayConfig = ReplayConfig::default();
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
