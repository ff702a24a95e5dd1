//! What passes between a policy and its caller: a request, a choice, and, sooner or later, an outcome.

use crate::{Error, Shape};

/// Asks for one decision.
///
/// The caller counts the rounds, from 0, one for each decision. A policy never counts for itself, so rewards
/// may come late, in batches or never. Everything random in a decision follows from the policy's seed and
/// `round`: ask twice for the same round and context, and the answer is the same.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The number of this decision, from 0.
    pub round: u64,
    /// The features of whoever or whatever is decided for.
    pub context: &'a [f32],
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The chosen action, `0..n_actions`.
    pub action: usize,
    /// How probable this action was.
    pub propensity: Propensity,
}

impl Choice {
    /// An action that could not have been another.
    pub(crate) fn certain(action: usize) -> Self {
        Self { action, propensity: Propensity::Exact(1.0) }
    }

    /// The action that a posterior draw favors.
    pub(crate) fn drawn(action: usize) -> Self {
        Self { action, propensity: Propensity::Unknown }
    }
}

/// How probable the chosen action was, as off-policy evaluation wants to know.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Propensity {
    /// Known in closed form.
    Exact(f64),
    /// The probability that a Thompson draw favours this action has no closed form, and was not estimated.
    Unknown,
}

/// What became of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// The round of the request that it answers.
    pub round: u64,
    /// The context of that request.
    pub context: &'a [f32],
    /// The action that was taken, chosen by this policy or by anybody else.
    pub action: usize,
    /// What it earned.
    pub reward: f64,
}

impl Outcome<'_> {
    /// Fails unless context, action and reward are such as a policy of this shape can learn from.
    pub(crate) fn check(&self, shape: Shape) -> Result<(), Error> {
        shape.check_context(self.context)?;
        if self.action >= shape.n_actions {
            return Err(Error::ActionOutOfRange { found: self.action, n_actions: shape.n_actions });
        }
        // Nets keep rewards in f32, so what f32 cannot hold is refused for every policy alike.
        if !(self.reward as f32).is_finite() {
            return Err(Error::RewardOutOfRange { found: self.reward });
        }
        Ok(())
    }
}
