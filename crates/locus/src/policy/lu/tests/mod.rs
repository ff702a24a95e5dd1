//! The LU policies against known answers, finite differences and known distributions.

mod differences;
mod golden;
