//! Policies written in Python, as the benchmark plays them.

use std::sync::Arc;

use locus::{Choice, Choose, FitReport, Outcome, Policy, Request, Seed, Shape};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A Python object with `choose(round, context)` and `learn(round, context, action, reward)`.
pub(crate) struct Foreign {
    name: String,
    shape: Shape,
    seed: Seed,
    choose: Py<PyAny>,
    learn: Py<PyAny>,
    n_observed: u64,
    last_round: Option<u64>,
}

/// What a Python policy is given as its seed: below 2³², which the generators of all libraries take.
pub(crate) fn python_seed(seed: Seed) -> u64 {
    seed.number() >> 32
}

impl Foreign {
    /// Calls the factory with `n_features`, `n_actions` and `seed`, by name.
    pub(crate) fn build(
        name: &str,
        factory: &Py<PyAny>,
        shape: Shape,
        seed: Seed,
    ) -> Result<Self, locus::Error> {
        Python::attach(|py| {
            let build = || -> PyResult<Self> {
                let arguments = PyDict::new(py);
                arguments.set_item("n_features", shape.n_features)?;
                arguments.set_item("n_actions", shape.n_actions)?;
                arguments.set_item("seed", python_seed(seed))?;
                let policy = factory.bind(py).call((), Some(&arguments))?;
                let (choose, learn) = (policy.getattr("choose")?.unbind(), policy.getattr("learn")?.unbind());
                Ok(Self {
                    name: name.to_owned(),
                    shape,
                    seed,
                    choose,
                    learn,
                    n_observed: 0,
                    last_round: None,
                })
            };
            build().map_err(|error| failed(py, &error))
        })
    }
}

impl Choose for Foreign {
    fn name(&self) -> &str {
        &self.name
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn choose(&self, request: Request<'_>) -> Result<Choice, locus::Error> {
        Python::attach(|py| {
            let context = PyArray1::from_slice(py, request.context);
            let answer = self.choose.bind(py).call1((request.round, context));
            let answer = answer.map_err(|error| failed(py, &error))?;
            read_choice(&answer).map_err(|problem| {
                let found = answer.repr().map_or("something that has no repr".to_owned(), |text| text.to_string());
                locus::Error::policy(format!(
                    "`choose` returned {found}: {problem}; expected an action from 0 to {}, or (action, propensity)",
                    self.shape.n_actions - 1
                ))
            })
        })
    }

    fn distribution(&self, _: Request<'_>, _: &mut [f64]) -> Result<(), locus::Error> {
        Err(locus::Error::policy(format!(
            "policy `{}` does not tell the probabilities of all actions",
            self.name
        )))
    }
}

impl Policy for Foreign {
    fn learn(&mut self, outcome: Outcome<'_>) -> Result<FitReport, locus::Error> {
        Python::attach(|py| {
            let context = PyArray1::from_slice(py, outcome.context);
            let answer = self.learn.bind(py).call1((outcome.round, context, outcome.action, outcome.reward));
            answer.map(drop).map_err(|error| failed(py, &error))
        })?;
        self.n_observed += 1;
        self.last_round = self.last_round.max(Some(outcome.round));
        Ok(FitReport::default())
    }

    fn learn_many(&mut self, outcomes: &[Outcome<'_>]) -> Result<FitReport, locus::Error> {
        outcomes.iter().try_for_each(|outcome| self.learn(*outcome).map(drop))?;
        Ok(FitReport::default())
    }

    fn seed(&self) -> Seed {
        self.seed
    }

    fn n_observed(&self) -> u64 {
        self.n_observed
    }

    fn last_round(&self) -> Option<u64> {
        self.last_round
    }

    fn next_round(&self) -> u64 {
        self.last_round.map_or(0, |round| round + 1)
    }

    fn set_next_round(&mut self, _: u64) {}

    fn snapshot(&self) -> Arc<dyn Choose> {
        unreachable!("trials neither copy nor save policies")
    }

    fn save(&self) -> Vec<u8> {
        unreachable!("trials neither copy nor save policies")
    }
}

/// An action, or an action and its probability.
fn read_choice(answer: &Bound<'_, PyAny>) -> Result<Choice, String> {
    let action = |object: &Bound<'_, PyAny>| match object.extract::<i64>() {
        Ok(action) => usize::try_from(action).map_err(|_| "the action is negative".to_owned()),
        Err(_) => Err("the action is not an integer".to_owned()),
    };
    let Ok(pair) = answer.cast::<PyTuple>() else { return action(answer).map(Choice::new) };
    if pair.len() != 2 {
        return Err(format!("a tuple of {}", pair.len()));
    }
    let item = |index| pair.get_item(index).map_err(|error| error.to_string());
    let chosen = Choice::new(action(&item(0)?)?);
    let propensity = item(1)?;
    if propensity.is_none() {
        return Ok(chosen);
    }
    match propensity.extract::<f64>() {
        Ok(probability) if probability > 0.0 && probability <= 1.0 => Ok(chosen.with_propensity(probability)),
        _ => Err("the propensity is not a number above 0 and at most 1".to_owned()),
    }
}

/// The exception with its place: `ValueError: message (policy.py, line 12, in learn)`.
fn failed(py: Python<'_>, error: &PyErr) -> locus::Error {
    let place = || -> PyResult<Option<String>> {
        let Some(traceback) = error.traceback(py) else { return Ok(None) };
        let frames = py.import("traceback")?.call_method1("extract_tb", (traceback,))?;
        // The last place in the policy's own file, which the first frame names; libraries may be below it.
        let own: String = frames.get_item(0)?.getattr("filename")?.extract()?;
        let mut last = frames.get_item(0)?;
        for frame in frames.try_iter()? {
            let frame = frame?;
            if frame.getattr("filename")?.extract::<String>()? == own {
                last = frame;
            }
        }
        let file = own;
        let line: usize = last.getattr("lineno")?.extract()?;
        let function: String = last.getattr("name")?.extract()?;
        let file = file.rsplit(['/', '\\']).next().unwrap_or(&file).to_owned();
        Ok(Some(format!(" ({file}, line {line}, in {function})")))
    };
    let place = place().ok().flatten().unwrap_or_default();
    locus::Error::policy(format!("{error}{place}"))
}
