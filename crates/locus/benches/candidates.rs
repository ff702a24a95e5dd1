//! What does a decision among many candidates with features cost?
//!
//! Every number is the median of many calls after 1000 outcomes, with other contexts and candidates in each. Run with
//! `taskset -c 0 cargo bench -p locus-bandits --bench candidates`; the name of a policy as last argument measures that one alone.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use locus::{Outcome, Policy, PolicySpec, Request, Rng, Seed, Shape};

const SHAPE: Shape = Shape::described(20, 20);
const N_CANDIDATES: usize = 1000;
const N_OBSERVED: u64 = 1000;
const N_CALLS: usize = 200;
const N_SETS: usize = 10;

const POLICIES: [&str; 10] = [
    "uniform",
    "lin-full-post",
    "lin-full-post[interactions=all]",
    "lin-full-post[interactions=only]",
    "lin-ucb",
    "lin-ucb[interactions=all]",
    "lin-pool",
    "locus",
    "neural-linear",
    "lu-gauss",
];

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    println!(
        "µs per decision, C = 20, F = 20, {N_CANDIDATES} candidates: without propensity, with propensity, the first of these after an outcome"
    );
    let chosen =
        |name: &&str| only.as_deref().is_none_or(|only| only == name.split('[').next().unwrap_or(name));
    for name in POLICIES.iter().filter(|name| chosen(name)) {
        let policy = trained(name);
        let mut rng = Seed::new(3).stream("bench", 0);
        let (n_context, n_action) = (SHAPE.n_features, SHAPE.n_action_features);
        let sets: Vec<(Vec<f32>, Vec<f32>)> = (0..N_SETS)
            .map(|_| (normals(&mut rng, n_context), normals(&mut rng, N_CANDIDATES * n_action)))
            .collect();
        let request = |call: usize| {
            let (context, candidates) = &sets[call % N_SETS];
            Request::new(5000 + call as u64, context).with_candidates(candidates)
        };
        let asking = Instant::now();
        black_box(policy.choose(request(0).with_propensity()).expect("a choice"));
        let first = asking.elapsed().as_secs_f64() * 1e6;
        // With propensities some policies take a thousand times as long.
        let n_asked = if first > 2e4 { 5 } else { N_CALLS };
        let plain = median(N_CALLS, |call| {
            black_box(policy.choose(request(call)).expect("a choice"));
        });
        let asked = median(n_asked, |call| {
            black_box(policy.choose(request(call).with_propensity()).expect("a choice"));
        });
        println!("{name:<34} {plain:>9.1} {asked:>11.1} {first:>11.1}");
    }
}

fn normals(rng: &mut Rng, n: usize) -> Vec<f32> {
    (0..n).map(|_| rng.normal() as f32).collect()
}

fn trained(name: &str) -> Box<dyn Policy> {
    let spec: PolicySpec = name.parse().expect("a policy");
    let mut policy = spec.build(SHAPE, Seed::new(1)).expect("a policy for candidates");
    let mut rng = Seed::new(2).stream("bench", 0);
    for round in 0..N_OBSERVED {
        let (context, action) =
            (normals(&mut rng, SHAPE.n_features), normals(&mut rng, SHAPE.n_action_features));
        let reward = f64::from(context[0] * action[0]) + rng.normal();
        policy
            .learn(Outcome::new(round, &context, 0, reward).with_action_features(&action))
            .expect("a lesson");
    }
    policy
}

/// Microseconds.
fn median(n_calls: usize, mut call: impl FnMut(usize)) -> f64 {
    let mut times: Vec<f64> = (0..n_calls)
        .map(|turn| {
            let start = Instant::now();
            call(turn);
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    times[n_calls / 2]
}
