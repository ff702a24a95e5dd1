//! A uniformly random action: what every regret is measured against.

use std::sync::Arc;

use crate::agent::{Choose, FitReport, Policy};
use crate::registry::save;
use crate::registry::settings::config;
use crate::registry::{Identity, Registered, begin_save};
use crate::{Choice, Error, Outcome, Propensity, Request, Shape};

config! {
    /// Uniform has no settings.
    pub struct UniformConfig {}
}

pub(crate) static REGISTERED: Registered<UniformConfig> = Registered {
    id: "uniform",
    summary: "A uniformly random action; what regret is normalized by",
    presets: &[("benchmark", UniformConfig::default)],
    build: |_, identity| Ok(Box::new(Uniform::new(identity))),
    load: |_, identity, _| Ok(Box::new(Uniform::new(identity))),
};

/// Chooses every action with the same probability, and learns nothing.
#[derive(Clone, Debug)]
pub struct Uniform {
    identity: Identity,
    name: String,
}

impl Uniform {
    /// The policy.
    fn new(identity: Identity) -> Self {
        Self { name: identity.spec.to_string(), identity }
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
        Ok(Choice { action, propensity: Propensity::Exact(1.0 / n_actions as f64) })
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
        let Identity { spec, shape, seed } = &self.identity;
        save::seal(begin_save(spec, *shape, *seed))
    }
}
