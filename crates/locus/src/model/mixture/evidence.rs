//! Which expert predicts better, of late.

use std::f64::consts::TAU;

use crate::Error;
use crate::registry::save::{Decoder, Encoder};

/// The log evidence of every expert.
///
/// Before every observation, `L_e ← δ·L_e + log N(y; m_e, s_e²)`; an expert is as probable as exp L_e says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Evidence {
    discount: f64,
    /// Of the linear expert and that on the net's features.
    logs: [f64; 2],
}

impl Evidence {
    pub(super) fn new(discount: f64) -> Self {
        Self { discount, logs: [0.0; 2] }
    }

    /// Takes in a target, given each expert's mean and variance of it. Evidence that is no number for one of them is none.
    pub(super) fn observe(&mut self, predictions: [(f64, f64); 2], target: f64) {
        let densities = predictions.map(|prediction| log_density(prediction, target));
        if densities.iter().all(|density| density.is_finite()) {
            for (log, density) in self.logs.iter_mut().zip(densities) {
                *log = self.discount * *log + density;
            }
        }
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

    pub(super) fn decode(discount: f64, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let mut logs = [0.0; 2];
        decoder.f64s(&mut logs)?;
        if logs.iter().any(|log| !log.is_finite()) {
            return Err(decoder.damaged(format!("the evidence for its experts is {logs:?}")));
        }
        Ok(Self { discount, logs })
    }
}

/// log N(y; mean, variance)
fn log_density((mean, variance): (f64, f64), target: f64) -> f64 {
    let deviation = target - mean;
    -0.5 * (libm::log(TAU * variance) + deviation * deviation / variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: log N(1; 0, 1) = −1.41894, log N(1; 1, 4) = −1.61209, log N(0; 0.5, 1) = −1.04394, log N(0; 0, 0.25) = −0.22579.
    /// With δ = ½: L = −0.70947 − 1.04394 = −1.75341 and −0.80604 − 0.22579 = −1.03183, so the odds are e^0.72158 = 2.05768.
    #[test]
    fn weights_are_those_computed_by_hand() {
        let mut evidence = Evidence::new(0.5);
        assert_eq!(evidence.probabilities(), [0.5, 0.5]);
        evidence.observe([(0.0, 1.0), (1.0, 4.0)], 1.0);
        let [linear, net] = evidence.probabilities();
        assert!((net - 0.451_863).abs() < 1e-5 && (linear + net - 1.0).abs() < 1e-12, "{net}");
        evidence.observe([(0.5, 1.0), (0.0, 0.25)], 0.0);
        let net = evidence.probabilities()[1];
        assert!((net - 0.672_955).abs() < 1e-5, "{net}");
    }

    #[test]
    fn extreme_evidence_is_certainty_and_no_number_none() {
        let mut evidence = Evidence::new(1.0);
        evidence.observe([(0.0, 1e-300), (1.0, 1.0)], 1.0);
        assert_eq!(evidence.probabilities(), [0.0, 1.0]);
        let before = evidence.clone();
        evidence.observe([(f64::INFINITY, 1.0), (0.0, 1.0)], 0.0);
        evidence.observe([(0.0, 0.0), (0.0, 1.0)], 0.0);
        assert_eq!(evidence, before);
    }
}
