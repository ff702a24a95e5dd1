//! Are z, ψ and the surrogate bound distributed as they should be?
//!
//! Bounds on Kolmogorov's statistic fail for one seed in 10 000, those of five standard errors once in a million,
//! each; seeds are fixed.

use super::{ablated_gauss, ablated_sivi, exact, parameters, small_gauss, small_sivi, work};
use crate::math::nn::Normals;
use crate::math::nn::gradient_check::random;
use crate::model::lu::config::{LuGaussConfig, LuSharedConfig, LuSiviConfig};
use crate::model::lu::gauss::Gauss;
use crate::model::lu::latent::Latent;
use crate::model::lu::model::{LuConfig, Parts, Work};
use crate::model::lu::settings::{LatentInput, StdLink, StdScale};
use crate::model::lu::sivi::Sivi;
use crate::random::kolmogorov::{KOLMOGOROV_ONE_IN_10_000, kolmogorov, kolmogorov_of_two, normal_cdf};
use crate::registry::values::{Layers, Switch};
use crate::{Rng, Seed, Shape};

fn stream(number: u64) -> Rng {
    Seed::new(17).stream("test", number)
}

/// The z of the last forward pass, coordinate by coordinate.
fn latent<Q: Latent>(parts: &Parts<Q>, work: &Work<Q::Work>) -> Vec<Vec<f64>> {
    let n_features = parts.shape.n_features;
    let line = |h: usize| work.batch.inputs.line(n_features + h).iter().map(|&z| f64::from(z)).collect();
    (0..parts.shared.latent_dim).map(line).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), value| (sum + value, n + 1));
    sum / f64::from(n)
}

/// Fails unless every coordinate is standard normal, and no two are correlated.
fn assert_standard_normal(what: &str, coordinates: &[Vec<f64>]) {
    for (h, values) in coordinates.iter().enumerate() {
        let statistic = kolmogorov(values.clone(), normal_cdf);
        assert!(statistic < KOLMOGOROV_ONE_IN_10_000, "{what}: coordinate {h}: {statistic}");
        for (other, others) in coordinates[..h].iter().enumerate() {
            let correlation = mean(values.iter().zip(others).map(|(a, b)| a * b));
            let bound = 5.0 / (values.len() as f64).sqrt();
            assert!(correlation.abs() < bound, "{what}: coordinates {h} and {other}: {correlation}");
        }
    }
}

/// z, less its mean and divided by its deviation as the nets give them in f64, is standard normal: drawn for many columns
/// at once, and as decisions draw it, one column from one stream each.
#[test]
fn lu_gauss_draws_z_from_its_gaussian() {
    let shape = Shape::new(3, 4);
    let authors = small_gauss();
    let paper = LuGaussConfig {
        shared: LuSharedConfig { latent_std_link: StdLink::Exp, ..small_gauss().shared },
        ..small_gauss()
    };
    for (what, config) in
        [("authors", authors.clone()), ("paper", paper), ("ablation", ablated_gauss(&authors))]
    {
        let parts: Parts<Gauss> = Parts::new(&config, config.resolved(), shape);
        let parameters = parameters(&parts, &mut stream(0));
        let context = random(shape.n_features, &mut stream(1));
        let seen: Vec<f64> = match config.shared.latent_input {
            LatentInput::Context => context.iter().map(|&value| f64::from(value)).collect(),
            LatentInput::Ones => vec![1.0; shape.n_features],
        };
        let encoded = exact(&parts.latent.encoder, &parameters, &seen);
        let means = exact(&parts.latent.mean, &parameters, &encoded);
        let factor = if config.shared.latent_std_link == StdLink::Exp { 1.0 } else { 0.5 };
        let stds: Vec<f64> = exact(&parts.latent.scale, &parameters, &encoded)
            .iter()
            .map(|out| (factor * out).exp())
            .collect();
        let standardized = |z: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            let parts = z.into_iter().zip(means.iter().zip(&stds));
            parts.map(|(z, (mean, std))| z.iter().map(|z| (z - mean) / std).collect()).collect()
        };

        let mut work = work(&parts, 50_000, &mut stream(2), |_| context.clone());
        parts.forward(&parameters, &mut Normals::new(&mut stream(3)), &mut work);
        assert_standard_normal(what, &standardized(latent(&parts, &work)));

        let mut alone = super::work(&parts, 1, &mut stream(2), |_| context.clone());
        let mut z = vec![Vec::new(); parts.shared.latent_dim];
        for round in 0..20_000 {
            let mut normals = Normals::new(&mut Seed::new(18).stream("choose", round));
            parts.forward(&parameters, &mut normals, &mut alone);
            z.iter_mut().zip(latent(&parts, &alone)).for_each(|(all, one)| all.extend(one));
        }
        assert_standard_normal(what, &standardized(z));
    }
}

