//! Features against their definition, posteriors against those of separate actions, and draws and wins against brute force.

use super::*;
use crate::agent::{Agent, Choose, Policy};
use crate::configs::LinFullPostConfig;
use crate::model::linear::lin_full_post::LinFullPost;
use crate::{Outcome, Rng, Seed};

const ALL: [Interactions; 3] = [Interactions::Off, Interactions::All, Interactions::Only];

fn normals(rng: &mut Rng, n: usize) -> Vec<f32> {
    (0..n).map(|_| rng.normal() as f32).collect()
}

fn policy(shape: Shape, interactions: Interactions) -> Agent<LinFullPost> {
    LinFullPostConfig::default().interactions(interactions).build_agent(shape, Seed::new(1)).unwrap()
}

/// A policy that has learned from `n` outcomes.
fn trained(shape: Shape, interactions: Interactions, n: u64) -> Agent<LinFullPost> {
    let mut policy = policy(shape, interactions);
    for round in 0..n {
        let mut rng = Seed::new(6).stream("problem", round);
        let (x, f) = (normals(&mut rng, shape.n_features), normals(&mut rng, shape.n_action_features));
        let reward = f64::from(x[0] * f[0] + f[f.len() - 1]) + 0.5 * rng.normal();
        policy.learn(Outcome::new(round, &x, 0, reward).with_action_features(&f)).unwrap();
    }
    policy
}

#[test]
fn features_are_those_of_the_definition() {
    let (x, f) = ([2.0, 3.0], [5.0, 7.0, 11.0]);
    let row = [2.0, 3.0, 5.0, 7.0, 11.0];
    let products = [10.0, 14.0, 22.0, 15.0, 21.0, 33.0];
    let shape = Shape::described(2, 3).of_learner();
    let expected: [Vec<f64>; 3] = [
        [&[2.0, 3.0, 5.0, 7.0, 11.0][..], &[1.0]].concat(),
        [&[2.0, 3.0, 5.0, 7.0, 11.0][..], &products, &[1.0]].concat(),
        [&products[..], &[5.0, 7.0, 11.0]].concat(),
    ];
    for (interactions, expected) in ALL.into_iter().zip(expected) {
        let map = FeatureMap::new(shape, interactions);
        let has_intercept = interactions != Interactions::Only;
        let n_scaled = map.dim() - usize::from(has_intercept);
        let mut features = vec![9.0; map.dim()];
        map.fill(&row, 1.0, &mut features);
        assert_eq!(features, expected);
        let squares: f64 = expected[..n_scaled].iter().map(|feature| feature * feature).sum();
        assert_eq!(map.square_length(&row), squares);
        let mut scaled = vec![9.0; map.dim()];
        map.fill_parts(&x, &f, 0.5, &mut scaled);
        let halved =
            expected.iter().enumerate().map(|(i, value)| if i < n_scaled { 0.5 * value } else { *value });
        assert!(scaled.into_iter().eq(halved));
    }
    let map = FeatureMap::new(Shape::new(2, 3), Interactions::Off);
    let mut features = [9.0; 3];
    map.fill(&x, 1.0, &mut features);
    assert_eq!((map.dim(), features), (3, [2.0, 3.0, 1.0]));
}

/// Combined with the context once, and row by row.
#[test]
fn values_are_products_of_weights_and_features() {
    let mut rng = Seed::new(3).stream("test", 0);
    for shape in [Shape::described(1, 1), Shape::described(5, 3), Shape::described(2, 19)] {
        for interactions in ALL {
            let map = FeatureMap::new(shape.of_learner(), interactions);
            let weights: Vec<f64> = (0..map.dim()).map(|_| rng.normal()).collect();
            let (x, candidates) =
                (normals(&mut rng, shape.n_features), normals(&mut rng, 7 * shape.n_action_features));
            let rows: Vec<f32> =
                candidates.chunks(shape.n_action_features).flat_map(|f| [&x, f].concat()).collect();
            let mut features = vec![0.0; map.dim()];
            let expected: Vec<f64> = rows
                .chunks(x.len() + shape.n_action_features)
                .map(|row| {
                    map.fill(row, 0.7, &mut features);
                    features.iter().zip(&weights).map(|(feature, weight)| feature * weight).sum()
                })
                .collect();
            let (mut reduced, mut values) = (vec![0.0; map.n_action()], vec![0.0; 7]);
            for rows in [
                JointRows::of_candidates(&x, &candidates, shape.n_action_features),
                JointRows::whole(&rows, x.len() + shape.n_action_features),
            ] {
                map.values(&weights, 0.7, rows, &mut reduced, &mut values);
                for (found, expected) in values.iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{found}, {expected}");
                }
            }
        }
    }
}

