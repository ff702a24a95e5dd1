//! Policies as Python objects.
//!
//! A policy and its snapshots share one counter of rounds. Every call that computes lets other Python threads run: readers share the
//! policy, a learner has it alone.

use std::sync::atomic::Ordering;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use locus::{Choose, Outcome, PolicySpec, Seed, Shape};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyTuple};

use crate::arrays::{counts, invalid, numbers, round_numbers, show};
use crate::chooser::{Among, Chooser, Chosen, Decision, Rounds, with_context};
use crate::errors::of_policy;
use crate::snapshot::Snapshot;

/// What a call of `learn` did.
#[pyclass(frozen, eq, module = "locus_bandits")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct FitReport {
    /// Minibatches that were trained on; 0 if no training was due.
    #[pyo3(get)]
    minibatches: u32,
    /// Mean loss over these minibatches, or None.
    #[pyo3(get)]
    mean_loss: Option<f64>,
    /// How often a guard clamped a number so that training could continue.
    #[pyo3(get)]
    interventions: u64,
}

#[pymethods]
impl FitReport {
    #[new]
    fn new(minibatches: u32, mean_loss: Option<f64>, interventions: u64) -> Self {
        Self { minibatches, mean_loss, interventions }
    }

    /// For pickling and copying.
    fn __getnewargs__(&self) -> (u32, Option<f64>, u64) {
        (self.minibatches, self.mean_loss, self.interventions)
    }

    fn __repr__(&self) -> String {
        let Self { minibatches, mean_loss, interventions } = self;
        let mean_loss = mean_loss.map_or("None".to_owned(), |loss| format!("{loss:?}"));
        format!("FitReport(minibatches={minibatches}, mean_loss={mean_loss}, interventions={interventions})")
    }
}

impl From<locus::FitReport> for FitReport {
    fn from(report: locus::FitReport) -> Self {
        let locus::FitReport { minibatches, mean_loss, interventions, .. } = report;
        Self { minibatches, mean_loss, interventions }
    }
}

type Slot = Option<Box<dyn locus::Policy>>;

/// What the Python classes of policies have in common.
#[pyclass(frozen, subclass, module = "locus_bandits._core")]
pub(crate) struct PolicyBase {
    /// Empty between `__new__` and `__init__`.
    slot: RwLock<Slot>,
    rounds: Rounds,
}

impl Chooser for PolicyBase {
    fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&dyn Choose) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| body(built(&self.read())?))
    }
}

impl PolicyBase {
    // A poisoned lock belongs to a panic inside a policy, which PyO3 has raised already. Learning restores the model where it fails.
    fn read(&self) -> RwLockReadGuard<'_, Slot> {
        self.slot.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Slot> {
        self.slot.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a policy into the slot.
    fn fill(&self, py: Python<'_>, policy: Box<dyn locus::Policy>) {
        // Snapshots share the counter, so it never falls.
        self.rounds.0.fetch_max(policy.next_round(), Ordering::Relaxed);
        py.detach(|| *self.write() = Some(policy));
    }

    pub(crate) fn look<T>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&dyn locus::Policy) -> T + Send,
    ) -> PyResult<T>
    where
        T: Send,
    {
        py.detach(|| Ok(look(built(&self.read())?)))
    }
}

fn built(slot: &Slot) -> PyResult<&dyn locus::Policy> {
    slot.as_deref().ok_or_else(not_initialized)
}

fn built_mut(slot: &mut Slot) -> PyResult<&mut Box<dyn locus::Policy>> {
    slot.as_mut().ok_or_else(not_initialized)
}

fn not_initialized() -> PyErr {
    PyRuntimeError::new_err("the policy was not initialized: call super().__init__()")
}

