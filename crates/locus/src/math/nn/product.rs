//! The three products that a dense layer needs, on any number of columns.
//!
//! With W [in, out], X [in, N] and Y [out, N]: `Y = WᵀX` forward, `dX = W·dY` and `dW = X·dYᵀ` backward. The first two keep a
//! tile of sums in registers and let the epilogue finish each sum before it is stored: bias, ReLU, the derivative of the
//! ReLU. The third sums along lines. The instruction set is chosen at run time, the tile size for each; where there are
//! fused multiply-adds they are used, so results differ in the last bits between machines.
//!
//! Sums are vectors by type (`S::f32s`), not arrays that the compiler is hoped to make vectors of: it does so in one
//! program and spills them in the next, twenty times slower.

#![expect(clippy::needless_range_loop, reason = "loops over tiles of registers, unrolled by the compiler")]

use pulp::{Arch, Simd, WithSimd};

use super::panel::{LANES, Lines, LinesMut};

/// What becomes of a tile's sums before they are stored.
pub(super) trait Epilogue {
    /// Finishes the sums of a vector of columns from `column` on, given what is stored there.
    fn finish<S: Simd>(&self, simd: S, line: usize, column: usize, sums: S::f32s, place: &mut S::f32s);
}

/// Stores the sums.
pub(super) struct Store;
/// Adds the sums to what is there.
pub(super) struct Add;
/// Cuts off below 0.
pub(super) struct Relu;
/// Adds a bias to every line.
pub(super) struct Bias<'a>(pub(super) &'a [f32]);
/// Adds a bias to every line, and cuts off below 0.
pub(super) struct BiasRelu<'a>(pub(super) &'a [f32]);
/// Lets through what belongs to positive activations: the derivative of the ReLU that gave them.
pub(super) struct ReluMask<'a>(pub(super) Lines<'a>);
/// The same, added to what is there.
pub(super) struct AddReluMask<'a>(pub(super) Lines<'a>);

impl Epilogue for Store {
    #[inline(always)]
    fn finish<S: Simd>(&self, _simd: S, _line: usize, _column: usize, sums: S::f32s, place: &mut S::f32s) {
        *place = sums;
    }
}

impl Epilogue for Add {
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, _line: usize, _column: usize, sums: S::f32s, place: &mut S::f32s) {
        *place = simd.add_f32s(*place, sums);
    }
}

impl Epilogue for Relu {
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, _line: usize, _column: usize, sums: S::f32s, place: &mut S::f32s) {
        *place = relu(simd, sums);
    }
}

impl Epilogue for Bias<'_> {
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, line: usize, _column: usize, sums: S::f32s, place: &mut S::f32s) {
        *place = simd.add_f32s(sums, simd.splat_f32s(self.0[line]));
    }
}

impl Epilogue for BiasRelu<'_> {
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, line: usize, _column: usize, sums: S::f32s, place: &mut S::f32s) {
        *place = relu(simd, simd.add_f32s(sums, simd.splat_f32s(self.0[line])));
    }
}

impl Epilogue for ReluMask<'_> {
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, line: usize, column: usize, sums: S::f32s, place: &mut S::f32s) {
        *place = masked(simd, self.0, line, column, sums);
    }
}

impl Epilogue for AddReluMask<'_> {
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, line: usize, column: usize, sums: S::f32s, place: &mut S::f32s) {
        *place = simd.add_f32s(*place, masked(simd, self.0, line, column, sums));
    }
}

/// `max(0, x)`, written so that a NaN stays one.
#[inline(always)]
pub(super) fn relu<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let zero = simd.splat_f32s(0.0);
    simd.select_f32s(simd.less_than_f32s(x, zero), zero, x)
}

/// The sums where activations are positive, else 0.
#[inline(always)]
pub(super) fn masked<S: Simd>(
    simd: S,
    activations: Lines<'_>,
    line: usize,
    column: usize,
    sums: S::f32s,
) -> S::f32s {
    let zero = simd.splat_f32s(0.0);
    let activations = vector::<S>(activations, line, column);
    simd.select_f32s(simd.greater_than_f32s(activations, zero), sums, zero)
}