const NOISE_STD: f64 = 1.7;

/// LU-SIVI with two latent coordinates and a ψ net whose ReLUs are always open, so that ψ is linear in ε and q(z | x) a
/// Gaussian of known covariance.
fn open_sivi(extra_draws: u32) -> (Parts<Sivi>, Vec<f32>) {
    let config = LuSiviConfig {
        latent_dim: 2,
        psi_layers: Layers(vec![6]),
        scale_layers: Layers(vec![5]),
        decoder_layers: Layers(vec![7]),
        extra_draws,
        noise_std: NOISE_STD,
        shared: LuSharedConfig { reward_std_scale: StdScale::Log, ..LuSiviConfig::authors().shared },
        ..LuSiviConfig::authors()
    };
    let parts: Parts<Sivi> = Parts::new(&config, config.resolved(), Shape::new(3, 4));
    let mut parameters = parameters(&parts, &mut stream(4));
    parameters[parts.latent.first.bias()].fill(20.0);
    (parts, parameters)
}

/// Mean and covariance of q(z | x), the latter as its three different numbers, and the deviations of z given ψ.
fn open_moments(parts: &Parts<Sivi>, parameters: &[f32], x: &[f64]) -> ([f64; 2], [f64; 3], [f64; 2]) {
    let Sivi { first, rest, scale, .. } = &parts.latent;
    let (n_out, n_features) = (first.n_out(), x.len());
    let weights: Vec<Vec<f64>> = parameters[first.weights()]
        .chunks_exact(n_out)
        .map(|row| row.iter().map(|&weight| f64::from(weight)).collect())
        .collect();
    let hidden: Vec<f64> = (0..n_out)
        .map(|j| {
            f64::from(parameters[first.bias()][j])
                + (0..n_features).map(|i| x[i] * weights[i][j]).sum::<f64>()
        })
        .collect();
    let mean = exact(rest, parameters, &hidden);
    // What a standard deviation of each noise number does to ψ.
    let zero = exact(rest, parameters, &vec![0.0; n_out]);
    let effects: Vec<Vec<f64>> = weights[n_features..]
        .iter()
        .map(|row| {
            let with = exact(rest, parameters, row);
            with.iter().zip(&zero).map(|(with, without)| NOISE_STD * (with - without)).collect()
        })
        .collect();
    let covariance = |a: usize, b: usize| effects.iter().map(|effect| effect[a] * effect[b]).sum::<f64>();
    let stds: Vec<f64> = exact(scale, parameters, x).iter().map(|out| (0.5 * out).exp()).collect();
    let sum = [covariance(0, 0) + stds[0].powi(2), covariance(0, 1), covariance(1, 1) + stds[1].powi(2)];
    ([mean[0], mean[1]], sum, [stds[0], stds[1]])
}

