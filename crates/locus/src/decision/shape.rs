//! The two sizes that a problem and a policy must agree on.

use crate::Error;
use crate::error::Kind;

/// The number of features of a context and the number of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Shape {
    /// C, the number of features of a context.
    pub n_features: usize,
    /// A, the number of actions; actions are `0..n_actions`.
    pub n_actions: usize,
}

impl Shape {
    /// A shape of `n_features` features and `n_actions` actions.
    pub const fn new(n_features: usize, n_actions: usize) -> Self {
        Self { n_features, n_actions }
    }

    /// The largest number of features, and of actions, that a policy supports.
    pub const MAX: usize = 1_000_000;

    /// Fails unless both numbers are between 1 and [`Self::MAX`].
    pub(crate) fn check(self) -> Result<(), Error> {
        let Self { n_features, n_actions } = self;
        if [n_features, n_actions].iter().all(|n| (1..=Self::MAX).contains(n)) {
            return Ok(());
        }
        Err(Kind::ShapeOutOfRange { n_features, n_actions }.into())
    }

    /// Fails unless `context` has the right length and every feature is finite.
    pub(crate) fn check_context(self, context: &[f32]) -> Result<(), Error> {
        if context.len() != self.n_features {
            return Err(Kind::ContextLength { found: context.len(), expected: self.n_features }.into());
        }
        // Without an early exit first, which the compiler vectorizes.
        if context.iter().fold(true, |are_finite, feature| are_finite & feature.is_finite()) {
            return Ok(());
        }
        match context.iter().position(|feature| !feature.is_finite()) {
            Some(index) => Err(Kind::NonFiniteFeature { index, value: context[index] }.into()),
            None => Ok(()),
        }
    }
}
