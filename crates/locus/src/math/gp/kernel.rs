//! The multi-task kernel: the covariance of rewards between contexts and actions.
//!
//! ```text
//! k((x, a), (x', b)) = (s·m(r) + t·l)·exp(−|v_a − v_b|²)
//! m(r) = (1 + √3·r)·exp(−√3·r),  r² = Σ_d ((x_d − x'_d)/(u·λ_d))²,  l = Σ_d x_d·x'_d/(u·κ_d)²
//! ```
//!
//! s and t are amplitudes, λ and κ length scales of every feature, v_a a vector of every action. Amplitudes, length scales and
//! the variance of the noise are softplus of the parameters that are learned. The unit u is not learned: √C times the spread of
//! features, so that on any problem two contexts are about one length scale apart when learning begins. The mean reward
//! of every action is a parameter too.

use std::ops::Range;

use multiversion::multiversion;

use super::Points;
use crate::Rng;
use crate::math::matrix::{Rows, Weights, add_product_upper};
use crate::math::nn::Layout;

/// Added to the variance of the noise, so that a factor always exists.
pub(super) const LEAST_NOISE: f64 = 1e-6;
/// Parameters of length scales stay between −5 and 5: scales between 0.0067 and 5 units.
const LENGTH_BOUND: f32 = 5.0;
/// Bounds of the parameters of the noise and the amplitudes, far outside the useful range for rewards of variance 1.
const SIZE_BOUND: f32 = 50.0;

/// Where the parameters of a kernel are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelParameters {
    /// C
    pub n_features: usize,
    /// A
    pub n_actions: usize,
    /// Dimension of an action's embedding.
    pub task_dim: usize,
}

impl KernelParameters {
    pub(super) const NOISE: usize = 0;
    pub(super) const AMPLITUDE: usize = 1;
    pub(super) const LINEAR_AMPLITUDE: usize = 2;

    /// How many there are.
    pub fn len(&self) -> usize {
        self.means().end
    }

    pub(super) fn lengths(&self) -> Range<usize> {
        3..3 + self.n_features
    }

    pub(super) fn linear_lengths(&self) -> Range<usize> {
        let start = self.lengths().end;
        start..start + self.n_features
    }

    pub(super) fn task_vectors(&self) -> Range<usize> {
        let start = self.linear_lengths().end;
        start..start + self.n_actions * self.task_dim
    }

    /// Where the mean reward of every action is.
    pub fn means(&self) -> Range<usize> {
        let start = self.task_vectors().end;
        start..start + self.n_actions
    }

    /// The same places, for parameters that follow them when actions are added.
    pub fn layout(&self) -> Layout {
        let mut layout = Layout::default();
        layout.reserve(3);
        layout.reserve(self.n_features);
        layout.reserve(self.n_features);
        layout.reserve(self.n_actions * self.task_dim);
        layout.reserve(self.n_actions);
        layout
    }

    /// Initial parameters: these noise, amplitudes and length scales before their softplus, action embeddings from a standard
    /// normal times `task_std`, means of 0. **Samples.**
    pub fn start(
        &self,
        noise: f64,
        amplitudes: [f64; 2],
        length: f64,
        task_std: f64,
        rng: &mut Rng,
    ) -> Vec<f32> {
        let mut parameters = vec![0.0; self.len()];
        parameters[Self::NOISE] = noise as f32;
        parameters[Self::AMPLITUDE] = amplitudes[0] as f32;
        parameters[Self::LINEAR_AMPLITUDE] = amplitudes[1] as f32;
        parameters[self.lengths()].fill(length as f32);
        parameters[self.linear_lengths()].fill(length as f32);
        for place in &mut parameters[self.task_vectors()] {
            *place = (task_std * rng.normal()) as f32;
        }
        parameters
    }

    /// Clamps parameters to their bounds; a NaN stays a NaN.
    pub fn hold(&self, parameters: &mut [f32]) {
        let hold = |parameters: &mut [f32], bound: f32| {
            for parameter in parameters {
                *parameter = parameter.clamp(-bound, bound);
            }
        };
        hold(&mut parameters[..3], SIZE_BOUND);
        hold(&mut parameters[self.lengths()], LENGTH_BOUND);
        hold(&mut parameters[self.linear_lengths()], LENGTH_BOUND);
    }
}

/// `ln(1 + eˣ)`
pub fn softplus(x: f64) -> f64 {
    x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
}

/// Its derivative.
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// The kernel that parameters describe.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Where its parameters are.
    pub places: KernelParameters,
    /// The variance of the noise of rewards.
    pub noise_variance: f64,
    /// s
    pub(super) amplitude: f64,
    /// t
    pub(super) linear_amplitude: f64,
    /// 1/(u·λ_d)
    pub(super) scales: Vec<f64>,
    /// 1/(u·κ_d)
    pub(super) linear_scales: Vec<f64>,
    /// exp(−|v_a − v_b|²), [A, A]
    pub(super) tasks: Vec<f64>,
    /// The mean reward of every action.
    pub means: Vec<f64>,
}

/// Buffers for covariances.
#[derive(Clone, Debug, Default)]
pub struct CovarianceWork {
    /// x_d/(u·λ_d), then x_d/(u·κ_d): [C, n]
    pub(super) scaled: Vec<f64>,
    pub(super) linear_scaled: Vec<f64>,
    /// Products of scaled contexts, [n, n]; then r.
    pub(super) distances: Vec<f64>,
    /// l, [n, n]
    pub(super) linear: Vec<f64>,
}

