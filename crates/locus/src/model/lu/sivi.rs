//! LU-SIVI: q(z | x) is a mixture of Gaussians; a net maps context and noise to their centers ψ (Eqs. "SIVI", "LUSIVI1" and
//! "LUSIVI2", Algorithm 3).
//!
//! z = ψ⁽⁰⁾ + σ_z·e, and log q is replaced by log (1/(K+1)) Σₖ N(z; ψ⁽ᵏ⁾, σ_z²) over K extra draws. Component 0 has `z − ψ⁽⁰⁾ =
//! σ_z·e` whatever the parameters, so it carries no gradient of its own. The extra draws are processed in tiles of 16 rows,
//! forward and backward together: the 512 · 51 columns of a whole minibatch would not fit into the cache. Row r of draw k is
//! column (k − 1)·16 + r, so that a vector always holds the same 16 rows.

use std::ops::Range;

use super::breakdown::{layers_of, panels_of};
use super::config::LuSiviConfig;
use super::latent::{Latent, Noise};
use super::mixture::MixtureTile;
use super::model::LuConfig;
use crate::math::nn::{
    Activation, InputGradient, LANES, Layout, Lines, LowRank, Mlp, MlpWork, OwnWeights, Panel, SharedInput,
    Sharing, exp_slice, sum,
};
use crate::registry::values::{Switch, sizes};
use crate::{Rng, Shape};

/// ψ = T_φ1([x, ε]), σ_z = exp(factor · T_φ2(x)).
#[derive(Clone, Debug)]
pub(crate) struct Sivi {
    /// The first layer of T_φ1; its product with x is the same for all draws.
    pub(super) first: SharedInput,
    /// The other layers of T_φ1.
    pub(super) rest: Mlp,
    pub(super) scale: Mlp,
    std_factor: f32,
    noise_std: f32,
    n_extra_draws: usize,
    /// Whether training samples the noise in the dimension of the first layer, if the context is wider.
    is_low_rank: bool,
}

/// What a forward pass leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiviWork {
    /// What the first layer makes of x [h, N], and its gradient.
    base: Panel,
    base_gradient: Panel,
    /// ε⁽⁰⁾ [C, N]
    own_noise: Panel,
    own: Draws,
    scale: MlpWork,
    /// 1/σ_z [H, N]
    inverse_std: Panel,
    /// e [H, N]
    latent_noise: Panel,
    /// z [H, N]
    z: Panel,
    /// The gradient of log σ_z as far as it does not go through z [H, N].
    log_std_gradient: Panel,
    /// ε of the extra draws of a tile [C, K·16].
    extra_noise: Panel,
    extra: Draws,
    /// The mixture weight of each extra draw of a tile.
    shares: Vec<[f32; LANES]>,
    /// In training with low-rank noise: what stands in for the noise's weights.
    pub(super) low_rank: Option<LowRank>,
}

impl SiviWork {
    /// How many numbers the noise of a draw has.
    fn noise_len(&self, sivi: &Sivi, n_features: usize) -> usize {
        if self.low_rank.is_some() { sivi.first.n_out() } else { n_features }
    }
}

/// Intermediate results of some draws of ψ.
#[derive(Clone, Debug, Default)]
struct Draws {
    /// The output of the first layer, and the gradient of its sums.
    hidden: Panel,
    hidden_gradient: Panel,
    rest: MlpWork,
}

impl Sivi {
    /// ψ [H, columns] of noise on the base; it is then `draws.rest`'s output.
    fn psi(
        &self,
        parameters: &[f32],
        low_rank: Option<&LowRank>,
        noise: &Panel,
        base: &Panel,
        sharing: Sharing,
        draws: &mut Draws,
    ) {
        draws.hidden.reshape_like(self.first.n_out(), noise.all());
        let weights = match low_rank {
            Some(low_rank) => OwnWeights::Upper(low_rank.weights()),
            None => OwnWeights::Full(&parameters[self.first.own_weights()]),
        };
        self.first.forward(weights, noise.all(), base.all(), sharing, draws.hidden.all_mut());
        self.rest.forward(parameters, draws.hidden.all(), &mut draws.rest);
    }

    /// Adds the gradients of what [`Sivi::psi`] computed, given that of ψ in `draws.rest`.
    #[expect(clippy::too_many_arguments, reason = "what a backward pass consists of")]
    fn psi_backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        low_rank: Option<&mut LowRank>,
        noise: &Panel,
        sharing: Sharing,
        draws: &mut Draws,
        base_gradient: &mut Panel,
    ) {
        let Draws { hidden, hidden_gradient, rest } = draws;
        hidden_gradient.reshape_like(self.first.n_out(), noise.all());
        let to_hidden = InputGradient::BeforeRelu(hidden_gradient.all_mut());
        self.rest.backward(parameters, gradients, hidden.all(), rest, to_hidden);
        let weight_gradient = match low_rank {
            Some(low_rank) => low_rank.gradient_mut(),
            None => &mut gradients[self.first.own_weights()],
        };
        self.first.backward(weight_gradient, noise.all(), hidden_gradient.all(), sharing, base_gradient);
    }
}

