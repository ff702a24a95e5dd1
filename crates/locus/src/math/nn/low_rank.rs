//! Low-rank noise: the same distribution from fewer random numbers.
//!
//! A layer that sees noise ε ~ N(0, σ²I) of C numbers through weights W [C, h] sees Wᵀε, which is N(0, σ²WᵀW). With
//! `WᵀW = RᵀR` that is Rᵀu for u ~ N(0, σ²I) of h numbers, which is cheaper where C is larger than h. Where a gradient
//! of W is wanted, ε is known to be Qu in the mean, `Q = WR⁻¹`: with G = Σ u·δᵀ the gradient of R, that of W is Q·G, the
//! conditional expectation of the plain one, whose variance it never exceeds.

use multiversion::multiversion;

/// R of some weights, and the gradient that gathers there.
#[derive(Clone, Debug, Default)]
pub struct LowRank {
    n_out: usize,
    /// R [h, h], upper triangular.
    factor: Vec<f64>,
    narrow_factor: Vec<f32>,
    /// G [h, h]
    gradient: Vec<f32>,
    /// R⁻¹·G [h, h]
    solved: Vec<f64>,
    narrow_solved: Vec<f32>,
}

impl LowRank {
    /// Takes the factor of weights [C, h], and sets the gradient to 0.
    pub fn prepare(&mut self, weights: &[f32], n_out: usize) {
        self.n_out = n_out;
        for list in [&mut self.factor, &mut self.solved] {
            list.clear();
            list.resize(n_out * n_out, 0.0);
        }
        self.gradient.clear();
        self.gradient.resize(n_out * n_out, 0.0);
        gram(weights, n_out, &mut self.factor);
        cholesky(&mut self.factor, n_out);
        self.narrow_factor.clear();
        self.narrow_factor.extend(self.factor.iter().map(|&entry| entry as f32));
    }

    /// R, as weights [h, h] for noise of h numbers: 0 below the diagonal.
    pub fn weights(&self) -> &[f32] {
        &self.narrow_factor
    }

    /// Where the gradient of [`LowRank::weights`] is added up.
    pub fn gradient_mut(&mut self) -> &mut [f32] {
        &mut self.gradient
    }

    /// Adds W·R⁻¹·G to the gradient of the weights [C, h].
    pub fn finish(&mut self, weights: &[f32], gradient: &mut [f32]) {
        let n = self.n_out;
        for (solved, entry) in self.solved.iter_mut().zip(&self.gradient) {
            *solved = f64::from(*entry);
        }
        back_substitute(&self.factor, &mut self.solved, n);
        self.narrow_solved.clear();
        self.narrow_solved.extend(self.solved.iter().map(|&entry| entry as f32));
        add_product(weights, &self.narrow_solved, gradient, n);
    }
}

/// The upper triangle of WᵀW.
#[multiversion(targets = "simd")]
fn gram(weights: &[f32], n: usize, gram: &mut [f64]) {
    let mut groups = weights.chunks_exact(GROUP * n);
    for group in &mut groups {
        add_gram::<GROUP>(group, n, gram);
    }
    for row in groups.remainder().chunks_exact(n) {
        add_gram::<1>(row, n, gram);
    }
}

/// Rows that are added at once, so that what they are added to is read and written once for all.
const GROUP: usize = 4;

#[inline(always)]
fn add_gram<const G: usize>(rows: &[f32], n: usize, gram: &mut [f64]) {
    let rows: [&[f32]; G] = std::array::from_fn(|g| &rows[g * n..(g + 1) * n]);
    for i in 0..n {
        let left: [f64; G] = std::array::from_fn(|g| f64::from(rows[g][i]));
        let right: [&[f32]; G] = std::array::from_fn(|g| &rows[g][i..n]);
        for (j, entry) in gram[i * n + i..(i + 1) * n].iter_mut().enumerate() {
            for g in 0..G {
                *entry += left[g] * f64::from(right[g][j]);
            }
        }
    }
}

/// The square of the least extent that counts, as a share of the largest. Below it, sums in single precision lose the gradient's digits.
const LEAST_PIVOT: f64 = 1e-9;

