//! One update against the formulas written out, a Gaussian target, guards, and saved particles.

use super::config::{Force, PiTsDgfConfig};
use super::flow::{Flow, FlowWork, Particles};
use super::model::{PiTsDgf, Work};
use crate::agent::Learner;
use crate::agent::contract::assert_settings;
use crate::math::nn::Panel;
use crate::model::training::minibatch::Minibatch;
use crate::{Outcome, Policy, PolicySpec, Request, Seed, Shape, load};

/// The authors' step by step: M rows of θ, θ' and g; the directions.
fn authors_directions(theta: &[Vec<f64>], previous: &[Vec<f64>], gradients: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let m = theta.len();
    let distances = |a: &[Vec<f64>], b: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let distance = |a: &Vec<f64>, b: &Vec<f64>| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        a.iter().map(|a| b.iter().map(|b| distance(a, b)).collect()).collect()
    };
    let squared_width = |distances: &[Vec<f64>]| {
        let mut all: Vec<f64> = distances.concat();
        all.sort_by(f64::total_cmp);
        let median = (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0;
        0.5 * median / (m as f64 + 1.0).ln()
    };
    let (within, between) = (distances(theta, theta), distances(theta, previous));
    let (h, h_between) = (squared_width(&within), squared_width(&between));
    let direction = |i: usize, place: usize| {
        let mut sum = 0.0;
        for j in 0..m {
            sum += (-within[i][j] / (2.0 * h)).exp() * gradients[j][place];
            let w = (-between[i][j] / (2.0 * h_between)).exp() * (1.0 - between[i][j] / h_between);
            sum += 0.5 * w * (theta[i][place] - previous[j][place]);
        }
        sum / m as f64
    };
    (0..m).map(|i| (0..theta[0].len()).map(|place| direction(i, place)).collect()).collect()
}

fn panel(rows: &[Vec<f64>]) -> Panel {
    let mut panel = Panel::new(rows.len(), rows[0].len());
    for (line, row) in rows.iter().enumerate() {
        panel.line_mut(line).iter_mut().zip(row).for_each(|(place, value)| *place = *value as f32);
    }
    panel
}

fn rows(panel: &Panel) -> Vec<Vec<f64>> {
    panel.all().iter().map(|line| line.iter().map(|&value| f64::from(value)).collect()).collect()
}

/// Particles at these places, and room for their steps.
fn start(flow: &Flow, theta: &[Vec<f64>]) -> (Particles, FlowWork) {
    let mut work = FlowWork::default();
    flow.prepare(theta[0].len(), &mut work);
    (flow.particles(panel(theta)), work)
}

fn set_gradients(work: &mut FlowWork, gradients: &[Vec<f64>]) {
    for (line, row) in gradients.iter().enumerate() {
        let places = work.gradients.line_mut(line).iter_mut();
        places.zip(row).for_each(|(place, value)| *place = *value as f32);
    }
}

/// Two particles at 0 and 1 (and at the same place otherwise) that have not moved yet, with gradients 1 and −2. The distances are 0, 1, 1, 0 and their median ½, so h² = ¼/ln 3, k = 1/9,
/// w = (1 − 4 ln 3)/9 = −0.377161: each is drawn to the other.
#[test]
fn two_particles_move_as_computed_by_hand() {
    let flow = Flow::new(&PiTsDgfConfig { particles: 2, ..PiTsDgfConfig::authors() });
    let (mut particles, mut work) = start(&flow, &[vec![0.0, 0.5], vec![1.0, 0.5]]);
    set_gradients(&mut work, &[vec![1.0, 0.0], vec![-2.0, 0.0]]);
    assert_eq!(flow.step(&mut particles, &mut work).unwrap(), 0);
    let directions = [0, 1].map(|i| f64::from(work.directions.line(i)[0]));
    let expected = [(1.0 - 2.0 / 9.0 + 0.188_580_5) / 2.0, (1.0 / 9.0 - 2.0 - 0.188_580_5) / 2.0];
    for (found, expected) in directions.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{directions:?}, {expected:?}");
    }
    let moved = [0, 1].map(|i| particles.current.line(i)[0]);
    assert!((moved[0] - 0.001).abs() < 1e-7 && (moved[1] - 0.999).abs() < 1e-7, "{moved:?}");
    assert_eq!(rows(&particles.previous), [[0.0, 0.5], [1.0, 0.5]]);
}

