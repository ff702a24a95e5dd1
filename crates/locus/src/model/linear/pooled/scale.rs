//! Standardization of rewards and contexts.

use crate::Error;
use crate::agent::Breakdown;
use crate::agent::Replay;
use crate::model::linear::joint::FeatureMap;
use crate::model::training::reward_scaling::RewardScale;
use crate::registry::save::{Decoder, Encoder};

/// Offset and unit of rewards, and factor of contexts.
///
/// Rewards are shifted to mean 0, and scaled to a standard deviation of 1 only if it is larger: before the first large reward,
/// noise must not look like signal. Contexts are scaled to a mean square length of 1, so that one prior suits contexts of any
/// width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    /// m, the mean reward.
    pub(crate) reward_mean: f64,
    /// The unit of rewards, max(sd, floor).
    pub(crate) reward_unit: f64,
    /// c, which scales contexts to a mean square length of 1.
    pub(crate) context_factor: f64,
}

impl Scale {
    /// No scaling.
    pub(crate) const AS_GIVEN: Self = Self { reward_mean: 0.0, reward_unit: 1.0, context_factor: 1.0 };

    /// The scale of all observations in a replay that is not empty, each by its weight. What is scaled are the features of contexts by
    /// `map`, but for the intercept. Fails if their rewards are so large that it overflows.
    pub(crate) fn of(replay: &Replay, unit_floor: f64, map: &FeatureMap) -> Result<Self, Breakdown> {
        let n = replay.total_weight();
        let observations = || (0..replay.len()).map(|index| replay.get(index));
        let reward_mean = observations().map(|seen| seen.weight * seen.reward / n).sum::<f64>();
        let squares: f64 = observations().map(|seen| seen.weight * (seen.reward - reward_mean).powi(2)).sum();
        let reward_unit = (squares / n).sqrt().max(unit_floor);
        if !reward_unit.is_finite() || !reward_mean.is_finite() {
            let place = "the standard deviation of all rewards".to_owned();
            return Err(Breakdown { place, found: reward_unit });
        }
        let lengths: f64 = observations().map(|seen| seen.weight * map.square_length(seen.context)).sum();
        let context_factor = if lengths > 0.0 { (n / lengths).sqrt() } else { 1.0 };
        Ok(Self { reward_mean, reward_unit, context_factor })
    }

    /// y, a reward on this scale.
    pub(crate) fn standardize(&self, reward: f64) -> f64 {
        (reward - self.reward_mean) / self.reward_unit
    }

    /// Converts values on this scale to rewards.
    pub(crate) fn restore(&self, values: &mut [f64]) {
        values.iter_mut().for_each(|value| *value = self.reward_mean + self.reward_unit * *value);
    }

    /// Writes the features of a context by `map`, `[c·x, 1]` unless actions have features, to the first entries of `features`.
    pub(crate) fn fill_features(&self, map: &FeatureMap, context: &[f32], features: &mut [f64]) {
        map.fill(context, self.context_factor, features);
    }

    /// The scale of rewards as f32, for nets.
    pub(crate) fn of_rewards(&self) -> RewardScale {
        RewardScale { mean: self.reward_mean, std: self.reward_unit }
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        // Format 1 has a fourth number, which only a removed setting used.
        encoder.f64s(&[self.reward_mean, self.reward_unit, self.context_factor, 1.0]);
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let mut numbers = [0.0; 4];
        decoder.f64s(&mut numbers)?;
        let [reward_mean, reward_unit, context_factor, _] = numbers;
        let is_sound = |factor: f64| factor > 0.0 && factor.is_finite();
        let are_sound = [reward_unit, context_factor].into_iter().all(is_sound);
        if !(reward_mean.is_finite() && are_sound) {
            return Err(decoder.damaged(format!("its scale is {numbers:?}")));
        }
        Ok(Self { reward_mean, reward_unit, context_factor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::values::Interactions;
    use crate::{Outcome, Shape};

    const MAP: FeatureMap = FeatureMap::new(Shape::new(2, 1), Interactions::Off);

    fn replay(rewards: &[f64]) -> Replay {
        let mut replay = Replay::new(2, None);
        for (round, &reward) in rewards.iter().enumerate() {
            let context = [3.0 * round as f32, -4.0 * round as f32];
            replay.push(&Outcome::new(round as u64, &context, 0, reward));
        }
        replay
    }

    /// Lengths 0, 5 and 10 have a mean square of 125/3; rewards 1, 4 and 7 a mean of 4 and a variance of 6.
    #[test]
    fn the_scale_is_that_of_all_observations() {
        let scale = Scale::of(&replay(&[1.0, 4.0, 7.0]), 1.0, &MAP).unwrap();
        assert!((scale.reward_mean - 4.0).abs() < 1e-12);
        assert!((scale.reward_unit - 6_f64.sqrt()).abs() < 1e-12);
        assert!((scale.context_factor - (3.0 / 125_f64).sqrt()).abs() < 1e-12);
        let mut features = [9.0; 3];
        scale.fill_features(&MAP, &[1.0, 2.0], &mut features);
        let c = scale.context_factor;
        assert_eq!(features, [c, 2.0 * c, 1.0]);
        let mut values = [scale.standardize(17.0)];
        scale.restore(&mut values);
        assert!((values[0] - 17.0).abs() < 1e-12);
    }

    /// A weight of 2 is the observation twice.
    #[test]
    fn the_scale_counts_weights() {
        let (mut weighted, mut repeated) = (Replay::new(2, None), Replay::new(2, None));
        for (context, reward, weight) in [([1.0, 2.0], 3.0, 2), ([-4.0, 0.5], 7.0, 1), ([0.1, 0.2], -9.0, 5)]
        {
            let outcome = Outcome::new(0, &context, 0, reward);
            weighted.push(&outcome.with_weight(f64::from(weight)));
            (0..weight).for_each(|_| repeated.push(&outcome));
        }
        let [found, expected] = [weighted, repeated].map(|replay| {
            let scale = Scale::of(&replay, 1.0, &MAP).unwrap();
            [scale.reward_mean, scale.reward_unit, scale.context_factor]
        });
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found}, {expected}");
        }
    }

    /// Small rewards keep their size, contexts of zeros their zeros.
    #[test]
    fn what_is_small_is_not_blown_up() {
        let scale = Scale::of(&replay(&[0.0, 1.0, 0.0, 1.0]), 1.0, &MAP).unwrap();
        assert_eq!((scale.reward_mean, scale.reward_unit), (0.5, 1.0));
        let mut zeros = Replay::new(2, None);
        zeros.push(&Outcome::new(0, &[0.0; 2], 0, 2.0));
        assert_eq!(Scale::of(&zeros, 1.0, &MAP).unwrap().context_factor, 1.0);
    }

    #[test]
    fn rewards_that_have_no_scale_are_refused() {
        let breakdown = Scale::of(&replay(&[1e300, -1e300]), 1.0, &MAP).unwrap_err();
        assert_eq!(breakdown.place, "the standard deviation of all rewards");
    }
}
