//! The packed triangle `[R q]` and the three loops over it.
//!
//! Row i holds `R[i][i..]` and then `q[i]`, one row after another, so every loop runs over contiguous memory.
//! Most loops are plain; `multiversion` compiles each for several instruction sets and picks one at run time.
//! No sum is reordered between them and no product fused, so all give the same bits.

use multiversion::multiversion;
use pulp::{Arch, Simd, WithSimd};

/// An upper triangular R of d rows with a right-hand side q.
#[derive(Clone, Debug)]
pub(super) struct Triangle {
    dim: usize,
    entries: Vec<f64>,
}

impl Triangle {
    /// A diagonal R and q = 0.
    pub(super) fn new(dim: usize, diagonal: f64) -> Self {
        let mut entries = vec![0.0; Self::n_entries(dim).expect("a dimension that fits into memory")];
        let mut start = 0;
        for row in 0..dim {
            entries[start] = diagonal;
            start += dim + 1 - row;
        }
        Self { dim, entries }
    }

    /// How many numbers a triangle of this size holds; `None` if that overflows.
    pub(super) fn n_entries(dim: usize) -> Option<usize> {
        dim.checked_add(3).and_then(|length| length.checked_mul(dim)).map(|twice| twice / 2)
    }

    /// The triangle of the first `dim` columns alone, and the square of what is left of q without the others.
    pub(super) fn leading(&self, dim: usize) -> (Self, f64) {
        assert!(dim <= self.dim, "the first {dim} of {} columns", self.dim);
        let mut entries = Vec::with_capacity(Self::n_entries(dim).expect("less than there is"));
        let (mut start, mut left_over) = (0, 0.0);
        for row in 0..self.dim {
            let end = start + self.dim + 1 - row;
            if row < dim {
                entries.extend_from_slice(&self.entries[start..start + dim - row]);
                entries.push(self.entries[end - 1]);
            } else {
                left_over += self.entries[end - 1] * self.entries[end - 1];
            }
            start = end;
        }
        (Self { dim, entries }, left_over)
    }

    /// The triangle among more columns, `dim` in all: those that there are move to `places`, in ascending order, and the others have only
    /// a diagonal.
    pub(super) fn with_columns_at(&self, places: &[usize], dim: usize, diagonal: f64) -> Self {
        assert_eq!(places.len(), self.dim, "a place for each column");
        assert!(places.is_sorted_by(|one, next| one < next), "ascending places");
        let mut wider = Self::new(dim, diagonal);
        let mut row_start = 0;
        for (row, &place) in places.iter().enumerate() {
            // Where the entry (place, place) is: rows get shorter by one each.
            let start = place * (dim + 1) - place * place.saturating_sub(1) / 2;
            let target = &mut wider.entries[start..start + dim + 1 - place];
            let entries = &self.entries[row_start..row_start + self.dim + 1 - row];
            for (entry, column) in entries.iter().zip(places[row..].iter().chain([&dim])) {
                target[column - place] = *entry;
            }
            row_start += entries.len();
        }
        wider
    }

    pub(super) fn entries(&self) -> &[f64] {
        &self.entries
    }

    pub(super) fn entries_mut(&mut self) -> &mut [f64] {
        &mut self.entries
    }

    /// Whether every number is finite and the diagonal positive.
    pub(super) fn is_sound(&self) -> bool {
        let mut rest = self.entries.as_slice();
        let is_diagonal_positive = (0..self.dim).all(|row| {
            let is_positive = rest[0] > 0.0;
            rest = &rest[self.dim + 1 - row..];
            is_positive
        });
        is_diagonal_positive && self.entries.iter().all(|entry| entry.is_finite())
    }

    /// log det R, the sum of the logarithms of its diagonal.
    pub(super) fn log_determinant(&self) -> f64 {
        let mut start = 0;
        (0..self.dim).fold(0.0, |sum, row| {
            let diagonal = self.entries[start];
            start += self.dim + 1 - row;
            sum + libm::log(diagonal)
        })
    }

    /// Rotates the row `[x y]` in: R becomes that of RᵀR + xxᵀ. What remains of `row` is 0, but for the last
    /// place, which holds the part of y that R cannot explain.
    pub(super) fn rotate_in(&mut self, row: &mut [f64]) {
        assert_eq!(row.len(), self.dim + 1);
        rotate_in(&mut self.entries, row);
    }

    /// Solves Rβ = q.
    pub(super) fn solve(&self, solution: &mut [f64]) {
        let mut end = self.entries.len();
        for (row, place) in solution.iter_mut().enumerate().rev() {
            *place = self.entries[end - 1];
            end -= self.dim + 1 - row;
        }
        self.solve_for(solution);
    }

    /// Solves Rβ = z, given z in `solution`.
    pub(super) fn solve_for(&self, solution: &mut [f64]) {
        assert_eq!(solution.len(), self.dim);
        back_substitute(&self.entries, solution);
    }

