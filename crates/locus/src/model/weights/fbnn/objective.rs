//! The functional evidence bound of a minibatch, and its gradients.
//!
//! S nets are drawn from q; each gives a function, whose values f at D measurement points, N of them observations, are compared with
//! rewards y and with the prior, a process of covariance K. With noise of variance γ² on either side the loss is
//!
//! ```text
//! −(1/N)·Σ_i v_i·E log N(y_i; f_i, σ²)  +  w·KL(q(f) ‖ N(0, K + γ²I))
//! ```
//!
//! v_i, 1 on average, is in proportion to how many equal outcomes observation i stands for.
//!
//! Rewards, and so functions, are those less the mean that the prior has for the action. The gradient of KL in a parameter θ is
//! E[(∇ log q(f) − ∇ log p(f))·∂f/∂θ]: the score of q is estimated, at values with noise; that of p is −(K + γ²I)⁻¹f in the mean over the noise, and
//! that mean is taken (drawn, the noise would be divided by eigenvalues as small as γ² and drown all else). What is reported as the loss lacks
//! the entropy of q, of which only the gradient is known, and the constant that the noise adds to the prior's part.

use multiversion::multiversion;

use super::stein::{SteinWork, estimate_scores};
use crate::math::gp::{CovarianceWork, Kernel, Points, sigmoid, softplus};
use crate::math::matrix;
use crate::math::nn::{
    Activation, BayesMlp, InputGradient, LANES, Layout, Mlp, MlpWork, Normals, Panel, exp_slice,
};

/// A net of Gaussian weights, and as a plain net whose weights are drawn.
#[derive(Clone, Debug)]
pub(super) struct Net {
    pub(super) bayes: BayesMlp,
    drawn: Mlp,
    n_drawn: usize,
    /// Where the parameter of the noise is.
    pub(super) noise: usize,
    pub(super) n_parameters: usize,
    /// Where all of them are.
    pub(super) layout: Layout,
}

/// What is compared, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// S
    pub(super) n_draws: usize,
    /// γ
    pub(super) injected_noise: f64,
    pub(super) eigen_mass: f64,
    /// w
    pub(super) kl_weight: f64,
}

/// Measurement points, and all that is computed from them.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// D points, the N observations first.
    pub(super) points: Points,
    /// [N]: rewards less the mean of their action
    pub(super) targets: Vec<f64>,
    /// v [N]
    pub(super) weights: Vec<f64>,
    /// The contexts of all points, [C, D].
    inputs: Panel,
    /// Standard deviations of the weights of every layer.
    stds: Vec<Vec<f32>>,
    /// The parameters of one drawn net, the noise in them, and their gradients.
    drawn: Vec<f32>,
    noise: Vec<f32>,
    drawn_gradients: Vec<f32>,
    /// What each drawn net computed, and where its noise comes from.
    nets: Vec<(MlpWork, Normals)>,
    /// f, f with noise, and (K + γ²I)⁻¹f: [D, S]
    functions: Vec<f64>,
    pub(super) noisy: Vec<f64>,
    solved: Vec<f64>,
    /// The scores of q, [D, S].
    pub(super) scores: Vec<f64>,
    /// The factor of K + γ²I, [D, D].
    factor: Vec<f64>,
    pub(super) covariances: CovarianceWork,
    stein: SteinWork,
    normals: Vec<f32>,
    pub(super) gradients: Vec<f32>,
}

impl Net {
    /// `sizes[0]` inputs, layers of the other sizes.
    pub(super) fn new(sizes: &[usize]) -> Self {
        let (mut layout, mut drawn_layout) = (Layout::default(), Layout::default());
        let bayes = BayesMlp::new(&mut layout, sizes);
        let drawn = Mlp::new(&mut drawn_layout, sizes, Activation::Linear);
        let noise = layout.reserve(1).start;
        let n_parameters = layout.size();
        Self { bayes, drawn, n_drawn: drawn_layout.size(), noise, n_parameters, layout }
    }

    /// σ
    pub(super) fn noise_std(&self, parameters: &[f32]) -> f64 {
        softplus(f64::from(parameters[self.noise]))
    }

    /// Reads the prior at the points in `work`; how many pivots were held.
    pub(super) fn set_prior(&self, kernel: &Kernel, terms: Terms, work: &mut Work) -> u64 {
        let n_points = work.points.len();
        work.factor.resize(n_points * n_points, 0.0);
        kernel.covariances(&work.points, &mut work.covariances, &mut work.factor, n_points);
        let variance = terms.injected_noise * terms.injected_noise;
        (0..n_points).for_each(|i| work.factor[i * n_points + i] += variance);
        matrix::factor(&mut work.factor, n_points, n_points, variance)
    }

