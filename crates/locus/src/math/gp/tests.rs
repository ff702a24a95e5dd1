use super::kernel::{CovarianceWork, Kernel, KernelParameters};
use super::*;
use crate::math::nn::gradient_check::check_gradient;
use crate::{Rng, Seed};

const PLACES: KernelParameters = KernelParameters { n_features: 3, n_actions: 4, task_dim: 2 };

fn rng(seed: u64) -> Rng {
    Seed::new(seed).stream("test", 0)
}

/// No two parameters alike.
fn parameters(seed: u64) -> Vec<f32> {
    let mut rng = rng(seed);
    (0..PLACES.len()).map(|_| (0.5 * rng.normal()) as f32).collect()
}

fn points(n: usize, seed: u64) -> (Points, Vec<f64>) {
    let mut rng = rng(seed);
    let mut points = Points::default();
    for _ in 0..n {
        let context: [f32; 3] = std::array::from_fn(|_| rng.normal() as f32);
        points.push(&context, rng.below(PLACES.n_actions));
    }
    let rewards = (0..n).map(|_| rng.normal()).collect();
    (points, rewards)
}

/// No two neighbors alike, some below 1.
fn weights(n: usize) -> Vec<f64> {
    (0..n).map(|i| [1.0, 2.5, 0.4, 7.0][i % 4]).collect()
}

/// The kernel as its formula says, from the parameters.
fn formula(parameters: &[f32], unit: f64, (x, a): (&[f32], usize), (y, b): (&[f32], usize)) -> f64 {
    let softplus = |place: usize| (1.0 + f64::from(parameters[place]).exp()).ln();
    let (mut square, mut linear) = (0.0, 0.0);
    for d in 0..3 {
        let (x, y) = (f64::from(x[d]), f64::from(y[d]));
        square += ((x - y) / (unit * softplus(3 + d))).powi(2);
        linear += x * y / (unit * softplus(6 + d)).powi(2);
    }
    let r = (3.0 * square).sqrt();
    let v = |action: usize, dim: usize| f64::from(parameters[9 + 2 * action + dim]);
    let distance: f64 = (0..2).map(|dim| (v(a, dim) - v(b, dim)).powi(2)).sum();
    (softplus(1) * (1.0 + r) * (-r).exp() + softplus(2) * linear) * (-distance).exp()
}

#[test]
fn covariances_are_those_of_the_formula() {
    let parameters = parameters(1);
    let kernel = Kernel::new(PLACES, &parameters, 1.7);
    let (points, _) = points(37, 2);
    let mut covariance = vec![0.0; 37 * 40];
    kernel.covariances(&points, &mut CovarianceWork::default(), &mut covariance, 40);
    for i in 0..37 {
        for j in i..37 {
            let point = |i: usize| (&points.contexts[3 * i..3 * i + 3], points.actions[i]);
            let expected = formula(&parameters, 1.7, point(i), point(j));
            let found = covariance[i * 40 + j];
            assert!((found - expected).abs() < 1e-7, "{i} {j}: {found}, {expected}");
            let alone = kernel.task(points.actions[i], points.actions[j])
                * kernel.of_contexts(point(i).0, point(j).0);
            assert!((alone - expected).abs() < 1e-12, "{i} {j}: {alone}, {expected}");
        }
    }
}

/// The inverse and the determinant of a symmetric matrix, by elimination.
fn invert(matrix: &[f64], n: usize) -> (Vec<f64>, f64) {
    let mut left = matrix.to_vec();
    let mut right = vec![0.0; n * n];
    (0..n).for_each(|i| right[i * n + i] = 1.0);
    let mut log_determinant = 0.0;
    for i in 0..n {
        let pivot = left[i * n + i];
        log_determinant += pivot.ln();
        for j in 0..n {
            left[i * n + j] /= pivot;
            right[i * n + j] /= pivot;
        }
        for other in (0..n).filter(|&other| other != i) {
            let factor = left[other * n + i];
            for j in 0..n {
                left[other * n + j] -= factor * left[i * n + j];
                right[other * n + j] -= factor * right[i * n + j];
            }
        }
    }
    (right, log_determinant)
}

/// The variance of the noise, from the parameters.
fn noise_of(parameters: &[f32]) -> f64 {
    (1.0 + f64::from(parameters[0]).exp()).ln() + 1e-6
}

