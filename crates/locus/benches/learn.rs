//! How much faster is learning from many outcomes at once than from one at a time?
//!
//! `lin-full-post` and `lin-ucb` learn 2000 outcomes of 54 features and 7 actions, from scratch each time. The two ways are
//! interleaved, so that a disturbance affects both. Run with `taskset -c 0 cargo bench -p locus-bandits --bench learn`.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use locus::{Outcome, Policy, PolicySpec, Seed, Shape};

const SHAPE: Shape = Shape::new(54, 7);
const N_OUTCOMES: u64 = 2000;
const N_TIMED: usize = 60;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let contexts: Vec<Vec<f32>> = (0..N_OUTCOMES).map(context).collect();
    let outcome = |(round, context)| {
        let mut rng = Seed::new(3).stream("action", round);
        let action = rng.below(SHAPE.n_actions);
        Outcome::new(round, context, action, f64::from(context[action]) + rng.normal())
    };
    let outcomes: Vec<Outcome<'_>> = (0..).zip(contexts.iter().map(Vec::as_slice)).map(outcome).collect();
    println!(
        "{N_OUTCOMES} outcomes, C {}, A {}: ms, fastest / median of {N_TIMED}",
        SHAPE.n_features, SHAPE.n_actions
    );
    for id in ["lin-full-post", "lin-ucb"] {
        let [one_by_one, many] = measure(id, &outcomes);
        println!(
            "{id:<14} learn {:>7.2} / {:>7.2}   learn_many {:>7.2} / {:>7.2}   {:.2} / {:.2} × as fast",
            one_by_one.0,
            one_by_one.1,
            many.0,
            many.1,
            one_by_one.0 / many.0,
            one_by_one.1 / many.1
        );
    }
}

fn context(round: u64) -> Vec<f32> {
    let mut rng = Seed::new(2).stream("problem", round);
    (0..SHAPE.n_features).map(|_| rng.normal() as f32).collect()
}

fn measure(id: &str, outcomes: &[Outcome<'_>]) -> [(f64, f64); 2] {
    let spec: PolicySpec = id.parse().expect("a registered policy");
    let time = |learn: &dyn Fn(&mut dyn Policy)| {
        let mut policy = spec.build(SHAPE, Seed::new(1)).expect("a policy");
        let start = Instant::now();
        learn(&mut *policy);
        let elapsed = start.elapsed().as_secs_f64() * 1e3;
        black_box(policy);
        elapsed
    };
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..N_TIMED {
        times[0].push(time(&|policy| {
            for outcome in outcomes {
                policy.learn(*outcome).expect("a lesson");
            }
        }));
        times[1].push(time(&|policy| {
            policy.learn_many(outcomes).expect("lessons");
        }));
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[0], times[times.len() / 2])
    })
}
