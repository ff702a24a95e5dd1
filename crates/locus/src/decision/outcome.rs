//! The observed result of a decision.

use super::shape::first_non_finite;
use crate::error::Kind;
use crate::{Error, Shape};

/// The observed result of a decision: everything that a policy learns from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Outcome<'a> {
    /// The round of the request.
    pub round: u64,
    /// The context of that request.
    pub context: &'a [f32],
    /// The action that was taken, by this policy or by any other rule.
    pub action: usize,
    /// The reward of that action.
    pub reward: f64,
    /// How many equal outcomes it counts as; 1 unless [`Outcome::with_weight`] sets it.
    pub weight: f64,
    /// The features of the action, if the policy was built for [`Shape::described`].
    pub action_features: Option<&'a [f32]>,
}

impl<'a> Outcome<'a> {
    /// The outcome of `round`: `action` was taken for `context` and earned `reward`.
    pub const fn new(round: u64, context: &'a [f32], action: usize, reward: f64) -> Self {
        Self { round, context, action, reward, weight: 1.0, action_features: None }
    }

    /// Makes the outcome count `weight` times: a number from 1e-6 to 1e6, not necessarily whole.
    ///
    /// Use it for rows that stand for several events. Weights count as numbers of observations: they narrow posteriors, end
    /// initial pulls and decay exploration. So normalize other weights, such as inverse propensities, to a mean of 1.
    #[must_use]
    pub const fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// Adds the features of the action that was taken, for a policy of [`Shape::described`].
    ///
    /// The policy learns from these features; the number of the action is only yours.
    #[must_use]
    pub const fn with_action_features(self, features: &'a [f32]) -> Self {
        Self { action_features: Some(features), ..self }
    }

    /// The smallest and the largest weight. Much smaller ones would underflow in nets.
    pub(crate) const MIN_WEIGHT: f64 = 1e-6;
    pub(crate) const MAX_WEIGHT: f64 = 1e6;

    /// Whether an outcome can have this weight.
    pub(crate) fn is_weight(weight: f64) -> bool {
        (Self::MIN_WEIGHT..=Self::MAX_WEIGHT).contains(&weight)
    }

    /// Fails unless a policy of this shape can learn from it.
    pub(crate) fn check(&self, shape: Shape) -> Result<(), Error> {
        shape.check_context(self.context)?;
        self.check_action_features(shape)?;
        if !shape.is_described() && self.action >= shape.n_actions {
            return Err(Kind::ActionOutOfRange { found: self.action, n_actions: shape.n_actions }.into());
        }
        // Nets store rewards as f32, so rewards beyond f32 are rejected for every policy.
        if !(self.reward as f32).is_finite() {
            return Err(Kind::RewardOutOfRange { found: self.reward }.into());
        }
        if !Self::is_weight(self.weight) {
            return Err(Kind::WeightOutOfRange { found: self.weight }.into());
        }
        Ok(())
    }

    fn check_action_features(&self, shape: Shape) -> Result<(), Error> {
        let (expected, n_actions) = (shape.n_action_features, shape.n_actions);
        let features = match self.action_features {
            Some(_) if !shape.is_described() => {
                return Err(Kind::UnexpectedActionFeatures { n_actions }.into());
            }
            None if shape.is_described() => return Err(Kind::MissingActionFeatures { expected }.into()),
            None => return Ok(()),
            Some(features) => features,
        };
        if features.len() != expected {
            return Err(Kind::ActionFeaturesLength { found: features.len(), expected }.into());
        }
        match first_non_finite(features) {
            Some(index) => Err(Kind::NonFiniteActionFeature { index, value: features[index] }.into()),
            None => Ok(()),
        }
    }
}