impl Latent for Sivi {
    type Config = LuSiviConfig;
    type Work = SiviWork;

    fn new(config: &LuSiviConfig, shape: Shape, layout: &mut Layout) -> Self {
        let latent_dim = config.latent_dim as usize;
        let n_features = shape.n_features;
        let psi = sizes(n_features, &config.psi_layers, latent_dim);
        Self {
            first: SharedInput::new(layout, n_features, n_features, psi[1]),
            rest: Mlp::new(layout, &psi[1..], Activation::Linear),
            scale: Mlp::new(layout, &sizes(n_features, &config.scale_layers, latent_dim), Activation::Linear),
            std_factor: config.resolved().latent_std_factor,
            noise_std: config.noise_std as f32,
            n_extra_draws: config.extra_draws as usize,
            is_low_rank: config.low_rank_noise == Switch::On && n_features > psi[1],
        }
    }

    fn initialize(&self, parameters: &mut [f32], rng: &mut Rng) {
        self.first.initialize(parameters, rng);
        self.rest.initialize(parameters, rng);
        self.scale.initialize(parameters, rng);
    }

    fn prepare(&self, parameters: &[f32], work: &mut SiviWork) {
        if self.is_low_rank {
            let low_rank = work.low_rank.get_or_insert_default();
            low_rank.prepare(&parameters[self.first.own_weights()], self.first.n_out());
        }
    }

    fn sample(
        &self,
        parameters: &[f32],
        x: Lines<'_>,
        noise: &mut impl Noise,
        z: &mut Panel,
        work: &mut SiviWork,
    ) {
        let latent_dim = self.rest.n_out();
        work.base.reshape_like(self.first.n_out(), x);
        self.first.base(parameters, x, work.base.all_mut());
        work.own_noise.reshape_like(work.noise_len(self, x.n_features()), x);
        noise.own_draw(&mut work.own_noise, self.noise_std);
        let SiviWork { low_rank, own_noise, base, own, .. } = work;
        self.psi(parameters, low_rank.as_ref(), own_noise, base, Sharing::ONE_TO_ONE, own);
        self.scale.forward(parameters, x, &mut work.scale);
        for panel in [&mut work.latent_noise, &mut work.inverse_std, &mut work.z] {
            panel.reshape_like(latent_dim, x);
        }
        noise.latent(&mut work.latent_noise);
        let SiviWork { inverse_std, latent_noise, own, scale, .. } = work;
        for (inverse, output) in inverse_std.runs_mut().zip(scale.output().runs()) {
            for (inverse, output) in inverse.iter_mut().zip(output) {
                *inverse = -self.std_factor * output;
            }
            exp_slice(inverse);
        }
        let parts = own.rest.output().runs().zip(inverse_std.runs()).zip(latent_noise.runs());
        for (z, ((psi, inverse), noise)) in z.runs_mut().zip(parts) {
            for (((z, psi), inverse), noise) in z.iter_mut().zip(psi).zip(inverse).zip(noise) {
                *z = psi + noise / inverse;
            }
        }
        work.z.copy_lines(0, z);
    }

    fn sample_many(
        &self,
        parameters: &[f32],
        x: Lines<'_>,
        noise: &mut impl Noise,
        z: &mut Panel,
        work: &mut SiviWork,
    ) {
        work.base.reshape_like(self.first.n_out(), x);
        self.first.base(parameters, x, work.base.all_mut());
        work.own_noise.reshape_like(x.n_features(), z.all());
        noise.own_draw(&mut work.own_noise, self.noise_std);
        let SiviWork { own_noise, base, own, .. } = work;
        own.hidden.reshape_like(self.first.n_out(), z.all());
        self.first.forward_on(parameters, own_noise.all(), base.all(), own.hidden.all_mut());
        self.rest.forward(parameters, own.hidden.all(), &mut own.rest);
        self.scale.forward(parameters, x, &mut work.scale);
        noise.latent(z);
        let parts = work.own.rest.output().all().iter().zip(work.scale.output().all().iter());
        for (h, (psi, output)) in parts.enumerate() {
            let std = libm::expf(self.std_factor * output[0]);
            z.line_mut(h).iter_mut().zip(psi).for_each(|(z, psi)| *z = psi + std * *z);
        }
    }

