//! The extension module of the Python package: conversions, exceptions and docstrings. Everything else is in the libraries.
#![forbid(unsafe_code)]

mod arrays;
mod bench;
mod chooser;
mod errors;
mod foreign;
mod listing;
mod policy;
mod problem;
mod snapshot;
#[cfg(feature = "timing")]
mod timing;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::bench::{main, play_trial, report, run, suite, table, trials};
    #[pymodule_export]
    use crate::chooser::Decision;
    #[pymodule_export]
    use crate::errors::NumericError;
    #[pymodule_export]
    use crate::listing::{policies, problems};
    #[pymodule_export]
    use crate::policy::{FitReport, PolicyBase, check_seed};
    #[pymodule_export]
    use crate::problem::ProblemBase;
    #[pymodule_export]
    use crate::snapshot::Snapshot;

    #[cfg(feature = "timing")]
    #[pymodule_export]
    use crate::timing::{time_choose, time_choose_many};

    /// The version of the library, and a checksum of its sources.
    #[pymodule_export]
    const BUILD: &str = locus::BUILD;
}
