//! The types that a policy and its caller exchange: a request, a choice and, later, an outcome.
//!
//! All of them can gain fields without breaking callers: constructors build them, and callers read fields.

mod choice;
mod outcome;
mod request;
mod shape;

pub use choice::{Choice, Propensity};
pub use outcome::Outcome;
pub use request::Request;
pub use shape::Shape;