/// Three and four particles (an odd and an even number of distances) over some steps, so that θ' differs from θ.
#[test]
fn every_step_is_the_authors() {
    for m in [3, 4] {
        let config = PiTsDgfConfig {
            particles: m as u32,
            step_size: 0.1,
            step_epsilon: 0.05,
            ..PiTsDgfConfig::authors()
        };
        let flow = Flow::new(&config);
        let mut rng = Seed::new(1).stream("test", 0);
        let mut random = || -> Vec<Vec<f64>> {
            (0..m).map(|_| (0..5).map(|_| f64::from(rng.normal() as f32)).collect()).collect()
        };
        let mut theta = random();
        let mut previous = theta.clone();
        let (mut particles, mut work) = start(&flow, &theta);
        for step in 0..4 {
            let gradients = random();
            set_gradients(&mut work, &gradients);
            assert_eq!(flow.step(&mut particles, &mut work).unwrap(), 0);
            let expected = authors_directions(&theta, &previous, &gradients);
            previous = theta.clone();
            for (theta, direction) in theta.iter_mut().zip(&expected) {
                for (theta, direction) in theta.iter_mut().zip(direction) {
                    *theta += 0.1 * direction / (0.05 + direction.abs());
                }
            }
            for (found, expected) in rows(&work.directions).concat().iter().zip(expected.concat()) {
                assert!((found - expected).abs() < 1e-5, "step {step}: {found}, {expected}");
            }
            for (found, expected) in rows(&particles.current).concat().iter().zip(theta.concat()) {
                assert!((found - expected).abs() < 1e-5, "step {step}: {found}, {expected}");
            }
        }
    }
}

/// Stein's force is the gradient of the kernel in its first argument, at a fixed width: against finite differences.
#[test]
fn the_stein_force_is_the_gradient_of_the_kernel() {
    let m = 3;
    let flow = Flow::new(&PiTsDgfConfig { particles: m as u32, ..PiTsDgfConfig::stein() });
    let theta: Vec<Vec<f64>> = vec![vec![0.25, -0.5], vec![1.0, 0.125], vec![-0.75, 0.5]];
    let (mut particles, mut work) = start(&flow, &theta);
    set_gradients(&mut work, &vec![vec![0.0; 2]; m]);
    flow.step(&mut particles, &mut work).unwrap();
    let squared = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let mut distances: Vec<f64> = (0..9).map(|ij| squared(&theta[ij / 3], &theta[ij % 3])).collect();
    distances.sort_by(f64::total_cmp);
    let h = 0.5 * distances[4] / 4_f64.ln();
    for i in 0..m {
        for place in 0..2 {
            let gradient = |j: usize| {
                let kernel = |offset: f64| {
                    let mut moved = theta[j].clone();
                    moved[place] += offset;
                    (-squared(&moved, &theta[i]) / (2.0 * h)).exp()
                };
                (kernel(1e-6) - kernel(-1e-6)) / 2e-6
            };
            let expected = (0..m).map(gradient).sum::<f64>() / m as f64;
            let found = f64::from(work.directions.line(i)[place]);
            assert!((found - expected).abs() < 1e-5, "particle {i}: {found}, {expected}");
        }
    }
}

const TARGET_MEAN: [f64; 2] = [1.0, -0.5];
const TARGET_STD: [f64; 2] = [0.4, 1.2];

