//! The process as a reward model: it observes every outcome immediately, and learns its kernel on schedule.

use std::sync::Arc;

use super::config::MultitaskGpConfig;
use super::prior::{Prior, PriorWork};
use crate::agent::{Breakdown, Cache, Decider, FitReport, Learner, Plan, Replay, Scratch, win_shares};
use crate::math::gp::{CovarianceWork, Points, Posterior};
use crate::model::training::reward_scaling::{RewardScale, RewardScaling};
use crate::registry::save::{Decoder, Encoder};
use crate::{Error, Outcome, Request, Rng, Seed, Shape};

/// The decider: the posterior and the scale of its rewards.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    posterior: Arc<Posterior>,
    scale: RewardScale,
}

/// A Gaussian process and the training state of its kernel.
///
/// Rewards are standardized by the mean and standard deviation over all actions, so an action without observations can be sampled
/// as high as the rewards of others.
#[derive(Clone, Debug)]
pub(crate) struct MultitaskGp {
    prior: Prior,
    scaling: RewardScaling,
    process: Process,
    /// The most observations that the posterior is conditioned on after training.
    posterior_points: usize,
    half_life: Option<f64>,
    /// Pivots clamped since the last round of training.
    n_held: u64,
    /// Buffers for training; a clone allocates its own.
    work: Cache<PriorWork>,
}

/// After so many half-lives the factor is made anew, with weights relative to then. Until then later observations enter with more
/// weight, at most 2 to this.
const MOST_HALF_LIVES: f64 = 0.25;

/// Above any weight that such growth leads to.
const MOST_WEIGHT: f64 = 1e12;

/// Weights decay no further, so that the noise of an observation stays finite.
const LEAST_WEIGHT: f64 = 1e-12;

impl MultitaskGp {
    /// Conditions the posterior on these observations, with the current kernel.
    fn rest_on(&mut self, points: Points, rewards: Vec<f64>, weights: Vec<f64>, work: &mut CovarianceWork) {
        let mut posterior = Posterior::new(self.prior.kernel(), points, rewards, weights, work);
        self.n_held += posterior.take_held();
        self.process.posterior = Arc::new(posterior);
        self.whiten();
    }

    /// Updates the scale of rewards.
    fn whiten(&mut self) {
        self.process.scale = self.scaling.scale(true);
        let RewardScale { mean, std } = self.process.scale;
        Arc::make_mut(&mut self.process.posterior).whiten(mean, std);
    }

    /// Adds an observation to the posterior; drops the oldest at capacity.
    ///
    /// With a half-life, the weights in the posterior are relative to when its factor was made: since then, later observations
    /// enter with more weight, and earlier ones keep theirs.
    fn add(&mut self, outcome: Outcome<'_>) {
        let Outcome { context, weight, .. } = outcome;
        let half_lives = |n: usize| self.half_life.map_or(0.0, |half_life| n as f64 / half_life);
        let mut n_added = self.process.posterior.n_added();
        if self.process.posterior.is_full() || half_lives(n_added) > MOST_HALF_LIVES {
            let (points, rewards, weights) = self.process.posterior.seen();
            let first = rewards.len().saturating_sub(self.posterior_points);
            let remainder = libm::exp2(-half_lives(n_added));
            let contexts = points.contexts[first * context.len()..].to_vec();
            let points = Points { contexts, actions: points.actions[first..].to_vec() };
            let rewards = rewards[first..].to_vec();
            let weights =
                weights[first..].iter().map(|weight| (remainder * weight).max(LEAST_WEIGHT)).collect();
            n_added = 0;
            self.rest_on(points, rewards, weights, &mut CovarianceWork::default());
        }
        let growth = self.half_life.map_or(1.0, |half_life| libm::exp2((n_added + 1) as f64 / half_life));
        self.take_in(outcome.with_weight(weight * growth));
    }

    /// Adds an observation with the weight that it is to have.
    fn take_in(&mut self, Outcome { context, action, reward, weight, .. }: Outcome<'_>) {
        let posterior = Arc::make_mut(&mut self.process.posterior);
        posterior.observe(context, action, reward, weight);
        self.n_held += posterior.take_held();
    }
}

impl Decider for Process {
    /// The rewards of a context are drawn together, those of different contexts independently.
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let n_actions = rewards.len() / contexts.len();
        for (context, rewards) in contexts.iter().zip(rewards.chunks_exact_mut(n_actions)) {
            self.draw_for(context, rng, scratch, rewards);
        }
        Ok(())
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
            self.draw_for(request.context, rng, scratch, rewards);
            win_shares(&request, rewards, probabilities)
        })
    }
}

impl Process {
    /// Draws the rewards of a context repeatedly, until `rewards` is full. **Samples.**
    fn draw_for(&self, context: &[f32], rng: &mut Rng, scratch: &mut Scratch, rewards: &mut [f64]) {
        let [work] = scratch.doubles([self.posterior.n_work()]);
        let RewardScale { mean, std } = self.scale;
        self.posterior.draw(context, rng, work, rewards);
        rewards.iter_mut().for_each(|reward| *reward = mean + std * *reward);
    }
}

impl Learner for MultitaskGp {
    type Config = MultitaskGpConfig;
    type Decider = Process;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn plan(config: &MultitaskGpConfig) -> Plan {
        Plan::trained(&config.agent, config.train_every, Some(config.replay_capacity as usize))
            .scheduled(&config.schedule)
            .with_propensity_draws(config.propensity_draws as usize)
    }