impl Kernel {
    /// That of `parameters`, with unit `u`.
    pub fn new(places: KernelParameters, parameters: &[f32], unit: f64) -> Self {
        let mut kernel = Self {
            places,
            noise_variance: 0.0,
            amplitude: 0.0,
            linear_amplitude: 0.0,
            scales: Vec::new(),
            linear_scales: Vec::new(),
            tasks: Vec::new(),
            means: Vec::new(),
        };
        kernel.set(parameters, unit);
        kernel
    }

    /// Becomes that of other parameters and another unit. Does not allocate.
    pub fn set(&mut self, parameters: &[f32], unit: f64) {
        let places = self.places;
        let at = |place: usize| f64::from(parameters[place]);
        self.noise_variance = softplus(at(KernelParameters::NOISE)) + LEAST_NOISE;
        self.amplitude = softplus(at(KernelParameters::AMPLITUDE));
        self.linear_amplitude = softplus(at(KernelParameters::LINEAR_AMPLITUDE));
        for (scales, range) in
            [(&mut self.scales, places.lengths()), (&mut self.linear_scales, places.linear_lengths())]
        {
            scales.clear();
            scales.extend(range.map(|place| 1.0 / (unit * softplus(at(place)))));
        }
        self.means.clear();
        self.means.extend(places.means().map(at));
        let vectors = &parameters[places.task_vectors()];
        let vector = |action: usize| &vectors[action * places.task_dim..][..places.task_dim];
        self.tasks.clear();
        for a in 0..places.n_actions {
            for b in 0..places.n_actions {
                let pairs = vector(a).iter().zip(vector(b));
                let square: f64 = pairs.map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum();
                self.tasks.push(libm::exp(-square));
            }
        }
    }

    /// The covariance factor of two actions.
    pub fn task(&self, a: usize, b: usize) -> f64 {
        self.tasks[a * self.places.n_actions + b]
    }

    /// s·m(r) + t·l, the part of the kernel that is about contexts.
    pub fn of_contexts(&self, x: &[f32], y: &[f32]) -> f64 {
        let (square, linear) = scaled_sums(x, y, &self.scales, &self.linear_scales);
        self.amplitude * matern(square.sqrt()).0 + self.linear_amplitude * linear
    }

    /// The covariances of all pairs of points, without noise: on and above the diagonal of `covariance` [n, n].
    pub fn covariances(
        &self,
        points: &Points,
        work: &mut CovarianceWork,
        covariance: &mut [f64],
        stride: usize,
    ) {
        self.prepare(points, work);
        let n = points.len();
        for i in 0..n {
            let (row, task) = (&mut covariance[i * stride..][..n], self.task_row(points.actions[i]));
            for j in i..n {
                let contexts = self.amplitude * matern(work.distances[i * n + j]).0
                    + self.linear_amplitude * work.linear[i * n + j];
                row[j] = task[points.actions[j]] * contexts;
            }
        }
    }

    pub(super) fn task_row(&self, action: usize) -> &[f64] {
        &self.tasks[action * self.places.n_actions..][..self.places.n_actions]
    }

    /// r and l of all pairs on and above the diagonal.
    pub(super) fn prepare(&self, points: &Points, work: &mut CovarianceWork) {
        let (n, n_features) = (points.len(), self.places.n_features);
        let CovarianceWork { scaled, linear_scaled, distances, linear } = work;
        for (scaled, scales, products) in
            [(&mut *scaled, &self.scales, &mut *distances), (linear_scaled, &self.linear_scales, linear)]
        {
            scaled.resize(n_features * n, 0.0);
            for (feature, (line, scale)) in scaled.chunks_exact_mut(n.max(1)).zip(scales).enumerate() {
                for (place, context) in line.iter_mut().zip(points.contexts.chunks_exact(n_features)) {
                    *place = f64::from(context[feature]) * scale;
                }
            }
            products.clear();
            products.resize(n * n, 0.0);
            let rows = Rows { data: scaled, stride: n };
            add_product_upper(1.0, Weights::ByInput(rows), n_features, rows, (products, n), n);
        }
        // From products to distances, a row at a time; the diagonal is overwritten last.
        for i in 0..n {
            let square = distances[i * n + i];
            for j in i + 1..n {
                let sum = square + distances[j * n + j] - 2.0 * distances[i * n + j];
                distances[i * n + j] = sum.max(0.0).sqrt();
            }
        }
        (0..n).for_each(|i| distances[i * n + i] = 0.0);
    }
}

/// r² and l of two contexts.
#[multiversion(targets = "simd")]
fn scaled_sums(x: &[f32], y: &[f32], scales: &[f64], linear_scales: &[f64]) -> (f64, f64) {
    const LANES: usize = 8;
    let n = x.len();
    let (y, scales, linear_scales) = (&y[..n], &scales[..n], &linear_scales[..n]);
    let (mut squares, mut products) = ([0.0; LANES], [0.0; LANES]);
    let mut add = |lane: usize, place: usize| {
        let (x, y) = (f64::from(x[place]), f64::from(y[place]));
        let difference = (x - y) * scales[place];
        squares[lane] += difference * difference;
        products[lane] += (x * linear_scales[place]) * (y * linear_scales[place]);
    };
    let n_whole = n - n % LANES;
    for start in (0..n_whole).step_by(LANES) {
        (0..LANES).for_each(|lane| add(lane, start + lane));
    }
    (n_whole..n).for_each(|place| add(0, place));
    (squares.iter().sum(), products.iter().sum())
}

/// m(r) and exp(−√3·r).
pub(super) fn matern(r: f64) -> (f64, f64) {
    let root = 3.0_f64.sqrt() * r;
    let decay = libm::exp(-root);
    ((1.0 + root) * decay, decay)
}
