//! Problems of the benchmark as Python objects.

use std::path::PathBuf;

use locus::{PolicySpec, Seed, Shape};
use locus_bench::problem::{
    CsvOptions, Loaded, MissingValues, Usage, from_labels, from_rounds, load, load_csv, load_npz,
    parse_delimiter,
};
use locus_bench::trial::{TrialId, sequence_seed};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Array, Rows, invalid, numbers, show};
use crate::errors::{of_bench, of_policy};

/// A problem, loaded and ready for trials.
#[pyclass(frozen, module = "locus_bandits._core")]
pub(crate) struct ProblemBase {
    pub(crate) loaded: Loaded,
}

/// Contexts (T, C), rewards of every action (T, A), and what the regret of each round is measured against (T,).
type Rounds<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl ProblemBase {
    /// The built-in problem of this name; its file, if it needs one, is looked for in the folder `data`.
    #[staticmethod]
    fn _load(py: Python<'_>, name: &str, data: Option<PathBuf>) -> PyResult<Self> {
        py.detach(|| load(name, data.as_deref())).map(|loaded| Self { loaded }).map_err(of_bench)
    }

    /// Contexts (T, C), rewards (T, A) and perhaps the best expected reward of each round (T,).
    #[staticmethod]
    fn _from_rounds(
        name: &str,
        contexts: &Bound<'_, PyAny>,
        rewards: &Bound<'_, PyAny>,
        optimal: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = contexts.py();
        let contexts = Rows::many(contexts)?;
        let rewards = numbers(rewards, "array of rewards")?;
        let n_actions = match rewards.shape[..] {
            [n_rows, n_actions] if n_rows == contexts.n_rows => n_actions,
            _ => {
                return invalid(format!(
                    "the array of rewards has shape {}, expected ({}, actions): one reward for each action of each context",
                    show(&rewards.shape),
                    contexts.n_rows
                ));
            }
        };
        let optimal = match optimal {
            Some(optimal) => {
                if optimal
                    .getattr("dtype")
                    .and_then(|dtype| dtype.getattr("kind")?.extract::<String>())
                    .is_ok_and(|kind| "iub".contains(&kind))
                {
                    return invalid(
                        "`optimal` holds integers, expected floats: it is the best expected reward of each round, not the index of the best action"
                            .to_owned(),
                    );
                }
                let Array { values, shape } = numbers(optimal, "array `optimal`")?;
                if shape != [contexts.n_rows] {
                    return invalid(format!(
                        "`optimal` has shape {}, expected ({},)",
                        show(&shape),
                        contexts.n_rows
                    ));
                }
                Some(values)
            }
            None => None,
        };
        let shape = Shape::new(contexts.n_features, n_actions);
        let (contexts, rewards) = (contexts.values, rewards.values);
        let loaded = py.detach(|| from_rounds(name, shape, contexts, rewards, optimal)).map_err(of_bench)?;
        Ok(Self { loaded })
    }

    /// Features (N, C) and the label of each row.
    #[staticmethod]
    fn _from_labels(name: &str, features: &Bound<'_, PyAny>, labels: Vec<String>) -> PyResult<Self> {
        let Array { values, shape } = numbers(features, "array of features")?;
        let [n_rows, n_features] = shape[..] else {
            return invalid(format!(
                "the array of features has shape {}, expected two dimensions: rows, features",
                show(&shape)
            ));
        };
        if n_rows != labels.len() {
            return invalid(format!("there are {} labels for {n_rows} rows of features", labels.len()));
        }
        let loaded = features.py().detach(|| from_labels(name, n_features, &values, &labels));
        loaded.map(|loaded| Self { loaded }).map_err(of_bench)
    }

    /// A CSV file with a header, and its column of labels.
    #[staticmethod]
    #[pyo3(signature = (path, label, ignore, categorical, numeric, missing, delimiter))]
    #[allow(clippy::too_many_arguments, reason = "the options of the command, one by one")]
    fn _from_csv(
        py: Python<'_>,
        path: PathBuf,
        label: &str,
        ignore: Vec<String>,
        categorical: Vec<String>,
        numeric: Vec<String>,
        missing: &str,
        delimiter: &str,
    ) -> PyResult<Self> {
        let Some(missing) = MissingValues::ALL.into_iter().find(|value| value.name() == missing) else {
            let known = MissingValues::ALL.map(MissingValues::name).join(", ");
            return invalid(format!("`missing` is `{missing}`, expected one of {known}"));
        };
        let delimiter = parse_delimiter(delimiter).or_else(invalid)?;
        let options = CsvOptions { ignore, categorical, numeric, missing, delimiter };
        let loaded = py.detach(|| load_csv(&path, label, &options)).map_err(of_bench)?;
        Ok(Self { loaded })
    }

    /// An NPZ file with the arrays `contexts`, `rewards` and perhaps `optimal`.
    #[staticmethod]
    fn _from_npz(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| load_npz(&path)).map(|loaded| Self { loaded }).map_err(of_bench)
    }

    /// The name of the problem in records and tables.
    #[getter]
    fn name(&self) -> &str {
        self.loaded.problem.name()
    }

    /// The number of features of a context.
    #[getter]
    fn n_features(&self) -> usize {
        self.loaded.problem.shape().n_features
    }

    /// The number of actions; 0 if actions have features.
    #[getter]
    fn n_actions(&self) -> usize {
        self.loaded.problem.shape().n_actions
    }

    /// The number of features of an action; 0 if actions are only numbered.
    #[getter]
    fn n_action_features(&self) -> usize {
        self.loaded.problem.shape().n_action_features
    }

    /// The most steps that a trial can have; None where rounds are generated.
    #[getter]
    fn max_steps(&self) -> Option<usize> {
        self.loaded.problem.max_steps()
    }

    /// Warnings about the data: dropped rows, ignored columns.
    #[getter]
    fn notes(&self) -> Vec<String> {
        let mut notes = self.loaded.notes.clone();
        let Some(schema) = &self.loaded.schema else { return notes };
        if schema.rows_dropped > 0 {
            notes.push(format!(
                "{}: dropped {} of {} rows, in which a value is missing; missing=\"median\" keeps those with a label",
                self.name(),
                schema.rows_dropped,
                schema.rows_read
            ));
        }
        let ignored = schema.columns.iter().filter(|column| !column.is_forced);
        let ignored = ignored.filter_map(|column| match column.usage {
            Usage::Ignored(reason) => Some(format!("{} ({})", column.name, reason.name())),
            _ => None,
        });
        let ignored: Vec<String> = ignored.collect();
        if !ignored.is_empty() {
            notes.push(format!(
                "{}: ignored {}; categorical= or numeric= forces a column",
                self.name(),
                ignored.join(", ")
            ));
        }
        notes
    }

    /// The rounds of a trial: contexts (T, C), rewards of every action (T, A) and the best reward of each round (T,).
    ///
    /// They are the rounds that ``bench`` plays for the same seed and number of the trial.
    #[pyo3(signature = (steps=2000, *, seed=0, trial=0))]
    fn rounds<'py>(&self, py: Python<'py>, steps: usize, seed: u64, trial: usize) -> PyResult<Rounds<'py>> {
        let problem = &self.loaded.problem;
        let seed = sequence_seed(Seed::new(seed), problem.name(), trial);
        let sequence = py.detach(|| problem.sequence(steps, seed)).map_err(of_bench)?;
        sequence_arrays(py, &sequence)
    }

    /// The features of every candidate in the same rounds (T, K, F), if actions have features.
    #[pyo3(signature = (steps=2000, *, seed=0, trial=0))]
    fn candidates<'py>(
        &self,
        py: Python<'py>,
        steps: usize,
        seed: u64,
        trial: usize,
    ) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let problem = &self.loaded.problem;
        let Shape { n_action_features, .. } = problem.shape();
        if n_action_features == 0 {
            return invalid(format!("the actions of `{}` have no features, only numbers", self.name()));
        }
        let seed = sequence_seed(Seed::new(seed), problem.name(), trial);
        let sequence = py.detach(|| problem.sequence(steps, seed)).map_err(of_bench)?;
        let all: Vec<f32> =
            sequence.rounds().filter_map(|round| round.candidates).flatten().copied().collect();
        all.into_pyarray(py).reshape([sequence.len(), sequence.n_choices(), n_action_features])
    }

    /// The seed that ``bench`` gives a policy of ours in a trial.
    #[pyo3(signature = (policy, *, seed=0, trial=0))]
    fn policy_seed(&self, policy: &str, seed: u64, trial: usize) -> PyResult<u64> {
        let policy: PolicySpec = policy.parse().map_err(of_policy)?;
        let id = TrialId { problem: self.name().to_owned(), policy: policy.to_string(), trial };
        Ok(id.policy_seed(Seed::new(seed)).number())
    }

    fn __repr__(&self) -> String {
        let Shape { n_features, n_actions, n_action_features, .. } = self.loaded.problem.shape();
        let actions = match n_action_features {
            0 => format!("{n_actions} actions"),
            n => format!("actions with {n} features"),
        };
        format!("<problem {}: {n_features} features, {actions}>", self.name())
    }
}

/// The arrays of a sequence.
pub(crate) fn sequence_arrays<'py>(
    py: Python<'py>,
    sequence: &locus_bench::problem::Sequence,
) -> PyResult<Rounds<'py>> {
    let (steps, Shape { n_features, .. }) = (sequence.len(), sequence.shape());
    let n_actions = sequence.n_choices();
    let mut contexts = Vec::with_capacity(steps * n_features);
    let mut rewards = Vec::with_capacity(steps * n_actions);
    let mut best = Vec::with_capacity(steps);
    for round in sequence.rounds() {
        contexts.extend_from_slice(round.context);
        rewards.extend_from_slice(round.rewards);
        best.push(round.best_reward);
    }
    Ok((
        contexts.into_pyarray(py).reshape([steps, n_features])?,
        rewards.into_pyarray(py).reshape([steps, n_actions])?,
        best.into_pyarray(py),
    ))
}