/// The vector of values from `column` on.
#[inline(always)]
pub(super) fn vector<S: Simd>(lines: Lines<'_>, line: usize, column: usize) -> S::f32s {
    let start = line * lines.stride + column;
    S::as_simd_f32s(&lines.data[start..start + S::F32_LANES]).0[0]
}

/// `Y = WᵀX`, finished by the epilogue: W [k, lines], X [k, N], Y [lines, N].
pub(super) fn product(weights: &[f32], x: Lines<'_>, y: &mut LinesMut<'_>, epilogue: &impl Epilogue) {
    Product::<_, false>::run(weights, false, x, y, epilogue);
}

/// The same, for weights [k, k] that are 0 below the diagonal: about half of the work.
pub(super) fn product_upper(weights: &[f32], x: Lines<'_>, y: &mut LinesMut<'_>, epilogue: &impl Epilogue) {
    Product::<_, false>::run(weights, true, x, y, epilogue);
}

/// `Y = W·X`, finished by the epilogue: W [lines, k], X [k, N], Y [lines, N].
pub(super) fn product_backward(
    weights: &[f32],
    x: Lines<'_>,
    y: &mut LinesMut<'_>,
    epilogue: &impl Epilogue,
) {
    Product::<_, true>::run(weights, false, x, y, epilogue);
}

/// Weights are [k, lines], or [lines, k] on the way back.
struct Product<'a, E, const IS_BACKWARD: bool> {
    weights: &'a [f32],
    /// Whether weights below the diagonal are 0.
    is_upper: bool,
    x: Lines<'a>,
    y: &'a mut [f32],
    y_stride: usize,
    n_lines: usize,
    epilogue: &'a E,
}

impl<'a, E: Epilogue, const IS_BACKWARD: bool> Product<'a, E, IS_BACKWARD> {
    fn run(weights: &'a [f32], is_upper: bool, x: Lines<'a>, y: &'a mut LinesMut<'_>, epilogue: &'a E) {
        let (k, n_lines) = (x.n_features(), y.data.len() / y.stride.max(1));
        assert_eq!(weights.len(), k * n_lines, "weights for {k} inputs and {n_lines} lines");
        assert_eq!(x.n_columns, y.n_columns);
        assert!(!is_upper || k == n_lines, "a triangle of {k} inputs and {n_lines} lines");
        Arch::new().dispatch(Self { weights, is_upper, x, y: y.data, y_stride: y.stride, n_lines, epilogue });
    }
}

impl<E: Epilogue, const IS_BACKWARD: bool> WithSimd for Product<'_, E, IS_BACKWARD> {
    type Output = ();

    /// Tiles of as many sums as there are registers for.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => self.all_tiles::<S, 12, 2, 1>(simd),
            8 => self.all_tiles::<S, 6, 2, 2>(simd),
            4 => self.all_tiles::<S, 6, 4, 4>(simd),
            _ => self.all_tiles::<S, 1, 1, 1>(simd),
        }
    }
}

