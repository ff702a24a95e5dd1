//! Loops along a row, compiled for several instruction sets. No sum is reordered between them, so all give the same bits.

use multiversion::multiversion;

const LANES: usize = 8;

/// Σ xᵢyᵢ
#[multiversion(targets = "simd")]
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let y = &y[..x.len()];
    let (x_blocks, x_rest) = x.as_chunks::<LANES>();
    let (y_blocks, y_rest) = y.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (x, y) in x_blocks.iter().zip(y_blocks) {
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    lanes.iter().sum::<f64>() + x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum::<f64>()
}

/// y += scale·x
#[multiversion(targets = "simd")]
pub fn add_scaled(scale: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += scale * x;
    }
}