/// With one-hot features `[x, 1] ⊗ f_a` has a block of coefficients for each action: means and leverages are those of separate
/// regressions. The noise is not compared, because it is shared.
#[test]
fn one_hot_features_with_interactions_alone_are_separate_regressions() {
    let (shape, n_actions) = (Shape::new(4, 3), 3);
    let mut separate = LinFullPostConfig::default().build_agent(shape, Seed::new(1)).unwrap();
    let mut shared = policy(Shape::described(4, n_actions), Interactions::Only);
    let one_hot = |action: usize| -> Vec<f32> {
        (0..n_actions).map(|other| if other == action { 1.0 } else { 0.0 }).collect()
    };
    let mut many = Vec::new();
    for round in 0..600 {
        let mut rng = Seed::new(2).stream("problem", round);
        let (x, action) = (normals(&mut rng, 4), rng.below(n_actions).min(rng.below(n_actions)));
        let reward = 5.0 + 2.0 * f64::from(x[action]) + rng.normal();
        let weight = [1.0, 2.5, 0.5][round as usize % 3];
        let outcome = Outcome::new(round, &x, action, reward).with_weight(weight);
        separate.learn(outcome).unwrap();
        if round < 300 {
            shared.learn(outcome.with_action_features(&one_hot(action))).unwrap();
        } else {
            many.push((round, x, action, reward, weight));
        }
    }
    let features: Vec<Vec<f32>> = (0..n_actions).map(one_hot).collect();
    let outcomes: Vec<Outcome<'_>> = many
        .iter()
        .map(|(round, x, action, reward, weight)| {
            let outcome = Outcome::new(*round, x, *action, *reward).with_weight(*weight);
            outcome.with_action_features(&features[*action])
        })
        .collect();
    shared.learn_many(&outcomes).unwrap();

    let map = FeatureMap::new(Shape::described(4, n_actions).of_learner(), Interactions::Only);
    let (mut joint, mut work) = (vec![0.0; map.dim()], vec![0.0; map.dim()]);
    let posterior = shared.learner().posterior(0);
    let mut rng = Seed::new(4).stream("test", 0);
    for action in 0..n_actions {
        let expected = separate.learner().posterior(action);
        for index in 0..5 {
            let found = posterior.mean()[index * n_actions + action];
            assert!((found - expected.mean()[index]).abs() < 1e-9, "mean {index} of action {action}");
        }
        for _ in 0..20 {
            let x = normals(&mut rng, 4);
            map.fill_parts(&x, &one_hot(action), 1.0, &mut joint);
            let own: Vec<f64> = x.iter().map(|&x| f64::from(x)).chain([1.0]).collect();
            let (found, expected) =
                (posterior.leverage(&joint, &mut work), expected.leverage(&own, &mut work[..5]));
            assert!(
                (found - expected).abs() < 1e-9 * expected,
                "Λ⁻¹ of action {action}: {found}, {expected}"
            );
        }
        // Λ⁻¹ between actions is 0.
        let other = (action + 1) % n_actions;
        let (mut sum, mut one, mut two) = (vec![0.0; 15], vec![0.0; 15], vec![0.0; 15]);
        map.fill_parts(&[1.0, -0.5, 2.0, 0.3], &one_hot(action), 1.0, &mut one);
        map.fill_parts(&[0.1, 0.7, -1.0, 0.6], &one_hot(other), 1.0, &mut two);
        sum.iter_mut().zip(one.iter().zip(&two)).for_each(|(sum, (one, two))| *sum = one + two);
        let [sum, one, two] = [&sum, &one, &two].map(|row| posterior.leverage(row, &mut work));
        assert!((sum - one - two).abs() < 1e-9 * sum, "{sum}, {one}, {two}");
    }
}

