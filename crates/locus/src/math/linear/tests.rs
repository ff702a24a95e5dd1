//! Against the formulas as written, computed the naive way.

use proptest::prelude::*;

use super::*;
use crate::math::decay::DecayBlocks;
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
        let rows: Vec<_> = rows.iter().map(|(x, y)| (x.clone(), *y, 1.0)).collect();
        Self::weighted(&rows, dim, prior)
    }

    /// Λ = λI + Σ w·xxᵀ, Λμ = Σ w·xy and b = b₀ + ½(Σ w·y² − μᵀΛμ).
    fn weighted(rows: &[(Vec<f64>, f64, f64)], dim: usize, prior: LinearPrior) -> Self {
        let mut precision = vec![vec![0.0; dim]; dim];
        let mut moments = vec![0.0; dim];
        let mut squares = 0.0;
        (0..dim).for_each(|i| precision[i][i] = prior.precision);
        for (x, y, weight) in rows {
            squares += weight * y * y;
            for i in 0..dim {
                moments[i] += weight * x[i] * y;
                (0..dim).for_each(|j| precision[i][j] += weight * x[i] * x[j]);
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

    /// Weights of any size, one by one and in blocks.
    #[test]
    fn weighted_observations_agree_with_the_direct_formula(
        rows in (1_usize..9).prop_flat_map(|dim| {
            let row = (prop::collection::vec(-3.0_f64..3.0, dim), -5.0_f64..5.0, 0.01_f64..20.0);
            (Just(dim), prop::collection::vec(row, 1..90))
        }),
    ) {
        let (dim, rows) = rows;
        let direct = Direct::weighted(&rows, dim, PRIOR);
        let (mut one_by_one, mut in_blocks) = (LinearPosterior::new(dim, PRIOR), LinearPosterior::new(dim, PRIOR));
        let mut block = Block::new(dim);
        for (x, y, weight) in &rows {
            one_by_one.observe_weighted(x, *y, *weight);
            block.push_weighted(x.iter().copied(), *y, *weight);
            if block.is_full() {
                in_blocks.observe_block(&mut block);
            }
        }
        in_blocks.observe_block(&mut block);
        let n: f64 = rows.iter().map(|(_, _, weight)| weight).sum();
        let x: Vec<f64> = (0..dim).map(|i| 1.5 - i as f64).collect();
        for ours in [one_by_one, in_blocks] {
            for i in 0..dim {
                prop_assert!(is_close(ours.mean()[i], direct.mean[i], 1e-9), "mean {i}: {} {}", ours.mean()[i], direct.mean[i]);
            }
            prop_assert!(is_close(ours.noise_rate(), direct.rate, 1e-9), "{} {}", ours.noise_rate(), direct.rate);
            prop_assert!(is_close(ours.noise_shape(), 6.0 + n / 2.0, 1e-12));
            let leverage = ours.leverage(&x, &mut vec![0.0; dim]);
            prop_assert!(is_close(leverage, direct.leverage(&x), 1e-9), "{leverage} {}", direct.leverage(&x));
        }
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

/// Blocks of every fill, zero columns and a feature that doubles another among them.
/// The same coefficients to the bit, since a column never depends on those after it; the residual is added up otherwise.
#[test]
fn the_first_features_alone_are_known_without_taking_in_anything_again() {
    let mut rng = Seed::new(13).stream("test", 0);
    let rows: Vec<(Vec<f64>, f64)> =
        (0..40).map(|_| ((0..7).map(|_| rng.normal()).collect(), 3.0 * rng.normal())).collect();
    let whole = posterior(&rows, 7, PRIOR);
    for dim in [1, 4, 7] {
        let cut: Vec<(Vec<f64>, f64)> = rows.iter().map(|(x, y)| (x[..dim].to_vec(), *y)).collect();
        let (found, expected) = (whole.leading(dim), posterior(&cut, dim, PRIOR));
        assert_eq!((found.mean(), found.noise_shape()), (expected.mean(), expected.noise_shape()));
        assert!((found.noise_rate() - expected.noise_rate()).abs() < 1e-10, "{dim} features");
        let (x, mut work) = (vec![0.7; dim], vec![0.0; dim]);
        assert_eq!(found.leverage(&x, &mut work), expected.leverage(&x, &mut work));
    }
}

/// Two features that were always 0 can be put anywhere among three that were not: as if they had been there all along.
#[test]
fn features_that_were_always_0_can_be_put_among_the_others_later() {
    let prior = LinearPrior { precision: 0.3, shape: 2.0, rate: 1.5 };
    let (mut narrow, mut wide) = (LinearPosterior::new(3, prior), LinearPosterior::new(5, prior));
    let mut rng = Seed::new(4).stream("test", 0);
    for _ in 0..20 {
        let [x, y, z, target] = [(); 4].map(|()| rng.normal());
        narrow.observe(&[x, y, z], target);
        wide.observe(&[0.0, x, 0.0, y, z], target);
    }
    let mut found = narrow.with_features_at([1, 3, 4].into_iter(), 5);
    for _ in 0..2 {
        let features = [0.7, -1.1, 2.0, 0.4, 1.3];
        let [found_leverage, expected_leverage] =
            [&found, &wide].map(|posterior| posterior.leverage(&features, &mut [0.0; 5]));
        assert!(is_close(found_leverage, expected_leverage, 1e-12), "{found_leverage} {expected_leverage}");
        for (found, expected) in found.mean().iter().zip(wide.mean()) {
            assert!(is_close(*found, *expected, 1e-12), "{found} {expected}");
        }
        assert!(is_close(found.noise_rate(), wide.noise_rate(), 1e-12));
        assert_eq!(found.noise_shape(), wide.noise_shape());
        // And from there on.
        [&mut found, &mut wide].into_iter().for_each(|posterior| posterior.observe(&features, 3.0));
    }
}

#[test]
fn blocks_give_what_single_observations_give() {
    for (dim, n_rows) in [(1, 3), (7, 0), (5, 64), (13, 1), (50, 300), (20, 65)] {
        let mut rng = Seed::new(12).stream("test", n_rows as u64);
        let mut rows: Vec<(Vec<f64>, f64)> = (0..n_rows)
            .map(|_| ((0..dim).map(|_| rng.normal().max(0.0)).collect(), 100.0 * rng.normal()))
            .collect();
        if dim > 4 {
            for (row, (x, _)) in rows.iter_mut().enumerate() {
                x[2] = 0.0;
                x[3] = 2.0 * x[1];
                x[4] = if row == 1 { 1e6 } else { 0.0 };
            }
        }
        let one_by_one = posterior(&rows, dim, PRIOR);
        let mut at_once = LinearPosterior::new(dim, PRIOR);
        let mut block = Block::new(dim);
        // Single observations may come before blocks.
        let n_single = n_rows / 10;
        rows[..n_single].iter().for_each(|(x, y)| at_once.observe(x, *y));
        for (x, y) in &rows[n_single..] {
            block.push(x.iter().copied(), *y);
            if block.is_full() {
                at_once.observe_block(&mut block);
            }
        }
        at_once.observe_block(&mut block);
        assert_eq!(block.len(), 0);
        assert!(at_once.triangle.is_sound());
        assert_eq!(at_once.noise_shape(), one_by_one.noise_shape());
        let close = |a: f64, b: f64| {
            assert!((a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-3), "{dim} {n_rows}: {a} {b}")
        };
        close(at_once.noise_rate(), one_by_one.noise_rate());
        at_once.mean().iter().zip(one_by_one.mean()).for_each(|(a, b)| close(*a, *b));
        at_once.triangle.entries().iter().zip(one_by_one.triangle.entries()).for_each(|(a, b)| close(*a, *b));
    }
}

/// Triangles that fill less than a block, one and several; a zero column and a feature that doubles another among them.
#[test]
fn what_is_forgotten_is_as_if_it_had_counted_less_all_along() {
    for (dim, n_rows) in [(1, 3), (5, 2), (13, 40), (64, 100), (70, 20), (130, 200)] {
        let mut rng = Seed::new(21).stream("test", dim as u64);
        let rows: Vec<(Vec<f64>, f64, f64)> = (0..n_rows)
            .map(|_| {
                let mut x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
                if dim > 4 {
                    x[2] = 0.0;
                    x[4] = 2.0 * x[1];
                }
                (x, 3.0 * rng.normal(), 0.5 + rng.uniform())
            })
            .collect();
        let (mut found, mut room) = (LinearPosterior::new(dim, PRIOR), Block::new(dim));
        let mut counting = vec![0.0; n_rows];
        let kept = [0.9, 0.5, 0.9999];
        for (row, (x, y, weight)) in rows.iter().enumerate() {
            found.observe_weighted(x, *y, *weight);
            counting[row] = *weight;
            let kept = kept[row % 3];
            if row % 2 == 0 {
                found.forget(Remainder { kept, lost: 1.0 - kept }, &mut room);
                counting.iter_mut().for_each(|weight| *weight *= kept);
            }
        }
        let rows: Vec<(Vec<f64>, f64, f64)> =
            rows.into_iter().zip(&counting).map(|((x, y, _), weight)| (x, y, *weight)).collect();
        let direct = Direct::weighted(&rows, dim, PRIOR);
        let shape = PRIOR.shape + 0.5 * counting.iter().sum::<f64>();
        assert!(is_close(found.noise_shape(), shape, 1e-12), "{dim}");
        assert!(is_close(found.noise_rate(), direct.rate, 1e-9), "{dim}: {}", found.noise_rate());
        let size = direct.mean.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        for (found, expected) in found.mean().iter().zip(&direct.mean) {
            assert!((found - expected).abs() < 1e-9 * size, "{dim}: {found}, {expected}");
        }
        let x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        let leverage = found.leverage(&x, &mut vec![0.0; dim]);
        assert!(is_close(leverage, direct.leverage(&x), 1e-9), "{dim}: {leverage}");
    }
}

/// Copies of a feature, features of 1e-6 to 1e38, and long times in which nothing, or the same context alone, is observed.
#[test]
fn stays_positive_definite_over_a_million_observations_that_are_forgotten() {
    const DIM: usize = 3;
    for (half_life, prior) in [(1.0, PRIOR), (40.0, PRIOR), (1e6, LinearPrior { precision: 1e-10, ..PRIOR })]
    {
        let mut rng = Seed::new(22).stream("test", 0);
        let mut posterior = LinearPosterior::new(DIM, prior);
        let (mut blocks, mut room) = (DecayBlocks::new(half_life, DIM), Block::new(DIM));
        let (mut work, least) = ([0.0; DIM], prior.precision.sqrt());
        for n in 0..1_000_000_u32 {
            let z = rng.normal();
            let x = match n / 1000 % 5 {
                0 => [1e-6 * z, 1e6, rng.normal()],
                1 => [z, z, 2.0 * z],
                2 => [3e38, -3e38, 1.0],
                3 => [1.0, 1.0, 1.0],
                _ => [0.0; DIM],
            };
            posterior.observe_weighted(&x, 100.0 * z, blocks.factor(0));
            if let Some(remainder) = blocks.count(1) {
                posterior.forget(remainder, &mut room);
            }
            if n % 97 == 0 {
                assert!(posterior.triangle.is_sound(), "after {n}: {posterior:?}");
                let leverage = posterior.leverage(&x, &mut work);
                assert!(leverage.is_finite() && posterior.noise_rate() >= prior.rate, "after {n}");
                let entries = posterior.triangle.entries();
                for diagonal in [entries[0], entries[4], entries[7]] {
                    assert!(diagonal > least * (1.0 - 1e-9), "after {n}: {entries:?}");
                }
            }
        }
        if half_life < 1e3 {
            // What is never observed again returns to the prior.
            let mut n_blocks = 0;
            while !posterior.is_prior() {
                (0..blocks.n_left()).for_each(|_| {
                    if let Some(remainder) = blocks.count(1) {
                        posterior.forget(remainder, &mut room);
                    }
                });
                n_blocks += 1;
                assert!(posterior.triangle.is_sound() && n_blocks < 10_000);
            }
            let fresh = LinearPosterior::new(DIM, prior);
            assert_eq!(posterior.triangle.entries(), fresh.triangle.entries());
            assert_eq!((posterior.mean(), posterior.noise_rate()), (fresh.mean(), fresh.noise_rate()));
        }
    }
}

/// Shortly before a posterior is taken for the prior, it is the prior but for rounding.
#[test]
fn what_fades_comes_to_the_prior_by_itself() {
    let mut posterior = LinearPosterior::new(2, PRIOR);
    for context in [[3e38, 1.0], [-1e30, 1.0], [3e38, 0.0]] {
        posterior.observe(&context, 3e38);
    }
    let mut room = Block::new(2);
    while posterior.n_observed > 1e-99 {
        posterior.forget(Remainder { kept: 0.5, lost: 0.5 }, &mut room);
    }
    let fresh = LinearPosterior::new(2, PRIOR);
    for (found, expected) in posterior.triangle.entries().iter().zip(fresh.triangle.entries()) {
        assert!((found - expected).abs() < 1e-9, "{posterior:?}");
    }
    assert!((posterior.noise_rate() / PRIOR.rate - 1.0).abs() < 1e-9, "{posterior:?}");
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn a_full_block_takes_no_more() {
    let mut block = Block::new(1);
    (0..=Block::ROWS).for_each(|_| block.push([1.0].into_iter(), 0.0));
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
    let (mut in_blocks, mut block) = (posterior.clone(), Block::new(2));
    for _ in 0..100_000 {
        let x = [rng.normal(), 1.0];
        let target = 1e8 * x[0] + 1e8 + 0.5 * rng.normal();
        posterior.observe(&x, target);
        block.push(x.into_iter(), target);
        if block.is_full() {
            in_blocks.observe_block(&mut block);
        }
    }
    for posterior in [posterior, in_blocks] {
        let noise_variance = posterior.noise_rate() / posterior.noise_shape();
        // The estimate has a relative standard deviation of √(2/100 000) = 0.45 %.
        assert!((noise_variance / 0.25 - 1.0).abs() < 0.025, "{noise_variance}");
    }
}

/// Mean and covariance of 200 000 draws against the closed form: β is t-distributed with 2a degrees of freedom,
/// scale (b/a)Λ⁻¹, so its covariance is b/(a−1)·Λ⁻¹. Bounds are six standard errors; false alarms for one seed in 10⁷.
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

/// The same for blocks: sums over eight lanes, as vectors have them, and nothing fused.
#[test]
fn vectors_do_not_change_a_bit_of_a_block() {
    const DIM: usize = 11;
    let mut rng = Seed::new(13).stream("test", 0);
    let mut ours = LinearPosterior::new(DIM, PRIOR);
    let mut block = Block::new(DIM);
    let rows: Vec<Vec<f64>> = (0..21).map(|_| (0..=DIM).map(|_| rng.normal()).collect()).collect();
    rows.iter().for_each(|row| block.push(row[..DIM].iter().copied(), row[DIM]));
    ours.observe_block(&mut block);

    let dot = |a: &[f64], b: &[f64]| {
        let mut lanes = [0.0; 8];
        for (place, (a, b)) in a.iter().zip(b).enumerate() {
            lanes[place % 8] += std::hint::black_box(a * b);
        }
        let [s0, s1, s2, s3, s4, s5, s6, s7] = lanes;
        ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
    };
    let mut columns: Vec<Vec<f64>> = (0..=DIM).map(|i| rows.iter().map(|row| row[i]).collect()).collect();
    let mut expected = Vec::new();
    let start = PRIOR.precision.sqrt();
    while columns.len() > 1 {
        let column = columns.remove(0);
        let square = dot(&column, &column);
        let (norm, diagonal) = (square.sqrt(), (start * start + square).sqrt());
        let (cos, sin) = (start / diagonal, norm / diagonal);
        let versine = sin * sin / (1.0 + cos);
        expected.push(diagonal);
        for other in &mut columns {
            let along = dot(&column, other) / norm;
            let factor = -std::hint::black_box(versine * along) / norm;
            expected.push(sin * along);
            for (place, value) in other.iter_mut().zip(&column) {
                *place += std::hint::black_box(factor * value);
            }
        }
    }
    assert_eq!(ours.triangle.entries(), expected);
}

/// Each observation adds log(1 + xᵀΛ⁻¹x), whatever came before.
#[test]
fn information_grows_by_what_each_observation_could_tell() {
    let mut rng = Seed::new(4).stream("test", 0);
    let mut posterior = LinearPosterior::new(5, LinearPrior { precision: 0.3, shape: 1.0, rate: 1.0 });
    let mut expected = 0.0;
    assert!(posterior.information().abs() < 1e-12);
    for _ in 0..30 {
        let features: Vec<f64> = (0..5).map(|_| rng.normal()).collect();
        expected += (1.0 + posterior.leverage(&features, &mut [0.0; 5])).ln();
        posterior.observe(&features, rng.normal());
        assert!((posterior.information() - expected).abs() < 1e-9);
    }
}

/// Observations of weight 3 are those three times over, and they are saved.
#[test]
fn weights_are_so_many_equal_observations_and_are_saved() {
    let mut rng = Seed::new(15).stream("test", 0);
    let (mut weighted, mut repeated) = (LinearPosterior::new(6, PRIOR), LinearPosterior::new(6, PRIOR));
    for n in 0..20 {
        let x: Vec<f64> = (0..6).map(|_| rng.normal()).collect();
        let (y, weight) = (4.0 * rng.normal(), 1 + n % 4);
        weighted.observe_weighted(&x, y, f64::from(weight));
        (0..weight).for_each(|_| repeated.observe(&x, y));
    }
    weighted.observe_weighted(&[1.0; 6], 1.0, 0.375);
    repeated.observe_weighted(&[1.0; 6], 1.0, 0.375);
    let mut encoder = Encoder::default();
    weighted.encode(&mut encoder);
    let bytes = encoder.into_bytes();
    let loaded = LinearPosterior::decode(6, PRIOR, &mut Decoder::new(&bytes)).unwrap();
    assert_eq!((loaded.mean(), loaded.noise_shape()), (weighted.mean(), weighted.noise_shape()));
    let x = [0.5, -1.0, 0.3, 2.0, 0.0, 1.0];
    for ours in [weighted, loaded] {
        assert_eq!(ours.noise_shape(), repeated.noise_shape());
        assert!(is_close(ours.noise_rate(), repeated.noise_rate(), 1e-12));
        let leverages = [&ours, &repeated].map(|posterior| posterior.leverage(&x, &mut [0.0; 6]));
        assert!(is_close(leverages[0], leverages[1], 1e-12), "{leverages:?}");
        ours.mean()
            .iter()
            .zip(repeated.mean())
            .for_each(|(a, b)| assert!(is_close(*a, *b, 1e-12), "{a} {b}"));
    }
    let mut forged = bytes.clone();
    forged[..8].copy_from_slice(&(-1.0_f64).to_le_bytes());
    assert!(LinearPosterior::decode(6, PRIOR, &mut Decoder::new(&forged)).is_err());
}

/// With next to no prior, three points of a plane give its coefficients, one by one and as a block.
#[test]
fn the_mean_is_the_plane_through_the_observations() {
    let prior = LinearPrior { precision: 1e-6, shape: 6.0, rate: 6.0 };
    let observations = [([1.0, 0.0], 3.0), ([0.0, 1.0], -1.0), ([1.0, 1.0], 2.0)];
    let (mut one_by_one, mut at_once) = (LinearPosterior::new(2, prior), LinearPosterior::new(2, prior));
    let mut block = Block::new(2);
    for (x, y) in observations {
        one_by_one.observe(&x, y);
        block.push(x.into_iter(), y);
    }
    at_once.observe_block(&mut block);
    assert!(block.is_empty());
    for posterior in [one_by_one, at_once] {
        let mean = posterior.mean();
        assert!((mean[0] - 3.0).abs() < 1e-5 && (mean[1] + 1.0).abs() < 1e-5, "{mean:?}");
    }
}
