//! The distribution q of the latent variable, in which LU-Gauss and LU-SIVI differ.

use std::fmt;
use std::ops::Range;

use crate::math::nn::{Layout, Lines, NormalSource, Panel};
use crate::{Rng, Shape};

/// A distribution q(z | x) of the latent variable, with its gradients.
///
/// Losses are negative log probabilities, summed with weights; constants are left out.
pub(crate) trait Latent: Clone + fmt::Debug + Send + Sync + 'static {
    /// The policy's settings.
    type Config;

    /// Intermediate results that the backward pass needs.
    type Work: Clone + fmt::Debug + Default + Send + Sync + 'static;

    /// Creates it and allocates its parameters.
    fn new(config: &Self::Config, shape: Shape, layout: &mut Layout) -> Self;

    /// Draws its parameters' initial values.
    fn initialize(&self, parameters: &mut [f32], rng: &mut Rng);

    /// Prepares a minibatch of training; decisions do not need it.
    fn prepare(&self, _parameters: &[f32], _work: &mut Self::Work) {}

    /// Draws z [H, N] for inputs x [C, N]; `z` has that shape.
    fn sample(
        &self,
        parameters: &[f32],
        x: Lines<'_>,
        noise: &mut impl Noise,
        z: &mut Panel,
        work: &mut Self::Work,
    );

    /// Draws many z [H, S] for a single x [C], a plain vector; `z` has that shape.
    fn sample_many(
        &self,
        parameters: &[f32],
        x: Lines<'_>,
        noise: &mut impl Noise,
        z: &mut Panel,
        work: &mut Self::Work,
    );

    /// Computes Σ log q(z | x) for the z just drawn. Adds `weight` times its gradients to the parameters' gradients, as far
    /// as they do not go through z, and to `dz`.
    #[expect(clippy::too_many_arguments, reason = "what a step of training consists of")]
    fn add_log_q(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        x: Lines<'_>,
        noise: &mut impl Noise,
        weight: f32,
        dz: &mut Panel,
        work: &mut Self::Work,
    ) -> f64;

    /// Propagates the gradient of z to the parameters.
    fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        x: Lines<'_>,
        dz: &Panel,
        work: &mut Self::Work,
    );

    /// The outputs of all layers in the last forward pass, by name, in the order of computation.
    fn panels<'a>(&self, work: &'a Self::Work) -> Vec<(String, &'a Panel)>;

    /// An invalid standard deviation of the last forward pass.
    fn bad_std(&self, work: &Self::Work) -> Option<f32>;

    /// The parameter ranges of all layers, by name.
    fn layers(&self) -> Vec<(String, Range<usize>)>;
}

/// The source of a forward pass's random numbers; tests supply known numbers.
pub(crate) trait Noise {
    /// Standard normals for z [H, N].
    fn latent(&mut self, noise: &mut Panel);

    /// Noise of draw 0 of ψ, [C, N], of this standard deviation.
    fn own_draw(&mut self, noise: &mut Panel, std: f32);

    /// Noise of draws 1 to K of ψ for some rows: column (k − 1) · rows + r, of this standard deviation.
    fn extra_draws(&mut self, first_row: usize, n_rows: usize, noise: &mut Panel, std: f32);
}

impl<N: NormalSource> Noise for N {
    fn latent(&mut self, noise: &mut Panel) {
        self.fill_panel(noise, 1.0);
    }

    fn own_draw(&mut self, noise: &mut Panel, std: f32) {
        self.fill_panel(noise, std);
    }

    fn extra_draws(&mut self, _first_row: usize, _n_rows: usize, noise: &mut Panel, std: f32) {
        self.fill_panel(noise, std);
    }
}
