//! Rows that differ from one and the same row in few numbers.
//!
//! One-hot columns have the same value in nearly every row, both before standardization (zeros) and after (the same small number
//! for each zero). So a row is stored as its differences from a common row: a few dozen numbers of hundreds. `sparse_product.rs`
//! has the products with such rows.

use multiversion::multiversion;

use super::panel::{Lines, Panel};

/// The input of a net.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// [in, N]
    Dense(Lines<'a>),
    /// N rows of these, given by their numbers; one may come several times. For training only: a single row is padded as many are.
    Sparse(&'a SparseRows, &'a [usize]),
}

/// Rows of numbers [rows, in], most of which are those of a row in common.
///
/// In every column the number in common is one of least size there. Squares of others are then no less than its square: a sum of
/// squares is that of the row in common and what is added to it, and nothing is lost by subtraction.
#[derive(Clone, Debug, Default)]
pub struct SparseRows {
    /// [in]
    common: Vec<f32>,
    /// How often each number of `common` was found in its column [in].
    counts: Vec<u32>,
    /// What is different, row by row.
    entries: Vec<Entry>,
    /// Where each row ends [rows].
    ends: Vec<usize>,
}

/// A number that differs from the one in common.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// Its feature, or where entries are sorted by feature, its row.
    pub(super) place: u32,
    /// By how much it is more.
    pub(super) more: f32,
    /// By how much its square is more.
    pub(super) square_more: f32,
}

impl Input<'_> {
    /// Gives a panel as many columns as there are here.
    pub(super) fn reshape(self, panel: &mut Panel, n_features: usize) {
        match self {
            Self::Dense(lines) => panel.reshape_like(n_features, lines),
            Self::Sparse(_, rows) => panel.reshape_padded(n_features, rows.len()),
        }
    }
}

impl SparseRows {
    /// Finds the common row of rows of `n_features` numbers, and removes all stored rows. Returns the fraction of numbers that differ.
    pub fn find_common<'a>(&mut self, n_features: usize, rows: impl Iterator<Item = &'a [f32]>) -> f64 {
        self.entries.clear();
        self.ends.clear();
        self.counts.clear();
        self.counts.resize(n_features, 0);
        self.common.clear();
        // More than any number that a row may have.
        self.common.resize(n_features, f32::INFINITY);
        let mut n_rows = 0;
        for row in rows {
            note(row, &mut self.common, &mut self.counts);
            n_rows += 1;
        }
        // Where there is no number, nothing is common.
        for (common, count) in self.common.iter_mut().zip(&mut self.counts) {
            if !common.is_finite() {
                (*common, *count) = (0.0, 0);
            }
        }
        let n_common: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        1.0 - n_common as f64 / (n_rows * n_features).max(1) as f64
    }

    /// Adds a row.
    pub fn push(&mut self, row: &[f32]) {
        assert_eq!(row.len(), self.common.len());
        for (feature, (&number, &common)) in row.iter().zip(&self.common).enumerate() {
            // So is what is no number at all.
            if number != common {
                let (more, square_more) = (number - common, number * number - common * common);
                self.entries.push(Entry { place: feature as u32, more, square_more });
            }
        }
        self.ends.push(self.entries.len());
    }

    /// in
    pub fn n_features(&self) -> usize {
        self.common.len()
    }

    /// The row in common.
    pub fn common(&self) -> &[f32] {
        &self.common
    }

    /// A row as it was added, but for rounding.
    #[cfg(test)]
    pub fn read(&self, row: usize) -> Vec<f32> {
        let mut numbers = self.common.clone();
        self.row(row).iter().for_each(|entry| numbers[entry.place as usize] += entry.more);
        numbers
    }

    /// The first number of a row that is not finite, if there is one.
    pub fn find_non_finite(&self, row: usize) -> Option<f32> {
        self.row(row).iter().map(|entry| entry.more).find(|number| !number.is_finite())
    }

    /// What is different in a row.
    pub(super) fn row(&self, row: usize) -> &[Entry] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.entries[start..self.ends[row]]
    }
}