/// Puts the upper triangular R of S = RᵀR in the place of S's upper triangle.
///
/// Directions in which the weights have hardly any extent get rows of zeros: no noise, no gradient.
#[multiversion(targets = "simd")]
fn cholesky(matrix: &mut [f64], n: usize) {
    let largest = (0..n).map(|i| matrix[i * n + i]).fold(0.0, f64::max);
    for i in 0..n {
        let (above, below) = matrix.split_at_mut((i + 1) * n);
        let row = &mut above[i * n..];
        let pivot = row[i];
        let scale = if pivot > LEAST_PIVOT * largest { 1.0 / pivot.sqrt() } else { 0.0 };
        row[i..].iter_mut().for_each(|entry| *entry *= scale);
        for j in i + 1..n {
            let factor = row[j];
            let other = &mut below[(j - i - 1) * n..][..n];
            for (entry, right) in other[j..].iter_mut().zip(&row[j..]) {
                *entry -= factor * right;
            }
        }
    }
}

/// Solves RX = G, given G in `solution`.
#[multiversion(targets = "simd")]
fn back_substitute(factor: &[f64], solution: &mut [f64], n: usize) {
    for i in (0..n).rev() {
        let (known, rest) = solution.split_at_mut((i + 1) * n);
        let row = &mut known[i * n..];
        for j in i + 1..n {
            let entry = factor[i * n + j];
            for (place, solved) in row.iter_mut().zip(&rest[(j - i - 1) * n..][..n]) {
                *place -= entry * solved;
            }
        }
        let diagonal = factor[i * n + i];
        let scale = if diagonal > 0.0 { 1.0 / diagonal } else { 0.0 };
        row.iter_mut().for_each(|place| *place *= scale);
    }
}

/// `D += W·M`: W [C, n], M [n, n].
#[multiversion(targets = "simd")]
fn add_product(weights: &[f32], matrix: &[f32], sum: &mut [f32], n: usize) {
    for (weights, sum) in weights.chunks_exact(n).zip(sum.chunks_exact_mut(n)) {
        let (mut groups, mut rows) = (weights.chunks_exact(GROUP), matrix.chunks_exact(GROUP * n));
        for (weights, rows) in (&mut groups).zip(&mut rows) {
            add_rows::<GROUP>(weights, rows, sum);
        }
        for (weight, row) in groups.remainder().chunks_exact(1).zip(rows.remainder().chunks_exact(n)) {
            add_rows::<1>(weight, row, sum);
        }
    }
}

