//! When a policy trains its learner, and on what.

use crate::registry::settings::AgentConfig;

/// Initial pulls and training schedule of the policy around a [`Learner`](crate::Learner).
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(crate) agent: AgentConfig,
    pub(crate) training: Option<Training>,
    pub(crate) propensity_draws: usize,
}

/// Enough draws for a standard error of at most 0.044 per probability.
const PROPENSITY_DRAWS: usize = 128;

impl Plan {
    /// A model that learns from each outcome immediately, without a replay.
    pub fn untrained(agent: &AgentConfig) -> Self {
        Self { agent: agent.clone(), training: None, propensity_draws: PROPENSITY_DRAWS }
    }

    /// A model that is trained after every `every` outcomes (0 counts as 1).
    ///
    /// The replay keeps the last `replay_capacity` outcomes, or all with `None`.
    pub fn trained(agent: &AgentConfig, every: u32, replay_capacity: Option<usize>) -> Self {
        let training = Some(Training { every: every.max(1), replay_capacity });
        Self { training, ..Self::untrained(agent) }
    }

    /// Sets the draws in [`Decider::distribution`](crate::Decider::distribution), at least 1; the default is 128.
    #[must_use]
    pub fn with_propensity_draws(self, n: usize) -> Self {
        Self { propensity_draws: n.max(1), ..self }
    }
}

/// When a model is trained, and on what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Training {
    /// Outcomes from one round of training to the next.
    pub(crate) every: u32,
    /// How many of the last observations the replay keeps; `None` keeps all.
    pub(crate) replay_capacity: Option<usize>,
}
