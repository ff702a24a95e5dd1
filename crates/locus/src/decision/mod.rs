//! What passes between a policy and its caller.

mod interaction;
mod shape;

pub use interaction::{Choice, Outcome, Propensity, Request};
pub use shape::Shape;
