//! Blocks of observations that update a posterior together.
//!
//! An observation alone is rotated into the triangle row by row, with a square root for each feature. Many at once can share it:
//! the entries that they have in one feature's column are a single vector, and one rotation in the plane of that vector and the
//! triangle's diagonal clears them all. What remains is products along columns, which vectorize well. A block is small enough to
//! stay in the nearest cache while every column passes over it.

use multiversion::multiversion;

use super::triangle::lane_dot;

/// Up to [`Block::ROWS`] observations, feature by feature: `[X y]` with the values of a column side by side.
#[derive(Clone, Debug)]
pub struct Block {
    n_rows: usize,
    /// The sum of the weights of all rows.
    total_weight: f64,
    /// [d + 1, ROWS]
    columns: Vec<[f64; Block::ROWS]>,
}

impl Block {
    /// How many observations it holds at most. With 50 features that takes 26 kB.
    pub const ROWS: usize = 64;

    /// Room for observations of `dim` features.
    pub fn new(dim: usize) -> Self {
        Self { n_rows: 0, total_weight: 0.0, columns: vec![[0.0; Self::ROWS]; dim + 1] }
    }

    /// Adds an observation. Panics if the block is full or has another number of features.
    #[cfg(any(test, feature = "internals"))]
    pub fn push(&mut self, features: impl ExactSizeIterator<Item = f64>, target: f64) {
        self.push_weighted(features, target, 1.0);
    }

    /// Adds an observation that counts as `weight` equal ones, a number above 0. Panics as [`Self::push`] does.
    pub fn push_weighted(&mut self, features: impl ExactSizeIterator<Item = f64>, target: f64, weight: f64) {
        assert_eq!(features.len(), self.dim(), "features of a block");
        let root = weight.sqrt();
        for (column, value) in self.columns.iter_mut().zip(features.chain([target])) {
            column[self.n_rows] = root * value;
        }
        self.n_rows += 1;
        self.total_weight += weight;
    }

    /// d, the number of features.
    pub fn dim(&self) -> usize {
        self.columns.len() - 1
    }

    /// How many observations it holds.
    #[cfg(any(test, feature = "internals"))]
    pub fn len(&self) -> usize {
        self.n_rows
    }

    /// How many observations those that it holds count as.
    pub fn total_weight(&self) -> f64 {
        self.total_weight
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// Whether there is no room for another.
    pub fn is_full(&self) -> bool {
        self.n_rows == Self::ROWS
    }

    /// Rotates all into the packed triangle `[R q]`, and empties the block. Returns the sum of squares of that part of the
    /// targets which R cannot explain.
    pub(super) fn rotate_into(&mut self, entries: &mut [f64]) -> f64 {
        // Rows of zeros change nothing, and let every loop run over whole vectors.
        let n_padded = self.n_rows.next_multiple_of(8);
        for column in &mut self.columns {
            column[self.n_rows..n_padded].fill(0.0);
        }
        (self.n_rows, self.total_weight) = (0, 0.0);
        rotate_in(entries, &mut self.columns, n_padded, n_padded)
    }

    /// Rotates the rows of `diagonal`·I, with targets of 0, into the packed triangle `[R q]`, with the room of an empty block. Returns
    /// the sum of squares of that part of the targets which R cannot explain.
    pub(super) fn rotate_diagonal_into(&mut self, entries: &mut [f64], diagonal: f64) -> f64 {
        debug_assert!(self.is_empty());
        let dim = self.dim();
        let (mut entries, mut left_over) = (entries, 0.0);
        for first in (0..dim).step_by(Self::ROWS) {
            let n_rows = Self::ROWS.min(dim - first);
            let n_padded = n_rows.next_multiple_of(8);
            let columns = &mut self.columns[first..];
            for (index, column) in columns.iter_mut().enumerate() {
                column[..n_padded].fill(0.0);
                if index < n_rows {
                    column[index] = diagonal;
                }
            }
            left_over += rotate_in(entries, columns, n_padded, 1);
            let n_entries: usize = (first..first + n_rows).map(|row| dim + 1 - row).sum();
            entries = &mut entries[n_entries..];
        }
        left_over
    }
}

/// Rotates `n_rows` rows in. Of the first column only the first `n_filled` may differ from 0, of each further one one more.
///
/// As the loops over the triangle, this gives the same bits on every instruction set.
#[multiversion(targets = "simd")]
fn rotate_in(entries: &mut [f64], columns: &mut [[f64; Block::ROWS]], n_rows: usize, n_filled: usize) -> f64 {
    let mut entries = entries;
    let mut columns = columns;
    let mut n_filled = n_filled;
    while let [column, rest @ ..] = columns {
        let n_rows = n_rows.min(n_filled.next_multiple_of(8));
        n_filled += 1;
        let column = &column[..n_rows];
        let square = lane_dot(column, column);
        if rest.is_empty() {
            return square;
        }
        let (top, below) = std::mem::take(&mut entries).split_at_mut(rest.len() + 1);
        if square > 0.0 {
            let norm = square.sqrt();
            let diagonal = (top[0] * top[0] + square).sqrt();
            let (cos, sin) = (top[0] / diagonal, norm / diagonal);
            // 1 − cos, without cancellation where the angle is small.
            let versine = sin * sin / (1.0 + cos);
            top[0] = diagonal;
            for (above, other) in top[1..].iter_mut().zip(rest.iter_mut()) {
                let other = &mut other[..n_rows];
                let along = lane_dot(column, other) / norm;
                let factor = -(sin * *above + versine * along) / norm;
                *above = cos * *above + sin * along;
                for (place, value) in other.iter_mut().zip(column) {
                    *place += factor * value;
                }
            }
        }
        entries = below;
        columns = rest;
    }
    0.0
}
