//! How long does a decision take, a snapshot, and learning from one outcome?
//!
//! Every registered policy at five sizes, after 300 observations: the fastest and the median of many calls. Run with
//! `taskset -c 0 cargo bench -p locus-bandits --bench decide`.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use locus::{Outcome, PolicySpec, Registry, Request, Seed, Shape};

const SHAPES: [Shape; 5] =
    [Shape::new(2, 5), Shape::new(22, 2), Shape::new(54, 7), Shape::new(117, 2), Shape::new(389, 9)];
const N_OBSERVED: u64 = 300;
const N_TIMED: u64 = 500;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("µs, fastest / median of {N_TIMED}; choose, snapshot, learn");
    for id in Registry::standard().policies().into_iter().map(|info| info.id) {
        for shape in SHAPES {
            let [choose, snapshot, learn] = measure(&id, shape);
            println!(
                "{id:<20} C {:>3} A {}   {:>8.2} / {:>8.2}   {:>6.3} / {:>6.3}   {:>8.2} / {:>8.2}",
                shape.n_features,
                shape.n_actions,
                choose.0,
                choose.1,
                snapshot.0,
                snapshot.1,
                learn.0,
                learn.1
            );
        }
    }
}

fn measure(id: &str, shape: Shape) -> [(f64, f64); 3] {
    // Training is not timed here, so its rounds are short.
    let short = format!("{id}[minibatches=1]").parse();
    let spec: PolicySpec = short.or_else(|_| id.parse()).expect("a registered policy");
    let mut policy = spec.build(shape, Seed::new(1)).expect("a policy");
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..N_OBSERVED + N_TIMED {
        let mut rng = Seed::new(2).stream("problem", round);
        let context: Vec<f32> = (0..shape.n_features).map(|_| rng.normal() as f32).collect();
        let start = Instant::now();
        let action = policy.choose(Request::new(round, &context)).expect("a choice").action;
        let chosen = Instant::now();
        let reward = f64::from(context[action % shape.n_features]) + rng.normal();
        // After every outcome, as a service that publishes each would.
        let snapshot_start = Instant::now();
        let snapshot = black_box(policy.snapshot());
        let snapshot_time = snapshot_start.elapsed();
        drop(snapshot);
        let before = Instant::now();
        policy.learn(Outcome::new(round, &context, action, reward)).expect("a lesson");
        if round >= N_OBSERVED {
            times[0].push((chosen - start).as_secs_f64() * 1e6);
            times[1].push(snapshot_time.as_secs_f64() * 1e6);
            times[2].push(before.elapsed().as_secs_f64() * 1e6);
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[0], times[times.len() / 2])
    })
}
