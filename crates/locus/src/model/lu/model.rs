//! The model that both LU policies share: rewards are decoded from context and latent variable.
//!
//! Per observation i with action a, the loss is
//!
//! ```text
//! −A · log N(r; μ_r(x, z)[a], σ_r[a]²) − w_KL · [log p(z) − log q(z | x)]
//! ```
//!
//! averaged over the minibatch, with the constants ½·log 2π left out. p(z) = N(0, s²I).

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::config::Shared;
use super::latent::{Latent, Noise};
use super::settings::{KlWeight, LatentInput, StdScale};
use crate::agent::{
    Breakdown, Cache, Decider, FitReport, JointRows, Learner, Plan, Replay, Scratch, choose_by_draws,
    win_shares,
};
use crate::math::nn::{
    Activation, Adam, ColumnNormals, InputGradient, LANES, Layout, Mlp, MlpWork, Normals, Panel,
};
use crate::model::training::minibatch::{Gathering, Minibatch};
use crate::model::training::optimized;
use crate::model::training::reward_scaling::{RewardScale, RewardScaling};
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::Config;
use crate::registry::values::sizes;
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

/// Settings of an LU policy.
pub(crate) trait LuConfig: Config {
    /// Its distribution of the latent variable.
    type Latent: Latent<Config = Self>;

    /// The settings that both LU policies share, ready for use.
    fn resolved(&self) -> Shared;

    /// The initial pulls and the training schedule.
    fn plan(&self) -> Plan;
}

/// The parts of the model, and its training settings.
#[derive(Clone, Debug)]
pub(crate) struct Parts<Q> {
    pub(crate) shape: Shape,
    pub(crate) shared: Shared,
    pub(crate) latent: Q,
    /// T_θ: [x, z] to the mean rewards of all actions.
    pub(crate) decoder: Mlp,
    /// σ_r [A], or its logarithm.
    pub(crate) reward_std: Range<usize>,
    /// log s
    pub(crate) log_prior_std: Range<usize>,
    pub(crate) n_parameters: usize,
    /// Where all of them are.
    layout: Layout,
}

/// A minibatch and everything computed from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work<W> {
    /// Its inputs are [x, z]: [C + H, N].
    pub(crate) batch: Minibatch,
    /// The input of q if it is not the context.
    pub(super) ones: Panel,
    pub(crate) decoder: MlpWork,
    /// [H, N]
    pub(super) dz: Panel,
    pub(crate) latent: W,
    /// (σ_r, log σ_r) of every action.
    pub(super) reward_stds: Vec<(f32, f32)>,
    pub(crate) gradients: Vec<f32>,
}

impl<Q: Latent> Parts<Q> {
    pub(crate) fn new(config: &Q::Config, shared: Shared, shape: Shape) -> Self {
        let mut layout = Layout::default();
        let latent = Q::new(config, shape, &mut layout);
        let n_inputs = shape.n_features + shared.latent_dim;
        let decoder_sizes = sizes(n_inputs, &shared.decoder_layers, shape.n_actions);
        let decoder = Mlp::new(&mut layout, &decoder_sizes, Activation::Linear);
        let reward_std = layout.reserve(shape.n_actions);
        let log_prior_std = layout.reserve(1);
        let n_parameters = layout.size();
        Self { shape, shared, latent, decoder, reward_std, log_prior_std, n_parameters, layout }
    }

    pub(super) fn initialize(&self, parameters: &mut [f32], rng: &mut Rng) {
        self.latent.initialize(parameters, rng);
        self.decoder.initialize(parameters, rng);
        let Shared { reward_std, reward_std_spread, reward_std_scale, reward_std_floor, prior_std, .. } =
            self.shared;
        for parameter in &mut parameters[self.reward_std.clone()] {
            let std = ((reward_std + reward_std_spread * rng.normal()) as f32).max(reward_std_floor);
            *parameter = match reward_std_scale {
                StdScale::Linear => std,
                StdScale::Log => libm::logf(std),
            };
        }
        parameters[self.log_prior_std.start] = libm::log(prior_std) as f32;
    }

    /// Draws z for the contexts in `work.batch.inputs`, and decodes: mean rewards [A, N] are then the decoder's output.
    pub(crate) fn forward(&self, parameters: &[f32], noise: &mut impl Noise, work: &mut Work<Q::Work>) {
        let Work { batch: Minibatch { inputs, .. }, ones, dz, latent, .. } = work;
        let n_features = self.shape.n_features;
        let x = match self.shared.latent_input {
            LatentInput::Context => inputs.lines(0..n_features),
            LatentInput::Ones => {
                ones.reshape_like(n_features, inputs.all());
                ones.fill(1.0);
                ones.all()
            }
        };
        // The buffer of its gradient is free until the backward pass.
        let z = dz;
        z.reshape_like(self.shared.latent_dim, inputs.all());
        self.latent.sample(parameters, x, noise, z, latent);
        inputs.copy_lines(n_features, z);
        self.decoder.forward(parameters, work.batch.inputs.all(), &mut work.decoder);
    }

