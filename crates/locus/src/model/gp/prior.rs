//! A kernel that learns by the marginal likelihood of rewards.

use crate::agent::Breakdown;
use crate::agent::Replay;
use crate::math::gp::{EvidenceWork, Kernel, KernelParameters, Points, evidence};
use crate::math::nn::Adam;
use crate::model::training::minibatch::DistinctRows;
use crate::model::training::optimized;
use crate::model::training::reward_scaling::RewardScale;
use crate::registry::save::{Decoder, Encoder};
use crate::{Error, Rng, Shape};

/// Initial values and training settings of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PriorSettings {
    pub(crate) task_dim: usize,
    pub(crate) noise: f64,
    pub(crate) amplitudes: [f64; 2],
    pub(crate) length: f64,
    pub(crate) task_std: f64,
    pub(crate) learning_rate: f32,
    pub(crate) batch_size: usize,
    pub(crate) minibatches: u32,
}

/// The parameters of a kernel, their optimizer, and the unit of lengths.
#[derive(Clone, Debug)]
pub(crate) struct Prior {
    settings: PriorSettings,
    places: KernelParameters,
    pub(crate) parameters: Vec<f32>,
    optimizer: Adam,
    /// √C times the spread of features, once enough contexts were observed to estimate it; √C before.
    unit: Option<f64>,
}

/// Buffers for learning.
#[derive(Clone, Debug, Default)]
pub(crate) struct PriorWork {
    rows: DistinctRows,
    points: Points,
    rewards: Vec<f64>,
    weights: Vec<f64>,
    pub(crate) evidence: EvidenceWork,
    gradient: Vec<f64>,
    negative_gradient: Vec<f32>,
}

impl PriorSettings {
    /// Parameters of the untrained kernel. **Samples.**
    fn untrained(self, places: KernelParameters, rng: &mut Rng) -> Vec<f32> {
        places.start(self.noise, self.amplitudes, self.length, self.task_std, rng)
    }
}

impl Prior {
    /// The untrained kernel. **Samples.**
    pub(crate) fn new(settings: PriorSettings, shape: Shape, rng: &mut Rng) -> Self {
        let places = places(settings, shape);
        let parameters = settings.untrained(places, rng);
        let optimizer = Adam::new(parameters.len(), settings.learning_rate);
        Self { settings, places, parameters, optimizer, unit: None }
    }

    /// Adds an action, the last of `shape`: an embedding of its own and a mean of 0; all else is as learned. **Samples.**
    pub(crate) fn add_action(&mut self, shape: Shape, rng: &mut Rng) {
        let grown = places(self.settings, shape);
        let (from, to) = (self.places.layout(), grown.layout());
        let untrained = self.settings.untrained(grown, rng);
        self.parameters = from.carry_over(&self.parameters, &to, untrained);
        self.optimizer.grow(&from, &to);
        self.places = grown;
    }

    /// Steps of a round of learning.
    pub(crate) fn n_minibatches(&self) -> u32 {
        self.settings.minibatches
    }

    /// The kernel as learned so far.
    pub(crate) fn kernel(&self) -> Kernel {
        Kernel::new(self.places, &self.parameters, self.unit_or_root())
    }

    fn unit_or_root(&self) -> f64 {
        self.unit.unwrap_or((self.places.n_features as f64).sqrt())
    }

