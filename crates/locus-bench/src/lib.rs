//! The benchmark: problems, trials, records, summaries and reports.
#![forbid(unsafe_code)]

pub mod data;
mod error;
pub mod problem;

pub mod observer;
pub mod trial;

pub mod experiment;
pub mod record;
pub mod suite;

pub mod explore;
pub mod merge;
pub mod paper;
pub mod report;
pub mod shards;
pub mod status;
pub mod summary;

pub use error::Error;
pub use experiment::Experiment;
