//! Settings of FBNN.

use crate::math::nn::BayesStart;
use crate::model::gp::prior::PriorSettings;
use crate::registry::settings::{AgentConfig, ReplayConfig, config};
use crate::registry::values::{Capacity, Layers, LikelihoodScale};

config! {
    /// Settings of FBNN. Presets differ only in the hidden layers.
    ///
    /// "FBNN's program" is the one released with Sun et al. (ICLR 2019).
    pub struct FbnnConfig {
        /// Hidden layers of the net that maps the context to rewards
        layers: Layers = Layers(vec![50]), Range::within(0.0, 9.0), "paper: one of its reported sizes";
        /// Nets drawn per minibatch, to estimate the score of the distribution of functions
        samples: u32 = 50, Range::within(2.0, 1000.0), "our choice, for speed; FBNN's program: twice as many";
        /// Random measurement points in addition to the minibatch, uniform over a box twice as wide as its contexts
        random_points: u32 = 10, Range::within(0.0, 1000.0), "FBNN's program";
        /// Standard deviation of the noise added to functions and to the process for their comparison
        injected_noise: f64 = 0.01, Range::within(1e-4, 1.0), "FBNN's program";
        /// Share of the eigenvalues' sum that the score estimator keeps
        eigen_mass: f64 = 0.99, Range::above(0.0, 1.0), "FBNN's program";
        /// Weight of the likelihood against the divergence: that of the minibatch, or of all observations
        likelihood_scale: LikelihoodScale = LikelihoodScale::Minibatch, Range::ANY, "FBNN's program";
        /// Initial standard deviation of the weights' means and of the biases
        initial_mean_std: f64 = 0.05, Range::within(0.0, 1e3), "FBNN's program";
        /// Initial log standard deviations of the weights: mean
        initial_log_std: f64 = -5.0, Range::within(-10.0, 2.0), "FBNN's program";
        /// Initial log standard deviations of the weights: spread
        initial_log_std_spread: f64 = 0.05, Range::within(0.0, 1.0), "FBNN's program";
        /// Initial noise standard deviation of the standardized rewards, before the softplus
        initial_noise: f64 = -3.0, Range::within(-20.0, 20.0), "FBNN's program";
        /// Learning rate of Adam for the net
        learning_rate: f64 = 1e-3, Range::above(0.0, 10.0), "FBNN's program";
        /// Every entry of a gradient is clipped to this magnitude
        max_gradient: f64 = 5.0, Range::above(0.0, 1e6), "FBNN's program";
        /// N, distinct observations per minibatch
        batch_size: u32 = 256, Range::within(2.0, 1e4), "our choice, for speed; FBNN's program: twice as many";
        /// Observations between rounds of training
        train_every: u32 = 50, Range::within(1.0, 1e6), "FBNN's program";
        /// Minibatches per round of training
        minibatches: u32 = 100, Range::within(1.0, 1e6), "FBNN's program";
        /// Dimension of an action's embedding in the prior's kernel
        prior_task_dim: u32 = 5, Range::within(1.0, 100.0), "FBNN's program";
        /// Initial noise variance of the prior, before the softplus
        prior_noise: f64 = 0.0, Range::within(-20.0, 20.0), "FBNN's program";
        /// Initial amplitude of the prior's Matérn kernel, before the softplus
        prior_amplitude: f64 = 1.0, Range::within(-20.0, 20.0), "FBNN's program";
        /// Initial amplitude of the prior's linear kernel, before the softplus
        prior_linear_amplitude: f64 = 1.0, Range::within(-20.0, 20.0), "FBNN's program";
        /// Initial value of every length scale of the prior, before the softplus, in units of √features times the spread of the features
        prior_length: f64 = 0.0, Range::within(-5.0, 5.0), "FBNN's program, with our own unit";
        /// Initial standard deviation of the actions' embeddings
        prior_task_std: f64 = 1.0, Range::within(0.0, 100.0), "FBNN's program";
        /// Learning rate of Adam for the prior
        prior_learning_rate: f64 = 0.02, Range::above(0.0, 1.0), "our choice; FBNN's program: 0.01 with more steps";
        /// Observations whose marginal likelihood a step of the prior increases, drawn without replacement for each step
        prior_batch_size: u32 = 250, Range::within(2.0, 2000.0), "our choice, because time is cubic; FBNN's program: 1000";
        /// Steps of the prior per round of training
        prior_minibatches: u32 = 25, Range::within(1.0, 1e6), "our choice; FBNN's program: four times as many";
        /// Replay capacity: how many of the last observations are trained on
        replay_capacity: Capacity = Capacity(None), Range::ANY, "FBNN's program";
        /// S, posterior samples that give the probabilities of a decision, if they are requested or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..replay: ReplayConfig = ReplayConfig::default();
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
