//! Settings of π-TS-DGF.

use crate::registry::settings::{AgentConfig, config, words};
use crate::registry::values::{Capacity, LikelihoodScale};

words! {
    /// The force between particles.
    pub enum Force {
        /// From a Wasserstein distance to the previous iterate.
        Wasserstein = "wasserstein",
        /// The gradient of the kernel, which repels.
        Stein = "stein",
    }
}

config! {
    /// Settings of π-TS-DGF. Presets `authors` and `stein` differ in the force, its weight, the likelihood's scale and the memory of steps.
    pub struct PiTsDgfConfig {
        /// M, how many nets stand for the posterior
        particles: u32 = 20, Range::within(2.0, 1000.0), "authors' program";
        /// H, units of the one hidden layer of every net
        hidden_units: u32 = 50, Range::within(1.0, 10_000.0), "authors' program";
        /// How strongly the prior holds the parameters to 0
        prior_precision: f64 = 0.1, Range::within(0.0, 1e6), "authors' program";
        /// One over the variance of a reward's noise; half of it weighs a squared error
        reward_precision: f64 = 2.0, Range::above(0.0, 1e6), "authors' program";
        /// Which observations the likelihood counts: those of the minibatch, or all
        likelihood_scale: LikelihoodScale = LikelihoodScale::Minibatch, Range::ANY, "authors' program";
        /// The force between particles: wasserstein, or stein
        force: Force = Force::Wasserstein, Range::ANY, "authors' program";
        /// Weight of the force
        force_weight: f64 = 0.5, Range::within(0.0, 1e6), "authors' program";
        /// How far a parameter moves in a step
        step_size: f64 = 1e-3, Range::above(0.0, 10.0), "authors' program";
        /// What a direction must exceed to count
        step_epsilon: f64 = 1e-6, Range::above(0.0, 1.0), "authors' program";
        /// What the mean square of directions keeps of its past at a step; 0 makes steps by sign alone
        step_memory: f64 = 0.0, Range::within(0.0, 0.9999), "authors' program, where 0.9 is written but without effect";
        /// N, rows of a minibatch
        batch_size: u32 = 512, Range::within(2.0, 1e6), "authors' program";
        /// Observations from one round of training to the next
        train_every: u32 = 50, Range::within(1.0, 1e6), "authors' program";
        /// Minibatches of a round of training
        minibatches: u32 = 100, Range::within(1.0, 1e6), "authors' program";
        /// How many of the last observations are trained on
        replay_capacity: Capacity = Capacity(None), Range::ANY, "authors' program";
        ..agent: AgentConfig = AgentConfig::default();
    }
}

impl PiTsDgfConfig {
    /// As the authors' program does.
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
