//! The policies, one folder a family.

pub mod gp;
pub mod linear;
pub mod lu;
pub mod mixture;
pub mod net;
mod training;
pub mod uniform;
pub mod weights;
