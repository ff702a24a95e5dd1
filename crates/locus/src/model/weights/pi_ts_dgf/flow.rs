//! The movement of particles, independent of what they represent.
//!
//! For M particles θᵢ and the gradients gᵢ of a log density there,
//!
//! ```text
//! kᵢⱼ        = exp(−|θᵢ − θⱼ|² / 2h²)                 h² = ½ · median(|θᵢ − θⱼ|²) / ln(M + 1)
//! directionᵢ = (Σⱼ kᵢⱼ gⱼ + weight · forceᵢ) / M
//! θᵢ        += step size · directionᵢ / (ε + |directionᵢ|)       element by element
//! ```
//!
//! with one of two forces:
//!
//! ```text
//! wasserstein  forceᵢ = Σⱼ wᵢⱼ (θᵢ − θ'ⱼ)      wᵢⱼ = exp(−dᵢⱼ²/2h'²)·(1 − dᵢⱼ²/h'²),  dᵢⱼ = |θᵢ − θ'ⱼ|
//! stein        forceᵢ = Σⱼ ∇_θⱼ k(θⱼ, θᵢ) = Σⱼ kᵢⱼ/h² · (θᵢ − θⱼ)
//! ```
//!
//! θ' are the particles before the last step (initially equal to θ), and h' is computed from d as h is from the distances within
//! θ. Medians are over all M² numbers, so the zeros on the diagonal count. With a memory m > 0, |direction| in the step gives way
//! to the root of a mean square that keeps m of its past.

use multiversion::multiversion;

use super::config::{Force, PiTsDgfConfig};
use crate::agent::Breakdown;
use crate::math::nn::{Layout, Panel, add_combined, combine, squared_distances};

/// The settings of the movement.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    n_particles: usize,
    force: Force,
    force_weight: f64,
    step_size: f32,
    step_epsilon: f32,
    step_memory: f32,
}

/// The current and previous positions of the particles; every panel is [M, parameters], or empty if it is not needed.
#[derive(Clone, Debug)]
pub struct Particles {
    /// θ
    pub current: Panel,
    /// θ', for the Wasserstein force.
    pub previous: Panel,
    /// Mean squares of directions, for steps with a memory.
    pub squares: Panel,
    /// Steps done.
    pub n_steps: u64,
}

/// Buffers for a step. The caller writes the gradients.
#[derive(Clone, Debug, Default)]
pub struct FlowWork {
    /// [M, parameters]
    pub gradients: Panel,
    /// [M, parameters]
    pub directions: Panel,
    /// [M, M]: distances, sorted distances, and what gradients and particles are weighted by.
    distances: Vec<f64>,
    sorted: Vec<f64>,
    kernel: Vec<f32>,
    forces: Vec<f32>,
    /// [M]: how much of itself a particle's force has.
    own: Vec<f64>,
}

impl Particles {
    /// Follows the parameters from one layout into another; new ones, and their state, are as in `start`.
    pub fn grow(&mut self, from: &Layout, to: &Layout, start: Self) {
        let panels = [(&mut self.current, start.current), (&mut self.previous, start.previous)];
        for (panel, mut start) in panels.into_iter().chain([(&mut self.squares, start.squares)]) {
            for (particle, line) in panel.all().iter().enumerate() {
                let grown = from.carry_over(line, to, start.line(particle).to_vec());
                start.line_mut(particle).copy_from_slice(&grown);
            }
            *panel = start;
        }
    }
}

impl Flow {
    /// The movement with these settings.
    pub fn new(config: &PiTsDgfConfig) -> Self {
        Self {
            n_particles: config.particles as usize,
            force: config.force,
            force_weight: config.force_weight,
            step_size: config.step_size as f32,
            step_epsilon: config.step_epsilon as f32,
            step_memory: config.step_memory as f32,
        }
    }