    /// Solves Rᵀv = x, given x in `solution`.
    pub(super) fn solve_transposed(&self, solution: &mut [f64]) {
        assert_eq!(solution.len(), self.dim);
        forward_substitute(&self.entries, solution);
    }

    /// Solves Rᵀv = x for several x at once, given element by element in `solutions`.
    pub(super) fn solve_many_transposed(&self, solutions: &mut [[f64; LANES]]) {
        assert_eq!(solutions.len(), self.dim);
        Arch::new().dispatch(ForwardSubstituteMany { entries: &self.entries, solutions });
    }
}

/// How many right-hand sides are solved for together.
pub const LANES: usize = 8;

/// Givens rotations, a row at a time.
#[multiversion(targets = "simd")]
fn rotate_in(entries: &mut [f64], row: &mut [f64]) {
    let mut entries = entries;
    let mut row = row;
    while row.len() > 1 {
        let (top, rest) = std::mem::take(&mut entries).split_at_mut(row.len());
        if row[0] != 0.0 {
            let diagonal = (top[0] * top[0] + row[0] * row[0]).sqrt();
            let (cos, sin) = (top[0] / diagonal, row[0] / diagonal);
            for (above, below) in top.iter_mut().zip(row.iter_mut()) {
                let rotated = cos * *above + sin * *below;
                *below = cos * *below - sin * *above;
                *above = rotated;
            }
            top[0] = diagonal;
        }
        entries = rest;
        row = &mut row[1..];
    }
}

#[multiversion(targets = "simd")]
fn back_substitute(entries: &[f64], solution: &mut [f64]) {
    let dim = solution.len();
    let mut end = entries.len();
    for row in (0..dim).rev() {
        let start = end - (dim + 1 - row);
        let (known, rest) = solution.split_at_mut(row + 1);
        let explained = lane_dot(&entries[start + 1..end - 1], rest);
        known[row] = (known[row] - explained) / entries[start];
        end = start;
    }
}

#[multiversion(targets = "simd")]
fn forward_substitute(entries: &[f64], solution: &mut [f64]) {
    let mut entries = entries;
    let mut solution = solution;
    while !solution.is_empty() {
        let (top, rest) = entries.split_at(solution.len() + 1);
        let solved = solution[0] / top[0];
        solution[0] = solved;
        if solved != 0.0 {
            for (place, factor) in solution[1..].iter_mut().zip(&top[1..]) {
                *place -= solved * factor;
            }
        }
        entries = rest;
        solution = &mut solution[1..];
    }
}

/// As [`forward_substitute`] for each lane, to the bit but for the signs of zeros.
struct ForwardSubstituteMany<'a> {
    entries: &'a [f64],
    solutions: &'a mut [[f64; LANES]],
}

impl WithSimd for ForwardSubstituteMany<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F64_LANES {
            8 => self.solve::<S, 1>(simd),
            4 => self.solve::<S, 2>(simd),
            2 => self.solve::<S, 4>(simd),
            _ => self.solve::<S, 8>(simd),
        }
    }
}

impl ForwardSubstituteMany<'_> {
    /// Rows of R are taken [`ROWS`] at a time, so that what is left of an x is read and written once for all of them. V vectors hold the
    /// lanes.
    #[inline(always)]
    fn solve<S: Simd, const V: usize>(self, simd: S) {
        let Self { mut entries, mut solutions } = self;
        while solutions.len() >= ROWS {
            let dim = solutions.len();
            let mut rows: [&[f64]; ROWS] = [&[]; ROWS];
            for (row, place) in rows.iter_mut().enumerate() {
                // From its diagonal on, without q.
                let (top, rest) = entries.split_at(dim + 1 - row);
                (*place, entries) = (&top[..dim - row], rest);
            }
            let (block, later) = solutions.split_at_mut(ROWS);
            let mut solved = [[simd.splat_f64s(0.0); V]; ROWS];
            for row in 0..ROWS {
                let mut value = load::<S, V>(&block[row]);
                for above in 0..row {
                    value = subtract(simd, value, solved[above], rows[above][row - above]);
                }
                let diagonal = simd.splat_f64s(rows[row][0]);
                solved[row] = value.map(|value| simd.div_f64s(value, diagonal));
                store::<S, V>(&mut block[row], solved[row]);
            }
            let factors: [&[f64]; ROWS] = std::array::from_fn(|row| &rows[row][ROWS - row..][..later.len()]);
            for (index, place) in later.iter_mut().enumerate() {
                let mut value = load::<S, V>(place);
                for row in 0..ROWS {
                    value = subtract(simd, value, solved[row], factors[row][index]);
                }
                store::<S, V>(place, value);
            }
            solutions = later;
        }
        // The last few rows.
        while let [first, later @ ..] = solutions {
            let (top, rest) = entries.split_at(later.len() + 2);
            let diagonal = simd.splat_f64s(top[0]);
            let solved = load::<S, V>(first).map(|value| simd.div_f64s(value, diagonal));
            store::<S, V>(first, solved);
            for (place, factor) in later.iter_mut().zip(&top[1..]) {
                let value = subtract(simd, load::<S, V>(place), solved, *factor);
                store::<S, V>(place, value);
            }
            (entries, solutions) = (rest, later);
        }
    }
}

