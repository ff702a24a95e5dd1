//! What came of a decision.

use crate::error::Kind;
use crate::{Error, Shape};

/// What came of a decision: all that learning needs. Keep it until the reward is known.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Outcome<'a> {
    /// The round of the request that it answers.
    pub round: u64,
    /// The context of that request.
    pub context: &'a [f32],
    /// The action that was taken, chosen by this policy or by anybody else.
    pub action: usize,
    /// What it earned.
    pub reward: f64,
    /// How many equal outcomes it counts as; 1 unless [`Outcome::with_weight`] says otherwise.
    pub weight: f64,
}

impl<'a> Outcome<'a> {
    /// In `round`, `action` was taken for `context` and earned `reward`.
    pub const fn new(round: u64, context: &'a [f32], action: usize, reward: f64) -> Self {
        Self { round, context, action, reward, weight: 1.0 }
    }

    /// The same outcome, counted `weight` times: a number from 1e-6 to 1e6, not necessarily whole.
    ///
    /// Use it for rows that stand for several events. Weights count as observations: they narrow posteriors, end initial pulls and decay
    /// exploration. So divide other weights, such as inverse propensities, by their mean.
    #[must_use]
    pub const fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// The smallest and the largest weight. Far smaller ones would underflow in nets.
    pub(crate) const MIN_WEIGHT: f64 = 1e-6;
    pub(crate) const MAX_WEIGHT: f64 = 1e6;

    /// Whether an outcome can have this weight.
    pub(crate) fn is_weight(weight: f64) -> bool {
        (Self::MIN_WEIGHT..=Self::MAX_WEIGHT).contains(&weight)
    }

    /// Fails unless a policy of this shape can learn from it.
    pub(crate) fn check(&self, shape: Shape) -> Result<(), Error> {
        shape.check_context(self.context)?;
        if self.action >= shape.n_actions {
            return Err(Kind::ActionOutOfRange { found: self.action, n_actions: shape.n_actions }.into());
        }
        // Nets keep rewards in f32, so what f32 cannot hold is refused for every policy alike.
        if !(self.reward as f32).is_finite() {
            return Err(Kind::RewardOutOfRange { found: self.reward }.into());
        }
        if !Self::is_weight(self.weight) {
            return Err(Kind::WeightOutOfRange { found: self.weight }.into());
        }
        Ok(())
    }
}
