//! Explore then commit: uniformly random actions for some rounds, then always the action with the best mean reward.

use std::sync::Arc;

use locus::{
    AgentConfig, Breakdown, Decider, Decoder, Definition, Encoder, Error, Learner, Outcome, Plan, Registry,
    Request, Rng, Scratch, Seed, Shape,
};

/// The policies of Locus and this one.
pub fn registry() -> Registry {
    let summary = "Uniformly random actions for some rounds, then the one with the best mean reward";
    let definition = Definition::of::<ExploreThenCommit>("explore-then-commit", summary);
    Registry::standard().with(definition.version(env!("CARGO_PKG_VERSION")))
}

locus::config! {
    /// Settings of explore-then-commit.
    pub struct ExploreThenCommitConfig {
        /// Rounds of uniformly random actions
        explore_rounds: u32 = 200, Range::within(0.0, 1e6), "our choice";
        /// Pseudo-observations of reward 0 in every action's mean
        prior_weight: f64 = 1.0, Range::above(0.0, 1e6), "our choice";
        ..agent: AgentConfig = AgentConfig::default().initial_pulls(0);
    }
}

/// The sum and the number of every action's rewards.
#[derive(Clone)]
struct ExploreThenCommit {
    explore_rounds: u64,
    actions: Arc<Vec<(f64, f64)>>,
}

impl Decider for ExploreThenCommit {
    const KNOWS_PROPENSITIES: bool = true;

    /// The mean rewards, which are deterministic.
    fn draw(
        &self,
        _contexts: &[&[f32]],
        _rng: &mut Rng,
        _scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        for (reward, (sum, n)) in rewards.iter_mut().zip(self.actions.iter().cycle()) {
            *reward = sum / n;
        }
        Ok(())
    }

    fn distribution(
        &self,
        request: Request<'_>,
        _n_draws: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.draw(&[request.context], rng, scratch, probabilities)?;
        let best = request.highest(probabilities)?;
        let n_allowed = (0..probabilities.len()).filter(|&action| request.allows(action)).count();
        let is_exploring = request.round < self.explore_rounds;
        let n_taken = if is_exploring { n_allowed } else { 1 };
        for (action, probability) in probabilities.iter_mut().enumerate() {
            let is_taken = if is_exploring { request.allows(action) } else { action == best };
            *probability = if is_taken { 1.0 / n_taken as f64 } else { 0.0 };
        }
        Ok(())
    }
}

impl Learner for ExploreThenCommit {
    type Config = ExploreThenCommitConfig;
    type Decider = Self;
    const HEEDS_WEIGHTS: bool = true;

    fn plan(config: &ExploreThenCommitConfig) -> Plan {
        Plan::untrained(&config.agent)
    }

    fn new(config: &ExploreThenCommitConfig, shape: Shape, _seed: Seed) -> Self {
        let actions = Arc::new(vec![(0.0, config.prior_weight); shape.n_actions]);
        Self { explore_rounds: config.explore_rounds.into(), actions }
    }

    fn decider(&self) -> &Self {
        self
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        let (sum, n) = &mut Arc::make_mut(&mut self.actions)[outcome.action];
        *sum += outcome.weight * outcome.reward;
        *n += outcome.weight;
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.actions.iter().for_each(|(sum, n)| encoder.f64s(&[*sum, *n]));
    }

    fn decode(
        config: &ExploreThenCommitConfig,
        shape: Shape,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        let mut actions = Vec::new();
        for _ in 0..shape.n_actions {
            actions.push((decoder.f64()?, decoder.f64()?));
        }
        Ok(Self { explore_rounds: config.explore_rounds.into(), actions: Arc::new(actions) })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn keeps_the_contract_of_policies() {
        locus::contract::check(&super::registry(), "explore-then-commit");
        locus::contract::check(&super::registry(), "explore-then-commit[explore_rounds=20,prior_weight=5]");
    }
}