#[pymethods]
impl PolicyBase {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self { slot: RwLock::new(None), rounds: Rounds::default() }
    }

    /// Builds the policy that `text` names, untrained.
    fn _build(
        &self,
        py: Python<'_>,
        text: &str,
        n_features: usize,
        n_actions: usize,
        n_action_features: usize,
        seed: u64,
    ) -> PyResult<()> {
        let shape = match n_action_features {
            0 => Shape::new(n_features, n_actions),
            n => Shape::described(n_features, n),
        };
        let policy = py.detach(|| {
            let spec: PolicySpec = text.parse().map_err(of_policy)?;
            spec.build(shape, Seed::new(seed)).map_err(of_policy)
        })?;
        self.fill(py, policy);
        Ok(())
    }

    /// Takes the state that `to_bytes` gave.
    fn _load(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        let policy = py.detach(|| locus::load(bytes).map_err(of_policy))?;
        self.fill(py, policy);
        Ok(())
    }

    /// Text, number of features, number of actions, number of features of an action, and seed.
    fn _described(&self, py: Python<'_>) -> PyResult<(String, usize, usize, usize, u64)> {
        self.look(py, |policy| {
            let Shape { n_features, n_actions, n_action_features, .. } = policy.shape();
            (policy.name().to_owned(), n_features, n_actions, n_action_features, policy.seed().number())
        })
    }

    /// The policy in canonical form, such as ``lu-gauss@paper[floor=0.1]``.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |policy| policy.name().to_owned())
    }

    /// How many outcomes were learned.
    #[getter]
    fn n_observed(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, |policy| policy.n_observed())
    }

    /// The round of the next decision. The policy and its snapshots share this counter.
    #[getter]
    fn next_round(&self) -> u64 {
        self.rounds.next()
    }

    /// Trains if training is due; with the setting ``training="manual"`` only this method trains. Policies that train by
    /// themselves, or never, have nothing to do.
    fn train(&self, py: Python<'_>) -> PyResult<FitReport> {
        self.take_in(py, |policy| policy.train())
    }

    /// Adds an action to the running policy and returns its index. Nothing that was learned about the others changes.
    ///
    /// The new action is soon tried ``initial_pulls`` times. Masks and probabilities have one entry more from now on; earlier
    /// snapshots keep their number of actions.
    fn add_action(&self, py: Python<'_>) -> PyResult<usize> {
        self.change(py, |policy| policy.add_action())
    }

    /// Retires an action: it is not chosen until ``restore_action``. Late rewards of it can still be learned.
    fn retire_action(&self, action: &Bound<'_, PyAny>) -> PyResult<()> {
        let index = self.index_of(action)?;
        self.change(action.py(), |policy| policy.retire_action(index))
    }

    /// Makes a retired action available again, with everything that was learned about it.
    fn restore_action(&self, action: &Bound<'_, PyAny>) -> PyResult<()> {
        let index = self.index_of(action)?;
        self.change(action.py(), |policy| policy.restore_action(index))
    }

    /// The actions that are retired, in ascending order.
    #[getter]
    fn retired_actions(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        self.look(py, |policy| policy.retired_actions())
    }

    /// Decides for one context.
    ///
    /// ``x`` has shape (n_features,). ``allowed`` is a mask of shape (n_actions,): actions whose entry is False are not chosen.
    /// With ``propensity=True`` the decision reports the exact probability with which its action was chosen; without, it is
    /// faster. ``round`` numbers the decision; by default a counter does.
    ///
    /// If actions have features, ``candidates`` are those of the actions to choose among, shape (candidates, n_action_features),
    /// and the decision's action is the index of one of them.
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

    /// Decides for many contexts, faster than one by one.
    ///
    /// ``X`` has shape (n, n_features), ``allowed`` (n_actions,) or (n, n_actions), ``rounds`` (n,). Returns the actions and
    /// their propensities, which are None with ``propensity=False``. The decisions have consecutive rounds; give ``rounds`` if
    /// rewards come late and other threads decide, too. ``candidates`` has shape (candidates, n_action_features), the same for
    /// all contexts, or (n, candidates, n_action_features), or is a list of n arrays.
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

    /// Learns from one outcome or from many, and trains when training is due.
    ///
    /// One: ``X`` has shape (n_features,), ``actions`` and ``rewards`` are numbers. Many: ``X`` has shape (n, n_features), the
    /// others (n,). Rewards may be delayed, reordered or missing. ``rounds`` are the rounds of the decisions; by default the
    /// last ones. ``weights`` say how many equal outcomes each one counts as. If actions have features, ``action_features`` are
    /// those of the actions that were taken, shape (n_action_features,) or (n, n_action_features).
    ///
    /// Bad input is an error and changes nothing. After a NumericError the outcomes are stored: do not submit them again.
    #[pyo3(signature = (X, actions, rewards, *, rounds=None, weights=None, action_features=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn learn(
        &self,
        X: &Bound<'_, PyAny>,
        actions: &Bound<'_, PyAny>,
        rewards: &Bound<'_, PyAny>,
        rounds: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
        action_features: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<FitReport> {
        let py = X.py();
        if rounds.is_none()
            && weights.is_none()
            && action_features.is_none()
            && actions.is_instance_of::<PyInt>()
            && (rewards.is_instance_of::<PyFloat>() || rewards.is_instance_of::<PyInt>())
            && let (Ok(action), Ok(reward)) = (actions.extract::<usize>(), rewards.extract::<f64>())
        {
            return with_context(X, |context| {
                self.take_in(py, |policy| {
                    let round = self.rounds.of_outcomes(policy, 1);
                    policy.learn(Outcome::new(round, context, action, reward))
                })
            });
        }
        let contexts = numbers(X, "array of contexts")?;
        let is_one = contexts.shape.len() == 1;
        let (n_rows, n_features) = match contexts.shape[..] {
            [n_features] => (1, n_features),
            [n_rows, n_features] => (n_rows, n_features),
            _ => {
                return invalid(format!(
                    "the array of contexts has shape {}, expected one or two dimensions",
                    show(&contexts.shape)
                ));
            }
        };
        let check = |what: &str, shape: &[usize]| {
            let is_right = if is_one { shape.is_empty() || shape == [1] } else { shape == [n_rows] };
            let expected = if is_one { "a number".to_owned() } else { format!("shape ({n_rows},)") };
            match is_right {
                true => Ok(()),
                false => invalid(format!("{what} have shape {}, expected {expected}", show(shape))),
            }
        };
        let actions = counts(actions, "actions")?;
        check("actions", &actions.shape)?;
        let rewards = numbers(rewards, "array of rewards")?;
        check("rewards", &rewards.shape)?;
        let rounds = match rounds {
            Some(rounds) => {
                let rounds = round_numbers(rounds)?;
                check("rounds", &rounds.shape)?;
                Some(rounds.values)
            }
            None => None,
        };
        let weights = match weights {
            Some(weights) => {
                let weights = numbers(weights, "array of weights")?;
                check("weights", &weights.shape)?;
                weights.values
            }
            None => vec![1.0; n_rows],
        };
        let action_features = match action_features {
            Some(features) => {
                let features = numbers(features, "array of action features")?;
                let width = match features.shape[..] {
                    [width] if is_one => width,
                    [rows, width] if rows == n_rows => width,
                    _ => {
                        let one = if is_one { "(features,) or " } else { "" };
                        return invalid(format!(
                            "the array of action features has shape {}, expected {one}({n_rows}, features)",
                            show(&features.shape)
                        ));
                    }
                };
                let values: Vec<f32> = features.values.into_iter().map(|value| value as f32).collect();
                Some((values, width))
            }
            None => None,
        };
        let contexts: Vec<f32> = contexts.values.into_iter().map(|value| value as f32).collect();
        let contexts = contexts.chunks_exact(n_features.max(1));
        if n_features == 0 && n_rows > 0 {
            return invalid("the contexts have no features, expected at least one".to_owned());
        }
        let rows = contexts.zip(actions.values.iter().zip(&rewards.values)).zip(&weights);
        let outcome = |((context, (action, reward)), weight): ((_, (&u64, &f64)), &f64)| {
            let action = usize::try_from(*action).unwrap_or(usize::MAX);
            Outcome::new(0, context, action, *reward).with_weight(*weight)
        };
        let mut outcomes: Vec<Outcome<'_>> = rows.map(outcome).collect();
        if let Some((values, width)) = &action_features {
            for (index, outcome) in outcomes.iter_mut().enumerate() {
                *outcome = outcome.with_action_features(&values[index * width..][..*width]);
            }
        }
        self.take_in(py, |policy| {
            let first = self.rounds.of_outcomes(policy, n_rows as u64);
            for (index, outcome) in outcomes.iter_mut().enumerate() {
                outcome.round =
                    rounds.as_ref().map_or(first.wrapping_add(index as u64), |rounds| rounds[index]);
            }
            match outcomes[..] {
                [outcome] if is_one => policy.learn(outcome),
                _ => policy.learn_many(&outcomes),
            }
        })
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

    /// Draws every action's mean reward for each context from the posterior, shape (n, n_actions).
    ///
    /// The same ``round`` gives the same draws; by default it is the next round, which is not consumed. Policies that do not
    /// sample rewards return the scores that they compare.
    #[pyo3(signature = (X, *, round=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn sample_rewards<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        round: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.draws(X, round)
    }

    /// A frozen copy that decides in any number of threads while this policy learns. Takes about a microsecond.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        let chooser = self.look(py, |policy| policy.snapshot())?;
        Ok(Snapshot { chooser, rounds: self.rounds.clone() })
    }

    /// The whole policy, versioned and checksummed, with its counter of rounds; `load` reads it.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            let mut slot = self.write();
            let policy = built_mut(&mut slot)?;
            policy.set_next_round(self.rounds.next());
            PyResult::Ok(policy.save())
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}

