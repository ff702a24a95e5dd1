//! Contextual bandits.

mod error;
mod interaction;
mod rng;
mod seed;
mod shape;

pub use error::Error;
pub use interaction::{Choice, Outcome, Propensity, Request};
pub use rng::Rng;
pub use seed::Seed;
pub use shape::Shape;
