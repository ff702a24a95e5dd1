//! The same calls without Python around them, for `benchmarks/overhead.py`.

use std::hint::black_box;
use std::time::Instant;

use locus::Request;
use pyo3::prelude::*;

use crate::arrays::Rows;
use crate::policy::PolicyBase;

/// Seconds that it takes to decide for the rows one by one, in rounds from `first`.
#[pyfunction]
#[allow(clippy::disallowed_methods, reason = "time itself is measured")]
pub(crate) fn time_choose(
    policy: &Bound<'_, PolicyBase>,
    contexts: &Bound<'_, PyAny>,
    propensity: bool,
    first: u64,
) -> PyResult<f64> {
    let rows = Rows::many(contexts)?;
    policy.get().look(contexts.py(), |policy| {
        let start = Instant::now();
        for index in 0..rows.n_rows {
            let request = Request::new(first + index as u64, rows.row(index));
            let request = if propensity { request.with_propensity() } else { request };
            let _ = black_box(policy.choose(black_box(request)));
        }
        start.elapsed().as_secs_f64()
    })
}

/// Seconds that it takes to decide for all rows in one batch, in rounds from `first`.
#[pyfunction]
#[allow(clippy::disallowed_methods, reason = "time itself is measured")]
pub(crate) fn time_choose_many(
    policy: &Bound<'_, PolicyBase>,
    contexts: &Bound<'_, PyAny>,
    propensity: bool,
    first: u64,
) -> PyResult<f64> {
    let rows = Rows::many(contexts)?;
    policy.get().look(contexts.py(), |policy| {
        let start = Instant::now();
        let request = |index: usize| {
            let request = Request::new(first + index as u64, rows.row(index));
            if propensity { request.with_propensity() } else { request }
        };
        let requests: Vec<Request<'_>> = (0..rows.n_rows).map(request).collect();
        let _ = black_box(policy.choose_many(black_box(&requests)));
        start.elapsed().as_secs_f64()
    })
}
