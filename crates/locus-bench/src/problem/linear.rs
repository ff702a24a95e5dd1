//! Rewards that are linear in the context, or the absolute value of a linear function, plus noise.
//!
//! `linear` and `sparse-linear` suit linear policies; in `folded` no linear function of the context predicts the reward of an
//! arm, so policies need a nonlinear reward model. `drift` is `linear` until half of the steps; then each arm has the coefficients
//! that the next one had. All four generate their contexts; `financial` takes its contexts from a file and its arms from here.

use std::sync::Arc;

use locus::{Rng, Seed, Shape};

use super::registry::{Origin, ProblemInfo};
use super::{Problem, Sequence, check_steps};
use crate::Error;

pub(super) const INFO: ProblemInfo = ProblemInfo {
    id: "linear",
    shape: Shape::new(10, 8),
    n_candidates: 0,
    rows: None,
    rewards: "linear in a Gaussian context, a new unit vector per arm and trial; noise sd 0.01 to 0.08",
    origin: Origin::Generated(|| {
        Arc::new(Linear { info: &INFO, n_nonzero: 10, is_folded: false, drifts: false })
    }),
};

pub(super) const SPARSE_INFO: ProblemInfo = ProblemInfo {
    id: "sparse-linear",
    shape: Shape::new(10, 7),
    n_candidates: 0,
    rows: None,
    rewards: "as linear, with 3 nonzero coefficients per arm; noise sd 0.01 to 0.07",
    origin: Origin::Generated(|| {
        Arc::new(Linear { info: &SPARSE_INFO, n_nonzero: 3, is_folded: false, drifts: false })
    }),
};

pub(super) const FOLDED_INFO: ProblemInfo = ProblemInfo {
    id: "folded",
    shape: Shape::new(5, 4),
    n_candidates: 0,
    rows: None,
    rewards: "absolute value of a linear function, otherwise as linear; noise sd 0.01 to 0.04",
    origin: Origin::Generated(|| {
        Arc::new(Linear { info: &FOLDED_INFO, n_nonzero: 5, is_folded: true, drifts: false })
    }),
};

pub(super) const DRIFT_INFO: ProblemInfo = ProblemInfo {
    id: "drift",
    shape: INFO.shape,
    n_candidates: 0,
    rows: None,
    rewards: "as linear; at half of the steps every arm gets the coefficients of the next one",
    origin: Origin::Generated(|| {
        Arc::new(Linear { info: &DRIFT_INFO, n_nonzero: 10, is_folded: false, drifts: true })
    }),
};

struct Linear {
    info: &'static ProblemInfo,
    n_nonzero: usize,
    /// Whether expected rewards are absolute values.
    is_folded: bool,
    /// Whether arms swap their coefficients at half of the steps.
    drifts: bool,
}

impl Problem for Linear {
    fn name(&self) -> &str {
        self.info.id
    }

    fn shape(&self) -> Shape {
        self.info.shape
    }

    fn max_steps(&self) -> Option<usize> {
        None
    }

    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error> {
        check_steps(self, steps)?;
        let shape = self.info.shape;
        let mut sequence = Sequence::with_room(shape, steps)?;
        let mut arms =
            LinearArms::draw(shape, self.n_nonzero, &mut seed.stream("model", 0)).folded(self.is_folded);
        let mut contexts = seed.stream("contexts", 0);
        let mut noise = seed.stream("rewards", 0);
        let mut context = vec![0.0; shape.n_features];
        let mut rewards = vec![0.0; shape.n_actions];
        for step in 0..steps {
            if self.drifts && step == steps / 2 {
                arms.rotate();
            }
            context.fill_with(|| contexts.normal() as f32);
            let best = arms.play(&context, &mut noise, &mut rewards);
            sequence.push(&context, &rewards, rewards[best.action]);
        }
        Ok(sequence)
    }
}

/// Arms whose expected rewards are linear in the context.
pub(super) struct LinearArms {
    shape: Shape,
    /// [A, C], every row of unit length.
    coefficients: Vec<f64>,
    /// Whether expected rewards are the absolute values.
    is_folded: bool,
}

/// The arm with the best expected reward.
pub(super) struct BestArm {
    pub(super) action: usize,
    pub(super) expected_reward: f64,
}

impl LinearArms {
    /// Per arm: coefficients uniform on (−1, 1), of which `n_nonzero` are kept, scaled to unit length.
    pub(super) fn draw(shape: Shape, n_nonzero: usize, rng: &mut Rng) -> Self {
        let mut coefficients = vec![0.0; shape.n_features * shape.n_actions];
        for arm in coefficients.chunks_exact_mut(shape.n_features) {
            for index in rng.choose_distinct(shape.n_features, n_nonzero) {
                arm[index] = 2.0 * rng.uniform() - 1.0;
            }
            let length = arm.iter().map(|coefficient| coefficient * coefficient).sum::<f64>().sqrt();
            arm.iter_mut().for_each(|coefficient| *coefficient /= length);
        }
        Self { shape, coefficients, is_folded: false }
    }

    fn folded(self, is_folded: bool) -> Self {
        Self { is_folded, ..self }
    }

    /// Gives every arm the coefficients of the next one, and the last arm those of the first.
    fn rotate(&mut self) {
        self.coefficients.rotate_left(self.shape.n_features);
    }