    /// Draws z many times for one context, and decodes each: mean rewards [A, S] are then the decoder's output.
    pub(crate) fn forward_many(
        &self,
        parameters: &[f32],
        context: &[f32],
        n_draws: usize,
        noise: &mut impl Noise,
        work: &mut Work<Q::Work>,
    ) {
        let Work { batch: Minibatch { inputs, .. }, dz: z, latent, .. } = work;
        inputs.reshape(context.len(), 1);
        match self.shared.latent_input {
            LatentInput::Context => inputs.put_rows(0, &[context]),
            LatentInput::Ones => inputs.fill(1.0),
        }
        z.reshape_padded(self.shared.latent_dim, n_draws);
        self.latent.sample_many(parameters, inputs.all(), noise, z, latent);
        self.decoder.forward_on(parameters, context, z.all(), &mut work.decoder);
    }

    /// Computes the loss of the minibatch in `work` and adds its gradients to `work.gradients`.
    pub(crate) fn loss(
        &self,
        parameters: &[f32],
        kl_weight: f32,
        noise: &mut impl Noise,
        work: &mut Work<Q::Work>,
    ) -> f64 {
        let n = work.batch.inputs.n_columns();
        let mut loss = self.reward_loss(parameters, work);
        let Work { batch: Minibatch { inputs, .. }, ones, decoder, dz, latent, gradients, .. } = work;
        dz.reshape_like(self.shared.latent_dim, inputs.all());
        let to_z = InputGradient::Store(self.shape.n_features, dz.all_mut());
        self.decoder.backward(parameters, gradients, inputs.all(), decoder, to_z);

        let weight = kl_weight / n as f32;
        loss -= self.add_log_prior(parameters, weight, inputs, dz, gradients) * f64::from(weight);
        let x = match self.shared.latent_input {
            LatentInput::Context => inputs.lines(0..self.shape.n_features),
            LatentInput::Ones => ones.all(),
        };
        let log_q = self.latent.add_log_q(parameters, gradients, x, noise, weight, dz, latent);
        loss += log_q * f64::from(weight);
        dz.clear_padding();
        self.latent.backward(parameters, gradients, x, dz, latent);
        loss
    }

    /// −A · mean log N(r; μ[a], σ[a]²), and its gradients in the decoder's output and σ.
    fn reward_loss(&self, parameters: &[f32], work: &mut Work<Q::Work>) -> f64 {
        let Work { batch: Minibatch { actions, rewards, .. }, decoder, reward_stds, gradients, .. } = work;
        let weight = self.shape.n_actions as f32 / actions.len() as f32;
        let (means, mean_gradients) = decoder.output_and_gradient();
        mean_gradients.fill(0.0);
        reward_stds.clear();
        reward_stds.extend(parameters[self.reward_std.clone()].iter().map(|&parameter| {
            match self.shared.reward_std_scale {
                StdScale::Log => (libm::expf(parameter), parameter),
                StdScale::Linear => (parameter, libm::logf(parameter)),
            }
        }));
        let std_gradients = &mut gradients[self.reward_std.clone()];
        let mut loss = 0.0;
        for (column, (&action, &reward)) in actions.iter().zip(&*rewards).enumerate() {
            let (std, log_std) = reward_stds[action];
            let deviation = (reward - means.line(action)[column]) / std;
            loss += f64::from(0.5 * deviation * deviation + log_std);
            mean_gradients.line_mut(action)[column] = -weight * deviation / std;
            let log_std_gradient = weight * (1.0 - deviation * deviation);
            std_gradients[action] += match self.shared.reward_std_scale {
                StdScale::Log => log_std_gradient,
                StdScale::Linear => log_std_gradient / std,
            };
        }
        loss * f64::from(weight)
    }

    /// Σ log p(z); its gradients, negative and weighted, go to z and s.
    fn add_log_prior(
        &self,
        parameters: &[f32],
        weight: f32,
        inputs: &Panel,
        dz: &mut Panel,
        gradients: &mut [f32],
    ) -> f64 {
        let log_std = parameters[self.log_prior_std.start];
        let precision = libm::expf(-2.0 * log_std);
        let factor = weight * precision;
        let mut squares = 0.0;
        for h in 0..self.shared.latent_dim {
            let z = inputs.line(self.shape.n_features + h);
            let mut line_squares = [0.0; LANES];
            for (dz, z) in dz.line_mut(h).chunks_mut(LANES).zip(z.chunks(LANES)) {
                for ((dz, z), square) in dz.iter_mut().zip(z).zip(&mut line_squares) {
                    *dz += factor * z;
                    *square += z * z;
                }
            }
            squares += line_squares.iter().map(|&square| f64::from(square)).sum::<f64>();
        }
        let n_values = (self.shared.latent_dim * inputs.n_columns()) as f64;
        let scaled = squares * f64::from(precision);
        if self.shared.is_prior_std_learned {
            gradients[self.log_prior_std.start] += (f64::from(weight) * (n_values - scaled)) as f32;
        }
        -0.5 * scaled - n_values * f64::from(log_std)
    }
}

