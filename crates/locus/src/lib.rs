//! Contextual bandits.

mod error;
mod interaction;
pub mod policy;
mod rng;
mod seed;
mod shape;

pub use error::Error;
pub use interaction::{Choice, Outcome, Propensity, Request};
pub use policy::{Choose, FitReport, Policy, PolicySpec};
pub use rng::Rng;
pub use seed::Seed;
pub use shape::Shape;
