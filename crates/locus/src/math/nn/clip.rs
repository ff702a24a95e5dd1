//! Gradient clipping.

use multiversion::multiversion;

/// Clips the norm of all gradients, as one vector, to `limit`; returns the norm before.
///
/// If the norm is not finite, the gradients do not change.
pub fn clip_by_global_norm(gradients: &mut [f32], limit: f64) -> f64 {
    let norm = sum_of_squares(gradients).sqrt();
    if norm > limit && norm.is_finite() {
        let factor = (limit / norm) as f32;
        gradients.iter_mut().for_each(|gradient| *gradient *= factor);
    }
    norm
}

#[multiversion(targets = "simd")]
fn sum_of_squares(values: &[f32]) -> f64 {
    let (chunks, rest) = values.as_chunks::<16>();
    let mut lanes = [0.0_f64; 16];
    for chunk in chunks {
        for lane in 0..16 {
            let value = f64::from(chunk[lane]);
            lanes[lane] += value * value;
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_gradients_keep_their_direction_and_short_ones_all() {
        let original: Vec<f32> = (0..37).map(|i| (i as f32 - 11.0) * 0.3).collect();
        let norm = original.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>().sqrt();
        let mut clipped = original.clone();
        assert!((clip_by_global_norm(&mut clipped, 5.0) - norm).abs() < 1e-9 * norm);
        for (clipped, original) in clipped.iter().zip(&original) {
            assert!((f64::from(*clipped) - f64::from(*original) * 5.0 / norm).abs() < 1e-6);
        }
        let mut kept = original.clone();
        clip_by_global_norm(&mut kept, norm * 1.001);
        assert_eq!(kept, original);
    }

    /// Squares of single precision would be infinite here.
    #[test]
    fn lengths_that_overflow_are_seen_and_others_do_not_overflow() {
        let mut large = [3e30_f32, -4e30];
        assert!((clip_by_global_norm(&mut large, 5.0) / 5e30 - 1.0).abs() < 1e-6);
        assert!((large[0] - 3.0).abs() < 1e-5 && (large[1] + 4.0).abs() < 1e-5, "{large:?}");
        let mut infinite = [1.0, f32::INFINITY];
        assert_eq!(clip_by_global_norm(&mut infinite, 5.0), f64::INFINITY);
        assert_eq!(infinite, [1.0, f32::INFINITY]);
        assert!(clip_by_global_norm(&mut [1.0, f32::NAN], 5.0).is_nan());
    }
}
