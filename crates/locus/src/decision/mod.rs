//! What passes between a policy and its caller: a request, a choice and, sooner or later, an outcome.
//!
//! All of these can gain fields without breaking callers: they are built by constructors and read by field.

mod choice;
mod outcome;
mod request;
mod shape;

pub use choice::{Choice, Propensity};
pub use outcome::Outcome;
pub use request::Request;
pub use shape::Shape;
