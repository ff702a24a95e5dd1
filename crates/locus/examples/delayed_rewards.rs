//! Delayed rewards with threads: four threads decide on snapshots while one learns from rewards as they arrive.
//!
//! Run with `cargo run --release -p locus-bandits --example delayed_rewards`.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, mpsc};
use std::thread;

use locus::{Outcome, PolicySpec, Request, Seed, Shape};

const ROUNDS: u64 = 2000;

/// A decision that awaits its reward.
struct Decided {
    round: u64,
    context: Vec<f32>,
    action: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let spec: PolicySpec = "lin-full-post".parse()?;
    let mut policy = spec.build(Shape::new(3, 2), Seed::new(7))?;
    // Deciders use the newest snapshot; the learner replaces it. Neither waits for the other's work.
    let newest = RwLock::new(policy.snapshot());
    let rounds = AtomicU64::new(0);
    let (decided, rewards) = mpsc::channel::<Decided>();

    let n_learned = thread::scope(|scope| -> Result<u64, locus::Error> {
        for _ in 0..4 {
            let (decided, newest, rounds) = (decided.clone(), &newest, &rounds);
            scope.spawn(move || {
                loop {
                    // One counter for all threads: a round is one decision.
                    let round = rounds.fetch_add(1, Ordering::Relaxed);
                    if round >= ROUNDS {
                        break;
                    }
                    let mut world = Seed::new(1).stream("world", round);
                    let context: Vec<f32> = (0..3).map(|_| world.normal() as f32).collect();
                    let snapshot = Arc::clone(&newest.read().expect("no decider panics"));
                    let choice = snapshot.choose(Request::new(round, &context)).expect("a valid request");
                    // Every tenth reward is missing.
                    if round % 10 != 0 {
                        decided.send(Decided { round, context, action: choice.action }).expect("a learner");
                    }
                }
            });
        }
        drop(decided);

        let mut n_learned = 0;
        for Decided { round, context, action } in rewards {
            let reward = if (context[0] > 0.0) == (action == 1) { 1.0 } else { 0.0 };
            policy.learn(Outcome::new(round, &context, action, reward))?;
            n_learned += 1;
            if n_learned % 20 == 0 {
                *newest.write().expect("no decider panics") = policy.snapshot();
            }
        }
        Ok(n_learned)
    })?;

    let right = (0..100).filter(|&round| {
        let x = if round % 2 == 0 { 1.0 } else { -1.0 };
        let choice = policy.choose(Request::new(ROUNDS + round, &[x, 0.3, -0.2])).expect("a valid request");
        (x > 0.0) == (choice.action == 1)
    });
    let right = right.count();
    println!("learned from {n_learned} of {ROUNDS} decisions; then {right} of 100 choices were best");
    assert!(right > 90);
    Ok(())
}