/// z, less its mean and with its covariance undone, is standard normal: the noise has the deviation that the settings say. Drawn for many
/// columns at once, as in training, and one column at a time, as for decisions.
#[test]
fn lu_sivi_draws_z_from_its_mixture() {
    let (parts, parameters) = open_sivi(3);
    let context = random(parts.shape.n_features, &mut stream(20));
    let x: Vec<f64> = context.iter().map(|&value| f64::from(value)).collect();
    let (mean, [a, b, c], _) = open_moments(&parts, &parameters, &x);
    let undone = |z: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
        let first: Vec<f64> = z[0].iter().map(|z| (z - mean[0]) / a.sqrt()).collect();
        let rest = (c - b * b / a).sqrt();
        let second = z[1].iter().zip(&first).map(|(z, first)| (z - mean[1] - b / a.sqrt() * first) / rest);
        let second = second.collect();
        vec![first, second]
    };
    let mut many = work(&parts, 50_000, &mut stream(21), |_| context.clone());
    parts.forward(&parameters, &mut Normals::new(&mut stream(22)), &mut many);
    assert_standard_normal("many", &undone(latent(&parts, &many)));

    let mut alone = work(&parts, 1, &mut stream(21), |_| context.clone());
    let mut z = vec![Vec::new(); 2];
    for round in 0..20_000 {
        let mut normals = Normals::new(&mut Seed::new(23).stream("choose", round));
        parts.forward(&parameters, &mut normals, &mut alone);
        z.iter_mut().zip(latent(&parts, &alone)).for_each(|(all, one)| all.extend(one));
    }
    assert_standard_normal("alone", &undone(z));
}

/// E[log (1/(K+1)) Σₖ q(z | ψ⁽ᵏ⁾)] is never below E[log q(z)], for z is drawn from a component of its own mixture; so the
/// surrogate bound is below the ELBO. What lies between falls with K, from the mutual information of z and ψ at K = 0
/// towards 0. Both bounds are taken at the same draws of z, in the objective that is trained; differences must be five
/// standard errors.
#[test]
fn lu_sivis_bound_rises_towards_the_elbo() {
    const N_BATCHES: u64 = 60;
    const N: usize = 256;
    let draws = [1, 5, 20, 100];
    let mut gaps: Vec<Vec<f64>> = Vec::new();
    let mut information = 0.0;
    for extra_draws in draws {
        let (parts, parameters) = open_sivi(extra_draws);
        let Shape { n_features, n_actions, .. } = parts.shape;
        let mut work = work(&parts, N, &mut stream(5), |rng| random(n_features, rng));
        let log_prior_std = f64::from(parameters[parts.log_prior_std.start]);
        let gap = |batch: u64| {
            let mut normals = Normals::new(&mut stream(100 + batch));
            parts.forward(&parameters, &mut normals, &mut work);
            let z = latent(&parts, &work);
            let mut elbo = 0.0;
            information = 0.0;
            for (row, (&first, &second)) in z[0].iter().zip(&z[1]).enumerate() {
                let x: Vec<f64> =
                    (0..n_features).map(|i| f64::from(work.batch.inputs.line(i)[row])).collect();
                let (mean, [a, b, c], stds) = open_moments(&parts, &parameters, &x);
                let (u, v) = (first - mean[0], second - mean[1]);
                let determinant = a * c - b * b;
                let log_q =
                    -0.5 * (c * u * u - 2.0 * b * u * v + a * v * v) / determinant - 0.5 * determinant.ln();
                let square = first * first + second * second;
                let log_p = -0.5 * square * (-2.0 * log_prior_std).exp() - 2.0 * log_prior_std;
                let action = work.batch.actions[row];
                let log_std = f64::from(parameters[parts.reward_std.start + action]);
                let mean_reward = f64::from(work.decoder.output().line(action)[row]);
                let deviation = (f64::from(work.batch.rewards[row]) - mean_reward) / log_std.exp();
                let log_likelihood = -0.5 * deviation * deviation - log_std;
                elbo += (n_actions as f64 * log_likelihood + log_p - log_q) / N as f64;
                information += (0.5 * determinant.ln() - (stds[0] * stds[1]).ln()) / N as f64;
            }
            elbo + parts.loss(&parameters, 1.0, &mut normals, &mut work)
        };
        gaps.push((0..N_BATCHES).map(gap).collect());
    }
    let estimate = |values: &[f64]| {
        let center = mean(values.iter().copied());
        let variance = mean(values.iter().map(|value| (value - center).powi(2)));
        (center, (variance / (N_BATCHES - 1) as f64).sqrt())
    };
    let report: Vec<(f64, f64)> = gaps.iter().map(|gaps| estimate(gaps)).collect();
    assert!(information > 0.5, "the mixture is too narrow to show anything: {information}");
    assert!(report[0].0 + 5.0 * report[0].1 < information, "K = 1: {report:?}, {information}");
    for pair in gaps.windows(2) {
        let differences: Vec<f64> = pair[0].iter().zip(&pair[1]).map(|(less, more)| less - more).collect();
        let (difference, error) = estimate(&differences);
        assert!(difference > 5.0 * error, "{difference} ± {error}: {report:?}");
    }
    let (last, error) = report[draws.len() - 1];
    assert!(last > -5.0 * error && last + 5.0 * error < 0.05 * information, "{report:?}, {information}");
}

