//! The net, its loss, its training and its decisions.
//!
//! With n observations so far, the loss of a minibatch is the bound on the negative log evidence, divided by n:
//!
//! ```text
//! mean over rows of −log N(r; y(x)[a], noise_std²)  +  KL(q ‖ p) / n
//! ```
//!
//! y(x) are the outputs of a net that is drawn from q for every row; p is N(0, prior_gain ÷ inputs) for each weight.

use std::sync::Arc;

use multiversion::multiversion;

use super::config::BbbConfig;
use crate::agent::{Breakdown, Cache, Decider, FitReport, Learner, Plan, Replay, Scratch, choose_by_draws};
use crate::math::nn::{Adam, BayesMlp, BayesMlpWork, ColumnNormals, LANES, Layout, Normals};
use crate::model::training::breakdown::find_breakdown;
use crate::model::training::minibatch::{Contexts, Gathering, Minibatch};
use crate::model::training::optimized;
use crate::model::training::reward_scaling::{RewardScale, RewardScaling};
use crate::registry::save::{Decoder, Encoder};
use crate::registry::values::{Switch, sizes};
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

/// Log standard deviations are clamped to these bounds, far outside the useful range: a variance of e⁻⁴⁰ is negligible, and one
/// of e²⁰ can still be multiplied by squares of large features.
pub(crate) const LOG_STD_BOUNDS: (f32, f32) = (-20.0, 10.0);

/// The net and its training settings.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) config: BbbConfig,
    pub(super) shape: Shape,
    pub(super) net: BayesMlp,
    pub(super) n_parameters: usize,
    /// Where all of them are.
    layout: Layout,
}

/// A minibatch and everything computed from it.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub(super) batch: Minibatch<Contexts>,
    pub(super) net: BayesMlpWork,
    pub(super) gradients: Vec<f32>,
}

impl Parts {
    pub(super) fn new(config: &BbbConfig, shape: Shape) -> Self {
        let mut layout = Layout::default();
        let net = BayesMlp::new(&mut layout, &sizes(shape.n_features, &config.layers, shape.n_actions));
        Self { config: config.clone(), shape, net, n_parameters: layout.size(), layout }
    }

    /// Parameters of an untrained net. **Samples.**
    fn untrained(&self, rng: &mut Rng) -> Vec<f32> {
        let mut parameters = vec![0.0; self.n_parameters];
        self.net.initialize(&mut parameters, self.config.start(), rng);
        parameters
    }

    /// Computes the loss of the minibatch in `work` and adds its gradients to `work.gradients`.
    pub(super) fn loss(
        &self,
        parameters: &[f32],
        variances: &[Vec<f32>],
        n_observed: f64,
        normals: &mut Normals,
        work: &mut Work,
    ) -> f64 {
        let BbbConfig { noise_std, prior_gain, variance_floor, .. } = self.config;
        let Work { batch: Minibatch { inputs, actions, rewards }, net, gradients } = work;
        self.net.forward(parameters, variances, inputs.input(), variance_floor as f32, normals, net);

        let n_rows = actions.len() as f64;
        let precision = (1.0 / noise_std) as f32;
        let weight = (1.0 / (noise_std * n_rows)) as f32;
        let (outputs, output_gradients) = net.output_and_gradient();
        output_gradients.fill(0.0);
        let mut squares = 0.0;
        for (column, (&action, &reward)) in actions.iter().zip(&*rewards).enumerate() {
            let deviation = (outputs.line(action)[column] - reward) * precision;
            squares += f64::from(deviation * deviation);
            output_gradients.line_mut(action)[column] = weight * deviation;
        }
        let log_density = libm::log(noise_std) + 0.5 * libm::log(2.0 * std::f64::consts::PI);
        self.net.backward(parameters, gradients, variances, inputs.input(), net);

        let kl_weight = 1.0 / n_observed.max(1.0);
        let kl = self.net.add_kl(parameters, gradients, variances, prior_gain, kl_weight as f32);
        0.5 * squares / n_rows + log_density + kl_weight * kl
    }

