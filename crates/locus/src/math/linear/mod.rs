//! Bayesian linear regression with unknown noise, in square-root form; independent of bandits.
//!
//! Rewards are `y = xᵀβ + noise` with `σ² ~ InvGamma(a₀, b₀)` and `β ~ N(0, σ²/λ·I)`. After n observations
//!
//! ```text
//! Λ = λI + XᵀX    μ = Λ⁻¹Xᵀy    a = a₀ + n/2    b = b₀ + ½(yᵀy − μᵀΛμ)
//! ```
//!
//! An observation of weight w counts as w equal ones: its row `[x y]` is multiplied by √w, and n is the sum of all weights.
//!
//! None of this is computed as written. What is kept is the triangle `[R q; 0 ρ]` of a QR decomposition of
//! the data with the prior's rows on top: `RᵀR = Λ`, `Rμ = q`, `ρ² = yᵀy − μᵀΛμ`. A new observation is rotated
//! into it in O(d²). Rotations only ever lengthen the diagonal of R, so Λ stays positive definite whatever
//! comes, and ρ² is a sum of squares, so b never suffers from the cancellation in its formula.

mod block;
mod triangle;

pub use block::Block;

use crate::math::decay::Remainder;
use crate::registry::save::{Decoder, Encoder};
use crate::{Error, Rng};
pub use triangle::LANES;
use triangle::Triangle;

/// Up to [`LANES`] rows of features, value by value: what the rows have in one place lies side by side.
pub type LanesWork = Vec<[f64; LANES]>;

/// Calls `body` with rows of features [n, d], [`LANES`] at a time and side by side, and with the number of the first of them.
pub fn in_lanes(features: &[f64], dim: usize, work: &mut LanesWork, mut body: impl FnMut(usize, &LanesWork)) {
    work.resize(dim, [0.0; LANES]);
    for (lot, features) in features.chunks(LANES * dim).enumerate() {
        put_in_lanes(features.chunks_exact(dim), work);
        body(lot * LANES, work);
    }
}

/// Lanes without a row keep what they hold.
fn put_in_lanes<'a>(rows: impl Iterator<Item = &'a [f64]>, work: &mut LanesWork) {
    for (lane, row) in rows.enumerate() {
        work.iter_mut().zip(row).for_each(|(place, feature)| place[lane] = *feature);
    }
}

/// Observations that count less than this in sum are forgotten altogether: far below the rounding of any prior, whatever their
/// features and targets, and far above the numbers too small to be computed with at full speed.
const NOTHING: f64 = 1e-100;

/// The prior of a [`LinearPosterior`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearPrior {
    /// λ, the prior precision of the coefficients relative to the noise. Positive.
    pub precision: f64,
    /// a₀, the shape of the noise variance's inverse gamma distribution. Positive.
    pub shape: f64,
    /// b₀, its rate. Positive.
    pub rate: f64,
}

/// The posterior of the coefficients and the noise of a linear regression.
///
/// Every call panics unless it is given as many features as the posterior was made for; numbers must be finite.
#[derive(Clone, Debug)]
pub struct LinearPosterior {
    prior: LinearPrior,
    /// `[R q]`
    triangle: Triangle,
    /// ρ²
    residual: f64,
    /// n, the sum of all weights.
    n_observed: f64,
    /// μ, from `Rμ = q`; kept because many decisions follow each observation of an arm.
    mean: Vec<f64>,
    /// The row that is being rotated in; kept so that observing does not allocate.
    row: Vec<f64>,
}

impl LinearPosterior {
    /// The prior, for `dim` features.
    pub fn new(dim: usize, prior: LinearPrior) -> Self {
        Self {
            prior,
            triangle: Triangle::new(dim, prior.precision.sqrt()),
            residual: 0.0,
            n_observed: 0.0,
            mean: vec![0.0; dim],
            row: vec![0.0; dim + 1],
        }
    }

    /// The same with a weight of 1.
    #[cfg(any(test, feature = "internals"))]
    pub fn observe(&mut self, features: &[f64], target: f64) {
        self.observe_weighted(features, target, 1.0);
    }

