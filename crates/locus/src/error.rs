//! All errors of the library, as one opaque type.

use std::error::Error as StdError;
use std::fmt;

/// The error of this crate. Bad input changes nothing; [`Policy::learn`](crate::Policy::learn) describes training errors.
///
/// The message says what was found, what was expected and what to do. The predicates distinguish the kinds.
pub struct Error(Box<Kind>);

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Kind {
    /// A policy needs at least one feature and one action, and no more than fit into memory.
    #[error(
        "a policy must have 1 to {most} features and 1 to {most} actions, found {n_features} features and {n_actions} actions",
        most = crate::Shape::MAX
    )]
    ShapeOutOfRange {
        /// Requested features.
        n_features: usize,
        /// Requested actions.
        n_actions: usize,
    },
    /// As [`Kind::ShapeOutOfRange`], for actions with features.
    #[error(
        "a policy for actions with features must have 1 or more features of the context and of an action, together at most {most}, and no \
         number of actions; found {n_features} and {n_action_features} features and {n_actions} actions",
        most = crate::Shape::MAX
    )]
    DescribedOutOfRange {
        /// Requested features.
        n_features: usize,
        /// Requested actions.
        n_actions: usize,
        /// Requested features of an action.
        n_action_features: usize,
    },
    /// The policy has no model of actions with features.
    #[error("policy `{policy}` does not support actions with features; {known} do")]
    NotDescribed {
        /// The policy.
        policy: String,
        /// The policies that do.
        known: String,
    },
    /// Actions have features, but the request has no candidates.
    #[error(
        "the request has no candidates, but the policy was built for actions with {n_action_features} features; give the features of every \
         candidate with `with_candidates`"
    )]
    MissingCandidates {
        /// How many features an action has.
        n_action_features: usize,
    },
    /// The request has candidates, but actions have no features.
    #[error(
        "the request has candidates, but the policy was built for {n_actions} actions without features; build it for `Shape::described` or \
         leave them out"
    )]
    UnexpectedCandidates {
        /// How many actions there are.
        n_actions: usize,
    },
    /// The candidates are not rows of features.
    #[error(
        "the candidates have {found} features in all, expected {n_action_features} for each candidate, and at least one candidate"
    )]
    CandidatesLength {
        /// How many there are.
        found: usize,
        /// How many features an action has.
        n_action_features: usize,
    },
    /// There are more candidates than a policy supports.
    #[error("the request has {found} candidates, expected at most {}", crate::Shape::MAX)]
    TooManyCandidates {
        /// How many there are.
        found: usize,
    },
    /// A feature of a candidate is NaN or infinite.
    #[error("feature {index} of candidate {candidate} is {value}, expected a finite number")]
    NonFiniteCandidate {
        /// Which candidate.
        candidate: usize,
        /// Which of its features.
        index: usize,
        /// The value.
        value: f32,
    },
    /// Actions have features, but the outcome does not have those of its action.
    #[error(
        "the outcome has no features of its action, but the policy was built for actions with {expected} features; give them with \
         `with_action_features`"
    )]
    MissingActionFeatures {
        /// How many features an action has.
        expected: usize,
    },
    /// The outcome has features of its action, but actions have none.
    #[error(
        "the outcome has features of its action, but the policy was built for {n_actions} actions without features; build it for \
         `Shape::described` or leave them out"
    )]
    UnexpectedActionFeatures {
        /// How many actions there are.
        n_actions: usize,
    },
    /// The features of an action are too few or too many.
    #[error("the action has {found} features but the policy was built for {expected}")]
    ActionFeaturesLength {
        /// How many there are.
        found: usize,
        /// How many features an action has.
        expected: usize,
    },
    /// A feature of an action is NaN or infinite.
    #[error("feature {index} of the action is {value}, expected a finite number")]
    NonFiniteActionFeature {
        /// Which of its features.
        index: usize,
        /// The value.
        value: f32,
    },
    /// A row for `sample_rewards` is too short or too long.
    #[error(
        "row has {found} features, expected {n_features} of the context followed by {n_action_features} of an action"
    )]
    RowLength {
        /// How many there are.
        found: usize,
        /// How many features a context has.
        n_features: usize,
        /// How many features an action has.
        n_action_features: usize,
    },
    /// The context is too short or too long.
    #[error("context has {found} features but the policy was built for {expected}")]
    ContextLength {
        /// Length of the context.
        found: usize,
        /// Length that the policy was built for.
        expected: usize,
    },
    /// A feature is NaN or infinite.
    #[error("feature {index} of the context is {value}, expected a finite number")]
    NonFiniteFeature {
        /// Where in the context.
        index: usize,
        /// The value.
        value: f32,
    },
    /// There is no such action.
    #[error("action is {found} but the policy has {n_actions} actions, 0 to {}", n_actions - 1)]
    ActionOutOfRange {
        /// The action.
        found: usize,
        /// How many there are.
        n_actions: usize,
    },
    /// The reward is NaN, infinite, or beyond what an `f32` holds.
    #[error("reward is {found}, expected a finite number between -3.4e38 and 3.4e38")]
    RewardOutOfRange {
        /// The reward.
        found: f64,
    },
    /// The mask of allowed actions is too short or too long.
    #[error("the mask of allowed actions has {found} entries, expected {n_actions}, one for each action")]
    AllowedLength {
        /// Entries of the mask.
        found: usize,
        /// How many actions there are.
        n_actions: usize,
    },
    /// The mask allows no action, or none that is available.
    #[error("{}", nothing_allowed(*n_actions, *n_retired))]
    NothingAllowed {
        /// How many actions there are.
        n_actions: usize,
        /// How many of them are retired.
        n_retired: usize,
    },
    /// A slice for results has the wrong length.
    #[error("the slice for {what} has length {found}, expected {expected}")]
    ResultLength {
        /// What goes into it.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that is needed.
        expected: usize,
    },
    /// One of many requests or outcomes was invalid, or failed.
    #[error("{what} {index}: {cause}")]
    OneOfMany {
        /// Request or outcome.
        what: &'static str,
        /// Its place, from 0.
        index: usize,
        /// What was wrong with it.
        cause: Error,
    },
    /// The weight of an outcome is too small, too large or NaN.
    #[error(
        "weight is {found}, expected a number from {least} to {most}",
        least = crate::Outcome::MIN_WEIGHT,
        most = crate::Outcome::MAX_WEIGHT
    )]
    WeightOutOfRange {
        /// The weight.
        found: f64,
    },
    /// The policy cannot learn from weighted outcomes.
    #[error("policy `{policy}` does not support weights; found weight {found}, expected 1")]
    NoWeights {
        /// The policy.
        policy: String,
        /// The weight.
        found: f64,
    },
    /// The policy has no reward model.
    #[error("policy `{policy}` has no reward model to sample from")]
    NoRewards {
        /// The policy.
        policy: String,
    },
    /// The policy does not support a call.
    #[error("policy `{policy}` cannot {}; {}", what.0, what.1)]
    Unsupported {
        /// The policy.
        policy: String,
        /// What it cannot do, and what to do instead.
        what: (&'static str, &'static str),
    },
    /// The text does not name a policy: `id[@preset][key=value,…]` was expected.
    #[error(
        "policy `{text}`: {problem}; expected `id`, `id@preset`, `id[key=value,…]` or `id@preset[key=value,…]`"
    )]
    PolicySyntax {
        /// The whole text.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No policy has this id.
    #[error("no policy is called `{id}`{hint}; there are {known}")]
    UnknownPolicy {
        /// The requested id.
        id: String,
        /// An id that may have been meant.
        hint: String,
        /// The ids that exist.
        known: String,
    },
    /// The policy has no preset of this name.
    #[error("policy `{id}` has no preset `{preset}`{hint}; it has {known}")]
    UnknownPreset {
        /// The policy.
        id: String,
        /// The requested preset.
        preset: String,
        /// A preset that may have been meant.
        hint: String,
        /// The presets that exist.
        known: String,
    },
    /// The policy has no setting of this name.
    #[error("policy `{id}` has no setting `{key}`{hint}; it has {known}")]
    UnknownKey {
        /// The policy.
        id: String,
        /// The requested setting.
        key: String,
        /// A setting that may have been meant.
        hint: String,
        /// The settings that exist.
        known: String,
    },
    /// Records cannot hold the name of a policy that the caller adds.
    #[error("your policy cannot be called `{name}`: {problem}; give it another name")]
    ExternalName {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A setting has the wrong type or is out of range.
    #[error("policy `{id}`: `{key}` is `{value}`, expected {expected}")]
    InvalidSetting {
        /// The policy.
        id: String,
        /// The setting.
        key: String,
        /// Its value.
        value: String,
        /// Type and range.
        expected: String,
    },
    /// Numbers overflowed or became NaN inside the policy.
    #[error("{place} gave {found} in round {round}; the policy did not act on it")]
    Numeric {
        /// Which computation.
        place: String,
        /// What came out.
        found: f64,
        /// The round of the request or outcome.
        round: u64,
    },
    /// Training diverged.
    #[error(
        "{place} gave {found} in round {round}; the model was restored to its state before this round of training"
    )]
    Diverged {
        /// Which computation.
        place: String,
        /// What came out.
        found: f64,
        /// The round of the outcome.
        round: u64,
    },
    /// A decider chose an action that does not exist or is not allowed, or reported an invalid probability.
    #[error(
        "policy `{policy}` chose action {action} with {propensity:?} propensity; expected an allowed action from 0 to {}, and a probability \
         above 0 and at most 1",
        n_actions - 1
    )]
    InvalidChoice {
        /// The policy.
        policy: String,
        /// The action.
        action: usize,
        /// The probability that the decider reported.
        propensity: crate::Propensity,
        /// How many actions there are.
        n_actions: usize,
    },
    /// A decider's probabilities are not valid.
    #[error(
        "policy `{policy}` gave action {action} the probability {found}, and all actions a sum of {total}; expected numbers from 0 to 1 that \
         add up to 1, and 0 for actions that are not allowed"
    )]
    InvalidDistribution {
        /// The policy.
        policy: String,
        /// The action.
        action: usize,
        /// Its probability.
        found: f64,
        /// The sum of all.
        total: f64,
    },
    /// The bytes are not a saved policy at all.
    #[error("not a saved policy: expected a file that begins with `LOCUSPOL`, found {found}")]
    NotASavedPolicy {
        /// How the bytes begin.
        found: String,
    },
    /// The policy was saved by a newer Locus.
    #[error(
        "the policy was saved in format {found}, but this version of locus reads formats up to {newest}; load it with a newer version"
    )]
    FutureFormat {
        /// The format of the file.
        found: u32,
        /// The newest format that is understood.
        newest: u32,
    },
    /// This version does not know the saved policy.
    #[error(
        "the saved policy `{policy}` is unknown here: {cause}; perhaps a newer version of locus saved it"
    )]
    UnknownSavedPolicy {
        /// Its full text.
        policy: String,
        /// What is unknown about it.
        cause: Error,
    },
    /// The saved policy is cut short, was altered, or contradicts itself.
    #[error("the saved policy is damaged: {problem}; load another copy of it")]
    DamagedPolicy {
        /// What is wrong.
        problem: String,
    },
    /// A setting or preset that existed while `locus` was developed, and was removed.
    #[error("policy `{id}`: {what} was removed; the tag `locus-search` (commit 8922e91) still has it")]
    Removed {
        /// The policy.
        id: String,
        /// The setting with its value, or the preset.
        what: String,
    },
    /// A policy of another crate failed.
    #[error("{0}")]
    Policy(#[source] Box<dyn StdError + Send + Sync>),
    /// A saved policy has a setting or preset that no longer exists.
    #[error("{cause}")]
    RemovedInFile {
        /// Which.
        cause: Error,
    },
}

