//! Decisions: what policies and their snapshots do alike.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use locus::{Choice, Choose, Propensity, Request, Shape};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::arrays::{Array, Rows, invalid, mask, numbers, read_context, round_number, round_numbers, show};
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

/// The counter of decisions that a policy and its snapshots share.
#[derive(Clone, Default)]
pub(crate) struct Rounds(pub(crate) Arc<AtomicU64>);

impl Rounds {
    pub(crate) fn next(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The first round of `n` outcomes without rounds: those of the last decisions, and new ones where there were fewer decisions, as
    /// in a log.
    pub(crate) fn of_outcomes(&self, policy: &dyn locus::Policy, n: u64) -> u64 {
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

pub(crate) fn with_context<T>(x: &Bound<'_, PyAny>, body: impl FnOnce(&[f32]) -> PyResult<T>) -> PyResult<T> {
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

/// The features of the candidates of one decision, or of each of many.
struct Candidates {
    /// One array for each request, or one for all.
    arrays: Vec<Vec<f32>>,
    /// How many candidates each has.
    counts: Vec<usize>,
}

impl Candidates {
    fn read(object: Option<&Bound<'_, PyAny>>, n_rows: Option<usize>) -> PyResult<Option<Self>> {
        let Some(object) = object else { return Ok(None) };
        let is_list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
        let whole = numbers(object, "array of candidates");
        let arrays = match (whole, n_rows) {
            (Ok(array), _) => match (&array.shape[..], n_rows) {
                ([_, _], _) => vec![array],
                ([rows, n, width], Some(n_rows)) if *rows == n_rows => {
                    let shape = vec![*n, *width];
                    let part = |row: usize| array.values[row * n * width..][..n * width].to_vec();
                    (0..n_rows).map(|row| Array { values: part(row), shape: shape.clone() }).collect()
                }
                (shape, _) => return Self::wrong_shape(shape, n_rows),
            },
            // Requests with different numbers of candidates are no array.
            (Err(_), Some(n_rows)) if is_list => {
                let items = object.try_iter()?.collect::<PyResult<Vec<_>>>()?;
                if items.len() != n_rows {
                    return invalid(format!(
                        "there are {} lists of candidates, expected {n_rows}, one for each context",
                        items.len()
                    ));
                }
                let read = |item: &Bound<'_, PyAny>| match numbers(item, "array of candidates")? {
                    array if array.shape.len() == 2 => Ok(array),
                    array => invalid(format!(
                        "an array of candidates has shape {}, expected (candidates, features)",
                        show(&array.shape)
                    )),
                };
                items.iter().map(read).collect::<PyResult<_>>()?
            }
            (Err(error), _) => return Err(error),
        };
        let counts = arrays.iter().map(|array| array.shape[0]).collect();
        let narrow = |array: Array<f64>| array.values.into_iter().map(|value| value as f32).collect();
        Ok(Some(Self { arrays: arrays.into_iter().map(narrow).collect(), counts }))
    }

    fn wrong_shape<T>(shape: &[usize], n_rows: Option<usize>) -> PyResult<T> {
        let many = n_rows.map_or(String::new(), |n| format!(" or ({n}, candidates, features)"));
        invalid(format!(
            "the array of candidates has shape {}, expected (candidates, features){many}",
            show(shape)
        ))
    }

    fn of(&self, row: usize) -> &[f32] {
        &self.arrays[if self.arrays.len() == 1 { 0 } else { row }]
    }

    fn count(&self, row: usize) -> usize {
        self.counts[if self.counts.len() == 1 { 0 } else { row }]
    }
}

/// What a request restricts its choice to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Among<'a, 'py> {
    /// A mask.
    pub(crate) allowed: Option<&'a Bound<'py, PyAny>>,
    /// The features of candidates.
    pub(crate) candidates: Option<&'a Bound<'py, PyAny>>,
}

impl Among<'_, '_> {
    fn read(self, n_rows: Option<usize>) -> PyResult<Offered> {
        let allowed = Allowed::read(self.allowed, n_rows)?;
        Ok(Offered { allowed, candidates: Candidates::read(self.candidates, n_rows)? })
    }
}

/// The same, copied.
struct Offered {
    allowed: Option<Allowed>,
    candidates: Option<Candidates>,
}

impl Offered {
    fn restrict<'a>(&'a self, request: Request<'a>, row: usize) -> Request<'a> {
        let request = match &self.candidates {
            Some(candidates) => request.with_candidates(candidates.of(row)),
            None => request,
        };
        match &self.allowed {
            Some(allowed) => request.allowing(allowed.of(row)),
            None => request,
        }
    }

    /// How many actions each of these requests has; the same number for all, as a result with a row for each needs.
    fn n_actions(&self, n_rows: usize, shape: Shape) -> PyResult<usize> {
        let Some(candidates) = &self.candidates else { return Ok(shape.n_actions) };
        if n_rows == 0 {
            return Ok(candidates.counts.first().copied().unwrap_or(0));
        }
        let first = candidates.count(0);
        match (0..n_rows).find(|&row| candidates.count(row) != first) {
            Some(row) => invalid(format!(
                "context {row} has {} candidates and context 0 has {first}, expected as many for each; ask for each context alone",
                candidates.count(row)
            )),
            None => Ok(first),
        }
    }
}

/// The requests of many decisions. Their rounds are `rounds`, or count from `first`.
fn requests<'a>(
    rows: &'a Rows,
    offered: &'a Offered,
    propensity: bool,
    round: impl Fn(usize) -> u64,
) -> Vec<Request<'a>> {
    let request = |index: usize| {
        let request = Request::new(round(index), rows.row(index));
        let request = if propensity { request.with_propensity() } else { request };
        offered.restrict(request, index)
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

/// Actions and, if they were asked for, their propensities.
pub(crate) type Chosen<'py> = (Bound<'py, PyArray1<i64>>, Option<Bound<'py, PyArray1<f64>>>);

/// What policies and snapshots do alike.
pub(crate) trait Chooser: Sync {
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
        among: Among<'_, '_>,
        propensity: bool,
        round: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decision> {
        let round = round.map(round_number).transpose()?;
        let offered = among.read(None)?;
        with_context(x, |context| {
            self.rounds().decide(round, 1, |round| {
                let request = Request::new(round, context);
                let request = if propensity { request.with_propensity() } else { request };
                let request = offered.restrict(request, 0);
                let choice = self.with(x.py(), |chooser| chooser.choose(request).map_err(of_policy))?;
                Ok(decision(round, choice))
            })
        })
    }

    fn decide_many<'py>(
        &self,
        contexts: &Bound<'py, PyAny>,
        among: Among<'_, 'py>,
        propensity: bool,
        rounds: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Chosen<'py>> {
        let py = contexts.py();
        let rows = Rows::many(contexts)?;
        let offered = among.read(Some(rows.n_rows))?;
        let rounds = given_rounds(rounds, rows.n_rows)?;
        let decide = |round: &(dyn Fn(usize) -> u64 + Sync)| {
            self.with(py, |chooser| {
                let requests = requests(&rows, &offered, propensity, round);
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
        among: Among<'_, '_>,
    ) -> PyResult<(Vec<f64>, usize, usize)> {
        let rows = Rows::many(contexts)?;
        let offered = among.read(Some(rows.n_rows))?;
        let round = self.rounds().next();
        self.with(contexts.py(), |chooser| {
            let n_actions = offered.n_actions(rows.n_rows, chooser.shape())?;
            let mut probabilities = vec![0.0; rows.n_rows * n_actions];
            let requests = requests(&rows, &offered, false, |_| round);
            chooser.distribution_many(&requests, &mut probabilities).map_err(of_policy)?;
            Ok((probabilities, rows.n_rows, n_actions))
        })
    }

    fn most_probable<'py>(
        &self,
        contexts: &Bound<'py, PyAny>,
        among: Among<'_, 'py>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (probabilities, _, n_actions) = self.probabilities(contexts, among)?;
        let best = |row: &[f64]| {
            let highest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter().position(|probability| *probability == highest).unwrap_or(0) as i64
        };
        let actions: Vec<i64> = probabilities.chunks_exact(n_actions.max(1)).map(best).collect();
        Ok(actions.into_pyarray(contexts.py()))
    }

    fn distribution<'py>(
        &self,
        contexts: &Bound<'py, PyAny>,
        among: Among<'_, 'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (probabilities, n_rows, n_actions) = self.probabilities(contexts, among)?;
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
            // Rows of context and candidate have one reward each.
            Ok((rewards, chooser.shape().n_actions.max(1)))
        })?;
        rewards.into_pyarray(py).reshape([rows.n_rows, n_actions])
    }
}