    /// Observes that `features` gave `target`, which counts as `weight` equal observations, a number above 0. O(d²). Magnitudes
    /// must stay below 1e150.
    pub fn observe_weighted(&mut self, features: &[f64], target: f64, weight: f64) {
        let (dim, root) = (self.dim(), weight.sqrt());
        assert_eq!(features.len(), dim, "features of an observation");
        self.row.iter_mut().zip(features).for_each(|(place, feature)| *place = root * feature);
        self.row[dim] = root * target;
        self.triangle.rotate_in(&mut self.row);
        self.residual += self.row[dim] * self.row[dim];
        self.n_observed += weight;
        self.triangle.solve(&mut self.mean);
    }

    /// Observes a block of many observations, and empties the block. Equal to observing each of them, up to rounding, and several
    /// times as fast. Magnitudes must lie between 1e-150 and 1e150, or be 0.
    pub fn observe_block(&mut self, block: &mut Block) {
        assert_eq!(block.dim(), self.dim(), "features of a block");
        self.n_observed += block.total_weight();
        self.residual += block.rotate_into(self.triangle.entries_mut());
        self.triangle.solve(&mut self.mean);
    }

    /// Whether it is the prior.
    pub fn is_prior(&self) -> bool {
        self.n_observed == 0.0
    }

    /// Lets all observations count γ times what they did, so that the posterior is that of `Λ = λI + γ·XᵀX`, and accordingly for
    /// the mean and the noise. O(d³). `room` is an empty block of as many features.
    ///
    /// The rows √γ·`[R q]` lack a share 1 − γ of the prior, so √((1−γ)λ)·I with targets of 0 is rotated into them.
    pub fn forget(&mut self, remainder: Remainder, room: &mut Block) {
        assert_eq!(room.dim(), self.dim(), "features of a block");
        let Remainder { kept, lost } = remainder;
        self.n_observed *= kept;
        if self.n_observed < NOTHING {
            return *self = Self::new(self.dim(), self.prior);
        }
        let root = kept.sqrt();
        self.triangle.entries_mut().iter_mut().for_each(|entry| *entry *= root);
        let diagonal = (lost * self.prior.precision).sqrt();
        let left_over = room.rotate_diagonal_into(self.triangle.entries_mut(), diagonal);
        self.residual = kept * self.residual + left_over;
        self.triangle.solve(&mut self.mean);
    }

    /// The posterior of the same observations on their first `dim` features alone, computed without the observations. O(d²).
    pub fn leading(&self, dim: usize) -> Self {
        let (triangle, left_over) = self.triangle.leading(dim);
        let mut mean = vec![0.0; dim];
        triangle.solve(&mut mean);
        let (prior, residual, n_observed) = (self.prior, self.residual + left_over, self.n_observed);
        Self { prior, triangle, residual, n_observed, mean, row: vec![0.0; dim + 1] }
    }

    /// The posterior of the same observations among more features, `dim` in all, on which they did not depend. The present features
    /// move to `places`, in ascending order.
    pub fn with_features_at(&self, places: impl Iterator<Item = usize>, dim: usize) -> Self {
        let places: Vec<usize> = places.collect();
        let triangle = self.triangle.with_columns_at(&places, dim, self.prior.precision.sqrt());
        let mut mean = vec![0.0; dim];
        triangle.solve(&mut mean);
        Self { triangle, mean, row: vec![0.0; dim + 1], ..*self }
    }

    /// d, the number of features.
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// μ, the mean of the coefficients.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// a, the shape of the noise variance's inverse gamma distribution.
    pub fn noise_shape(&self) -> f64 {
        self.prior.shape + 0.5 * self.n_observed
    }

    /// b, its rate.
    pub fn noise_rate(&self) -> f64 {
        self.prior.rate + 0.5 * self.residual
    }

    /// Draws the noise variance σ². **Samples.**
    pub fn sample_noise_variance(&self, rng: &mut Rng) -> f64 {
        self.noise_rate() / rng.gamma(self.noise_shape())
    }

    /// Draws coefficients given the noise variance, `β ~ N(μ, σ²Λ⁻¹)`. **Samples.** O(d²).
    pub fn sample_coefficients(&self, noise_variance: f64, rng: &mut Rng, coefficients: &mut [f64]) {
        self.sample_deviations(noise_variance.sqrt(), rng, coefficients);
        coefficients.iter_mut().zip(&self.mean).for_each(|(coefficient, mean)| *coefficient += mean);
    }

