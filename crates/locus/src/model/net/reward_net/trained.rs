//! A reward net with its parameters, and its training state.

use std::sync::Arc;

use super::config::RewardNetConfig;
use super::net::{NetWork, RewardNet, Units};
use crate::agent::Breakdown;
use crate::agent::Cache;
use crate::agent::FitReport;
use crate::agent::Replay;
use crate::math::nn::{Panel, RmsProp, clip_by_global_norm};
use crate::model::training::minibatch::{Gathering, Minibatch};
use crate::model::training::reward_scaling::RewardScale;
use crate::registry::save::{Decoder, Encoder};
use crate::{Error, Rng, Shape};

/// A net and its parameters: everything that a prediction needs.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    pub(crate) net: RewardNet,
    pub(crate) parameters: Vec<f32>,
}

/// The training state of a net: settings and optimizer.
#[derive(Clone, Debug)]
pub(crate) struct Trainer {
    pub(crate) config: RewardNetConfig,
    pub(crate) optimizer: RmsProp,
    anchor: Option<Anchor>,
}

/// A penalty towards θ₀: `precision·‖θ − θ₀‖²/n` is added to the loss, with n the number of observations, by weight.
#[derive(Clone, Debug)]
struct Anchor {
    /// θ₀
    parameters: Arc<[f32]>,
    precision: f64,
}

/// What a round of training is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// The number of observations that minibatches are drawn from, by weight.
    pub(crate) n_observed: f64,
    /// The share of earlier training that a half-life leaves.
    pub(crate) remaining_share: f64,
}

impl Extent {
    /// All that a replay holds.
    pub(crate) fn of(replay: &Replay) -> Self {
        Self { n_observed: replay.total_weight(), remaining_share: replay.remaining_share() }
    }
}

impl Anchor {
    /// The penalty; its gradients are added.
    fn penalty(&self, n_observed: f64, parameters: &[f32], gradients: &mut [f32]) -> f64 {
        let weight = self.precision / n_observed;
        let mut squares = 0.0;
        for ((gradient, parameter), anchor) in gradients.iter_mut().zip(parameters).zip(&*self.parameters) {
            let away = parameter - anchor;
            squares += f64::from(away) * f64::from(away);
            *gradient += (2.0 * weight) as f32 * away;
        }
        weight * squares
    }
}

impl Weights {
    /// The predicted rewards of contexts, those of a context side by side. Fails if one is not finite. **Samples** if `units` do.
    pub(crate) fn predict(
        &self,
        contexts: &[&[f32]],
        units: &impl Units,
        rng: &mut Rng,
        work: &mut NetWork,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.net.predict(&self.parameters, contexts, units, rng, work, rewards)
    }

    /// The features [dim, N] of contexts. Fails if one is not finite.
    pub(crate) fn features<'a>(
        &self,
        contexts: &[&[f32]],
        work: &'a mut NetWork,
    ) -> Result<&'a Panel, Breakdown> {
        self.net.features(&self.parameters, contexts, work)
    }
}

impl Trainer {
    /// An untrained net and its training state. **Samples.**
    pub(crate) fn new(config: &RewardNetConfig, shape: Shape, rng: &mut Rng) -> (Weights, Self) {
        let net = RewardNet::new(&config.hidden_layers, shape);
        let parameters = net.initialize(config.initial_weights, rng);
        let optimizer = RmsProp::as_in_tensorflow(net.n_parameters);
        (Weights { net, parameters }, Self { config: config.clone(), optimizer, anchor: None })
    }

    /// Adds an action, the last of `shape`: an output whose parameters, and all that training keeps of them, begin as in an untrained
    /// net. **Samples.**
    pub(crate) fn add_action(&mut self, weights: &mut Weights, shape: Shape, rng: &mut Rng) {
        let (untrained, Self { optimizer, .. }) = Self::new(&self.config, shape, rng);
        let (from, to) = (&weights.net.layout, &untrained.net.layout);
        self.optimizer.squares = from.carry_over(&self.optimizer.squares, to, optimizer.squares);
        if let Some(anchor) = &mut self.anchor {
            anchor.parameters = from.carry_over(&anchor.parameters, to, untrained.parameters.clone()).into();
        }
        let parameters = from.carry_over(&weights.parameters, to, untrained.parameters);
        *weights = Weights { net: untrained.net, parameters };
    }

    /// Adds a Gaussian prior of this precision around the current parameters.
    pub(crate) fn anchored(mut self, weights: &Weights, precision: f64) -> Self {
        self.anchor = Some(Anchor { parameters: weights.parameters.as_slice().into(), precision });
        self
    }