/// LU-SIVI with contexts wider than the first layer of its ψ net.
fn wide_sivi(low_rank_noise: Switch) -> Parts<Sivi> {
    let config = LuSiviConfig {
        latent_dim: 3,
        psi_layers: Layers(vec![5]),
        scale_layers: Layers(vec![4]),
        decoder_layers: Layers(vec![6]),
        extra_draws: 7,
        low_rank_noise,
        ..LuSiviConfig::authors()
    };
    Parts::new(&config, config.resolved(), Shape::new(9, 2))
}

#[test]
fn low_rank_noise_draws_the_same_z_and_rewards() {
    const N: usize = 40_000;
    let drawn: Vec<Vec<Vec<f64>>> = [(Switch::Off, 6), (Switch::On, 7)]
        .into_iter()
        .map(|(low_rank_noise, seed)| {
            let parts = wide_sivi(low_rank_noise);
            let parameters = parameters(&parts, &mut stream(8));
            let context = random(parts.shape.n_features, &mut stream(9));
            let mut work = work(&parts, N, &mut stream(10), |_| context.clone());
            parts.latent.prepare(&parameters, &mut work.latent);
            parts.forward(&parameters, &mut Normals::new(&mut stream(seed)), &mut work);
            let mut values = latent(&parts, &work);
            let rewards = work.decoder.output().all();
            values.extend(rewards.iter().map(|line| line.iter().map(|&reward| f64::from(reward)).collect()));
            values
        })
        .collect();
    let (plain, low_rank) = (&drawn[0], &drawn[1]);
    for (line, (plain, low_rank)) in plain.iter().zip(low_rank).enumerate() {
        assert_ne!(plain, low_rank, "the same numbers show nothing");
        let statistic = kolmogorov_of_two(plain.clone(), low_rank.clone());
        assert!(statistic < KOLMOGOROV_ONE_IN_10_000, "{line}: {statistic}");
    }
    for i in 0..plain.len() {
        for j in 0..i {
            let moments = |draws: &[Vec<f64>]| {
                let products = || draws[i].iter().zip(&draws[j]).map(|(a, b)| a * b);
                let center = mean(products());
                (center, mean(products().map(|product| (product - center).powi(2))) / N as f64)
            };
            let ((first, first_error), (second, second_error)) = (moments(plain), moments(low_rank));
            let bound = 5.0 * (first_error + second_error).sqrt();
            assert!((first - second).abs() < bound, "{i} {j}: {first}, {second}");
        }
    }
}

