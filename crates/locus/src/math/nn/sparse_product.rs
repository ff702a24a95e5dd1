//! Products of a layer with rows that have most of their numbers in common.
//!
//! With W [in, out], X [N, in] and Y [out, N]: `Y = (XW)ᵀ` forward, and `dW = Xᵀ·dYᵀ` backward; both with X or with its squares. If c is the row in
//! common, and D what is different, then X = 1cᵀ + D: each row of XW is `cᵀW`, the same for all, and a sum of a few lines of W;
//! each line of dW is a multiple of `Σ dY`, the same for all, and a sum of a few columns of dY. Lines of W and columns of dY are first
//! laid out so that each begins with a cache line and fills whole vectors. As in the other products, sums are vectors by type and stay
//! in registers.

#![expect(clippy::needless_range_loop, reason = "loops over tiles of registers, unrolled by the compiler")]

use pulp::{Arch, Simd, WithSimd};

use super::aligned::Aligned;
use super::panel::{LANES, Lines, LinesMut};
use super::product::{Epilogue, product_of_one};
use super::sparse_rows::{Entry, SparseRows};
use super::sum;

/// Buffers for the products with one layer's weights.
#[derive(Clone, Debug, Default)]
pub(super) struct SparseWork {
    /// W [in, out], each line padded.
    weights: Aligned,
    /// Sums of some rows, or dYᵀ [N, out]; each padded.
    rows: Aligned,
    /// What all rows or all lines have a multiple of [out], padded.
    shared: Aligned,
    /// The row in common, or its squares [in].
    common: Vec<f32>,
    by_feature: ByFeature,
}

/// What is different in some rows, feature by feature.
#[derive(Clone, Debug, Default)]
struct ByFeature {
    entries: Vec<Entry>,
    /// Where each feature ends [in], and one place more that sorting needs.
    ends: Vec<usize>,
}

impl SparseWork {
    /// `Y = (XW)ᵀ`, or with the squares of X, finished by the epilogue: W [in, out], Y [out, N]. X are these of the rows.
    pub(super) fn product<const IS_SQUARED: bool>(
        &mut self,
        weights: &[f32],
        (x, rows): (&SparseRows, &[usize]),
        y: &mut LinesMut<'_>,
        epilogue: &impl Epilogue,
    ) {
        Arch::new().dispatch(self.begin_product::<_, IS_SQUARED>(weights, (x, rows), y, epilogue));
    }

    fn begin_product<'a, E: Epilogue, const IS_SQUARED: bool>(
        &'a mut self,
        weights: &[f32],
        (x, rows): (&'a SparseRows, &'a [usize]),
        y: &'a mut LinesMut<'_>,
        epilogue: &'a E,
    ) -> Product<'a, E, IS_SQUARED> {
        let (n_in, n_lines) = (x.n_features(), y.n_features());
        assert_eq!(weights.len(), n_in * n_lines, "weights for {n_in} inputs and {n_lines} lines");
        assert_eq!(rows.len(), y.n_columns);
        let width = n_lines.next_multiple_of(LANES);
        self.weights.reserve(n_in * width);
        for (place, line) in self.weights.chunks_exact_mut(width).zip(weights.chunks_exact(n_lines)) {
            place[..n_lines].copy_from_slice(line);
            place[n_lines..].fill(0.0);
        }
        self.set_common::<IS_SQUARED>(x);
        self.shared.reserve(width);
        product_of_one(weights, &self.common, &mut self.shared[..n_lines]);
        self.shared[n_lines..].fill(0.0);
        self.rows.reserve(LANES * width);
        Product {
            x,
            rows,
            weights: &self.weights,
            shared: &self.shared[..width],
            sums: &mut self.rows[..LANES * width],
            y: &mut *y.data,
            y_stride: y.stride,
            n_lines,
            epilogue,
        }
    }

    /// Sorts what is different in the rows by feature, for [`SparseWork::add_outer`].
    pub(super) fn sort(&mut self, (x, rows): (&SparseRows, &[usize])) {
        let ByFeature { entries, ends } = &mut self.by_feature;
        ends.clear();
        ends.resize(x.n_features() + 1, 0);
        for &row in rows {
            x.row(row).iter().for_each(|entry| ends[entry.place as usize + 1] += 1);
        }
        let mut total = 0;
        for end in ends.iter_mut() {
            total += *end;
            *end = total;
        }
        // What is now the start of each feature moves to its end as entries come.
        entries.resize(total, Entry::default());
        for (place, &row) in rows.iter().enumerate() {
            for entry in x.row(row) {
                let end = &mut ends[entry.place as usize];
                entries[*end] = Entry { place: place as u32, ..*entry };
                *end += 1;
            }
        }
    }

    /// `G += Xᵀ·Yᵀ`, or with the squares of X, where X are the rows that were sorted: Y [out, N], G [in, out].
    pub(super) fn add_outer<const IS_SQUARED: bool>(
        &mut self,
        x: &SparseRows,
        y: Lines<'_>,
        gradient: &mut [f32],
    ) {
        Arch::new().dispatch(self.begin_outer::<IS_SQUARED>(x, y, gradient));
    }

    fn begin_outer<'a, const IS_SQUARED: bool>(
        &'a mut self,
        x: &SparseRows,
        y: Lines<'a>,
        gradient: &'a mut [f32],
    ) -> Outer<'a, IS_SQUARED> {
        let n_lines = y.n_features();
        assert_eq!(gradient.len(), x.n_features() * n_lines);
        assert_eq!(self.by_feature.ends.len(), x.n_features() + 1, "sorted rows");
        let width = n_lines.next_multiple_of(LANES);
        self.set_common::<IS_SQUARED>(x);
        self.shared.reserve(width);
        self.shared.fill(0.0);
        self.shared.iter_mut().zip(y.iter()).for_each(|(place, line)| *place = sum(line));
        self.rows.reserve(y.n_columns.next_multiple_of(LANES) * width);
        Outer {
            x: &self.by_feature,
            common: &self.common,
            y,
            rows: &mut self.rows,
            shared: &self.shared[..width],
            gradient,
            n_lines,
        }
    }

    fn set_common<const IS_SQUARED: bool>(&mut self, x: &SparseRows) {
        self.common.clear();
        self.common.extend(x.common().iter().map(|c| if IS_SQUARED { c * c } else { *c }));
    }
}

