//! Everything that can go wrong in the benchmark, as one type.

/// Why a file, a suite or a run was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {}
