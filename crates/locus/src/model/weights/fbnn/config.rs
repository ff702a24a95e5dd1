//! Settings of FBNN.

use crate::math::nn::BayesStart;
use crate::model::gp::prior::PriorSettings;
use crate::registry::settings::{AgentConfig, config};
use crate::registry::values::{Capacity, Layers, LikelihoodScale};

config! {
    /// Settings of FBNN. Presets differ in the hidden layers alone. "Its program" is the one released with Sun et al. (ICLR 2019).
    pub struct FbnnConfig {
        /// Hidden layers of the net that maps the context to rewards
        layers: Layers = Layers(vec![50]), Range::within(0.0, 9.0), "paper, the sizes it quotes";
        /// Nets that are drawn for a minibatch, to tell from their functions how probable these are
        samples: u32 = 50, Range::within(2.0, 1000.0), "our choice: half of its program's, for speed";
        /// Random measurement points beside those of the minibatch, uniform over the box of its contexts made twice as wide
        random_points: u32 = 10, Range::within(0.0, 1000.0), "its program";
        /// Standard deviation of the noise that is put on functions, and on the process, where they are compared
        injected_noise: f64 = 0.01, Range::within(1e-4, 1.0), "its program";
        /// Part of the eigenvalues' sum that the estimator of scores keeps
        eigen_mass: f64 = 0.99, Range::above(0.0, 1.0), "its program";
        /// Which observations the likelihood counts against the divergence: those of the minibatch, or all
        likelihood_scale: LikelihoodScale = LikelihoodScale::Minibatch, Range::ANY, "its program";
        /// Standard deviation of the weights' means, and of the biases, at the start
        initial_mean_std: f64 = 0.05, Range::within(0.0, 1e3), "its program";
        /// Mean of the logarithms of the weights' standard deviations at the start
        initial_log_std: f64 = -5.0, Range::within(-10.0, 2.0), "its program";
        /// Standard deviation of the logarithms of the weights' standard deviations at the start
        initial_log_std_spread: f64 = 0.05, Range::within(0.0, 1.0), "its program";
        /// The standard deviation of the noise of rewards at the start, before its softplus, on the scale of all rewards seen
        initial_noise: f64 = -3.0, Range::within(-20.0, 20.0), "its program";
        /// Learning rate of Adam for the net
        learning_rate: f64 = 1e-3, Range::above(0.0, 10.0), "its program";
        /// Each number of a gradient is cut off here
        max_gradient: f64 = 5.0, Range::above(0.0, 1e6), "its program";
        /// N, observations of a minibatch, all different
        batch_size: u32 = 256, Range::within(2.0, 1e4), "our choice: half of its program's, for speed";
        /// Observations from one round of training to the next
        train_every: u32 = 50, Range::within(1.0, 1e6), "its program";
        /// Minibatches of a round of training
        minibatches: u32 = 100, Range::within(1.0, 1e6), "its program";
        /// Numbers of the vector that stands for an action in the prior's kernel
        prior_task_dim: u32 = 5, Range::within(1.0, 100.0), "its program";
        /// The variance of the prior's noise at the start, before its softplus
        prior_noise: f64 = 0.0, Range::within(-20.0, 20.0), "its program";
        /// The amplitude of the prior's Matérn kernel at the start, before its softplus
        prior_amplitude: f64 = 1.0, Range::within(-20.0, 20.0), "its program";
        /// The amplitude of the prior's linear kernel at the start, before its softplus
        prior_linear_amplitude: f64 = 1.0, Range::within(-20.0, 20.0), "its program";
        /// Every length scale of the prior at the start, before its softplus, in units of √features times their spread
        prior_length: f64 = 0.0, Range::within(-5.0, 5.0), "its program, but for the units, which are ours";
        /// Standard deviation of the numbers of actions' vectors at the start
        prior_task_std: f64 = 1.0, Range::within(0.0, 100.0), "its program";
        /// Learning rate of Adam for the prior
        prior_learning_rate: f64 = 0.02, Range::above(0.0, 1.0), "our choice: its program's 0.01, for fewer steps";
        /// Observations, drawn anew for each step and all different, whose marginal likelihood a step of the prior climbs
        prior_batch_size: u32 = 250, Range::within(2.0, 2000.0), "our choice: its program takes 1000, and time grows with the cube";
        /// Steps of the prior in a round of training
        prior_minibatches: u32 = 25, Range::within(1.0, 1e6), "our choice: a quarter of its program's";
        /// How many of the last observations are trained on
        replay_capacity: Capacity = Capacity(None), Range::ANY, "its program";
        /// S, draws that the probabilities of a decision are shares of, where they are asked for or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..agent: AgentConfig = AgentConfig::default();
    }
}

impl FbnnConfig {
    /// The defaults with these hidden layers.
    pub(super) fn sized(layers: &[usize]) -> Self {
        Self { layers: Layers(layers.to_vec()), ..Self::default() }
    }

    pub(super) fn start(&self) -> BayesStart {
        BayesStart {
            mean_std: self.initial_mean_std,
            log_std: self.initial_log_std,
            log_std_spread: self.initial_log_std_spread,
        }
    }

    pub(super) fn prior(&self) -> PriorSettings {
        PriorSettings {
            task_dim: self.prior_task_dim as usize,
            noise: self.prior_noise,
            amplitudes: [self.prior_amplitude, self.prior_linear_amplitude],
            length: self.prior_length,
            task_std: self.prior_task_std,
            learning_rate: self.prior_learning_rate as f32,
            batch_size: self.prior_batch_size as usize,
            minibatches: self.prior_minibatches,
        }
    }
}
