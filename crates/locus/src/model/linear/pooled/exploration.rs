//! The standard deviation of posterior samples.
//!
//! With one regression per action, each learns its own noise variance, and an action with few observations keeps that of the
//! prior. Here the residuals of all actions give one more noise variance, drawn once per decision,
//!
//! ```text
//! σ_p² ~ InvGamma(a₀ + N/2, b₀ + Σ_a (b_a − b₀)),    σ_a² ~ InvGamma(a₀ + n_a/2, b_a),
//! ```
//!
//! and the larger of the two is used: a surprising reward of one action increases the exploration of all actions, and an action
//! that is noisier than the others keeps its own noise. The draw is then tempered by α_t.

use crate::agent::Breakdown;
use crate::model::linear::heads::LinearHeads;
use crate::registry::save::{Decoder, Encoder};
use crate::{Error, Rng, Shape};

/// Draws deviate from the mean by α·√max(σ_p², σ_a²)·ξ times the root of the leverage.
///
/// α falls with t, the observations so far: `α = width/√(1 + t/(τ·(1 + (D₀/D)²)))`, where D = (C + 1)·A is the number of
/// coefficients: if there are few, exploration costs little. Actions with few observations are not tempered yet: for an action
/// with n_a observations, t is capped at `rarity`·A²·max(n_a, 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exploration {
    /// τ
    pub(crate) tempering_steps: f64,
    /// D₀
    pub(crate) tempering_coefficients: f64,
    /// t is capped at this many times A²·max(n_a, 1).
    pub(crate) tempering_rarity: f64,
    /// The factor on α.
    pub(crate) width: f64,
}

/// The inputs of tempering, besides the action's own observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    /// t, the sum of all weights; with a half-life, of what remains of them.
    pub(crate) n_observed: f64,
    /// A
    pub(crate) n_actions: f64,
    /// D
    pub(crate) n_coefficients: f64,
}

impl Seen {
    /// After `n_observed` observations.
    pub(crate) fn by(heads: &LinearHeads, n_observed: f64) -> Self {
        Self::of_actions(heads, n_observed, heads.n_actions())
    }

    /// The same as if there were only `n_actions` actions.
    pub(crate) fn of_actions(heads: &LinearHeads, n_observed: f64, n_actions: usize) -> Self {
        let n_coefficients = (heads.dim() * n_actions) as f64;
        Self { n_observed, n_actions: n_actions as f64, n_coefficients }
    }
}

impl Exploration {
    /// α for an action with `n_pulls` of the observations.
    fn alpha(&self, seen: Seen, n_pulls: f64) -> f64 {
        let Seen { n_observed, n_actions, n_coefficients } = seen;
        let n_observed = n_observed.min(self.tempering_rarity * n_actions * n_actions * n_pulls.max(1.0));
        let fewness = self.tempering_coefficients / n_coefficients;
        let falling = 1.0 + n_observed / (1.0 + fewness * fewness) / self.tempering_steps;
        self.width / falling.sqrt()
    }

    /// Draws α·√max(σ_p², σ_a²)·ξ_a for every action: the deviation without the root of the leverage. **Samples.**
    pub(crate) fn draw_deviations(
        &self,
        heads: &LinearHeads,
        seen: Seen,
        rng: &mut Rng,
        deviations: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.draw(heads, seen, rng, deviations, Rng::normal)
    }

    /// Draws α·√max(σ_p², σ_a²) for every action: the standard deviation without the root of the leverage. **Samples.**
    pub(crate) fn draw_spreads(
        &self,
        heads: &LinearHeads,
        seen: Seen,
        rng: &mut Rng,
        spreads: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.draw(heads, seen, rng, spreads, |_| 1.0)
    }

    /// Draws α·σ of a regression that all actions share: A is 1 and D its dimension, and no action has few observations. **Samples.**
    ///
    /// Its own noise is the pooled noise, so it is drawn once.
    pub(crate) fn draw_shared_spread(
        &self,
        heads: &LinearHeads,
        seen: Seen,
        rng: &mut Rng,
    ) -> Result<f64, Breakdown> {
        let variance = heads.posterior(0).sample_noise_variance(rng);
        let variance = check_variance(variance, || "the drawn noise variance".to_owned())?;
        Ok(Self { tempering_rarity: f64::INFINITY, ..*self }.alpha(seen, 1.0) * variance.sqrt())
    }

