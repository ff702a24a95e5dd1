//! A dense layer whose weights are independent Gaussians, forward and backward.
//!
//! For one column x, a draw of all weights gives sums that are independent Gaussians, since each has weights of its own:
//! `Wᵀx + b` has mean `Mᵀx + b` and variance `Vᵀx²`, with M the means and V the variances of the weights. So the sums are drawn
//! rather than the weights (local reparameterization; Kingma, Salimans and Welling, 2015): one normal for each sum instead of
//! one for each weight, and every column is drawn for independently.

use std::ops::Range;

use multiversion::multiversion;
use pulp::Simd;

use super::dense::Activation;
use super::panel::{LANES, Lines, LinesMut, Panel};
use super::product::{
    Epilogue, Store, add_outer, masked, product, product_backward, product_of_one, relu, vector,
};
use super::sparse_product::SparseWork;
use super::sparse_rows::Input;
use super::{Layout, NormalSource, exp_slice, sum};
use crate::Rng;

/// `y = activation(Mᵀx + b + √(Vᵀx² + floor) · e)`: x [in, N], M and V [in, out], y [out, N], e standard normals [out, N].
///
/// V = exp(2s), where s are the logarithms of the weights' standard deviations. The biases b are points.
#[derive(Clone, Debug)]
pub struct BayesDense {
    means: Range<usize>,
    log_stds: Range<usize>,
    bias: Range<usize>,
    n_in: usize,
    n_out: usize,
    activation: Activation,
}

/// The initial distribution of a layer's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BayesStart {
    /// Standard deviation of the means and the biases, around 0.
    pub mean_std: f64,
    /// Mean of the logarithms of the weights' standard deviations.
    pub log_std: f64,
    /// Standard deviation of these logarithms.
    pub log_std_spread: f64,
}

/// Intermediate results for the backward pass.
#[derive(Clone, Debug, Default)]
pub struct BayesDenseWork {
    /// x² [in, N], unless x is sparse.
    squares: Panel,
    /// Room for the products with an x that is.
    sparse: SparseWork,
    /// e [out, N]
    noise: Panel,
    /// √(Vᵀx² + floor) [out, N]
    pub(super) std: Panel,
    /// y [out, N]
    pub(super) output: Panel,
    /// The gradient of the sums [out, N].
    pub(super) gradient: Panel,
    /// The gradient of their variances [out, N].
    variance_gradient: Panel,
    /// The gradient of V.
    weight_variance_gradient: Vec<f32>,
}

/// Adds the floor and takes the root.
struct Root {
    floor: f32,
}

/// Adds bias and noise.
struct Noisy<'a> {
    bias: &'a [f32],
    std: Lines<'a>,
    noise: Lines<'a>,
}

/// Adds bias and noise, and cuts off below 0.
struct NoisyRelu<'a>(Noisy<'a>);

/// Adds 2x times what is there, the way back through the variances, and lets through what belongs to positive x.
struct JoinBeforeRelu<'a>(Lines<'a>);

impl Epilogue for Root {
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, _line: usize, _column: usize, sums: S::f32s, place: &mut S::f32s) {
        *place = simd.sqrt_f32s(simd.add_f32s(sums, simd.splat_f32s(self.floor)));
    }
}

impl Epilogue for Noisy<'_> {
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, line: usize, column: usize, sums: S::f32s, place: &mut S::f32s) {
        let mean = simd.add_f32s(sums, simd.splat_f32s(self.bias[line]));
        let std = vector::<S>(self.std, line, column);
        *place = simd.mul_add_e_f32s(std, vector::<S>(self.noise, line, column), mean);
    }
}

impl Epilogue for NoisyRelu<'_> {
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, line: usize, column: usize, sums: S::f32s, place: &mut S::f32s) {
        self.0.finish(simd, line, column, sums, place);
        *place = relu(simd, *place);
    }
}

impl Epilogue for JoinBeforeRelu<'_> {
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, line: usize, column: usize, sums: S::f32s, place: &mut S::f32s) {
        let x = vector::<S>(self.0, line, column);
        let joined = simd.mul_add_e_f32s(simd.add_f32s(x, x), *place, sums);
        *place = masked(simd, self.0, line, column, joined);
    }
}

impl BayesDense {
    /// A layer with places of its own.
    pub fn new(layout: &mut Layout, n_in: usize, n_out: usize, activation: Activation) -> Self {
        let means = layout.reserve_rows(n_in, n_out);
        let log_stds = layout.reserve_rows(n_in, n_out);
        let bias = layout.reserve(n_out);
        Self { means, log_stds, bias, n_in, n_out, activation }
    }

    /// in
    pub fn n_in(&self) -> usize {
        self.n_in
    }

    /// out
    #[cfg(test)]
    pub fn n_out(&self) -> usize {
        self.n_out
    }

    /// Where the means of the weights are, `[in, out]`.
    pub fn means(&self) -> Range<usize> {
        self.means.clone()
    }