impl<E: Epilogue, const IS_BACKWARD: bool> Product<'_, E, IS_BACKWARD> {
    /// Tiles of R lines and V vectors, then of W, whose columns divide [`LANES`].
    #[inline(always)]
    fn all_tiles<S: Simd, const R: usize, const V: usize, const W: usize>(mut self, simd: S) {
        let n_padded = self.x.n_columns.next_multiple_of(LANES);
        let mut column = 0;
        while column + V * S::F32_LANES <= n_padded {
            self.column_of_tiles::<S, R, V>(simd, column);
            column += V * S::F32_LANES;
        }
        while column < n_padded {
            self.column_of_tiles::<S, R, W>(simd, column);
            column += W * S::F32_LANES;
        }
    }

    /// Tiles of equal, even heights up to R, and a lower one for what is left: a tile of few lines waits for its sums.
    #[inline(always)]
    fn column_of_tiles<S: Simd, const R: usize, const V: usize>(&mut self, simd: S, column: usize) {
        let n_tiles = self.n_lines.div_ceil(R);
        let height = self.n_lines.div_ceil(n_tiles.max(1)).next_multiple_of(2).min(R);
        let mut line = 0;
        while line < self.n_lines {
            let left = self.n_lines - line;
            line += match height.min(left) {
                12.. => self.tile::<S, 12, V>(simd, line, column),
                10.. => self.tile::<S, 10, V>(simd, line, column),
                8.. => self.tile::<S, 8, V>(simd, line, column),
                6.. => self.tile::<S, 6, V>(simd, line, column),
                4.. => self.tile::<S, 4, V>(simd, line, column),
                2.. => self.tile::<S, 2, V>(simd, line, column),
                _ => self.tile::<S, 1, V>(simd, line, column),
            };
        }
    }

    /// R lines of V vectors; returns R.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        line: usize,
        column: usize,
    ) -> usize {
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        let k = self.x.n_features();
        let rows: [&[f32]; R] = std::array::from_fn(|r| match IS_BACKWARD {
            true => &self.weights[(line + r) * k..][..k],
            false => &[],
        });
        let n_terms = if self.is_upper { k.min(line + R) } else { k };
        for i in 0..n_terms {
            let x_start = i * self.x.stride + column;
            let x = S::as_simd_f32s(&self.x.data[x_start..x_start + V * S::F32_LANES]).0;
            let weights: [f32; R] = match IS_BACKWARD {
                true => std::array::from_fn(|r| rows[r][i]),
                false => *self.weights[i * self.n_lines + line..].first_chunk().expect("R lines"),
            };
            for r in 0..R {
                let weight = simd.splat_f32s(weights[r]);
                for v in 0..V {
                    sums[r][v] = simd.mul_add_e_f32s(x[v], weight, sums[r][v]);
                }
            }
        }
        // The epilogue reads a copy in memory: sums that it read would have to be there through the loop above.
        let mut finished = [[simd.splat_f32s(0.0); V]; R];
        for r in 0..R {
            for v in 0..V {
                finished[r][v] = sums[r][v];
            }
        }
        let finished = std::hint::black_box(&finished);
        for r in 0..R {
            let start = (line + r) * self.y_stride + column;
            let places = S::as_mut_simd_f32s(&mut self.y[start..start + V * S::F32_LANES]).0;
            for v in 0..V {
                let column = column + v * S::F32_LANES;
                self.epilogue.finish(simd, line + r, column, finished[r][v], &mut places[v]);
            }
        }
        R
    }
}

/// `G += X·Yᵀ`: X [rows, N], Y [columns, N], G [rows, columns]. The padding of X is finite, that of Y is 0.
pub(super) fn add_outer(x: Lines<'_>, y: Lines<'_>, gradient: &mut [f32]) {
    assert_eq!(gradient.len(), x.n_features() * y.n_features());
    assert_eq!(x.n_columns, y.n_columns);
    Arch::new().dispatch(Outer { x, y, gradient });
}

struct Outer<'a> {
    x: Lines<'a>,
    y: Lines<'a>,
    gradient: &'a mut [f32],
}

impl WithSimd for Outer<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => self.all_tiles::<S, 5, 5>(simd),
            8 => self.all_tiles::<S, 4, 2>(simd),
            4 => self.all_tiles::<S, 6, 4>(simd),
            _ => self.all_tiles::<S, 1, 1>(simd),
        }
    }
}

impl Outer<'_> {
    /// A few rows, which stay in the cache, against all columns; then the next few.
    #[inline(always)]
    fn all_tiles<S: Simd, const R: usize, const C: usize>(mut self, simd: S) {
        let n_rows = self.x.n_features();
        let mut row = 0;
        while row < n_rows {
            row += match R.min(n_rows - row) {
                5.. => self.row_of_tiles::<S, 5, C>(simd, row),
                4 => self.row_of_tiles::<S, 4, C>(simd, row),
                3 => self.row_of_tiles::<S, 3, C>(simd, row),
                2.. => self.row_of_tiles::<S, 2, C>(simd, row),
                _ => self.row_of_tiles::<S, 1, C>(simd, row),
            };
        }
    }

    /// R rows; returns R.
    #[inline(always)]
    fn row_of_tiles<S: Simd, const R: usize, const C: usize>(&mut self, simd: S, row: usize) -> usize {
        let n_columns = self.y.n_features();
        let mut column = 0;
        while column < n_columns {
            column += match C.min(n_columns - column) {
                5.. => self.tile::<S, R, 5>(simd, row, column),
                4 => self.tile::<S, R, 4>(simd, row, column),
                3 => self.tile::<S, R, 3>(simd, row, column),
                2 => self.tile::<S, R, 2>(simd, row, column),
                _ => self.tile::<S, R, 1>(simd, row, column),
            };
        }
        R
    }

    /// R rows and C columns; returns C.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const C: usize>(&mut self, simd: S, row: usize, column: usize) -> usize {
        let n_vectors = self.x.n_columns.next_multiple_of(LANES) / S::F32_LANES;
        let x: [&[S::f32s]; R] = std::array::from_fn(|r| vectors::<S>(self.x, row + r, n_vectors));
        let y: [&[S::f32s]; C] = std::array::from_fn(|c| vectors::<S>(self.y, column + c, n_vectors));
        let mut sums = [[simd.splat_f32s(0.0); C]; R];
        for i in 0..n_vectors {
            for r in 0..R {
                for c in 0..C {
                    sums[r][c] = simd.mul_add_e_f32s(x[r][i], y[c][i], sums[r][c]);
                }
            }
        }
        let n_columns = self.y.n_features();
        for r in 0..R {
            let gradient = &mut self.gradient[(row + r) * n_columns + column..][..C];
            for c in 0..C {
                gradient[c] += simd.reduce_sum_f32s(sums[r][c]);
            }
        }
        C
    }
}

