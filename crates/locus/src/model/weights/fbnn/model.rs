//! Training and decisions of the net.

use std::sync::Arc;

use super::config::FbnnConfig;
use super::objective::{Net, Terms, Work};
use crate::agent::{Breakdown, Cache, Decider, FitReport, Learner, Plan, Replay, Scratch, choose_by_draws};
use crate::math::nn::{Adam, BayesMlpWork, ColumnNormals, NormalSource, Normals};
use crate::model::gp::prior::{Prior, PriorWork};
use crate::model::training::breakdown::find_breakdown;
use crate::model::training::minibatch::{Contexts, DistinctRows};
use crate::model::training::optimized;
use crate::model::training::reward_scaling::{RewardScale, RewardScaling};
use crate::model::weights::bbb::model::{LOG_STD_BOUNDS, hold};
use crate::registry::save::{Decoder, Encoder};
use crate::registry::values::{LikelihoodScale, sizes};
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

/// The decider: a net of Gaussian weights. Rewards are standardized by the mean and standard deviation over all actions.
#[derive(Clone, Debug)]
pub(crate) struct FunctionalNet {
    shape: Shape,
    pub(super) net: Arc<Net>,
    pub(super) parameters: Arc<Vec<f32>>,
    /// Those of the weights, computed from the parameters.
    variances: Arc<Vec<Vec<f32>>>,
    /// The prior's mean reward of every action.
    means: Arc<Vec<f64>>,
    scale: RewardScale,
}

/// The decider, the prior over its functions, and the training state of both.
#[derive(Clone, Debug)]
pub(crate) struct Fbnn {
    config: FbnnConfig,
    pub(super) functional: FunctionalNet,
    optimizer: Adam,
    prior: Prior,
    scaling: RewardScaling,
    /// Buffers for training; a clone allocates its own.
    work: Cache<TrainingWork>,
}

/// What a round of training needs.
#[derive(Clone, Debug, Default)]
struct TrainingWork {
    prior: PriorWork,
    rows: DistinctRows,
    objective: Work,
    random_context: Vec<f32>,
    /// The least and the largest of every feature in the minibatch.
    box_of_contexts: Vec<(f32, f32)>,
}

/// What a decision needs.
#[derive(Default)]
struct DecisionWork {
    contexts: Contexts,
    net: BayesMlpWork,
}

impl Fbnn {
    fn assemble(
        config: &FbnnConfig,
        shape: Shape,
        parameters: Vec<f32>,
        optimizer: Adam,
        prior: Prior,
        scaling: RewardScaling,
    ) -> Self {
        let net = net(config, shape);
        let mut variances = Vec::new();
        net.bayes.variances(&parameters, &mut variances);
        let functional = FunctionalNet {
            shape,
            net: Arc::new(net),
            parameters: Arc::new(parameters),
            variances: Arc::new(variances),
            means: Arc::new(prior.kernel().means),
            scale: scaling.scale(true),
        };
        Self { config: config.clone(), functional, optimizer, prior, scaling, work: Cache::default() }
    }

    /// Measurement points: observations of the replay, and random points around them. Returns how many observations the likelihood is
    /// that of, by weight. **Samples.**
    ///
    /// Rows are all different, and each comes with its weight in the minibatch, v but for the mean.
    fn gather(&self, replay: &Replay, rng: &mut Rng, work: &mut TrainingWork) -> f64 {
        let TrainingWork { rows, objective, random_context, box_of_contexts, .. } = work;
        let Work { points, targets, weights, .. } = objective;
        let FunctionalNet { shape, means, scale, .. } = &self.functional;
        points.clear();
        targets.clear();
        weights.clear();
        box_of_contexts.clear();
        box_of_contexts.resize(shape.n_features, (f32::INFINITY, f32::NEG_INFINITY));
        for &(row, weight) in rows.draw(replay, self.config.batch_size as usize, rng) {
            let observation = replay.get(row);
            points.push(observation.context, observation.action);
            let reward = (observation.reward - scale.mean) / scale.std;
            targets.push(reward - means[observation.action]);
            weights.push(weight);
            for ((low, high), &value) in box_of_contexts.iter_mut().zip(observation.context) {
                (*low, *high) = (low.min(value), high.max(value));
            }
        }
        for _ in 0..self.config.random_points {
            random_context.clear();
            random_context.extend(box_of_contexts.iter().map(|&(low, high)| {
                let (low, high) = (f64::from(low), f64::from(high));
                (low + (high - low) * (2.0 * rng.uniform() - 0.5)) as f32
            }));
            points.push(random_context, rng.below(shape.n_actions));
        }
        let total: f64 = weights.iter().sum();
        let mean = total / weights.len() as f64;
        weights.iter_mut().for_each(|weight| *weight /= mean);
        match self.config.likelihood_scale {
            LikelihoodScale::Minibatch => total,
            LikelihoodScale::All => replay.total_weight(),
        }
    }

    /// A step of Adam along the gradients in `work`; returns how many log standard deviations were clamped.
    fn step(&mut self, work: &mut Work) -> u64 {
        let limit = self.config.max_gradient as f32;
        hold(&mut work.gradients, -limit, limit);
        let FunctionalNet { net, parameters, .. } = &mut self.functional;
        let parameters = Arc::make_mut(parameters);
        self.optimizer.step(parameters, &mut work.gradients);
        let (low, high) = LOG_STD_BOUNDS;
        let layers = net.bayes.layers().iter();
        layers.map(|layer| u64::from(hold(&mut parameters[layer.log_stds()], low, high))).sum()
    }
}

fn net(config: &FbnnConfig, shape: Shape) -> Net {
    Net::new(&sizes(shape.n_features, &config.layers, shape.n_actions))
}

