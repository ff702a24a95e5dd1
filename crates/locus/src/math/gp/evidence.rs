//! The marginal likelihood of rewards, and its gradient.
//!
//! With K the covariance of n points, noise included, and e their rewards less the mean of their action:
//!
//! ```text
//! log p = −½·eᵀK⁻¹e − ½·log|K| − n/2·log 2π
//! ∂ log p/∂θ = ½·Σ_ij W_ij·∂K_ij/∂θ,  W = (K⁻¹e)(K⁻¹e)ᵀ − K⁻¹
//! ```
//!
//! An observation of weight w counts as w equal ones. Its noise then has the variance σ²/w, and the variation among the w equal
//! observations adds `−½·(w − 1)·log 2πσ² − ½·log w` to log p.
//!
//! The gradients in all length scales of a kind are one product: with z the scaled contexts, those of the Matérn kernel sum
//! M_ij·(z_i − z_j)², which is 2·Σ_i z_i·(z_i·Σ_j M_ij − Σ_j M_ij·z_j).

use super::Points;
use super::kernel::{CovarianceWork, Kernel, KernelParameters, matern, sigmoid, softplus};
use super::posterior::add_noise;
use crate::math::matrix::{self, Rows, Weights};

/// Buffers for the evidence.
#[derive(Clone, Debug, Default)]
pub struct EvidenceWork {
    /// Buffers for covariances, which callers may also use.
    pub covariances: CovarianceWork,
    /// K, then its factor: [n, n]
    factor: Vec<f64>,
    /// K⁻¹, then the weights of the Matérn kernel's length scales: [n, n]
    inverse: Vec<f64>,
    /// The weights of the linear kernel's length scales: [n, n]
    linear_weights: Vec<f64>,
    /// K⁻¹e
    solved: Vec<f64>,
    /// Sums over the pairs of two actions: [A, A]
    by_task: Vec<f64>,
    /// [C, n]
    products: Vec<f64>,
    /// Pivots clamped since the last call of [`EvidenceWork::take_held`].
    n_held: u64,
}

impl EvidenceWork {
    /// Returns how many pivots were clamped since the last call, and resets the count.
    pub fn take_held(&mut self) -> u64 {
        std::mem::take(&mut self.n_held)
    }
}

