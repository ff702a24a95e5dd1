//! Errors of the libraries as Python exceptions, with the same messages.

use std::error::Error as _;
use std::io;

use pyo3::create_exception;
use pyo3::exceptions::{
    PyArithmeticError, PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;

create_exception!(
    locus_bandits,
    NumericError,
    PyArithmeticError,
    "A number overflowed or became NaN inside a policy. The policy did not act on it and keeps its last valid state."
);

/// An error of the policies.
pub(crate) fn of_policy(error: locus::Error) -> PyErr {
    let message = error.to_string();
    if error.is_numeric() {
        NumericError::new_err(message)
    } else if error.is_policy() {
        PyRuntimeError::new_err(message)
    } else {
        PyValueError::new_err(message)
    }
}

/// An error of the benchmark.
pub(crate) fn of_bench(error: locus_bench::Error) -> PyErr {
    let message = error.to_string();
    let is_missing_file = error
        .source()
        .and_then(|cause| cause.downcast_ref::<io::Error>())
        .is_some_and(|cause| cause.kind() == io::ErrorKind::NotFound);
    if error.is_interrupted() {
        PyKeyboardInterrupt::new_err(message)
    } else if is_missing_file || error.is_missing_file() {
        PyFileNotFoundError::new_err(message)
    } else if error.is_io() {
        PyOSError::new_err(message)
    } else if error.is_trial_failed() {
        PyRuntimeError::new_err(message)
    } else {
        PyValueError::new_err(message)
    }
}
