//! The mixture that approximates q(z | x): its logarithm and its gradients, for the 16 rows of a tile.
//!
//! The loops over draws use explicit vector types, as the products do: with arrays the compiler generates scattered stores here.

use multiversion::multiversion;
use pulp::{Arch, Simd, WithSimd};

use crate::math::nn::{LANES, Panel, exp_slice};

/// Mixture weights below this are set to 0. That changes no sum and avoids subnormal numbers.
const NEGLIGIBLE: f32 = 1e-18;

/// What a number is for each row of a tile.
type Rows = [f32; LANES];

/// The rows from `first` on, K extra draws of each, and where the gradients go.
pub(super) struct MixtureTile<'a> {
    pub(super) first: usize,
    pub(super) n_rows: usize,
    /// ψ [H, K·16]: row r of draw k stands in column (k − 1)·16 + r.
    pub(super) psi: &'a Panel,
    /// [H, N]
    pub(super) z: &'a Panel,
    /// 1/σ_z [H, N]
    pub(super) inverse_std: &'a Panel,
    /// e [H, N]
    pub(super) latent_noise: &'a Panel,
    /// Stored [H, K·16].
    pub(super) psi_gradient: &'a mut Panel,
    /// Added to [H, N].
    pub(super) dz: &'a mut Panel,
    /// That of log σ for fixed z, stored [H, N].
    pub(super) log_std_gradient: &'a mut Panel,
}

impl MixtureTile<'_> {
    /// log Σₖ exp(−½‖(z − ψ⁽ᵏ⁾)/σ‖²) of every row, k from 0; the gradients are those of `weight` times that.
    ///
    /// `shares` is a buffer of one number per row and draw.
    pub(super) fn differentiate(mut self, weight: f32, shares: &mut Vec<Rows>) -> Rows {
        shares.resize(self.psi.n_columns() / LANES, [0.0; LANES]);
        let own = Arch::new().dispatch(SquaredDistances { tile: &self, squares: shares });
        let log_sums = find_shares(weight, self.n_rows, own, shares);
        Arch::new().dispatch(Gradients { tile: &mut self, shares });
        log_sums
    }
}

/// ‖(z − ψ⁽ᵏ⁾)/σ‖² of the extra draws, into `squares`; gives that of component 0, which is ‖e‖² whatever the parameters.
struct SquaredDistances<'a, 'b> {
    tile: &'a MixtureTile<'b>,
    squares: &'a mut [Rows],
}

/// Draws whose sums are kept in registers.
const GROUP: usize = 10;

impl WithSimd for SquaredDistances<'_, '_> {
    type Output = Rows;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Rows {
        let n_draws = self.squares.len();
        let mut own = [0.0; LANES];
        for part in 0..LANES / S::F32_LANES {
            let mut draw = 0;
            while draw + GROUP <= n_draws {
                self.group::<S, GROUP>(simd, part, draw);
                draw += GROUP;
            }
            while draw < n_draws {
                self.group::<S, 1>(simd, part, draw);
                draw += 1;
            }
            let own = &mut S::as_mut_simd_f32s(&mut own).0[part];
            for h in 0..self.tile.psi.n_features() {
                let noise = S::as_simd_f32s(self.tile.latent_noise.lanes(h, self.tile.first)).0[part];
                *own = simd.mul_add_e_f32s(noise, noise, *own);
            }
        }
        own
    }
}

impl SquaredDistances<'_, '_> {
    /// G draws from `draw` on, for one vector of the rows.
    #[inline(always)]
    fn group<S: Simd, const G: usize>(&mut self, simd: S, part: usize, draw: usize) {
        let MixtureTile { psi, z, inverse_std, first, .. } = self.tile;
        let parts = LANES / S::F32_LANES;
        let mut squares = [simd.splat_f32s(0.0); G];
        for h in 0..psi.n_features() {
            let z = S::as_simd_f32s(z.lanes(h, *first)).0[part];
            let inverse = S::as_simd_f32s(inverse_std.lanes(h, *first)).0[part];
            let psi = &S::as_simd_f32s(psi.line(h)).0[draw * parts..(draw + G) * parts];
            for g in 0..G {
                let deviation = simd.mul_f32s(simd.sub_f32s(z, psi[g * parts + part]), inverse);
                squares[g] = simd.mul_add_e_f32s(deviation, deviation, squares[g]);
            }
        }
        for (rows, squares) in self.squares[draw..draw + G].iter_mut().zip(squares) {
            S::as_mut_simd_f32s(rows).0[part] = squares;
        }
    }
}

