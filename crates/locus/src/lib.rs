//! Contextual bandits in Rust, built around Thompson sampling via local uncertainty.
#![deny(unsafe_code)]

mod config;
mod error;
mod interaction;
pub mod linear;
pub mod policy;
pub mod replay;
mod rng;
mod save;
mod scratch;
mod seed;
mod shape;

pub use error::Error;
pub use interaction::{Choice, Outcome, Propensity, Request};
pub use policy::registry::{PolicyInfo, SettingInfo, load, policies};
pub use policy::spec::PolicySpec;
pub use policy::{Choose, FitReport, Policy};
pub use rng::Rng;
pub use seed::Seed;
pub use shape::Shape;
