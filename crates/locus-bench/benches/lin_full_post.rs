//! How much does the square-root form of `lin-full-post` save?
//!
//! Three ways to compute the same posterior, on the same rounds and actions of a census trial (C = 383, A = 9), interleaved every
//! few rounds in one run:
//!
//! - **ours**: the factor is updated by rotations, a decision needs triangular solves for the actions that can win;
//! - **refit**: after each reward the played action is refitted from all its data with a matrix library (product, blocked
//!   Cholesky, solves), a decision draws every action's coefficients by a triangular solve;
//! - **benchmark**: as in the benchmark's program: XᵀX from all rows and an explicit inverse for the played action, and an
//!   eigendecomposition for every draw of every action. It is timed on every 40th round only, and scaled.
//!
//! Run with `taskset -c 0 cargo bench -p locus-bandits-bench --features rivals --bench lin_full_post`. With `LOCUS_DATA` the
//! rounds are those of `census-10k`; without it, generated data of the same size.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::solvers::{DenseSolveCore, Solve};
use faer::{Accum, Col, Mat, Par, Side};
use locus::{Outcome, PolicySpec, Request, Rng, Seed, Shape};
use locus_bench::problem::{Sequence, load};

const STEPS: usize = 2000;
/// Rounds per turn of each contender.
const TURN: usize = 40;
const PRIOR_PRECISION: f64 = 0.25;
const PRIOR_SHAPE: f64 = 6.0;
const PRIOR_RATE: f64 = 6.0;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    faer::set_global_parallelism(Par::Seq);
    let (source, sequence) = sequence();
    let shape = sequence.shape();
    println!("{source}: C = {}, A = {}, {STEPS} steps", shape.n_features, shape.n_actions);

    let spec: PolicySpec = "lin-full-post".parse().expect("a policy's name");
    let mut ours = spec.build(shape, Seed::new(1)).expect("a policy");
    let mut refit = Refit::new(shape);
    let mut benchmark = Benchmark::new(shape);
    let mut seconds = [0.0; 3];
    for first in (0..STEPS).step_by(TURN) {
        let rounds = first..(first + TURN).min(STEPS);
        let mut actions = Vec::new();
        seconds[0] += timed(|| {
            for t in rounds.clone() {
                let (context, rewards) = (sequence.round(t).context, sequence.round(t).rewards);
                let round = t as u64;
                let action = ours.choose(Request::new(round, context)).expect("a choice").action;
                ours.learn(Outcome::new(round, context, action, rewards[action])).expect("a lesson");
                actions.push(action);
            }
        });
        seconds[1] += timed(|| {
            for (t, &action) in rounds.clone().zip(&actions) {
                let (context, rewards) = (sequence.round(t).context, sequence.round(t).rewards);
                black_box(refit.choose(context, &mut Seed::new(2).stream("choose", t as u64)));
                refit.learn(context, action, rewards[action]);
            }
        });
        for (t, &action) in rounds.clone().zip(&actions) {
            let (context, rewards) = (sequence.round(t).context, sequence.round(t).rewards);
            if t == first {
                benchmark.catch_up();
            }
            benchmark.data[action].push(context, rewards[action]);
            if t == first {
                seconds[2] += rounds.len() as f64
                    * timed(|| {
                        black_box(benchmark.choose(context, &mut Seed::new(3).stream("choose", t as u64)));
                        benchmark.refit(action);
                    });
            } else {
                benchmark.is_stale[action] = true;
            }
        }
    }
    for (name, seconds_taken) in ["ours", "refit", "benchmark"].into_iter().zip(seconds) {
        println!("{name:>10}  {seconds_taken:9.3} s a trial  {:8.1} × ours", seconds_taken / seconds[0]);
    }
}

fn timed(body: impl FnOnce()) -> f64 {
    let start = Instant::now();
    body();
    start.elapsed().as_secs_f64()
}

/// A trial of census-10k, or generated data of its size.
fn sequence() -> (&'static str, Sequence) {
    if let Some(folder) = std::env::var_os("LOCUS_DATA") {
        let loaded = load("census-10k", Some(&PathBuf::from(folder))).expect("the census part");
        return ("census-10k", loaded.problem.sequence(STEPS, Seed::new(0)).expect("a trial"));
    }
    let shape = Shape::new(383, 9);
    let mut rng = Seed::new(0).stream("stand-in", 0);
    let contexts: Vec<f32> =
        (0..STEPS * shape.n_features).map(|_| if rng.uniform() < 0.2 { 2.0 } else { -0.5 }).collect();
    let rewards = (0..STEPS)
        .flat_map(|_| {
            let class = rng.below(shape.n_actions);
            (0..shape.n_actions).map(move |action| if action == class { 1.0 } else { 0.0 })
        })
        .collect();
    let sequence = Sequence::new(shape, contexts, rewards, vec![1.0; STEPS]).expect("a trial");
    ("generated data of the size of census-10k", sequence)
}

/// All observations of one action.
#[derive(Clone)]
struct Data {
    /// [x, 1], a row an observation.
    rows: Vec<f64>,
    rewards: Vec<f64>,
    dim: usize,
}

impl Data {
    fn push(&mut self, context: &[f32], reward: f64) {
        self.rows.extend(context.iter().map(|&feature| f64::from(feature)));
        self.rows.push(1.0);
        self.rewards.push(reward);
    }