/// The gradients of the whole objective, averaged over many draws of all noise, agree in every parameter. Five standard
/// errors in one of the 200 or so; false alarms for one seed in 8000.
#[test]
fn low_rank_noise_has_the_same_expected_gradient() {
    const N_DRAWS: u64 = 3000;
    let averages: Vec<(Vec<f64>, Vec<f64>)> = [(Switch::Off, 20_000), (Switch::On, 40_000)]
        .into_iter()
        .map(|(low_rank_noise, seeds)| {
            let parts = wide_sivi(low_rank_noise);
            let parameters = parameters(&parts, &mut stream(11));
            let mut work = work(&parts, 20, &mut stream(12), |rng| random(9, rng));
            let (mut sums, mut squares) = (vec![0.0; parameters.len()], vec![0.0; parameters.len()]);
            for draw in 0..N_DRAWS {
                work.gradients.fill(0.0);
                let mut normals = Normals::new(&mut stream(seeds + draw));
                parts.latent.prepare(&parameters, &mut work.latent);
                parts.forward(&parameters, &mut normals, &mut work);
                parts.loss(&parameters, 1.0, &mut normals, &mut work);
                for (place, &gradient) in work.gradients.iter().enumerate() {
                    sums[place] += f64::from(gradient);
                    squares[place] += f64::from(gradient).powi(2);
                }
            }
            let n = N_DRAWS as f64;
            let errors = sums.iter().zip(&squares).map(|(sum, square)| (square / n - (sum / n).powi(2)) / n);
            (sums.iter().map(|sum| sum / n).collect(), errors.collect())
        })
        .collect();
    let [(plain, plain_errors), (low_rank, low_rank_errors)] = &averages[..] else { unreachable!() };
    let own_weights = wide_sivi(Switch::On).latent.first.own_weights();
    let (mut n_clear, mut squares) = (0, 0.0);
    for place in 0..plain.len() {
        let error = (plain_errors[place] + low_rank_errors[place]).sqrt();
        let difference = plain[place] - low_rank[place];
        assert!(difference.abs() <= 5.0 * error, "number {place}: {}, {}", plain[place], low_rank[place]);
        squares += if error > 0.0 { (difference / error).powi(2) } else { 0.0 };
        n_clear += usize::from(own_weights.contains(&place) && plain[place].abs() > 5.0 * error);
    }
    assert!(n_clear > own_weights.len() / 4, "only {n_clear} of the noise's weights have a clear gradient");
    // The differences are 1 standard error in the mean square; many small biases would show here.
    assert!(squares < 1.6 * plain.len() as f64, "{squares} in {} numbers", plain.len());
}

/// Many draws for one context are those of as many equal contexts with the same noise: what they share is only computed once.
#[test]
fn many_draws_for_one_context_are_those_of_equal_contexts() {
    fn check<Q: Latent>(config: &Q::Config, shared: crate::model::lu::config::Shared) {
        let shape = Shape::new(6, 3);
        let parts: Parts<Q> = Parts::new(config, shared, shape);
        let parameters = parameters(&parts, &mut stream(40));
        let context = random(shape.n_features, &mut stream(41));
        for n in [1, 2, 16, 37, 128] {
            // A single column is a plain vector elsewhere; here it is padded like any other number.
            let mut equal = work(&parts, n.max(2), &mut stream(42), |_| context.clone());
            equal.batch.inputs.reshape_padded(shape.n_features + parts.shared.latent_dim, n);
            for (feature, value) in context.iter().enumerate() {
                equal.batch.inputs.line_mut(feature).fill(*value);
            }
            parts.forward(&parameters, &mut Normals::new(&mut stream(43)), &mut equal);
            let mut shared = Work::default();
            parts.forward_many(&parameters, &context, n, &mut Normals::new(&mut stream(43)), &mut shared);
            for action in 0..shape.n_actions {
                let lines = [&equal, &shared].map(|work| work.decoder.output().line(action));
                assert_eq!(lines[1].len(), n);
                for (equal, shared) in lines[0].iter().zip(lines[1]) {
                    assert!(
                        (equal - shared).abs() < 2e-5 * (1.0 + equal.abs()),
                        "{n} {action}: {equal} {shared}"
                    );
                }
            }
        }
    }
    for config in [small_gauss(), ablated_gauss(&small_gauss())] {
        check::<Gauss>(&config, config.resolved());
    }
    for config in [small_sivi(), ablated_sivi(&small_sivi())] {
        check::<Sivi>(&config, config.resolved());
    }
}