/// A fixed set of one-hot candidates is the ordinary bandit.
#[test]
fn decisions_with_one_hot_candidates_find_the_best_action() {
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let mut policy = policy(Shape::described(3, 3), Interactions::Only);
    let mut n_right = 0;
    for round in 0..500 {
        let mut rng = Seed::new(5).stream("problem", round);
        let x = normals(&mut rng, 3);
        let choice = policy.choose(Request::new(round, &x).with_candidates(&identity)).unwrap();
        let best = (0..3).max_by(|&one, &other| x[one].total_cmp(&x[other])).unwrap();
        n_right += usize::from(round >= 300 && choice.action == best);
        let reward = f64::from(x[choice.action]) + 0.1 * rng.normal();
        let taken = &identity[3 * choice.action..][..3];
        policy.learn(Outcome::new(round, &x, choice.action, reward).with_action_features(taken)).unwrap();
    }
    assert!(n_right >= 190, "{n_right} of 200");
}

/// Rewards of candidates, given σ², are jointly normal with the covariance σ²·φᵢᵀΛ⁻¹φⱼ. Over 40 000 draws of each, products of
/// standardized rewards have a mean within 5.5 standard errors, √((1 + ρ²)/n), for 10 pairs and three kinds of features: a false
/// alarm for one seed in 800 000. The seed is fixed.
#[test]
fn rewards_of_candidates_are_drawn_together() {
    const N: u64 = 40_000;
    let shape = Shape::described(3, 2);
    let mut rng = Seed::new(8).stream("test", 0);
    let (x, candidates) = (normals(&mut rng, 3), normals(&mut rng, 8));
    for interactions in ALL {
        let policy = trained(shape, interactions, 25);
        let posterior = policy.learner().posterior(0);
        let map = FeatureMap::new(shape.of_learner(), interactions);
        let features: Vec<Vec<f64>> = candidates
            .chunks(2)
            .map(|f| {
                let mut features = vec![0.0; map.dim()];
                map.fill_parts(&x, f, 1.0, &mut features);
                features
            })
            .collect();
        let mut work = vec![0.0; map.dim()];
        let mut leverage = |one: &[f64], other: &[f64], sign: f64| {
            let sum: Vec<f64> = one.iter().zip(other).map(|(one, other)| one + sign * other).collect();
            posterior.leverage(&sum, &mut work)
        };
        // E σ² = b/(a − 1)
        let noise = posterior.noise_rate() / (posterior.noise_shape() - 1.0);
        let covariance: Vec<f64> = (0..16)
            .map(|pair| {
                let (one, other) = (&features[pair / 4], &features[pair % 4]);
                noise * 0.25 * (leverage(one, other, 1.0) - leverage(one, other, -1.0))
            })
            .collect();
        let means: Vec<f64> = features.iter().map(|features| posterior.predict(features)).collect();
        let rows: Vec<Vec<f32>> = candidates.chunks(2).map(|f| [&x, f].concat()).collect();
        let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
        let mut products = [0.0; 16];
        for round in 0..N {
            let rewards = policy.sample_rewards(round, &rows).unwrap();
            for (pair, product) in products.iter_mut().enumerate() {
                let (one, other) = (pair / 4, pair % 4);
                *product += (rewards[one] - means[one]) * (rewards[other] - means[other]) / N as f64;
            }
        }
        for (pair, (found, expected)) in products.iter().zip(&covariance).enumerate() {
            let size = (covariance[pair / 4 * 5] * covariance[pair % 4 * 5]).sqrt();
            let correlation = expected / size;
            // σ² varies, too: products have heavier tails than normal ones, with kurtosis 3(a − 1)/(a − 2).
            let shape = posterior.noise_shape();
            let heaviness = (shape - 1.0) / (shape - 2.0);
            let squares = heaviness * (1.0 + 2.0 * correlation * correlation) - correlation * correlation;
            let error = 5.5 * (squares / N as f64).sqrt();
            assert!(
                (found / size - correlation).abs() < error,
                "{interactions:?}, pair {pair}: {found}, {expected}"
            );
        }
    }
}

