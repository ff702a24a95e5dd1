//! Where does the time of π-TS-DGF go?
//!
//! At five sizes, with the settings of the authors: a decision; a minibatch of 512 rows as the policy runs it; and the parts of such a minibatch on
//! their own, which are the nets forward and back (with the copying of parameters and gradients that belongs to it), the distances between particles,
//! the combinations of gradients and particles, and the step that these make (what an optimizer is elsewhere). What is left of the minibatch is drawing
//! rows, and the prior.
//! Run with `taskset -c 0 cargo bench -p locus-bandits --features internals --bench pi_ts_dgf`.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::time::Instant;

use locus::configs::PiTsDgfConfig;
use locus::internals::nn::{Panel, Stack, StackWork, add_combined, combine, squared_distances};
use locus::internals::{Flow, FlowWork};
use locus::{Outcome, PolicySpec, Request, Rng, Seed, Shape};

const SHAPES: [Shape; 6] = [
    Shape::new(2, 5),
    Shape::new(9, 7),
    Shape::new(54, 7),
    Shape::new(94, 14),
    Shape::new(117, 2),
    Shape::new(389, 9),
];
const PARTICLES: usize = 20;
const HIDDEN: usize = 50;
const ROWS: usize = 512;
const MINIBATCHES: usize = 10;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("fastest / median; a decision in µs, a minibatch and its parts in ms");
    println!(
        "  C   A      decision           minibatch        nets              distances         combinations      step"
    );
    for shape in SHAPES {
        let (choose, minibatch) = whole(shape);
        let [nets, distances, combinations, step] = parts(shape);
        print!("{:>3} {:>3}", shape.n_features, shape.n_actions);
        for (fastest, median) in [choose, minibatch, nets, distances, combinations, step] {
            print!("   {fastest:>6.3} / {median:>6.3}");
        }
        println!();
    }
}

/// Fastest and median.
fn summary(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

fn time(n: usize, mut body: impl FnMut()) -> (f64, f64) {
    let times = (0..n).map(|_| {
        let start = Instant::now();
        body();
        start.elapsed().as_secs_f64() * 1e3
    });
    summary(times.collect())
}

/// A decision and a minibatch of the policy.
fn whole(shape: Shape) -> ((f64, f64), (f64, f64)) {
    let spec: PolicySpec =
        format!("pi-ts-dgf[minibatches={MINIBATCHES},train_every=10]").parse().expect("a policy");
    let mut policy = spec.build(shape, Seed::new(1)).expect("a policy");
    let (mut decisions, mut minibatches) = (Vec::new(), Vec::new());
    for round in 0..300 {
        let mut rng = Seed::new(2).stream("problem", round);
        let context: Vec<f32> = (0..shape.n_features).map(|_| rng.normal() as f32).collect();
        let start = Instant::now();
        let action = policy.choose(Request::new(round, &context)).expect("a choice").action;
        if round >= 100 {
            decisions.push(start.elapsed().as_secs_f64() * 1e6);
        }
        let reward = f64::from(context[action % shape.n_features]) + rng.normal();
        let start = Instant::now();
        let report = policy.learn(Outcome::new(round, &context, action, reward)).expect("a lesson");
        if report.minibatches > 0 {
            minibatches.push(start.elapsed().as_secs_f64() * 1e3 / MINIBATCHES as f64);
        }
    }
    (summary(decisions), summary(minibatches))
}

/// Nets, distances, combinations, the step.
fn parts(shape: Shape) -> [(f64, f64); 4] {
    let stack = Stack { n_nets: PARTICLES, n_in: shape.n_features, n_hidden: HIDDEN, n_out: shape.n_actions };
    let mut rng = Seed::new(3).stream("bench", 0);
    let x = random(shape.n_features, ROWS, &mut rng);
    let asked: Vec<usize> = (0..ROWS).map(|_| rng.below(shape.n_actions)).collect();
    let [particles, previous] = [(); 2].map(|()| random(PARTICLES, stack.n_parameters(), &mut rng));
    let mut gradients = Panel::new(PARTICLES, stack.n_parameters());
    let mut directions = gradients.clone();
    let mut work = StackWork::default();
    let nets = time(100, || {
        stack.read(particles.all(), &mut work);
        stack.add_gradients(&x, &asked, &mut work, |_, outputs| {
            outputs.iter_mut().for_each(|output| *output = -*output);
        });
        stack.write_gradients(&work, gradients.all_mut());
    });
    let mut matrix = vec![0.0; PARTICLES * PARTICLES];
    let distances = time(100, || {
        squared_distances(particles.all(), particles.all(), &mut matrix);
        squared_distances(particles.all(), previous.all(), &mut matrix);
    });
    let weights: Vec<f32> = matrix.iter().map(|&distance| distance as f32).collect();
    let combinations = time(100, || {
        combine(&weights, gradients.all(), directions.all_mut());
        add_combined(&weights, previous.all(), directions.all_mut());
    });
    let flow = Flow::new(&PiTsDgfConfig::authors());
    let mut particles = flow.particles(particles);
    let mut flow_work = FlowWork::default();
    flow.prepare(stack.n_parameters(), &mut flow_work);
    let step = time(100, || {
        flow_work.directions.copy_lines(0, &directions);
        std::hint::black_box(flow.advance(&mut particles, &mut flow_work));
    });
    [nets, distances, combinations, step]
}

fn random(n_lines: usize, n_columns: usize, rng: &mut Rng) -> Panel {
    let mut panel = Panel::new(n_lines, n_columns);
    for line in 0..n_lines {
        panel.line_mut(line).iter_mut().for_each(|value| *value = 0.1 * rng.normal() as f32);
    }
    panel
}