    /// Draws a reward for every arm; the noise of arm j has standard deviation 0.01·(j + 1).
    pub(super) fn play(&self, context: &[f32], noise: &mut Rng, rewards: &mut [f64]) -> BestArm {
        let mut best = BestArm { action: 0, expected_reward: f64::NEG_INFINITY };
        for (action, arm) in self.coefficients.chunks_exact(self.shape.n_features).enumerate() {
            let linear: f64 = arm.iter().zip(context).map(|(b, &x)| b * f64::from(x)).sum();
            let expected_reward = if self.is_folded { linear.abs() } else { linear };
            if expected_reward > best.expected_reward {
                best = BestArm { action, expected_reward };
            }
            rewards[action] = expected_reward + 0.01 * (action + 1) as f64 * noise.normal();
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_unit_vectors_as_sparse_as_asked() {
        let shape = Shape::new(10, 7);
        for n_nonzero in [3, 10] {
            let arms = LinearArms::draw(shape, n_nonzero, &mut Seed::new(1).stream("model", 0));
            let mut supports = Vec::new();
            for arm in arms.coefficients.chunks_exact(10) {
                assert!((arm.iter().map(|b| b * b).sum::<f64>() - 1.0).abs() < 1e-12);
                let support: Vec<_> = (0..10).filter(|&index| arm[index] != 0.0).collect();
                assert_eq!(support.len(), n_nonzero);
                supports.push(support);
            }
            supports.dedup();
            assert_eq!(supports.len() > 1, n_nonzero < 10, "arms have supports of their own");
        }
    }

    #[test]
    fn noise_grows_with_the_arm_and_the_best_is_the_best_expected() {
        let shape = Shape::new(3, 4);
        let coefficients = vec![1., 0., 0., 0., 1., 0., 0., 0., 1., -1., 0., 0.];
        let arms = LinearArms { shape, coefficients, is_folded: false };
        let mut noise = Seed::new(2).stream("rewards", 0);
        let mut rewards = [0.0; 4];
        let mut squares = [0.0; 4];
        for _ in 0..20_000 {
            let best = arms.play(&[0.5, -2.0, 0.25], &mut noise, &mut rewards);
            assert_eq!((best.action, best.expected_reward), (0, 0.5));
            for (square, (reward, expected)) in
                squares.iter_mut().zip(rewards.iter().zip([0.5, -2.0, 0.25, -0.5]))
            {
                *square += (reward - expected).powi(2) / 20_000.0;
            }
        }
        for (action, square) in squares.iter().enumerate() {
            let std = 0.01 * (action + 1) as f64;
            // The relative deviation of the mean square is 1 %.
            assert!((square / (std * std) - 1.0).abs() < 0.05, "arm {action}: {}", square.sqrt());
        }
    }

    #[test]
    fn folded_arms_pay_the_absolute_value() {
        let (shape, coefficients) = (Shape::new(2, 2), vec![1.0, 0.0, 0.0, 1.0]);
        let arms = LinearArms { shape, coefficients, is_folded: false }.folded(true);
        let mut rewards = [0.0; 2];
        let mut noise = Seed::new(2).stream("rewards", 0);
        let best = arms.play(&[-0.5, -2.0], &mut noise, &mut rewards);
        assert_eq!((best.action, best.expected_reward), (1, 2.0));
        assert!((rewards[0] - 0.5).abs() < 0.1 && (rewards[1] - 2.0).abs() < 0.2);
    }

    #[test]
    fn regret_is_measured_against_the_realised_reward_of_the_best_arm() {
        let sequence = Linear { info: &INFO, n_nonzero: 10, is_folded: false, drifts: false }
            .sequence(500, Seed::new(3))
            .unwrap();
        for round in sequence.rounds() {
            assert!(round.rewards.contains(&round.best_reward));
        }
        // Noise sometimes lifts another arm above the best expected one, or this would be the maximum.
        let is_beaten = |round: super::super::Round<'_>| round.rewards.iter().any(|&r| r > round.best_reward);
        let n_beaten = sequence.rounds().filter(|&round| is_beaten(round)).count();
        assert!((1..100).contains(&n_beaten), "{n_beaten}");
    }

    /// The same seed gives both problems the same coefficients, contexts and noise: until the swap the rounds are equal to the bit,
    /// and after it an arm pays, up to noise, what the next one pays in `linear`. The noise stays with the arm.
    #[test]
    fn drift_is_linear_until_arms_swap_their_coefficients_at_half() {
        for steps in [1, 7, 400] {
            let [linear, drift] = [(&INFO, false), (&DRIFT_INFO, true)].map(|(info, drifts)| {
                let problem = Linear { info, n_nonzero: 10, is_folded: false, drifts };
                problem.sequence(steps, Seed::new(5)).unwrap()
            });
            for step in 0..steps {
                let (before, after) = (linear.round(step), drift.round(step));
                if step < steps / 2 {
                    assert_eq!(before, after, "step {step} of {steps}");
                    continue;
                }
                assert_eq!(before.context, after.context);
                let n_actions = after.rewards.len();
                for (action, reward) in after.rewards.iter().enumerate() {
                    let next = before.rewards[(action + 1) % n_actions];
                    // Six standard deviations of the difference of the two largest noises.
                    assert!(
                        (reward - next).abs() < 6.0 * 0.12,
                        "step {step}, action {action}: {reward}, {next}"
                    );
                }
                assert!(after.rewards.contains(&after.best_reward));
            }
        }
        let mut arms =
            LinearArms { shape: Shape::new(1, 3), coefficients: vec![1.0, 2.0, 3.0], is_folded: false };
        arms.rotate();
        assert_eq!(arms.coefficients, [2.0, 3.0, 1.0]);
    }
}