/// Why no action is left for a request.
fn nothing_allowed(n_actions: usize, n_retired: usize) -> String {
    let n_available = n_actions - n_retired;
    match (n_retired, n_available) {
        (0, _) => format!("the request allows none of the {n_actions} actions; allow at least one"),
        (_, 0) => {
            format!("all {n_actions} actions are retired; restore one with `restore_action`, or add one")
        }
        _ => format!(
            "the request allows none of the {n_available} available actions ({n_retired} of {n_actions} are retired); allow one, or \
             restore one that it allows"
        ),
    }
}

impl Error {
    /// For [`Learner::check`](crate::Learner::check): a setting that is incompatible with the shape or another setting.
    ///
    /// `expected` completes the sentence "`key` is `value`, expected …".
    pub fn invalid_setting(key: &str, value: impl fmt::Display, expected: impl fmt::Display) -> Self {
        let (id, key) = (String::new(), key.to_owned());
        Kind::InvalidSetting { id, key, value: value.to_string(), expected: expected.to_string() }.into()
    }

    /// For policies of other crates: wraps their own error. See [`Error::is_policy`] and `source`.
    pub fn policy(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Kind::Policy(cause.into()).into()
    }

    /// The request or outcome was invalid; the next one may be valid.
    pub fn is_invalid_input(&self) -> bool {
        matches!(
            *self.0,
            Kind::ContextLength { .. }
                | Kind::NonFiniteFeature { .. }
                | Kind::ActionOutOfRange { .. }
                | Kind::RewardOutOfRange { .. }
                | Kind::AllowedLength { .. }
                | Kind::NothingAllowed { .. }
                | Kind::ResultLength { .. }
                | Kind::WeightOutOfRange { .. }
                | Kind::NoWeights { .. }
                | Kind::MissingCandidates { .. }
                | Kind::UnexpectedCandidates { .. }
                | Kind::CandidatesLength { .. }
                | Kind::TooManyCandidates { .. }
                | Kind::NonFiniteCandidate { .. }
                | Kind::MissingActionFeatures { .. }
                | Kind::UnexpectedActionFeatures { .. }
                | Kind::ActionFeaturesLength { .. }
                | Kind::NonFiniteActionFeature { .. }
                | Kind::RowLength { .. }
        ) || self.of_one().is_some_and(Self::is_invalid_input)
    }

