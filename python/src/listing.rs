//! What there is, as data: policies with their settings, and problems.

use locus::Registry;
use locus_bench::problem::INFOS;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Every policy: id, summary, presets and settings.
#[pyfunction]
pub(crate) fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for info in Registry::standard().policies() {
        let settings = PyList::empty(py);
        for setting in &info.settings {
            let entry = PyDict::new(py);
            entry.set_item("key", setting.key)?;
            entry.set_item("doc", setting.doc)?;
            entry.set_item("expected", &setting.expected)?;
            let defaults = PyDict::new(py);
            for (preset, default) in info.presets.iter().zip(&setting.defaults) {
                defaults.set_item(preset, default)?;
            }
            entry.set_item("defaults", defaults)?;
            entry.set_item("source", setting.source)?;
            settings.append(entry)?;
        }
        let entry = PyDict::new(py);
        entry.set_item("id", &info.id)?;
        entry.set_item("summary", &info.summary)?;
        entry.set_item("presets", info.presets)?;
        entry.set_item("settings", settings)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Every built-in problem: id, sizes, what its rewards are, and the file that it needs.
#[pyfunction]
pub(crate) fn problems(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for info in &INFOS {
        let entry = PyDict::new(py);
        entry.set_item("id", info.id)?;
        entry.set_item("n_features", info.shape.n_features)?;
        entry.set_item("n_actions", info.n_choices())?;
        entry.set_item("n_action_features", info.shape.n_action_features)?;
        entry.set_item("rows", info.rows)?;
        entry.set_item("rewards", info.rewards)?;
        entry.set_item("file", info.file())?;
        list.append(entry)?;
    }
    Ok(list)
}