#[inline(always)]
fn vectors<S: Simd>(lines: Lines<'_>, line: usize, n_vectors: usize) -> &[S::f32s] {
    let start = line * lines.stride;
    &S::as_simd_f32s(&lines.data[start..start + n_vectors * S::F32_LANES]).0[..n_vectors]
}

/// `y = Wᵀx` for a single column: W [k, lines].
pub(super) fn product_of_one(weights: &[f32], x: &[f32], y: &mut [f32]) {
    assert_eq!(weights.len(), x.len() * y.len(), "weights [{}, {}]", x.len(), y.len());
    Arch::new().dispatch(ProductOfOne { weights, x, y });
}

struct ProductOfOne<'a> {
    weights: &'a [f32],
    x: &'a [f32],
    y: &'a mut [f32],
}

impl WithSimd for ProductOfOne<'_> {
    type Output = ();

    /// Up to eight vectors of sums at a time, so that weights are read in their order, and each once.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let n_lines = self.y.len();
        if n_lines < S::F32_LANES {
            return self.few_lines(simd);
        }
        let mut line = 0;
        while line < n_lines {
            line += match (n_lines - line).div_ceil(S::F32_LANES) {
                1 => self.lines::<S, 1, 4>(simd, line),
                2 => self.lines::<S, 2, 4>(simd, line),
                3 => self.lines::<S, 3, 3>(simd, line),
                4 => self.lines::<S, 4, 2>(simd, line),
                5 => self.lines::<S, 5, 2>(simd, line),
                6 => self.lines::<S, 6, 2>(simd, line),
                7 => self.lines::<S, 7, 1>(simd, line),
                _ => self.lines::<S, 8, 1>(simd, line),
            };
        }
    }
}

