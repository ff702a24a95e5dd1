//! The discounted evidence for each expert.

use std::f64::consts::TAU;

use crate::Error;
use crate::math::decay::Decay;
use crate::registry::save::{Decoder, Encoder};

/// The log evidence of every expert.
///
/// Before every observation, `L_e ← δ·L_e + log N(y; m_e, s_e²)`; an expert's probability is proportional to exp L_e.
///
/// An observation of weight w counts as w equal ones, one after another, with the noise held at what it was before them. Their
/// joint density is known in closed form ([`Prediction::log_density`]). Earlier evidence is discounted w times, and the new
/// evidence by the mean of 1, δ … δ^(w−1), so that no single weight counts for more than 1/(1 − δ) observations.
/// With a half-life h, earlier evidence is also multiplied by 2^(−1/h), once for each observation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Evidence {
    discount: f64,
    decay: Decay,
    /// The linear expert and the expert on the net's features.
    logs: [f64; 2],
}

/// An expert's prediction of a reward.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prediction {
    /// m
    pub(super) mean: f64,
    /// σ², the variance of the noise.
    pub(super) noise: f64,
    /// h: with noise, the prediction has the variance s² = σ²(1 + h).
    pub(super) leverage: f64,
}

impl Evidence {
    pub(super) fn new(discount: f64, decay: Decay) -> Self {
        Self { discount, decay, logs: [0.0; 2] }
    }

    /// Lets all evidence decay by an observation that tells nothing.
    pub(super) fn skip(&mut self) {
        self.logs.iter_mut().for_each(|log| self.decay.pass(log));
    }

    /// Updates the evidence with a target that counts as `weight` equal ones, given each expert's prediction. Skips the update
    /// unless both densities are finite.
    pub(super) fn observe(&mut self, predictions: [Prediction; 2], target: f64, weight: f64) {
        self.skip();
        let densities = predictions.map(|prediction| prediction.log_density(target, weight));
        if densities.iter().all(|density| density.is_finite()) {
            let (discount, share) = self.discounts(weight);
            for (log, density) in self.logs.iter_mut().zip(densities) {
                *log = discount * *log + share * density;
            }
        }
    }

    /// δ^w, and the mean of 1, δ … δ^(w−1).
    fn discounts(&self, weight: f64) -> (f64, f64) {
        // Avoids rounding if the weight is 1.
        if weight == 1.0 || self.discount == 1.0 {
            return (self.discount, 1.0);
        }
        if self.discount == 0.0 {
            return (0.0, 1.0 / weight);
        }
        // Avoids cancellation if the weight is small.
        let fading = -libm::expm1(weight * libm::log(self.discount));
        (1.0 - fading, fading / (weight * (1.0 - self.discount)))
    }

    /// How probable each expert is.
    pub(super) fn probabilities(&self) -> [f64; 2] {
        let highest = self.logs.iter().fold(f64::NEG_INFINITY, |highest, &log| highest.max(log));
        let probabilities = self.logs.map(|log| libm::exp(log - highest));
        let sum: f64 = probabilities.iter().sum();
        probabilities.map(|probability| probability / sum)
    }

    pub(super) fn encode(&self, encoder: &mut Encoder) {
        encoder.f64s(&self.logs);
    }

    /// The same rule, with the evidence that was saved.
    pub(super) fn decode(self, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let mut logs = [0.0; 2];
        decoder.f64s(&mut logs)?;
        if logs.iter().any(|log| !log.is_finite()) {
            return Err(decoder.damaged(format!("the evidence for its experts is {logs:?}")));
        }
        Ok(Self { logs, ..self })
    }
}