struct Product<'a, E, const IS_SQUARED: bool> {
    x: &'a SparseRows,
    rows: &'a [usize],
    /// [in, width]
    weights: &'a [f32],
    /// What all rows begin with [width]: as many places as there are lines, and their padding.
    shared: &'a [f32],
    /// [LANES, width]
    sums: &'a mut [f32],
    y: &'a mut [f32],
    y_stride: usize,
    n_lines: usize,
    epilogue: &'a E,
}

impl<E: Epilogue, const IS_SQUARED: bool> WithSimd for Product<'_, E, IS_SQUARED> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let n_rows = self.rows.len();
        for first in (0..n_rows).step_by(LANES) {
            let n_here = LANES.min(n_rows - first);
            for row in 0..n_here {
                self.sum_row(simd, self.rows[first + row], row);
            }
            // What becomes the padding of Y must be finite.
            self.sums[n_here * self.shared.len()..].fill(0.0);
            self.finish(simd, first);
        }
    }
}

impl<E: Epilogue, const IS_SQUARED: bool> Product<'_, E, IS_SQUARED> {
    /// The sums of a row, up to four vectors of them at a time.
    #[inline(always)]
    fn sum_row<S: Simd>(&mut self, simd: S, row: usize, place: usize) {
        let (mut line, width) = (0, self.shared.len());
        while line < width {
            line += match (width - line) / S::F32_LANES {
                4.. => self.sum_vectors::<S, 4>(simd, row, place, line),
                3 => self.sum_vectors::<S, 3>(simd, row, place, line),
                2 => self.sum_vectors::<S, 2>(simd, row, place, line),
                _ => self.sum_vectors::<S, 1>(simd, row, place, line),
            };
        }
    }

    /// V vectors of lines; returns how many lines these are.
    #[inline(always)]
    fn sum_vectors<S: Simd, const V: usize>(
        &mut self,
        simd: S,
        row: usize,
        place: usize,
        line: usize,
    ) -> usize {
        let shared = S::as_simd_f32s(&self.shared[line..line + V * S::F32_LANES]).0;
        let shared: [S::f32s; V] = std::array::from_fn(|v| shared[v]);
        let (lines, width) = (&self.weights[line..], self.shared.len());
        let sums = add_weighted::<S, V, IS_SQUARED>(simd, shared, self.x.row(row), lines, width);
        let start = place * width + line;
        let places = S::as_mut_simd_f32s(&mut self.sums[start..start + V * S::F32_LANES]).0;
        places.copy_from_slice(&sums);
        V * S::F32_LANES
    }

    /// Turns the sums of `LANES` rows into columns from `column` on.
    #[inline(always)]
    fn finish<S: Simd>(&mut self, simd: S, column: usize) {
        for first in (0..self.n_lines).step_by(LANES) {
            let block = transposed(std::array::from_fn(|row| {
                *self.sums[row * self.shared.len() + first..].first_chunk().expect("a padded row")
            }));
            for (line, sums) in (first..self.n_lines).zip(&block) {
                let start = line * self.y_stride + column;
                let places = S::as_mut_simd_f32s(&mut self.y[start..start + LANES]).0;
                for (v, (sums, place)) in S::as_simd_f32s(sums).0.iter().zip(places).enumerate() {
                    self.epilogue.finish(simd, line, column + v * S::F32_LANES, *sums, place);
                }
            }
        }
    }
}