/// Makes the extra draws' shares of the mixture, times `weight`, out of squared distances; rows that are padding have none. Gives the
/// logarithms of the sums. Component 0 needs no share: it carries no gradient of its own.
#[multiversion(targets = "simd")]
fn find_shares(weight: f32, n_rows: usize, own: Rows, squares: &mut [Rows]) -> Rows {
    let mut least = own;
    for squares in &*squares {
        for (least, square) in least.iter_mut().zip(squares) {
            *least = if *square < *least { *square } else { *least };
        }
    }
    let mut sums: Rows = std::array::from_fn(|row| -0.5 * (own[row] - least[row]));
    exp_slice(&mut sums);
    for squares in &mut *squares {
        for (square, least) in squares.iter_mut().zip(&least) {
            *square = -0.5 * (*square - least);
        }
    }
    exp_slice(squares.as_flattened_mut());
    for weights in &mut *squares {
        for (weight, sum) in weights.iter_mut().zip(&mut sums) {
            *weight = if *weight < NEGLIGIBLE { 0.0 } else { *weight };
            *sum += *weight;
        }
    }
    let scale: Rows = std::array::from_fn(|row| if row < n_rows { weight / sums[row] } else { 0.0 });
    for weights in squares {
        for (row, weight) in weights.iter_mut().enumerate() {
            *weight = if row < n_rows { *weight * scale[row] } else { 0.0 };
        }
    }
    std::array::from_fn(|row| -0.5 * least[row] + libm::logf(sums[row]))
}

/// The gradients, given the draws' shares of the mixture.
struct Gradients<'a, 'b> {
    tile: &'a mut MixtureTile<'b>,
    shares: &'a [Rows],
}

impl WithSimd for Gradients<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tile, shares } = self;
        let MixtureTile { first, psi, z, inverse_std, psi_gradient, dz, log_std_gradient, .. } = tile;
        let parts = LANES / S::F32_LANES;
        let shares = S::as_simd_f32s(shares.as_flattened()).0;
        let zero = simd.splat_f32s(0.0);
        for h in 0..psi.n_features() {
            let psi = S::as_simd_f32s(psi.line(h)).0;
            let gradients = S::as_mut_simd_f32s(psi_gradient.line_mut(h)).0;
            for part in 0..parts {
                let z = S::as_simd_f32s(z.lanes(h, *first)).0[part];
                let inverse = S::as_simd_f32s(inverse_std.lanes(h, *first)).0[part];
                // Two sums of each: one would have to wait for its own addition.
                let (mut z_gradient, mut std_gradient) = ([zero; 2], [zero; 2]);
                let places = gradients.iter_mut().zip(psi).zip(shares).skip(part).step_by(parts);
                for (draw, ((gradient, psi), share)) in places.enumerate() {
                    let deviation = simd.mul_f32s(simd.sub_f32s(z, *psi), inverse);
                    let shared = simd.mul_f32s(*share, deviation);
                    *gradient = simd.mul_f32s(shared, inverse);
                    z_gradient[draw % 2] = simd.add_f32s(z_gradient[draw % 2], *gradient);
                    std_gradient[draw % 2] = simd.mul_add_e_f32s(shared, deviation, std_gradient[draw % 2]);
                }
                let dz = &mut S::as_mut_simd_f32s(dz.lanes_mut(h, *first)).0[part];
                *dz = simd.sub_f32s(*dz, simd.add_f32s(z_gradient[0], z_gradient[1]));
                S::as_mut_simd_f32s(log_std_gradient.lanes_mut(h, *first)).0[part] =
                    simd.add_f32s(std_gradient[0], std_gradient[1]);
            }
        }
    }
}