    /// Fails if the loss just computed is not finite, or if a gradient, or its square, which the optimizer keeps, is not.
    fn check_minibatch(&self, loss: f64, work: &Work) -> Result<(), Breakdown> {
        if !loss.is_finite() {
            return Err(self.find_breakdown(loss, work));
        }
        if are_squares_finite(&work.gradients) {
            return Ok(());
        }
        for (layer, places) in self.net.layers().iter().enumerate() {
            let parts =
                [("means", places.means()), ("deviations", places.log_stds()), ("biases", places.bias())];
            for (part, places) in parts {
                let squares = work.gradients[places].iter().map(|gradient| gradient * gradient);
                if let Some(found) = { squares }.find(|square| !square.is_finite()) {
                    let place = format!("a squared gradient of the {part} of layer {}", layer + 1);
                    return Err(Breakdown { place, found: f64::from(found) });
                }
            }
        }
        Ok(())
    }

    /// Finds the first number that is not finite, if the loss is not.
    fn find_breakdown(&self, loss: f64, work: &Work) -> Breakdown {
        if let Some(found) = work.batch.inputs.find_non_finite() {
            let place = "the contexts of the minibatch".to_owned();
            return Breakdown { place, found: f64::from(found) };
        }
        let layers = work.net.stds_and_outputs().enumerate().flat_map(|(layer, (std, output))| {
            let layer = layer + 1;
            [(format!("standard deviations of layer {layer}"), std), (format!("layer {layer}"), output)]
        });
        find_breakdown(layers).unwrap_or(Breakdown { place: "the loss".to_owned(), found: loss })
    }
}

/// Whether the squares of all numbers are finite.
#[multiversion(targets = "simd")]
fn are_squares_finite(numbers: &[f32]) -> bool {
    let mut rest = [0.0; LANES];
    for numbers in numbers.chunks(LANES) {
        // Nothing is left of a finite number, and a NaN of any other.
        rest.iter_mut().zip(numbers).for_each(|(rest, number)| *rest += number * number * 0.0);
    }
    rest.iter().sum::<f32>() == 0.0
}

/// Clamps numbers to bounds; returns how many were outside. A later check finds NaNs.
#[multiversion(targets = "simd")]
pub(crate) fn hold(numbers: &mut [f32], low: f32, high: f32) -> u32 {
    let mut n_held = 0;
    for number in numbers {
        let held = if *number < low { low } else { *number };
        let held = if held > high { high } else { held };
        n_held += u32::from(held.to_bits() != number.to_bits());
        *number = held;
    }
    n_held
}

/// The decider: a net of Gaussian weights.
#[derive(Clone, Debug)]
pub(crate) struct GaussianNet {
    pub(super) parts: Arc<Parts>,
    pub(super) parameters: Arc<Vec<f32>>,
    /// Those of the weights, computed from the parameters.
    variances: Arc<Vec<Vec<f32>>>,
    scale: RewardScale,
}

/// The decider and its training state.
#[derive(Clone, Debug)]
pub(crate) struct Bbb {
    pub(super) net: GaussianNet,
    optimizer: Adam,
    scaling: RewardScaling,
    /// Buffers for training; a clone allocates its own.
    work: Cache<Work>,
}

impl Bbb {
    fn assemble(parts: Parts, parameters: Vec<f32>, optimizer: Adam, scaling: RewardScaling) -> Self {
        let mut variances = Vec::new();
        parts.net.variances(&parameters, &mut variances);
        let scale = scale(&parts, scaling);
        let (parts, parameters, variances) = (Arc::new(parts), Arc::new(parameters), Arc::new(variances));
        let net = GaussianNet { parts, parameters, variances, scale };
        Self { net, optimizer, scaling, work: Cache::default() }
    }
}

/// The contexts that the model is trained on.
fn scale(parts: &Parts, scaling: RewardScaling) -> RewardScale {
    scaling.scale(parts.config.reward_scaling == Switch::On)
}

/// Clamps log standard deviations to their bounds; returns how many were outside.
fn apply_bounds(net: &BayesMlp, parameters: &mut [f32]) -> u64 {
    let (low, high) = LOG_STD_BOUNDS;
    net.layers().iter().map(|layer| u64::from(hold(&mut parameters[layer.log_stds()], low, high))).sum()
}