/// The covariance of points with noise, from the formula.
fn noisy(parameters: &[f32], points: &Points, weights: &[f64]) -> Vec<f64> {
    let n = points.len();
    let point = |i: usize| (&points.contexts[3 * i..3 * i + 3], points.actions[i]);
    let noise = noise_of(parameters);
    let entry = |place: usize| {
        let (i, j) = (place / n, place % n);
        formula(parameters, 1.0, point(i), point(j)) + if i == j { noise / weights[i] } else { 0.0 }
    };
    (0..n * n).map(entry).collect()
}

#[test]
fn evidence_is_that_of_the_formula_and_its_gradient_that_of_differences() {
    for n in [1, 9, 40] {
        let parameters = parameters(3);
        let (points, rewards) = points(n, 4);
        let weights = weights(n);
        let mut gradient = vec![f64::NAN; PLACES.len()];
        let mut work = EvidenceWork::default();
        let mut value = |parameters: &[f32], gradient: &mut [f64]| {
            let kernel = Kernel::new(PLACES, parameters, 1.0);
            evidence(&kernel, parameters, &points, (&rewards, &weights), &mut work, gradient)
        };
        let found = value(&parameters, &mut gradient);
        let (inverse, log_determinant) = invert(&noisy(&parameters, &points, &weights), n);
        let means = &parameters[PLACES.means()];
        let e: Vec<f64> = (0..n).map(|i| rewards[i] - f64::from(means[points.actions[i]])).collect();
        let square: f64 = (0..n * n).map(|place| e[place / n] * inverse[place] * e[place % n]).sum();
        let log_two_pi = (2.0 * std::f64::consts::PI).ln();
        let among_equals: f64 =
            weights.iter().map(|w| (w - 1.0) * (log_two_pi + noise_of(&parameters).ln()) + w.ln()).sum();
        let expected = -0.5 * (square + log_determinant + n as f64 * log_two_pi + among_equals);
        assert!((found - expected).abs() < 1e-8, "{n}: {found}, {expected}");
        let gradient: Vec<f32> = gradient.iter().map(|&g| g as f32).collect();
        let mut ignored = vec![0.0; PLACES.len()];
        check_gradient(&format!("evidence of {n}"), 2e-3, &parameters, &gradient, |parameters| {
            value(parameters, &mut ignored)
        });
    }
}

/// Mean and covariance in closed form: m + cᵀK⁻¹e and k − cᵀK⁻¹c. The factor is made of some observations, and the others are added.
#[test]
fn the_posterior_is_that_of_the_closed_form() {
    let parameters = parameters(5);
    let kernel = Kernel::new(PLACES, &parameters, 1.0);
    let (points, rewards) = points(23, 6);
    let weights = weights(23);
    let (mean, std) = (0.3, 1.4);
    let (inverse, _) = invert(&noisy(&parameters, &points, &weights), 23);
    let point = |i: usize| (&points.contexts[3 * i..3 * i + 3], points.actions[i]);
    let means: Vec<f64> = parameters[PLACES.means()].iter().map(|&mean| f64::from(mean)).collect();
    let e: Vec<f64> = (0..23).map(|i| (rewards[i] - mean) / std - means[points.actions[i]]).collect();
    for n_base in [0, 1, 15, 23] {
        let base = Points {
            contexts: points.contexts[..3 * n_base].to_vec(),
            actions: points.actions[..n_base].to_vec(),
        };
        let (base_rewards, base_weights) = (rewards[..n_base].to_vec(), weights[..n_base].to_vec());
        let work = &mut CovarianceWork::default();
        let mut posterior = Posterior::new(kernel.clone(), base, base_rewards, base_weights, work);
        (n_base..23).for_each(|i| posterior.observe(point(i).0, point(i).1, rewards[i], weights[i]));
        posterior.whiten(mean, std);
        assert_eq!((posterior.n_base(), posterior.len(), posterior.take_held()), (n_base, 23, 0));
        let context = [0.4, -1.2, 0.7];
        let mut work = vec![f64::NAN; posterior.n_work()];
        let (found_mean, found_covariance) = posterior.moments(&context, &mut work);
        for a in 0..4 {
            let c = |action: usize, i: usize| formula(&parameters, 1.0, (&context, action), point(i));
            let solved: Vec<f64> =
                (0..23).map(|i| (0..23).map(|j| c(a, j) * inverse[j * 23 + i]).sum()).collect();
            let expected = means[a] + solved.iter().zip(&e).map(|(c, e)| c * e).sum::<f64>();
            assert!((found_mean[a] - expected).abs() < 1e-8, "{a}: {found_mean:?}, {expected}");
            for b in a..4 {
                let explained: f64 = (0..23).map(|i| solved[i] * c(b, i)).sum();
                let expected = formula(&parameters, 1.0, (&context, a), (&context, b)) - explained;
                let found = found_covariance[4 * a + b];
                assert!((found - expected).abs() < 1e-8, "{a} {b}: {found}, {expected}");
            }
        }
    }
}