impl ProductOfOne<'_> {
    /// V vectors of lines; U inputs at a time go to sums of their own, which need not wait for each other. Returns how many
    /// lines these were. The last vector ends with the last line at the latest, so some lines may be computed twice.
    #[inline(always)]
    fn lines<S: Simd, const V: usize, const U: usize>(&mut self, simd: S, line: usize) -> usize {
        let n_lines = self.y.len();
        let last = (line + (V - 1) * S::F32_LANES).min(n_lines - S::F32_LANES);
        let mut sums = [[simd.splat_f32s(0.0); V]; U];
        let mut add = |u: usize, weights: &[f32], x: f32| {
            let x = simd.splat_f32s(x);
            let vectors = S::as_simd_f32s(&weights[line..line + (V - 1) * S::F32_LANES]).0;
            for v in 0..V - 1 {
                sums[u][v] = simd.mul_add_e_f32s(x, vectors[v], sums[u][v]);
            }
            let vector = S::as_simd_f32s(&weights[last..last + S::F32_LANES]).0[0];
            sums[u][V - 1] = simd.mul_add_e_f32s(x, vector, sums[u][V - 1]);
        };
        let (groups, rest) = self.x.as_chunks::<U>();
        let mut rows = self.weights.chunks_exact(n_lines);
        for group in groups {
            for u in 0..U {
                add(u, rows.next().unwrap_or_default(), group[u]);
            }
        }
        for (&x, row) in rest.iter().zip(rows) {
            add(0, row, x);
        }
        for v in 0..V {
            let start = if v + 1 == V { last } else { line + v * S::F32_LANES };
            let mut sum = sums[0][v];
            for u in 1..U {
                sum = simd.add_f32s(sum, sums[u][v]);
            }
            S::as_mut_simd_f32s(&mut self.y[start..start + S::F32_LANES]).0[0] = sum;
        }
        V * S::F32_LANES
    }

    /// Fewer lines than a vector has places.
    #[inline(always)]
    fn few_lines<S: Simd>(self, simd: S) {
        let mut sums = [simd.splat_f32s(0.0); 4];
        for (index, (weights, &x)) in self.weights.chunks_exact(self.y.len()).zip(self.x).enumerate() {
            let weights = simd.partial_load_f32s(weights);
            sums[index % 4] = simd.mul_add_e_f32s(simd.splat_f32s(x), weights, sums[index % 4]);
        }
        let sum = simd.add_f32s(simd.add_f32s(sums[0], sums[1]), simd.add_f32s(sums[2], sums[3]));
        simd.partial_store_f32s(self.y, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::math::nn::panel::Panel;

    fn random(panel: &mut Panel, seed: u64) {
        let mut rng = Seed::new(seed).stream("test", 0);
        for feature in 0..panel.n_features() {
            panel.line_mut(feature).iter_mut().for_each(|value| *value = rng.normal() as f32);
        }
    }

    fn assert_close(found: f32, expected: f64, what: &str) {
        assert!(
            (f64::from(found) - expected).abs() < 1e-4 * (1.0 + expected.abs()),
            "{what}: {found}, {expected}"
        );
    }

    #[test]
    fn products_equal_their_sums() {
        for (k, lines, n) in [(1, 1, 2), (3, 2, 5), (7, 13, 16), (100, 50, 37), (5, 25, 512), (54, 31, 48)] {
            let (mut x, mut y) = (Panel::new(k, n), Panel::new(lines, n));
            random(&mut x, 1);
            let mut rng = Seed::new(2).stream("test", 0);
            let weights: Vec<f32> = (0..k * lines).map(|_| rng.normal() as f32).collect();
            let bias: Vec<f32> = (0..lines).map(|_| rng.normal() as f32).collect();
            product(&weights, x.lines(0..k), &mut y.lines_mut(0..lines), &BiasRelu(&bias));
            let sum = |line: usize, column: usize| -> f64 {
                (0..k).map(|i| f64::from(weights[i * lines + line]) * f64::from(x.line(i)[column])).sum()
            };
            for line in 0..lines {
                for column in 0..n {
                    let expected = (sum(line, column) + f64::from(bias[line])).max(0.0);
                    assert_close(y.line(line)[column], expected, &format!("{k} {lines} {n}"));
                }
            }
            let mut one = vec![0.0; lines];
            let column: Vec<f32> = (0..k).map(|i| x.line(i)[0]).collect();
            product_of_one(&weights, &column, &mut one);
            (0..lines).for_each(|line| assert_close(one[line], sum(line, 0), "one"));

            let mut masked = Panel::new(lines, n);
            product(&weights, x.lines(0..k), &mut masked.lines_mut(0..lines), &ReluMask(y.lines(0..lines)));
            product(
                &weights,
                x.lines(0..k),
                &mut masked.lines_mut(0..lines),
                &AddReluMask(y.lines(0..lines)),
            );
            for line in 0..lines {
                for column in 0..n {
                    let times = if y.line(line)[column] > 0.0 { 2.0 } else { 0.0 };
                    assert_close(masked.line(line)[column], times * sum(line, column), "mask");
                }
            }

            let mut gradient = vec![1.0; k * lines];
            random(&mut y, 3);
            add_outer(x.lines(0..k), y.lines(0..lines), &mut gradient);
            for i in 0..k {
                for line in 0..lines {
                    let expected: f64 =
                        (0..n).map(|c| f64::from(x.line(i)[c]) * f64::from(y.line(line)[c])).sum::<f64>();
                    assert_close(gradient[i * lines + line], 1.0 + expected, "outer");
                }
            }
        }
    }
}