/// Updates, for each column, the number of smallest magnitude so far and its count.
#[multiversion(targets = "simd")]
fn note(row: &[f32], common: &mut [f32], counts: &mut [u32]) {
    for ((number, common), count) in row.iter().zip(common).zip(counts) {
        let is_less = number.abs() < common.abs();
        *common = if is_less { *number } else { *common };
        let before = if is_less { 0 } else { *count };
        *count = before + u32::from(*number == *common);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::Seed;

    /// Columns of which about this part is normal, and the rest one number for each column, 0 for some. A normal as small as these
    /// few would become what is common instead, which is as well.
    pub(crate) fn mostly_common(n_features: usize, n_columns: usize, density: f64, seed: u64) -> Panel {
        let mut panel = Panel::default();
        panel.reshape_padded(n_features, n_columns);
        let mut rng = Seed::new(seed).stream("test", 0);
        for feature in 0..n_features {
            let common = if feature % 3 == 0 { 0.0 } else { 0.02 * rng.normal() as f32 };
            panel.line_mut(feature).iter_mut().for_each(|value| {
                *value = if rng.uniform() < density { rng.normal() as f32 } else { common };
            });
        }
        panel
    }

    /// The columns of a panel as rows, and the part of their numbers that is different.
    pub(crate) fn sparse(panel: &Panel) -> (SparseRows, f64) {
        let row =
            |column: usize| (0..panel.n_features()).map(|i| panel.line(i)[column]).collect::<Vec<f32>>();
        let columns: Vec<Vec<f32>> = (0..panel.n_columns()).map(row).collect();
        let mut rows = SparseRows::default();
        let density = rows.find_common(panel.n_features(), columns.iter().map(Vec::as_slice));
        columns.iter().for_each(|row| rows.push(row));
        (rows, density)
    }

    #[test]
    fn what_is_common_is_the_least_of_each_column_and_the_rest_is_kept() {
        let rows = [
            [0.0, -0.5, 7.0, f32::NAN, 1.0, f32::INFINITY],
            [3.0, 2.0, 7.0, f32::NAN, 2.0, f32::INFINITY],
            [-0.0, -0.5, 7.0, 4.0, 3.0, f32::INFINITY],
            [0.0, -0.5, 7.0, 4.0, -0.25, f32::NEG_INFINITY],
        ];
        let mut sparse = SparseRows::default();
        // What it held before does not show.
        sparse.find_common(2, [[1.0, 2.0].as_slice()].into_iter());
        sparse.push(&[1.0, 3.0]);
        let density = sparse.find_common(6, rows.iter().map(|row| row.as_slice()));
        assert_eq!(sparse.common(), [0.0, -0.5, 7.0, 4.0, -0.25, 0.0]);
        assert_eq!(density, 1.0 - 13.0 / 24.0);
        for (index, row) in rows.iter().enumerate() {
            sparse.push(row);
            let read = sparse.read(index);
            assert!(
                read.iter().zip(row).all(|(a, b)| a == b || a.is_nan() && b.is_nan()),
                "{row:?} {read:?}"
            );
            assert!(sparse.find_non_finite(index).is_some());
            let squares = sparse.row(index).iter().map(|entry| entry.square_more);
            assert!({ squares }.all(|more| more >= 0.0 || more.is_nan()));
        }
        sparse.push(&[0.0, -0.5, 7.0, 4.0, 5.0, 9.0]);
        assert_eq!(sparse.row(4).len(), 2);
        assert_eq!(sparse.find_non_finite(4), None);
    }

    #[test]
    fn no_rows_have_nothing_in_common() {
        let mut sparse = SparseRows::default();
        assert_eq!(sparse.find_common(3, std::iter::empty()), 1.0);
        assert_eq!(sparse.common(), [0.0; 3]);
    }
}
