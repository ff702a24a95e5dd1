//! Contextual bandits, built around Thompson sampling via local uncertainty: how is an action chosen, and learned?
//!
//! A [`Policy`] decides for one [`Request`] after another and learns from each [`Outcome`]. It is built from a
//! [`PolicySpec`], such as `lin-full-post[prior_precision=1]`, a [`Shape`] and a [`Seed`]:
//!
//! ```
//! use locus::{Outcome, PolicySpec, Request, Seed, Shape};
//!
//! let spec: PolicySpec = "lin-full-post".parse()?;
//! let mut policy = spec.build(Shape::new(2, 3), Seed::new(0))?;
//! let context = [0.5, -1.0];
//! let choice = policy.choose(Request { round: 0, context: &context })?;
//! policy.learn(Outcome { round: 0, context: &context, action: choice.action, reward: 1.0 })?;
//! let file: Vec<u8> = policy.save();
//! let resumed = locus::load(&file)?;
//! # Ok::<(), locus::Error>(())
//! ```
//!
//! This crate does no input or output: policies are saved to bytes, and the caller counts rounds and keeps time.
//! The code is mapped in ARCHITECTURE.md, at the root of the repository.
#![deny(unsafe_code)]

mod config;
mod error;
pub mod gp;
mod interaction;
#[cfg(test)]
mod kolmogorov;
pub mod linear;
pub mod matrix;
pub mod nn;
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

/// The version, and after a `+` a checksum of the library's sources: two builds of the same name compute the same numbers on the same
/// kind of processor.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("LOCUS_SOURCES"));

/// The example in README.md, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