/// The probabilities of a decision are shares of `propensity_draws` draws of the coefficients. With 20 000 of them they agree with
/// the shares of as many decisions within 5 standard deviations of the difference, for three kinds of features and 6 candidates:
/// a false alarm for one seed in 90 000. The seed is fixed.
#[test]
fn probabilities_are_shares_of_decisions() {
    const N: u32 = 20_000;
    let shape = Shape::described(2, 2);
    let mut rng = Seed::new(9).stream("test", 0);
    let (x, candidates) = (normals(&mut rng, 2), normals(&mut rng, 12));
    for interactions in ALL {
        let config = LinFullPostConfig::default().interactions(interactions).propensity_draws(N);
        let mut policy = config.build_agent(shape, Seed::new(1)).unwrap();
        for round in 0..6 {
            let f = normals(&mut rng, 2);
            let outcome = Outcome::new(round, &x, 0, f64::from(f[0]));
            policy.learn(outcome.with_action_features(&f)).unwrap();
        }
        let mask = [true, true, false, true, true, true];
        for request in [Request::new(0, &x), Request::new(0, &x).allowing(&mask)] {
            let request = request.with_candidates(&candidates);
            let mut shares = [0.0; 6];
            policy.distribution(request, &mut shares).unwrap();
            let mut counts = [0.0; 6];
            for round in 0..u64::from(N) {
                counts[policy.choose(Request { round, ..request }).unwrap().action] += 1.0;
            }
            for (share, count) in shares.iter().zip(counts) {
                let (n, found) = (f64::from(N), count / f64::from(N));
                let error = 5.0 * ((share * (1.0 - share) + found * (1.0 - found)) / n).sqrt() + 1e-9;
                assert!((share - found).abs() <= error, "{interactions:?}: {shares:?}, {counts:?}");
            }
            assert!(shares.iter().filter(|share| **share > 0.02).count() >= 2, "{shares:?}");
        }
    }
}

/// Between two outcomes all decisions use the same draws, whichever asks first, and others after the next.
#[test]
fn propensities_share_draws_until_the_policy_learns() {
    let shape = Shape::described(3, 2);
    let mut policy = trained(shape, Interactions::All, 20);
    let mut rng = Seed::new(9).stream("test", 0);
    let (x, candidates) = (normals(&mut rng, 3), normals(&mut rng, 10));
    let request = Request::new(40, &x).with_candidates(&candidates);
    let ask = |chooser: &dyn Choose, round: u64| {
        let mut probabilities = [0.0; 5];
        chooser.distribution(Request { round, ..request }, &mut probabilities).unwrap();
        probabilities
    };
    let (snapshot, loaded) = (policy.snapshot(), crate::load(&policy.save()).unwrap());
    let first = ask(&*snapshot, 40);
    assert_eq!([ask(&policy, 40), ask(&*loaded, 40), ask(&policy, 41)], [first; 3]);
    policy.learn(Outcome::new(41, &x, 0, 1.0).with_action_features(&candidates[..2])).unwrap();
    assert_ne!(ask(&policy, 42), first);
    assert_eq!(ask(&*snapshot, 42), first);
    assert_eq!(ask(&*crate::load(&policy.save()).unwrap(), 42), ask(&policy, 42));
}

#[test]
fn interactions_need_features_of_actions() {
    for policy in ["lin-full-post", "lin-ucb"] {
        for interactions in ["all", "only"] {
            let spec: crate::PolicySpec = format!("{policy}[interactions={interactions}]").parse().unwrap();
            let error = spec.build(Shape::new(3, 2), Seed::new(1)).err().unwrap();
            let message = format!(
                "policy `{policy}`: `interactions` is `{interactions}`, expected `off` for actions without features"
            );
            assert!(error.is_invalid_config() && error.to_string() == message, "{error}");
        }
    }
    let spec: crate::PolicySpec = "lin-full-post[interactions=all]".parse().unwrap();
    let error = spec.build(Shape::described(2000, 1000), Seed::new(1)).err().unwrap();
    assert!(error.to_string().contains("found 2003001"), "{error}");
}