    fn draw(
        &self,
        heads: &LinearHeads,
        seen: Seen,
        rng: &mut Rng,
        deviations: &mut [f64],
        deviate: impl Fn(&mut Rng) -> f64,
    ) -> Result<(), Breakdown> {
        let (shape, rate) = pooled_noise(heads);
        let pooled = check_variance(rate / rng.gamma(shape), || "the pooled noise variance".to_owned())?;
        let prior_shape = heads.prior().shape;
        for (action, deviation) in deviations.iter_mut().enumerate() {
            let posterior = heads.posterior(action);
            let own = check_variance(posterior.sample_noise_variance(rng), || {
                format!("the drawn noise variance of action {action}")
            })?;
            let n_pulls = 2.0 * (posterior.noise_shape() - prior_shape);
            *deviation = self.alpha(seen, n_pulls) * pooled.max(own).sqrt() * deviate(rng);
        }
        Ok(())
    }
}

/// a_p and b_p, shape and rate of the noise variance that all actions share.
///
/// An added action takes part from its first observation: until then it would change the sums by rounding.
pub(crate) fn pooled_noise(heads: &LinearHeads) -> (f64, f64) {
    let prior = heads.prior();
    let takes_part =
        |action: &usize| *action < heads.n_built() || heads.posterior(*action).noise_shape() != prior.shape;
    (0..heads.n_actions()).filter(takes_part).map(|action| heads.posterior(action)).fold(
        (prior.shape, prior.rate),
        |(shape, rate), posterior| {
            (shape + posterior.noise_shape() - prior.shape, rate + posterior.noise_rate() - prior.rate)
        },
    )
}

/// Writes how many actions the heads were built with, which [`pooled_noise`] depends on.
pub(crate) fn encode_n_built(heads: &LinearHeads, encoder: &mut Encoder) {
    encoder.usize(heads.n_built());
}

/// What [`encode_n_built`] wrote; in earlier formats no action was added.
pub(crate) fn decode_n_built(shape: Shape, decoder: &mut Decoder<'_>) -> Result<usize, Error> {
    let n_built = if decoder.format() > 3 { decoder.usize()? } else { shape.n_actions };
    match (1..=shape.n_actions).contains(&n_built) {
        true => Ok(n_built),
        false => Err(decoder.damaged(format!("it was built with {n_built} of {} actions", shape.n_actions))),
    }
}