/// log p of the rewards of points, each with its weight; writes its gradient in the kernel's `parameters` to `gradient`. Not
/// finite on a numerical error.
pub fn evidence(
    kernel: &Kernel,
    parameters: &[f32],
    points: &Points,
    (rewards, weights): (&[f64], &[f64]),
    work: &mut EvidenceWork,
    gradient: &mut [f64],
) -> f64 {
    let n = points.len();
    let log_evidence = factor_and_solve(kernel, points, (rewards, weights), work);
    let places = kernel.places;
    let EvidenceWork { covariances, factor, inverse, linear_weights, solved, by_task, products, .. } = work;
    let CovarianceWork { scaled, linear_scaled, distances, linear } = covariances;
    inverse.clear();
    inverse.resize(n * n, 0.0);
    (0..n).for_each(|i| inverse[i * n + i] = 1.0);
    matrix::solve_transposed(factor, n, n, inverse, n);
    matrix::solve(factor, n, n, inverse, n);

    gradient.fill(0.0);
    linear_weights.resize(n * n, 0.0);
    by_task.clear();
    by_task.resize(places.n_actions * places.n_actions, 0.0);
    let (mut trace, mut matern_sum, mut linear_sum) = (0.0, 0.0, 0.0);
    for i in 0..n {
        let (action, task) = (points.actions[i], kernel.task_row(points.actions[i]));
        trace += (solved[i] * solved[i] - inverse[i * n + i]) / weights[i]
            - (weights[i] - 1.0) / kernel.noise_variance;
        for j in i..n {
            let place = i * n + j;
            // Pairs off the diagonal count twice.
            let twice = if i == j { 1.0 } else { 2.0 };
            let weight = solved[i] * solved[j] - inverse[place];
            let (value, decay) = matern(distances[place]);
            let other = points.actions[j];
            let contexts = kernel.amplitude * value + kernel.linear_amplitude * linear[place];
            // Each unordered pair once in either half; the sum over both halves is what counts.
            by_task[action * places.n_actions + other] += 0.5 * twice * weight * contexts;
            by_task[other * places.n_actions + action] += 0.5 * twice * weight * contexts;
            let weight = weight * task[other];
            matern_sum += twice * weight * value;
            linear_sum += twice * weight * linear[place];
            inverse[place] = weight * 3.0 * kernel.amplitude * decay;
            linear_weights[place] = weight * kernel.linear_amplitude;
        }
        gradient[places.means().start + action] += solved[i];
    }
    let slope = |place: usize| sigmoid(f64::from(parameters[place]));
    let scalars = [
        (KernelParameters::NOISE, trace),
        (KernelParameters::AMPLITUDE, matern_sum),
        (KernelParameters::LINEAR_AMPLITUDE, linear_sum),
    ];
    for (place, sum) in scalars {
        gradient[place] = 0.5 * sum * slope(place);
    }
    add_task_gradients(kernel, parameters, by_task, gradient);

    matrix::mirror(inverse, n);
    matrix::mirror(linear_weights, n);
    let kinds = [
        (places.lengths(), &*scaled, &*inverse, true),
        (places.linear_lengths(), &*linear_scaled, &*linear_weights, false),
    ];
    for (range, scaled, weights, is_matern) in kinds {
        products.clear();
        products.resize(places.n_features * n, 0.0);
        let lines = Weights::ByLine(Rows { data: scaled, stride: n });
        let pairs = Rows { data: weights, stride: n };
        matrix::add_product(1.0, lines, n, pairs, (&mut *products, n), (places.n_features, n));
        // Σ_j M_ij of every point.
        solved.clear();
        solved
            .extend(weights.chunks_exact(n.max(1)).map(|row| if is_matern { row.iter().sum() } else { 0.0 }));
        for (feature, place) in range.enumerate() {
            let line = &scaled[feature * n..][..n];
            let product = &products[feature * n..][..n];
            let squares: f64 = line.iter().zip(&*solved).map(|(z, sum)| z * z * sum).sum();
            let sum = squares - matrix::dot(line, product);
            let length = softplus(f64::from(parameters[place]));
            gradient[place] = sum / length * slope(place);
        }
    }
    log_evidence
}

/// log p; leaves the factor of K, and K⁻¹e.
fn factor_and_solve(
    kernel: &Kernel,
    points: &Points,
    (rewards, weights): (&[f64], &[f64]),
    work: &mut EvidenceWork,
) -> f64 {
    let n = points.len();
    let EvidenceWork { covariances, factor, solved, n_held, .. } = work;
    factor.resize(n * n, 0.0);
    kernel.covariances(points, covariances, factor, n);
    let floor = add_noise(kernel, weights, factor, n);
    *n_held += matrix::factor(factor, n, n, floor);
    solved.clear();
    solved.extend(rewards.iter().zip(&points.actions).map(|(reward, &action)| reward - kernel.means[action]));
    matrix::solve_transposed_vector(factor, n, n, solved);
    let log_determinant: f64 = 2.0 * (0..n).map(|i| libm::log(factor[i * n + i])).sum::<f64>();
    let square = matrix::dot(solved, solved);
    matrix::solve_vector(factor, n, n, solved);
    let log_two_pi = libm::log(2.0 * std::f64::consts::PI);
    let log_noise = log_two_pi + libm::log(kernel.noise_variance);
    let among_equals: f64 = weights.iter().map(|w| (w - 1.0) * log_noise + libm::log(*w)).sum();
    -0.5 * (square + log_determinant + n as f64 * log_two_pi + among_equals)
}

/// ∂ exp(−|v_a − v_b|²)/∂v_a is −2·(v_a − v_b) times itself.
fn add_task_gradients(kernel: &Kernel, parameters: &[f32], by_task: &[f64], gradient: &mut [f64]) {
    let KernelParameters { n_actions, task_dim, .. } = kernel.places;
    let start = kernel.places.task_vectors().start;
    for a in 0..n_actions {
        for b in 0..n_actions {
            let factor = -2.0 * by_task[a * n_actions + b] * kernel.task(a, b);
            for dim in 0..task_dim {
                let at = |action: usize| f64::from(parameters[start + action * task_dim + dim]);
                gradient[start + a * task_dim + dim] += factor * (at(a) - at(b));
            }
        }
    }
}