    /// Particles that start at `current`, with the state of their steps.
    pub fn particles(&self, current: Panel) -> Particles {
        let previous = if self.has_previous() { current.clone() } else { Panel::default() };
        let squares = match self.has_squares() {
            true => Panel::new(current.n_features(), current.n_columns()),
            false => Panel::default(),
        };
        Particles { current, previous, squares, n_steps: 0 }
    }

    /// Whether steps look back at the previous iterate.
    pub(crate) fn has_previous(&self) -> bool {
        self.force == Force::Wasserstein
    }

    /// Whether steps have a memory.
    pub(crate) fn has_squares(&self) -> bool {
        self.step_memory > 0.0
    }

    /// Allocates gradients and directions of `n_parameters` parameters.
    pub fn prepare(&self, n_parameters: usize, work: &mut FlowWork) {
        let m = self.n_particles;
        for panel in [&mut work.gradients, &mut work.directions] {
            panel.reshape(m, n_parameters);
            panel.clear_padding();
        }
        for matrix in [&mut work.distances, &mut work.sorted] {
            matrix.resize(m * m, 0.0);
        }
        for matrix in [&mut work.kernel, &mut work.forces] {
            matrix.resize(m * m, 0.0);
        }
        work.own.resize(m, 0.0);
    }

    /// Moves all particles, given the gradients at each. Returns how often a median distance was 0: particles at the same place
    /// have no bandwidth, so each then uses the gradients of the particles at its place, and no force acts.
    pub(crate) fn step(&self, particles: &mut Particles, work: &mut FlowWork) -> Result<u64, Breakdown> {
        let mut interventions = self.find_weights(particles, work, Force::Stein)?;
        if self.has_previous() {
            interventions += self.find_weights(particles, work, Force::Wasserstein)?;
        }
        let reference = if self.has_previous() { &particles.previous } else { &particles.current };
        combine(&work.kernel, work.gradients.all(), work.directions.all_mut());
        add_combined(&work.forces, reference.all(), work.directions.all_mut());
        if self.advance(particles, work) {
            return Ok(interventions);
        }
        Err(find_breakdown(particles, work))
    }

    /// Fills in the weights of gradients and forces (with `Stein`), or those of forces alone; 1 if the median was 0.
    fn find_weights(
        &self,
        particles: &Particles,
        work: &mut FlowWork,
        force: Force,
    ) -> Result<u64, Breakdown> {
        let m = self.n_particles;
        let FlowWork { distances, sorted, kernel, forces, own, .. } = work;
        let reference = match force {
            Force::Stein => &particles.current,
            Force::Wasserstein => &particles.previous,
        };
        squared_distances(particles.current.all(), reference.all(), distances);
        if let Some(pair) = distances.iter().position(|distance| !distance.is_finite()) {
            let place = match force {
                Force::Stein => format!("the distance between particles {} and {}", pair / m, pair % m),
                Force::Wasserstein => {
                    format!("the distance of particle {} to where {} was", pair / m, pair % m)
                }
            };
            return Err(Breakdown { place, found: distances[pair] });
        }
        let squared_width = 0.5 * median(distances, sorted) / libm::log(m as f64 + 1.0);
        let is_collapsed = squared_width < f64::MIN_POSITIVE;
        own.fill(0.0);
        for i in 0..m {
            for j in 0..m {
                let distance = distances[i * m + j];
                let (k, w) = if is_collapsed {
                    (if distance == 0.0 { 1.0 } else { 0.0 }, 0.0)
                } else {
                    let ratio = distance / squared_width;
                    let k = libm::exp(-0.5 * ratio);
                    let w = match force {
                        Force::Stein => k / squared_width,
                        Force::Wasserstein => k * (1.0 - ratio),
                    };
                    (k, w)
                };
                if force == Force::Stein {
                    kernel[j * m + i] = k as f32;
                }
                let weighted = self.force_weight * w;
                own[i] += weighted;
                forces[j * m + i] = -weighted as f32;
            }
        }
        Ok(u64::from(is_collapsed))
    }

