//! The prior precision λ of the coefficients: fixed, or fitted to the observations.
//!
//! λ is the ratio of noise to signal: the prior variance of a coefficient is σ²/λ. No single number suits all problems: with much
//! noise a small λ fits the noise, and with little noise a large λ shrinks the signal. So λ can be the one that maximizes the
//! posterior,
//!
//! ```text
//! λ = argmax log p(y | λ) + log p(λ),
//! log p(y | λ) = −½·Σ_a log det(Λ_a/λ) − a_p·log b_p,    log p(λ) = ν/2·(log(λ/λ₀) − λ/λ₀),
//! ```
//!
//! both up to a constant. p(λ) is worth ν coefficients of the size expected under λ₀: with D coefficients λ stays below λ₀·(1 +
//! D/ν), so that a few coefficients near 0 do not end all exploration.

use super::pooled_noise;
use crate::Error;
use crate::math::decay::Decay;
use crate::model::linear::heads::LinearHeads;
use crate::registry::save::{Decoder, Encoder};

/// λ is never further than this many doublings from the given one.
const MAX_DOUBLINGS: i32 = 12;

/// λ is refitted when this fraction of the replay is new.
const NEW: f64 = 0.2;

/// The rule for λ, and when it was fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Precision {
    /// λ₀
    given: f64,
    /// ν, where λ is fitted.
    strength: Option<f64>,
    /// λ = λ₀·2 to this.
    doublings: i32,
    /// The number of observations when it was fitted, by weight; with a half-life, what remains of it.
    n_fitted: f64,
}

impl Precision {
    /// λ is λ₀.
    pub(crate) fn given(given: f64) -> Self {
        Self { given, strength: None, doublings: 0, n_fitted: 0.0 }
    }

    /// λ is the best of λ₀, 2·λ₀, λ₀/2, 4·λ₀ …; the prior on λ is worth `strength` coefficients.
    pub(crate) fn fitted(given: f64, strength: f64) -> Self {
        Self { strength: Some(strength), ..Self::given(given) }
    }

    /// Lets the observations that it was fitted to decay by one observation.
    pub(crate) fn age(&mut self, decay: Decay) {
        decay.pass(&mut self.n_fitted);
    }

    /// λ
    pub(crate) fn value(&self) -> f64 {
        self.at(self.doublings)
    }

    fn at(&self, doublings: i32) -> f64 {
        self.given * 2_f64.powi(doublings)
    }

    /// Whether enough of the replay is new to refit λ.
    pub(crate) fn is_due(&self, n_observed: f64, n_kept: f64) -> bool {
        self.strength.is_some() && n_observed - self.n_fitted >= NEW * n_kept
    }

    /// Rebuilds the heads with the best λ. The search climbs from the last λ, up or down, to the nearest local maximum.
    pub(crate) fn fit(
        &mut self,
        heads: &mut LinearHeads,
        n_observed: f64,
        mut rebuild: impl FnMut(&mut LinearHeads),
    ) {
        rebuild(heads);
        self.n_fitted = n_observed;
        let mut best = self.score(heads);
        for step in [1, -1] {
            let start = self.doublings;
            while (self.doublings + step).abs() <= MAX_DOUBLINGS {
                let mut next = heads.with_precision(self.at(self.doublings + step));
                rebuild(&mut next);
                let score = self.score(&next);
                if score > best {
                    (best, self.doublings, *heads) = (score, self.doublings + step, next);
                } else {
                    break;
                }
            }
            if self.doublings != start {
                return;
            }
        }
    }

    /// log p(y | λ) + log p(λ)
    fn score(&self, heads: &LinearHeads) -> f64 {
        let (shape, rate) = pooled_noise(heads);
        let ratio = heads.prior().precision / self.given;
        -0.5 * heads.information() - shape * libm::log(rate)
            + 0.5 * self.strength.unwrap_or(0.0) * (libm::log(ratio) - ratio)
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.f64(self.n_fitted);
        encoder.f64(f64::from(self.doublings));
    }

