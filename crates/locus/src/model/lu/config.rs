//! Settings of the LU policies; docs/paper.md lists where the presets differ.

use super::settings::{KlWeight, LatentInput, StdLink, StdScale};
use crate::registry::settings::{AgentConfig, ReplayConfig, config};
use crate::registry::values::{Capacity, Layers, Switch};

config! {
    /// Settings that both LU policies share.
    pub struct LuSharedConfig {
        /// Input of q: the context, or ones for the ablation
        latent_input: LatentInput = LatentInput::Context, Range::ANY, "paper, sections 3.1 and 4.3";
        /// Weight of an observation's KL term: one, or per-observation for the ablation
        kl_weight: KlWeight = KlWeight::One, Range::ANY, "paper, algorithms 2 and 3 and section 4.3";
        /// Rounds of training until the KL weight, 0 in the first, reaches its full value
        kl_warmup_rounds: u32 = 15, Range::within(0.0, 1e6), "authors' program; paper: none";
        /// How the net's output becomes the latent standard deviation
        latent_std_link: StdLink = StdLink::ExpHalf, Range::ANY, "authors' program; paper: exp";
        /// Initial reward standard deviations: mean over actions
        reward_std: f64 = 0.5, Range::above(0.0, 1e6), "authors' program";
        /// Initial reward standard deviations: spread over actions
        reward_std_spread: f64 = 0.05, Range::within(0.0, 1e6), "authors' program";
        /// Parametrization of the reward standard deviations: linear, or log
        reward_std_scale: StdScale = StdScale::Linear, Range::ANY, "authors' program; paper: log";
        /// Lower bound of initial reward standard deviations, and of learned ones on the linear scale
        reward_std_floor: f64 = 1e-3, Range::above(0.0, 1.0), "our choice; in the authors' program they can become negative";
        /// Whether the prior's standard deviation is learned
        learn_prior_std: Switch = Switch::On, Range::ANY, "paper, appendix A";
        /// Whether rewards are standardized by the mean and standard deviation of all rewards so far
        reward_scaling: Switch = Switch::Off, Range::ANY, "our addition";
        /// N, rows per minibatch
        batch_size: u32 = 512, Range::within(2.0, 1e6), "authors' program";
        /// Observations between rounds of training
        train_every: u32 = 20, Range::within(1.0, 1e6), "paper, algorithms 2 and 3";
        /// Minibatches per round of training
        minibatches: u32 = 40, Range::within(1.0, 1e6), "paper, algorithms 2 and 3";
        /// Replay capacity: how many of the last observations are trained on
        replay_capacity: Capacity = Capacity(None), Range::ANY, "paper, algorithms 2 and 3";
        /// S, posterior samples that give the probabilities of a decision, if they are requested or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..replay: ReplayConfig = ReplayConfig::default();
    }
}

impl LuSharedConfig {
    /// The settings of the paper's appendix.
    pub fn paper() -> Self {
        Self {
            kl_warmup_rounds: 0,
            latent_std_link: StdLink::Exp,
            reward_std_scale: StdScale::Log,
            ..Self::default()
        }
    }

    /// The ablation with a global latent variable: the input of q is ones, and all observations share one KL term.
    pub(super) fn ablated(&self) -> Self {
        Self {
            latent_input: LatentInput::Ones,
            kl_weight: KlWeight::PerObservation,
            kl_warmup_rounds: 0,
            ..self.clone()
        }
    }

    /// Combines these settings with those of one LU policy.
    pub(super) fn resolved(
        &self,
        latent_dim: u32,
        decoder_layers: &Layers,
        learning_rate: f64,
        prior_std: f64,
    ) -> Shared {
        Shared {
            latent_dim: latent_dim as usize,
            decoder_layers: decoder_layers.clone(),
            latent_input: self.latent_input,
            kl_weight: self.kl_weight,
            kl_warmup_rounds: self.kl_warmup_rounds,
            latent_std_factor: match self.latent_std_link {
                StdLink::Exp => 1.0,
                StdLink::ExpHalf => 0.5,
            },
            reward_std: self.reward_std,
            reward_std_spread: self.reward_std_spread,
            reward_std_scale: self.reward_std_scale,
            reward_std_floor: self.reward_std_floor as f32,
            prior_std,
            is_prior_std_learned: self.learn_prior_std == Switch::On,
            is_reward_scaled: self.reward_scaling == Switch::On,
            batch_size: self.batch_size as usize,
            minibatches: self.minibatches,
            learning_rate: learning_rate as f32,
        }
    }
}