fn check_variance(variance: f64, place: impl FnOnce() -> String) -> Result<f64, Breakdown> {
    match variance.is_finite() {
        true => Ok(variance),
        false => Err(Breakdown { place: place(), found: variance }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::math::linear::LinearPrior;
    use crate::random::kolmogorov::{KOLMOGOROV_ONE_IN_10_000, kolmogorov_of_two};

    const PRIOR: LinearPrior = LinearPrior { precision: 0.25, shape: 1.5, rate: 0.7 };

    /// Actions that were seen 9, 2 and 0 times, the second with large rewards.
    fn heads(rng: &mut Rng) -> LinearHeads {
        let mut heads = LinearHeads::new(2, 3, PRIOR);
        for (action, n, size) in [(0, 9, 0.5), (1, 2, 3.0)] {
            (0..n).for_each(|_| heads.observe(action, &[rng.normal(), 1.0], size * rng.normal(), 1.0));
        }
        heads
    }

    const PLAIN: Exploration = Exploration {
        tempering_steps: 100.0,
        tempering_coefficients: 0.0,
        tempering_rarity: 1e12,
        width: 1.0,
    };

    const SEEN: Seen = Seen { n_observed: 300.0, n_actions: 3.0, n_coefficients: 7.0 };

    #[test]
    fn the_pool_holds_every_residual_once() {
        let heads = heads(&mut Seed::new(1).stream("test", 0));
        let residuals: f64 = (0..3).map(|action| heads.posterior(action).noise_rate() - 0.7).sum();
        let (shape, rate) = pooled_noise(&heads);
        assert!((shape - (1.5 + 11.0 / 2.0)).abs() < 1e-12);
        assert!((rate - (0.7 + residuals)).abs() < 1e-12);
    }

    /// An added action joins the pool with its first observation; before, not even rounding shows it. The prior's rate of 0.7 cancels
    /// with an error if it is added and subtracted.
    #[test]
    fn an_added_action_changes_no_pooled_noise_before_it_is_observed() {
        let rng = &mut Seed::new(1).stream("test", 0);
        let mut heads = heads(rng);
        let before = pooled_noise(&heads);
        (0..3).for_each(|_| heads.add_action());
        assert_eq!(pooled_noise(&heads), before);
        assert_eq!(pooled_noise(&heads.with_precision(2.0).leading(1)), (1.5, 0.7));
        heads.observe(4, &[1.0, 1.0], 3.0, 2.0);
        let (shape, rate) = pooled_noise(&heads);
        assert!((shape - before.0 - 1.0).abs() < 1e-12 && rate > before.1 + 0.5, "{shape} {rate}");
    }

    /// Against a draw by the formula: two-sample Kolmogorov–Smirnov, exceeded for one seed in 10 000 for each action and kind.
    #[test]
    fn deviations_are_drawn_as_their_formula_says() {
        const N_DRAWS: usize = 50_000;
        let mut rng = Seed::new(3).stream("test", 0);
        let heads = heads(&mut rng);
        let residuals: Vec<f64> = (0..3).map(|action| heads.posterior(action).noise_rate() - 0.7).collect();
        let n_pulls = [9.0, 2.0, 0.0];
        for action in 0..3 {
            let drawn = (0..N_DRAWS).map(|_| {
                let mut deviations = [0.0; 3];
                PLAIN.draw_deviations(&heads, SEEN, &mut rng, &mut deviations).unwrap();
                deviations[action]
            });
            let drawn: Vec<f64> = drawn.collect();
            let by_formula = (0..N_DRAWS).map(|_| {
                let pooled = (0.7 + residuals.iter().sum::<f64>()) / rng.gamma(1.5 + 5.5);
                let own = (0.7 + residuals[action]) / rng.gamma(1.5 + n_pulls[action] / 2.0);
                0.5 * pooled.max(own).sqrt() * rng.normal()
            });
            let statistic = kolmogorov_of_two(drawn, by_formula.collect());
            assert!(statistic < KOLMOGOROV_ONE_IN_10_000, "action {action}: {statistic}");
        }
    }

    #[test]
    fn tempering_falls_as_it_says() {
        let alpha = |tempering_coefficients| {
            Exploration { tempering_coefficients, width: 2.0, ..PLAIN }.alpha(SEEN, 800.0)
        };
        assert_eq!(alpha(0.0), 1.0);
        assert_eq!(alpha(7.0), 2.0 / 2.5_f64.sqrt());
        // 300 observations count as ⅔·3²·40 for an action that was taken 40 times, and as no more than they are for one with 80.
        let shared = Exploration { tempering_rarity: 2.0 / 3.0, width: 1.0, ..PLAIN };
        assert_eq!(shared.alpha(SEEN, 40.0), 1.0 / 3.4_f64.sqrt());
        assert_eq!(shared.alpha(SEEN, 80.0), 0.5);
        assert_eq!(shared.alpha(SEEN, 0.0), 1.0 / 1.06_f64.sqrt());
        let heads = heads(&mut Seed::new(1).stream("test", 0));
        let expected = Seen { n_observed: 11.0, n_actions: 3.0, n_coefficients: 6.0 };
        assert_eq!(Seen::by(&heads, 11.0), expected);
    }

    #[test]
    fn noise_that_is_no_number_is_refused() {
        let mut heads = LinearHeads::new(1, 2, PRIOR);
        heads.observe(1, &[1.0], 1e200, 1.0);
        let mut rng = Seed::new(1).stream("test", 0);
        let breakdown = PLAIN.draw_deviations(&heads, SEEN, &mut rng, &mut [0.0; 2]).unwrap_err();
        assert_eq!(breakdown.place, "the pooled noise variance");
    }
}
