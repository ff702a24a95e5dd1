//! The posterior of rewards given observations.
//!
//! With R the factor of the covariance of the observations, noise included, and c [n, A] their covariance with the rewards of all
//! actions in a context: given `V = R⁻ᵀc` and `w = R⁻ᵀe`, these have mean `m + Vᵀw` and covariance `k − VᵀV`. A further
//! observation is a row and a column more of R, in O(n²). An observation of weight w counts as w equal ones: its noise has a w-th
//! of the variance, which is equivalent.

use super::Points;
use super::kernel::{CovarianceWork, Kernel};
use crate::Rng;
use crate::math::matrix;

/// Observed rewards, and the factor of their covariance.
#[derive(Clone, Debug)]
pub struct Posterior {
    kernel: Kernel,
    points: Points,
    rewards: Vec<f64>,
    weights: Vec<f64>,
    /// R, with room for more rows and columns.
    factor: Vec<f64>,
    capacity: usize,
    /// From one row of R to the next. Avoids powers of two, with which all rows would map to the same few cache sets.
    stride: usize,
    /// w, on the scale of the last [`Posterior::whiten`].
    whitened: Vec<f64>,
    /// Observations that the factor was made of at once.
    n_base: usize,
    /// How often a squared pivot was clamped at the smallest noise variance.
    n_held: u64,
    column: Vec<f64>,
}

impl Posterior {
    /// Room for that many observations more than at first, at least.
    pub const ROOM: usize = 256;

    /// Of these rewards, each with its weight.
    pub fn new(
        kernel: Kernel,
        points: Points,
        rewards: Vec<f64>,
        weights: Vec<f64>,
        work: &mut CovarianceWork,
    ) -> Self {
        let n = points.len();
        assert_eq!((rewards.len(), weights.len()), (n, n), "rewards and weights of all points");
        // In large steps, so that room for decisions need not grow with every observation.
        let capacity = (n + Self::ROOM).next_multiple_of(512);
        let stride = capacity + 8;
        let mut factor = vec![0.0; capacity * stride];
        kernel.covariances(&points, work, &mut factor, stride);
        let floor = add_noise(&kernel, &weights, &mut factor, stride);
        let n_held = matrix::factor(&mut factor, stride, n, floor);
        let mut posterior = Self {
            kernel,
            points,
            rewards,
            weights,
            factor,
            capacity,
            stride,
            whitened: Vec::with_capacity(capacity),
            n_base: n,
            n_held,
            column: Vec::with_capacity(capacity),
        };
        let room = capacity - n;
        posterior.points.contexts.reserve_exact(room * posterior.kernel.places.n_features);
        posterior.points.actions.reserve_exact(room);
        posterior.rewards.reserve_exact(room);
        posterior.weights.reserve_exact(room);
        posterior
    }

    /// Takes a kernel that differs from the present one by more actions, of which nothing was observed.
    pub fn add_actions(&mut self, kernel: Kernel) {
        self.kernel = kernel;
    }

    /// Whether there is no room for another observation.
    pub fn is_full(&self) -> bool {
        self.points.len() == self.capacity
    }

    /// n
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Observations that the factor was made of at once; the others were added one by one.
    pub fn n_base(&self) -> usize {
        self.n_base
    }

    /// Observations that were added one by one since.
    pub fn n_added(&self) -> usize {
        self.points.len() - self.n_base
    }

    /// The observations: points, rewards and weights.
    pub fn seen(&self) -> (&Points, &[f64], &[f64]) {
        (&self.points, &self.rewards, &self.weights)
    }

    /// How often rounding pushed a squared pivot below the noise variance, where it was clamped, since the last call.
    pub fn take_held(&mut self) -> u64 {
        std::mem::take(&mut self.n_held)
    }

    /// How many numbers [`Posterior::draw`] needs room for; the same until the next factor is made.
    pub fn n_work(&self) -> usize {
        let n_actions = self.kernel.places.n_actions;
        (self.capacity + n_actions + 2) * n_actions
    }

