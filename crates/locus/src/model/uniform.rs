//! A uniformly random action: what every regret is measured against.

use std::sync::Arc;

use crate::agent::{Choose, FitReport, Policy};
use crate::registry::save;
use crate::registry::settings::config;
use crate::registry::{Definition, Identity, begin_save};
use crate::{Choice, Error, Outcome, Request, Shape};

config! {
    /// Uniform has no settings.
    pub struct UniformConfig {}
}

pub(crate) fn definition() -> Definition<UniformConfig> {
    Definition::custom(
        "uniform",
        "A uniformly random action; what regret is normalized by",
        |_, identity| Ok(Box::new(Uniform::new(identity))),
        |_, identity, _| Ok(Box::new(Uniform::new(identity))),
    )
    .presets([("benchmark", UniformConfig::default())])
}

/// Chooses every action with the same probability, and learns nothing.
#[derive(Clone, Debug)]
struct Uniform {
    identity: Arc<Identity>,
    name: Arc<str>,
}

impl Uniform {
    /// The policy.
    fn new(identity: Identity) -> Self {
        Self { name: identity.spec.to_string().into(), identity: Arc::new(identity) }
    }
}

impl Choose for Uniform {
    fn name(&self) -> &str {
        &self.name
    }

    fn shape(&self) -> Shape {
        self.identity.shape
    }

    fn choose(&self, request: Request<'_>) -> Result<Choice, Error> {
        self.shape().check_context(request.context)?;
        let n_actions = self.shape().n_actions;
        let action = self.identity.seed.stream("choose", request.round).below(n_actions);
        Ok(Choice::new(action).with_propensity(1.0 / n_actions as f64))
    }
}

impl Policy for Uniform {
    fn learn(&mut self, outcome: Outcome<'_>) -> Result<FitReport, Error> {
        outcome.check(self.shape())?;
        Ok(FitReport::default())
    }

    fn snapshot(&self) -> Arc<dyn Choose> {
        Arc::new(self.clone())
    }

    fn save(&self) -> Vec<u8> {
        save::seal(begin_save(&self.identity))
    }
}

impl UniformConfig {
    /// Builds the policy.
    pub fn build(&self, shape: Shape, seed: crate::Seed) -> Result<Box<dyn Policy>, Error> {
        definition().spec(self)?.build(shape, seed)
    }
}