    fn add_log_q(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        x: Lines<'_>,
        noise: &mut impl Noise,
        weight: f32,
        dz: &mut Panel,
        work: &mut SiviWork,
    ) -> f64 {
        let n = x.n_columns();
        let latent_dim = self.rest.n_out();
        let n_draws = self.n_extra_draws;
        work.base_gradient.reshape_like(self.first.n_out(), x);
        work.base_gradient.fill(0.0);
        work.log_std_gradient.reshape_like(latent_dim, x);
        work.extra_noise.reshape(work.noise_len(self, x.n_features()), n_draws * LANES);
        let outputs: f64 = work.scale.output().runs().map(|output| f64::from(sum(output))).sum();
        let mut log_q = -f64::from(self.std_factor) * outputs - n as f64 * ((n_draws + 1) as f64).ln();
        for first in (0..n).step_by(LANES) {
            let n_rows = LANES.min(n - first);
            noise.extra_draws(first, n_rows, &mut work.extra_noise, self.noise_std);
            let sharing = Sharing { first, period: LANES };
            let SiviWork { low_rank, extra_noise, base, extra, .. } = work;
            self.psi(parameters, low_rank.as_ref(), extra_noise, base, sharing, extra);
            let (psi, psi_gradient) = extra.rest.output_and_gradient();
            let tile = MixtureTile {
                first,
                n_rows,
                psi,
                z: &work.z,
                inverse_std: &work.inverse_std,
                latent_noise: &work.latent_noise,
                psi_gradient,
                dz: &mut *dz,
                log_std_gradient: &mut work.log_std_gradient,
            };
            let log_sums = tile.differentiate(weight, &mut work.shares);
            log_q += log_sums[..n_rows].iter().map(|&sum| f64::from(sum)).sum::<f64>();
            let SiviWork { low_rank, extra_noise, extra, base_gradient, .. } = work;
            let low_rank = low_rank.as_mut();
            self.psi_backward(parameters, gradients, low_rank, extra_noise, sharing, extra, base_gradient);
        }
        // The −Σ log σ of every component.
        work.log_std_gradient.all_mut().iter_mut().flatten().for_each(|gradient| *gradient -= weight);
        log_q
    }

    fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        x: Lines<'_>,
        dz: &Panel,
        work: &mut SiviWork,
    ) {
        let SiviWork {
            base_gradient,
            own_noise,
            own,
            scale,
            inverse_std,
            latent_noise,
            log_std_gradient,
            low_rank,
            ..
        } = work;
        let (_, psi_gradient) = own.rest.output_and_gradient();
        let (_, scale_gradient) = scale.output_and_gradient();
        for h in 0..self.rest.n_out() {
            let dz = dz.line(h);
            psi_gradient.line_mut(h).copy_from_slice(dz);
            let parts =
                dz.iter().zip(inverse_std.line(h)).zip(latent_noise.line(h)).zip(log_std_gradient.line(h));
            for (gradient, (((dz, inverse), noise), direct)) in
                scale_gradient.line_mut(h).iter_mut().zip(parts)
            {
                *gradient = self.std_factor * (dz * noise / inverse + direct);
            }
        }
        psi_gradient.clear_padding();
        scale_gradient.clear_padding();
        let sharing = Sharing::ONE_TO_ONE;
        self.psi_backward(parameters, gradients, low_rank.as_mut(), own_noise, sharing, own, base_gradient);
        if let Some(low_rank) = low_rank {
            let places = self.first.own_weights();
            low_rank.finish(&parameters[places.clone()], &mut gradients[places]);
        }
        base_gradient.clear_padding();
        self.first.backward_base(gradients, x, base_gradient.all());
        self.scale.backward(parameters, gradients, x, scale, InputGradient::None);
    }

    fn panels<'a>(&self, work: &'a SiviWork) -> Vec<(String, &'a Panel)> {
        let mut panels = vec![("ψ layer 1".to_owned(), &work.own.hidden)];
        panels.extend(panels_of("ψ", 2, &work.own.rest));
        panels.extend(panels_of("latent scale", 1, &work.scale));
        panels.push(("extra draws of ψ layer 1".to_owned(), &work.extra.hidden));
        panels.extend(panels_of("extra draws of ψ", 2, &work.extra.rest));
        panels
    }

    fn bad_std(&self, work: &SiviWork) -> Option<f32> {
        work.inverse_std.find_not_positive().map(f32::recip)
    }

    fn layers(&self) -> Vec<(String, Range<usize>)> {
        let mut layers = vec![("ψ layer 1".to_owned(), self.first.weights().start..self.first.bias().end)];
        layers.extend(layers_of("ψ", 2, &self.rest));
        layers.extend(layers_of("latent scale", 1, &self.scale));
        layers
    }
}