    fn new(config: &MultitaskGpConfig, shape: Shape, seed: Seed) -> Self {
        let prior = Prior::new(config.prior(), shape, &mut seed.stream("init", 0));
        let (points, work) = (Points::default(), &mut CovarianceWork::default());
        let posterior = Posterior::new(prior.kernel(), points, Vec::new(), Vec::new(), work);
        Self {
            prior,
            scaling: RewardScaling::forgetting(config.agent.half_life),
            process: Process { posterior: Arc::new(posterior), scale: RewardScale::AS_GIVEN },
            posterior_points: config.replay_capacity as usize,
            half_life: config.agent.half_life.0,
            n_held: 0,
            work: Cache::default(),
        }
    }

    fn decider(&self) -> &Process {
        &self.process
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        self.scaling.observe(outcome);
        self.add(*outcome);
        self.whiten();
    }

    /// The scale of rewards is updated only once.
    fn observe_many(&mut self, outcomes: &[Outcome<'_>]) {
        for outcome in outcomes {
            self.scaling.observe(outcome);
            self.add(*outcome);
        }
        self.whiten();
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let mut work = self.work.0.take().unwrap_or_default();
        let loss = self.prior.fit(replay, self.process.scale, rng, &mut work)?;
        let n_held = work.evidence.take_held();
        let mut points = Points::default();
        let (mut rewards, mut weights) = (Vec::with_capacity(replay.len()), Vec::with_capacity(replay.len()));
        for index in 0..replay.len() {
            let observation = replay.get(index);
            points.push(observation.context, observation.action);
            rewards.push(observation.reward);
            weights.push(observation.weight);
        }
        self.rest_on(points, rewards, weights, &mut work.evidence.covariances);
        self.work = Cache(Some(work));
        let interventions = std::mem::take(&mut self.n_held) + n_held;
        Ok(FitReport { interventions, ..FitReport::new(self.prior.n_minibatches(), loss) })
    }

    fn add_action(&mut self, _config: &MultitaskGpConfig, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        self.prior.add_action(shape, rng);
        Arc::make_mut(&mut self.process.posterior).add_actions(self.prior.kernel());
        self.work = Cache::default();
        Ok(())
    }

    /// The observations are saved, but not the factor: decoding recomputes it exactly.
    fn encode(&self, encoder: &mut Encoder) {
        self.scaling.encode(encoder);
        self.prior.encode(encoder);
        encoder.u64(self.n_held);
        let (points, rewards, weights) = self.process.posterior.seen();
        encoder.usize(points.len());
        encoder.usize(self.process.posterior.n_base());
        encoder.f32s(&points.contexts);
        points.actions.iter().for_each(|&action| encoder.usize(action));
        encoder.f64s(rewards);
        encoder.f64s(weights);
    }

    fn decode(config: &MultitaskGpConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let scaling = RewardScaling::decode(config.agent.half_life, decoder)?;
        let prior = Prior::decode(config.prior(), shape, decoder)?;
        let n_held = decoder.u64()?;
        let (n, n_base) = (decoder.usize()?, decoder.usize()?);
        let size = shape.n_features * size_of::<f32>() + size_of::<u64>() + size_of::<f64>();
        if n_base > n.min(config.replay_capacity as usize) || n > decoder.remaining() / size {
            return Err(decoder.damaged(format!(
                "its {n} observations, {n_base} of them at once, are cut short or too many"
            )));
        }
        let mut contexts = vec![0.0; n * shape.n_features];
        decoder.f32s(&mut contexts)?;
        let mut actions = vec![0; n];
        actions.iter_mut().try_for_each(|action| decoder.usize().map(|read| *action = read))?;
        let mut rewards = vec![0.0; n];
        decoder.f64s(&mut rewards)?;
        let mut weights = vec![1.0; n];
        // Format 1 had no weights.
        if decoder.format() > 1 {
            decoder.f64s(&mut weights)?;
        }
        let observations = || {
            let points = contexts.chunks_exact(shape.n_features).zip(&actions);
            points.zip(rewards.iter().zip(&weights)).map(|((context, &action), (&reward, &weight))| {
                Outcome::new(0, context, action, reward).with_weight(weight)
            })
        };
        for outcome in observations() {
            // Weights that decay leave the range of those that are given.
            if !(outcome.weight > 0.0 && outcome.weight < MOST_WEIGHT) {
                return Err(decoder.damaged(format!("an observation has the weight {}", outcome.weight)));
            }
            outcome.with_weight(1.0).check(shape).map_err(|error| decoder.damaged(error.to_string()))?;
        }
        let base = Points {
            contexts: contexts[..n_base * shape.n_features].to_vec(),
            actions: actions[..n_base].to_vec(),
        };
        let (base_rewards, base_weights) = (rewards[..n_base].to_vec(), weights[..n_base].to_vec());
        let work = &mut CovarianceWork::default();
        let posterior = Posterior::new(prior.kernel(), base, base_rewards, base_weights, work);
        let mut model = Self {
            prior,
            scaling,
            process: Process { posterior: Arc::new(posterior), scale: scaling.scale(true) },
            posterior_points: config.replay_capacity as usize,
            half_life: config.agent.half_life.0,
            n_held,
            work: Cache::default(),
        };
        for outcome in observations().skip(n_base) {
            if model.process.posterior.is_full() {
                return Err(decoder.damaged(format!("{n} observations follow {n_base}")));
            }
            model.take_in(outcome);
        }
        Arc::make_mut(&mut model.process.posterior).take_held();
        model.n_held = n_held;
        model.whiten();
        Ok(model)
    }
}
