//! Snapshots as Python objects.

use std::sync::Arc;

use locus::Choose;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::chooser::{Among, Chooser, Chosen, Decision, Rounds};

/// A frozen copy of a policy, safe to share between threads. It decides and cannot learn.
///
/// ``Policy.snapshot`` makes it. It shares the policy's counter of rounds.
#[pyclass(frozen, module = "locus_bandits")]
pub(crate) struct Snapshot {
    pub(crate) chooser: Arc<dyn Choose>,
    pub(crate) rounds: Rounds,
}

impl Chooser for Snapshot {
    fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&dyn Choose) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| body(&*self.chooser))
    }
}

#[pymethods]
impl Snapshot {
    /// The policy in canonical form.
    #[getter]
    fn name(&self) -> &str {
        self.chooser.name()
    }

    /// The number of features of a context.
    #[getter]
    fn n_features(&self) -> usize {
        self.chooser.shape().n_features
    }

    /// The number of actions; 0 if actions have features.
    #[getter]
    fn n_actions(&self) -> usize {
        self.chooser.shape().n_actions
    }

    /// The number of features of an action; 0 if actions are only numbered.
    #[getter]
    fn n_action_features(&self) -> usize {
        self.chooser.shape().n_action_features
    }

    /// The round of the next decision. The policy and its snapshots share this counter.
    #[getter]
    fn next_round(&self) -> u64 {
        self.rounds.next()
    }

    /// Decides for one context, as ``Policy.choose`` does.
    #[pyo3(signature = (x, *, allowed=None, candidates=None, propensity=true, round=None))]
    fn choose(
        &self,
        x: &Bound<'_, PyAny>,
        allowed: Option<&Bound<'_, PyAny>>,
        candidates: Option<&Bound<'_, PyAny>>,
        propensity: bool,
        round: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decision> {
        self.decide_one(x, Among { allowed, candidates }, propensity, round)
    }

    /// Decides for many contexts, as ``Policy.choose_many`` does.
    #[pyo3(signature = (X, *, allowed=None, candidates=None, propensity=true, rounds=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn choose_many<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
        candidates: Option<&Bound<'py, PyAny>>,
        propensity: bool,
        rounds: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Chosen<'py>> {
        self.decide_many(X, Among { allowed, candidates }, propensity, rounds)
    }

    /// The most probable action of each context, shape (n,). Consumes no round.
    #[pyo3(signature = (X, *, allowed=None, candidates=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn predict<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
        candidates: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.most_probable(X, Among { allowed, candidates })
    }

    /// The probability of every action for each context, shape (n, n_actions). Consumes no round.
    #[pyo3(signature = (X, *, allowed=None, candidates=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn predict_proba<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
        candidates: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.distribution(X, Among { allowed, candidates })
    }

    /// Draws every action's mean reward for each context, as ``Policy.sample_rewards`` does.
    #[pyo3(signature = (X, *, round=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn sample_rewards<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        round: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.draws(X, round)
    }

    fn __repr__(&self) -> String {
        format!("<snapshot of {}>", self.chooser.name())
    }
}