/// Adds weighted rows.
#[inline(always)]
fn add_rows<const G: usize>(weights: &[f32], rows: &[f32], sum: &mut [f32]) {
    let n = sum.len();
    let weights: [f32; G] = std::array::from_fn(|g| weights[g]);
    let rows: [&[f32]; G] = std::array::from_fn(|g| &rows[g * n..(g + 1) * n]);
    for (j, place) in sum.iter_mut().enumerate() {
        for g in 0..G {
            *place += weights[g] * rows[g][j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::nn::gradient_check::{LAYER_TOLERANCE, check_gradient, random, test_rng};

    #[test]
    fn the_factor_has_the_same_products_as_the_weights() {
        let (c, n) = (23, 7);
        let mut weights = random(c * n, &mut test_rng(1));
        // One column that is another's double: the factor has no full rank.
        weights.chunks_exact_mut(n).for_each(|row| row[4] = 2.0 * row[1]);
        let mut low_rank = LowRank::default();
        low_rank.prepare(&weights, n);
        let factor = low_rank.weights();
        for i in 0..n {
            for j in 0..n {
                let sum = |list: &[f32]| -> f64 {
                    list.chunks_exact(n).map(|row| f64::from(row[i]) * f64::from(row[j])).sum()
                };
                assert!((sum(factor) - sum(&weights)).abs() < 1e-4, "{i} {j}");
            }
        }
    }

    /// Where columns are nearly the same, R⁻¹·G is large and the sums of its products with the weights are not.
    #[test]
    fn nearly_dependent_weights_keep_the_digits_of_the_gradient() {
        let (c, n) = (23, 7);
        for distance in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7] {
            let mut rng = test_rng(4);
            let mut weights = random(c * n, &mut rng);
            for row in weights.chunks_exact_mut(n) {
                row[4] = row[1] + distance * row[4];
            }
            let mut low_rank = LowRank::default();
            low_rank.prepare(&weights, n);
            low_rank.gradient_mut().copy_from_slice(&random(n * n, &mut rng));
            let length = |list: &[f32]| list.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
            let bound = length(low_rank.gradient_mut());
            let mut gradient = vec![0.0; c * n];
            low_rank.finish(&weights, &mut gradient);
            for (row, found) in weights.chunks_exact(n).zip(gradient.chunks_exact_mut(n)) {
                for (j, found) in found.iter_mut().enumerate() {
                    let exact: f64 = (0..n).map(|k| f64::from(row[k]) * low_rank.solved[k * n + j]).sum();
                    *found -= exact as f32;
                }
            }
            let error = length(&gradient) / bound;
            assert!(error < 2e-3, "{distance}: {error}");
        }
    }

    /// The gradient is the conditional expectation of the plain one: given Qᵀε = u, E[ε·δᵀ] = Q·u·δᵀ.
    #[test]
    fn the_gradient_is_that_of_the_noise_that_matters() {
        let (c, n) = (11, 4);
        let weights = random(c * n, &mut test_rng(2));
        let mut low_rank = LowRank::default();
        low_rank.prepare(&weights, n);
        // δ is any function of a = Wᵀε; here a itself, for which the mean of ε·aᵀ is W.
        let mut rng = test_rng(3);
        let n_draws = 200_000;
        let factor = low_rank.weights().to_vec();
        for _ in 0..n_draws {
            let u: Vec<f32> = (0..n).map(|_| rng.normal() as f32).collect();
            let a: Vec<f32> = (0..n).map(|j| (0..n).map(|k| factor[k * n + j] * u[k]).sum()).collect();
            for (row, u) in low_rank.gradient_mut().chunks_exact_mut(n).zip(&u) {
                row.iter_mut().zip(&a).for_each(|(place, a)| *place += u * a / n_draws as f32);
            }
        }
        let mut gradient = vec![0.0; c * n];
        low_rank.finish(&weights, &mut gradient);
        for (found, expected) in gradient.iter().zip(&weights) {
            assert!((found - expected).abs() < 0.03, "{found} {expected}");
        }
    }

    /// The gradient is right in expectation, and for a quadratic loss ½aᵀMa + bᵀa the expectation over u is the mean over the 2h
    /// points ±√h·e, whose mean of u·uᵀ is the identity: the loss is deterministic, and finite differences apply.
    #[test]
    fn expected_gradients_equal_differences() {
        let (c, n) = (9, 5);
        let mut rng = test_rng(4);
        let weights = random(c * n, &mut rng);
        let (half, b) = (random(n * n, &mut rng), random(n, &mut rng));
        let m = |i: usize, j: usize| half[i * n + j] + half[j * n + i];
        let length = (n as f32).sqrt();
        let points: Vec<(usize, f32)> = (0..n).flat_map(|k| [(k, length), (k, -length)]).collect();
        // a = Rᵀu for u = ±√h·e.
        let seen = |factor: &[f32], (k, u): (usize, f32)| -> Vec<f32> {
            factor[k * n..][..n].iter().map(|entry| u * entry).collect()
        };
        let loss = |weights: &[f32]| {
            let mut low_rank = LowRank::default();
            low_rank.prepare(weights, n);
            let mut total = 0.0;
            for &point in &points {
                let a: Vec<f64> = seen(low_rank.weights(), point).into_iter().map(f64::from).collect();
                for i in 0..n {
                    total += f64::from(b[i]) * a[i];
                    total += (0..n).map(|j| 0.5 * a[i] * f64::from(m(i, j)) * a[j]).sum::<f64>();
                }
            }
            total / points.len() as f64
        };

        let mut low_rank = LowRank::default();
        low_rank.prepare(&weights, n);
        let factor = low_rank.weights().to_vec();
        for &(k, u) in &points {
            let a = seen(&factor, (k, u));
            for (j, b) in b.iter().enumerate() {
                let delta = b + (0..n).map(|i| m(j, i) * a[i]).sum::<f32>();
                low_rank.gradient_mut()[k * n + j] += u * delta / points.len() as f32;
            }
        }
        let mut gradient = vec![0.0; c * n];
        low_rank.finish(&weights, &mut gradient);
        check_gradient("low rank", LAYER_TOLERANCE, &weights, &gradient, loss);
    }
}
