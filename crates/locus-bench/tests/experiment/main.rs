//! Whole experiments in temporary folders, with a problem and policies that exist only here.
#![allow(clippy::unwrap_used)] // Clippy takes only the `#[test]` functions themselves for tests.

mod added;
mod chance;
mod described;
mod external;
mod failures;
mod fakes;
mod propensities;
mod resume;
mod shards;
mod threads;
