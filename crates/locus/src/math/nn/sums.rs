//! Sums over lines, in as many lanes as a vector has: the same bits on every instruction set.

use multiversion::multiversion;

use super::panel::LANES;

/// Σ x
#[multiversion(targets = "simd")]
pub fn sum(line: &[f32]) -> f32 {
    let (blocks, rest) = line.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for block in blocks {
        for lane in 0..LANES {
            lanes[lane] += block[lane];
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

/// Σ x²
#[multiversion(targets = "simd")]
pub fn sum_of_squares(line: &[f32]) -> f32 {
    let (blocks, rest) = line.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for block in blocks {
        for lane in 0..LANES {
            lanes[lane] += block[lane] * block[lane];
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|x| x * x).sum::<f32>()
}

/// Adds every block of `places.len()` values to the places.
#[multiversion(targets = "simd")]
pub(super) fn add_blocks(places: &mut [f32], line: &[f32]) {
    if let Ok(places) = <&mut [f32; LANES]>::try_from(&mut *places) {
        let mut lanes = *places;
        for block in line.as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                lanes[lane] += block[lane];
            }
        }
        *places = lanes;
    } else {
        for block in line.chunks(places.len()) {
            for (place, value) in places.iter_mut().zip(block) {
                *place += value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, so that every order of the sum gives the same.
    #[test]
    fn sums_are_exact_for_any_length() {
        for n in [0, 1, 15, 16, 17, 100] {
            let line: Vec<f32> = (1..=n).map(|x| x as f32).collect();
            assert_eq!(sum(&line), (n * (n + 1) / 2) as f32);
            assert_eq!(sum_of_squares(&line), (n * (n + 1) * (2 * n + 1) / 6) as f32);
        }
        for (n_places, n_blocks) in [(16, 3), (5, 4), (48, 1)] {
            let line: Vec<f32> = (0..n_places * n_blocks).map(|x| x as f32).collect();
            let mut places = vec![1.0; n_places];
            add_blocks(&mut places, &line);
            for (index, place) in places.iter().enumerate() {
                let expected: usize = (0..n_blocks).map(|block| block * n_places + index).sum();
                assert_eq!(*place, 1.0 + expected as f32);
            }
        }
    }
}