    /// The error of the one request or outcome of many that failed.
    fn of_one(&self) -> Option<&Self> {
        match &*self.0 {
            Kind::OneOfMany { cause, .. } => Some(cause),
            _ => None,
        }
    }

    /// The index of the request or outcome that failed; `None` if the call had only one.
    pub fn index(&self) -> Option<usize> {
        match *self.0 {
            Kind::OneOfMany { index, .. } => Some(index),
            _ => None,
        }
    }

    /// The policy's text, settings or shape were invalid.
    pub fn is_invalid_config(&self) -> bool {
        matches!(
            *self.0,
            Kind::ShapeOutOfRange { .. }
                | Kind::DescribedOutOfRange { .. }
                | Kind::NotDescribed { .. }
                | Kind::PolicySyntax { .. }
                | Kind::UnknownPolicy { .. }
                | Kind::UnknownPreset { .. }
                | Kind::UnknownKey { .. }
                | Kind::InvalidSetting { .. }
                | Kind::ExternalName { .. }
                | Kind::Removed { .. }
        )
    }

    /// No policy, preset or setting has the name that was given.
    pub fn is_not_found(&self) -> bool {
        matches!(
            *self.0,
            Kind::UnknownPolicy { .. }
                | Kind::UnknownPreset { .. }
                | Kind::UnknownKey { .. }
                | Kind::Removed { .. }
        )
    }