/// 40 000 draws have the mean and the covariance that they should: bounds are five standard deviations, false alarms
/// for one seed in 100 000 for all.
#[test]
fn draws_have_the_moments_of_the_posterior() {
    const N: usize = 40_000;
    let kernel = Kernel::new(PLACES, &parameters(7), 1.0);
    let (points, rewards) = points(12, 8);
    let mut posterior = Posterior::new(kernel, points, rewards, weights(12), &mut CovarianceWork::default());
    posterior.whiten(0.0, 1.0);
    let context = [0.1, 0.9, -0.3];
    let mut work = vec![0.0; posterior.n_work()];
    let (mean, covariance) = posterior.moments(&context, &mut work);
    let (mean, covariance) = (mean.to_vec(), covariance.to_vec());
    let (mut sums, mut products) = ([0.0; 4], [0.0; 16]);
    let mut rng = rng(9);
    let mut rewards = [0.0; 4];
    for _ in 0..N {
        posterior.draw(&context, &mut rng, &mut work, &mut rewards);
        for a in 0..4 {
            sums[a] += rewards[a] - mean[a];
            (a..4).for_each(|b| products[4 * a + b] += (rewards[a] - mean[a]) * (rewards[b] - mean[b]));
        }
    }
    let n = N as f64;
    for a in 0..4 {
        let variance = |a: usize| covariance[5 * a];
        assert!((sums[a] / n).abs() < 5.0 * (variance(a) / n).sqrt(), "{sums:?}");
        for b in a..4 {
            let expected = covariance[4 * a + b];
            let std = ((variance(a) * variance(b) + expected * expected) / n).sqrt();
            assert!((products[4 * a + b] / n - expected).abs() < 5.0 * std, "{a} {b}: {expected}");
        }
    }
}

/// A point of weight 3 is the point three times over: evidence, its gradient, and the posterior.
#[test]
fn weights_are_so_many_equal_points() {
    let parameters = parameters(10);
    let kernel = Kernel::new(PLACES, &parameters, 1.0);
    let (once, rewards) = points(7, 11);
    let weights = [1.0, 3.0, 1.0, 2.0, 5.0, 1.0, 1.0];
    let (mut repeated, mut repeated_rewards) = (Points::default(), Vec::new());
    for (i, weight) in weights.into_iter().enumerate() {
        for _ in 0..weight as usize {
            repeated.push(&once.contexts[3 * i..3 * i + 3], once.actions[i]);
            repeated_rewards.push(rewards[i]);
        }
    }
    let n = repeated.len();
    let both = [(once, rewards, weights.to_vec()), (repeated, repeated_rewards, vec![1.0; n])].map(|seen| {
        let (points, rewards, weights) = seen;
        let mut gradient = vec![0.0; PLACES.len()];
        let work = &mut EvidenceWork::default();
        let value = evidence(&kernel, &parameters, &points, (&rewards, &weights), work, &mut gradient);
        let mut posterior =
            Posterior::new(kernel.clone(), points, rewards, weights, &mut CovarianceWork::default());
        posterior.whiten(0.2, 1.1);
        let mut work = vec![0.0; posterior.n_work()];
        let (mean, covariance) = posterior.moments(&[0.4, -1.2, 0.7], &mut work);
        let upper = (0..16).filter(|place| place / 4 <= place % 4).map(|place| covariance[place]);
        let numbers = [value].into_iter().chain(gradient).chain(mean.to_vec()).chain(upper);
        numbers.collect::<Vec<f64>>()
    });
    for (place, (found, expected)) in both[0].iter().zip(&both[1]).enumerate() {
        assert!((found - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{place}: {found}, {expected}");
    }
}
