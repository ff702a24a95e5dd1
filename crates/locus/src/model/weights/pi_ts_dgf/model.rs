//! Nets as particles: their log posterior, and decisions with one of them.
//!
//! The log posterior of a net θ given a minibatch of contexts x with actions a and rewards r is, up to a constant,
//!
//! ```text
//! −½ · reward precision · scale · Σ (r − f_θ(x)[a])² − ½ · prior precision · |θ|²
//! ```
//!
//! where the scale is 1, or the number of observations, by weight, divided by the rows of the minibatch.

use std::sync::Arc;

use multiversion::multiversion;

use super::config::PiTsDgfConfig;
use super::flow::{Flow, FlowWork, Particles};
use crate::agent::{
    Breakdown, Cache, Decider, FitReport, Learner, Plan, Replay, Scratch, choose_by_draws, win_shares,
};
use crate::math::nn::{LANES, Panel, Stack, StackWork};
use crate::model::ensemble::DrawnNets;
use crate::model::training::minibatch::{Gathering, Minibatch};
use crate::model::training::reward_scaling::RewardScale;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::values::LikelihoodScale;
use crate::{Choice, Error, Request, Rng, Seed, Shape};

/// The decider: nets, one of which is drawn for every decision.
#[derive(Clone, Debug)]
pub(crate) struct Ensemble {
    pub(super) stack: Stack,
    pub(super) nets: Arc<Panel>,
}

/// The particles and their training state.
#[derive(Clone, Debug)]
pub(crate) struct PiTsDgf {
    pub(super) ensemble: Ensemble,
    pub(super) flow: Flow,
    /// Their positions are in `ensemble`, except while they move.
    pub(super) particles: Particles,
    reward_precision: f32,
    prior_precision: f32,
    likelihood_scale: LikelihoodScale,
    batch_size: usize,
    minibatches: u32,
    /// Buffers for training; a clone allocates its own.
    work: Cache<Work>,
}

/// A minibatch and everything computed from it.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub(super) batch: Minibatch,
    stack: StackWork,
    pub(super) flow: FlowWork,
}

/// Buffers for a decision.
#[derive(Debug, Default)]
struct DecisionWork {
    hidden: Vec<f32>,
    outputs: Vec<f32>,
}

/// Buffers for a batch of decisions.
#[derive(Debug, Default)]
struct BatchWork {
    batch: Minibatch,
    hidden: Panel,
    outputs: Panel,
}

impl PiTsDgf {
    fn with_particles(config: &PiTsDgfConfig, stack: Stack, flow: Flow, particles: Particles) -> Self {
        let mut model = Self {
            ensemble: Ensemble { stack, nets: Arc::default() },
            flow,
            particles,
            reward_precision: config.reward_precision as f32,
            prior_precision: config.prior_precision as f32,
            likelihood_scale: config.likelihood_scale,
            batch_size: config.batch_size as usize,
            minibatches: config.minibatches,
            work: Cache::default(),
        };
        model.rest();
        model
    }

    /// Begins a movement: takes the particles from the decider.
    pub(super) fn set_out(&mut self) {
        self.particles.current = Arc::unwrap_or_clone(std::mem::take(&mut self.ensemble.nets));
    }

    /// Ends a movement: returns the particles to the decider.
    pub(super) fn rest(&mut self) {
        self.ensemble.nets = Arc::new(std::mem::take(&mut self.particles.current));
    }

    /// Writes the gradients of every particle's log posterior to `work.flow`; returns the mean negative log posterior.
    pub(super) fn find_gradients(&self, n_observed: f64, work: &mut Work) -> f64 {
        let Work { batch, stack, flow } = work;
        let scale = match self.likelihood_scale {
            LikelihoodScale::Minibatch => 1.0,
            LikelihoodScale::All => n_observed as f32 / batch.rewards.len() as f32,
        };
        let weight = self.reward_precision * scale;
        self.flow.prepare(self.ensemble.stack.n_parameters(), flow);
        self.ensemble.stack.read(self.particles.current.all(), stack);
        let mut squared_errors = 0.0;
        self.ensemble.stack.add_gradients(&batch.inputs, &batch.actions, stack, |row, rewards| {
            let reward = batch.rewards[row];
            let mut row_errors = 0.0;
            for place in rewards {
                let error = reward - *place;
                row_errors += error * error;
                *place = weight * error;
            }
            squared_errors += f64::from(row_errors);
        });
        self.ensemble.stack.write_gradients(stack, flow.gradients.all_mut());
        let mut squares = 0.0;
        for particle in 0..self.ensemble.stack.n_nets {
            let (theta, gradient) =
                (self.particles.current.line(particle), flow.gradients.line_mut(particle));
            squares += f64::from(add_prior(gradient, theta, self.prior_precision));
        }
        let sum = f64::from(weight) * squared_errors + f64::from(self.prior_precision) * squares;
        0.5 * sum / self.ensemble.stack.n_nets as f64
    }