    /// The policy has no reward model, which the call needs.
    pub fn is_no_rewards(&self) -> bool {
        matches!(*self.0, Kind::NoRewards { .. })
    }

    /// The policy does not support the call, such as adding actions.
    pub fn is_unsupported(&self) -> bool {
        matches!(*self.0, Kind::Unsupported { .. })
    }

    /// A numerical error inside the policy: a number overflowed or became NaN.
    pub fn is_numeric(&self) -> bool {
        matches!(*self.0, Kind::Numeric { .. } | Kind::Diverged { .. })
            || self.of_one().is_some_and(Self::is_numeric)
    }

    /// The saved policy could not be read.
    pub fn is_invalid_file(&self) -> bool {
        matches!(
            *self.0,
            Kind::NotASavedPolicy { .. }
                | Kind::FutureFormat { .. }
                | Kind::UnknownSavedPolicy { .. }
                | Kind::DamagedPolicy { .. }
                | Kind::RemovedInFile { .. }
        )
    }

    /// A policy of another crate failed with its own error, or returned an invalid choice or distribution.
    pub fn is_policy(&self) -> bool {
        matches!(*self.0, Kind::Policy { .. } | Kind::InvalidChoice { .. } | Kind::InvalidDistribution { .. })
            || self.of_one().is_some_and(Self::is_policy)
    }

    /// The kind, for tests.
    #[cfg(test)]
    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }

    /// A record or a saved policy names a setting or preset that no longer exists.
    pub fn is_removed(&self) -> bool {
        matches!(*self.0, Kind::Removed { .. } | Kind::RemovedInFile { .. })
    }

    /// Wraps the error with the index of the request.
    pub(crate) fn of_request(self, index: usize) -> Self {
        Kind::OneOfMany { what: "request", index, cause: self }.into()
    }

    /// Wraps the error with the index of the outcome.
    pub(crate) fn of_outcome(self, index: usize) -> Self {
        Kind::OneOfMany { what: "outcome", index, cause: self }.into()
    }

    /// Adds the policy's id to the error.
    pub(crate) fn of_policy(mut self, policy: &str) -> Self {
        if let Kind::InvalidSetting { id, .. } | Kind::Unsupported { policy: id, .. } = &mut *self.0 {
            policy.clone_into(id);
        }
        self
    }
}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self(Box::new(kind))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}
