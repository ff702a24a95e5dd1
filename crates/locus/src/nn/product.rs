//! The three products that a dense layer needs, on any number of columns.
//!
//! With W [in, out], X [in, N] and Y [out, N]: `Y = WᵀX` forward, `dX = W·dY` and `dW = X·dYᵀ` backward. The first two keep a
//! tile of sums in registers and let the epilogue finish each sum before it is stored: bias, ReLU, the derivative of the
//! ReLU. The third sums along lines. Loops are plain and compiled for several instruction sets; tile sizes are chosen for
//! each, and where there are fused multiply-adds they are used, so results differ in the last bits between machines.

#![expect(
    clippy::needless_range_loop,
    reason = "the compiler keeps indexed arrays in registers, iterated ones often not"
)]

use multiversion::multiversion;
use multiversion::target::match_target;

use super::panel::{LANES, Lines, LinesMut};

/// What becomes of a tile's sums before they are stored.
pub(super) trait Epilogue {
    /// Finishes the sums of `LANES` columns from `column` on, given what is stored there.
    fn finish(&self, line: usize, column: usize, sums: [f32; LANES], place: &mut [f32; LANES]);
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
    fn finish(&self, _line: usize, _column: usize, sums: [f32; LANES], place: &mut [f32; LANES]) {
        *place = sums;
    }
}

impl Epilogue for Add {
    #[inline(always)]
    fn finish(&self, _line: usize, _column: usize, sums: [f32; LANES], place: &mut [f32; LANES]) {
        for lane in 0..LANES {
            place[lane] += sums[lane];
        }
    }
}

impl Epilogue for Relu {
    #[inline(always)]
    fn finish(&self, _line: usize, _column: usize, sums: [f32; LANES], place: &mut [f32; LANES]) {
        for lane in 0..LANES {
            // Written so that a NaN stays one.
            place[lane] = if sums[lane] < 0.0 { 0.0 } else { sums[lane] };
        }
    }
}

impl Epilogue for Bias<'_> {
    #[inline(always)]
    fn finish(&self, line: usize, _column: usize, sums: [f32; LANES], place: &mut [f32; LANES]) {
        let bias = self.0[line];
        for lane in 0..LANES {
            place[lane] = sums[lane] + bias;
        }
    }
}

impl Epilogue for BiasRelu<'_> {
    #[inline(always)]
    fn finish(&self, line: usize, _column: usize, sums: [f32; LANES], place: &mut [f32; LANES]) {
        let bias = self.0[line];
        for lane in 0..LANES {
            let sum = sums[lane] + bias;
            // Written so that a NaN stays one.
            place[lane] = if sum < 0.0 { 0.0 } else { sum };
        }
    }
}

impl Epilogue for ReluMask<'_> {
    #[inline(always)]
    fn finish(&self, line: usize, column: usize, sums: [f32; LANES], place: &mut [f32; LANES]) {
        let start = line * self.0.stride + column;
        let activations = &self.0.data[start..start + LANES];
        for lane in 0..LANES {
            place[lane] = if activations[lane] > 0.0 { sums[lane] } else { 0.0 };
        }
    }
}

impl Epilogue for AddReluMask<'_> {
    #[inline(always)]
    fn finish(&self, line: usize, column: usize, sums: [f32; LANES], place: &mut [f32; LANES]) {
        let mut masked = [0.0; LANES];
        ReluMask(self.0).finish(line, column, sums, &mut masked);
        Add.finish(line, column, masked, place);
    }
}

/// `Y = WᵀX`, finished by the epilogue: W [k, lines], X [k, N], Y [lines, N].
pub(super) fn product(weights: &[f32], x: Lines<'_>, y: &mut LinesMut<'_>, epilogue: &impl Epilogue) {
    let (k, lines) = (x.n_features(), y.data.len() / y.stride.max(1));
    assert_eq!(weights.len(), k * lines, "weights [{k}, {lines}]");
    assert_eq!(x.n_columns, y.n_columns);
    tiles(weights, x, y.data, y.stride, epilogue);
}