    /// The loss of what is in `work` without the entropy of q, and whether its score could be estimated; adds all gradients to
    /// `work.gradients`. **Samples.** After [`Net::set_prior`].
    pub(super) fn loss(
        &self,
        parameters: &[f32],
        terms: Terms,
        normals: &mut Normals,
        work: &mut Work,
    ) -> (f64, bool) {
        self.draw_functions(parameters, terms, normals, work);
        let loss = self.known_loss(parameters, terms, work);
        let Work { noisy, stein, scores, .. } = &mut *work;
        let is_estimated = estimate_scores(noisy, terms.n_draws, terms.eigen_mass, stein, scores);
        self.backward(parameters, terms, work);
        (loss, is_estimated)
    }

    /// Draws nets and their values at all points, without and with noise.
    pub(super) fn draw_functions(
        &self,
        parameters: &[f32],
        terms: Terms,
        normals: &mut Normals,
        work: &mut Work,
    ) {
        self.set_inputs(work);
        self.set_stds(parameters, work);
        let (n_draws, n_points) = (terms.n_draws, work.points.len());
        work.functions.resize(n_points * n_draws, 0.0);
        work.drawn.resize(self.n_drawn, 0.0);
        work.nets.resize_with(n_draws, || (MlpWork::default(), normals.clone()));
        for draw in 0..n_draws {
            work.nets[draw].1 = normals.clone();
            self.draw_net(parameters, normals, &work.stds, &mut work.noise, &mut work.drawn);
            let Work { inputs, drawn, nets, functions, points, .. } = &mut *work;
            let net = &mut nets[draw].0;
            self.drawn.forward(drawn, inputs.all(), net);
            let output = net.output();
            for (point, &action) in points.actions.iter().enumerate() {
                functions[point * n_draws + draw] = f64::from(output.line(action)[point]);
            }
        }
        work.normals.resize(n_points * n_draws, 0.0);
        normals.fill(&mut work.normals, terms.injected_noise as f32);
        let values = work.functions.iter().zip(&work.normals);
        work.noisy.clear();
        work.noisy.extend(values.map(|(value, &noise)| value + f64::from(noise)));
    }

    /// The loss but for the entropy of q; leaves (K + γ²I)⁻¹f.
    pub(super) fn known_loss(&self, parameters: &[f32], terms: Terms, work: &mut Work) -> f64 {
        let (n_draws, n_points, n_rows) = (terms.n_draws, work.points.len(), work.targets.len());
        let Work { functions, solved, factor, targets, weights, .. } = work;
        solved.clear();
        solved.extend_from_slice(functions);
        matrix::solve_transposed(factor, n_points, n_points, solved, n_draws);
        matrix::solve(factor, n_points, n_points, solved, n_draws);
        let log_determinant: f64 = (0..n_points).map(|i| 2.0 * libm::log(factor[i * n_points + i])).sum();
        let log_two_pi = libm::log(2.0 * std::f64::consts::PI);
        let square = matrix::dot(functions, solved) / n_draws as f64;
        let cross_entropy = 0.5 * (square + log_determinant + n_points as f64 * log_two_pi);

        let std = self.noise_std(parameters);
        let squares = squared_errors(functions, targets, weights, n_draws);
        let error = squares / (n_draws as f64 * n_rows as f64 * std * std);
        let weight = mean(weights);
        0.5 * (error + weight * log_two_pi) + weight * libm::log(std) + terms.kl_weight * cross_entropy
    }

    /// Adds the gradients, given (K + γ²I)⁻¹f and the scores of q.
    fn backward(&self, parameters: &[f32], terms: Terms, work: &mut Work) {
        let (n_draws, n_rows) = (terms.n_draws, work.targets.len());
        let std = self.noise_std(parameters);
        let per_draw = 1.0 / n_draws as f64;
        let error_weight = per_draw / (n_rows as f64 * std * std);
        let kl_weight = terms.kl_weight * per_draw;
        let squares = squared_errors(&work.functions, &work.targets, &work.weights, n_draws);
        let slope = mean(&work.weights) / std - squares * error_weight / std;
        work.gradients[self.noise] += (slope * sigmoid(f64::from(parameters[self.noise]))) as f32;

        // The gradient of the loss in every value of every function, in the place of the values.
        let values = work.functions.chunks_exact_mut(n_draws).zip(work.solved.chunks_exact(n_draws));
        for (point, ((values, solved), scores)) in values.zip(work.scores.chunks_exact(n_draws)).enumerate() {
            let target = work.targets.get(point).copied().zip(work.weights.get(point));
            for ((value, solved), score) in values.iter_mut().zip(solved).zip(scores) {
                let error =
                    target.map_or(0.0, |(target, weight)| weight * (error_weight * (*value - target)));
                *value = error + kl_weight * (score + solved);
            }
        }
        work.drawn_gradients.resize(self.n_drawn, 0.0);
        for draw in 0..n_draws {
            let mut normals = work.nets[draw].1.clone();
            self.draw_net(parameters, &mut normals, &work.stds, &mut work.noise, &mut work.drawn);
            let Work {
                inputs, drawn, drawn_gradients, nets, functions, points, noise, stds, gradients, ..
            } = &mut *work;
            let net = &mut nets[draw].0;
            let (_, output_gradients) = net.output_and_gradient();
            output_gradients.fill(0.0);
            for (point, &action) in points.actions.iter().enumerate() {
                output_gradients.line_mut(action)[point] = functions[point * n_draws + draw] as f32;
            }
            drawn_gradients.fill(0.0);
            self.drawn.backward(drawn, drawn_gradients, inputs.all(), net, InputGradient::None);
            let mut noise = noise.as_slice();
            for ((layer, bayes), stds) in self.drawn.layers().iter().zip(self.bayes.layers()).zip(&*stds) {
                let drawn_gradients = &drawn_gradients[..];
                let weights = &drawn_gradients[layer.weights()];
                let (own, others) = noise.split_at(weights.len());
                noise = others;
                add(weights, &mut gradients[bayes.means()]);
                add_products(weights, own, stds, &mut gradients[bayes.log_stds()]);
                add(&drawn_gradients[layer.bias()], &mut gradients[bayes.bias()]);
            }
        }
    }

