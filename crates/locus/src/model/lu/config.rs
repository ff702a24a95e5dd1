//! Settings of the LU policies; docs/paper.md lists where the presets differ.

use super::settings::{KlWeight, LatentInput, StdLink, StdScale};
use crate::registry::settings::{AgentConfig, config};
use crate::registry::values::{Capacity, Layers, Switch};

config! {
    /// Settings that both LU policies share.
    pub struct LuSharedConfig {
        /// What q sees: the context, or ones for the ablation
        latent_input: LatentInput = LatentInput::Context, Range::ANY, "paper, sections 3.1 and 4.3";
        /// Weight of an observation's KL term: one, or per-observation for the ablation
        kl_weight: KlWeight = KlWeight::One, Range::ANY, "paper, algorithms 2 and 3 and section 4.3";
        /// Training rounds until the KL term has its full weight, from 0 in the first
        kl_warmup_rounds: u32 = 15, Range::within(0.0, 1e6), "authors' program; paper: none";
        /// How the net's output becomes the latent standard deviation
        latent_std_link: StdLink = StdLink::ExpHalf, Range::ANY, "authors' program; paper: exp";
        /// Mean of the rewards' standard deviations at the start
        reward_std: f64 = 0.5, Range::above(0.0, 1e6), "authors' program";
        /// Standard deviation of the rewards' standard deviations at the start
        reward_std_spread: f64 = 0.05, Range::within(0.0, 1e6), "authors' program";
        /// The scale on which the rewards' standard deviations are learned
        reward_std_scale: StdScale = StdScale::Linear, Range::ANY, "authors' program; paper: log";
        /// The least that a reward's standard deviation may be at the start, and become where it is learned on the linear scale
        reward_std_floor: f64 = 1e-3, Range::above(0.0, 1.0), "our choice: the authors' can cross zero";
        /// Whether the prior's standard deviation is learned
        learn_prior_std: Switch = Switch::On, Range::ANY, "paper, appendix A";
        /// Whether rewards are standardized by the mean and deviation of all seen so far
        reward_scaling: Switch = Switch::Off, Range::ANY, "our addition";
        /// N, rows of a minibatch
        batch_size: u32 = 512, Range::within(2.0, 1e6), "authors' program";
        /// Observations from one round of training to the next
        train_every: u32 = 20, Range::within(1.0, 1e6), "paper, algorithms 2 and 3";
        /// Minibatches of a round of training
        minibatches: u32 = 40, Range::within(1.0, 1e6), "paper, algorithms 2 and 3";
        /// How many of the last observations are trained on
        replay_capacity: Capacity = Capacity(None), Range::ANY, "paper, algorithms 2 and 3";
        /// S, draws that the probabilities of a decision are shares of, where they are asked for or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
    }
}

impl LuSharedConfig {
    /// As the paper's appendix says.
    pub fn paper() -> Self {
        Self {
            kl_warmup_rounds: 0,
            latent_std_link: StdLink::Exp,
            reward_std_scale: StdScale::Log,
            ..Self::default()
        }
    }

    /// The same with a latent variable that is global: q sees ones, and its one KL term is shared by all observations.
    pub(super) fn ablated(&self) -> Self {
        Self {
            latent_input: LatentInput::Ones,
            kl_weight: KlWeight::PerObservation,
            kl_warmup_rounds: 0,
            ..self.clone()
        }
    }

    /// These settings with those that each LU policy has for itself, ready for use.
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

/// The settings that both LU policies have, ready for use.
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
        /// Layers of the encoder, each followed by a ReLU, the last one too
        encoder_layers: Layers = Layers(vec![100, 50]), Range::within(1.0, 9.0), "paper, appendix A; authors' program";
        /// Hidden layers of the two heads, mean and scale, on the encoder
        head_layers: Layers = Layers(vec![]), Range::within(0.0, 9.0), "authors' program; paper: 50";
        /// Hidden layers of the net that maps context and latent variable to rewards
        decoder_layers: Layers = Layers(vec![100, 50]), Range::within(0.0, 9.0), "authors' program; paper: 50";
        /// Learning rate of Adam
        learning_rate: f64 = 2e-4, Range::above(0.0, 10.0), "authors' program; paper: 1e-3";
        /// s, the prior's standard deviation, at the start
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
        /// K, draws of ψ beside the one that z is drawn from
        extra_draws: u32 = 50, Range::within(1.0, 10_000.0), "paper, appendix A";
        /// Standard deviation of the noise that ψ is made of
        noise_std: f64 = 2.0, Range::above(0.0, 1e6), "paper, section 3.3";
        /// Whether training draws the noise from as few numbers as matter, where the context is wider than the first layer
        low_rank_noise: Switch = Switch::On, Range::ANY, "our addition: the same distribution, quicker";
        /// Learning rate of Adam
        learning_rate: f64 = 1e-3, Range::above(0.0, 10.0), "paper, section 4; authors' program";
        /// s, the prior's standard deviation, at the start
        prior_std: f64 = 1.25, Range::above(0.0, 1e6), "paper, appendix A; authors' program";
        ..shared: LuSharedConfig = LuSharedConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

impl LuGaussConfig {
    /// As the paper's appendix says.
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

    /// As the authors' program does.
    pub fn authors() -> Self {
        Self::default()
    }
}

impl LuSiviConfig {
    /// As the paper's appendix says.
    pub fn paper() -> Self {
        Self { shared: LuSharedConfig::paper(), ..Self::default() }
    }

    /// As the authors' program does.
    pub fn authors() -> Self {
        Self::default()
    }
}
