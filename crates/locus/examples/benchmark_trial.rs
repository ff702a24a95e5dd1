//! A trial of the benchmark's protocol: the wheel problem, 2000 steps, regret normalized by a uniformly random policy.
//!
//! `locus bench` does this for many problems, policies and trials, on all cores, and keeps the records. Here it is in fifty lines.
//!
//! Run with `cargo run --release -p locus-bandits --example benchmark_trial`.

use locus::{Error, Outcome, Registry, Request, Seed, Shape};

const STEPS: u64 = 2000;

/// A point in the unit disc and the reward of each of the five actions: action 0 is safe; outside radius 0.95, one of the others pays 50,
/// which one depends on the quadrant.
fn wheel(seed: Seed, step: u64) -> ([f32; 2], [f64; 5], f64) {
    let mut rng = seed.stream("round", step);
    let (x, y) = loop {
        let (x, y) = (2.0 * rng.uniform() - 1.0, 2.0 * rng.uniform() - 1.0);
        if x * x + y * y <= 1.0 {
            break (x, y);
        }
    };
    let mut means = [1.2, 1.0, 1.0, 1.0, 1.0];
    if x * x + y * y > 0.95 * 0.95 {
        means[1 + usize::from(x < 0.0) + 2 * usize::from(y < 0.0)] = 50.0;
    }
    let best = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    ([x as f32, y as f32], means.map(|mean| mean + 0.01 * rng.normal()), best)
}

/// The regret of a policy over a trial: the rewards of the best actions minus those of its actions.
fn regret(policy: &str, trial: u64) -> Result<f64, Error> {
    let spec = Registry::standard().parse(policy)?;
    // The rounds depend on the trial alone, so all policies see the same ones; the policy has its own seed.
    let rounds = Seed::new(0).derive("wheel").derive_index(trial);
    let mut policy = spec.build(Shape::new(2, 5), rounds.derive("policy").derive(&spec.to_string()))?;
    let mut total = 0.0;
    for step in 0..STEPS {
        let (context, rewards, best) = wheel(rounds, step);
        let action = policy.choose(Request::new(step, &context))?.action;
        policy.learn(Outcome::new(step, &context, action, rewards[action]))?;
        total += best - rewards[action];
    }
    Ok(total)
}

fn main() -> Result<(), Error> {
    let uniform = regret("uniform", 0)?;
    for policy in ["uniform", "lin-full-post", "locus"] {
        println!("{policy:<14} {:6.1} % of Uniform's regret", 100.0 * regret(policy, 0)? / uniform);
    }
    assert!(regret("locus", 0)? < 0.8 * uniform);
    Ok(())
}
