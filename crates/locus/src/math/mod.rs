//! Numerical methods, independent of bandits.

pub mod decay;
pub mod draw_wins;
pub mod gp;
pub mod linear;
pub mod matrix;
pub mod nn;
pub mod wins;