    /// Finds where a loss that is not finite arose: evaluates every particle again, row by row.
    fn find_breakdown(&self, loss: f64, batch: &Minibatch) -> Breakdown {
        let Stack { n_nets, n_in, n_hidden, n_out } = self.ensemble.stack;
        let (mut context, mut hidden, mut outputs) = (vec![0.0; n_in], vec![0.0; n_hidden], vec![0.0; n_out]);
        let first = |values: &[f32]| values.iter().copied().find(|value| !value.is_finite());
        for particle in 0..n_nets {
            let broken = |what: &str, found: f32| Breakdown {
                place: format!("{what} of particle {particle}"),
                found: f64::from(found),
            };
            let net = self.particles.current.line(particle);
            if let Some(found) = first(net) {
                return broken("a parameter", found);
            }
            for (row, (&action, reward)) in batch.actions.iter().zip(&batch.rewards).enumerate() {
                context.iter_mut().enumerate().for_each(|(i, place)| *place = batch.inputs.line(i)[row]);
                self.ensemble.stack.forward_one(net, &context, &mut hidden, &mut outputs);
                if let Some(found) = first(&hidden) {
                    return broken("the hidden layer", found);
                }
                if let Some(found) = first(&outputs) {
                    return broken("the output layer", found);
                }
                let error = reward - outputs[action];
                if !(error * error).is_finite() {
                    return broken("the squared error", error * error);
                }
            }
            let squares: f32 = net.iter().map(|value| value * value).sum();
            if !squares.is_finite() {
                return broken("the squared length", squares);
            }
        }
        Breakdown { place: "the particles' loss".to_owned(), found: loss }
    }
}

/// Adds the gradient of the log prior; |θ|².
#[multiversion(targets = "simd")]
fn add_prior(gradient: &mut [f32], theta: &[f32], precision: f32) -> f32 {
    let mut squares = [0.0; LANES];
    for (gradient, theta) in gradient.chunks_mut(LANES).zip(theta.chunks(LANES)) {
        for ((gradient, theta), square) in gradient.iter_mut().zip(theta).zip(&mut squares) {
            *gradient -= precision * theta;
            *square += theta * theta;
        }
    }
    squares.iter().sum()
}

fn stack(config: &PiTsDgfConfig, shape: Shape) -> Stack {
    Stack {
        n_nets: config.particles as usize,
        n_in: shape.n_features,
        n_hidden: config.hidden_units as usize,
        n_out: shape.n_actions,
    }
}

/// Nets before any training. **Samples.**
fn untrained(stack: Stack, rng: &mut Rng) -> Panel {
    let mut nets = Panel::new(stack.n_nets, stack.n_parameters());
    (0..stack.n_nets).for_each(|net| stack.initialize(nets.line_mut(net), rng));
    nets
}

