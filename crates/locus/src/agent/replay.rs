//! The observations that a policy trains on.

use crate::registry::save::{Decoder, Encoder};
use crate::{Error, Outcome, Rng, Shape};

/// Observations in the order in which they came, all of them or the last `capacity`.
///
/// Adding one costs the same however many there are; at capacity the newest takes the place of the oldest.
#[derive(Clone, Debug)]
pub struct Replay {
    n_features: usize,
    capacity: usize,
    /// [n, C], a ring once `capacity` is reached.
    contexts: Vec<f32>,
    /// [n]
    actions: Vec<u32>,
    /// [n]
    rewards: Vec<f64>,
    /// Where the oldest observation stands.
    oldest: usize,
}

/// One observation of a [`Replay`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Observation<'a> {
    /// The context that was decided for.
    pub context: &'a [f32],
    /// The action that was taken.
    pub action: usize,
    /// The reward that was received.
    pub reward: f64,
}

impl Replay {
    /// An empty replay that keeps the last `capacity` observations, or all with `None`.
    pub(crate) fn new(n_features: usize, capacity: Option<usize>) -> Self {
        Self {
            n_features,
            capacity: capacity.unwrap_or(usize::MAX).max(1),
            contexts: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            oldest: 0,
        }
    }

    /// How many observations it holds.
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// Whether nothing was observed yet.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Adds an outcome as the newest observation.
    pub(crate) fn push(&mut self, outcome: &Outcome<'_>) {
        debug_assert_eq!(outcome.context.len(), self.n_features);
        let action = outcome.action as u32;
        if self.len() < self.capacity {
            self.contexts.extend_from_slice(outcome.context);
            self.actions.push(action);
            self.rewards.push(outcome.reward);
        } else {
            let place = self.oldest;
            self.contexts[place * self.n_features..][..self.n_features].copy_from_slice(outcome.context);
            self.actions[place] = action;
            self.rewards[place] = outcome.reward;
            self.oldest = (place + 1) % self.capacity;
        }
    }

    /// Observation `index`, from 0 for the oldest one kept. Panics if there are not as many.
    pub fn get(&self, index: usize) -> Observation<'_> {
        assert!(index < self.len(), "observation {index} of {}", self.len());
        let to_end = self.len() - self.oldest;
        let place = if index < to_end { self.oldest + index } else { index - to_end };
        Observation {
            context: &self.contexts[place * self.n_features..][..self.n_features],
            action: self.actions[place] as usize,
            reward: self.rewards[place],
        }
    }

    /// Draws an observation; draws are independent, so the same one may come again. Panics if there is none.
    pub fn sample(&self, rng: &mut Rng) -> Observation<'_> {
        self.get(self.sample_index(rng))
    }

    /// The same, as what [`Replay::get`] takes.
    pub fn sample_index(&self, rng: &mut Rng) -> usize {
        rng.below(self.len())
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.usize(self.len());
        for index in 0..self.len() {
            let observation = self.get(index);
            encoder.f32s(observation.context);
            encoder.usize(observation.action);
            encoder.f64(observation.reward);
        }
    }

    pub(crate) fn decode(
        shape: Shape,
        capacity: Option<usize>,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        let mut replay = Self::new(shape.n_features, capacity);
        let n_observations = decoder.usize()?;
        if n_observations > 0 && decoder.remaining() / size_of::<f32>() < shape.n_features {
            return Err(decoder.damaged("its observations are cut short".to_owned()));
        }
        let mut context = vec![0.0; if n_observations > 0 { shape.n_features } else { 0 }];
        for _ in 0..n_observations {
            decoder.f32s(&mut context)?;
            let outcome = Outcome::new(0, &context, decoder.usize()?, decoder.f64()?);
            outcome.check(shape).map_err(|error| decoder.damaged(error.to_string()))?;
            replay.push(&outcome);
        }
        Ok(replay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn filled(capacity: Option<usize>, n: usize) -> Replay {
        let mut replay = Replay::new(2, capacity);
        for i in 0..n {
            let context = [i as f32, -(i as f32)];
            replay.push(&Outcome::new(i as u64, &context, i % 3, i as f64));
        }
        replay
    }

    fn rewards(replay: &Replay) -> Vec<f64> {
        (0..replay.len()).map(|index| replay.get(index).reward).collect()
    }

    #[test]
    fn keeps_the_last_observations_in_order() {
        assert_eq!(rewards(&filled(None, 5)), [0.0, 1.0, 2.0, 3.0, 4.0]);
        for n in 0..12 {
            let replay = filled(Some(4), n);
            let expected: Vec<f64> = (n.saturating_sub(4)..n).map(|i| i as f64).collect();
            assert_eq!(rewards(&replay), expected);
            for index in 0..replay.len() {
                let Observation { context, action, reward } = replay.get(index);
                assert_eq!(context, [reward as f32, -reward as f32]);
                assert_eq!(action, reward as usize % 3);
            }
        }
    }

    #[test]
    fn samples_with_replacement_and_evenly() {
        let replay = filled(Some(5), 8);
        let mut rng = Seed::new(1).stream("test", 0);
        let mut counts = [0_i32; 8];
        for _ in 0..50_000 {
            counts[replay.sample(&mut rng).reward as usize] += 1;
        }
        assert_eq!(counts[..3], [0, 0, 0]);
        // Each count has a standard deviation of 89; five of them by chance once in 300 000 seeds.
        assert!(counts[3..].iter().all(|count| (count - 10_000).abs() < 450), "{counts:?}");
    }

    #[test]
    fn a_saved_ring_samples_the_same() {
        let replay = filled(Some(5), 8);
        let mut encoder = Encoder::default();
        replay.encode(&mut encoder);
        let bytes = encoder.into_bytes();
        let shape = Shape::new(2, 3);
        let loaded = Replay::decode(shape, Some(5), &mut Decoder::new(&bytes)).unwrap();
        let (mut rng, mut loaded_rng) = (Seed::new(1).stream("test", 0), Seed::new(1).stream("test", 0));
        for _ in 0..100 {
            assert_eq!(replay.sample(&mut rng), loaded.sample(&mut loaded_rng));
        }
    }
}
