//! Uniformly random actions: the baseline that regret is normalized by.

use crate::agent::{Breakdown, Decider, JointRows, Learner, Plan, Scratch, WeightDraws};
use crate::registry::Definition;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::{AgentConfig, config};
use crate::{Choice, Error, Request, Rng, Seed, Shape};

config! {
    /// Settings of Uniform.
    pub struct UniformConfig {
        ..agent: AgentConfig = AgentConfig::default().initial_pulls(0);
    }
}

pub(crate) fn definition() -> Definition<UniformConfig> {
    let summary = "Uniformly random actions; the baseline that regret is normalized by";
    Definition::of::<Uniform>("uniform", summary).presets([("benchmark", UniformConfig::default())])
}

buildable!(UniformConfig => Uniform);

/// Chooses every allowed action with the same probability, and learns nothing.
#[derive(Clone, Debug)]
pub(crate) struct Uniform;

impl Decider for Uniform {
    const HAS_REWARDS: bool = false;
    const KNOWS_PROPENSITIES: bool = true;

    fn draw(
        &self,
        _contexts: &[&[f32]],
        _rng: &mut Rng,
        _scratch: &mut Scratch,
        _rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        unreachable!("there is no reward model")
    }

    fn choose(
        &self,
        request: Request<'_>,
        n_actions: usize,
        rng: &mut Rng,
        _scratch: &mut Scratch,
    ) -> Result<Choice, Breakdown> {
        let n = request.n_allowed(n_actions);
        let action = request.nth_allowed(rng.below(n));
        Ok(Choice::new(action).with_propensity(1.0 / n as f64))
    }

    fn distribution(
        &self,
        request: Request<'_>,
        _n_draws: usize,
        _rng: &mut Rng,
        _scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        let share = 1.0 / request.n_allowed(probabilities.len()) as f64;
        for (action, probability) in probabilities.iter_mut().enumerate() {
            *probability = if request.allows(action) { share } else { 0.0 };
        }
        Ok(())
    }

    const HEEDS_CANDIDATES: bool = true;

    fn distribution_of_candidates(
        &self,
        request: Request<'_>,
        _rows: JointRows<'_>,
        _draws: &WeightDraws,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.distribution(request, 1, rng, scratch, probabilities)
    }
}

impl Learner for Uniform {
    type Config = UniformConfig;
    type Decider = Self;
    const HEEDS_WEIGHTS: bool = true;

    fn plan(config: &UniformConfig) -> Plan {
        Plan::untrained(&config.agent)
    }

    fn new(_config: &UniformConfig, _shape: Shape, _seed: Seed) -> Self {
        Self
    }

    fn decider(&self) -> &Self {
        self
    }

    fn add_action(&mut self, _config: &UniformConfig, _shape: Shape, _rng: &mut Rng) -> Result<(), Error> {
        Ok(())
    }

    fn encode(&self, _encoder: &mut Encoder) {}

    fn decode(_config: &UniformConfig, _shape: Shape, _decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Self)
    }
}
