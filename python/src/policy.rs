//! Policies and their snapshots as Python objects.
//!
//! A policy's objects share one counter of rounds. Every call that computes lets other Python threads run: readers share the
//! policy, a learner has it alone.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use locus::{Choice, Choose, Outcome, PolicySpec, Propensity, Request, Seed, Shape};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyTuple};

use crate::arrays::{
    Array, Rows, counts, invalid, mask, numbers, read_context, round_number, round_numbers, show,
};
use crate::errors::of_policy;

/// A decision: the action, how probable it was, and its round.
#[pyclass(frozen, eq, module = "locus_bandits")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Decision {
    /// The chosen action, from 0.
    #[pyo3(get)]
    action: usize,
    /// The probability with which this action was chosen; None if it was not asked for and the policy does not know it.
    #[pyo3(get)]
    propensity: Option<f64>,
    /// The number of this decision; give it to `learn` with the reward.
    #[pyo3(get)]
    round: u64,
}

#[pymethods]
impl Decision {
    #[new]
    fn new(action: usize, propensity: Option<f64>, round: u64) -> Self {
        Self { action, propensity, round }
    }

    /// For pickling and copying.
    fn __getnewargs__(&self) -> (usize, Option<f64>, u64) {
        (self.action, self.propensity, self.round)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.action, self.propensity.map(f64::to_bits), self.round).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let propensity = self.propensity.map_or("None".to_owned(), |probability| format!("{probability:?}"));
        format!("Decision(action={}, propensity={propensity}, round={})", self.action, self.round)
    }
}

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

/// The counter of decisions that a policy and its snapshots share.
#[derive(Clone, Default)]
struct Rounds(Arc<AtomicU64>);

impl Rounds {
    fn next(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The first round of `n` outcomes without rounds: those of the last decisions, and new ones where there were fewer decisions, as
    /// in a log.
    fn of_outcomes(&self, policy: &dyn locus::Policy, n: u64) -> u64 {
        self.next().max(policy.n_observed().saturating_add(n)) - n
    }

    /// The rounds of `n` decisions, given or counted; they are free again if the decisions fail.
    fn decide<T>(&self, given: Option<u64>, n: u64, decide: impl FnOnce(u64) -> PyResult<T>) -> PyResult<T> {
        if let Some(first) = given {
            let result = decide(first)?;
            self.0.fetch_max(first.saturating_add(n), Ordering::Relaxed);
            return Ok(result);
        }
        let first = self.0.fetch_add(n, Ordering::Relaxed);
        decide(first).inspect_err(|_| {
            // Unless another thread has decided since.
            let _ =
                self.0.compare_exchange(first.wrapping_add(n), first, Ordering::Relaxed, Ordering::Relaxed);
        })
    }
}

thread_local! {
    /// The context of a single decision, so that it does not allocate.
    static CONTEXT: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

fn with_context<T>(x: &Bound<'_, PyAny>, body: impl FnOnce(&[f32]) -> PyResult<T>) -> PyResult<T> {
    // Taken out, for converting may run Python code that decides, too.
    let mut context = CONTEXT.take();
    let result = read_context(x, &mut context).and_then(|()| body(&context));
    CONTEXT.set(context);
    result
}

fn decision(round: u64, choice: Choice) -> Decision {
    Decision { action: choice.action, propensity: known(choice), round }
}

fn known(choice: Choice) -> Option<f64> {
    match choice.propensity {
        Propensity::Exact(probability) => Some(probability),
        _ => None,
    }
}

/// A mask for one decision, or for each of many.
struct Allowed {
    mask: Vec<bool>,
    is_shared: bool,
    n_actions: usize,
}

impl Allowed {
    fn read(object: Option<&Bound<'_, PyAny>>, n_rows: Option<usize>) -> PyResult<Option<Self>> {
        let Some(object) = object else { return Ok(None) };
        let Array { values, shape } = mask(object)?;
        match (&shape[..], n_rows) {
            ([n_actions], _) => Ok(Some(Self { mask: values, is_shared: true, n_actions: *n_actions })),
            ([rows, n_actions], Some(n_rows)) if *rows == n_rows => {
                Ok(Some(Self { mask: values, is_shared: false, n_actions: *n_actions }))
            }
            (_, None) => invalid(format!(
                "the mask of allowed actions has shape {}, expected (actions,)",
                show(&shape)
            )),
            (_, Some(n_rows)) => invalid(format!(
                "the mask of allowed actions has shape {}, expected (actions,) or ({n_rows}, actions)",
                show(&shape)
            )),
        }
    }

    fn of(&self, row: usize) -> &[bool] {
        match self.is_shared {
            true => &self.mask,
            false => &self.mask[row * self.n_actions..][..self.n_actions],
        }
    }
}

/// The requests of many decisions. Their rounds are `rounds`, or count from `first`.
fn requests<'a>(
    rows: &'a Rows,
    allowed: Option<&'a Allowed>,
    propensity: bool,
    round: impl Fn(usize) -> u64,
) -> Vec<Request<'a>> {
    let request = |index: usize| {
        let request = Request::new(round(index), rows.row(index));
        let request = if propensity { request.with_propensity() } else { request };
        match allowed {
            Some(allowed) => request.allowing(allowed.of(index)),
            None => request,
        }
    };
    (0..rows.n_rows).map(request).collect()
}