struct Outer<'a, const IS_SQUARED: bool> {
    x: &'a ByFeature,
    /// [in]
    common: &'a [f32],
    y: Lines<'a>,
    /// Room for Yᵀ [N, width].
    rows: &'a mut [f32],
    /// The sum of its rows [width]: as many places as there are lines, and their padding.
    shared: &'a [f32],
    gradient: &'a mut [f32],
    n_lines: usize,
}

impl<const IS_SQUARED: bool> WithSimd for Outer<'_, IS_SQUARED> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        self.transpose();
        let (mut start, width) = (0, self.shared.len());
        for (feature, &end) in self.x.ends[..self.common.len()].iter().enumerate() {
            let mut line = 0;
            while line < width {
                line += match (width - line) / S::F32_LANES {
                    4.. => self.add_vectors::<S, 4>(simd, start..end, feature, line),
                    3 => self.add_vectors::<S, 3>(simd, start..end, feature, line),
                    2 => self.add_vectors::<S, 2>(simd, start..end, feature, line),
                    _ => self.add_vectors::<S, 1>(simd, start..end, feature, line),
                };
            }
            start = end;
        }
    }
}

impl<const IS_SQUARED: bool> Outer<'_, IS_SQUARED> {
    /// Y, row by row.
    #[inline(always)]
    fn transpose(&mut self) {
        for column in (0..self.y.n_columns).step_by(LANES) {
            for first in (0..self.n_lines).step_by(LANES) {
                let block = transposed(std::array::from_fn(|line| match first + line < self.n_lines {
                    true => {
                        let start = (first + line) * self.y.stride + column;
                        *self.y.data[start..].first_chunk().expect("a padded line")
                    }
                    false => [0.0; LANES],
                }));
                for (row, block) in block.iter().enumerate() {
                    let start = (column + row) * self.shared.len() + first;
                    self.rows[start..start + LANES].copy_from_slice(block);
                }
            }
        }
    }

    /// V vectors of lines; returns how many lines these are.
    #[inline(always)]
    fn add_vectors<S: Simd, const V: usize>(
        &mut self,
        simd: S,
        entries: std::ops::Range<usize>,
        feature: usize,
        line: usize,
    ) -> usize {
        let entries = &self.x.entries[entries];
        let common = simd.splat_f32s(self.common[feature]);
        let shared = S::as_simd_f32s(&self.shared[line..line + V * S::F32_LANES]).0;
        let shared: [S::f32s; V] = std::array::from_fn(|v| simd.mul_f32s(common, shared[v]));
        let (lines, width) = (&self.rows[line..], self.shared.len());
        let sums = add_weighted::<S, V, IS_SQUARED>(simd, shared, entries, lines, width);
        let end = self.n_lines.min(line + V * S::F32_LANES);
        let places = &mut self.gradient[feature * self.n_lines..][line.min(end)..end];
        let (places, rest) = S::as_mut_simd_f32s(places);
        for v in 0..V {
            if let Some(place) = places.get_mut(v) {
                *place = simd.add_f32s(*place, sums[v]);
            } else if v == places.len() && !rest.is_empty() {
                let sum = simd.add_f32s(simd.partial_load_f32s(rest), sums[v]);
                simd.partial_store_f32s(rest, sum);
            }
        }
        V * S::F32_LANES
    }
}

/// V vectors of `start + Σ more · line`, or with the squares, over entries; the lines that these name are `width` apart.
#[inline(always)]
fn add_weighted<S: Simd, const V: usize, const IS_SQUARED: bool>(
    simd: S,
    start: [S::f32s; V],
    entries: &[Entry],
    lines: &[f32],
    width: usize,
) -> [S::f32s; V] {
    // Two sums that need not wait for each other.
    let mut sums = [start, [simd.splat_f32s(0.0); V]];
    let mut add = |u: usize, entry: Entry| {
        let weight = simd.splat_f32s(if IS_SQUARED { entry.square_more } else { entry.more });
        let start = entry.place as usize * width;
        let vectors = S::as_simd_f32s(&lines[start..start + V * S::F32_LANES]).0;
        for v in 0..V {
            sums[u][v] = simd.mul_add_e_f32s(weight, vectors[v], sums[u][v]);
        }
    };
    let (pairs, rest) = entries.as_chunks::<2>();
    for pair in pairs {
        add(0, pair[0]);
        add(1, pair[1]);
    }
    rest.iter().for_each(|entry| add(0, *entry));
    std::array::from_fn(|v| simd.add_f32s(sums[0][v], sums[1][v]))
}