/// Mean and standard deviation of either coordinate after many steps on a Gaussian target.
fn on_a_gaussian(config: &PiTsDgfConfig, n_steps: usize) -> ([f64; 2], [f64; 2]) {
    let flow = Flow::new(config);
    let mut rng = Seed::new(2).stream("test", 0);
    let theta: Vec<Vec<f64>> = (0..config.particles).map(|_| vec![rng.normal(), rng.normal()]).collect();
    let (mut particles, mut work) = start(&flow, &theta);
    for _ in 0..n_steps {
        let gradient = |theta: Vec<f64>| -> Vec<f64> {
            (0..2).map(|place| (TARGET_MEAN[place] - theta[place]) / TARGET_STD[place].powi(2)).collect()
        };
        let gradients: Vec<Vec<f64>> = rows(&particles.current).into_iter().map(gradient).collect();
        set_gradients(&mut work, &gradients);
        assert_eq!(flow.step(&mut particles, &mut work).unwrap(), 0);
    }
    let theta = rows(&particles.current);
    let n = theta.len() as f64;
    let mean = [0, 1].map(|place| theta.iter().map(|theta| theta[place]).sum::<f64>() / n);
    let std = [0, 1].map(|place| {
        (theta.iter().map(|theta| (theta[place] - mean[place]).powi(2)).sum::<f64>() / n).sqrt()
    });
    (mean, std)
}

/// Both find the mean. The authors' particles fall together; Stein's spread out as the target does.
#[test]
fn on_a_gaussian_the_authors_collapse_and_stein_finds_the_spread() {
    let (mean, std) = on_a_gaussian(&PiTsDgfConfig::authors(), 4000);
    for place in 0..2 {
        assert!((mean[place] - TARGET_MEAN[place]).abs() < 0.02, "authors: mean {mean:?}");
        assert!(std[place] < 0.01 * TARGET_STD[place], "authors: std {std:?}");
    }
    let (mean, std) = on_a_gaussian(&PiTsDgfConfig { particles: 40, ..PiTsDgfConfig::stein() }, 4000);
    for place in 0..2 {
        assert!((mean[place] - TARGET_MEAN[place]).abs() < 0.05 * TARGET_STD[place], "stein: mean {mean:?}");
        assert!((std[place] / TARGET_STD[place] - 1.0).abs() < 0.1, "stein: std {std:?}");
    }
}

/// Particles in one place have no distance to measure by: they move on together, and it is counted.
#[test]
fn particles_that_fell_together_are_counted() {
    for (config, expected) in [(PiTsDgfConfig::authors(), 2), (PiTsDgfConfig::stein(), 1)] {
        let flow = Flow::new(&PiTsDgfConfig { particles: 3, ..config });
        let (mut particles, mut work) = start(&flow, &vec![vec![0.5, -1.0]; 3]);
        set_gradients(&mut work, &[vec![1.0, 0.0], vec![2.0, 0.0], vec![3.0, 0.0]]);
        assert_eq!(flow.step(&mut particles, &mut work).unwrap(), expected);
        assert_eq!(rows(&work.directions), vec![vec![2.0, 0.0]; 3]);
    }
}

/// The gradients of the log posterior against finite differences of it, written plainly, for either scale of the likelihood, and for a
/// single row too.
#[test]
fn gradients_are_those_of_the_log_posterior() {
    [6, 1].into_iter().for_each(check_gradients);
}