    fn set_inputs(&self, work: &mut Work) {
        let n_features = self.drawn.n_in();
        work.inputs.reshape_padded(n_features, work.points.len());
        for (lot, contexts) in work.points.contexts.chunks(LANES * n_features).enumerate() {
            let mut rows: [&[f32]; LANES] = [&[]; LANES];
            let n_rows = contexts.len() / n_features;
            rows.iter_mut().zip(contexts.chunks_exact(n_features)).for_each(|(row, context)| *row = context);
            work.inputs.put_rows(lot * LANES, &rows[..n_rows]);
        }
    }

    fn set_stds(&self, parameters: &[f32], work: &mut Work) {
        work.stds.resize_with(self.bayes.layers().len(), Vec::new);
        for (layer, stds) in self.bayes.layers().iter().zip(&mut work.stds) {
            stds.clear();
            stds.extend_from_slice(&parameters[layer.log_stds()]);
            exp_slice(stds);
        }
    }

    /// Draws all weights: `noise` gets the standard normals in them, layer by layer.
    fn draw_net(
        &self,
        parameters: &[f32],
        normals: &mut Normals,
        stds: &[Vec<f32>],
        noise: &mut Vec<f32>,
        drawn: &mut [f32],
    ) {
        noise.resize(stds.iter().map(Vec::len).sum(), 0.0);
        normals.fill(noise, 1.0);
        let mut noise = noise.as_slice();
        for ((layer, bayes), stds) in self.drawn.layers().iter().zip(self.bayes.layers()).zip(stds) {
            let (own, others) = noise.split_at(stds.len());
            noise = others;
            draw_weights(&parameters[bayes.means()], stds, own, &mut drawn[layer.weights()]);
            drawn[layer.bias()].copy_from_slice(&parameters[bayes.bias()]);
        }
    }

    /// The outputs of the layers of all drawn nets, by name.
    pub(super) fn outputs<'a>(&self, work: &'a Work) -> impl Iterator<Item = (String, &'a Panel)> {
        work.nets.iter().flat_map(|(net, _)| {
            net.outputs()
                .iter()
                .enumerate()
                .map(|(layer, panel)| (format!("layer {} of a drawn net", layer + 1), panel))
        })
    }
}

/// Of all functions at the observations, weighed.
fn squared_errors(functions: &[f64], targets: &[f64], weights: &[f64], n_draws: usize) -> f64 {
    let rows = functions.chunks_exact(n_draws).zip(targets).zip(weights);
    rows.map(|((values, target), weight)| {
        weight * values.iter().map(|value| (value - target) * (value - target)).sum::<f64>()
    })
    .sum()
}

/// 1 where there are no weights but 1.
fn mean(weights: &[f64]) -> f64 {
    weights.iter().sum::<f64>() / weights.len() as f64
}

#[multiversion(targets = "simd")]
fn draw_weights(means: &[f32], stds: &[f32], noise: &[f32], weights: &mut [f32]) {
    for (((weight, mean), std), noise) in weights.iter_mut().zip(means).zip(stds).zip(noise) {
        *weight = mean + std * noise;
    }
}

#[multiversion(targets = "simd")]
fn add(values: &[f32], places: &mut [f32]) {
    for (place, value) in places.iter_mut().zip(values) {
        *place += value;
    }
}

#[multiversion(targets = "simd")]
fn add_products(x: &[f32], y: &[f32], z: &[f32], places: &mut [f32]) {
    for (((place, x), y), z) in places.iter_mut().zip(x).zip(y).zip(z) {
        *place += x * y * z;
    }
}