/// The decider of an LU model: its parts and their parameters.
#[derive(Clone)]
pub(crate) struct LuDecider<C: LuConfig> {
    pub(super) parts: Arc<Parts<C::Latent>>,
    pub(super) parameters: Arc<Vec<f32>>,
    scale: RewardScale,
}

/// The decider and its training state.
#[derive(Clone)]
pub(crate) struct Lu<C: LuConfig> {
    pub(super) decider: LuDecider<C>,
    pub(super) optimizer: Adam,
    /// Rounds of training done.
    n_fits: u64,
    scaling: RewardScaling,
    /// Buffers for training; a clone allocates its own.
    pub(super) work: Cache<Work<<C::Latent as Latent>::Work>>,
}

impl<C: LuConfig> fmt::Debug for Lu<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lu")
            .field("n_parameters", &self.decider.parameters.len())
            .field("n_fits", &self.n_fits)
            .finish()
    }
}

impl<C: LuConfig> Lu<C> {
    fn assemble(
        parts: Parts<C::Latent>,
        parameters: Vec<f32>,
        optimizer: Adam,
        n_fits: u64,
        scaling: RewardScaling,
    ) -> Self {
        let scale = scaling.scale(parts.shared.is_reward_scaled);
        let decider = LuDecider { parts: Arc::new(parts), parameters: Arc::new(parameters), scale };
        Self { decider, optimizer, n_fits, scaling, work: Cache::default() }
    }

    #[cfg(test)]
    pub(super) fn parameters_mut(&mut self) -> &mut Vec<f32> {
        Arc::make_mut(&mut self.decider.parameters)
    }

    /// The weight of an observation's KL term in the next round of training.
    pub(super) fn kl_weight(&self) -> f32 {
        let Shared { kl_weight, kl_warmup_rounds, .. } = self.decider.parts.shared;
        let full = match kl_weight {
            KlWeight::One => 1.0,
            KlWeight::PerObservation => 1.0 / self.scaling.n.max(1.0),
        };
        let warm = match kl_warmup_rounds {
            0 => 1.0,
            rounds => (self.n_fits as f64 / f64::from(rounds)).min(1.0),
        };
        (full * warm) as f32
    }
}

impl<Q: Latent> Parts<Q> {
    /// Clamps linear standard deviations at their floor; returns how many were below.
    fn apply_floor(&self, parameters: &mut [f32]) -> u64 {
        let Shared { reward_std_scale, reward_std_floor, .. } = self.shared;
        let mut n_floored = 0;
        if reward_std_scale == StdScale::Linear {
            for std in &mut parameters[self.reward_std.clone()] {
                // A NaN is left for the check that follows.
                if *std < reward_std_floor {
                    *std = reward_std_floor;
                    n_floored += 1;
                }
            }
        }
        n_floored
    }
}

impl<C: LuConfig> Decider for LuDecider<C> {
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let work: &mut Work<<C::Latent as Latent>::Work> = scratch.work();
        work.batch.set_contexts(contexts, self.parts.shape.n_features, self.parts.shared.latent_dim);
        self.parts.forward(&self.parameters, &mut Normals::new(rng), work);
        self.scale.read_rewards(work.decoder.output(), rewards);
        if rewards.iter().all(|reward| reward.is_finite()) { Ok(()) } else { self.parts.check_forward(work) }
    }

    fn distribution(
        &self,
        request: Request<'_>,
        n_draws: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        scratch.with_rewards(n_draws * probabilities.len(), |rewards, scratch| {
            let work: &mut Work<<C::Latent as Latent>::Work> = scratch.work();
            let normals = &mut Normals::new(rng);
            self.parts.forward_many(&self.parameters, request.context, n_draws, normals, work);
            self.scale.read_rewards(work.decoder.output(), rewards);
            if rewards.iter().any(|reward| !reward.is_finite()) {
                self.parts.check_forward(work)?;
            }
            win_shares(&request, rewards, probabilities)
        })
    }

    fn choose_many(
        &self,
        requests: &[Request<'_>],
        n_actions: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        choices: &mut [Choice],
    ) -> Result<(), (usize, Breakdown)> {
        choose_by_draws(requests, n_actions, scratch, choices, |contexts, scratch, rewards| {
            let mut normals = std::mem::take::<ColumnNormals>(scratch.work());
            normals.seed(rngs);
            let work: &mut Work<<C::Latent as Latent>::Work> = scratch.work();
            work.batch.set_batch(contexts, self.parts.shape.n_features, self.parts.shared.latent_dim);
            self.parts.forward(&self.parameters, &mut normals, work);
            self.scale.read_rewards(work.decoder.output(), rewards);
            let checked = match rewards.iter().all(|reward| reward.is_finite()) {
                true => Ok(()),
                false => self.parts.check_forward(work),
            };
            *scratch.work() = normals;
            checked
        })
    }

    const HEEDS_CANDIDATES: bool = true;

    /// The weights have no uncertainty: every row draws its own z.
    fn draw_joint(
        &self,
        rows: JointRows<'_>,
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let work: &mut Work<<C::Latent as Latent>::Work> = scratch.work();
        work.batch.set_joint(rows, self.parts.shape.n_features, self.parts.shared.latent_dim);
        self.parts.forward(&self.parameters, &mut Normals::new(rng), work);
        self.scale.read_rewards(work.decoder.output(), rewards);
        if rewards.iter().all(|reward| reward.is_finite()) { Ok(()) } else { self.parts.check_forward(work) }
    }
}