    /// Where the logarithms of the weights' standard deviations are, `[in, out]`.
    pub fn log_stds(&self) -> Range<usize> {
        self.log_stds.clone()
    }

    /// Where the biases are.
    pub fn bias(&self) -> Range<usize> {
        self.bias.clone()
    }

    /// Draws every parameter.
    pub fn initialize(&self, parameters: &mut [f32], start: BayesStart, rng: &mut Rng) {
        let mut fill = |places: &Range<usize>, mean: f64, std: f64| {
            for parameter in &mut parameters[places.clone()] {
                *parameter = (mean + std * rng.normal()) as f32;
            }
        };
        fill(&self.means, 0.0, start.mean_std);
        fill(&self.log_stds, start.log_std, start.log_std_spread);
        fill(&self.bias, 0.0, start.mean_std);
    }

    /// V, which the other functions ask for, since many decisions can share it.
    pub fn variances(&self, parameters: &[f32], variances: &mut Vec<f32>) {
        variances.clear();
        variances.extend(parameters[self.log_stds.clone()].iter().map(|log_std| 2.0 * log_std));
        exp_slice(variances);
    }

    /// Draws y for every column of x. **Samples.**
    pub fn forward(
        &self,
        parameters: &[f32],
        variances: &[f32],
        x: Input<'_>,
        floor: f32,
        normals: &mut impl NormalSource,
        work: &mut BayesDenseWork,
    ) {
        let BayesDenseWork { squares, sparse, noise, std, output, .. } = work;
        [&mut *noise, std, output].into_iter().for_each(|panel| x.reshape(panel, self.n_out));
        normals.fill_panel(noise, 1.0);
        let (means, bias) = (&parameters[self.means.clone()], &parameters[self.bias.clone()]);
        match x {
            Input::Dense(x) => {
                squares.reshape_like(self.n_in, x);
                for (squares, x) in squares.all_mut().iter_mut().zip(x.iter()) {
                    square(x, squares);
                }
                if x.is_vector() {
                    product_of_one(variances, squares.all().data, std.all_mut().data);
                    product_of_one(means, x.data, output.all_mut().data);
                    return self.finish_one(bias, floor, work);
                }
                product(variances, squares.all(), &mut std.all_mut(), &Root { floor });
            }
            Input::Sparse(x, rows) => {
                sparse.product::<true>(variances, (x, rows), &mut std.all_mut(), &Root { floor });
            }
        }
        let noisy = Noisy { bias, std: std.all(), noise: noise.all() };
        let y = &mut output.all_mut();
        match (x, self.activation) {
            (Input::Dense(x), Activation::Linear) => product(means, x, y, &noisy),
            (Input::Dense(x), Activation::Relu) => product(means, x, y, &NoisyRelu(noisy)),
            (Input::Sparse(x, rows), Activation::Linear) => {
                sparse.product::<false>(means, (x, rows), y, &noisy)
            }
            (Input::Sparse(x, rows), Activation::Relu) => {
                sparse.product::<false>(means, (x, rows), y, &NoisyRelu(noisy));
            }
        }
    }

    /// Makes the output of a single column from its sums and their variances.
    fn finish_one(&self, bias: &[f32], floor: f32, work: &mut BayesDenseWork) {
        let BayesDenseWork { noise, std, output, .. } = work;
        let parts = std.all_mut().data.iter_mut().zip(noise.all().data).zip(bias);
        for (y, ((std, noise), bias)) in output.all_mut().data.iter_mut().zip(parts) {
            *std = (*std + floor).sqrt();
            *y += bias + *std * noise;
            if self.activation == Activation::Relu && *y < 0.0 {
                *y = 0.0;
            }
        }
    }

