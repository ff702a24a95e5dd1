//! Activations, feature by feature.

use super::aligned::Aligned;

/// Values that vectors hold; every line of a panel is padded to a multiple of it.
pub const LANES: usize = 16;

/// Activations [features, N]: the N values of a feature lie side by side.
///
/// Lines are padded. The padding of activations holds finite numbers, that of gradients holds 0, so that loops may
/// run over it.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    data: Aligned,
    n_features: usize,
    n_columns: usize,
    stride: usize,
}

impl Panel {
    /// Zeros.
    pub fn new(n_features: usize, n_columns: usize) -> Self {
        let mut panel = Self::default();
        panel.reshape(n_features, n_columns);
        panel
    }

    /// Takes another shape, with whatever numbers are in the memory that it has. Allocates only to grow.
    ///
    /// A single column becomes a plain vector, which is how decisions are computed; there is no way back through one.
    pub fn reshape(&mut self, n_features: usize, n_columns: usize) {
        match n_columns {
            1 => self.set_shape(n_features, 1, 1),
            _ => self.reshape_padded(n_features, n_columns),
        }
    }

    /// The same, but a single column is padded like any other number of them: what training needs.
    pub fn reshape_padded(&mut self, n_features: usize, n_columns: usize) {
        let padded = n_columns.next_multiple_of(LANES);
        // Lines that are a power of two apart would all fall into the same few places of the cache.
        let stride = if padded.is_multiple_of(4 * LANES) { padded + LANES } else { padded };
        self.set_shape(n_features, n_columns, stride);
    }

    /// The same, with columns that lie as those of others do.
    pub fn reshape_like(&mut self, n_features: usize, others: Lines<'_>) {
        self.set_shape(n_features, others.n_columns, others.stride);
    }

    fn set_shape(&mut self, n_features: usize, n_columns: usize, stride: usize) {
        (self.n_features, self.n_columns, self.stride) = (n_features, n_columns, stride);
        self.data.reserve(n_features * stride);
    }

    /// Sets everything, padding too.
    pub fn fill(&mut self, value: f32) {
        self.data.fill(value);
    }

    /// Sets the padding to 0, as that of a gradient must be.
    pub fn clear_padding(&mut self) {
        let (stride, n_columns) = (self.stride, self.n_columns);
        if stride > n_columns {
            self.all_mut().data.chunks_exact_mut(stride).for_each(|line| line[n_columns..].fill(0.0));
        }
    }

    /// The first number that is not finite, if there is one.
    pub fn find_non_finite(&self) -> Option<f32> {
        self.all().iter().flatten().copied().find(|value| !value.is_finite())
    }

    /// The first number that is not a finite one above 0, if there is one.
    pub fn find_not_positive(&self) -> Option<f32> {
        let is_positive = |value: f32| (value > 0.0) & (value < f32::INFINITY);
        // Whole lines without a branch first, which vectors can do.
        let is_bad = |line: &&[f32]| !line.iter().fold(true, |all, &value| all & is_positive(value));
        self.all().iter().find(is_bad)?.iter().copied().find(|&value| !is_positive(value))
    }

    /// N, without padding.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// How many features it has.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// From one line to the next.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// The values of a feature.
    pub fn line(&self, feature: usize) -> &[f32] {
        &self.data[feature * self.stride..][..self.n_columns]
    }

    /// The values of a feature.
    pub fn line_mut(&mut self, feature: usize) -> &mut [f32] {
        &mut self.data[feature * self.stride..][..self.n_columns]
    }

    /// Adds to each column's value the sum of its features, each with its weight.
    pub fn add_lines(&self, weights: &[f64], values: &mut [f64]) {
        for (feature, weight) in weights.iter().enumerate() {
            let line = self.line(feature);
            values.iter_mut().zip(line).for_each(|(value, feature)| *value += weight * f64::from(*feature));
        }
    }

    /// Values that lie side by side: the line of every feature, or the whole of a single column.
    pub fn runs(&self) -> impl Iterator<Item = &[f32]> {
        let (run, used) = self.run_lens();
        self.all().data.chunks_exact(run).map(move |run| &run[..used])
    }

