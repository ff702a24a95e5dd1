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

pub mod agent;
pub mod decision;
mod error;
pub mod math;
pub mod model;
pub mod random;
pub mod registry;

pub use agent::{Choose, FitReport, Policy};
pub use decision::{Choice, Outcome, Propensity, Request, Shape};
pub use error::Error;
pub use random::{Rng, Seed};
pub use registry::spec::PolicySpec;
pub use registry::{PolicyInfo, SettingInfo, load, policies};

/// The version, and after a `+` a checksum of the library's sources: two builds of the same name compute the same numbers on the same
/// kind of processor.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("LOCUS_SOURCES"));

/// The example in README.md, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