    /// Adds the layer's gradients, given that of its sums in `work`: before the activation. If the input came out of a ReLU, its
    /// gradient goes to `before_relu`, before that ReLU.
    pub(super) fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        variances: &[f32],
        x: Input<'_>,
        work: &mut BayesDenseWork,
        before_relu: Option<LinesMut<'_>>,
    ) {
        let BayesDenseWork {
            squares,
            sparse,
            noise,
            std,
            gradient,
            variance_gradient,
            weight_variance_gradient,
            ..
        } = work;
        let dy = gradient.all();
        for (gradient, line) in gradients[self.bias.clone()].iter_mut().zip(dy.iter()) {
            *gradient += sum(line);
        }
        x.reshape(variance_gradient, self.n_out);
        for out in 0..self.n_out {
            let parts = (gradient.line(out), noise.line(out), std.line(out));
            differentiate_root(parts, variance_gradient.line_mut(out));
        }
        variance_gradient.clear_padding();
        weight_variance_gradient.clear();
        weight_variance_gradient.resize(self.log_stds.len(), 0.0);
        let (dv, mean_gradients) = (variance_gradient.all(), &mut gradients[self.means.clone()]);
        match x {
            Input::Dense(x) => {
                add_outer(x, dy, mean_gradients);
                add_outer(squares.all(), dv, weight_variance_gradient);
            }
            Input::Sparse(x, rows) => {
                sparse.sort((x, rows));
                sparse.add_outer::<false>(x, dy, mean_gradients);
                sparse.add_outer::<true>(x, dv, weight_variance_gradient);
            }
        }
        differentiate_exp(variances, weight_variance_gradient, &mut gradients[self.log_stds.clone()]);
        if let (Some(mut dx), Input::Dense(x)) = (before_relu, x) {
            product_backward(variances, dv, &mut dx, &Store);
            product_backward(&parameters[self.means.clone()], dy, &mut dx, &JoinBeforeRelu(x));
        }
    }

    /// KL(q ‖ p) of the weights, where p is N(0, prior_variance) for each; adds `weight` times its gradients.
    ///
    /// Σ log(σ_p/σ) + (σ² + μ²)/(2σ_p²) − ½.
    pub fn add_kl(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        variances: &[f32],
        prior_variance: f64,
        weight: f32,
    ) -> f64 {
        let precision = (1.0 / prior_variance) as f32;
        let means = &parameters[self.means.clone()];
        let log_stds = &parameters[self.log_stds.clone()];
        // The means of a layer come before its deviations, so that both gradients can be written at once.
        let (before, after) = gradients.split_at_mut(self.log_stds.start);
        let mean_gradients = &mut before[self.means.clone()];
        let log_std_gradients = &mut after[..self.log_stds.len()];
        let mut total = 0.0;
        for start in (0..means.len()).step_by(KL_BLOCK) {
            let places = start..means.len().min(start + KL_BLOCK);
            let weights = (&means[places.clone()], &log_stds[places.clone()], &variances[places.clone()]);
            let gradients = (&mut mean_gradients[places.clone()], &mut log_std_gradients[places]);
            total += f64::from(add_kl_of_block(weights, precision, weight, gradients));
        }
        total + self.means.len() as f64 * (0.5 * libm::log(prior_variance) - 0.5)
    }
}

/// `dv = dy · e / (2 std)`.
#[multiversion(targets = "simd")]
fn differentiate_root((dy, noise, std): (&[f32], &[f32], &[f32]), variance_gradient: &mut [f32]) {
    for (((place, dy), noise), std) in variance_gradient.iter_mut().zip(dy).zip(noise).zip(std) {
        *place = 0.5 * dy * noise / std;
    }
}

/// Adds `ds = 2V · dV`.
#[multiversion(targets = "simd")]
fn differentiate_exp(variances: &[f32], variance_gradients: &[f32], gradients: &mut [f32]) {
    for ((place, variance), gradient) in gradients.iter_mut().zip(variances).zip(variance_gradients) {
        *place += 2.0 * variance * gradient;
    }
}

/// Weights whose KL terms are summed in single precision.
const KL_BLOCK: usize = 64 * LANES;

/// `Σ (V + μ²)/(2σ_p²) − s`, the part of the KL term that has gradients; adds these, weighted.
#[multiversion(targets = "simd")]
fn add_kl_of_block(
    (means, log_stds, variances): (&[f32], &[f32], &[f32]),
    precision: f32,
    weight: f32,
    (mean_gradients, log_std_gradients): (&mut [f32], &mut [f32]),
) -> f32 {
    let factor = weight * precision;
    let add =
        |mean: f32, log_std: f32, variance: f32, mean_gradient: &mut f32, log_std_gradient: &mut f32| {
            *mean_gradient += factor * mean;
            *log_std_gradient = (*log_std_gradient + factor * variance) - weight;
            0.5 * precision * (variance + mean * mean) - log_std
        };
    // Arrays, so that the compiler sees that all lists are equally long, and makes vectors of them.
    let (m, m_rest) = means.as_chunks::<LANES>();
    let (s, s_rest) = log_stds.as_chunks::<LANES>();
    let (v, v_rest) = variances.as_chunks::<LANES>();
    let (dm, dm_rest) = mean_gradients.as_chunks_mut::<LANES>();
    let (ds, ds_rest) = log_std_gradients.as_chunks_mut::<LANES>();
    let mut lanes = [0.0; LANES];
    for ((((m, s), v), dm), ds) in m.iter().zip(s).zip(v).zip(dm).zip(ds) {
        for lane in 0..LANES {
            lanes[lane] += add(m[lane], s[lane], v[lane], &mut dm[lane], &mut ds[lane]);
        }
    }
    let mut total: f32 = lanes.iter().sum();
    for ((((m, s), v), dm), ds) in m_rest.iter().zip(s_rest).zip(v_rest).zip(dm_rest).zip(ds_rest) {
        total += add(*m, *s, *v, dm, ds);
    }
    total
}

#[multiversion(targets = "simd")]
fn square(x: &[f32], squares: &mut [f32]) {
    squares.iter_mut().zip(x).for_each(|(square, x)| *square = x * x);
}
