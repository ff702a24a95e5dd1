//! The sizes that a problem and a policy must agree on.

use crate::Error;
use crate::error::Kind;

/// The number of features of a context, and the number of actions or of their features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Shape {
    /// C, the number of features of a context.
    pub n_features: usize,
    /// A, the number of actions; actions are `0..n_actions`. 0 if actions are described by features.
    pub n_actions: usize,
    /// F, the number of features of an action; 0 if actions are only numbered.
    pub n_action_features: usize,
}

impl Shape {
    /// A shape of `n_features` features and `n_actions` actions.
    pub const fn new(n_features: usize, n_actions: usize) -> Self {
        Self { n_features, n_actions, n_action_features: 0 }
    }

    /// A shape of `n_features` features of the context, and actions that `n_action_features` features describe.
    ///
    /// Every request brings its own candidates, any number of them, with [`Request::with_candidates`](crate::Request::with_candidates).
    /// Policies that support it have one model of the reward for all actions; the others refuse to be built.
    pub const fn described(n_features: usize, n_action_features: usize) -> Self {
        Self { n_features, n_actions: 0, n_action_features }
    }

    /// The largest number of features, of actions and of candidates that a policy supports.
    pub const MAX: usize = 1_000_000;

    /// Whether features describe the actions.
    pub(crate) fn is_described(self) -> bool {
        self.n_action_features > 0
    }

    /// What a learner is built for: the same, or for described actions rows `[x, f_a]` and a single action.
    pub(crate) fn of_learner(self) -> Self {
        match self.is_described() {
            true => Self { n_features: self.n_features + self.n_action_features, n_actions: 1, ..self },
            false => self,
        }
    }

    /// The same features and actions, only numbered: what a replay of a learner's outcomes holds.
    pub(crate) fn without_action_features(self) -> Self {
        Self { n_action_features: 0, ..self }
    }

    /// Fails unless all numbers are between 1 and [`Self::MAX`].
    pub(crate) fn check(self) -> Result<(), Error> {
        let Self { n_features, n_actions, n_action_features } = self;
        let is_possible = |n: usize| (1..=Self::MAX).contains(&n);
        if self.is_described() {
            let n_joint = n_features.saturating_add(n_action_features);
            return match n_actions == 0 && n_features > 0 && is_possible(n_joint) {
                true => Ok(()),
                false => Err(Kind::DescribedOutOfRange { n_features, n_actions, n_action_features }.into()),
            };
        }
        if [n_features, n_actions].into_iter().all(is_possible) {
            return Ok(());
        }
        Err(Kind::ShapeOutOfRange { n_features, n_actions }.into())
    }

    /// Fails unless `context` has the right length and every feature is finite.
    pub(crate) fn check_context(self, context: &[f32]) -> Result<(), Error> {
        if context.len() != self.n_features {
            return Err(Kind::ContextLength { found: context.len(), expected: self.n_features }.into());
        }
        check_finite(context)
    }

    /// Fails unless `row` has the right length for context and action, and every feature is finite.
    pub(crate) fn check_row(self, row: &[f32]) -> Result<(), Error> {
        let Self { n_features, n_action_features, .. } = self;
        if row.len() != n_features + n_action_features {
            return Err(Kind::RowLength { found: row.len(), n_features, n_action_features }.into());
        }
        check_finite(row)
    }
}

fn check_finite(context: &[f32]) -> Result<(), Error> {
    match first_non_finite(context) {
        Some(index) => Err(Kind::NonFiniteFeature { index, value: context[index] }.into()),
        None => Ok(()),
    }
}

/// The place of the first number that is not finite.
pub(super) fn first_non_finite(features: &[f32]) -> Option<usize> {
    // Without an early exit first, which the compiler vectorizes.
    if features.iter().fold(true, |are_finite, feature| are_finite & feature.is_finite()) {
        return None;
    }
    features.iter().position(|feature| !feature.is_finite())
}
