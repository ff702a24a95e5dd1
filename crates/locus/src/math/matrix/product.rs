//! The product that everything cubic goes through.
//!
//! `Y += scale·W·X` for X [k, N] and Y [lines, N], whose rows lie side by side. A tile of sums stays in registers, as in
//! [`nn`](crate::nn)'s products; here lines have no padding, so the last columns are loaded and stored in part.

#![expect(clippy::needless_range_loop, reason = "loops over tiles of registers, unrolled by the compiler")]

use pulp::{Arch, Simd, WithSimd};

use super::Rows;

/// Which way the weights of a product lie.
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// W [lines, k]: those of a line side by side.
    ByLine(Rows<'a>),
    /// Wᵀ [k, lines]: those of an input side by side.
    ByInput(Rows<'a>),
}

/// `Y += scale·W·X`: X [k, columns], Y [lines, columns].
pub fn add_product(
    scale: f64,
    weights: Weights<'_>,
    k: usize,
    x: Rows<'_>,
    y: (&mut [f64], usize),
    (n_lines, n_columns): (usize, usize),
) {
    run(scale, weights, k, x, y, (n_lines, n_columns), false);
}

/// The same for a square Y of which only what is on and above the diagonal is wanted; a few numbers below it change too.
pub fn add_product_upper(
    scale: f64,
    weights: Weights<'_>,
    k: usize,
    x: Rows<'_>,
    y: (&mut [f64], usize),
    n: usize,
) {
    run(scale, weights, k, x, y, (n, n), true);
}

fn run(
    scale: f64,
    weights: Weights<'_>,
    k: usize,
    x: Rows<'_>,
    (y, y_stride): (&mut [f64], usize),
    (n_lines, n_columns): (usize, usize),
    is_upper: bool,
) {
    if k == 0 || n_lines == 0 || n_columns == 0 {
        return;
    }
    match weights {
        Weights::ByLine(weights) => Arch::new().dispatch(Product::<true> {
            scale,
            weights,
            k,
            x,
            y,
            y_stride,
            n_lines,
            n_columns,
            is_upper,
        }),
        Weights::ByInput(weights) => Arch::new().dispatch(Product::<false> {
            scale,
            weights,
            k,
            x,
            y,
            y_stride,
            n_lines,
            n_columns,
            is_upper,
        }),
    }
}

struct Product<'a, const IS_BY_LINE: bool> {
    scale: f64,
    weights: Rows<'a>,
    k: usize,
    x: Rows<'a>,
    y: &'a mut [f64],
    y_stride: usize,
    n_lines: usize,
    n_columns: usize,
    is_upper: bool,
}

impl<const IS_BY_LINE: bool> WithSimd for Product<'_, IS_BY_LINE> {
    type Output = ();

    /// Tiles of as many sums as there are registers for.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F64_LANES {
            8 => self.all_tiles::<S, 12, 2>(simd),
            4 => self.all_tiles::<S, 6, 2>(simd),
            2 => self.all_tiles::<S, 6, 2>(simd),
            _ => self.all_tiles::<S, 4, 1>(simd),
        }
    }
}

impl<const IS_BY_LINE: bool> Product<'_, IS_BY_LINE> {
    #[inline(always)]
    fn all_tiles<S: Simd, const R: usize, const V: usize>(mut self, simd: S) {
        let mut line = 0;
        while line < self.n_lines {
            line += match R.min(self.n_lines - line) {
                12.. => self.row_of_tiles::<S, 12, V>(simd, line),
                8.. => self.row_of_tiles::<S, 8, V>(simd, line),
                6.. => self.row_of_tiles::<S, 6, V>(simd, line),
                4.. => self.row_of_tiles::<S, 4, V>(simd, line),
                2.. => self.row_of_tiles::<S, 2, V>(simd, line),
                _ => self.row_of_tiles::<S, 1, V>(simd, line),
            };
        }
    }

    /// R lines; returns R.
    #[inline(always)]
    fn row_of_tiles<S: Simd, const R: usize, const V: usize>(&mut self, simd: S, line: usize) -> usize {
        let mut column = if self.is_upper { line } else { 0 };
        while column + V * S::F64_LANES <= self.n_columns {
            self.tile::<S, R, V>(simd, line, column);
            column += V * S::F64_LANES;
        }
        while column + S::F64_LANES <= self.n_columns {
            self.tile::<S, R, 1>(simd, line, column);
            column += S::F64_LANES;
        }
        if column < self.n_columns {
            self.part_of_a_tile::<S, R>(simd, line, column);
        }
        R
    }

    /// R lines of V vectors.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const V: usize>(&mut self, simd: S, line: usize, column: usize) {
        let sums = self.sums::<S, R, V>(simd, line, |i| {
            let start = i * self.x.stride + column;
            let x = S::as_simd_f64s(&self.x.data[start..start + V * S::F64_LANES]).0;
            std::array::from_fn(|v| x[v])
        });
        let scale = simd.splat_f64s(self.scale);
        for r in 0..R {
            let start = (line + r) * self.y_stride + column;
            let places = S::as_mut_simd_f64s(&mut self.y[start..start + V * S::F64_LANES]).0;
            for v in 0..V {
                places[v] = simd.mul_add_e_f64s(scale, sums[r][v], places[v]);
            }
        }
    }

    /// R lines of the last columns, which do not fill a vector.
    #[inline(always)]
    fn part_of_a_tile<S: Simd, const R: usize>(&mut self, simd: S, line: usize, column: usize) {
        let n_left = self.n_columns - column;
        let sums = self.sums::<S, R, 1>(simd, line, |i| {
            let start = i * self.x.stride + column;
            [simd.partial_load_f64s(&self.x.data[start..start + n_left])]
        });
        let scale = simd.splat_f64s(self.scale);
        for r in 0..R {
            let start = (line + r) * self.y_stride + column;
            let places = &mut self.y[start..start + n_left];
            let added = simd.mul_add_e_f64s(scale, sums[r][0], simd.partial_load_f64s(places));
            simd.partial_store_f64s(places, added);
        }
    }

    #[inline(always)]
    fn sums<S: Simd, const R: usize, const V: usize>(
        &self,
        simd: S,
        line: usize,
        load: impl Fn(usize) -> [S::f64s; V],
    ) -> [[S::f64s; V]; R] {
        let k = self.k;
        let rows: [&[f64]; R] = std::array::from_fn(|r| match IS_BY_LINE {
            true => &self.weights.data[(line + r) * self.weights.stride..][..k],
            false => &[],
        });
        let mut sums = [[simd.splat_f64s(0.0); V]; R];
        for i in 0..k {
            let x = load(i);
            let weights: [f64; R] = match IS_BY_LINE {
                true => std::array::from_fn(|r| rows[r][i]),
                false => *self.weights.data[i * self.weights.stride + line..].first_chunk().expect("R lines"),
            };
            for r in 0..R {
                let weight = simd.splat_f64s(weights[r]);
                for v in 0..V {
                    sums[r][v] = simd.mul_add_e_f64s(x[v], weight, sums[r][v]);
                }
            }
        }
        sums
    }
}