/// The settings of both LU policies, converted for the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shared {
    pub(crate) latent_dim: usize,
    pub(crate) decoder_layers: Layers,
    pub(crate) latent_input: LatentInput,
    pub(crate) kl_weight: KlWeight,
    pub(crate) kl_warmup_rounds: u32,
    /// log σ_z is the net's output times this.
    pub(crate) latent_std_factor: f32,
    pub(crate) reward_std: f64,
    pub(crate) reward_std_spread: f64,
    pub(crate) reward_std_scale: StdScale,
    pub(crate) reward_std_floor: f32,
    pub(crate) prior_std: f64,
    pub(crate) is_prior_std_learned: bool,
    pub(crate) is_reward_scaled: bool,
    pub(crate) batch_size: usize,
    pub(crate) minibatches: u32,
    pub(crate) learning_rate: f32,
}

config! {
    /// Settings of LU-Gauss. Presets `paper` and `authors` differ as docs/paper.md lists.
    pub struct LuGaussConfig {
        /// H, size of the latent variable
        latent_dim: u32 = 50, Range::within(1.0, 10_000.0), "paper, appendix A";
        /// Layers of the encoder; a ReLU follows each, including the last
        encoder_layers: Layers = Layers(vec![100, 50]), Range::within(1.0, 9.0), "paper, appendix A; authors' program";
        /// Hidden layers of the two heads, mean and scale, on the encoder
        head_layers: Layers = Layers(vec![]), Range::within(0.0, 9.0), "authors' program; paper: 50";
        /// Hidden layers of the net that maps context and latent variable to rewards
        decoder_layers: Layers = Layers(vec![100, 50]), Range::within(0.0, 9.0), "authors' program; paper: 50";
        /// Learning rate of Adam
        learning_rate: f64 = 2e-4, Range::above(0.0, 10.0), "authors' program; paper: 1e-3";
        /// s, the initial standard deviation of the prior
        prior_std: f64 = 1.0, Range::above(0.0, 1e6), "authors' program; paper: 1.25";
        ..shared: LuSharedConfig = LuSharedConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

config! {
    /// Settings of LU-SIVI. Presets `paper` and `authors` differ as docs/paper.md lists.
    pub struct LuSiviConfig {
        /// H, size of the latent variable
        latent_dim: u32 = 50, Range::within(1.0, 10_000.0), "paper, appendix A";
        /// Hidden layers of the net that maps context and noise to ψ
        psi_layers: Layers = Layers(vec![100]), Range::within(1.0, 9.0), "paper, appendix A";
        /// Hidden layers of the net that maps the context to σ_z
        scale_layers: Layers = Layers(vec![50]), Range::within(0.0, 9.0), "paper, appendix A";
        /// Hidden layers of the net that maps context and latent variable to rewards
        decoder_layers: Layers = Layers(vec![50]), Range::within(0.0, 9.0), "paper, appendix A";
        /// K, draws of ψ in addition to the one that z is drawn from
        extra_draws: u32 = 50, Range::within(1.0, 10_000.0), "paper, appendix A";
        /// Standard deviation of the noise input of ψ
        noise_std: f64 = 2.0, Range::above(0.0, 1e6), "paper, section 3.3";
        /// Whether training samples the noise in the dimension of the first layer, if the context is wider
        low_rank_noise: Switch = Switch::On, Range::ANY, "our addition: the same distribution, faster";
        /// Learning rate of Adam
        learning_rate: f64 = 1e-3, Range::above(0.0, 10.0), "paper, section 4; authors' program";
        /// s, the initial standard deviation of the prior
        prior_std: f64 = 1.25, Range::above(0.0, 1e6), "paper, appendix A; authors' program";
        ..shared: LuSharedConfig = LuSharedConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

impl LuGaussConfig {
    /// The settings of the paper's appendix.
    pub fn paper() -> Self {
        Self {
            head_layers: Layers(vec![50]),
            decoder_layers: Layers(vec![50]),
            learning_rate: 1e-3,
            prior_std: 1.25,
            shared: LuSharedConfig::paper(),
            ..Self::default()
        }
    }

    /// The settings of the authors' program.
    pub fn authors() -> Self {
        Self::default()
    }
}

impl LuSiviConfig {
    /// The settings of the paper's appendix.
    pub fn paper() -> Self {
        Self { shared: LuSharedConfig::paper(), ..Self::default() }
    }

    /// The settings of the authors' program.
    pub fn authors() -> Self {
        Self::default()
    }
}
