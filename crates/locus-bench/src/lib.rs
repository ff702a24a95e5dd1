//! How good is it? Problems, trials, records and summaries of the benchmark.
#![forbid(unsafe_code)]

pub mod data;
mod error;
pub mod problem;

pub use error::Error;