    /// Maximizes the evidence of random subsets of the replay. Returns the mean negative evidence per observation over the steps. **Samples.**
    pub(crate) fn fit(
        &mut self,
        replay: &Replay,
        scale: RewardScale,
        rng: &mut Rng,
        work: &mut PriorWork,
    ) -> Result<f64, Breakdown> {
        self.unit = self.unit.or_else(|| unit(replay, self.places.n_features));
        let PriorWork {
            rows,
            points,
            rewards,
            weights,
            evidence: evidence_work,
            gradient,
            negative_gradient,
        } = work;
        gradient.resize(self.parameters.len(), 0.0);
        negative_gradient.resize(self.parameters.len(), 0.0);
        rows.prepare(replay);
        let mut kernel = self.kernel();
        let mut total = 0.0;
        for _ in 0..self.settings.minibatches {
            points.clear();
            rewards.clear();
            weights.clear();
            for &(row, weight) in rows.draw(replay, self.settings.batch_size, rng) {
                let observation = replay.get(row);
                points.push(observation.context, observation.action);
                rewards.push((observation.reward - scale.mean) / scale.std);
                weights.push(weight);
            }
            let value =
                evidence(&kernel, &self.parameters, points, (rewards, weights), evidence_work, gradient);
            if !value.is_finite() {
                return Err(Breakdown { place: "the evidence of the kernel".to_owned(), found: value });
            }
            let n: f64 = weights.iter().sum();
            total -= value / n;
            for (place, gradient) in negative_gradient.iter_mut().zip(&*gradient) {
                *place = (-gradient / n) as f32;
            }
            self.optimizer.step(&mut self.parameters, negative_gradient);
            self.places.hold(&mut self.parameters);
            kernel.set(&self.parameters, self.unit_or_root());
        }
        optimized::check(" of the kernel", &self.parameters, &self.optimizer)?;
        Ok(total / f64::from(self.settings.minibatches))
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.f64(self.unit.unwrap_or(0.0));
        optimized::encode(&self.parameters, &self.optimizer, encoder);
    }

    pub(crate) fn decode(
        settings: PriorSettings,
        shape: Shape,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        let unit = decoder.f64()?;
        if !(unit >= 0.0 && unit.is_finite()) {
            return Err(decoder.damaged(format!("the unit of its kernel is {unit}")));
        }
        let places = places(settings, shape);
        let (mut parameters, optimizer) = optimized::decode(places.len(), settings.learning_rate, decoder)?;
        places.hold(&mut parameters);
        Ok(Self { settings, places, parameters, optimizer, unit: (unit > 0.0).then_some(unit) })
    }
}

fn places(settings: PriorSettings, shape: Shape) -> KernelParameters {
    KernelParameters { n_features: shape.n_features, n_actions: shape.n_actions, task_dim: settings.task_dim }
}

/// Observations needed to estimate the spread of features.
const LEAST_SEEN: f64 = 20.0;

/// √C times the root of the mean variance of features; `None` if contexts do not differ or are too few.
fn unit(replay: &Replay, n_features: usize) -> Option<f64> {
    let n = replay.total_weight();
    if n < LEAST_SEEN {
        return None;
    }
    let mut total = 0.0;
    for feature in 0..n_features {
        let values = || {
            let observations = (0..replay.len()).map(|index| replay.get(index));
            observations.map(|seen| (seen.weight, f64::from(seen.context[feature])))
        };
        let mean = values().map(|(weight, value)| weight * value).sum::<f64>() / n;
        total += values().map(|(weight, value)| weight * ((value - mean) * (value - mean))).sum::<f64>() / n;
    }
    (total > 0.0 && total.is_finite()).then(|| total.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    fn seen(contexts: impl Iterator<Item = [f32; 2]>) -> Replay {
        let mut replay = Replay::new(2, None);
        for (round, context) in contexts.enumerate() {
            replay.push(&Outcome::new(round as u64, &context, 0, 0.0));
        }
        replay
    }

    /// Features of ±1e4 and 0: √2 times the root of the mean of 1e8 and 0.
    #[test]
    fn the_unit_is_told_by_contexts_that_differ_and_are_not_few() {
        let context = |index: usize| [if index.is_multiple_of(2) { 1e4 } else { -1e4 }, 0.0];
        assert_eq!(unit(&seen((0..19).map(context)), 2), None);
        assert_eq!(unit(&seen((0..100).map(|_| [3.0, 4.0])), 2), None);
        assert_eq!(unit(&seen((0..20).map(context)), 2), Some(1e4));
        // The same by weight: 18 and 6 of either sign have a variance of 0.75·1e8.
        let mut weighted = Replay::new(2, None);
        for (index, weight) in [(0, 18.0), (1, 6.0)] {
            weighted.push(&Outcome::new(0, &context(index), 0, 0.0).with_weight(weight));
        }
        let found = unit(&weighted, 2).unwrap();
        assert!((found / (0.75_f64.sqrt() * 1e4) - 1.0).abs() < 1e-12, "{found}");
    }
}
