//! A decision, and how probable it was.

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// The chosen action, `0..n_actions`, or the index of the chosen candidate.
    pub action: usize,
    /// How probable this action was.
    pub propensity: Propensity,
}

impl Choice {
    /// This action, with an unknown propensity.
    pub const fn new(action: usize) -> Self {
        Self { action, propensity: Propensity::Unknown }
    }

    /// Returns the same action with this probability as its exact propensity.
    pub const fn with_propensity(self, probability: f64) -> Self {
        Self { propensity: Propensity::Exact(probability), ..self }
    }

    /// An action that is chosen with probability 1.
    pub(crate) const fn certain(action: usize) -> Self {
        Self::new(action).with_propensity(1.0)
    }
}

/// The probability of the chosen action, which off-policy evaluation needs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Propensity {
    /// The action was drawn with this probability.
    Exact(f64),
    /// Unknown: the action had the highest reward of a posterior sample, and its probability was not requested with
    /// [`Request::with_propensity`](crate::Request::with_propensity).
    Unknown,
}