#[inline(always)]
fn transposed(block: [[f32; LANES]; LANES]) -> [[f32; LANES]; LANES] {
    std::array::from_fn(|i| std::array::from_fn(|j| block[j][i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::nn::product::Store;
    use crate::math::nn::sparse_rows::tests::{mostly_common, sparse};

    /// Runs a kernel with the instruction set of this number, if the machine has as many.
    fn run(kernel: impl WithSimd, instruction_set: usize) -> bool {
        match instruction_set {
            0 => Arch::new().dispatch(kernel),
            1 => Simd::vectorize(pulp::Scalar::new(), kernel),
            #[cfg(target_arch = "x86_64")]
            2 => match pulp::x86::V3::try_new() {
                Some(simd) => Simd::vectorize(simd, kernel),
                None => return false,
            },
            _ => return false,
        };
        true
    }

    fn assert_close(found: f32, expected: f64, what: &str) {
        let difference = (f64::from(found) - expected).abs();
        assert!(difference < 1e-5 * (1.0 + expected.abs()), "{what}: {found}, {expected}");
    }

    /// In order: inputs, lines, rows, and the part of the numbers that is different.
    const SIZES: [(usize, usize, usize, f64); 8] = [
        (1, 1, 1, 1.0),
        (3, 2, 5, 0.5),
        (7, 13, 16, 0.0),
        (40, 16, 37, 0.1),
        (70, 17, 33, 1.0),
        (9, 50, 48, 0.3),
        (90, 33, 100, 0.02),
        (5, 130, 18, 0.4),
    ];

    fn check_products<const IS_SQUARED: bool>(instruction_set: usize) {
        let factor = |value: f32| if IS_SQUARED { f64::from(value * value) } else { f64::from(value) };
        // Room that is used again must not show what it held before.
        let mut work = SparseWork::default();
        for (n_in, n_lines, n_rows, density) in SIZES {
            let what = format!("{n_in} {n_lines} {n_rows} {density}, {IS_SQUARED}, {instruction_set}");
            let (table, mut y) =
                (mostly_common(n_in, 20, density, 1), mostly_common(n_lines, n_rows, 1.0, 2));
            let (rows, _) = sparse(&table);
            // Any order, some rows twice and some never.
            let picked: Vec<usize> = (0..n_rows).map(|row| (7 * row * row + 3) % 20).collect();
            let x = |feature: usize, row: usize| table.line(feature)[picked[row]];
            let weights: Vec<f32> = mostly_common(1, n_in * n_lines, 1.0, 3).line(0).to_vec();

            let mut gradient = vec![1.0; n_in * n_lines];
            work.sort((&rows, &picked));
            if !run(work.begin_outer::<IS_SQUARED>(&rows, y.all(), &mut gradient), instruction_set) {
                return;
            }
            for i in 0..n_in {
                for line in 0..n_lines {
                    let term = |row: usize| factor(x(i, row)) * f64::from(y.line(line)[row]);
                    let expected = 1.0 + (0..n_rows).map(term).sum::<f64>();
                    assert_close(gradient[i * n_lines + line], expected, &what);
                }
            }

            y.fill(f32::NAN);
            let x_and_rows = (&rows, picked.as_slice());
            run(
                work.begin_product::<_, IS_SQUARED>(&weights, x_and_rows, &mut y.all_mut(), &Store),
                instruction_set,
            );
            for line in 0..n_lines {
                for column in 0..n_rows {
                    let term = |i: usize| factor(x(i, column)) * f64::from(weights[i * n_lines + line]);
                    assert_close(y.line(line)[column], (0..n_in).map(term).sum(), &what);
                }
                let padding = n_rows / LANES * LANES;
                assert!(n_rows % LANES == 0 || y.lanes(line, padding).iter().all(|value| value.is_finite()));
            }
        }
    }

    #[test]
    fn products_equal_their_sums_on_every_instruction_set() {
        for instruction_set in 0..3 {
            check_products::<false>(instruction_set);
            check_products::<true>(instruction_set);
        }
    }
}
