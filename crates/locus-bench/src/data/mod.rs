//! Reading and writing data files.

pub mod npy;