    /// The same, to write.
    pub fn runs_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let (run, used) = self.run_lens();
        self.all_mut().data.chunks_exact_mut(run).map(move |run| &mut run[..used])
    }

    /// From one run to the next, and how long it is.
    fn run_lens(&self) -> (usize, usize) {
        match self.stride {
            1 => (self.n_features.max(1), self.n_features),
            stride => (stride.max(1), self.n_columns),
        }
    }

    /// Copies a panel of as many columns to the lines from `first` on.
    pub fn copy_lines(&mut self, first: usize, lines: &Panel) {
        self.lines_mut(first..first + lines.n_features).data.copy_from_slice(lines.all().data);
    }

    /// Puts each of the rows into a column, from column `first` on: value i of a row into line i.
    pub fn put_rows(&mut self, first: usize, rows: &[&[f32]]) {
        if let (1, [row]) = (self.stride, rows) {
            return self.data[..row.len()].copy_from_slice(row);
        }
        // Blocks of 16 rows and 16 values are read along the rows and written along the lines, a vector at a time.
        for (chunk, rows) in rows.chunks(LANES).enumerate() {
            let first = first + chunk * LANES;
            let n_in_blocks = match <&[&[f32]; LANES]>::try_from(rows) {
                Ok(rows) => self.put_blocks(first, rows),
                Err(_) => 0,
            };
            for feature in n_in_blocks..rows[0].len() {
                let line = &mut self.line_mut(feature)[first..first + rows.len()];
                for (place, row) in line.iter_mut().zip(rows) {
                    *place = row[feature];
                }
            }
        }
    }

    /// As many values of the rows as fill whole blocks; returns how many.
    fn put_blocks(&mut self, first: usize, rows: &[&[f32]; LANES]) -> usize {
        let n_blocks = rows[0].len() / LANES;
        for block in 0..n_blocks {
            let rows: [[f32; LANES]; LANES] =
                std::array::from_fn(|row| *rows[row][block * LANES..].first_chunk().expect("a whole block"));
            for feature in 0..LANES {
                let line = self.lanes_mut(block * LANES + feature, first);
                line.iter_mut().zip(&rows).for_each(|(place, row)| *place = row[feature]);
            }
        }
        n_blocks * LANES
    }

    /// All features.
    pub fn all(&self) -> Lines<'_> {
        self.lines(0..self.n_features)
    }

    /// All features.
    pub fn all_mut(&mut self) -> LinesMut<'_> {
        self.lines_mut(0..self.n_features)
    }

    /// `LANES` values of a feature from `column` on, padding perhaps among them.
    pub fn lanes(&self, feature: usize, column: usize) -> &[f32; LANES] {
        self.data[feature * self.stride + column..].first_chunk().expect("a padded line")
    }

    /// `LANES` values of a feature from `column` on, padding perhaps among them.
    pub fn lanes_mut(&mut self, feature: usize, column: usize) -> &mut [f32; LANES] {
        self.data[feature * self.stride + column..].first_chunk_mut().expect("a padded line")
    }

    /// Some of the features.
    pub fn lines(&self, features: std::ops::Range<usize>) -> Lines<'_> {
        Lines {
            data: &self.data[features.start * self.stride..features.end * self.stride],
            n_columns: self.n_columns,
            stride: self.stride,
        }
    }

    /// Some of the features.
    pub fn lines_mut(&mut self, features: std::ops::Range<usize>) -> LinesMut<'_> {
        LinesMut {
            data: &mut self.data[features.start * self.stride..features.end * self.stride],
            n_columns: self.n_columns,
            stride: self.stride,
        }
    }
}

/// Some features of a [`Panel`].
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    pub(super) data: &'a [f32],
    pub(super) n_columns: usize,
    pub(super) stride: usize,
}

/// Some features of a [`Panel`], to write.
#[derive(Debug)]
pub struct LinesMut<'a> {
    pub(super) data: &'a mut [f32],
    pub(super) n_columns: usize,
    pub(super) stride: usize,
}

impl<'a> Lines<'a> {
    /// Whether this is a single column that is not padded: a plain vector.
    pub(super) fn is_vector(&self) -> bool {
        self.stride == 1
    }

    /// How many features these are.
    pub fn n_features(&self) -> usize {
        self.data.len() / self.stride.max(1)
    }

    /// N, without padding.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// The values of each feature.
    pub fn iter(&self) -> impl Iterator<Item = &'a [f32]> + use<'a> {
        let n_columns = self.n_columns;
        self.data.chunks_exact(self.stride.max(1)).map(move |line| &line[..n_columns])
    }
}

impl LinesMut<'_> {
    /// How many features these are.
    pub fn n_features(&self) -> usize {
        self.data.len() / self.stride.max(1)
    }

    /// The values of each feature.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let n_columns = self.n_columns;
        self.data.chunks_exact_mut(self.stride.max(1)).map(move |line| &mut line[..n_columns])
    }
}
