//! Settings of the multi-task Gaussian process.

use super::prior::PriorSettings;
use crate::registry::settings::{AgentConfig, config};

config! {
    /// Settings of `multitask-gp`. "FBNN's program" is the one released with Sun et al. (ICLR 2019), which has it from the benchmark.
    pub struct MultitaskGpConfig {
        /// Numbers of the vector that stands for an action in the kernel
        task_dim: u32 = 5, Range::within(1.0, 100.0), "FBNN's program";
        /// The variance of the noise at the start, before its softplus, of rewards on the scale of all seen
        initial_noise: f64 = 0.0, Range::within(-20.0, 20.0), "FBNN's program";
        /// The amplitude of the Matérn kernel at the start, before its softplus
        initial_amplitude: f64 = 1.0, Range::within(-20.0, 20.0), "FBNN's program";
        /// The amplitude of the linear kernel at the start, before its softplus
        initial_linear_amplitude: f64 = 1.0, Range::within(-20.0, 20.0), "FBNN's program";
        /// Every length scale at the start, before its softplus, in units of √features times their spread
        initial_length: f64 = 0.0, Range::within(-5.0, 5.0), "FBNN's program, but for the units, which are ours";
        /// Standard deviation of the numbers of actions' vectors at the start
        initial_task_std: f64 = 1.0, Range::within(0.0, 100.0), "FBNN's program";
        /// Learning rate of Adam for the kernel
        learning_rate: f64 = 0.02, Range::above(0.0, 1.0), "our choice: its program's 0.01, for fewer steps";
        /// Observations, drawn anew for each step and all different, whose marginal likelihood a step of Adam climbs
        batch_size: u32 = 250, Range::within(2.0, 2000.0), "our choice: its program takes 1000, and time grows with the cube";
        /// Steps of Adam in a round of training
        minibatches: u32 = 25, Range::within(1.0, 1e6), "our choice: a quarter of its program's";
        /// Observations from one round of training to the next
        train_every: u32 = 50, Range::within(1.0, 1e6), "FBNN's program";
        /// How many of the last observations are kept; the posterior rests on them
        replay_capacity: u32 = 2000, Range::within(1.0, 4000.0), "our choice: all of a trial; its program takes 1000 at random";
        /// S, draws that the probabilities of a decision are shares of, where they are asked for or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..agent: AgentConfig = AgentConfig::default();
    }
}

impl MultitaskGpConfig {
    pub(super) fn prior(&self) -> PriorSettings {
        PriorSettings {
            task_dim: self.task_dim as usize,
            noise: self.initial_noise,
            amplitudes: [self.initial_amplitude, self.initial_linear_amplitude],
            length: self.initial_length,
            task_std: self.initial_task_std,
            learning_rate: self.learning_rate as f32,
            batch_size: self.batch_size as usize,
            minibatches: self.minibatches,
        }
    }
}
