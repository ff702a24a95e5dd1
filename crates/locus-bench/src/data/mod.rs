//! Reading and downloading data files.
//!
//! Everything is read as a stream, once, and lengths are not trusted: a header that claims a gigabyte allocates nothing until the
//! bytes arrive. [`DataFile`] finds and decompresses files, and computes their checksums; `table` turns delimited text into
//! columns; [`npy`] and `npz` read and write numpy's files; [`catalog`] lists the benchmark's files, [`inspect()`] checks which
//! of them a folder holds, [`fetch`] downloads missing ones, and [`jester`] derives one of them from raw ratings.
//!
//! [`problem`](crate::problem) gives the numbers their meaning.

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
