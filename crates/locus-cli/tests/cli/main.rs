//! The binary `locus` as its users meet it: words in; exit code, both outputs and files out.

// The lint knows test functions, but not their helpers.
#![allow(clippy::unwrap_used)]

mod harness;

mod bench;
mod chance;
mod dry_run;
mod explore;
mod failing;
mod interrupted;
mod listings;
mod outputs;
mod own_csv;
mod own_npz;
mod refused;
mod refused_data;
mod report;
mod table;