    /// Adds one observation, which counts as `weight` equal ones. Panics at capacity.
    pub fn observe(&mut self, context: &[f32], action: usize, reward: f64, weight: f64) {
        assert!(!self.is_full(), "room for another observation");
        let n = self.points.len();
        let kernel = &self.kernel;
        self.column.clear();
        let seen = self.points.contexts.chunks_exact(context.len()).zip(&self.points.actions);
        self.column.extend(
            seen.map(|(other, &taken)| kernel.task(action, taken) * kernel.of_contexts(context, other)),
        );
        let noise = kernel.noise_variance / weight;
        let diagonal = kernel.of_contexts(context, context) + noise;
        let is_held = matrix::append(&mut self.factor, self.stride, n, &mut self.column, diagonal, noise);
        self.n_held += u64::from(is_held);
        self.points.push(context, action);
        self.rewards.push(reward);
        self.weights.push(weight);
    }

    /// Takes the scale of rewards that draws are on from now: (reward − mean)/std.
    pub fn whiten(&mut self, mean: f64, std: f64) {
        let Self { kernel, points, rewards, whitened, .. } = self;
        whitened.clear();
        let seen = rewards.iter().zip(&points.actions);
        whitened.extend(seen.map(|(reward, &action)| (reward - mean) / std - kernel.means[action]));
        matrix::solve_transposed_vector(&self.factor, self.stride, self.points.len(), &mut self.whitened);
    }

    /// Means of all A actions, and covariances A × A on and above the diagonal, of their mean rewards; `work` has
    /// [`Posterior::n_work`] numbers. After [`Posterior::whiten`].
    pub fn moments<'a>(&self, context: &[f32], work: &'a mut [f64]) -> (&'a mut [f64], &'a mut [f64]) {
        let (kernel, n, n_actions) = (&self.kernel, self.points.len(), self.kernel.places.n_actions);
        let (mean, work) = work.split_at_mut(n_actions);
        let (covariance, work) = work.split_at_mut(n_actions * n_actions);
        let cross = &mut work[..n * n_actions];
        let seen = self.points.contexts.chunks_exact(context.len()).zip(&self.points.actions);
        for (line, (other, &taken)) in cross.chunks_exact_mut(n_actions).zip(seen) {
            let contexts = kernel.of_contexts(context, other);
            for (place, task) in line.iter_mut().zip(kernel.task_row(taken)) {
                *place = contexts * task;
            }
        }
        matrix::solve_transposed(&self.factor, self.stride, n, cross, n_actions);
        let contexts = kernel.of_contexts(context, context);
        for (place, task) in covariance.iter_mut().zip(&kernel.tasks) {
            *place = contexts * task;
        }
        let rows = matrix::Rows { data: cross, stride: n_actions };
        let weights = matrix::Weights::ByInput(rows);
        matrix::add_product_upper(-1.0, weights, n, rows, (&mut *covariance, n_actions), n_actions);
        mean.copy_from_slice(&kernel.means);
        for (line, whitened) in cross.chunks_exact(n_actions).zip(&self.whitened) {
            matrix::add_scaled(*whitened, line, mean);
        }
        (mean, covariance)
    }

    /// Draws the mean rewards of all actions in a context together, as often as `rewards` has room for, those of a draw side by
    /// side. **Samples.** `work` as for [`Posterior::moments`].
    ///
    /// A squared pivot of their covariance that is negligible relative to the prior variance is rounding, and set to 0.
    pub fn draw(&self, context: &[f32], rng: &mut Rng, work: &mut [f64], rewards: &mut [f64]) {
        let n_actions = self.kernel.places.n_actions;
        let floor = 1e-14 * self.kernel.of_contexts(context, context);
        let (work, normals) = work.split_at_mut(work.len() - n_actions);
        let (mean, covariance) = self.moments(context, work);
        matrix::factor(covariance, n_actions, n_actions, floor);
        for rewards in rewards.chunks_exact_mut(n_actions) {
            normals.iter_mut().for_each(|normal| *normal = rng.normal());
            rewards.copy_from_slice(mean);
            for (i, (row, normal)) in covariance.chunks_exact(n_actions).zip(&*normals).enumerate() {
                // The entries beside a clamped pivot are rounding errors divided by nearly 0.
                if row[i] > floor.sqrt() {
                    matrix::add_scaled(*normal, &row[i..], &mut rewards[i..]);
                }
            }
        }
    }
}

/// Adds the noise of observations with these weights to the diagonal of their covariance; the least of its variances.
pub(super) fn add_noise(kernel: &Kernel, weights: &[f64], covariance: &mut [f64], stride: usize) -> f64 {
    let mut least = f64::INFINITY;
    for (i, weight) in weights.iter().enumerate() {
        let noise = kernel.noise_variance / weight;
        covariance[i * stride + i] += noise;
        least = least.min(noise);
    }
    least
}