impl<C: LuConfig> Learner for Lu<C> {
    type Config = C;
    type Decider = LuDecider<C>;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn plan(config: &C) -> Plan {
        config.plan()
    }

    fn new(config: &C, shape: Shape, seed: Seed) -> Self {
        let shared = config.resolved();
        let learning_rate = shared.learning_rate;
        let parts = Parts::new(config, shared, shape);
        let mut parameters = vec![0.0; parts.n_parameters];
        parts.initialize(&mut parameters, &mut seed.stream("init", 0));
        let optimizer = Adam::new(parts.n_parameters, learning_rate);
        Self::assemble(
            parts,
            parameters,
            optimizer,
            0,
            RewardScaling::forgetting(config.plan().agent.half_life),
        )
    }

    fn decider(&self) -> &LuDecider<C> {
        &self.decider
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        self.scaling.observe(outcome);
        self.decider.scale = self.scaling.scale(self.decider.parts.shared.is_reward_scaled);
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let mut work = self.work.0.take().unwrap_or_default();
        let kl_weight = self.kl_weight();
        let LuDecider { parts, parameters, scale } = &mut self.decider;
        let parameters = Arc::make_mut(parameters);
        work.gradients.clear();
        work.gradients.resize(parameters.len(), 0.0);
        let mut normals = Normals::new(rng);
        let Shared { batch_size: n_rows, latent_dim: n_more_lines, minibatches, .. } = parts.shared;
        let gathering = Gathering { n_rows, n_features: parts.shape.n_features, n_more_lines, scale: *scale };
        let (mut total, mut interventions) = (0.0, 0);
        for _ in 0..minibatches {
            work.batch.gather(replay, rng, gathering);
            parts.latent.prepare(parameters, &mut work.latent);
            parts.forward(parameters, &mut normals, &mut work);
            let loss = parts.loss(parameters, kl_weight, &mut normals, &mut work);
            parts.check_minibatch(parameters, &self.optimizer, loss, &work)?;
            total += loss;
            self.optimizer.step(parameters, &mut work.gradients);
            interventions += parts.apply_floor(parameters);
        }
        parts.check_optimizer(parameters, &self.optimizer)?;
        self.n_fits = self.n_fits.saturating_add(1);
        self.work = Cache(Some(work));
        Ok(FitReport { interventions, ..FitReport::new(minibatches, total / f64::from(minibatches)) })
    }

    fn add_action(&mut self, config: &C, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        let LuDecider { parts, parameters, .. } = &mut self.decider;
        let grown: Parts<C::Latent> = Parts::new(config, config.resolved(), shape);
        let mut untrained = vec![0.0; grown.n_parameters];
        grown.initialize(&mut untrained, rng);
        self.optimizer.grow(&parts.layout, &grown.layout);
        *parameters = Arc::new(parts.layout.carry_over(parameters, &grown.layout, untrained));
        *parts = Arc::new(grown);
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.u64(self.n_fits);
        self.scaling.encode(encoder);
        optimized::encode(&self.decider.parameters, &self.optimizer, encoder);
    }

    fn decode(config: &C, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        decoder.check_room(shape)?;
        let shared = config.resolved();
        let learning_rate = shared.learning_rate;
        let parts: Parts<C::Latent> = Parts::new(config, shared, shape);
        let n_fits = decoder.u64()?;
        let scaling = RewardScaling::decode(config.plan().agent.half_life, decoder)?;
        let (parameters, optimizer) = optimized::decode(parts.n_parameters, learning_rate, decoder)?;
        Ok(Self::assemble(parts, parameters, optimizer, n_fits, scaling))
    }
}