#[multiversion(targets = "simd")]
fn tiles<E: Epilogue>(weights: &[f32], x: Lines<'_>, y: &mut [f32], y_stride: usize, epilogue: &E) {
    match_target! {
        "x86_64+avx512f" => all_tiles::<12, 2, true, E>(weights, x, y, y_stride, epilogue),
        "x86_64+avx2+fma" => all_tiles::<6, 1, true, E>(weights, x, y, y_stride, epilogue),
        "aarch64+neon" => all_tiles::<6, 1, true, E>(weights, x, y, y_stride, epilogue),
        _ => all_tiles::<3, 1, false, E>(weights, x, y, y_stride, epilogue),
    }
}

/// Tiles of R lines and V vectors, then what is left.
#[inline(always)]
fn all_tiles<const R: usize, const V: usize, const FUSED: bool, E: Epilogue>(
    weights: &[f32],
    x: Lines<'_>,
    y: &mut [f32],
    y_stride: usize,
    epilogue: &E,
) {
    let n_padded = x.n_columns.next_multiple_of(LANES);
    let mut column = 0;
    while column + V * LANES <= n_padded {
        column_of_tiles::<R, V, FUSED, E>(weights, x, y, y_stride, column, epilogue);
        column += V * LANES;
    }
    while column < n_padded {
        column_of_tiles::<R, 1, FUSED, E>(weights, x, y, y_stride, column, epilogue);
        column += LANES;
    }
}

#[inline(always)]
fn column_of_tiles<const R: usize, const V: usize, const FUSED: bool, E: Epilogue>(
    weights: &[f32],
    x: Lines<'_>,
    y: &mut [f32],
    y_stride: usize,
    column: usize,
    epilogue: &E,
) {
    let n_lines = y.len() / y_stride;
    let mut line = 0;
    while line + R <= n_lines {
        tile::<R, V, FUSED, E>(weights, n_lines, x, y, y_stride, line, column, epilogue);
        line += R;
    }
    while line + 2 <= n_lines {
        tile::<2, V, FUSED, E>(weights, n_lines, x, y, y_stride, line, column, epilogue);
        line += 2;
    }
    if line < n_lines {
        tile::<1, V, FUSED, E>(weights, n_lines, x, y, y_stride, line, column, epilogue);
    }
}

#[expect(clippy::too_many_arguments, reason = "the innermost loop, always inlined")]
#[inline(always)]
fn tile<const R: usize, const V: usize, const FUSED: bool, E: Epilogue>(
    weights: &[f32],
    n_lines: usize,
    x: Lines<'_>,
    y: &mut [f32],
    y_stride: usize,
    line: usize,
    column: usize,
    epilogue: &E,
) {
    let mut sums = [[[0.0_f32; LANES]; V]; R];
    // Indices rather than iterators: only so does the compiler keep the sums in registers.
    for i in 0..x.n_features() {
        let (x_start, weight_start) = (i * x.stride + column, i * n_lines + line);
        let x_tile: &[f32] = &x.data[x_start..x_start + V * LANES];
        let weight_tile: &[f32] = &weights[weight_start..weight_start + R];
        for r in 0..R {
            let weight = weight_tile[r];
            for v in 0..V {
                for lane in 0..LANES {
                    sums[r][v][lane] =
                        multiply_add::<FUSED>(x_tile[v * LANES + lane], weight, sums[r][v][lane]);
                }
            }
        }
    }
    // Sums that are taken apart would not be kept in registers above, so a copy of them is.
    let mut copy = [[[0.0; LANES]; V]; R];
    for r in 0..R {
        for v in 0..V {
            copy[r][v].copy_from_slice(&sums[r][v]);
        }
    }
    let sums = std::hint::black_box(&copy);
    for r in 0..R {
        for v in 0..V {
            let start = (line + r) * y_stride + column + v * LANES;
            let place = y[start..].first_chunk_mut().expect("a padded line");
            epilogue.finish(line + r, column + v * LANES, sums[r][v], place);
        }
    }
}

#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// `G += X·Yᵀ`: X [rows, N], Y [columns, N], G [rows, columns]. The padding of X is finite, that of Y is 0.
pub(super) fn add_outer(x: Lines<'_>, y: Lines<'_>, gradient: &mut [f32]) {
    assert_eq!(gradient.len(), x.n_features() * y.n_features());
    assert_eq!(x.n_columns, y.n_columns);
    outer(x, y, gradient);
}

