//! How well do policies follow a change? Prints the share of best actions before and after the swap of `drift`.
//!
//! `cargo run --release -p locus-bandits-bench --example drift -- [--trials N] [POLICY…]`
//!
//! In each trial of 4000 steps the actions swap their coefficients at step 2000. A best action is one without regret. By default,
//! policies that this can be done with quickly run with and without a half-life of 250 observations.

use std::error::Error;
use std::sync::atomic::AtomicBool;

use locus::{PolicySpec, Seed};
use locus_bench::problem;
use locus_bench::trial::{TrialId, run_trial};

const POLICIES: [&str; 4] =
    ["lin-full-post", "lin-full-post[half_life=250]", "lin-pool", "lin-pool[half_life=250]"];
const N_STEPS: usize = 4000;
/// The thousand steps before the swap, and the first and second thousand after it.
const SPANS: [std::ops::Range<usize>; 3] = [1000..2000, 2000..3000, 3000..4000];

fn main() -> Result<(), Box<dyn Error>> {
    let (mut policies, mut n_trials) = (Vec::new(), 20);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--trials" => n_trials = arguments.next().ok_or("--trials needs a number")?.parse()?,
            policy => policies.push(policy.parse::<PolicySpec>()?),
        }
    }
    if policies.is_empty() {
        policies = POLICIES.iter().map(|policy| policy.parse()).collect::<Result<_, _>>()?;
    }
    println!("share of best actions, %: mean ± standard error over {n_trials} trials\n");
    println!(
        "{:<32} {:>16} {:>16} {:>16} {:>16}",
        "policy", "1000 before", "1000 after", "second 1000", "second / before"
    );
    let problem = problem::load("drift", None)?.problem;
    for spec in &policies {
        let mut shares = [(); SPANS.len()].map(|()| Vec::new());
        for trial in 0..n_trials {
            let id = TrialId { problem: problem.name().to_owned(), policy: spec.to_string(), trial };
            let sequence = problem.sequence(N_STEPS, id.sequence_seed(Seed::new(0)))?;
            let mut policy = spec.build(problem.shape(), id.policy_seed(Seed::new(0)))?;
            let result = run_trial(&sequence, &mut *policy, &mut (), &AtomicBool::new(false))?;
            for (span, shares) in SPANS.into_iter().zip(&mut shares) {
                let n_best = result.regrets[span.clone()].iter().filter(|regret| **regret == 0.0).count();
                shares.push(100.0 * n_best as f64 / span.len() as f64);
            }
        }
        let [before, after, second] = shares.each_ref().map(|shares| mean_and_error(shares));
        print!("{:<32}", spec.to_string());
        for (mean, error) in [before, after, second] {
            print!(" {:>16}", format!("{mean:.1} ± {error:.1}"));
        }
        println!(" {:>16.2}", second.0 / before.0);
    }
    Ok(())
}

fn mean_and_error(numbers: &[f64]) -> (f64, f64) {
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}