impl Decider for Ensemble {
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let Stack { n_nets, n_out, .. } = self.stack;
        for (context, rewards) in contexts.iter().zip(rewards.chunks_exact_mut(n_out)) {
            self.predict(rng.below(n_nets), context, scratch.work(), rewards);
        }
        Ok(())
    }

    /// For each action, the share of particles that predict the highest reward for it.
    fn distribution(
        &self,
        request: Request<'_>,
        _n_draws: usize,
        _rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        let Stack { n_nets, n_out, .. } = self.stack;
        scratch.with_rewards(n_nets * n_out, |rewards, scratch| {
            for (particle, rewards) in rewards.chunks_exact_mut(n_out).enumerate() {
                self.predict(particle, request.context, scratch.work(), rewards);
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
        let Stack { n_nets, n_in, .. } = self.stack;
        choose_by_draws(requests, n_actions, scratch, choices, |contexts, scratch, rewards| {
            let drawn = DrawnNets::new(rngs.iter_mut().map(|rng| rng.below(n_nets)).collect(), n_nets);
            drawn.for_each(contexts, n_actions, rewards, |particle, contexts, rewards| {
                let BatchWork { batch, hidden, outputs } = scratch.work();
                batch.set_batch(contexts, n_in, 0);
                self.stack.forward(self.nets.line(particle), batch.inputs.all(), hidden, outputs);
                RewardScale::AS_GIVEN.read_rewards(outputs, rewards);
                Ok(())
            })
        })
    }
}

impl Ensemble {
    /// What a particle predicts for a context.
    fn predict(&self, particle: usize, context: &[f32], work: &mut DecisionWork, rewards: &mut [f64]) {
        let DecisionWork { hidden, outputs } = work;
        hidden.resize(self.stack.n_hidden, 0.0);
        outputs.resize(self.stack.n_out, 0.0);
        self.stack.forward_one(self.nets.line(particle), context, hidden, outputs);
        rewards.iter_mut().zip(&*outputs).for_each(|(reward, output)| *reward = f64::from(*output));
    }
}

impl Learner for PiTsDgf {
    type Config = PiTsDgfConfig;
    type Decider = Ensemble;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn plan(config: &PiTsDgfConfig) -> Plan {
        Plan::trained(&config.agent, config.train_every, config.replay_capacity.0).on_replay(&config.replay)
    }

    fn new(config: &PiTsDgfConfig, shape: Shape, seed: Seed) -> Self {
        let (stack, flow) = (stack(config, shape), Flow::new(config));
        let nets = untrained(stack, &mut seed.stream("init", 0));
        Self::with_particles(config, stack, flow, flow.particles(nets))
    }

    fn decider(&self) -> &Ensemble {
        &self.ensemble
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let mut work = self.work.0.take().unwrap_or_default();
        let gathering = Gathering {
            n_rows: self.batch_size,
            n_features: self.ensemble.stack.n_in,
            n_more_lines: 0,
            scale: RewardScale::AS_GIVEN,
        };
        self.set_out();
        let (mut total, mut interventions) = (0.0, 0);
        for _ in 0..self.minibatches {
            work.batch.gather(replay, rng, gathering);
            let loss = self.find_gradients(replay.total_weight(), &mut work);
            if !loss.is_finite() {
                return Err(self.find_breakdown(loss, &work.batch));
            }
            total += loss;
            interventions += self.flow.step(&mut self.particles, &mut work.flow)?;
        }
        self.rest();
        self.work = Cache(Some(work));
        let mean_loss = total / f64::from(self.minibatches);
        Ok(FitReport { interventions, ..FitReport::new(self.minibatches, mean_loss) })
    }

    fn add_action(&mut self, config: &PiTsDgfConfig, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        let grown = stack(config, shape);
        let start = self.flow.particles(untrained(grown, rng));
        self.set_out();
        self.particles.grow(&self.ensemble.stack.layout(), &grown.layout(), start);
        self.ensemble.stack = grown;
        self.rest();
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.u64(self.particles.n_steps);
        let Particles { previous, squares, .. } = &self.particles;
        for panel in [&*self.ensemble.nets, previous, squares] {
            panel.all().iter().for_each(|line| encoder.f32s(line));
        }
    }

    fn decode(config: &PiTsDgfConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        decoder.check_room(shape)?;
        let (stack, flow) = (stack(config, shape), Flow::new(config));
        let n_steps = decoder.u64()?;
        let mut panel = |is_there: bool| -> Result<Panel, Error> {
            if !is_there {
                return Ok(Panel::default());
            }
            let n = stack.n_parameters();
            let [values] = decoder.parameters(stack.n_nets * n)?;
            let mut panel = Panel::new(stack.n_nets, n);
            for (line, values) in values.chunks_exact(n).enumerate() {
                panel.line_mut(line).copy_from_slice(values);
            }
            Ok(panel)
        };
        let current = panel(true)?;
        let previous = panel(flow.has_previous())?;
        let squares = panel(flow.has_squares())?;
        let particles = Particles { current, previous, squares, n_steps };
        Ok(Self::with_particles(config, stack, flow, particles))
    }
}
