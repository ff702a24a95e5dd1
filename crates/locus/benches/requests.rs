//! What do masks, propensities and batches cost?
//!
//! Every number is the median of many calls after 1000 observations; compared calls are interleaved, so that both see the same
//! load. Run with `taskset -c 0 cargo bench -p locus-bandits --bench requests`; the name of a policy as last argument measures
//! that one alone.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use locus::{Choice, Outcome, Policy, PolicySpec, Registry, Request, Seed, Shape};

const N_OBSERVED: u64 = 1000;
const N_TURNS: usize = 400;
const BATCH: usize = 256;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let registry = Registry::standard();
    let policies = registry.policies();
    let ids: Vec<&str> = policies.iter().map(|info| info.id.as_str()).collect();
    let ids = ids.into_iter().filter(|id| only.as_deref().is_none_or(|only| only == *id));
    let ids: Vec<&str> = ids.collect();
    masks(&ids);
    propensities(&ids);
    batches(&ids);
}

/// A decision among all of 100 actions, and among every second of them.
fn masks(ids: &[&str]) {
    println!("\nµs per decision, C = 20, A = 100: all actions allowed, half of them allowed, their ratio");
    let shape = Shape::new(20, 100);
    let half: Vec<bool> = (0..shape.n_actions).map(|action| action % 2 == 0).collect();
    for id in ids {
        let (policy, contexts) = (trained(id, shape), contexts(shape, BATCH));
        let [all, masked] = interleaved([
            &mut |turn| {
                let context = &contexts[turn % contexts.len()];
                black_box(policy.choose(Request::new(5000 + turn as u64, context)).expect("a choice"));
            },
            &mut |turn| {
                let request = Request::new(5000 + turn as u64, &contexts[turn % contexts.len()]);
                black_box(policy.choose(request.allowing(&half)).expect("a choice"));
            },
        ]);
        println!("{id:<20} {all:>9.2} {masked:>9.2} {:>6.2}", masked / all);
    }
}

/// A decision without its propensity, with it, and one draw of every action's reward.
fn propensities(ids: &[&str]) {
    println!(
        "\nµs per decision: without propensity, with propensity; drawing every reward once; the bound, sample_rewards + 0.25 A"
    );
    let presets = ["lu-gauss@paper", "lu-gauss@authors", "lu-sivi@paper"];
    let ids = ids.iter().flat_map(|id| {
        let presets = presets.iter().filter(move |preset| preset.starts_with(&format!("{id}@"))).copied();
        [*id].into_iter().chain(presets)
    });
    for id in ids {
        for shape in [Shape::new(54, 7), Shape::new(22, 2), Shape::new(20, 20)] {
            let (policy, contexts) = (trained(id, shape), contexts(shape, BATCH));
            let request = |turn: usize| Request::new(5000 + turn as u64, &contexts[turn % contexts.len()]);
            let [plain, asked, drawn] = interleaved([
                &mut |turn| {
                    black_box(policy.choose(request(turn)).expect("a choice"));
                },
                &mut |turn| {
                    black_box(policy.choose(request(turn).with_propensity()).expect("a choice"));
                },
                &mut |turn| {
                    let Request { round, context, .. } = request(turn);
                    black_box(policy.sample_rewards(round, &[context]).unwrap_or_default());
                },
            ]);
            println!(
                "{id:<20} C {:>2} A {:>2} {plain:>9.2} {asked:>9.2} {drawn:>9.2} {:>9.2}",
                shape.n_features,
                shape.n_actions,
                drawn + 0.25 * shape.n_actions as f64
            );
        }
    }
}

/// Decisions one by one, and 256 at once.
fn batches(ids: &[&str]) {
    println!(
        "\nµs per decision: one by one, {BATCH} at once, their ratio; then the same with propensities; 1000 observations"
    );
    for id in ids {
        for shape in [Shape::new(54, 7), Shape::new(117, 2), Shape::new(128, 20)] {
            let (policy, contexts) = (trained(id, shape), contexts(shape, BATCH));
            let requests: Vec<Request<'_>> =
                contexts.iter().zip(5000..).map(|(context, round)| Request::new(round, context)).collect();
            let asking: Vec<Request<'_>> = requests.iter().map(|request| request.with_propensity()).collect();
            let mut choices = vec![Choice::new(0); BATCH];
            let one_by_one = |requests: &[Request<'_>]| {
                for request in requests {
                    black_box(policy.choose(*request).expect("a choice"));
                }
            };
            let mut at_once = |requests: &[Request<'_>]| {
                policy.choose_into(requests, &mut choices).expect("choices");
                black_box(&choices);
            };
            let times = [(&requests, 60), (&asking, 8)].map(|(requests, n_turns)| {
                let [single, many] =
                    alternating(n_turns, [&mut |_| one_by_one(requests), &mut |_| at_once(requests)]);
                (single / BATCH as f64, many / BATCH as f64)
            });
            print!("{id:<20} C {:>3} A {:>2}", shape.n_features, shape.n_actions);
            for (single, many) in times {
                print!("  {single:>9.2} {many:>9.2} {:>6.2}", single / many);
            }
            println!();
        }
    }
}

fn contexts(shape: Shape, n: usize) -> Vec<Vec<f32>> {
    let context = |index: usize| {
        let mut rng = Seed::new(3).stream("context", index as u64);
        (0..shape.n_features).map(|_| rng.normal() as f32).collect()
    };
    (0..n).map(context).collect()
}

/// A policy that has learned a linear problem. Training is short, because it is not timed here.
fn trained(id: &str, shape: Shape) -> Box<dyn Policy> {
    let short = format!("{id}[minibatches=2,train_every=200]").parse();
    let spec: PolicySpec = short.or_else(|_| id.parse()).expect("a registered policy");
    let mut policy = spec.build(shape, Seed::new(1)).expect("a policy");
    for round in 0..N_OBSERVED {
        let mut rng = Seed::new(2).stream("problem", round);
        let context: Vec<f32> = (0..shape.n_features).map(|_| rng.normal() as f32).collect();
        let action = rng.below(shape.n_actions);
        let reward = f64::from(context[action % shape.n_features]) + rng.normal();
        policy.learn(Outcome::new(round, &context, action, reward)).expect("a lesson");
    }
    policy
}

/// Median times of the calls, in µs; the calls are interleaved.
fn interleaved<const N: usize>(calls: [&mut dyn FnMut(usize); N]) -> [f64; N] {
    alternating(N_TURNS, calls)
}

fn alternating<const N: usize>(n_turns: usize, mut calls: [&mut dyn FnMut(usize); N]) -> [f64; N] {
    let mut times = [(); N].map(|()| Vec::new());
    for turn in 0..n_turns + n_turns / 4 {
        for (call, times) in calls.iter_mut().zip(&mut times) {
            let start = Instant::now();
            call(turn);
            let elapsed = start.elapsed().as_secs_f64() * 1e6;
            // The first turns warm up caches and buffers.
            if turn >= n_turns / 4 {
                times.push(elapsed);
            }
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}
