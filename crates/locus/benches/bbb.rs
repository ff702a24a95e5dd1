//! Where does the time of a minibatch of BBB go?
//!
//! The parts of a minibatch of 512 rows at five sizes, each the fastest of many, taking turns; what is left of the whole is for
//! drawing rows from the replay, the likelihood and checks. Run with `taskset -c 0 cargo bench -p locus --bench bbb`.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::time::Instant;

use locus::nn::{Adam, BayesMlp, BayesMlpWork, BayesStart, Layout, Normals, Panel};
use locus::{Outcome, PolicySpec, Seed, Shape};

const SHAPES: [Shape; 5] =
    [Shape::new(2, 5), Shape::new(22, 2), Shape::new(54, 7), Shape::new(117, 2), Shape::new(389, 9)];
const N: usize = 512;
const HIDDEN: usize = 50;
const MINIBATCHES: u32 = 2;
const ROUNDS: u64 = 60;
const START: BayesStart = BayesStart { mean_std: 0.05, log_std: -5.0, log_std_spread: 0.05 };

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("µs a minibatch of {N} rows");
    println!(
        "{:>12} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "whole", "draws", "forward", "backward", "kl", "adam"
    );
    for shape in SHAPES {
        let mut fastest = [f64::INFINITY; 6];
        let mut parts = Parts::new(shape);
        let spec: PolicySpec =
            format!("bbb[minibatches={MINIBATCHES},train_every=10]").parse().expect("a policy");
        let mut policy = spec.build(shape, Seed::new(1)).expect("a policy");
        for round in 0..10 * ROUNDS {
            let mut rng = Seed::new(2).stream("problem", round);
            let context: Vec<f32> = (0..shape.n_features).map(|_| rng.normal() as f32).collect();
            let action = rng.below(shape.n_actions);
            let start = Instant::now();
            let outcome = Outcome { round, context: &context, action, reward: rng.normal() };
            if policy.learn(outcome).expect("a lesson").minibatches > 0 {
                let whole = start.elapsed().as_secs_f64() * 1e6 / f64::from(MINIBATCHES);
                let [draws, forward, backward, kl, adam] = parts.measure();
                let times = [whole, draws, forward, backward, kl, adam];
                fastest.iter_mut().zip(times).for_each(|(fastest, time)| *fastest = fastest.min(time));
            }
        }
        let [whole, draws, forward, backward, kl, adam] = fastest;
        // The forward pass draws too.
        let forward = forward - draws;
        println!(
            "C {:>3} A {:>2}   {whole:>8.1} {draws:>8.1} {forward:>8.1} {backward:>8.1} {kl:>8.1} {adam:>8.1}",
            shape.n_features, shape.n_actions
        );
    }
}

/// A net like that of the policy, part by part.
struct Parts {
    net: BayesMlp,
    parameters: Vec<f32>,
    gradients: Vec<f32>,
    variances: Vec<Vec<f32>>,
    work: BayesMlpWork,
    optimizer: Adam,
    normals: Normals,
    inputs: Panel,
    noise: Panel,
}

impl Parts {
    fn new(shape: Shape) -> Self {
        let mut layout = Layout::default();
        let net = BayesMlp::new(&mut layout, &[shape.n_features, HIDDEN, shape.n_actions]);
        let mut rng = Seed::new(3).stream("init", 0);
        let mut parameters = vec![0.0; layout.len()];
        net.initialize(&mut parameters, START, &mut rng);
        let mut normals = Normals::new(&mut rng);
        let mut inputs = Panel::new(shape.n_features, N);
        normals.fill_panel(&mut inputs, 1.0);
        Self {
            net,
            gradients: vec![0.0; layout.len()],
            optimizer: Adam::new(layout.len(), 0.1),
            variances: Vec::new(),
            work: BayesMlpWork::default(),
            noise: Panel::new(HIDDEN + shape.n_actions, N),
            parameters,
            normals,
            inputs,
        }
    }

    /// Microseconds of: draws, forward with draws, backward, variances and KL, Adam.
    fn measure(&mut self) -> [f64; 5] {
        let Self { net, parameters, gradients, variances, work, optimizer, normals, inputs, noise } = self;
        let mut last = Instant::now();
        let mut lap = || {
            let now = Instant::now();
            let time = (now - last).as_secs_f64() * 1e6;
            last = now;
            time
        };
        normals.fill_panel(noise, 1.0);
        let draws = lap();
        net.variances(parameters, variances);
        let exponentials = lap();
        net.forward(parameters, variances, inputs.all(), 1e-6, normals, work);
        let forward = lap();
        work.output_and_gradient().1.fill(0.0);
        work.output_and_gradient().1.line_mut(0).fill(1e-3);
        lap();
        net.backward(parameters, gradients, variances, inputs.all(), work);
        let backward = lap();
        std::hint::black_box(net.add_kl(parameters, gradients, variances, 2.0, 1e-3));
        let kl = exponentials + lap();
        optimizer.step(parameters, gradients);
        [draws, forward, backward, kl, lap()]
    }
}
