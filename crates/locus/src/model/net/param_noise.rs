//! Parameter noise of adaptive scale (Plappert et al., "Parameter space noise for exploration", 2017), as in the benchmark.
//!
//! Before a decision, independent Gaussian noise of one standard deviation is added to every weight and bias of a reward net, and
//! the action with the highest predicted reward is taken: one perturbed copy for one decision, from the stream of its round. The
//! effect of that standard deviation on decisions depends on the net, so it adapts. After every round of training, a softmax
//! turns the predictions for past contexts, with and without noise, into distributions. If the mean KL divergence between them is
//! below that of an ε-greedy policy, −log(1 − ε + ε/A), the standard deviation is multiplied by a factor, otherwise divided by
//! it; then ε decays.
//!
//! Unlike Plappert et al., but like the benchmark, layers are not normalized. The benchmark counts a NaN divergence as 0; here
//! the divergence is always finite, and if predictions overflow, training fails with a numerical error. [`Decider::draw`] draws
//! new noise for every context.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::agent::{Breakdown, Cache, Decider, FitReport, Learner, Plan, Replay, Scratch, win_shares};
use crate::math::nn::{NormalSource, Normals, Panel};
use crate::model::net::reward_net::{AllUnits, NetWork, RewardNetConfig, Trainer, Weights};
use crate::model::training::reward_scaling::RewardScale;
use crate::registry::Definition;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::{AgentConfig, config};
use crate::{Error, Request, Rng, Seed, Shape};

