//! When a policy trains its learner, and on what.

use crate::Seed;
use crate::agent::replay::Keep;
use crate::registry::settings::{AgentConfig, ReplayConfig, ScheduleConfig, TrainingMode};
use crate::registry::values::Start;

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

    /// A model that is trained after every `every` outcomes (0 counts as 1), however many there are.
    ///
    /// The replay keeps the last `replay_capacity` outcomes, or all with `None`. [`Plan::on_replay`] keeps the cost flat.
    pub fn trained(agent: &AgentConfig, every: u32, replay_capacity: Option<usize>) -> Self {
        let schedule = ScheduleConfig::default().stretch_after(Start(None));
        let training = Training { every: every.max(1), replay_capacity, replay_bound: None, schedule };
        Self { training: Some(training), ..Self::untrained(agent) }
    }

    /// Keeps the cost flat by the settings of a policy: training becomes rarer as outcomes accumulate, or is left to
    /// [`Policy::train`](crate::Policy::train), and a replay that would keep all outcomes keeps a bounded sample.
    ///
    /// Half of the sample are the latest outcomes, the others a random sample of all earlier ones, weighted to stand for them:
    /// see [`Observation::weight`](crate::Observation::weight).
    #[must_use]
    pub fn on_replay(self, replay: &ReplayConfig) -> Self {
        let mut plan = self.scheduled(&replay.schedule);
        if let Some(training) = &mut plan.training {
            training.replay_bound = replay.replay_bound.0;
        }
        plan
    }

    /// The schedule alone, for a replay that is bounded anyway.
    #[must_use]
    pub(crate) fn scheduled(mut self, schedule: &ScheduleConfig) -> Self {
        if let Some(training) = &mut self.training {
            training.schedule = schedule.clone();
        }
        self
    }

    /// Sets the draws in [`Decider::distribution`](crate::Decider::distribution), at least 1; the default is 128.
    #[must_use]
    pub fn with_propensity_draws(self, n: usize) -> Self {
        Self { propensity_draws: n.max(1), ..self }
    }
}

/// When a model is trained, and on what.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Training {
    /// Outcomes from one round of training to the next, at the start.
    every: u32,
    /// How many of the last observations the replay keeps; `None` leaves it to the bound.
    replay_capacity: Option<usize>,
    replay_bound: Option<usize>,
    schedule: ScheduleConfig,
}

impl Training {
    /// Whether only [`Policy::train`](crate::Policy::train) trains.
    pub(crate) fn is_manual(&self) -> bool {
        self.schedule.training == TrainingMode::Manual
    }

    /// After how many outcomes the next round of training is due, if one was just now, after `n_observed`.
    pub(crate) fn next_after(&self, n_observed: u64, agent: &AgentConfig) -> u64 {
        let every = u64::from(self.every);
        match self.schedule.stretch_after.0.map(u64::from) {
            // What is forgotten must be learned again, so with a half-life training stays as frequent.
            Some(start) if n_observed >= start && agent.half_life.0.is_none() => {
                let stretch = (n_observed as f64 / start as f64).sqrt();
                n_observed.saturating_add((every as f64 * stretch) as u64)
            }
            _ => (n_observed / every).saturating_add(1).saturating_mul(every),
        }
    }

    /// What the replay keeps.
    pub(crate) fn keep(&self, agent: &AgentConfig, seed: Seed) -> Keep {
        Keep { capacity: self.replay_capacity, bound: self.replay_bound, half_life: agent.half_life.0, seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::values::HalfLife;

    fn rounds(plan: &Plan, until: u64) -> Vec<u64> {
        let training = plan.training.as_ref().unwrap();
        let next = |n: &u64| Some(training.next_after(*n, &plan.agent));
        std::iter::successors(next(&0), next).take_while(|n| *n <= until).collect()
    }

    /// Every 20 up to 2000, then every 20·√(n/2000). That is ∫ dn / (20·√(n/2000)) = (√2 − 1)·√(20n) rounds from n to 2n, and a few
    /// more because intervals are whole.
    #[test]
    fn training_becomes_rarer_with_the_root_of_the_number_of_outcomes() {
        let agent = AgentConfig::default();
        let plan = Plan::trained(&agent, 20, None).scheduled(&ScheduleConfig::default());
        let found = rounds(&plan, 1_000_000);
        let expected: Vec<u64> = (1..=101).map(|round| 20 * round).collect();
        assert_eq!(found[..101], expected);
        for n in [4_000, 40_000, 400_000] {
            let n_rounds = found.iter().filter(|round| (n..2 * n).contains(*round)).count();
            let expected = (std::f64::consts::SQRT_2 - 1.0) * (20.0 * f64::from(n as u32)).sqrt();
            assert!(
                (expected - 1.0..expected * 1.01 + 2.0).contains(&f64::from(n_rounds as u32)),
                "{n}: {n_rounds}"
            );
        }
        let every: Vec<u64> = (1..=500).map(|round| 20 * round).collect();
        assert_eq!(rounds(&Plan::trained(&agent, 20, None), 10_000), every);
        let forgetful = Plan { agent: agent.half_life(HalfLife(Some(500.0))), ..plan };
        assert_eq!(rounds(&forgetful, 10_000), every);
    }
}