impl Prediction {
    /// The log density of `weight` equal targets, one after another: the product of their densities, each given those before, telescopes to
    ///
    /// ```text
    /// −w/2·log 2πσ² − ½·log(1 + wh) − ½·w(y − m)²/(σ²(1 + wh))
    /// ```
    fn log_density(self, target: f64, weight: f64) -> f64 {
        let deviation = target - self.mean;
        let variance = self.noise * (1.0 + weight * self.leverage);
        let of_others = (weight - 1.0) * libm::log(TAU * self.noise);
        -0.5 * (of_others + libm::log(TAU * variance) + weight * deviation * deviation / variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction((mean, variance): (f64, f64)) -> Prediction {
        Prediction { mean, noise: 0.8 * variance, leverage: 0.25 }
    }

    fn observe(evidence: &mut Evidence, predictions: [(f64, f64); 2], target: f64) {
        evidence.observe(predictions.map(prediction), target, 1.0);
    }

    /// By hand: log N(1; 0, 1) = −1.41894, log N(1; 1, 4) = −1.61209, log N(0; 0.5, 1) = −1.04394, log N(0; 0, 0.25) = −0.22579.
    /// With δ = ½: L = −0.70947 − 1.04394 = −1.75341 and −0.80604 − 0.22579 = −1.03183, so the odds are e^0.72158 = 2.05768.
    #[test]
    fn weights_are_those_computed_by_hand() {
        let mut evidence = Evidence::new(0.5, Decay::default());
        assert_eq!(evidence.probabilities(), [0.5, 0.5]);
        observe(&mut evidence, [(0.0, 1.0), (1.0, 4.0)], 1.0);
        let [linear, net] = evidence.probabilities();
        assert!((net - 0.451_863).abs() < 1e-5 && (linear + net - 1.0).abs() < 1e-12, "{net}");
        observe(&mut evidence, [(0.5, 1.0), (0.0, 0.25)], 0.0);
        let net = evidence.probabilities()[1];
        assert!((net - 0.672_955).abs() < 1e-5, "{net}");
    }

    #[test]
    fn extreme_evidence_is_certainty_and_no_number_none() {
        let mut evidence = Evidence::new(1.0, Decay::default());
        observe(&mut evidence, [(0.0, 1e-300), (1.0, 1.0)], 1.0);
        assert_eq!(evidence.probabilities(), [0.0, 1.0]);
        let before = evidence.clone();
        observe(&mut evidence, [(f64::INFINITY, 1.0), (0.0, 1.0)], 0.0);
        observe(&mut evidence, [(0.0, 0.0), (0.0, 1.0)], 0.0);
        assert_eq!(evidence, before);
    }

    /// Equal targets one after another, with the noise as it was: each halves what is left of the uncertainty in its own way, m ← m + (y − m)·h/(1 + h)
    /// and h ← h/(1 + h).
    #[test]
    fn a_weight_is_the_density_of_as_many_equal_targets() {
        let (first, target) = (Prediction { mean: 0.3, noise: 0.7, leverage: 1.9 }, -1.1);
        let mut sum = 0.0;
        let mut next = first;
        for n in 1..=5 {
            sum += next.log_density(target, 1.0);
            let gain = next.leverage / (1.0 + next.leverage);
            next.mean += gain * (target - next.mean);
            next.leverage = gain;
            let found = first.log_density(target, f64::from(n));
            assert!((found - sum).abs() < 1e-12, "{n}: {found}, {sum}");
        }
    }

    /// A half-life of one observation is a discount of ½, also by what tells nothing.
    #[test]
    fn evidence_decays_with_observations() {
        let mut discounted = Evidence::new(0.5, Decay::default());
        let mut forgetful = Evidence::new(1.0, Decay::new(Some(1.0)));
        for evidence in [&mut discounted, &mut forgetful] {
            observe(evidence, [(0.0, 1.0), (1.0, 4.0)], 1.0);
            observe(evidence, [(0.5, 1.0), (0.0, 0.25)], 0.0);
        }
        assert_eq!(forgetful.logs, discounted.logs);
        forgetful.skip();
        assert_eq!(forgetful.logs, discounted.logs.map(|log| 0.5 * log));
    }

    /// With h = 0 all densities are equal, and only the discounts matter.
    #[test]
    fn a_weight_is_discounted_as_so_many_equal_targets() {
        let predictions =
            [(0.0, 1.0), (1.0, 4.0)].map(|(mean, noise)| Prediction { mean, noise, leverage: 0.0 });
        for discount in [0.0, 0.7, 1.0] {
            let mut one_by_one = Evidence::new(discount, Decay::default());
            one_by_one.observe(predictions, 0.5, 1.0);
            let mut at_once = one_by_one.clone();
            (0..3).for_each(|_| one_by_one.observe(predictions, 2.0, 1.0));
            at_once.observe(predictions, 2.0, 3.0);
            for (found, expected) in at_once.logs.iter().zip(one_by_one.logs) {
                assert!((found - expected).abs() < 1e-12, "δ = {discount}: {found}, {expected}");
            }
        }
        // However large the weight, it counts for at most 1/(1 − δ) observations.
        let mut heavy = Evidence::new(0.99, Decay::default());
        heavy.observe(predictions, 2.0, 1e6);
        let alone = predictions.map(|prediction| prediction.log_density(2.0, 1.0));
        assert!((heavy.logs[0] / (100.0 * alone[0]) - 1.0).abs() < 1e-9, "{heavy:?}");
    }
}