    /// The last part of a step: finishes the directions and moves the particles. Returns whether all numbers are finite.
    pub fn advance(&self, particles: &mut Particles, work: &mut FlowWork) -> bool {
        let memory = if particles.n_steps == 0 { 0.0 } else { self.step_memory };
        let mut is_finite = true;
        for i in 0..self.n_particles {
            let theta = particles.current.line_mut(i);
            if self.has_previous() {
                particles.previous.line_mut(i).copy_from_slice(theta);
            }
            let direction = work.directions.line_mut(i);
            finish_direction(direction, theta, work.own[i] as f32, 1.0 / self.n_particles as f32);
            let rest = if self.has_squares() {
                let squares = particles.squares.line_mut(i);
                step_by_squares(theta, direction, squares, memory, self.step_size, self.step_epsilon)
            } else {
                step_by_sign(theta, direction, self.step_size, self.step_epsilon)
            };
            is_finite &= rest == 0.0;
        }
        particles.n_steps = particles.n_steps.saturating_add(1);
        is_finite
    }
}

/// Finds where a step became non-finite, in the order of computation.
fn find_breakdown(particles: &Particles, work: &FlowWork) -> Breakdown {
    let panels = [
        ("the gradient", &work.gradients),
        ("the direction", &work.directions),
        ("the mean square of directions", &particles.squares),
        ("the step", &particles.current),
    ];
    let lines = panels.into_iter().flat_map(|(what, panel)| {
        panel.all().iter().enumerate().map(move |(particle, line)| (what, particle, line))
    });
    let broken = |(what, particle, line): (&str, usize, &[f32])| {
        let found = line.iter().find(|value| !value.is_finite())?;
        Some(Breakdown { place: format!("{what} of particle {particle}"), found: f64::from(*found) })
    };
    { lines }
        .find_map(broken)
        .unwrap_or(Breakdown { place: "the step of a particle".to_owned(), found: f64::NAN })
}

/// The middle number, or the mean of the middle two.
fn median(values: &[f64], sorted: &mut [f64]) -> f64 {
    sorted.copy_from_slice(values);
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { 0.5 * (sorted[half - 1] + sorted[half]) } else { sorted[half] }
}

/// `direction = (direction + own·θ)·factor`
#[multiversion(targets = "simd")]
fn finish_direction(direction: &mut [f32], theta: &[f32], own: f32, factor: f32) {
    for (direction, theta) in direction.iter_mut().zip(theta) {
        *direction = (*direction + own * theta) * factor;
    }
}

/// `θ += rate·direction/(ε + |direction|)`; 0 if all of θ is finite afterwards, NaN if not.
#[multiversion(targets = "simd")]
fn step_by_sign(theta: &mut [f32], direction: &[f32], rate: f32, epsilon: f32) -> f32 {
    let mut rest = [0.0; 16];
    for (theta, direction) in theta.chunks_mut(16).zip(direction.chunks(16)) {
        for ((theta, direction), rest) in theta.iter_mut().zip(direction).zip(&mut rest) {
            *theta += rate * direction / (epsilon + direction.abs());
            *rest += *theta * 0.0;
        }
    }
    rest.iter().sum()
}

/// `squares = memory·squares + (1 − memory)·direction²`, `θ += rate·direction/(ε + √squares)`; 0 if all is finite afterwards, NaN if not.
#[multiversion(targets = "simd")]
fn step_by_squares(
    theta: &mut [f32],
    direction: &[f32],
    squares: &mut [f32],
    memory: f32,
    rate: f32,
    epsilon: f32,
) -> f32 {
    let mut rest = [0.0; 16];
    let chunks = theta.chunks_mut(16).zip(direction.chunks(16)).zip(squares.chunks_mut(16));
    for ((theta, direction), squares) in chunks {
        let places = theta.iter_mut().zip(direction).zip(squares).zip(&mut rest);
        for (((theta, direction), square), rest) in places {
            *square = memory * *square + (1.0 - memory) * direction * direction;
            *theta += rate * direction / (epsilon + square.sqrt());
            *rest += (*theta + *square) * 0.0;
        }
    }
    rest.iter().sum()
}
