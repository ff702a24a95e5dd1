//! How do numbers get from a file into memory?
//!
//! Everything is read as a stream, once, and nothing is believed before it was seen: a header that promises a
//! gigabyte allocates nothing until the bytes arrive. [`DataFile`] finds and decompresses, and takes the
//! checksum in passing; `table` turns delimited text into columns; [`npy`] and `npz` read and write numpy's
//! files; [`catalog`] knows the benchmark's own files, [`inspect()`] looks which of them a folder holds, [`fetch`] gets
//! those that it does not, and [`jester`] makes one of them from raw ratings.
//!
//! What the numbers mean is not decided here, but in [`problem`](crate::problem).

mod beside;
mod file;
mod unix_compress;
mod zstd;

pub mod catalog;
pub mod fetch;
pub mod jester;
pub mod npy;
pub(crate) mod npz;
pub(crate) mod table;

mod inspect;

pub use file::{Compression, DataFile, Fingerprint};
pub use inspect::{FileState, FileStatus, inspect};