config! {
    /// Settings of parameter noise. The defaults are those of the benchmark (Riquelme et al., ICLR 2018).
    pub struct ParamNoiseConfig {
        /// Initial standard deviation of the noise on every weight and bias
        noise_std: f64 = 0.05, Range::within(1e-9, 1e3), "benchmark";
        /// Factor by which the noise grows or shrinks after a round of training
        noise_factor: f64 = 1.01, Range::within(1.0, 10.0), "benchmark; Plappert et al. (2017)";
        /// Initial ε of the ε-greedy policy whose divergence the noise should match
        target_epsilon: f64 = 0.1, Range::within(0.0, 1.0), "benchmark";
        /// Factor on ε after a round of training
        target_decay: f64 = 0.99, Range::within(0.0, 1.0), "benchmark";
        /// Number of past contexts on which the divergence is measured, drawn with replacement
        divergence_contexts: u32 = 300, Range::within(1.0, 1e6), "benchmark";
        /// S, posterior samples that give the probabilities of a decision, if they are requested or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..net: RewardNetConfig = RewardNetConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

pub(crate) fn definition() -> Definition<ParamNoiseConfig> {
    let summary =
        "Greedy actions of a neural reward model with Gaussian noise of adaptive scale on its parameters";
    Definition::of::<ParamNoise>("param-noise", summary).presets([("benchmark", ParamNoiseConfig::default())])
}

buildable!(ParamNoiseConfig => ParamNoise);

/// Smaller noise has no measurable effect, and products with it would be subnormal and slow.
const LEAST_STD: f64 = 1e-12;

/// A reward net and the noise on its parameters.
#[derive(Clone, Debug)]
pub(crate) struct NoisyNet {
    weights: Arc<Weights>,
    noise_std: f64,
}

/// The decider and its training state.
#[derive(Clone, Debug)]
pub(crate) struct ParamNoise {
    config: ParamNoiseConfig,
    noisy: NoisyNet,
    trainer: Trainer,
    /// The current ε.
    target_epsilon: f64,
    /// Buffers for learning; a clone allocates its own.
    work: Cache<Work>,
}

/// A perturbed net and its intermediate results.
#[derive(Debug, Default)]
struct Work {
    net: NetWork,
    perturbed: Vec<f32>,
    /// Predicted rewards with and without noise, those of a context side by side.
    noisy: Vec<f64>,
    plain: Vec<f64>,
}

/// What is computed where sums are drawn.
#[derive(Debug, Default)]
struct SumsWork {
    input: Panel,
    sums: Panel,
    noise: Panel,
    /// |h|² + 1 of every column.
    squares: Vec<f32>,
}

impl NoisyNet {
    /// The parameters with fresh noise. **Samples.**
    fn perturb(&self, rng: &mut Rng, perturbed: &mut Vec<f32>) {
        perturbed.resize(self.weights.parameters.len(), 0.0);
        Normals::new(rng).fill(perturbed, self.noise_std as f32);
        for (place, parameter) in perturbed.iter_mut().zip(&self.weights.parameters) {
            *place += parameter;
        }
    }

    /// The mean divergence that one draw of the noise causes on `n` past contexts. **Samples.**
    fn divergence(
        &self,
        n: usize,
        replay: &Replay,
        rng: &mut Rng,
        work: &mut Work,
    ) -> Result<f64, Breakdown> {
        let Work { net, perturbed, noisy, plain } = work;
        let n_actions = self.weights.net.n_actions();
        let contexts: Vec<&[f32]> = (0..n).map(|_| replay.sample(rng).context).collect();
        self.perturb(rng, perturbed);
        noisy.resize(n * n_actions, 0.0);
        plain.resize(n * n_actions, 0.0);
        self.weights.predict(&contexts, &AllUnits, rng, net, plain)?;
        self.weights.net.predict(perturbed, &contexts, &AllUnits, rng, net, noisy)?;
        let pairs = plain.chunks_exact(n_actions).zip(noisy.chunks_exact(n_actions));
        Ok(pairs.map(|(plain, noisy)| softmax_divergence(plain, noisy)).sum::<f64>() / n as f64)
    }
}

impl Decider for NoisyNet {
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let Work { net, perturbed, .. } = scratch.work();
        let n_actions = self.weights.net.n_actions();
        for (context, rewards) in contexts.iter().zip(rewards.chunks_exact_mut(n_actions)) {
            self.perturb(rng, perturbed);
            self.weights.net.predict(perturbed, &[*context], &AllUnits, rng, net, rewards)?;
        }
        Ok(())
    }

    /// Draws each layer's sums rather than its parameters: for one context this has exactly the same distribution, and needs only
    /// one normal per unit.
    ///
    /// With noise of standard deviation s on every weight and bias, a sum of inputs h has its plain value as mean and s·√(|h|² + 1) as
    /// standard deviation, independently of the others.
    fn distribution(
        &self,
        request: Request<'_>,
        n_draws: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        let Weights { net, parameters } = &*self.weights;
        let normals = &mut Normals::new(rng);
        scratch.with_rewards(n_draws * probabilities.len(), |rewards, scratch| {
            let SumsWork { input, sums, noise, squares } = scratch.work();
            input.reshape_padded(net.n_features, n_draws);
            for (line, value) in input.all_mut().iter_mut().zip(request.context) {
                line.fill(*value);
            }
            let n_layers = net.layers().len();
            for (index, layer) in net.layers().enumerate() {
                squares.clear();
                squares.resize(n_draws, 1.0);
                for line in input.all().iter() {
                    squares.iter_mut().zip(line).for_each(|(square, value)| *square += value * value);
                }
                sums.reshape_like(layer.n_out(), input.all());
                layer.sums(parameters, input.all(), sums.all_mut());
                noise.reshape_like(layer.n_out(), input.all());
                normals.fill_panel(noise, self.noise_std as f32);
                for unit in 0..layer.n_out() {
                    let parts = noise.line(unit).iter().zip(&*squares);
                    for (sum, (noise, square)) in sums.line_mut(unit).iter_mut().zip(parts) {
                        *sum += noise * square.sqrt();
                        if index + 1 < n_layers && *sum < 0.0 {
                            *sum = 0.0;
                        }
                    }
                }
                std::mem::swap(input, sums);
            }
            RewardScale::AS_GIVEN.read_rewards(input, rewards);
            win_shares(&request, rewards, probabilities)
        })
    }
}

impl ParamNoise {
    fn assemble(
        config: &ParamNoiseConfig,
        (weights, trainer): (Weights, Trainer),
        noise_std: f64,
        target_epsilon: f64,
    ) -> Self {
        let noisy = NoisyNet { weights: Arc::new(weights), noise_std };
        Self { config: config.clone(), noisy, trainer, target_epsilon, work: Cache::default() }
    }

    /// The current standard deviation of the noise.
    #[cfg(test)]
    pub(crate) fn noise_std(&self) -> f64 {
        self.noisy.noise_std
    }

    /// ε after all rounds of training but the last; with a half-life, after what remains of their number.
    fn epsilon(&self, replay: &Replay) -> f64 {
        let share = replay.remaining_share();
        if share == 1.0 {
            return self.target_epsilon;
        }
        let n_rounds = self.trainer.optimizer.n_steps as f64 / f64::from(self.config.net.minibatches);
        self.config.target_epsilon * libm::pow(self.config.target_decay, (n_rounds - 1.0) * share)
    }

    /// The target divergence for such an ε.
    fn target(&self, epsilon: f64) -> f64 {
        -libm::log1p(epsilon / self.noisy.weights.net.n_actions() as f64 - epsilon)
    }

    /// Adapts the noise towards its target divergence, and decays the target. **Samples.**
    fn adapt(&mut self, replay: &Replay, rng: &mut Rng, work: &mut Work) -> Result<(), Breakdown> {
        let n = self.config.divergence_contexts as usize;
        let is_too_weak = self.noisy.divergence(n, replay, rng, work)? < self.target(self.epsilon(replay));
        let factor = if is_too_weak { self.config.noise_factor } else { 1.0 / self.config.noise_factor };
        self.noisy.noise_std = (self.noisy.noise_std * factor).max(LEAST_STD);
        self.target_epsilon *= self.config.target_decay;
        Ok(())
    }
}

impl Learner for ParamNoise {
    type Config = ParamNoiseConfig;
    type Decider = NoisyNet;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn plan(config: &ParamNoiseConfig) -> Plan {
        config.net.plan(&config.agent).with_propensity_draws(config.propensity_draws as usize)
    }

    fn new(config: &ParamNoiseConfig, shape: Shape, seed: Seed) -> Self {
        let net = Trainer::new(&config.net, shape, &mut seed.stream("init", 0));
        Self::assemble(config, net, config.noise_std, config.target_epsilon)
    }

    fn decider(&self) -> &NoisyNet {
        &self.noisy
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let mut work = self.work.0.take().unwrap_or_default();
        let weights = Arc::make_mut(&mut self.noisy.weights);
        let mean_loss = self.trainer.train_on(weights, replay, &AllUnits, rng, &mut work.net)?;
        self.adapt(replay, rng, &mut work)?;
        self.work = Cache(Some(work));
        Ok(FitReport::new(self.config.net.minibatches, mean_loss))
    }

    /// Noise is drawn for all parameters in turn, so decisions get other noise on the last layer than without the addition.
    fn add_action(&mut self, _config: &ParamNoiseConfig, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        self.trainer.add_action(Arc::make_mut(&mut self.noisy.weights), shape, rng);
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.f64(self.noisy.noise_std);
        encoder.f64(self.target_epsilon);
        self.trainer.encode(&self.noisy.weights, encoder);
    }

    fn decode(config: &ParamNoiseConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let (noise_std, target_epsilon) = (decoder.f64()?, decoder.f64()?);
        if !(noise_std >= LEAST_STD && noise_std.is_finite() && (0.0..=1.0).contains(&target_epsilon)) {
            return Err(decoder.damaged(format!(
                "its noise is {noise_std} and its ε {target_epsilon}, expected a number above 0 and one from 0 to 1"
            )));
        }
        let net = Trainer::decode(&config.net, shape, decoder)?;
        Ok(Self::assemble(config, net, noise_std, target_epsilon))
    }
}

/// The KL divergence of the softmax of `noisy` from that of `plain`; both are finite, and so is the divergence.
fn softmax_divergence(plain: &[f64], noisy: &[f64]) -> f64 {
    let log_total = |values: &[f64]| {
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        highest + libm::log(values.iter().map(|value| libm::exp(value - highest)).sum())
    };
    let (plain_total, noisy_total) = (log_total(plain), log_total(noisy));
    let terms = plain.iter().zip(noisy).map(|(plain, noisy)| {
        let log_share = plain - plain_total;
        libm::exp(log_share) * (log_share - (noisy - noisy_total))
    });
    // It can be negative only by rounding.
    terms.sum::<f64>().max(0.0)
}
