//! How long does a training minibatch take?
//!
//! The LU policies, preset `paper`, and BBB at five sizes: a round of training is timed whole (drawing rows, forward, backward, Adam)
//! and divided by its minibatches. Run with `taskset -c 0 cargo bench -p locus-bandits --bench train`.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::time::Instant;

use locus::{Outcome, PolicySpec, Seed, Shape};

const SHAPES: [Shape; 5] =
    [Shape::new(2, 5), Shape::new(22, 2), Shape::new(54, 7), Shape::new(117, 2), Shape::new(389, 9)];
const MINIBATCHES: u32 = 10;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("ms per minibatch of 512 rows, fastest / median");
    for (id, rounds) in [("lu-gauss@paper", 60), ("lu-sivi@paper", 12), ("bbb", 60)] {
        for shape in SHAPES {
            let (fastest, median) = measure(id, shape, rounds);
            println!(
                "{id:<16} C {:>3} A {}   {fastest:>8.3} / {median:>8.3}",
                shape.n_features, shape.n_actions
            );
        }
    }
}

fn measure(id: &str, shape: Shape, rounds: usize) -> (f64, f64) {
    let spec: PolicySpec =
        format!("{id}[minibatches={MINIBATCHES},train_every=10]").parse().expect("a policy");
    let mut policy = spec.build(shape, Seed::new(1)).expect("a policy");
    let mut times = Vec::new();
    let mut round = 0;
    while times.len() < rounds {
        let mut rng = Seed::new(2).stream("problem", round);
        let context: Vec<f32> = (0..shape.n_features).map(|_| rng.normal() as f32).collect();
        let action = rng.below(shape.n_actions);
        let reward = f64::from(context[action % shape.n_features]) + rng.normal();
        let start = Instant::now();
        let report = policy.learn(Outcome::new(round, &context, action, reward)).expect("a lesson");
        if report.minibatches > 0 {
            times.push(start.elapsed().as_secs_f64() * 1e3 / f64::from(MINIBATCHES));
        }
        round += 1;
    }
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}
