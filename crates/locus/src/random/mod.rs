//! The seed, its named streams, and the distributions that they sample.

#[cfg(test)]
pub(crate) mod kolmogorov;
mod rng;
mod seed;

pub use rng::Rng;
pub use seed::Seed;