impl PolicyBase {
    fn take_in(
        &self,
        py: Python<'_>,
        learn: impl FnOnce(&mut dyn locus::Policy) -> Result<locus::FitReport, locus::Error> + Send,
    ) -> PyResult<FitReport> {
        self.change(py, |policy| {
            let report = learn(policy);
            self.rounds.0.fetch_max(policy.next_round(), Ordering::Relaxed);
            report.map(FitReport::from)
        })
    }

    fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut dyn locus::Policy) -> Result<T, locus::Error> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut slot = self.write();
            change(&mut **built_mut(&mut slot)?).map_err(of_policy)
        })
    }

    /// An action as an index; the policy checks that there is such an action.
    fn index_of(&self, action: &Bound<'_, PyAny>) -> PyResult<usize> {
        action.extract().or_else(|_| {
            let n_actions = self.look(action.py(), |policy| policy.shape().n_actions)?;
            invalid(format!("action is {}, expected an integer from 0 to {}", action.repr()?, n_actions - 1))
        })
    }
}

/// Fails unless a seed is a whole number that the library takes.
#[pyfunction]
pub(crate) fn check_seed(seed: &Bound<'_, PyAny>) -> PyResult<u64> {
    seed.extract::<u64>().map_err(|_| {
        let found = seed.repr().map_or("?".to_owned(), |text| text.to_string());
        PyValueError::new_err(format!("seed is {found}, expected an integer from 0 to {}", u64::MAX))
    })
}
