//! The binary `locus` as its users meet it: words in; exit code, both outputs and files out.

// The lint knows test functions, but not their helpers.
#![allow(clippy::unwrap_used)]

mod harness;
#[path = "../../../locus-bench/src/data/fetch/tests/server.rs"]
mod server;
#[cfg(target_os = "linux")]
mod terminal;

mod bench;
mod chance;
mod dry_run;
mod evidence;
mod explore;
mod failing;
mod fetch;
mod interrupted;
mod interventions;
mod listings;
#[cfg(target_os = "linux")]
mod live;
mod merge;
mod old_run;
mod outputs;
mod own_csv;
mod own_npz;
mod plan;
mod propensities;
mod refused;
mod refused_data;
mod report;
mod shards;
mod status;
mod table;