#[multiversion(targets = "simd")]
fn outer(x: Lines<'_>, y: Lines<'_>, gradient: &mut [f32]) {
    match_target! {
        "x86_64+avx512f" => all_outer::<5, 5, true>(x, y, gradient),
        "x86_64+avx2+fma" => all_outer::<3, 2, true>(x, y, gradient),
        "aarch64+neon" => all_outer::<3, 2, true>(x, y, gradient),
        _ => all_outer::<2, 1, false>(x, y, gradient),
    }
}

#[inline(always)]
fn all_outer<const R: usize, const S: usize, const FUSED: bool>(
    x: Lines<'_>,
    y: Lines<'_>,
    gradient: &mut [f32],
) {
    let (n_rows, n_columns) = (x.n_features(), y.n_features());
    let mut row = 0;
    while row + R <= n_rows {
        row_of_outer::<R, S, FUSED>(x, y, gradient, row, n_columns);
        row += R;
    }
    while row < n_rows {
        row_of_outer::<1, S, FUSED>(x, y, gradient, row, n_columns);
        row += 1;
    }
}

#[inline(always)]
fn row_of_outer<const R: usize, const S: usize, const FUSED: bool>(
    x: Lines<'_>,
    y: Lines<'_>,
    gradient: &mut [f32],
    row: usize,
    n_columns: usize,
) {
    let mut column = 0;
    while column + S <= n_columns {
        outer_tile::<R, S, FUSED>(x, y, &mut gradient[row * n_columns + column..], row, column, n_columns);
        column += S;
    }
    while column < n_columns {
        outer_tile::<R, 1, FUSED>(x, y, &mut gradient[row * n_columns + column..], row, column, n_columns);
        column += 1;
    }
}

#[inline(always)]
fn outer_tile<const R: usize, const S: usize, const FUSED: bool>(
    x: Lines<'_>,
    y: Lines<'_>,
    gradient: &mut [f32],
    row: usize,
    column: usize,
    gradient_stride: usize,
) {
    let n_vectors = x.n_columns.div_ceil(LANES);
    let x_lines: [&[[f32; LANES]]; R] = std::array::from_fn(|r| vectors(x, row + r, n_vectors));
    let y_lines: [&[[f32; LANES]]; S] = std::array::from_fn(|s| vectors(y, column + s, n_vectors));
    let mut sums = [[[0.0_f32; LANES]; S]; R];
    for vector in 0..n_vectors {
        let y_vectors: [[f32; LANES]; S] = std::array::from_fn(|s| y_lines[s][vector]);
        for r in 0..R {
            let x_vector = x_lines[r][vector];
            for s in 0..S {
                for lane in 0..LANES {
                    sums[r][s][lane] =
                        multiply_add::<FUSED>(x_vector[lane], y_vectors[s][lane], sums[r][s][lane]);
                }
            }
        }
    }
    // As above.
    let copy = sums;
    add_sums(std::hint::black_box(&copy).as_flattened(), S, gradient, gradient_stride);
}

#[inline(always)]
fn vectors<'a>(lines: Lines<'a>, line: usize, n_vectors: usize) -> &'a [[f32; LANES]] {
    let line = &lines.data[line * lines.stride..(line + 1) * lines.stride];
    &line.as_chunks().0[..n_vectors]
}

#[inline(never)]
fn add_sums(sums: &[[f32; LANES]], n_columns: usize, gradient: &mut [f32], gradient_stride: usize) {
    for (index, sums) in sums.iter().enumerate() {
        let mut half = [0.0; LANES / 2];
        for lane in 0..LANES / 2 {
            half[lane] = sums[lane] + sums[lane + LANES / 2];
        }
        let [a, b, c, d, e, f, g, h] = half;
        let sum = ((a + e) + (c + g)) + ((b + f) + (d + h));
        gradient[index / n_columns * gradient_stride + index % n_columns] += sum;
    }
}

/// `y = Wᵀx` for a single column: W [k, lines].
#[multiversion(targets = "simd")]
pub(super) fn product_of_one(weights: &[f32], x: &[f32], y: &mut [f32]) {
    y.fill(0.0);
    for (weights, &value) in weights.chunks_exact(y.len()).zip(x) {
        for (place, weight) in y.iter_mut().zip(weights) {
            *place += value * weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::nn::panel::Panel;

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
            product(&weights, x.lines(0..k), &mut masked.lines_mut(0..lines), &Add);
            for line in 0..lines {
                for column in 0..n {
                    let times = if y.line(line)[column] > 0.0 { 2.0 } else { 1.0 };
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
