//! Policies whose uncertainty lies in the weights of a net.

pub mod bbb;
pub mod fbnn;
pub mod pi_ts_dgf;
