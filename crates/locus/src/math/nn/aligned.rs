//! Lists of numbers aligned to cache lines.

use std::ops::{Deref, DerefMut};

use super::panel::LANES;

/// A list of numbers that begins at a multiple of 64 bytes, so that a vector never lies across two cache lines: loading
/// such a vector costs twice.
#[derive(Debug, Default)]
pub(super) struct Aligned {
    data: Vec<f32>,
    start: usize,
}

impl Aligned {
    /// Makes the list this long or longer; what is in it is lost if it grows.
    pub(super) fn reserve(&mut self, len: usize) {
        if self.len() < len {
            self.data = vec![0.0; len + LANES - 1];
            // If the alignment is unknown, only the speed suffers.
            self.start = self.data.as_ptr().align_offset(size_of::<[f32; LANES]>()) % LANES;
        }
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.reserve(self.len());
        copy[..self.len()].copy_from_slice(self);
        copy
    }
}

impl Deref for Aligned {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.data[self.start..]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.data[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_their_copies_begin_at_a_cache_line() {
        for len in 1..200 {
            let mut list = Aligned::default();
            list.reserve(len);
            list.iter_mut().enumerate().for_each(|(index, place)| *place = index as f32);
            let copy = list.clone();
            for list in [&list, &copy] {
                assert!(list.len() >= len);
                assert_eq!(list.as_ptr() as usize % 64, 0);
                assert!(list[..len].iter().enumerate().all(|(index, &value)| value == index as f32));
            }
        }
    }
}
