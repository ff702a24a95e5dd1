use super::*;
use crate::Seed;

fn random(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = Seed::new(seed).stream("test", 0);
    (0..n).map(|_| rng.normal()).collect()
}

/// A [n, n] = GGᵀ + ½I with a stride.
fn positive(n: usize, stride: usize, seed: u64) -> Vec<f64> {
    let g = random(n * n, seed);
    let mut a = vec![f64::NAN; n * stride];
    for i in 0..n {
        for j in 0..n {
            let sum: f64 = (0..n).map(|k| g[i * n + k] * g[j * n + k]).sum();
            a[i * stride + j] = sum + if i == j { 0.5 } else { 0.0 };
        }
    }
    a
}

/// Sizes around tiles, vectors and blocks.
const SIZES: [usize; 9] = [1, 2, 7, 13, 31, 32, 33, 70, 101];

#[test]
fn products_equal_their_sums() {
    for (n_lines, k, n_columns) in [(1, 1, 1), (3, 5, 7), (12, 4, 16), (13, 9, 35), (30, 40, 8), (29, 33, 50)]
    {
        let (w_stride, x_stride, y_stride) = (n_lines.max(k) + 3, n_columns + 1, n_columns + 2);
        let (w, x) = (random(n_lines.max(k) * w_stride, 1), random(k * x_stride, 2));
        let start = random(n_lines * y_stride, 3);
        let weights = Rows { data: &w, stride: w_stride };
        for (weights, is_by_line) in [(Weights::ByLine(weights), true), (Weights::ByInput(weights), false)] {
            let mut y = start.clone();
            let x_rows = Rows { data: &x, stride: x_stride };
            add_product(-0.5, weights, k, x_rows, (&mut y, y_stride), (n_lines, n_columns));
            for line in 0..n_lines {
                for column in 0..y_stride {
                    let weight =
                        |i: usize| if is_by_line { w[line * w_stride + i] } else { w[i * w_stride + line] };
                    let sum: f64 = match column < n_columns {
                        true => (0..k).map(|i| weight(i) * x[i * x_stride + column]).sum(),
                        false => 0.0,
                    };
                    let (found, expected) =
                        (y[line * y_stride + column], start[line * y_stride + column] - 0.5 * sum);
                    assert!(
                        (found - expected).abs() < 1e-12,
                        "{n_lines} {k} {n_columns}: {found}, {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn factors_multiply_to_what_they_were_made_of() {
    for n in SIZES {
        let stride = n + 3;
        let a = positive(n, stride, n as u64);
        let mut r = a.clone();
        assert_eq!(factor(&mut r, stride, n, 1e-9), 0);
        for i in 0..n {
            for j in i..n {
                let found: f64 = (0..=i).map(|k| r[k * stride + i] * r[k * stride + j]).sum();
                assert!((found - a[i * stride + j]).abs() < 1e-10 * n as f64, "{n}: {found}");
            }
        }
        // The same, a row and a column at a time.
        let mut grown = vec![f64::NAN; n * stride];
        for k in 0..n {
            let mut column: Vec<f64> = (0..k).map(|i| a[i * stride + k]).collect();
            assert!(!append(&mut grown, stride, k, &mut column, a[k * stride + k], 1e-9));
        }
        for i in 0..n {
            for j in i..n {
                assert!((grown[i * stride + j] - r[i * stride + j]).abs() < 1e-10, "{n}: {i} {j}");
            }
        }
    }
}

#[test]
fn solutions_solve() {
    for (n, m) in SIZES.into_iter().zip([3, 1, 8, 20, 9, 2, 17, 16, 5]) {
        let stride = n + 1;
        let mut r = positive(n, stride, n as u64);
        factor(&mut r, stride, n, 1e-9);
        let b = random(n * m, 4);
        let (mut transposed, mut plain) = (b.clone(), b.clone());
        solve_transposed(&r, stride, n, &mut transposed, m);
        solve(&r, stride, n, &mut plain, m);
        for column in 0..m {
            let take = |x: &[f64]| -> Vec<f64> { (0..n).map(|i| x[i * m + column]).collect() };
            let (mut one_transposed, mut one) = (take(&b), take(&b));
            solve_transposed_vector(&r, stride, n, &mut one_transposed);
            solve_vector(&r, stride, n, &mut one);
            let (transposed, plain) = (take(&transposed), take(&plain));
            for i in 0..n {
                assert!(
                    (one_transposed[i] - transposed[i]).abs() < 1e-9 * (1.0 + transposed[i].abs()),
                    "{n} {i}"
                );
                assert!((one[i] - plain[i]).abs() < 1e-9 * (1.0 + plain[i].abs()), "{n} {i}");
                let sum: f64 = (0..=i).map(|k| r[k * stride + i] * transposed[k]).sum();
                assert!((sum - b[i * m + column]).abs() < 1e-9, "{n} {i}");
                let sum: f64 = (i..n).map(|k| r[i * stride + k] * plain[k]).sum();
                assert!((sum - b[i * m + column]).abs() < 1e-8, "{n} {i}: {sum}");
            }
        }
    }
}

/// Two equal rows: the second pivot is nothing but rounding, and is held.
#[test]
fn pivots_below_the_floor_are_held_and_counted() {
    let mut a = [4.0, 4.0, 4.0, 4.0];
    assert_eq!(factor(&mut a, 2, 2, 0.25), 1);
    assert_eq!([a[0], a[1], a[3]], [2.0, 2.0, 0.5]);
    let mut r = [2.0, 0.0, 0.0, 0.0];
    assert!(append(&mut r, 2, 1, &mut [4.0], 4.0, 0.25));
    assert_eq!([r[0], r[1], r[3]], [2.0, 2.0, 0.5]);
}

#[test]
fn eigenvectors_are_orthogonal_and_give_the_matrix() {
    for n in SIZES {
        let g = random(n * n, 7 + n as u64);
        let symmetric: Vec<f64> = (0..n * n).map(|place| g[place] + g[place % n * n + place / n]).collect();
        let identity: Vec<f64> =
            (0..n * n).map(|place| f64::from(u8::from(place % n == place / n))).collect();
        for a in [symmetric, identity, vec![0.3; n * n]] {
            let mut eigen = Eigen::default();
            assert!(decompose(&mut a.clone(), n, &mut eigen), "{n}");
            for i in 0..n {
                for j in 0..n {
                    let component = |k: usize, i: usize| eigen.vectors[k * n + i];
                    let product: f64 = (0..n).map(|k| component(i, k) * component(j, k)).sum();
                    assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12, "{n}: {i} {j} {product}");
                    let entry: f64 =
                        (0..n).map(|k| eigen.values[k] * component(k, i) * component(k, j)).sum();
                    assert!((entry - a[i * n + j]).abs() < 1e-11, "{n}: {i} {j} {entry}");
                }
            }
        }
    }
    assert!(!decompose(&mut [1.0, f64::NAN, f64::NAN, 1.0], 2, &mut Eigen::default()));
}

#[test]
fn a_mirrored_matrix_is_symmetric() {
    let mut a = [1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 0.0, 0.0, 6.0];
    mirror(&mut a, 3);
    assert_eq!(a, [1.0, 2.0, 3.0, 2.0, 4.0, 5.0, 3.0, 5.0, 6.0]);
}