fn check_gradients(n_rows: usize) {
    let shape = Shape::new(3, 2);
    let small =
        PiTsDgfConfig { particles: 4, hidden_units: 5, prior_precision: 0.3, ..PiTsDgfConfig::authors() };
    let all = PiTsDgfConfig { reward_precision: 1.5, ..PiTsDgfConfig::stein() };
    let all = PiTsDgfConfig { particles: 4, hidden_units: 5, prior_precision: 0.3, ..all };
    // Of a minibatch alone: minus the sum of squared errors. Of 15 observations, of which n are drawn: 15/n as much.
    for (config, weight) in [(small, 1.0), (all, 0.75 * 15.0 / n_rows as f64)] {
        let mut model = PiTsDgf::new(&config, shape, Seed::new(4));
        model.set_out();
        let mut rng = Seed::new(5).stream("test", 0);
        let mut inputs = Panel::default();
        inputs.reshape_padded(shape.n_features, n_rows);
        for feature in 0..shape.n_features {
            inputs.line_mut(feature).iter_mut().for_each(|value| *value = rng.normal() as f32);
        }
        let actions: Vec<usize> = (0..n_rows).map(|row| row % 2).collect();
        let rewards: Vec<f32> = (0..n_rows).map(|_| rng.normal() as f32).collect();
        let mut work = Work::default();
        work.batch = Minibatch { inputs: inputs.clone(), actions: actions.clone(), rewards: rewards.clone() };
        let loss = model.find_gradients(15.0, &mut work);
        let log_posterior = |net: &[f64]| {
            let row = |row: usize| {
                let hidden = |h: usize| {
                    let sum: f64 = (0..3).map(|c| f64::from(inputs.line(c)[row]) * net[c * 5 + h]).sum();
                    (sum + net[15 + h]).max(0.0)
                };
                let sum: f64 = (0..5).map(|h| hidden(h) * net[20 + actions[row] * 5 + h]).sum();
                (f64::from(rewards[row]) - sum - net[30 + actions[row]]).powi(2)
            };
            -weight * (0..n_rows).map(row).sum::<f64>()
                - 0.15 * net.iter().map(|value| value * value).sum::<f64>()
        };
        let nets = rows(&model.particles.current);
        let expected_loss = -nets.iter().map(|net| log_posterior(net)).sum::<f64>() / 4.0;
        assert!((loss / expected_loss - 1.0).abs() < 1e-5, "{loss}, {expected_loss}");
        for (particle, net) in nets.iter().enumerate() {
            for place in 0..net.len() {
                let at = |offset: f64| {
                    let mut moved = net.clone();
                    moved[place] += offset;
                    log_posterior(&moved)
                };
                let expected = (at(1e-6) - at(-1e-6)) / 2e-6;
                let found = f64::from(work.flow.gradients.line(particle)[place]);
                assert!(
                    (found - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                    "{place}: {found}, {expected}"
                );
            }
        }
    }
}

/// A decision is made by one particle, and every particle makes as many: counts of 20 particles over 4000 rounds have a standard deviation of 14; five of
/// them occur once in 80 000 seeds.
#[test]
fn every_particle_decides_as_often() {
    let shape = Shape::new(2, 20);
    let spec: PolicySpec = "pi-ts-dgf[hidden_units=12,initial_pulls=0]".parse().unwrap();
    let policy = spec.build(shape, Seed::new(6)).unwrap();
    let context = [0.5_f32, -1.0];
    let rewards = policy.sample_rewards(0, &vec![context.as_slice(); 4000]).unwrap();
    let mut counts = std::collections::HashMap::new();
    for drawn in rewards.chunks_exact(20) {
        *counts.entry(drawn[0].to_bits()).or_insert(0_i32) += 1;
    }
    assert_eq!(counts.len(), 20);
    assert!(counts.values().all(|count| (count - 200).abs() < 70), "{counts:?}");
}

/// Rewards that jump from 1 to a million: every call succeeds, with either preset.
#[test]
fn rewards_that_jump_to_a_million_break_nothing() {
    for preset in ["authors", "stein"] {
        let spec: PolicySpec =
            format!("pi-ts-dgf@{preset}[minibatches=5,train_every=5,batch_size=64]").parse().unwrap();
        let mut policy = spec.build(Shape::new(3, 2), Seed::new(7)).unwrap();
        for round in 0..400_u64 {
            let mut rng = Seed::new(8).stream("problem", round);
            let context = [0; 3].map(|_| rng.normal() as f32);
            let action = policy.choose(Request::new(round, &context)).unwrap().action;
            let size = if (150..160).contains(&round) || round > 300 { 1e6 } else { 1.0 };
            let reward = size * (f64::from(context[action]) + rng.normal());
            let report = policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
            assert!(report.mean_loss.is_none_or(f64::is_finite), "{preset}, round {round}");
        }
    }
}

/// A policy that was saved and loaded learns exactly what it would have learned: the previous iterate and the memory of steps are
/// saved too. Actions alone would not tell, since they hardly ever depend on either.
#[test]
fn a_loaded_policy_learns_the_same_to_the_bit() {
    for preset in ["authors", "stein"] {
        let spec: PolicySpec =
            format!("pi-ts-dgf@{preset}[minibatches=3,train_every=4,batch_size=16]").parse().unwrap();
        let mut policy = spec.build(Shape::new(3, 2), Seed::new(9)).unwrap();
        let learn = |policy: &mut dyn Policy, rounds: std::ops::Range<u64>| {
            for round in rounds {
                let mut rng = Seed::new(10).stream("problem", round);
                let context = [0; 3].map(|_| rng.normal() as f32);
                let action = rng.below(2);
                policy.learn(Outcome::new(round, &context, action, rng.normal())).unwrap();
            }
        };
        learn(&mut *policy, 0..14);
        let mut loaded = load(&policy.save()).unwrap();
        learn(&mut *policy, 14..30);
        learn(&mut *loaded, 14..30);
        assert!(policy.save() == loaded.save(), "{preset}");
    }
}

#[test]
fn presets_differ_as_they_say() {
    let authors = PiTsDgfConfig::authors();
    let stein = PiTsDgfConfig::stein();
    assert_eq!((authors.force, stein.force), (Force::Wasserstein, Force::Stein));
    let back = PiTsDgfConfig {
        force: authors.force,
        force_weight: authors.force_weight,
        likelihood_scale: authors.likelihood_scale,
        step_memory: authors.step_memory,
        ..stein
    };
    assert_eq!(back, authors);
}

/// 20 nets C→50→A, prior 0.1, squared errors as they are, half the force, steps of 1e-3, 100 minibatches of 512 every 50 steps.
#[test]
fn defaults_are_the_authors() {
    let expected = "particles=20 hidden_units=50 prior_precision=0.1 reward_precision=2 likelihood_scale=minibatch \
        force=wasserstein force_weight=0.5 step_size=0.001 step_epsilon=1e-6 step_memory=0 batch_size=512 \
        train_every=50 minibatches=100 replay_capacity=all initial_pulls=2";
    assert_settings("pi-ts-dgf", expected);
}

/// 20 000 rounds whose rewards jump to a million and back: every call succeeds.
#[test]
fn a_long_life_with_jumps_breaks_nothing() {
    for preset in ["authors", "stein"] {
        let text = format!("pi-ts-dgf@{preset}[particles=4,hidden_units=6,minibatches=5,batch_size=16]");
        let mut policy = text.parse::<PolicySpec>().unwrap().build(Shape::new(3, 2), Seed::new(7)).unwrap();
        for round in 0..20_000 {
            let mut rng = Seed::new(8).stream("problem", round);
            let context = [0; 3].map(|_| rng.normal() as f32);
            let action = policy.choose(Request::new(round, &context)).unwrap().action;
            let size = if (round / 700) % 3 == 1 { 1e6 } else { 1.0 };
            let reward = size * (f64::from(context[action]) + rng.normal());
            let report = policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
            assert!(report.mean_loss.is_none_or(f64::is_finite), "{preset}, round {round}");
        }
    }
}

/// Numerical errors name the particle and the layer, in training and in decisions.
#[test]
fn a_breakdown_says_in_which_particle_and_layer() {
    let shape = Shape::new(20, 2);
    let text =
        "pi-ts-dgf[particles=3,hidden_units=50,train_every=1,minibatches=1,batch_size=4,initial_pulls=0]";
    let policy = || text.parse::<PolicySpec>().unwrap().build(shape, Seed::new(1)).unwrap();
    for (feature, reward, place) in [
        (f32::MAX, 1.0, "the hidden layer of particle 0 gave "),
        (0.1, 1e30, "the squared error of particle 0 gave inf"),
    ] {
        let context = [feature; 20];
        let error = policy().learn(Outcome::new(0, &context, 0, reward)).unwrap_err();
        assert!(error.to_string().starts_with(place), "{error}");
    }
    let choice = policy().choose(Request::new(0, &[f32::MAX; 20]));
    assert!(choice.unwrap_err().to_string().starts_with("the drawn reward of action "));
}

/// A gradient that is not finite is named by its particle.
#[test]
fn a_step_that_breaks_down_names_the_particle() {
    for config in [PiTsDgfConfig::authors(), PiTsDgfConfig::stein()] {
        let flow = Flow::new(&PiTsDgfConfig { particles: 3, ..config });
        let theta = vec![vec![0.0, 1.0], vec![1.0, 0.5], vec![-1.0, 2.0]];
        let (mut particles, mut work) = start(&flow, &theta);
        set_gradients(&mut work, &[vec![1.0, 1.0], vec![1.0, f64::INFINITY], vec![1.0, 1.0]]);
        let breakdown = flow.step(&mut particles, &mut work).unwrap_err();
        assert_eq!(
            (breakdown.place.as_str(), breakdown.found),
            ("the gradient of particle 1", f64::INFINITY)
        );
        let far = vec![vec![0.0, 1.0], vec![1.0, f64::from(f32::MAX)], vec![-1.0, 2.0]];
        let (mut particles, mut work) = start(&flow, &far);
        set_gradients(&mut work, &vec![vec![1.0, 1.0]; 3]);
        let breakdown = flow.step(&mut particles, &mut work).unwrap_err();
        assert_eq!(breakdown.place, "the distance between particles 0 and 1");
    }
}

/// Where particles were before their last step, and the mean squares of their directions, move with the parameters; a new output has
/// been nowhere else, and has no mean square yet.
#[test]
fn the_state_of_particles_follows_parameters_that_move() {
    let config =
        PiTsDgfConfig { particles: 2, hidden_units: 3, step_memory: 0.5, ..PiTsDgfConfig::default() };
    let mut model = PiTsDgf::new(&config, Shape::new(2, 2), Seed::new(1));
    let number = |particle: usize, place: usize| (100 * particle + place) as f32;
    let n_before = model.ensemble.stack.n_parameters();
    for particle in 0..2 {
        for place in 0..n_before {
            model.particles.previous.line_mut(particle)[place] = number(particle, place);
            model.particles.squares.line_mut(particle)[place] = -number(particle, place);
        }
    }
    let before = rows(&model.ensemble.nets);
    model.add_action(&config, Shape::new(2, 3), &mut Seed::new(2).stream("test", 0)).unwrap();
    // 9 numbers of the first layer, then 2 rows of 3 that become 3 rows, then 2 biases that become 3.
    let places: Vec<usize> = (0..15).chain(18..20).collect();
    let (nets, previous) = (rows(&model.ensemble.nets), rows(&model.particles.previous));
    let squares = rows(&model.particles.squares);
    for particle in 0..2 {
        assert_eq!((nets[particle].len(), previous[particle].len(), squares[particle].len()), (21, 21, 21));
        for (old, &new) in places.iter().enumerate() {
            assert_eq!(nets[particle][new], before[particle][old]);
            assert_eq!(previous[particle][new], f64::from(number(particle, old)));
            assert_eq!(squares[particle][new], f64::from(-number(particle, old)));
        }
        for new in [15, 16, 17, 20] {
            assert_eq!((previous[particle][new], squares[particle][new]), (nets[particle][new], 0.0));
        }
        assert!((15..18).all(|new| nets[particle][new] != 0.0) && nets[particle][20] == 0.0);
    }
}
