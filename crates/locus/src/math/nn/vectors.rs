//! Lines of panels as vectors of two numbers or more: their linear combinations, and how far apart they are.

use multiversion::multiversion;

use super::product::{Add, Store, product};
use super::{LANES, Lines, LinesMut};

/// `yᵢ = Σⱼ weights[j, i]·xⱼ` for lines xⱼ and yᵢ.
pub fn combine(weights: &[f32], x: Lines<'_>, mut y: LinesMut<'_>) {
    product(weights, x, &mut y, &Store);
}

/// The same, added to what is there.
pub fn add_combined(weights: &[f32], x: Lines<'_>, mut y: LinesMut<'_>) {
    product(weights, x, &mut y, &Add);
}

/// Columns that are taken at once: so many of some dozen lines fit into the nearest cache, and sums stay short in `f32`.
const BLOCK: usize = 32 * LANES;
/// Lines whose distances from another line are computed at once.
const GROUP: usize = 4;

/// `distances[i, j] = |xᵢ − yⱼ|²`, summed in `f64` and from differences: small distances are accurate even far from 0.
///
/// The padding of all lines must be 0.
pub fn squared_distances(x: Lines<'_>, y: Lines<'_>, distances: &mut [f64]) {
    assert_eq!(x.n_columns, y.n_columns);
    assert_eq!(distances.len(), x.n_features() * y.n_features());
    distances.fill(0.0);
    add_distances(x, y, distances);
}

#[multiversion(targets = "simd")]
fn add_distances(x: Lines<'_>, y: Lines<'_>, distances: &mut [f64]) {
    let n_padded = x.n_columns.next_multiple_of(LANES).min(x.stride);
    let n_y = y.n_features();
    for start in (0..n_padded).step_by(BLOCK) {
        let end = n_padded.min(start + BLOCK);
        let block = |lines: Lines<'_>, line: usize| line * lines.stride + start..line * lines.stride + end;
        for i in 0..x.n_features() {
            let x_block = &x.data[block(x, i)];
            let row = &mut distances[i * n_y..(i + 1) * n_y];
            let mut j = 0;
            while j + GROUP <= n_y {
                let y_blocks: [&[f32]; GROUP] = std::array::from_fn(|k| &y.data[block(y, j + k)]);
                let sums = distances_of::<GROUP>(x_block, y_blocks);
                (0..GROUP).for_each(|k| row[j + k] += f64::from(sums[k]));
                j += GROUP;
            }
            while j < n_y {
                row[j] += f64::from(distances_of::<1>(x_block, [&y.data[block(y, j)]])[0]);
                j += 1;
            }
        }
    }
}

#[inline(always)]
fn distances_of<const G: usize>(x: &[f32], y: [&[f32]; G]) -> [f32; G] {
    let x = x.as_chunks::<LANES>().0;
    let y: [&[[f32; LANES]]; G] = std::array::from_fn(|k| &y[k].as_chunks().0[..x.len()]);
    let mut lanes = [[0.0_f32; LANES]; G];
    for (vector, x) in x.iter().enumerate() {
        for k in 0..G {
            for lane in 0..LANES {
                let difference = x[lane] - y[k][vector][lane];
                lanes[k][lane] += difference * difference;
            }
        }
    }
    std::array::from_fn(|k| {
        let mut sums = lanes[k];
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                sums[lane] += sums[lane + width];
            }
            width /= 2;
        }
        sums[0]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::math::nn::Panel;

    fn random(n_lines: usize, n_columns: usize, seed: u64) -> Panel {
        let mut rng = Seed::new(seed).stream("test", 0);
        let mut panel = Panel::new(n_lines, n_columns);
        for line in 0..n_lines {
            panel.line_mut(line).iter_mut().for_each(|value| *value = rng.normal() as f32);
        }
        panel
    }

    #[test]
    fn distances_and_combinations_equal_their_sums() {
        for (n_x, n_y, n_columns) in
            [(1, 1, 2), (3, 2, 16), (6, 9, 37), (5, 20, BLOCK + 50), (2, 4, 3 * BLOCK)]
        {
            let (x, y) = (random(n_x, n_columns, 1), random(n_y, n_columns, 2));
            let mut distances = vec![f64::NAN; n_x * n_y];
            squared_distances(x.all(), y.all(), &mut distances);
            for i in 0..n_x {
                for j in 0..n_y {
                    let pairs = x.line(i).iter().zip(y.line(j));
                    let expected: f64 = pairs.map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum();
                    let found = distances[i * n_y + j];
                    assert!(
                        (found / expected - 1.0).abs() < 1e-5,
                        "{n_x} {n_y} {n_columns}: {found}, {expected}"
                    );
                }
            }
            let weights: Vec<f32> = random(1, n_x * n_y, 3).line(0).to_vec();
            let mut mixed = Panel::new(n_y, n_columns);
            combine(&weights, x.all(), mixed.all_mut());
            add_combined(&weights, x.all(), mixed.all_mut());
            for j in 0..n_y {
                for column in 0..n_columns {
                    let terms = (0..n_x).map(|i| f64::from(weights[i * n_y + j] * x.line(i)[column]));
                    let expected = 2.0 * terms.sum::<f64>();
                    assert!((f64::from(mixed.line(j)[column]) - expected).abs() < 1e-4);
                }
            }
        }
    }

    /// Vectors of length 1000 that are 0.001 apart: a difference of squares would give noise.
    #[test]
    fn what_is_close_together_and_far_from_zero_is_told_apart() {
        let (mut x, mut y) = (Panel::new(1, 100), Panel::new(1, 100));
        x.line_mut(0).fill(100.0);
        y.line_mut(0).fill(100.0);
        y.line_mut(0)[7] += 1.0 / 1024.0;
        let mut distances = [0.0];
        squared_distances(x.all(), y.all(), &mut distances);
        assert_eq!(distances, [1.0 / 1024.0 / 1024.0]);
    }
}
