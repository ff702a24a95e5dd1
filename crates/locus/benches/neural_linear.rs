//! Where does the time of Neural Linear go?
//!
//! With the benchmark's settings, at five sizes, after 2000 observations: decisions, single outcomes, minibatches and their
//! parts, and the features and factors that every round of training recomputes. The rest of a minibatch is drawing its rows from
//! the replay. Run with `taskset -c 0 cargo bench -p locus-bandits --features internals --bench neural_linear`.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::time::Instant;

use locus::internals::linear::{Block, LinearPosterior, LinearPrior};
use locus::internals::nn::{
    Activation, InputGradient, Layout, Mlp, MlpWork, Panel, RmsProp, clip_by_global_norm,
};
use locus::{Outcome, PolicySpec, Request, Seed, Shape};

const SHAPES: [Shape; 5] =
    [Shape::new(2, 5), Shape::new(22, 2), Shape::new(54, 7), Shape::new(117, 2), Shape::new(389, 9)];
const N_OBSERVED: usize = 2000;
const BATCH_SIZE: usize = 512;
const HIDDEN: usize = 50;
const REPEATS: usize = 50;
/// The difference in minibatches between two timed rounds of training: enough that the rest of a round, a millisecond that varies
/// by tenths of it, does not matter.
const MORE_MINIBATCHES: u32 = 40;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("fastest of {REPEATS} or more, µs");
    println!(
        "               choose  learn   minibatch: all, products, optimizer   features  factors (one by one)"
    );
    for shape in SHAPES {
        let [choose, learn, one_minibatch] = policy(shape, 1);
        let [_, _, many_minibatches] = policy(shape, 1 + MORE_MINIBATCHES);
        let [products, optimizer, features] = net(shape);
        let [blocks, one_by_one] = factors(shape.n_actions);
        println!(
            "C {:>3} A {}   {choose:>8.1} {learn:>6.1}   {:>14.0} {products:>9.0} {optimizer:>10.1}   \
             {features:>8.0} {blocks:>8.0} ({one_by_one:.0})",
            shape.n_features,
            shape.n_actions,
            (many_minibatches - one_minibatch) / f64::from(MORE_MINIBATCHES),
        );
    }
}

/// The fastest of several calls.
fn fastest(mut body: impl FnMut()) -> f64 {
    let times = (0..REPEATS).map(|_| {
        let start = Instant::now();
        body();
        start.elapsed().as_secs_f64() * 1e6
    });
    times.fold(f64::INFINITY, f64::min)
}

/// A decision, an outcome, and an outcome with a round of training of `minibatches` minibatches.
fn policy(shape: Shape, minibatches: u32) -> [f64; 3] {
    let settings = format!("minibatches={minibatches},train_every=10,replay_capacity={N_OBSERVED}");
    let spec: PolicySpec = format!("neural-linear[{settings}]").parse().expect("a policy");
    let mut policy = spec.build(shape, Seed::new(1)).expect("a policy");
    let mut best = [f64::INFINITY; 3];
    for round in 0..(N_OBSERVED + 10 * REPEATS) as u64 {
        let mut rng = Seed::new(2).stream("problem", round);
        let context: Vec<f32> = (0..shape.n_features).map(|_| rng.normal() as f32).collect();
        let start = Instant::now();
        let action = policy.choose(Request::new(round, &context)).expect("a choice").action;
        let chosen = start.elapsed();
        let reward = f64::from(context[action % shape.n_features]) + rng.normal();
        let start = Instant::now();
        let report = policy.learn(Outcome::new(round, &context, action, reward)).expect("a lesson");
        let learned = start.elapsed();
        if round >= N_OBSERVED as u64 {
            let place = if report.minibatches > 0 { 2 } else { 1 };
            best[0] = best[0].min(chosen.as_secs_f64() * 1e6);
            best[place] = best[place].min(learned.as_secs_f64() * 1e6);
        }
    }
    best
}

/// Products of a minibatch, its optimizer, and the features of all observations.
fn net(shape: Shape) -> [f64; 3] {
    let mut rng = Seed::new(3).stream("net", 0);
    let mut layout = Layout::default();
    let net = Mlp::new(&mut layout, &[shape.n_features, HIDDEN, shape.n_actions], Activation::Linear);
    let mut parameters = vec![0.0; layout.size()];
    net.initialize(&mut parameters, &mut rng);
    let mut gradients = vec![0.0; layout.size()];
    let mut inputs = Panel::new(shape.n_features, BATCH_SIZE);
    for feature in 0..shape.n_features {
        inputs.line_mut(feature).iter_mut().for_each(|value| *value = rng.normal() as f32);
    }
    let mut work = MlpWork::default();
    let products = fastest(|| {
        net.forward(&parameters, inputs.all(), &mut work);
        let (output, gradient) = work.output_and_gradient();
        gradient.fill(0.0);
        gradient.line_mut(0).copy_from_slice(output.line(0));
        net.backward(&parameters, &mut gradients, inputs.all(), &mut work, InputGradient::None);
    });
    let mut optimizer_state = RmsProp::as_in_tensorflow(layout.size());
    let optimizer = fastest(|| {
        gradients.fill(0.1);
        clip_by_global_norm(&mut gradients, 5.0);
        optimizer_state.step(&mut parameters, &mut gradients, 1e-6);
    });
    let features = fastest(|| {
        for _ in 0..N_OBSERVED.div_ceil(BATCH_SIZE) {
            net.forward(&parameters, inputs.all(), &mut work);
        }
    });
    [products, optimizer, features]
}

/// Posteriors of all actions from all observations: in blocks, and one by one.
fn factors(n_actions: usize) -> [f64; 2] {
    let mut rng = Seed::new(4).stream("factors", 0);
    let features: Vec<f64> = (0..N_OBSERVED * HIDDEN).map(|_| rng.normal().max(0.0)).collect();
    let prior = LinearPosterior::new(HIDDEN, LinearPrior { precision: 0.25, shape: 6.0, rate: 6.0 });
    let per_action = features.chunks(HIDDEN * N_OBSERVED.div_ceil(n_actions));
    let blocks = fastest(|| {
        let mut block = Block::new(HIDDEN);
        for rows in per_action.clone() {
            let mut posterior = prior.clone();
            for row in rows.chunks(HIDDEN) {
                block.push(row.iter().copied(), row[0]);
                if block.is_full() {
                    posterior.observe_block(&mut block);
                }
            }
            posterior.observe_block(&mut block);
            std::hint::black_box(posterior.mean());
        }
    });
    let one_by_one = fastest(|| {
        for rows in per_action.clone() {
            let mut posterior = prior.clone();
            rows.chunks(HIDDEN).for_each(|row| posterior.observe(row, row[0]));
            std::hint::black_box(posterior.mean());
        }
    });
    [blocks, one_by_one]
}
