//! Settings of π-TS-DGF.

use crate::registry::settings::{AgentConfig, ReplayConfig, config, words};
use crate::registry::values::{Capacity, LikelihoodScale};

words! {
    /// The force between particles.
    pub enum Force {
        /// From a Wasserstein distance to the previous iterate.
        Wasserstein = "wasserstein",
        /// The gradient of the kernel, which repels particles.
        Stein = "stein",
    }
}

config! {
    /// Settings of π-TS-DGF.
    ///
    /// Presets `authors` and `stein` differ in the force, its weight, the likelihood's scale and the memory of steps.
    pub struct PiTsDgfConfig {
        /// M, the number of nets (particles) that represent the posterior
        particles: u32 = 20, Range::within(2.0, 1000.0), "authors' program";
        /// H, units of the one hidden layer of every net
        hidden_units: u32 = 50, Range::within(1.0, 10_000.0), "authors' program";
        /// Precision of the Gaussian prior on the parameters
        prior_precision: f64 = 0.1, Range::within(0.0, 1e6), "authors' program";
        /// Precision of the reward noise; squared errors are weighted by half of it
        reward_precision: f64 = 2.0, Range::above(0.0, 1e6), "authors' program";
        /// Scale of the likelihood: that of the minibatch, or of all observations
        likelihood_scale: LikelihoodScale = LikelihoodScale::Minibatch, Range::ANY, "authors' program";
        /// The force between particles: wasserstein, or stein
        force: Force = Force::Wasserstein, Range::ANY, "authors' program";
        /// Weight of the force
        force_weight: f64 = 0.5, Range::within(0.0, 1e6), "authors' program";
        /// Step size of a parameter
        step_size: f64 = 1e-3, Range::above(0.0, 10.0), "authors' program";
        /// ε, which damps the steps of directions smaller than it
        step_epsilon: f64 = 1e-6, Range::above(0.0, 1.0), "authors' program";
        /// Decay of the mean square of directions per step; with 0, steps depend on signs only
        step_memory: f64 = 0.0, Range::within(0.0, 0.9999), "authors' program, whose 0.9 has no effect";
        /// N, rows per minibatch
        batch_size: u32 = 512, Range::within(2.0, 1e6), "authors' program";
        /// Observations between rounds of training
        train_every: u32 = 50, Range::within(1.0, 1e6), "authors' program";
        /// Minibatches per round of training
        minibatches: u32 = 100, Range::within(1.0, 1e6), "authors' program";
        /// Replay capacity: how many of the last observations are trained on
        replay_capacity: Capacity = Capacity(None), Range::ANY, "authors' program";
        ..replay: ReplayConfig = ReplayConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

impl PiTsDgfConfig {
    /// The settings of the authors' program.
    pub fn authors() -> Self {
        Self::default()
    }

    /// Stein variational gradient descent on the posterior of all observations.
    pub fn stein() -> Self {
        Self {
            likelihood_scale: LikelihoodScale::All,
            force: Force::Stein,
            force_weight: 1.0,
            step_memory: 0.9,
            ..Self::default()
        }
    }
}