    /// The same rule, fitted as it was when it was saved.
    pub(crate) fn decode(self, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let (n_fitted, doublings) = (decoder.weight_sum()?, decoder.f64()?);
        if doublings.fract() != 0.0 || doublings.abs() > f64::from(MAX_DOUBLINGS) {
            return Err(decoder.damaged(format!("its precision was doubled {doublings} times")));
        }
        Ok(Self { n_fitted, doublings: doublings as i32, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::linear::LinearPrior;
    use crate::{Rng, Seed};

    const N_ACTIONS: usize = 2;
    const DIM: usize = 3;

    struct Seen {
        action: usize,
        features: [f64; DIM],
        target: f64,
    }

    /// Coefficients of this size, noise of this one.
    fn observations(n: usize, signal: f64, noise: f64) -> Vec<Seen> {
        let mut rng = Seed::new(3).stream("test", 0);
        let draw = |rng: &mut Rng| [(); DIM].map(|()| rng.normal());
        let coefficients = [(); N_ACTIONS].map(|()| draw(&mut rng));
        (0..n)
            .map(|index| {
                let (action, features) = (index * N_ACTIONS / n, draw(&mut rng));
                let mean: f64 = features.iter().zip(coefficients[action]).map(|(x, c)| signal * c * x).sum();
                Seen { action, features, target: mean + noise * rng.normal() }
            })
            .collect()
    }

    fn take_in(observations: &[Seen], heads: &mut LinearHeads) {
        let mut rebuild = heads.rebuild();
        for Seen { action, features, target } in observations {
            rebuild.push(*action, features.iter().copied(), *target, 1.0);
        }
        rebuild.finish();
    }

    fn heads(precision: f64) -> LinearHeads {
        LinearHeads::new(DIM, N_ACTIONS, LinearPrior { precision, shape: 1.5, rate: 0.8 })
    }

    /// log p(y | λ) but for what does not depend on λ, from the covariance of the targets themselves:
    /// y has a Student distribution with the scale matrix K = I + XXᵀ/λ, where actions differ 0.
    fn log_evidence(observations: &[Seen], precision: f64) -> f64 {
        let n = observations.len();
        let entry = |row: usize, column: usize| {
            let (left, right) = (&observations[row], &observations[column]);
            let product: f64 = left.features.iter().zip(right.features).map(|(x, y)| x * y).sum();
            let shared = if left.action == right.action { product / precision } else { 0.0 };
            shared + f64::from(u8::from(row == column))
        };
        // Gaussian elimination of [K y]; K is positive definite.
        let mut rows: Vec<Vec<f64>> = (0..n)
            .map(|row| (0..n).map(|column| entry(row, column)).chain([observations[row].target]).collect())
            .collect();
        let (mut log_determinant, mut form) = (0.0, 0.0);
        for pivot in 0..n {
            let (done, rest) = rows.split_at_mut(pivot + 1);
            let by = &done[pivot];
            log_determinant += by[pivot].ln();
            form += by[n] * by[n] / by[pivot];
            for row in rest {
                let factor = row[pivot] / by[pivot];
                row.iter_mut().zip(by).for_each(|(place, value)| *place -= factor * value);
            }
        }
        -0.5 * log_determinant - (1.5 + 0.5 * n as f64) * (0.8 + 0.5 * form).ln()
    }

    #[test]
    fn the_score_is_the_evidence_and_the_prior_of_lambda() {
        let observations = observations(20, 1.0, 0.5);
        let rule = Precision::fitted(0.25, 6.0);
        for precision in [0.01, 0.25, 3.0] {
            let mut heads = heads(precision);
            take_in(&observations, &mut heads);
            let ratio: f64 = precision / 0.25;
            let expected = log_evidence(&observations, precision) + 3.0 * (ratio.ln() - ratio);
            let found = rule.score(&heads);
            assert!((found - expected).abs() < 1e-9, "λ = {precision}: {found}, {expected}");
        }
    }

    /// Signal asks for less than was given, noise for more, and the prior of λ for what was given.
    #[test]
    fn the_best_of_all_doublings_is_found() {
        for (signal, noise, strength, expected) in
            [(10.0, 0.1, 1.0, -12..=-5), (0.0, 1.0, 1.0, 1..=12), (10.0, 0.1, 1e6, 0..=0)]
        {
            let observations = observations(60, signal, noise);
            let mut rule = Precision::fitted(0.25, strength);
            let mut found = heads(0.25);
            rule.fit(&mut found, 60.0, |heads| take_in(&observations, heads));
            let score = |doublings: i32| {
                let mut heads = heads(0.25 * 2_f64.powi(doublings));
                take_in(&observations, &mut heads);
                rule.score(&heads)
            };
            let best = (-MAX_DOUBLINGS..=MAX_DOUBLINGS).max_by(|&a, &b| score(a).total_cmp(&score(b)));
            assert_eq!(Some(rule.doublings), best, "signal {signal}, strength {strength}");
            assert!(expected.contains(&rule.doublings), "{} doublings", rule.doublings);
            assert_eq!(found.prior().precision, rule.value());
            // From the other side of the peak it is the same one.
            let mut from_afar = Precision { doublings: 12 * -rule.doublings.signum(), ..rule };
            (from_afar.n_fitted, found) = (0.0, heads(from_afar.value()));
            from_afar.fit(&mut found, 60.0, |heads| take_in(&observations, heads));
            assert_eq!(from_afar.doublings, rule.doublings);
            assert_eq!(rule.score(&found), score(rule.doublings));
        }
    }

    #[test]
    fn lambda_is_fitted_when_it_is_time_and_only_if_asked_for() {
        let observations = observations(60, 10.0, 0.1);
        let given = Precision::given(0.25);
        assert!(!given.is_due(60.0, 60.0));
        let mut fitted = Precision::fitted(0.25, 1.0);
        assert!(fitted.is_due(20.0, 20.0));
        fitted.fit(&mut heads(0.25), 60.0, |heads| take_in(&observations, heads));
        assert!(fitted.value() < 0.25);
        assert!(!fitted.is_due(74.0, 74.0) && fitted.is_due(75.0, 75.0));
        // A fifth of what is kept, where not all is.
        assert!(!fitted.is_due(67.0, 40.0) && fitted.is_due(68.0, 40.0));
    }
}