/// Parameters of an untrained net. **Samples.**
fn untrained(config: &FbnnConfig, net: &Net, rng: &mut Rng) -> Vec<f32> {
    let mut parameters = vec![0.0; net.n_parameters];
    net.bayes.initialize(&mut parameters, config.start(), rng);
    parameters[net.noise] = config.initial_noise as f32;
    parameters
}

impl Decider for FunctionalNet {
    /// Draws each layer's sums rather than its weights, as BBB does: for one context this has exactly the same distribution.
    /// Draws for different contexts are independent.
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let work: &mut DecisionWork = scratch.work();
        work.contexts.set(contexts, self.shape.n_features);
        self.predict(&mut Normals::new(rng), work, rewards);
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
            let work: &mut DecisionWork = scratch.work();
            work.contexts.set_batch(contexts, self.shape.n_features);
            self.predict(&mut normals, work, rewards);
            *scratch.work() = normals;
            Ok(())
        })
    }
}

impl FunctionalNet {
    /// Draws the rewards of the contexts in `work`, those of a context side by side. **Samples.**
    fn predict(&self, normals: &mut impl NormalSource, work: &mut DecisionWork, rewards: &mut [f64]) {
        let input = work.contexts.input();
        self.net.bayes.forward(&self.parameters, &self.variances, input, 0.0, normals, &mut work.net);
        let scale = self.scale;
        scale.read_rewards(work.net.output(), rewards);
        for rewards in rewards.chunks_exact_mut(self.shape.n_actions) {
            for (reward, mean) in rewards.iter_mut().zip(&*self.means) {
                *reward += scale.std * mean;
            }
        }
    }
}

impl Learner for Fbnn {
    type Config = FbnnConfig;
    type Decider = FunctionalNet;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn plan(config: &FbnnConfig) -> Plan {
        Plan::trained(&config.agent, config.train_every, config.replay_capacity.0)
            .on_replay(&config.replay)
            .with_propensity_draws(config.propensity_draws as usize)
    }

    fn new(config: &FbnnConfig, shape: Shape, seed: Seed) -> Self {
        let rng = &mut seed.stream("init", 0);
        let parameters = untrained(config, &net(config, shape), rng);
        let optimizer = Adam::new(parameters.len(), config.learning_rate as f32);
        let prior = Prior::new(config.prior(), shape, rng);
        Self::assemble(
            config,
            shape,
            parameters,
            optimizer,
            prior,
            RewardScaling::forgetting(config.agent.half_life),
        )
    }

    fn decider(&self) -> &FunctionalNet {
        &self.functional
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        self.scaling.observe(outcome);
        self.functional.scale = self.scaling.scale(true);
    }

    /// The prior first, then the net.
    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let mut work = self.work.0.take().unwrap_or_default();
        self.prior.fit(replay, self.functional.scale, rng, &mut work.prior)?;
        let kernel = self.prior.kernel();
        Arc::make_mut(&mut self.functional.means).clone_from(&kernel.means);

        work.rows.prepare(replay);
        work.objective.gradients.clear();
        work.objective.gradients.resize(self.functional.parameters.len(), 0.0);
        let mut normals = Normals::new(rng);
        let minibatches = self.config.minibatches;
        let (mut total, mut interventions) = (0.0, work.prior.evidence.take_held());
        for _ in 0..minibatches {
            let n_counted = self.gather(replay, rng, &mut work);
            let objective = &mut work.objective;
            let terms = Terms {
                n_draws: self.config.samples as usize,
                injected_noise: self.config.injected_noise,
                eigen_mass: self.config.eigen_mass,
                kl_weight: 1.0 / n_counted,
            };
            let FunctionalNet { net, parameters, .. } = &self.functional;
            interventions += net.set_prior(&kernel, terms, objective);
            let (loss, is_estimated) = net.loss(parameters, terms, &mut normals, objective);
            if !(loss.is_finite() && is_estimated) {
                let place = if is_estimated { "the loss" } else { "the spread of drawn functions" };
                let otherwise = Breakdown { place: place.to_owned(), found: loss };
                return Err(find_breakdown(net.outputs(objective)).unwrap_or(otherwise));
            }
            total += loss;
            interventions += self.step(objective);
        }
        let FunctionalNet { net, parameters, variances, .. } = &mut self.functional;
        net.bayes.variances(parameters, Arc::make_mut(variances));
        optimized::check("", parameters, &self.optimizer)?;
        self.work = Cache(Some(work));
        Ok(FitReport { interventions, ..FitReport::new(minibatches, total / f64::from(minibatches)) })
    }

    fn add_action(&mut self, config: &FbnnConfig, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        let before = &self.functional.net.layout;
        let grown = net(config, shape);
        let start = untrained(config, &grown, rng);
        self.optimizer.grow(before, &grown.layout);
        self.prior.add_action(shape, rng);
        let parameters = before.carry_over(&self.functional.parameters, &grown.layout, start);
        let (optimizer, prior) = (self.optimizer.clone(), self.prior.clone());
        *self = Self::assemble(config, shape, parameters, optimizer, prior, self.scaling);
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.scaling.encode(encoder);
        self.prior.encode(encoder);
        optimized::encode(&self.functional.parameters, &self.optimizer, encoder);
    }

    fn decode(config: &FbnnConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        decoder.check_room(shape)?;
        let scaling = RewardScaling::decode(config.agent.half_life, decoder)?;
        let prior = Prior::decode(config.prior(), shape, decoder)?;
        let n_parameters = net(config, shape).n_parameters;
        let (parameters, optimizer) = optimized::decode(n_parameters, config.learning_rate as f32, decoder)?;
        Ok(Self::assemble(config, shape, parameters, optimizer, prior, scaling))
    }
}
