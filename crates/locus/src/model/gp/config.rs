//! Settings of the multi-task Gaussian process.

use super::prior::PriorSettings;
use crate::registry::settings::{AgentConfig, ScheduleConfig, config};

config! {
    /// Settings of `multitask-gp`.
    ///
    /// "FBNN's program" is the one released with Sun et al. (ICLR 2019), which took it from the benchmark.
    pub struct MultitaskGpConfig {
        /// Dimension of an action's embedding in the kernel
        task_dim: u32 = 5, Range::within(1.0, 100.0), "FBNN's program";
        /// Initial noise variance of the standardized rewards, before the softplus
        initial_noise: f64 = 0.0, Range::within(-20.0, 20.0), "FBNN's program";
        /// Initial amplitude of the Matérn kernel, before the softplus
        initial_amplitude: f64 = 1.0, Range::within(-20.0, 20.0), "FBNN's program";
        /// Initial amplitude of the linear kernel, before the softplus
        initial_linear_amplitude: f64 = 1.0, Range::within(-20.0, 20.0), "FBNN's program";
        /// Initial value of every length scale, before the softplus, in units of √features times the spread of the features
        initial_length: f64 = 0.0, Range::within(-5.0, 5.0), "FBNN's program, with our own unit";
        /// Initial standard deviation of the actions' embeddings
        initial_task_std: f64 = 1.0, Range::within(0.0, 100.0), "FBNN's program";
        /// Learning rate of Adam for the kernel
        learning_rate: f64 = 0.02, Range::above(0.0, 1.0), "our choice; FBNN's program: 0.01 with more steps";
        /// Observations whose marginal likelihood a step of Adam increases, drawn without replacement for each step
        batch_size: u32 = 250, Range::within(2.0, 2000.0), "our choice, because time is cubic; FBNN's program: 1000";
        /// Steps of Adam per round of training
        minibatches: u32 = 25, Range::within(1.0, 1e6), "our choice; FBNN's program: four times as many";
        /// Observations between rounds of training
        train_every: u32 = 50, Range::within(1.0, 1e6), "FBNN's program";
        /// Replay capacity: the posterior is conditioned on this many of the last observations
        replay_capacity: u32 = 2000, Range::within(1.0, 4000.0), "our choice: a whole trial; FBNN's program: 1000 at random";
        /// S, posterior samples that give the probabilities of a decision, if they are requested or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..schedule: ScheduleConfig = ScheduleConfig::default();
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
