//! Does training find what is true? A linear-Gaussian bandit, at every scale of rewards.

use super::{POLICIES, quick};
use crate::agent::Policy;
use crate::math::nn::gradient_check::random;
use crate::{Outcome, Request, Rng, Seed, Shape};

const SHAPE: Shape = Shape::new(4, 3);
const NOISE_STD: f64 = 0.1;

fn stream(number: u64) -> Rng {
    Seed::new(23).stream("problem", number)
}

/// Mean rewards β·x, with β of length 1 for every action.
fn means(context: &[f32]) -> [f64; SHAPE.n_actions] {
    let mut rng = stream(0);
    std::array::from_fn(|_| {
        let beta: Vec<f64> = (0..SHAPE.n_features).map(|_| rng.normal()).collect();
        let length = beta.iter().map(|b| b * b).sum::<f64>().sqrt();
        beta.iter().zip(context).map(|(b, &x)| b / length * f64::from(x)).sum()
    })
}

/// Teaches rewards of uniformly random actions.
fn teach(policy: &mut dyn Policy, rounds: std::ops::Range<u64>) {
    for round in rounds {
        let mut rng = stream(1 + round);
        let context = random(SHAPE.n_features, &mut rng);
        let action = rng.below(SHAPE.n_actions);
        let reward = means(&context)[action] + NOISE_STD * rng.normal();
        policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
    }
}

/// The root mean square, over fresh contexts and all actions, of how far the mean over z of the drawn rewards is from the
/// truth. A mean of 400 draws adds little to it.
fn error(policy: &dyn Policy) -> f64 {
    let mut rng = Seed::new(24).stream("problem", 0);
    let mut squares = 0.0;
    let n_contexts = 40;
    for round in 0..n_contexts {
        let context = random(SHAPE.n_features, &mut rng);
        let draws = policy.sample_rewards(round, &[context.as_slice(); 400]).unwrap();
        for (action, truth) in means(&context).into_iter().enumerate() {
            let drawn = draws.iter().skip(action).step_by(SHAPE.n_actions);
            squares += (drawn.sum::<f64>() / 400.0 - truth).powi(2);
        }
    }
    (squares / (n_contexts as usize * SHAPE.n_actions) as f64).sqrt()
}

/// True rewards have a standard deviation of 1. A policy that knows nothing is wrong by 1.
#[test]
fn mean_rewards_converge_to_the_true_means() {
    for id in POLICIES {
        for preset in ["authors", "paper"] {
            let mut policy = quick(&format!("{id}@{preset}"), &[], SHAPE, 1);
            let mut errors = vec![error(&*policy)];
            for rounds in [0..100, 100..300, 300..900] {
                teach(&mut *policy, rounds);
                errors.push(error(&*policy));
            }
            assert!(errors.is_sorted_by(|earlier, later| earlier > later), "{id}@{preset}: {errors:?}");
            assert!(errors[3] < 0.1, "{id}@{preset}: {errors:?}");
        }
    }
}

/// Actions taken and regret, in units of the problem, when all rewards are multiplied and shifted.
fn play(policy: &mut dyn Policy, n_rounds: u64, scale: f64, shift: f64) -> (Vec<usize>, f64) {
    let mut regret = 0.0;
    let actions = (0..n_rounds).map(|round| {
        let mut rng = stream(10_000 + round);
        let context = random(SHAPE.n_features, &mut rng);
        let action = policy.choose(Request::new(round, &context)).unwrap().action;
        let means = means(&context);
        regret += means.iter().copied().fold(f64::MIN, f64::max) - means[action];
        let reward = shift + scale * (means[action] + NOISE_STD * rng.normal());
        policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
        action
    });
    (actions.collect(), regret)
}

/// With reward scaling, rewards of a million around three million are learned as well as rewards of 1 around 0: the
/// nets see the same numbers up to rounding. Without it they are not.
#[test]
fn scaled_rewards_of_a_million_train_as_well_as_rewards_of_one() {
    const N: u64 = 300;
    for id in POLICIES {
        let run = |scaling: &str, scale: f64, shift: f64| {
            let mut policy = quick(id, &[("reward_scaling", scaling)], SHAPE, 2);
            play(&mut *policy, N, scale, shift)
        };
        let (_, plain) = run("off", 1.0, 0.0);
        let (actions, one) = run("on", 1.0, 0.0);
        let (same_actions, million) = run("on", 1e6, 3e6);
        let (_, unscaled) = run("off", 1e6, 3e6);
        let n_same = actions.iter().zip(&same_actions).filter(|(a, b)| a == b).count();
        assert!(n_same as f64 > 0.9 * N as f64, "{id}: {n_same} of {N} actions are alike");
        assert!((million / one - 1.0).abs() < 0.2, "{id}: {one}, {million}");
        assert!(one < 1.5 * plain, "{id}: {one}, {plain} without scaling");
        assert!(unscaled > 2.0 * million, "{id}: {unscaled} without scaling, {million} with it");
    }
}