    /// Draws how far coefficients are from their mean, N(0, s²Λ⁻¹), given s. **Samples.** O(d²).
    pub fn sample_deviations(&self, spread: f64, rng: &mut Rng, deviations: &mut [f64]) {
        deviations.iter_mut().for_each(|deviation| *deviation = spread * rng.normal());
        self.triangle.solve_for(deviations);
    }

    /// `xᵀΛ⁻¹x`: given σ², the prediction `xᵀβ` is N(xᵀμ, σ² times this). O(d²); `work` has d places.
    ///
    /// Never above [`Self::leverage_bound`], whatever the rounding.
    pub fn leverage(&self, features: &[f64], work: &mut [f64]) -> f64 {
        assert_eq!(features.len(), self.dim());
        work.copy_from_slice(features);
        self.triangle.solve_transposed(work);
        triangle::dot(work, work).min(self.leverage_bound(features))
    }

    /// [`Self::leverage`] of some rows of features, to the bit, several times as fast for eight or more.
    ///
    /// Row i is `features[i·d..][..d]`. `work` is room, whatever it holds.
    pub fn leverages(
        &self,
        features: &[f64],
        rows: &[usize],
        work: &mut LanesWork,
        leverages: &mut Vec<f64>,
    ) {
        let dim = self.dim();
        let row = |index: usize| &features[index * dim..][..dim];
        leverages.clear();
        for rows in rows.chunks(LANES) {
            work.resize(dim, [0.0; LANES]);
            if let [only] = *rows {
                let room = &mut work.as_flattened_mut()[..dim];
                leverages.push(self.leverage(row(only), room));
                continue;
            }
            put_in_lanes(rows.iter().map(|&index| row(index)), work);
            self.triangle.solve_many_transposed(work);
            let squares = triangle::squares(work);
            for (&index, square) in rows.iter().zip(squares) {
                leverages.push(square.min(self.leverage_bound(row(index))));
            }
        }
    }

    /// `xᵀx/λ`, what [`Self::leverage`] is before any observation; it only ever falls.
    pub fn leverage_bound(&self, features: &[f64]) -> f64 {
        triangle::dot(features, features) / self.prior.precision
    }

    /// `log det(Λ/λ)`: twice the information of the observations about the coefficients, in nats. It grows with the logarithm of
    /// their number and with the dimensions that they span. O(d).
    pub fn information(&self) -> f64 {
        2.0 * self.triangle.log_determinant() - self.dim() as f64 * libm::log(self.prior.precision)
    }

    /// `xᵀμ`.
    pub fn predict(&self, features: &[f64]) -> f64 {
        assert_eq!(features.len(), self.dim());
        triangle::dot(features, &self.mean)
    }

    /// [`Self::predict`] of the rows that [`in_lanes`] put side by side, to the bit.
    pub fn predict_many(&self, lanes: &LanesWork) -> [f64; LANES] {
        triangle::dot_many(lanes, &self.mean)
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.f64(self.n_observed);
        encoder.f64(self.residual);
        encoder.f64s(self.triangle.entries());
    }

    pub(crate) fn decode(dim: usize, prior: LinearPrior, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let n_observed = decoder.weight_sum()?;
        let residual = decoder.f64()?;
        let n_present = decoder.remaining() / size_of::<f64>();
        if Triangle::n_entries(dim).is_none_or(|n_entries| n_entries > n_present) {
            return Err(decoder.damaged(format!("a factor for {dim} features is cut short")));
        }
        let mut posterior = Self { residual, n_observed, ..Self::new(dim, prior) };
        decoder.f64s(posterior.triangle.entries_mut())?;
        posterior.triangle.solve(&mut posterior.mean);
        let is_sound = residual >= 0.0 && residual.is_finite() && posterior.triangle.is_sound();
        if !is_sound {
            return Err(decoder.damaged("a factor is not positive definite".to_owned()));
        }
        Ok(posterior)
    }
}

#[cfg(test)]
mod tests;