/// How many rows of R are taken at a time.
const ROWS: usize = 4;

#[inline(always)]
fn load<S: Simd, const V: usize>(lanes: &[f64; LANES]) -> [S::f64s; V] {
    *S::as_simd_f64s(lanes).0.first_chunk().expect("all lanes")
}

#[inline(always)]
fn store<S: Simd, const V: usize>(lanes: &mut [f64; LANES], values: [S::f64s; V]) {
    S::as_mut_simd_f64s(lanes).0.copy_from_slice(&values);
}

/// `value − solved·factor`, rounded twice as in the plain loop.
#[inline(always)]
fn subtract<S: Simd, const V: usize>(
    simd: S,
    value: [S::f64s; V],
    solved: [S::f64s; V],
    factor: f64,
) -> [S::f64s; V] {
    let factor = simd.splat_f64s(factor);
    std::array::from_fn(|v| simd.sub_f64s(value[v], simd.mul_f64s(solved[v], factor)))
}

/// Σ aᵢbᵢ for each lane of a, in the order of [`lane_dot`].
pub(super) fn dot_many(a: &[[f64; LANES]], b: &[f64]) -> [f64; LANES] {
    assert_eq!(a.len(), b.len());
    Arch::new().dispatch(DotMany { a, b: |_: &[f64; LANES], i: usize| [b[i]; LANES] })
}

/// Σ aᵢ² for each lane, in the order of [`lane_dot`].
pub(super) fn squares(a: &[[f64; LANES]]) -> [f64; LANES] {
    Arch::new().dispatch(DotMany { a, b: |a: &[f64; LANES], _: usize| *a })
}

/// Σ aᵢbᵢ for each lane; `b` gives bᵢ, given aᵢ and i.
struct DotMany<'a, B> {
    a: &'a [[f64; LANES]],
    b: B,
}

impl<B: Fn(&[f64; LANES], usize) -> [f64; LANES]> WithSimd for DotMany<'_, B> {
    type Output = [f64; LANES];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; LANES] {
        match S::F64_LANES {
            8 => self.add_up::<S, 1>(simd),
            4 => self.add_up::<S, 2>(simd),
            2 => self.add_up::<S, 4>(simd),
            _ => self.add_up::<S, 8>(simd),
        }
    }
}

impl<B: Fn(&[f64; LANES], usize) -> [f64; LANES]> DotMany<'_, B> {
    #[inline(always)]
    fn add_up<S: Simd, const V: usize>(self, simd: S) -> [f64; LANES] {
        let mut sums = [[simd.splat_f64s(0.0); V]; 8];
        let add = |sum: &mut [S::f64s; V], a: &[f64; LANES], index: usize| {
            let b = load::<S, V>(&(self.b)(a, index));
            let a = load::<S, V>(a);
            *sum = std::array::from_fn(|v| simd.add_f64s(sum[v], simd.mul_f64s(a[v], b[v])));
        };
        let (chunks, rest) = self.a.as_chunks::<8>();
        for (chunk, a) in chunks.iter().enumerate() {
            for place in 0..8 {
                add(&mut sums[place], &a[place], 8 * chunk + place);
            }
        }
        for (place, a) in rest.iter().enumerate() {
            add(&mut sums[place], a, 8 * chunks.len() + place);
        }
        let plus = |a: [S::f64s; V], b: [S::f64s; V]| -> [S::f64s; V] {
            std::array::from_fn(|v| simd.add_f64s(a[v], b[v]))
        };
        let [s0, s1, s2, s3, s4, s5, s6, s7] = sums;
        let total = plus(plus(plus(s0, s4), plus(s2, s6)), plus(plus(s1, s5), plus(s3, s7)));
        let mut lanes = [0.0; LANES];
        store::<S, V>(&mut lanes, total);
        lanes
    }
}

/// Σ aᵢbᵢ.
#[multiversion(targets = "simd")]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    lane_dot(a, b)
}

/// Σ aᵢbᵢ over eight fixed lanes, so that the order of the sum does not depend on the vector width.
#[inline(always)]
pub(super) fn lane_dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (b_chunks, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    for (lane, (a, b)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane += a * b;
    }
    let [s0, s1, s2, s3, s4, s5, s6, s7] = lanes;
    ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}
