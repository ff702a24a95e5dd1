//! Actions with features: 20 candidates, new ones every round, whose reward depends on how they match the context.
//!
//! The expected reward of a candidate with features f for a context x is `w·f + xᵀMf`, with a new w and M for every trial. A fifth
//! of its variance comes from w: a policy that does not see how x and f interact learns only that part. Numbered actions do not
//! exist here, for no candidate comes twice.

use std::sync::Arc;

use locus::{Rng, Seed, Shape};

use super::registry::{Origin, ProblemInfo};
use super::{Problem, Sequence, check_steps};
use crate::Error;

pub(super) const INFO: ProblemInfo = ProblemInfo {
    id: "bilinear",
    shape: Shape::described(10, 5),
    n_candidates: 20,
    rows: None,
    rewards: "bilinear in a Gaussian context and a candidate's features, new candidates every round; noise sd 0.1",
    origin: Origin::Generated(|| Arc::new(Bilinear)),
};

const NOISE_STD: f64 = 0.1;
/// The share of the variance of expected rewards that does not depend on the context.
const MAIN_SHARE: f64 = 0.2;

struct Bilinear;

/// The hidden coefficients of a trial.
struct Model {
    /// [F]
    main: Vec<f64>,
    /// [C, F]
    interactions: Vec<f64>,
}

impl Model {
    /// Directions are uniform, and expected rewards have variance 1 over contexts and candidates.
    fn draw(rng: &mut Rng) -> Self {
        let Shape { n_features, n_action_features, .. } = INFO.shape;
        let mut draw = |n: usize, variance: f64| {
            let mut numbers: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
            let squares: f64 = numbers.iter().map(|number| number * number).sum();
            numbers.iter_mut().for_each(|number| *number *= (variance / squares).sqrt());
            numbers
        };
        let main = draw(n_action_features, MAIN_SHARE);
        Self { main, interactions: draw(n_features * n_action_features, 1.0 - MAIN_SHARE) }
    }

    /// What each feature of a candidate is worth in this context.
    fn worth(&self, context: &[f32], worth: &mut [f64]) {
        worth.copy_from_slice(&self.main);
        for (x, row) in context.iter().zip(self.interactions.chunks_exact(worth.len())) {
            worth.iter_mut().zip(row).for_each(|(worth, m)| *worth += f64::from(*x) * m);
        }
    }
}

impl Problem for Bilinear {
    fn name(&self) -> &str {
        INFO.id
    }

    fn shape(&self) -> Shape {
        INFO.shape
    }

    fn max_steps(&self) -> Option<usize> {
        None
    }

    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error> {
        check_steps(self, steps)?;
        let Shape { n_features, n_action_features, .. } = INFO.shape;
        let mut sequence = Sequence::with_choices(INFO.shape, INFO.n_candidates, steps)?;
        let model = Model::draw(&mut seed.stream("model", 0));
        let (mut contexts, mut noise) = (seed.stream("contexts", 0), seed.stream("rewards", 0));
        let (mut context, mut worth) = (vec![0.0; n_features], vec![0.0; n_action_features]);
        let mut candidates = vec![0.0; INFO.n_candidates * n_action_features];
        let mut rewards = vec![0.0; INFO.n_candidates];
        for _ in 0..steps {
            context.fill_with(|| contexts.normal() as f32);
            candidates.fill_with(|| contexts.normal() as f32);
            model.worth(&context, &mut worth);
            let (mut best, mut highest) = (0, f64::NEG_INFINITY);
            for (index, features) in candidates.chunks_exact(n_action_features).enumerate() {
                let expected: f64 = features.iter().zip(&worth).map(|(f, worth)| f64::from(*f) * worth).sum();
                rewards[index] = expected + NOISE_STD * noise.normal();
                if expected > highest {
                    (best, highest) = (index, expected);
                }
            }
            sequence.push_described(&context, &candidates, &rewards, rewards[best]);
        }
        Ok(sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reward is what the formula says, up to noise, and regret is measured against the best expected candidate.
    #[test]
    fn rewards_are_bilinear_and_candidates_are_new_every_round() {
        let seed = Seed::new(4);
        let model = Model::draw(&mut seed.stream("model", 0));
        let sequence = Bilinear.sequence(2000, seed).unwrap();
        let (mut squares, mut noise_squares, mut n_beaten) = (0.0, 0.0, 0);
        for (t, round) in sequence.rounds().enumerate() {
            let expected: Vec<f64> = (0..20)
                .map(|candidate| {
                    let f = round.action_features(candidate).unwrap();
                    let main: f64 = f.iter().zip(&model.main).map(|(f, w)| f64::from(*f) * w).sum();
                    let product = |c: usize, j: usize| f64::from(round.context[c]) * f64::from(f[j]);
                    let pairs = (0..10).flat_map(|c| (0..5).map(move |j| (c, j)));
                    main + pairs.map(|(c, j)| product(c, j) * model.interactions[5 * c + j]).sum::<f64>()
                })
                .collect();
            for (reward, expected) in round.rewards.iter().zip(&expected) {
                squares += expected * expected / 40_000.0;
                noise_squares += (reward - expected).powi(2) / 40_000.0;
            }
            let best = (0..20).max_by(|&a, &b| expected[a].total_cmp(&expected[b])).unwrap();
            assert_eq!(round.best_reward, round.rewards[best]);
            n_beaten += usize::from(round.rewards.iter().any(|reward| *reward > round.best_reward));
            assert!(t == 0 || round.candidates != sequence.round(t - 1).candidates);
        }
        // The variance over contexts and candidates is 1; 2000 contexts know it to about 2 %, 40 000 noises to 0.7 %.
        assert!((squares - 1.0).abs() < 0.1, "{squares}");
        assert!((noise_squares.sqrt() - NOISE_STD).abs() < 0.003, "{noise_squares}");
        assert!((1..1000).contains(&n_beaten), "{n_beaten}");
    }
}
