//! Wheel: in most of the unit disc all arms pay little; near its rim one arm of four pays 50.
//!
//! Riquelme, Tucker and Snoek made it to need exploration: the rim, outside radius δ = 0.95, is a tenth of the
//! disc, and a policy that settles for arm 4 never learns of it.

use std::sync::Arc;

use locus::{Rng, Seed, Shape};

use super::registry::{Origin, ProblemInfo};
use super::{Problem, Sequence, check_steps};
use crate::Error;

pub(super) const INFO: ProblemInfo = ProblemInfo {
    id: "wheel",
    shape: Shape::new(2, 5),
    n_candidates: 0,
    rows: None,
    rewards: "arms 0 to 3 about 1, arm 4 about 1.2; outside radius 0.95 the arm of the quadrant about 50",
    origin: Origin::Generated(|| Arc::new(Wheel)),
};

/// δ, where the rim begins.
const RIM_RADIUS: f64 = 0.95;
const MEANS: [f64; 5] = [1.0, 1.0, 1.0, 1.0, 1.2];
const NOISE_STD: f64 = 0.05;
const RIM_MEAN: f64 = 50.0;
const RIM_NOISE_STD: f64 = 0.01;

struct Wheel;

impl Problem for Wheel {
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
        let mut sequence = Sequence::with_room(INFO.shape, steps)?;
        let mut contexts = seed.stream("contexts", 0);
        let mut noise = seed.stream("rewards", 0);
        for _ in 0..steps {
            let context = draw_in_disc(&mut contexts);
            let best = best_arm(context);
            let mut rewards = MEANS.map(|mean| mean + NOISE_STD * noise.normal());
            if best < 4 {
                rewards[best] = RIM_MEAN + RIM_NOISE_STD * noise.normal();
            }
            sequence.push(&context, &rewards, rewards[best]);
        }
        Ok(sequence)
    }
}

/// Uniform on the disc, by refusing what the square has beyond it: no sine is needed.
fn draw_in_disc(rng: &mut Rng) -> [f32; 2] {
    loop {
        let point = [2.0 * rng.uniform() - 1.0, 2.0 * rng.uniform() - 1.0];
        if point[0] * point[0] + point[1] * point[1] <= 1.0 {
            return point.map(|x| x as f32);
        }
    }
}

/// The arm of the quadrant on the rim, arm 4 within.
fn best_arm([x, y]: [f32; 2]) -> usize {
    let (wide_x, wide_y) = (f64::from(x), f64::from(y));
    if wide_x * wide_x + wide_y * wide_y <= RIM_RADIUS * RIM_RADIUS {
        return 4;
    }
    match (x > 0.0, y > 0.0) {
        (true, true) => 0,
        (true, false) => 1,
        (false, true) => 2,
        (false, false) => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadrants_have_their_arms_and_the_inside_has_the_fifth() {
        assert_eq!([[0.7, 0.7], [0.7, -0.7], [-0.7, 0.7], [-0.7, -0.7]].map(best_arm), [0, 1, 2, 3]);
        assert_eq!([[0.96, 0.0], [0.0, 0.96], [0.0, -0.96], [-0.96, 0.0]].map(best_arm), [1, 2, 3, 3]);
        assert_eq!([[0.0, 0.0], [0.949, 0.0], [-0.6, 0.6]].map(best_arm), [4, 4, 4]);
    }

    #[test]
    fn contexts_fill_the_disc_and_rewards_follow_their_distributions() {
        let n_rounds = 100_000;
        let sequence = Wheel.sequence(n_rounds, Seed::new(4)).unwrap();
        let (mut n_rim, mut n_inner) = (0_i64, 0_i64);
        let mut sums = [[0.0; 2]; 6];
        let mut counts = [0.0; 6];
        for round in sequence.rounds() {
            let [x, y] = [round.context[0], round.context[1]];
            let best = best_arm([x, y]);
            assert_eq!(round.best_reward, round.rewards[best]);
            n_rim += i64::from(best < 4);
            n_inner += i64::from(x * x + y * y < 0.25);
            for (arm, &reward) in round.rewards.iter().enumerate() {
                let is_rim = arm == best && best < 4;
                let (kind, center) = if is_rim { (5, RIM_MEAN) } else { (arm, MEANS[arm]) };
                counts[kind] += 1.0;
                sums[kind][0] += reward - center;
                sums[kind][1] += (reward - center).powi(2);
            }
        }
        // A share of 0.0975 on the rim and ¼ within half the radius; five deviations are 470 and 685.
        assert!((n_rim - 9750).abs() < 470, "{n_rim}");
        assert!((n_inner - 25_000).abs() < 685, "{n_inner}");
        for (kind, std) in [0.05, 0.05, 0.05, 0.05, 0.05, 0.01].into_iter().enumerate() {
            let n: f64 = counts[kind];
            assert!((sums[kind][0] / n).abs() < 5.0 * std / n.sqrt(), "mean of {kind}");
            assert!((sums[kind][1] / n / (std * std) - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "sd of {kind}");
        }
    }
}
