//! Places in an arena of parameters, and the way of parameters into an arena that grew.
//!
//! A net that gets one more output has longer rows in its last layer, so most parameters behind them move. Both arenas are laid
//! out by the same calls, block by block, so two layouts tell where every parameter goes. What is carried over may be the
//! parameters themselves or anything kept for each of them, such as the state of an optimizer.

use std::ops::Range;

/// Hands out places in an arena of parameters.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    blocks: Vec<Block>,
    len: usize,
}

/// Places that were handed out together: rows of the same length, one after another.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: usize,
    n_rows: usize,
    row_len: usize,
}

impl Layout {
    /// The next `len` places.
    pub fn reserve(&mut self, len: usize) -> Range<usize> {
        self.reserve_rows(1, len)
    }

    /// The next places of a matrix, row after row.
    pub fn reserve_rows(&mut self, n_rows: usize, row_len: usize) -> Range<usize> {
        let start = self.len;
        self.blocks.push(Block { start, n_rows, row_len });
        self.len += n_rows * row_len;
        start..self.len
    }

    /// How many places were handed out.
    pub fn size(&self) -> usize {
        self.len
    }

    /// Moves values, one for each place of this layout, into `grown`, where rows may be longer; `start` has the values of the places
    /// that are new.
    pub fn carry_over<T: Copy>(&self, values: &[T], grown: &Self, mut start: Vec<T>) -> Vec<T> {
        assert_eq!((values.len(), start.len()), (self.len, grown.len), "a value for each place");
        for (row, place) in self.rows_in(grown) {
            start[place..][..row.len()].copy_from_slice(&values[row]);
        }
        start
    }

    /// For every place of this layout, in order, its place in `grown`.
    pub fn places_in<'a>(&'a self, grown: &'a Self) -> impl Iterator<Item = usize> + 'a {
        self.rows_in(grown).flat_map(|(row, place)| place..place + row.len())
    }

    /// The rows of this layout, and where each begins in `grown`.
    fn rows_in<'a>(&'a self, grown: &'a Self) -> impl Iterator<Item = (Range<usize>, usize)> + 'a {
        assert_eq!(self.blocks.len(), grown.blocks.len(), "the same blocks in both layouts");
        self.blocks.iter().zip(&grown.blocks).flat_map(|(block, grown)| {
            assert!(block.n_rows == grown.n_rows && block.row_len <= grown.row_len, "rows only get longer");
            (0..block.n_rows).map(move |row| {
                let start = block.start + row * block.row_len;
                (start..start + block.row_len, grown.start + row * grown.row_len)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(n_actions: usize) -> Layout {
        let mut layout = Layout::default();
        layout.reserve_rows(2, 3);
        layout.reserve(3);
        layout.reserve_rows(3, n_actions);
        layout.reserve(n_actions);
        layout.reserve(1);
        layout
    }

    /// Rows of 2 become rows of 3: each gets a place at its end, and what follows moves on.
    #[test]
    fn rows_that_grow_keep_their_values_and_get_new_places_at_their_ends() {
        let (old, new) = (layout(2), layout(3));
        let values: Vec<usize> = (0..old.size()).collect();
        let found = old.carry_over(&values, &new, vec![99; new.size()]);
        let expected = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99, 11, 12, 99, 13, 14, 99, 15, 16, 99, 17];
        assert_eq!(found, expected);
        let places: Vec<usize> = old.places_in(&new).collect();
        assert!(values.iter().all(|&value| found[places[value]] == value));
        assert!(places.is_sorted());
    }
}
