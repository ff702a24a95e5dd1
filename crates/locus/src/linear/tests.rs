//! Against the formulas as written, computed the naive way.

use proptest::prelude::*;

use super::*;
use crate::{Rng, Seed};

const PRIOR: LinearPrior = LinearPrior { precision: 0.25, shape: 6.0, rate: 6.0 };

/// Λ, μ and b by the formulas of the module, by Gauss–Jordan elimination.
struct Direct {
    covariance: Vec<Vec<f64>>,
    mean: Vec<f64>,
    rate: f64,
}

impl Direct {
    fn new(rows: &[(Vec<f64>, f64)], dim: usize, prior: LinearPrior) -> Self {
        let mut precision = vec![vec![0.0; dim]; dim];
        let mut moments = vec![0.0; dim];
        let mut squares = 0.0;
        (0..dim).for_each(|i| precision[i][i] = prior.precision);
        for (x, y) in rows {
            squares += y * y;
            for i in 0..dim {
                moments[i] += x[i] * y;
                (0..dim).for_each(|j| precision[i][j] += x[i] * x[j]);
            }
        }
        let covariance = invert(precision);
        let mean: Vec<f64> = covariance.iter().map(|row| product(row, &moments)).collect();
        let rate = prior.rate + 0.5 * (squares - product(&mean, &moments));
        Self { covariance, mean, rate }
    }