impl Decider for GaussianNet {
    /// Draws each layer's sums rather than its weights, without the floor of training: for one context this has exactly the same
    /// distribution, and needs only one normal per unit. Draws for different contexts are independent.
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let Work { batch, net, .. } = scratch.work();
        batch.inputs.set(contexts, self.parts.shape.n_features);
        let normals = &mut Normals::new(rng);
        self.parts.net.forward(&self.parameters, &self.variances, batch.inputs.input(), 0.0, normals, net);
        self.scale.read_rewards(net.output(), rewards);
        Ok(())
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
            let Work { batch, net, .. } = scratch.work();
            batch.inputs.set_batch(contexts, self.parts.shape.n_features);
            let (parameters, variances, input) = (&self.parameters, &self.variances, batch.inputs.input());
            self.parts.net.forward(parameters, variances, input, 0.0, &mut normals, net);
            self.scale.read_rewards(net.output(), rewards);
            *scratch.work() = normals;
            Ok(())
        })
    }
}

impl Learner for Bbb {
    type Config = BbbConfig;
    type Decider = GaussianNet;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn plan(config: &BbbConfig) -> Plan {
        Plan::trained(&config.agent, config.train_every, config.replay_capacity.0)
            .on_replay(&config.replay)
            .with_propensity_draws(config.propensity_draws as usize)
    }

    fn new(config: &BbbConfig, shape: Shape, seed: Seed) -> Self {
        let parts = Parts::new(config, shape);
        let parameters = parts.untrained(&mut seed.stream("init", 0));
        let optimizer = Adam::new(parts.n_parameters, config.learning_rate as f32);
        Self::assemble(parts, parameters, optimizer, RewardScaling::forgetting(config.agent.half_life))
    }

    fn decider(&self) -> &GaussianNet {
        &self.net
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        self.scaling.observe(outcome);
        self.net.scale = scale(&self.net.parts, self.scaling);
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let mut work = self.work.0.take().unwrap_or_default();
        let GaussianNet { parts, parameters, variances, scale } = &mut self.net;
        let (parameters, variances) = (Arc::make_mut(parameters), Arc::make_mut(variances));
        work.gradients.clear();
        work.gradients.resize(parameters.len(), 0.0);
        let gathering = Gathering {
            n_rows: parts.config.batch_size as usize,
            n_features: parts.shape.n_features,
            n_more_lines: 0,
            scale: *scale,
        };
        let mut normals = Normals::new(rng);
        let minibatches = parts.config.minibatches;
        let n_drawn = gathering.n_rows.saturating_mul(minibatches as usize);
        work.batch.inputs.prepare(replay, gathering.n_features, n_drawn);
        let (mut total, mut interventions) = (0.0, 0);
        for _ in 0..minibatches {
            work.batch.gather(replay, rng, gathering);
            let loss = parts.loss(parameters, variances, self.scaling.n, &mut normals, &mut work);
            parts.check_minibatch(loss, &work)?;
            total += loss;
            self.optimizer.step(parameters, &mut work.gradients);
            interventions += apply_bounds(&parts.net, parameters);
            parts.net.variances(parameters, variances);
        }
        optimized::check("", parameters, &self.optimizer)?;
        self.work = Cache(Some(work));
        Ok(FitReport { interventions, ..FitReport::new(minibatches, total / f64::from(minibatches)) })
    }

    fn add_action(&mut self, config: &BbbConfig, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        let GaussianNet { parts, parameters, variances, .. } = &mut self.net;
        let grown = Parts::new(config, shape);
        self.optimizer.grow(&parts.layout, &grown.layout);
        *parameters = Arc::new(parts.layout.carry_over(parameters, &grown.layout, grown.untrained(rng)));
        grown.net.variances(parameters, Arc::make_mut(variances));
        *parts = Arc::new(grown);
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.scaling.encode(encoder);
        optimized::encode(&self.net.parameters, &self.optimizer, encoder);
    }

    fn decode(config: &BbbConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        decoder.check_room(shape)?;
        let parts = Parts::new(config, shape);
        let scaling = RewardScaling::decode(config.agent.half_life, decoder)?;
        let (parameters, optimizer) =
            optimized::decode(parts.n_parameters, config.learning_rate as f32, decoder)?;
        Ok(Self::assemble(parts, parameters, optimizer, scaling))
    }
}
