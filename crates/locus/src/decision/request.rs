//! A request for one decision.

/// Asks for one decision.
///
/// The caller counts the rounds, from 0, one for each decision. A policy never counts for itself, so rewards may be delayed,
/// come in batches or be missing. Everything random in a decision follows from the policy's seed and `round`: ask twice for the
/// same round and context, and the answer is the same.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The number of this decision, from 0.
    pub round: u64,
    /// The features of whoever or whatever is decided for.
    pub context: &'a [f32],
}

impl<'a> Request<'a> {
    /// Asks for the decision of `round`, for `context`, among all actions.
    pub const fn new(round: u64, context: &'a [f32]) -> Self {
        Self { round, context }
    }
}