    fn leverage(&self, x: &[f64]) -> f64 {
        let row: Vec<f64> = self.covariance.iter().map(|row| product(row, x)).collect();
        product(&row, x)
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn invert(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let dim = matrix.len();
    for (i, row) in matrix.iter_mut().enumerate() {
        row.extend((0..dim).map(|j| if i == j { 1.0 } else { 0.0 }));
    }
    for pivot in 0..dim {
        let swap = (pivot..dim).max_by(|&a, &b| matrix[a][pivot].abs().total_cmp(&matrix[b][pivot].abs()));
        matrix.swap(pivot, swap.unwrap());
        let scale = matrix[pivot][pivot];
        matrix[pivot].iter_mut().for_each(|entry| *entry /= scale);
        let pivot_row = matrix[pivot].clone();
        for row in (0..dim).filter(|&row| row != pivot) {
            let factor = matrix[row][pivot];
            matrix[row].iter_mut().zip(&pivot_row).for_each(|(entry, above)| *entry -= factor * above);
        }
    }
    matrix.into_iter().map(|row| row[dim..].to_vec()).collect()
}

fn posterior(rows: &[(Vec<f64>, f64)], dim: usize, prior: LinearPrior) -> LinearPosterior {
    let mut posterior = LinearPosterior::new(dim, prior);
    rows.iter().for_each(|(x, y)| posterior.observe(x, *y));
    posterior
}

fn is_close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #[test]
    fn agrees_with_the_direct_formula(
        rows in (1_usize..12).prop_flat_map(|dim| {
            let row = (prop::collection::vec(-3.0_f64..3.0, dim), -50.0_f64..50.0);
            (Just(dim), prop::collection::vec(row, 0..40))
        }),
        precision in 0.1_f64..10.0,
    ) {
        let (dim, rows) = rows;
        let prior = LinearPrior { precision, ..PRIOR };
        let (ours, direct) = (posterior(&rows, dim, prior), Direct::new(&rows, dim, prior));
        for i in 0..dim {
            prop_assert!(is_close(ours.mean()[i], direct.mean[i], 1e-9), "mean {i}: {} {}", ours.mean()[i], direct.mean[i]);
        }
        prop_assert!(is_close(ours.noise_rate(), direct.rate, 1e-9), "{} {}", ours.noise_rate(), direct.rate);
        prop_assert_eq!(ours.noise_shape(), 6.0 + rows.len() as f64 / 2.0);
        let x: Vec<f64> = (0..dim).map(|i| 1.5 - i as f64).collect();
        let leverage = ours.leverage(&x, &mut vec![0.0; dim]);
        prop_assert!(is_close(leverage, direct.leverage(&x), 1e-9), "{leverage} {}", direct.leverage(&x));
        prop_assert!(leverage <= ours.leverage_bound(&x));
    }

    /// Orders of the same observations give the same posterior.
    #[test]
    fn order_does_not_matter(rows in prop::collection::vec((prop::collection::vec(-3.0_f64..3.0, 4), -5.0_f64..5.0), 1..30)) {
        let forward = posterior(&rows, 4, PRIOR);
        let backward = posterior(&rows.iter().rev().cloned().collect::<Vec<_>>(), 4, PRIOR);
        for i in 0..4 {
            prop_assert!(is_close(forward.mean()[i], backward.mean()[i], 1e-11));
        }
        prop_assert!(is_close(forward.noise_rate(), backward.noise_rate(), 1e-11));
    }
}

/// Feature scales from 1e-6 to 1e6, a duplicate, a sum of others, a constant and a zero column, 10⁶ updates.
#[test]
fn stays_positive_definite_over_a_million_updates() {
    const DIM: usize = 12;
    let mut rng = Seed::new(4).stream("test", 0);
    let mut posterior = LinearPosterior::new(DIM, PRIOR);
    let mut work = [0.0; DIM];
    let features = |rng: &mut Rng| {
        let mut x = [0.0; DIM];
        for (i, place) in x[..8].iter_mut().enumerate() {
            *place = rng.normal() * 10_f64.powf(-6.0 + 12.0 * i as f64 / 7.0);
        }
        x[8] = x[4];
        x[9] = x[3] + x[5];
        x[10] = 1.0;
        x
    };
    for n in 1..=1_000_000_u32 {
        let x = features(&mut rng);
        let target = 2.0 * x[4] - 3.0 + 0.1 * rng.normal();
        posterior.observe(&x, target);
        if n.is_power_of_two() || n == 1_000_000 {
            assert!(posterior.triangle.is_sound(), "after {n}");
            let x = features(&mut rng);
            let leverage = posterior.leverage(&x, &mut work);
            assert!(leverage > 0.0 && leverage.is_finite(), "leverage {leverage} after {n}");
        }
    }
    let x = features(&mut rng);
    let error = posterior.predict(&x) - (2.0 * x[4] - 3.0);
    assert!(error.abs() < 1e-2, "{error}");
    let noise_std = (posterior.noise_rate() / posterior.noise_shape()).sqrt();
    assert!((noise_std - 0.1).abs() < 1e-3, "{noise_std}");
}

/// The rate is a difference of two sums of 1e20 here, which the formula as written gets wrong by thousands.
#[test]
fn the_rate_does_not_cancel() {
    let mut rng = Seed::new(5).stream("test", 0);
    let mut posterior = LinearPosterior::new(2, LinearPrior { precision: 1e-16, ..PRIOR });
    for _ in 0..100_000 {
        let x = [rng.normal(), 1.0];
        posterior.observe(&x, 1e8 * x[0] + 1e8 + 0.5 * rng.normal());
    }
    let noise_variance = posterior.noise_rate() / posterior.noise_shape();
    // The estimate has a relative standard deviation of √(2/100 000) = 0.45 %.
    assert!((noise_variance / 0.25 - 1.0).abs() < 0.025, "{noise_variance}");
}

/// Mean and covariance of 200 000 draws against the closed form: β is t-distributed with 2a degrees of freedom,
/// scale (b/a)Λ⁻¹, so its covariance is b/(a−1)·Λ⁻¹. Bounds are six standard errors: by chance once in 10⁷ seeds.
#[test]
fn draws_have_the_closed_form_mean_and_covariance() {
    const DIM: usize = 3;
    const N_DRAWS: usize = 200_000;
    let mut rng = Seed::new(6).stream("test", 0);
    let rows: Vec<(Vec<f64>, f64)> =
        (0..8).map(|_| (vec![rng.normal(), 2.0 * rng.normal(), 1.0], 3.0 * rng.normal())).collect();
    let (ours, direct) = (posterior(&rows, DIM, PRIOR), Direct::new(&rows, DIM, PRIOR));
    let shape = ours.noise_shape();
    let scale = direct.rate / (shape - 1.0);
    let mut sums = [0.0; DIM];
    let mut squares = [[0.0; DIM]; DIM];
    let mut coefficients = [0.0; DIM];
    for _ in 0..N_DRAWS {
        let noise_variance = ours.sample_noise_variance(&mut rng);
        ours.sample_coefficients(noise_variance, &mut rng, &mut coefficients);
        for i in 0..DIM {
            let deviation = coefficients[i] - direct.mean[i];
            sums[i] += deviation;
            for j in 0..DIM {
                squares[i][j] += deviation * (coefficients[j] - direct.mean[j]);
            }
        }
    }
    let n = N_DRAWS as f64;
    let std = |i: usize| (scale * direct.covariance[i][i]).sqrt();
    for i in 0..DIM {
        assert!((sums[i] / n).abs() < 6.0 * std(i) / n.sqrt(), "mean of coefficient {i}");
        for (j, square) in squares[i].iter().enumerate() {
            let expected = scale * direct.covariance[i][j];
            let found = square / n;
            // With 20 degrees of freedom a product's variance is below 3·(a−1)/(a−2) ≤ 3.5 of its scale squared.
            let bound = 6.0 * (3.5_f64).sqrt() * std(i) * std(j) / n.sqrt();
            assert!((found - expected).abs() < bound, "covariance {i} {j}: {found}, expected {expected}");
        }
    }
}

/// Before any observation the bound is exact, so rounding alone would put about half of all leverages above it.
#[test]
fn the_bound_on_the_leverage_holds_whatever_the_rounding() {
    let mut rng = Seed::new(11).stream("test", 0);
    let mut n_equal = 0;
    for precision in [0.25, 0.3, 1.7, 1e-3] {
        let posterior = LinearPosterior::new(5, LinearPrior { precision, ..PRIOR });
        for _ in 0..200 {
            let x: Vec<f64> = (0..5).map(|_| rng.normal()).collect();
            let (leverage, bound) = (posterior.leverage(&x, &mut [0.0; 5]), posterior.leverage_bound(&x));
            assert!(leverage <= bound, "{leverage} {bound}");
            n_equal += usize::from(leverage == bound);
        }
    }
    assert!(n_equal > 200, "the bound was reached {n_equal} times of 800");
}

/// Kernels give the same bits as the same loops without vectors.
#[test]
fn vectors_do_not_change_a_bit() {
    let dim = 37;
    let mut rng = Seed::new(7).stream("test", 0);
    let mut ours = LinearPosterior::new(dim, PRIOR);
    let mut rows: Vec<Vec<f64>> = (0..dim).map(|_| vec![0.0; dim + 1]).collect();
    (0..dim).for_each(|i| rows[i][i] = PRIOR.precision.sqrt());
    for _ in 0..60 {
        let x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        let y = rng.normal();
        ours.observe(&x, y);
        let mut new: Vec<f64> = x.into_iter().chain([y]).collect();
        for i in 0..dim {
            let diagonal = std::hint::black_box(rows[i][i] * rows[i][i] + new[i] * new[i]).sqrt();
            let (cos, sin) = (rows[i][i] / diagonal, new[i] / diagonal);
            for j in i..=dim {
                let (above, below) = std::hint::black_box((rows[i][j], new[j]));
                rows[i][j] = cos * above + sin * below;
                new[j] = cos * below - sin * above;
            }
            rows[i][i] = diagonal;
        }
    }
    let expected: Vec<f64> = rows.iter().enumerate().flat_map(|(i, row)| row[i..].to_vec()).collect();
    assert_eq!(ours.triangle.entries(), expected);
}
