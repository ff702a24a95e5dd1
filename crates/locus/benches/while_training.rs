//! How long does a decision take while the policy trains?
//!
//! One thread trains a policy continuously and publishes a snapshot after every round of training; another decides on the last
//! snapshot, continuously too. The time of a decision includes getting that snapshot. For comparison, the same runs without
//! training, on the snapshot of an equally trained policy. It needs two cores: run with `cargo bench -p locus-bandits --bench
//! while_training`.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use locus::{Choose, Outcome, Policy, PolicySpec, Request, Seed, Shape};

const SHAPES: [Shape; 5] =
    [Shape::new(2, 5), Shape::new(22, 2), Shape::new(54, 7), Shape::new(117, 2), Shape::new(389, 9)];
/// Observations before anything is timed, so that the policy is trained.
const N_OBSERVED: u64 = 100;
/// How long each case is timed.
const TIMED: Duration = Duration::from_secs(2);

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("| µs per decision | training | p50 | p99 | p99.9 | max | decisions | rounds of training |");
    println!("|---|---|---|---|---|---|---|---|");
    for id in ["lu-gauss", "lu-sivi"] {
        for shape in SHAPES {
            for is_training in [false, true] {
                let (times, n_rounds) = measure(id, shape, is_training);
                let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
                println!(
                    "| {id}, C {}, A {} | {} | {:.1} | {:.1} | {:.1} | {:.0} | {} | {n_rounds} |",
                    shape.n_features,
                    shape.n_actions,
                    if is_training { "yes" } else { "no" },
                    at(0.5),
                    at(0.99),
                    at(0.999),
                    at(1.0),
                    times.len(),
                );
            }
        }
    }
}

/// Sorted times of decisions, and how many rounds of training were done meanwhile.
fn measure(id: &str, shape: Shape, is_training: bool) -> (Vec<f64>, u64) {
    let spec: PolicySpec = id.parse().expect("a registered policy");
    let mut policy = spec.build(shape, Seed::new(1)).expect("a policy");
    let mut round = 0;
    while round < N_OBSERVED {
        teach(&mut *policy, &mut round);
    }
    let last = Mutex::new(policy.snapshot());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let trainer = scope.spawn(|| {
            let mut n_rounds = 0;
            while is_training && !is_over.load(Ordering::Relaxed) {
                if teach(&mut *policy, &mut round) {
                    *last.lock().unwrap_or_else(PoisonError::into_inner) = policy.snapshot();
                    n_rounds += 1;
                }
            }
            n_rounds
        });
        let mut times = decide(shape, &last);
        is_over.store(true, Ordering::Relaxed);
        times.sort_by(f64::total_cmp);
        (times, trainer.join().expect("training"))
    })
}

/// Learns one more outcome; returns whether the policy trained.
fn teach(policy: &mut dyn Policy, round: &mut u64) -> bool {
    let mut rng = Seed::new(2).stream("problem", *round);
    let shape = policy.shape();
    let context: Vec<f32> = (0..shape.n_features).map(|_| rng.normal() as f32).collect();
    let action = rng.below(shape.n_actions);
    let reward = f64::from(context[action % shape.n_features]) + rng.normal();
    let outcome = Outcome::new(*round, &context, action, reward);
    *round += 1;
    policy.learn(outcome).expect("a valid outcome").minibatches > 0
}

/// Microseconds of every decision.
fn decide(shape: Shape, last: &Mutex<Arc<dyn Choose>>) -> Vec<f64> {
    let mut rng = Seed::new(3).stream("problem", 0);
    let context: Vec<f32> = (0..shape.n_features).map(|_| rng.normal() as f32).collect();
    let mut times = Vec::new();
    let begin = Instant::now();
    // Rounds far from those of the initial pulls, where nothing is drawn.
    for round in N_OBSERVED.. {
        let start = Instant::now();
        let snapshot = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let choice = snapshot.choose(Request::new(round, &context)).expect("a choice");
        times.push(start.elapsed().as_secs_f64() * 1e6);
        std::hint::black_box(choice);
        if start - begin > TIMED {
            break;
        }
    }
    times
}