/// The rounds that a caller gave: one for each row.
fn given_rounds(rounds: Option<&Bound<'_, PyAny>>, n_rows: usize) -> PyResult<Option<Vec<u64>>> {
    let Some(rounds) = rounds else { return Ok(None) };
    let Array { values, shape } = round_numbers(rounds)?;
    match shape[..] {
        [length] if length == n_rows => Ok(Some(values)),
        _ => invalid(format!("rounds have shape {}, expected ({n_rows},)", show(&shape))),
    }
}

fn choose<C: Choose + ?Sized>(
    chooser: &C,
    request: Request<'_>,
    allowed: Option<&[bool]>,
) -> PyResult<Choice> {
    let request = match allowed {
        Some(allowed) => request.allowing(allowed),
        None => request,
    };
    chooser.choose(request).map_err(of_policy)
}

/// Actions and, if they were asked for, their propensities.
type Chosen<'py> = (Bound<'py, PyArray1<i64>>, Option<Bound<'py, PyArray1<f64>>>);

/// What policies and snapshots do alike.
trait Chooser: Sync {
    fn rounds(&self) -> &Rounds;

    /// Calls `body` with the policy while other Python threads run.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&dyn Choose) -> PyResult<T> + Send,
    ) -> PyResult<T>;

    fn decide_one(
        &self,
        x: &Bound<'_, PyAny>,
        allowed: Option<&Bound<'_, PyAny>>,
        propensity: bool,
        round: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decision> {
        let round = round.map(round_number).transpose()?;
        let allowed = Allowed::read(allowed, None)?;
        with_context(x, |context| {
            self.rounds().decide(round, 1, |round| {
                let request = Request::new(round, context);
                let request = if propensity { request.with_propensity() } else { request };
                let allowed = allowed.as_ref().map(|allowed| allowed.of(0));
                let choice = self.with(x.py(), |chooser| choose(chooser, request, allowed))?;
                Ok(decision(round, choice))
            })
        })
    }

    fn decide_many<'py>(
        &self,
        contexts: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
        propensity: bool,
        rounds: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Chosen<'py>> {
        let py = contexts.py();
        let rows = Rows::many(contexts)?;
        let allowed = Allowed::read(allowed, Some(rows.n_rows))?;
        let rounds = given_rounds(rounds, rows.n_rows)?;
        let decide = |round: &(dyn Fn(usize) -> u64 + Sync)| {
            self.with(py, |chooser| {
                let requests = requests(&rows, allowed.as_ref(), propensity, round);
                chooser.choose_many(&requests).map_err(of_policy)
            })
        };
        let choices = match rounds {
            Some(rounds) => {
                let choices = decide(&|index| rounds[index])?;
                if let Some(last) = rounds.iter().max() {
                    self.rounds().0.fetch_max(last.saturating_add(1), Ordering::Relaxed);
                }
                choices
            }
            None => self.rounds().decide(None, rows.n_rows as u64, |first| {
                decide(&|index| first.wrapping_add(index as u64))
            })?,
        };
        let actions: Vec<i64> = choices.iter().map(|choice| choice.action as i64).collect();
        let propensities = propensity.then(|| {
            let all: Vec<f64> = choices.iter().map(|choice| known(*choice).unwrap_or(f64::NAN)).collect();
            all.into_pyarray(py)
        });
        Ok((actions.into_pyarray(py), propensities))
    }

    /// The probability of every action, row by row, in the next round.
    fn probabilities(
        &self,
        contexts: &Bound<'_, PyAny>,
        allowed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Vec<f64>, usize, usize)> {
        let rows = Rows::many(contexts)?;
        let allowed = Allowed::read(allowed, Some(rows.n_rows))?;
        let round = self.rounds().next();
        self.with(contexts.py(), |chooser| {
            let n_actions = chooser.shape().n_actions;
            let mut probabilities = vec![0.0; rows.n_rows * n_actions];
            let requests = requests(&rows, allowed.as_ref(), false, |_| round);
            chooser.distribution_many(&requests, &mut probabilities).map_err(of_policy)?;
            Ok((probabilities, rows.n_rows, n_actions))
        })
    }

    fn most_probable<'py>(
        &self,
        contexts: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (probabilities, _, n_actions) = self.probabilities(contexts, allowed)?;
        let best = |row: &[f64]| {
            let highest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter().position(|probability| *probability == highest).unwrap_or(0) as i64
        };
        let actions: Vec<i64> = probabilities.chunks_exact(n_actions).map(best).collect();
        Ok(actions.into_pyarray(contexts.py()))
    }

    fn distribution<'py>(
        &self,
        contexts: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (probabilities, n_rows, n_actions) = self.probabilities(contexts, allowed)?;
        probabilities.into_pyarray(contexts.py()).reshape([n_rows, n_actions])
    }

    fn draws<'py>(
        &self,
        contexts: &Bound<'py, PyAny>,
        round: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let py = contexts.py();
        let rows = Rows::many(contexts)?;
        let round = round.map(round_number).transpose()?.unwrap_or_else(|| self.rounds().next());
        let (rewards, n_actions) = self.with(py, |chooser| {
            let contexts: Vec<&[f32]> = (0..rows.n_rows).map(|index| rows.row(index)).collect();
            let rewards = chooser.sample_rewards(round, &contexts).map_err(of_policy)?;
            Ok((rewards, chooser.shape().n_actions))
        })?;
        rewards.into_pyarray(py).reshape([rows.n_rows, n_actions])
    }
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
        seed: u64,
    ) -> PyResult<()> {
        let policy = py.detach(|| {
            let spec: PolicySpec = text.parse().map_err(of_policy)?;
            spec.build(Shape::new(n_features, n_actions), Seed::new(seed)).map_err(of_policy)
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

    /// Text, number of features, number of actions and seed.
    fn _described(&self, py: Python<'_>) -> PyResult<(String, usize, usize, u64)> {
        self.look(py, |policy| {
            let shape = policy.shape();
            (policy.name().to_owned(), shape.n_features, shape.n_actions, policy.seed().number())
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

    /// Decides for one context.
    ///
    /// ``x`` has shape (n_features,). ``allowed`` is a mask of shape (n_actions,): actions whose entry is False are not chosen.
    /// With ``propensity=True`` the decision reports the exact probability with which its action was chosen; without, it is
    /// faster. ``round`` numbers the decision; by default a counter does.
    #[pyo3(signature = (x, *, allowed=None, propensity=true, round=None))]
    fn choose(
        &self,
        x: &Bound<'_, PyAny>,
        allowed: Option<&Bound<'_, PyAny>>,
        propensity: bool,
        round: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decision> {
        self.decide_one(x, allowed, propensity, round)
    }

    /// Decides for many contexts, faster than one by one.
    ///
    /// ``X`` has shape (n, n_features), ``allowed`` (n_actions,) or (n, n_actions), ``rounds`` (n,). Returns the actions and
    /// their propensities, which are None with ``propensity=False``. The decisions have consecutive rounds; give ``rounds`` if
    /// rewards come late and other threads decide, too.
    #[pyo3(signature = (X, *, allowed=None, propensity=true, rounds=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn choose_many<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
        propensity: bool,
        rounds: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Chosen<'py>> {
        self.decide_many(X, allowed, propensity, rounds)
    }

    /// Learns from one outcome or from many, and trains when training is due.
    ///
    /// One: ``X`` has shape (n_features,), ``actions`` and ``rewards`` are numbers. Many: ``X`` has shape (n, n_features), the
    /// others (n,). Rewards may be delayed, reordered or missing. ``rounds`` are the rounds of the decisions; by default the
    /// last ones. ``weights`` say how many equal outcomes each one counts as.
    ///
    /// Bad input is an error and changes nothing. After a NumericError the outcomes are stored: do not submit them again.
    #[pyo3(signature = (X, actions, rewards, *, rounds=None, weights=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn learn(
        &self,
        X: &Bound<'_, PyAny>,
        actions: &Bound<'_, PyAny>,
        rewards: &Bound<'_, PyAny>,
        rounds: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<FitReport> {
        let py = X.py();
        if rounds.is_none()
            && weights.is_none()
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
    #[pyo3(signature = (X, *, allowed=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn predict<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.most_probable(X, allowed)
    }

    /// The probability of every action for each context, shape (n, n_actions). Consumes no round.
    #[pyo3(signature = (X, *, allowed=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn predict_proba<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.distribution(X, allowed)
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
        py.detach(|| {
            let mut slot = self.write();
            let policy = built_mut(&mut slot)?;
            let report = learn(&mut **policy);
            self.rounds.0.fetch_max(policy.next_round(), Ordering::Relaxed);
            report.map(FitReport::from).map_err(of_policy)
        })
    }
}

/// A frozen copy of a policy, safe to share between threads. It decides and cannot learn.
///
/// ``Policy.snapshot`` makes it. It shares the policy's counter of rounds.
#[pyclass(frozen, module = "locus_bandits")]
pub(crate) struct Snapshot {
    chooser: Arc<dyn Choose>,
    rounds: Rounds,
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

    /// The number of actions.
    #[getter]
    fn n_actions(&self) -> usize {
        self.chooser.shape().n_actions
    }

    /// The round of the next decision. The policy and its snapshots share this counter.
    #[getter]
    fn next_round(&self) -> u64 {
        self.rounds.next()
    }

    /// Decides for one context, as ``Policy.choose`` does.
    #[pyo3(signature = (x, *, allowed=None, propensity=true, round=None))]
    fn choose(
        &self,
        x: &Bound<'_, PyAny>,
        allowed: Option<&Bound<'_, PyAny>>,
        propensity: bool,
        round: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decision> {
        self.decide_one(x, allowed, propensity, round)
    }

    /// Decides for many contexts, as ``Policy.choose_many`` does.
    #[pyo3(signature = (X, *, allowed=None, propensity=true, rounds=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn choose_many<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
        propensity: bool,
        rounds: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Chosen<'py>> {
        self.decide_many(X, allowed, propensity, rounds)
    }

    /// The most probable action of each context, shape (n,). Consumes no round.
    #[pyo3(signature = (X, *, allowed=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn predict<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.most_probable(X, allowed)
    }

    /// The probability of every action for each context, shape (n, n_actions). Consumes no round.
    #[pyo3(signature = (X, *, allowed=None))]
    #[allow(non_snake_case, reason = "the name that scikit-learn uses for contexts")]
    fn predict_proba<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        allowed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.distribution(X, allowed)
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

/// Fails unless a seed is a whole number that the library takes.
#[pyfunction]
pub(crate) fn check_seed(seed: &Bound<'_, PyAny>) -> PyResult<u64> {
    seed.extract::<u64>().map_err(|_| {
        let found = seed.repr().map_or("?".to_owned(), |text| text.to_string());
        PyValueError::new_err(format!("seed is {found}, expected an integer from 0 to {}", u64::MAX))
    })
}
