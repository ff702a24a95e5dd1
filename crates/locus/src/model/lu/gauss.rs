//! LU-Gauss: q(z | x) is a Gaussian whose mean and deviation a net computes (Eq. "LU-Gauss", Algorithm 2).

use std::ops::Range;

use super::breakdown::{layers_of, panels_of};
use super::config::LuGaussConfig;
use super::latent::{Latent, Noise};
use super::model::LuConfig;
use crate::math::nn::{
    Activation, InputGradient, Layout, Lines, Mlp, MlpWork, Panel, exp_slice, sum, sum_of_squares,
};
use crate::registry::values::sizes;
use crate::{Rng, Shape};

/// μ_z = T_φ1(h), σ_z = exp(factor · T_φ2(h)), h = T_φ0(x).
#[derive(Clone, Debug)]
pub(crate) struct Gauss {
    pub(super) encoder: Mlp,
    pub(super) mean: Mlp,
    pub(super) scale: Mlp,
    std_factor: f32,
}

/// What a forward pass leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct GaussWork {
    encoder: MlpWork,
    mean: MlpWork,
    scale: MlpWork,
    /// σ_z [H, N]
    std: Panel,
    /// The standard normals that z was made of [H, N].
    noise: Panel,
    /// Weight of Σ log q in the loss.
    weight: f32,
}

impl Gauss {
    /// Computes μ_z and σ_z of inputs x.
    fn encode(&self, parameters: &[f32], x: Lines<'_>, work: &mut GaussWork) {
        self.encoder.forward(parameters, x, &mut work.encoder);
        let encoded = work.encoder.output().all();
        self.mean.forward(parameters, encoded, &mut work.mean);
        self.scale.forward(parameters, encoded, &mut work.scale);
        work.std.reshape_like(self.mean.n_out(), x);
        for (std, output) in work.std.runs_mut().zip(work.scale.output().runs()) {
            for (std, output) in std.iter_mut().zip(output) {
                *std = self.std_factor * output;
            }
            exp_slice(std);
        }
    }
}

impl Latent for Gauss {
    type Config = LuGaussConfig;
    type Work = GaussWork;

    fn new(config: &LuGaussConfig, shape: Shape, layout: &mut Layout) -> Self {
        let latent_dim = config.latent_dim as usize;
        let encoder_sizes: Vec<usize> =
            [shape.n_features].into_iter().chain(config.encoder_layers.0.iter().copied()).collect();
        let n_encoded = encoder_sizes[encoder_sizes.len() - 1];
        let head = sizes(n_encoded, &config.head_layers, latent_dim);
        Self {
            encoder: Mlp::new(layout, &encoder_sizes, Activation::Relu),
            mean: Mlp::new(layout, &head, Activation::Linear),
            scale: Mlp::new(layout, &head, Activation::Linear),
            std_factor: config.resolved().latent_std_factor,
        }
    }

    fn initialize(&self, parameters: &mut [f32], rng: &mut Rng) {
        [&self.encoder, &self.mean, &self.scale].iter().for_each(|net| net.initialize(parameters, rng));
    }

    fn sample(
        &self,
        parameters: &[f32],
        x: Lines<'_>,
        noise: &mut impl Noise,
        z: &mut Panel,
        work: &mut GaussWork,
    ) {
        self.encode(parameters, x, work);
        work.noise.reshape_like(self.mean.n_out(), x);
        noise.latent(&mut work.noise);
        let GaussWork { std, noise, mean, .. } = work;
        let parts = mean.output().runs().zip(std.runs()).zip(noise.runs());
        for (z, ((mean, std), noise)) in z.runs_mut().zip(parts) {
            for (((z, mean), std), noise) in z.iter_mut().zip(mean).zip(std).zip(noise) {
                *z = mean + std * noise;
            }
        }
    }

    fn sample_many(
        &self,
        parameters: &[f32],
        x: Lines<'_>,
        noise: &mut impl Noise,
        z: &mut Panel,
        work: &mut GaussWork,
    ) {
        self.encode(parameters, x, work);
        noise.latent(z);
        let GaussWork { std, mean, .. } = work;
        for (h, (mean, std)) in mean.output().all().iter().zip(std.all().iter()).enumerate() {
            let (mean, std) = (mean[0], std[0]);
            z.line_mut(h).iter_mut().for_each(|z| *z = mean + std * *z);
        }
    }

    /// log q = −½Σe² − Σ log σ: given e, only the second part has a gradient.
    fn add_log_q(
        &self,
        _parameters: &[f32],
        _gradients: &mut [f32],
        _x: Lines<'_>,
        _noise: &mut impl Noise,
        weight: f32,
        _dz: &mut Panel,
        work: &mut GaussWork,
    ) -> f64 {
        work.weight = weight;
        let squares: f64 = work.noise.runs().map(|e| f64::from(sum_of_squares(e))).sum();
        let outputs: f64 = work.scale.output().runs().map(|output| f64::from(sum(output))).sum();
        -0.5 * squares - f64::from(self.std_factor) * outputs
    }

    fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        x: Lines<'_>,
        dz: &Panel,
        work: &mut GaussWork,
    ) {
        let GaussWork { encoder, mean, scale, std, noise, weight } = work;
        let (_, mean_gradient) = mean.output_and_gradient();
        let (_, scale_gradient) = scale.output_and_gradient();
        for h in 0..self.mean.n_out() {
            let dz = dz.line(h);
            mean_gradient.line_mut(h).copy_from_slice(dz);
            let parts = dz.iter().zip(std.line(h)).zip(noise.line(h));
            for (gradient, ((dz, std), noise)) in scale_gradient.line_mut(h).iter_mut().zip(parts) {
                *gradient = self.std_factor * (dz * std * noise - *weight);
            }
        }
        mean_gradient.clear_padding();
        scale_gradient.clear_padding();
        let (encoded, encoded_gradient) = encoder.output_and_gradient();
        let first = InputGradient::BeforeRelu(encoded_gradient.all_mut());
        self.mean.backward(parameters, gradients, encoded.all(), mean, first);
        let second = InputGradient::AddBeforeRelu(encoded_gradient.all_mut());
        self.scale.backward(parameters, gradients, encoded.all(), scale, second);
        self.encoder.backward(parameters, gradients, x, encoder, InputGradient::None);
    }

    fn panels<'a>(&self, work: &'a GaussWork) -> Vec<(String, &'a Panel)> {
        let mut panels = panels_of("encoder", 1, &work.encoder);
        panels.extend(panels_of("latent mean", 1, &work.mean));
        panels.extend(panels_of("latent scale", 1, &work.scale));
        panels
    }

    /// Nothing is divided by σ, and log σ is the net's output itself. So a σ that rounds to 0 is as sound as any: z is then μ.
    fn bad_std(&self, work: &GaussWork) -> Option<f32> {
        work.std.find_non_finite()
    }

    fn layers(&self) -> Vec<(String, Range<usize>)> {
        let mut layers = layers_of("encoder", 1, &self.encoder);
        layers.extend(layers_of("latent mean", 1, &self.mean));
        layers.extend(layers_of("latent scale", 1, &self.scale));
        layers
    }
}
