//! Where does the time of BBB go?
//!
//! Times a decision and the parts of a minibatch of 512 rows, at five sizes, and at the largest once more with contexts of 40
//! nonzero numbers. Each time is the fastest of many, interleaved; the rest of the whole minibatch is drawing rows from the
//! replay, the likelihood and checks. Then: at which density are sparse contexts faster? Run with `taskset -c 0 cargo bench -p
//! locus-bandits --features internals --bench bbb`.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::time::Instant;

use locus::internals::nn::{
    Adam, BayesMlp, BayesMlpWork, BayesStart, Input, Layout, NormalSource, Normals, Panel, SparseRows,
};
use locus::{Outcome, PolicySpec, Request, Rng, Seed, Shape};

/// And the number of nonzeros of a context, unless all are.
const CASES: [(Shape, Option<usize>); 6] = [
    (Shape::new(2, 5), None),
    (Shape::new(22, 2), None),
    (Shape::new(54, 7), None),
    (Shape::new(117, 2), None),
    (Shape::new(389, 9), None),
    (Shape::new(389, 9), Some(40)),
];
const N: usize = 512;
const HIDDEN: usize = 50;
const MINIBATCHES: u32 = 4;
const ROUNDS: u64 = 60;
const PERCENTAGES: [usize; 6] = [5, 10, 20, 30, 40, 60];
const START: BayesStart = BayesStart { mean_std: 0.05, log_std: -5.0, log_std_spread: 0.05 };

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("µs; a minibatch of {N} rows, whole and in parts");
    println!(
        "{:>24} {:>9} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "decision", "minibatch", "draws", "forward", "backward", "kl", "adam"
    );
    for (shape, n_nonzero) in CASES {
        measure_case(shape, n_nonzero);
    }
    println!("forward and backward in µs, dense / sparse, by the percentage of nonzeros");
    println!("      {}", PERCENTAGES.map(|percentage| format!("{percentage:>13} %")).concat());
    for shape in [Shape::new(54, 7), Shape::new(117, 2), Shape::new(389, 9)] {
        print!("C {:>3} ", shape.n_features);
        for percentage in PERCENTAGES {
            let mut parts = Parts::new(shape, Some((shape.n_features * percentage).div_ceil(100)));
            let mut fastest = [f64::INFINITY; 2];
            for turn in 0..2 * ROUNDS as usize {
                parts.is_sparse = turn % 2 == 1;
                let [_, forward, backward, ..] = parts.measure();
                fastest[turn % 2] = fastest[turn % 2].min(forward + backward);
            }
            print!(" {:>6.0} / {:>5.0}", fastest[0], fastest[1]);
        }
        println!();
    }
}

/// Prints one line of the first table.
fn measure_case(shape: Shape, n_nonzero: Option<usize>) {
    let mut fastest = [f64::INFINITY; 7];
    let mut parts = Parts::new(shape, n_nonzero);
    let spec: PolicySpec =
        format!("bbb[minibatches={MINIBATCHES},train_every=10]").parse().expect("a policy");
    let mut policy = spec.build(shape, Seed::new(1)).expect("a policy");
    for round in 0..10 * ROUNDS {
        let mut rng = Seed::new(2).stream("problem", round);
        let context = context(shape.n_features, n_nonzero, &mut rng);
        let start = Instant::now();
        // After the initial pulls, which take no time.
        let request = Request::new(round + 1000, &context);
        let action = policy.choose(request).expect("a choice").action;
        fastest[0] = fastest[0].min(start.elapsed().as_secs_f64() * 1e6);
        let outcome = Outcome::new(round, &context, action, rng.normal());
        let start = Instant::now();
        if policy.learn(outcome).expect("a valid outcome").minibatches > 0 {
            let whole = start.elapsed().as_secs_f64() * 1e6 / f64::from(MINIBATCHES);
            let [draws, forward, backward, kl, adam] = parts.measure();
            let times = [whole, draws, forward, backward, kl, adam];
            fastest[1..].iter_mut().zip(times).for_each(|(fastest, time)| *fastest = fastest.min(time));
        }
    }
    let [decision, whole, draws, forward, backward, kl, adam] = fastest;
    // The forward pass draws too.
    let forward = forward - draws;
    let nonzeros = n_nonzero.map_or(String::new(), |n| format!("{n} not 0"));
    println!(
        "C {:>3} A {:>2} {nonzeros:>11}   {decision:>9.1} {whole:>10.1} {draws:>8.1} {forward:>8.1} \
         {backward:>8.1} {kl:>8.1} {adam:>8.1}",
        shape.n_features, shape.n_actions
    );
}

/// Normals: all, or `n` of them at random places.
fn context(n_features: usize, n_nonzero: Option<usize>, rng: &mut Rng) -> Vec<f32> {
    let mut context = vec![0.0; n_features];
    let mut left = n_nonzero.unwrap_or(n_features);
    // Selection sampling: each remaining place is taken with the probability that gives the requested number.
    for (place, value) in context.iter_mut().enumerate() {
        if rng.below(n_features - place) < left {
            *value = rng.normal() as f32;
            left -= 1;
        }
    }
    context
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
    dense: Panel,
    sparse: SparseRows,
    rows: Vec<usize>,
    is_sparse: bool,
    noise: Panel,
}

impl Parts {
    fn new(shape: Shape, n_nonzero: Option<usize>) -> Self {
        let mut layout = Layout::default();
        let net = BayesMlp::new(&mut layout, &[shape.n_features, HIDDEN, shape.n_actions]);
        let mut rng = Seed::new(3).stream("init", 0);
        let mut parameters = vec![0.0; layout.size()];
        net.initialize(&mut parameters, START, &mut rng);
        let mut dense = Panel::new(shape.n_features, N);
        let contexts: Vec<Vec<f32>> =
            (0..N).map(|_| context(shape.n_features, n_nonzero, &mut rng)).collect();
        let contexts: Vec<&[f32]> = contexts.iter().map(Vec::as_slice).collect();
        dense.put_rows(0, &contexts);
        let mut sparse = SparseRows::default();
        sparse.find_common(shape.n_features, contexts.iter().copied());
        contexts.iter().for_each(|context| sparse.push(context));
        Self {
            net,
            gradients: vec![0.0; layout.size()],
            optimizer: Adam::new(layout.size(), 0.1),
            variances: Vec::new(),
            work: BayesMlpWork::default(),
            noise: Panel::new(HIDDEN + shape.n_actions, N),
            parameters,
            normals: Normals::new(&mut rng),
            dense,
            sparse,
            rows: (0..N).collect(),
            is_sparse: n_nonzero.is_some(),
        }
    }

    /// Microseconds of: draws, forward with draws, backward, variances and KL, Adam.
    fn measure(&mut self) -> [f64; 5] {
        let Self { net, parameters, gradients, variances, work, optimizer, normals, noise, .. } = self;
        let input = match self.is_sparse {
            true => Input::Sparse(&self.sparse, &self.rows),
            false => Input::Dense(self.dense.all()),
        };
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
        net.forward(parameters, variances, input, 1e-6, normals, work);
        let forward = lap();
        work.output_and_gradient().1.fill(0.0);
        work.output_and_gradient().1.line_mut(0).fill(1e-3);
        lap();
        net.backward(parameters, gradients, variances, input, work);
        let backward = lap();
        std::hint::black_box(net.add_kl(parameters, gradients, variances, 2.0, 1e-3));
        let kl = exponentials + lap();
        optimizer.step(parameters, gradients);
        [draws, forward, backward, kl, lap()]
    }
}
