//! How much regret does a warm start from a log save? Compares the first 1000 steps without and with 2000 logged outcomes.
//!
//! `cargo run --release -p locus-bandits-bench --example warm_start -- [--data DIR] [PROBLEM…]`; the default problems, `linear` and `wheel`, need no files.
//!
//! The logging policy takes the best single action with probability 0.8 and a random one otherwise. Every policy then decides for
//! 1000 new contexts: once untrained, and once after it learned the log with `learn_many`.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use locus::{Outcome, Policy, PolicySpec, Seed};
use locus_bench::problem::{self, Sequence};
use locus_bench::trial::run_trial;

const POLICIES: [&str; 4] = ["uniform", "lin-full-post", "locus", "lu-gauss"];
const N_LOGGED: usize = 2000;
const N_STEPS: usize = 1000;
const N_TRIALS: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut problems, mut data) = (Vec::new(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--data" => data = Some(PathBuf::from(arguments.next().ok_or("--data needs a folder")?)),
            _ => problems.push(argument),
        }
    }
    if problems.is_empty() {
        problems = vec!["linear".to_owned(), "wheel".to_owned()];
    }
    println!(
        "regret of the first {N_STEPS} steps, % of uniform's: mean ± standard error over {N_TRIALS} trials\n"
    );
    println!("{:<12} {:<15} {:>15} {:>25}", "problem", "policy", "untrained", "after 2000 logged");
    for name in &problems {
        let problem = problem::load(name, data.as_deref())?.problem;
        let mut regrets = [(); POLICIES.len()].map(|()| [Vec::new(), Vec::new()]);
        for trial in 0..N_TRIALS {
            let seed = Seed::new(0).derive(name).derive_index(trial);
            let rounds = problem.sequence(N_LOGGED + N_STEPS, seed.derive("rounds"))?;
            let log = log(&rounds, seed.derive("incumbent"));
            let new = rest(&rounds)?;
            for (policy, regrets) in POLICIES.iter().zip(&mut regrets) {
                let spec: PolicySpec = policy.parse()?;
                for (is_warm, regrets) in [false, true].into_iter().zip(regrets) {
                    let mut policy = spec.build(problem.shape(), seed.derive("policy"))?;
                    if is_warm {
                        // A net trains once per call, so batches of `train_every` outcomes train it as often as live outcomes would.
                        for lot in log.chunks(20) {
                            policy.learn_many(lot)?;
                        }
                    }
                    regrets.push(regret(&new, &mut *policy)?);
                }
            }
        }
        let uniform = regrets[0][0].clone();
        for (policy, [cold, warm]) in POLICIES.iter().zip(&regrets).skip(1) {
            let [(cold, cold_error), (warm, warm_error)] =
                [cold, warm].map(|regrets| normalized(regrets, &uniform));
            println!(
                "{name:<12} {policy:<15} {cold:>8.1} ± {cold_error:<4.1} {warm:>18.1} ± {warm_error:<4.1}"
            );
        }
    }
    Ok(())
}

/// The decisions of the logging policy in the first rounds, and their rewards.
fn log(rounds: &Sequence, seed: Seed) -> Vec<Outcome<'_>> {
    let n_actions = rounds.shape().n_actions;
    let earned = |action: usize| (0..N_LOGGED).map(|t| rounds.round(t).rewards[action]).sum::<f64>();
    let favorite = (0..n_actions).max_by(|one, other| earned(*one).total_cmp(&earned(*other))).unwrap_or(0);
    let outcome = |t: usize| {
        let mut rng = seed.stream("decision", t as u64);
        let action = if rng.below(5) == 0 { rng.below(n_actions) } else { favorite };
        let round = rounds.round(t);
        Outcome::new(t as u64, round.context, action, round.rewards[action])
    };
    (0..N_LOGGED).map(outcome).collect()
}

/// The rounds after the log.
fn rest(rounds: &Sequence) -> Result<Sequence, locus_bench::Error> {
    let (mut contexts, mut rewards, mut best_rewards) = (Vec::new(), Vec::new(), Vec::new());
    for round in (N_LOGGED..rounds.len()).map(|t| rounds.round(t)) {
        contexts.extend_from_slice(round.context);
        rewards.extend_from_slice(round.rewards);
        best_rewards.push(round.best_reward);
    }
    Sequence::new(rounds.shape(), contexts, rewards, best_rewards)
}

fn regret(rounds: &Sequence, policy: &mut dyn Policy) -> Result<f64, locus_bench::Error> {
    Ok(run_trial(rounds, policy, &mut (), &AtomicBool::new(false))?.cumulative_regret())
}

/// Mean and standard error of regrets over uniform's mean, in percent.
fn normalized(regrets: &[f64], uniform: &[f64]) -> (f64, f64) {
    let n = regrets.len() as f64;
    let scale = 100.0 * uniform.len() as f64 / uniform.iter().sum::<f64>();
    let mean = regrets.iter().sum::<f64>() / n;
    let variance = regrets.iter().map(|regret| (regret - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (scale * mean, scale * (variance / n).sqrt())
}