    /// Λ, either whole or its lower triangle, and Xᵀy.
    fn moments(&self, part: BlockStructure) -> (Mat<f64>, Col<f64>) {
        // The rows one after another are the columns of Xᵀ.
        let transposed = faer::MatRef::from_column_major_slice(&self.rows, self.dim, self.rewards.len());
        let rewards = faer::ColRef::from_slice(&self.rewards);
        let mut precision = Mat::zeros(self.dim, self.dim);
        let whole = BlockStructure::Rectangular;
        let (left, right) = (transposed, transposed.transpose());
        triangular::matmul(&mut precision, part, Accum::Replace, left, whole, right, whole, 1.0, Par::Seq);
        for i in 0..self.dim {
            precision[(i, i)] += PRIOR_PRECISION;
        }
        (precision, transposed * rewards)
    }

    fn noise_variance(&self, explained: f64, rng: &mut Rng) -> f64 {
        let squares: f64 = self.rewards.iter().map(|reward| reward * reward).sum();
        let rate = PRIOR_RATE + 0.5 * (squares - explained);
        rate / rng.gamma(PRIOR_SHAPE + 0.5 * self.rewards.len() as f64)
    }
}

fn no_data(shape: Shape) -> Vec<Data> {
    let dim = shape.n_features + 1;
    vec![Data { rows: Vec::new(), rewards: Vec::new(), dim }; shape.n_actions]
}

fn features(context: &[f32]) -> Col<f64> {
    Col::from_fn(context.len() + 1, |i| context.get(i).map_or(1.0, |&feature| f64::from(feature)))
}

fn normals(dim: usize, rng: &mut Rng) -> Col<f64> {
    Col::from_fn(dim, |_| rng.normal())
}

/// The action with the highest of these rewards.
fn best(rewards: impl Iterator<Item = f64>) -> usize {
    let rewards: Vec<f64> = rewards.collect();
    (0..rewards.len()).max_by(|&a, &b| rewards[a].total_cmp(&rewards[b])).expect("an action")
}

/// The played action is refitted from all its data.
struct Refit {
    data: Vec<Data>,
    /// The Cholesky factor of Λ and μ of every action.
    fits: Vec<(Mat<f64>, Col<f64>, f64)>,
}

impl Refit {
    fn new(shape: Shape) -> Self {
        let dim = shape.n_features + 1;
        let factor = Mat::from_fn(dim, dim, |i, j| if i == j { PRIOR_PRECISION.sqrt() } else { 0.0 });
        Self { data: no_data(shape), fits: vec![(factor, Col::zeros(dim), 0.0); shape.n_actions] }
    }

    fn choose(&self, context: &[f32], rng: &mut Rng) -> usize {
        let features = features(context);
        best(self.data.iter().zip(&self.fits).map(|(data, (factor, mean, explained))| {
            let noise_std = data.noise_variance(*explained, rng).sqrt();
            let mut draw = normals(data.dim, rng);
            factor.transpose().solve_upper_triangular_in_place(draw.as_mat_mut());
            features.transpose() * mean + noise_std * (features.transpose() * &draw)
        }))
    }

    fn learn(&mut self, context: &[f32], action: usize, reward: f64) {
        self.data[action].push(context, reward);
        let (precision, moments) = self.data[action].moments(BlockStructure::TriangularLower);
        let factored = precision.llt(Side::Lower).expect("positive definite");
        let mean = factored.solve(&moments);
        let explained = mean.transpose() * &moments;
        self.fits[action] = (factored.L().to_owned(), mean, explained);
    }
}

/// The method of the benchmark's program.
struct Benchmark {
    data: Vec<Data>,
    /// Λ⁻¹ and μ of every action.
    fits: Vec<(Mat<f64>, Col<f64>, f64)>,
    /// Actions that were played in a round that was not timed; they are refitted, untimed, before they are used.
    is_stale: Vec<bool>,
}

impl Benchmark {
    fn new(shape: Shape) -> Self {
        let dim = shape.n_features + 1;
        let covariance = Mat::from_fn(dim, dim, |i, j| if i == j { 1.0 / PRIOR_PRECISION } else { 0.0 });
        Self {
            data: no_data(shape),
            fits: vec![(covariance, Col::zeros(dim), 0.0); shape.n_actions],
            is_stale: vec![false; shape.n_actions],
        }
    }

    fn choose(&self, context: &[f32], rng: &mut Rng) -> usize {
        let features = features(context);
        best(self.data.iter().zip(&self.fits).map(|(data, (covariance, mean, explained))| {
            let noise_variance = data.noise_variance(*explained, rng);
            let eigen = covariance.self_adjoint_eigen(Side::Lower).expect("an eigendecomposition");
            let values = eigen.S().column_vector();
            let normals = normals(data.dim, rng);
            let scaled =
                Col::from_fn(data.dim, |i| (noise_variance * values[i].max(0.0)).sqrt() * normals[i]);
            let draw = mean + eigen.U() * scaled;
            features.transpose() * &draw
        }))
    }

    fn refit(&mut self, action: usize) {
        let (precision, moments) = self.data[action].moments(BlockStructure::Rectangular);
        let covariance = precision.partial_piv_lu().inverse();
        let mean = &covariance * &moments;
        let explained = mean.transpose() * &moments;
        self.fits[action] = (covariance, mean, explained);
        self.is_stale[action] = false;
    }

    /// Brings the fits up to date before a round that is timed.
    fn catch_up(&mut self) {
        for action in 0..self.data.len() {
            if self.is_stale[action] {
                self.refit(action);
            }
        }
    }
}
