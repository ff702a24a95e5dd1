//! How a policy behaves around its learner.

use crate::registry::settings::AgentConfig;

/// How a policy behaves around its [`Learner`](crate::Learner): initial pulls, and when it trains on what.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(crate) agent: AgentConfig,
    pub(crate) training: Option<Training>,
    pub(crate) propensity_draws: usize,
}

/// As many draws estimate a probability to within 0.04, two standard errors.
const PROPENSITY_DRAWS: usize = 128;

impl Plan {
    /// A model that learns from each outcome at once. No replay is kept.
    pub fn untrained(agent: &AgentConfig) -> Self {
        Self { agent: agent.clone(), training: None, propensity_draws: PROPENSITY_DRAWS }
    }

    /// A model that is trained every so many outcomes (0 counts as 1), on the last `replay_capacity` of them or on all.
    pub fn trained(agent: &AgentConfig, every: u32, replay_capacity: Option<usize>) -> Self {
        let training = Some(Training { every: every.max(1), replay_capacity });
        Self { training, ..Self::untrained(agent) }
    }

    /// The same with so many draws in [`Decider::distribution`](crate::Decider::distribution), at least 1; without it 128.
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
    /// How many of the last observations are kept to train on; `None` keeps all.
    pub(crate) replay_capacity: Option<usize>,
}