    /// Runs a round of training on the replay, and returns the report of a model with this single net. **Samples.**
    pub(crate) fn fit(
        &mut self,
        weights: &mut Arc<Weights>,
        replay: &Replay,
        units: &impl Units,
        rng: &mut Rng,
        cache: &mut Cache<NetWork>,
    ) -> Result<FitReport, Breakdown> {
        let mut work = cache.0.take().unwrap_or_default();
        let mean_loss = self.train_on(Arc::make_mut(weights), replay, units, rng, &mut work)?;
        *cache = Cache(Some(work));
        Ok(FitReport::new(self.config.minibatches, mean_loss))
    }

    /// Runs a round of training on the replay, and returns the mean loss. **Samples.**
    pub(crate) fn train_on(
        &mut self,
        weights: &mut Weights,
        replay: &Replay,
        units: &impl Units,
        rng: &mut Rng,
        work: &mut NetWork,
    ) -> Result<f64, Breakdown> {
        self.train(weights, Extent::of(replay), units, rng, work, |batch, rng, gathering| {
            batch.gather(replay, rng, gathering);
        })
    }

    /// Runs a round of training on minibatches that `gather` draws from so many observations, by weight. Returns the mean
    /// loss. **Samples.**
    ///
    /// Gradient clipping is part of the method, not an intervention.
    pub(crate) fn train(
        &mut self,
        weights: &mut Weights,
        Extent { n_observed, remaining_share }: Extent,
        units: &impl Units,
        rng: &mut Rng,
        work: &mut NetWork,
        mut gather: impl FnMut(&mut Minibatch, &mut Rng, Gathering),
    ) -> Result<f64, Breakdown> {
        let Weights { net, parameters } = weights;
        work.gradients.clear();
        work.gradients.resize(parameters.len(), 0.0);
        let gathering = Gathering {
            n_rows: self.config.batch_size as usize,
            n_features: net.n_features,
            n_more_lines: 0,
            scale: RewardScale::AS_GIVEN,
        };
        let mut total = 0.0;
        for _ in 0..self.config.minibatches {
            gather(&mut work.batch, rng, gathering);
            let mut loss = net.loss(parameters, units, rng, work);
            if let Some(anchor) = &self.anchor {
                loss += anchor.penalty(n_observed, parameters, &mut work.gradients);
            }
            if !loss.is_finite() {
                return Err(net.find_breakdown(work, "the loss"));
            }
            total += loss;
            let norm = clip_by_global_norm(&mut work.gradients, self.config.max_gradient_norm);
            if !norm.is_finite() {
                return Err(Breakdown::new("the length of the gradients", norm));
            }
            let learning_rate =
                self.config.learning_rate_after(self.optimizer.n_steps as f64 * remaining_share);
            self.optimizer.step(parameters, &mut work.gradients, learning_rate);
        }
        match parameters.iter().find(|parameter| !parameter.is_finite()) {
            None => Ok(total / f64::from(self.config.minibatches)),
            Some(found) => Err(Breakdown::new("a parameter after training", f64::from(*found))),
        }
    }

    pub(crate) fn encode(&self, weights: &Weights, encoder: &mut Encoder) {
        encoder.u64(self.optimizer.n_steps);
        encoder.f32s(&weights.parameters);
        encoder.f32s(&self.optimizer.squares);
        if let Some(anchor) = &self.anchor {
            encoder.f32s(&anchor.parameters);
        }
    }

    pub(crate) fn decode(
        config: &RewardNetConfig,
        shape: Shape,
        decoder: &mut Decoder<'_>,
    ) -> Result<(Weights, Self), Error> {
        decoder.check_room(shape)?;
        let net = RewardNet::new(&config.hidden_layers, shape);
        let n_steps = decoder.u64()?;
        let [parameters, squares] = decoder.parameters(net.n_parameters)?;
        if squares.iter().any(|square| *square < 0.0) {
            return Err(decoder.damaged("a mean of squares is negative"));
        }
        let optimizer = RmsProp { n_steps, squares, ..RmsProp::as_in_tensorflow(0) };
        Ok((Weights { net, parameters }, Self { config: config.clone(), optimizer, anchor: None }))
    }

    /// The same for a net that was [`Trainer::anchored`] with this precision.
    pub(crate) fn decode_anchored(
        config: &RewardNetConfig,
        shape: Shape,
        precision: f64,
        decoder: &mut Decoder<'_>,
    ) -> Result<(Weights, Self), Error> {
        let (weights, trainer) = Self::decode(config, shape, decoder)?;
        let [parameters] = decoder.parameters(weights.net.n_parameters)?;
        let anchor = Some(Anchor { parameters: parameters.into(), precision });
        Ok((weights, Self { anchor, ..trainer }))
    }
}
