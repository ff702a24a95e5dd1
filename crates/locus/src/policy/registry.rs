//! A policy by name. Only `uniform` acts as it is called so far; `lin-full-post` is parsed and built as it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Choose, FitReport, Policy};
use crate::{Choice, Error, Outcome, Propensity, Request, Seed, Shape};

/// A policy with all its settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicySpec {
    id: String,
    canonical: String,
}

impl PolicySpec {
    /// A list of policies, split on commas outside of brackets.
    pub fn list(text: &str) -> Result<Vec<Self>, Error> {
        let mut depth = 0;
        text.split(|letter| {
            depth += i32::from(letter == '[') - i32::from(letter == ']');
            letter == ',' && depth == 0
        })
        .map(str::parse)
        .collect()
    }

    /// The id without preset and settings.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Every setting spelled out.
    pub fn full(&self) -> String {
        match (self.id.as_str(), self.canonical.contains('[')) {
            ("lin-full-post", false) => "lin-full-post[prior_precision=0.25]".to_owned(),
            _ => self.canonical.clone(),
        }
    }

    /// A new policy.
    pub fn build(&self, shape: Shape, seed: Seed) -> Result<Box<dyn Policy>, Error> {
        shape.check()?;
        Ok(Box::new(Uniform { name: self.canonical.clone(), shape, seed }))
    }
}

impl FromStr for PolicySpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let (id, settings) = match text.split_once('[') {
            Some((id, rest)) => (id, rest.strip_suffix(']')),
            None => (text, None),
        };
        if !["uniform", "lin-full-post"].contains(&id) {
            return Err(Error::UnknownPolicy {
                id: id.to_owned(),
                known: "uniform, lin-full-post".to_owned(),
            });
        }
        if settings.is_some_and(|settings| !settings.starts_with("prior_precision=")) {
            return Err(Error::UnknownKey {
                id: id.to_owned(),
                key: settings.unwrap_or_default().to_owned(),
                known: "prior_precision".to_owned(),
            });
        }
        Ok(Self { id: id.to_owned(), canonical: text.to_owned() })
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.canonical)
    }
}

#[derive(Clone)]
struct Uniform {
    name: String,
    shape: Shape,
    seed: Seed,
}

impl Choose for Uniform {
    fn name(&self) -> &str {
        &self.name
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn choose(&self, request: Request<'_>) -> Result<Choice, Error> {
        self.shape.check_context(request.context)?;
        let action = self.seed.stream("choose", request.round).below(self.shape.n_actions);
        Ok(Choice { action, propensity: Propensity::Exact(1.0 / self.shape.n_actions as f64) })
    }
}

impl Policy for Uniform {
    fn learn(&mut self, outcome: Outcome<'_>) -> Result<FitReport, Error> {
        outcome.check(self.shape)?;
        Ok(FitReport::default())
    }

    fn snapshot(&self) -> Arc<dyn Choose> {
        Arc::new(self.clone())
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
}
