//! A reward net with what it has learned.

use std::sync::Arc;

use super::config::NetSettings;
use super::net::{NetWork, RewardNet, Units};
use crate::agent::FitReport;
use crate::agent::replay::Replay;
use crate::agent::scratch::Cache;
use crate::agent::wrapper::Breakdown;
use crate::math::nn::{RmsProp, clip_by_global_norm};
use crate::model::training::minibatch::{Gathering, Minibatch};
use crate::model::training::reward_scaling::RewardScale;
use crate::registry::save::{Decoder, Encoder};
use crate::{Error, Rng, Shape};

/// The net, its parameters and their optimizer.
#[derive(Clone, Debug)]
pub(crate) struct TrainedNet {
    pub(crate) settings: NetSettings,
    pub(crate) net: RewardNet,
    pub(crate) parameters: Vec<f32>,
    pub(crate) optimizer: RmsProp,
    anchor: Option<Anchor>,
}

/// Where a penalty draws the parameters to: `precision·‖θ − θ₀‖²/n` is added to the loss, n the number of observations.
#[derive(Clone, Debug)]
struct Anchor {
    /// θ₀
    parameters: Arc<[f32]>,
    precision: f64,
}

impl Anchor {
    /// The penalty; its gradients are added.
    fn penalty(&self, n_observed: usize, parameters: &[f32], gradients: &mut [f32]) -> f64 {
        let weight = self.precision / n_observed as f64;
        let mut squares = 0.0;
        for ((gradient, parameter), anchor) in gradients.iter_mut().zip(parameters).zip(&*self.parameters) {
            let away = parameter - anchor;
            squares += f64::from(away) * f64::from(away);
            *gradient += (2.0 * weight) as f32 * away;
        }
        weight * squares
    }
}

impl TrainedNet {
    /// An untrained net. **Samples.**
    pub(crate) fn new(settings: NetSettings, shape: Shape, rng: &mut Rng) -> Self {
        let net = RewardNet::new(&settings.hidden_layers, shape);
        let parameters = net.initialize(settings.initial_weights, rng);
        let optimizer = RmsProp::as_in_tensorflow(net.n_parameters);
        Self { settings, net, parameters, optimizer, anchor: None }
    }

    /// The same net, drawn back to the parameters that it has now as by a Gaussian prior of this precision.
    pub(crate) fn anchored(mut self, precision: f64) -> Self {
        self.anchor = Some(Anchor { parameters: self.parameters.as_slice().into(), precision });
        self
    }

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

    /// A round of training on all observations that are kept, with what a model whose only net this is reports of it. **Samples.**
    pub(crate) fn fit(
        &mut self,
        replay: &Replay,
        units: &impl Units,
        rng: &mut Rng,
        cache: &mut Cache<NetWork>,
    ) -> Result<FitReport, Breakdown> {
        let mut work = cache.0.take().unwrap_or_default();
        let mean_loss = Some(self.train_on(replay, units, rng, &mut work)?);
        *cache = Cache(Some(work));
        Ok(FitReport { minibatches: self.settings.minibatches, mean_loss, interventions: 0 })
    }

    /// A round of training on all observations that are kept; the mean loss. **Samples.**
    pub(crate) fn train_on(
        &mut self,
        replay: &Replay,
        units: &impl Units,
        rng: &mut Rng,
        work: &mut NetWork,
    ) -> Result<f64, Breakdown> {
        self.train(replay.len(), units, rng, work, |batch, rng, gathering| {
            batch.gather(replay, rng, gathering);
        })
    }

    /// A round of training on minibatches that `gather` draws from `n_observed` observations; the mean loss. **Samples.**
    ///
    /// Shortening long gradients is part of the method, not an intervention of a guard.
    pub(crate) fn train(
        &mut self,
        n_observed: usize,
        units: &impl Units,
        rng: &mut Rng,
        work: &mut NetWork,
        mut gather: impl FnMut(&mut Minibatch, &mut Rng, Gathering),
    ) -> Result<f64, Breakdown> {
        work.gradients.clear();
        work.gradients.resize(self.parameters.len(), 0.0);
        let gathering = Gathering {
            n_rows: self.settings.batch_size,
            n_features: self.net.n_features,
            n_more_lines: 0,
            scale: RewardScale::AS_GIVEN,
        };
        let mut total = 0.0;
        for _ in 0..self.settings.minibatches {
            gather(&mut work.batch, rng, gathering);
            let mut loss = self.net.loss(&self.parameters, units, rng, work);
            if let Some(anchor) = &self.anchor {
                loss += anchor.penalty(n_observed, &self.parameters, &mut work.gradients);
            }
            if !loss.is_finite() {
                return Err(self.net.find_breakdown(work, "the loss"));
            }
            total += loss;
            let norm = clip_by_global_norm(&mut work.gradients, self.settings.max_gradient_norm);
            if !norm.is_finite() {
                return Err(Breakdown { place: "the length of the gradients".to_owned(), found: norm });
            }
            let learning_rate = self.settings.learning_rate_after(self.optimizer.n_steps);
            self.optimizer.step(&mut self.parameters, &mut work.gradients, learning_rate);
        }
        match self.parameters.iter().find(|parameter| !parameter.is_finite()) {
            None => Ok(total / f64::from(self.settings.minibatches)),
            Some(found) => {
                Err(Breakdown { place: "a parameter after training".to_owned(), found: f64::from(*found) })
            }
        }
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.u64(self.optimizer.n_steps);
        encoder.f32s(&self.parameters);
        encoder.f32s(&self.optimizer.squares);
        if let Some(anchor) = &self.anchor {
            encoder.f32s(&anchor.parameters);
        }
    }

    pub(crate) fn decode(
        settings: NetSettings,
        shape: Shape,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        decoder.check_room(shape)?;
        let net = RewardNet::new(&settings.hidden_layers, shape);
        let n_steps = decoder.u64()?;
        let [parameters, squares] = decoder.parameters(net.n_parameters)?;
        if squares.iter().any(|square| *square < 0.0) {
            return Err(decoder.damaged("a mean of squares is negative".to_owned()));
        }
        let optimizer = RmsProp { n_steps, squares, ..RmsProp::as_in_tensorflow(0) };
        Ok(Self { settings, net, parameters, optimizer, anchor: None })
    }

    /// The same for a net that was [`TrainedNet::anchored`] with this precision.
    pub(crate) fn decode_anchored(
        settings: NetSettings,
        shape: Shape,
        precision: f64,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        let trained = Self::decode(settings, shape, decoder)?;
        let [parameters] = decoder.parameters(trained.net.n_parameters)?;
        let anchor = Some(Anchor { parameters: parameters.into(), precision });
        Ok(Self { anchor, ..trained })
    }
}
