//! The benchmark: runs, tables, comparisons and reports.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use locus::{PolicySpec, PolicyText, Registry, Seed, Shape};
use locus_bench::experiment::{
    Experiment, ExternalTrial, Part, Plan, PlayExternal, Progress, RunOutcome, Standing,
};
use locus_bench::problem::{Loaded, Sequence};
use locus_bench::record::{Selection, TrialRow, read_readable_trials};
use locus_bench::report::{Down, Pairs, write_report};
use locus_bench::suite::Suite;
use locus_bench::summary::{Format, Metric, Table};
use locus_bench::trial::{Stop, TrialId, TrialResult, run_trial, run_trial_with_propensities};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::invalid;
use crate::errors::{of_bench, of_policy};
use crate::foreign::Foreign;
use crate::problem::{ProblemBase, sequence_arrays};

/// How often Ctrl-C is looked for, and progress shown.
const TICK: Duration = Duration::from_millis(100);

/// A policy of a run: a text, or a name with a version and a factory.
#[derive(FromPyObject)]
pub(crate) enum Named {
    Text(String),
    Factory(String, Option<String>, Py<PyAny>),
}

/// A run as the caller describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    problems: Vec<Py<ProblemBase>>,
    policies: Vec<Named>,
    trials: usize,
    first_trial: usize,
    steps: usize,
    seed: u64,
    propensities: bool,
    jobs: usize,
    out: PathBuf,
    suite: String,
    command: Vec<String>,
    /// Called with the progress of the run.
    show: Option<Py<PyAny>>,
    /// How many processes play the trials of Python policies, and what hands them a trial.
    processes: usize,
    submit: Option<Py<PyAny>>,
}

/// Runs what is missing. Returns how it went.
#[pyfunction]
pub(crate) fn run<'py>(py: Python<'py>, asked: Asked) -> PyResult<Bound<'py, PyDict>> {
    let Asked { show, submit, processes, .. } = &asked;
    let experiment = experiment(py, &asked)?;
    let stop = AtomicBool::new(false);
    let live = Live::default();
    let player = submit.as_ref().map(|submit| Processes { n: *processes, submit });
    let (outcome, was_interrupted) = py.detach(|| {
        let (sender, receiver) = channel();
        let (experiment, player, live, stop) = (&experiment, &player, &live, &stop);
        thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let outcome = match player {
                    Some(player) => experiment.run_external(player, live, stop),
                    None => experiment.run(live, stop),
                };
                // Wakes the loop below at once.
                let _ = sender.send(());
                outcome
            });
            let mut interrupt = None;
            while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(TICK) {
                let tick = Python::attach(|py| {
                    py.check_signals()?;
                    match show {
                        Some(show) if interrupt.is_none() => live.show(py, show),
                        _ => Ok(()),
                    }
                });
                if let Err(error) = tick {
                    stop.store(true, Ordering::Relaxed);
                    interrupt.get_or_insert(error);
                }
            }
            let outcome = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (outcome, interrupt)
        })
    });
    let outcome = outcome.map_err(of_bench)?;
    if let Some(error) = &was_interrupted
        && !error.is_instance_of::<PyKeyboardInterrupt>(py)
    {
        return Err(error.clone_ref(py));
    }
    if let Some(show) = show.as_ref().filter(|_| !outcome.interrupted) {
        live.show(py, show)?;
    }
    // Ctrl-C may come when all trials have ended.
    describe(py, &outcome, outcome.interrupted || was_interrupted.is_some())
}

fn experiment(py: Python<'_>, asked: &Asked) -> PyResult<Experiment> {
    let mut registry = Registry::standard();
    for policy in &asked.policies {
        if let Named::Factory(name, version, factory) = policy {
            let (its_name, factory) = (name.clone(), factory.clone_ref(py));
            let build = move |shape, seed| {
                Ok(Box::new(Foreign::build(&its_name, &factory, shape, seed)?) as Box<dyn locus::Policy>)
            };
            registry = registry.with_external(name, version.as_deref(), build).map_err(of_policy)?;
        }
    }
    let spec = |policy: &Named| match policy {
        Named::Text(text) | Named::Factory(text, ..) => registry.parse(text).map_err(of_policy),
    };
    let policies = asked.policies.iter().map(spec).collect::<PyResult<Vec<PolicySpec>>>()?;
    let problems: Vec<Loaded> = asked.problems.iter().map(|problem| problem.get().loaded.clone()).collect();
    Ok(Experiment {
        suite: asked.suite.clone(),
        command: asked.command.clone(),
        problems,
        registry,
        policies,
        trials: asked.trials,
        first_trial: asked.first_trial,
        steps: asked.steps,
        seed: Seed::new(asked.seed),
        propensities: asked.propensities,
        jobs: asked.jobs,
        part: Part::All,
        out: asked.out.clone(),
    })
}

fn describe<'py>(py: Python<'py>, outcome: &RunOutcome, interrupted: bool) -> PyResult<Bound<'py, PyDict>> {
    let RunOutcome { ran, skipped, failed, discarded, warnings, .. } = outcome;
    let described = PyDict::new(py);
    described.set_item("ran", ran)?;
    described.set_item("skipped", skipped)?;
    let failure =
        |row: &TrialRow| format!("{}: {}", row.id, row.outcome.as_ref().err().map_or("", String::as_str));
    described.set_item("failed", failed.iter().map(failure).collect::<Vec<_>>())?;
    described.set_item("interrupted", interrupted)?;
    described.set_item("discarded", discarded)?;
    described.set_item("warnings", warnings.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    Ok(described)
}

/// The progress of a run, for whoever asks.
struct Live {
    started: Instant,
    standing: Mutex<Option<Standing>>,
}

impl Default for Live {
    #[allow(clippy::disallowed_methods, reason = "time itself is shown")]
    fn default() -> Self {
        Self { started: Instant::now(), standing: Mutex::default() }
    }
}

impl Live {
    fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn with(&self, change: impl FnOnce(&mut Standing)) {
        if let Some(standing) = &mut *self.standing.lock().unwrap_or_else(PoisonError::into_inner) {
            change(standing);
        }
    }

    /// Calls `show(trials ended, trials asked for, part of the work done, seconds gone, seconds left)`.
    fn show(&self, py: Python<'_>, show: &Py<PyAny>) -> PyResult<()> {
        let mut shown = None;
        self.with(|standing| {
            standing.tick(self.now());
            let total = standing.total();
            let ended = total.done + total.failed;
            shown = Some((ended, total.asked, standing.fraction(), self.now(), standing.wall_seconds_left()));
        });
        match shown {
            Some(shown) => show.call1(py, shown).map(drop),
            None => Ok(()),
        }
    }
}

impl Progress for Live {
    fn planned(&self, plan: &Plan) {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan.standing.clone());
    }

    fn started(&self, id: &TrialId) {
        self.with(|standing| standing.start(id, self.now()));
    }

    fn stepped(&self, id: &TrialId, more_steps: usize) {
        self.with(|standing| standing.step(id, more_steps, self.now()));
    }

    fn finished(&self, row: &TrialRow) {
        self.with(|standing| standing.record(row));
    }
}

/// Plays trials of Python policies in other processes. `submit` gives a `concurrent.futures.Future`.
struct Processes<'a> {
    n: usize,
    submit: &'a Py<PyAny>,
}

impl PlayExternal for Processes<'_> {
    fn jobs(&self) -> usize {
        self.n
    }

    fn play(&self, trial: &ExternalTrial<'_>, stop: &dyn Stop) -> Result<TrialResult, locus_bench::Error> {
        let ExternalTrial { policy, sequence, seed, propensities, .. } = *trial;
        let future = Python::attach(|py| {
            let (contexts, rewards, best) = sequence_arrays(py, sequence)?;
            let arguments = (policy.id(), contexts, rewards, best, seed.number(), propensities);
            self.submit.call1(py, arguments)
        });
        let future = future.map_err(|error| locus_bench::Error::other(error.to_string()))?;
        loop {
            if stop.is_set() {
                Python::attach(|py| drop(future.call_method0(py, "cancel")));
                return Err(locus_bench::Error::interrupted());
            }
            let answer = Python::attach(|py| -> PyResult<Option<Played>> {
                let waited =
                    py.import("concurrent.futures")?.call_method1("wait", ([&future], TICK.as_secs_f64()))?;
                if waited.getattr("done")?.len()? == 0 {
                    return Ok(None);
                }
                future.call_method0(py, "result")?.extract(py).map(Some)
            });
            match answer {
                Ok(None) => {}
                Ok(Some(Played::Result(regrets, actions, choosing, learning, cpu))) => {
                    return Ok(TrialResult {
                        regrets,
                        actions,
                        seconds_choosing: choosing,
                        seconds_learning: learning,
                        cpu_seconds: cpu,
                        interventions: 0,
                    });
                }
                Ok(Some(Played::Failure(message))) => return Err(locus_bench::Error::other(message)),
                Err(error) => {
                    return Err(locus_bench::Error::other(format!("the process of the trial: {error}")));
                }
            }
        }
    }
}

/// What came back from another process.
#[derive(FromPyObject)]
enum Played {
    Result(Vec<f64>, Vec<u32>, f64, f64, Option<f64>),
    Failure(String),
}

/// Plays one trial of a Python policy, in a process of its own. Returns what `Processes` reads.
#[pyfunction]
pub(crate) fn play_trial<'py>(
    py: Python<'py>,
    name: &str,
    factory: Py<PyAny>,
    rounds: (PyReadonlyArray2<'py, f32>, PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>),
    seed: u64,
    propensities: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (contexts, rewards, best) = rounds;
    let shape = Shape::new(contexts.as_array().ncols(), rewards.as_array().ncols());
    let (contexts, rewards, best) =
        (contexts.as_slice()?.to_vec(), rewards.as_slice()?.to_vec(), best.as_slice()?.to_vec());
    let played = py.detach(|| -> Result<TrialResult, String> {
        let sequence = Sequence::new(shape, contexts, rewards, best).map_err(|error| error.to_string())?;
        let policy = Foreign::build(name, &factory, shape, Seed::new(seed));
        // The same words as for policies that fail in the process of the run.
        let mut policy = policy.map_err(|error| format!("round 0: {error}"))?;
        let never = AtomicBool::new(false);
        let played = match propensities {
            true => run_trial_with_propensities(&sequence, &mut policy, &mut (), &never),
            false => run_trial(&sequence, &mut policy, &mut (), &never),
        };
        played.map_err(|error| error.to_string())
    });
    match played {
        Ok(TrialResult { regrets, actions, seconds_choosing, seconds_learning, cpu_seconds, .. }) => {
            let result = (regrets, actions, seconds_choosing, seconds_learning, cpu_seconds);
            Ok(result.into_pyobject(py)?.into_any())
        }
        Err(message) => Ok(message.into_pyobject(py)?.into_any()),
    }
}

/// A suite: its problems by name, CSV and NPZ files, policies, trials, first trial, steps, seed and propensities.
#[pyfunction]
pub(crate) fn suite<'py>(py: Python<'py>, name: &str, data: Option<PathBuf>) -> PyResult<Bound<'py, PyDict>> {
    let mut suite = Suite::load(name, &Registry::standard()).map_err(of_bench)?;
    let is_available =
        |name: &str| locus_bench::problem::is_available(name, data.as_deref()).unwrap_or(false);
    let note = suite.substitute_census(is_available);
    let described = PyDict::new(py);
    described.set_item("problems", suite.problems)?;
    let csv = suite.csv.iter().map(|csv| {
        let options = &csv.options;
        let delimiter = char::from(options.delimiter).to_string();
        let columns = (&options.ignore, &options.categorical, &options.numeric);
        (csv.file.clone(), csv.label.clone(), columns, options.missing.name(), delimiter)
    });
    let list = PyList::empty(py);
    for (file, label, (ignore, categorical, numeric), missing, delimiter) in csv {
        list.append((file, label, ignore, categorical, numeric, missing, delimiter))?;
    }
    described.set_item("csv", list)?;
    described.set_item("npz", suite.npz)?;
    described.set_item("policies", suite.policies.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    described.set_item("trials", suite.trials)?;
    described.set_item("first_trial", suite.first_trial)?;
    described.set_item("steps", suite.steps)?;
    described.set_item("seed", suite.seed.number())?;
    described.set_item("propensities", suite.propensities)?;
    described.set_item("note", note)?;
    Ok(described)
}

/// The rows of `trials.csv`, column by column, and warnings.
#[pyfunction]
pub(crate) fn trials<'py>(py: Python<'py>, out: PathBuf) -> PyResult<(Bound<'py, PyDict>, Vec<String>)> {
    let (rows, damages) = py.detach(|| read_readable_trials(&out)).map_err(of_bench)?;
    let columns = PyDict::new(py);
    let texts = |text: fn(&TrialRow) -> String| rows.iter().map(text).collect::<Vec<_>>();
    let whole = |number: fn(&TrialRow) -> u64| rows.iter().map(number).collect::<Vec<_>>();
    let measured = |number: fn(&locus_bench::record::Measured) -> Option<f64>| {
        let of_row = |row: &TrialRow| row.outcome.as_ref().ok().and_then(number).unwrap_or(f64::NAN);
        rows.iter().map(of_row).collect::<Vec<f64>>()
    };
    columns.set_item("problem", texts(|row| row.id.problem.clone()))?;
    columns.set_item("policy", texts(|row| row.id.policy.clone()))?;
    columns.set_item("trial", whole(|row| row.id.trial as u64).into_pyarray(py))?;
    columns.set_item("seed", whole(|row| row.seed).into_pyarray(py))?;
    columns.set_item("steps", whole(|row| row.steps as u64).into_pyarray(py))?;
    columns.set_item("cumulative_regret", measured(|row| Some(row.cumulative_regret)).into_pyarray(py))?;
    columns.set_item("simple_regret", measured(|row| Some(row.simple_regret)).into_pyarray(py))?;
    columns.set_item("seconds_choosing", measured(|row| Some(row.seconds_choosing)).into_pyarray(py))?;
    columns.set_item("seconds_learning", measured(|row| Some(row.seconds_learning)).into_pyarray(py))?;
    columns.set_item("cpu_seconds", measured(|row| row.cpu_seconds).into_pyarray(py))?;
    columns
        .set_item("interventions", measured(|row| row.interventions.map(|n| n as f64)).into_pyarray(py))?;
    columns.set_item("version", texts(|row| row.version.clone()))?;
    columns.set_item("error", texts(|row| row.outcome.as_ref().err().cloned().unwrap_or_default()))?;
    Ok((columns, damages.iter().map(ToString::to_string).collect()))
}

/// A table of a run in one of the formats `text`, `markdown`, `csv` and `latex`; against a policy if one is given.
#[pyfunction]
#[pyo3(signature = (out, metric, format, policies, problems, against))]
pub(crate) fn table(
    py: Python<'_>,
    out: PathBuf,
    metric: &str,
    format: &str,
    policies: Vec<String>,
    problems: Vec<String>,
    against: Option<&str>,
) -> PyResult<String> {
    let metric: Metric = metric.parse().map_err(of_bench)?;
    let format: Format = format.parse().map_err(of_bench)?;
    let recorded = |policy: &str| -> PyResult<String> {
        PolicyText::parse(policy).map_err(of_policy)?;
        Ok(Registry::standard().parse(policy).map_or(policy.to_owned(), |spec| spec.to_string()))
    };
    let against = against.map(recorded).transpose()?;
    let mut policies = policies.iter().map(|policy| recorded(policy)).collect::<PyResult<Vec<_>>>()?;
    if let Some(reference) =
        against.as_ref().filter(|reference| !policies.is_empty() && !policies.contains(reference))
    {
        policies.push(reference.clone());
    }
    let selection = Selection { policies, problems };
    py.detach(|| {
        let (mut rows, _) = read_readable_trials(&out).map_err(of_bench)?;
        if rows.is_empty() {
            return invalid(format!("no trial in `{}` has ended yet", out.display()));
        }
        selection.check(rows.iter()).map_err(of_bench)?;
        selection.retain(&mut rows);
        let Some(reference) = against else { return Ok(Table::new(&rows, metric).render(format)) };
        if !metric.is_normalized() {
            return invalid("`compare` compares regrets, expected metric cumulative or simple".to_owned());
        }
        let named = Selection { policies: vec![reference.clone()], problems: Vec::new() };
        named.check(rows.iter()).map_err(of_bench)?;
        let pairs = Pairs::new(&rows, metric, &reference);
        if !pairs.has_any() {
            return invalid(format!("no other policy has a trial in common with `{reference}`"));
        }
        Ok(pairs.render(format, Down::Problems))
    })
}

/// Writes the report of a run: the page, the figures and warnings.
#[pyfunction]
pub(crate) fn report(
    py: Python<'_>,
    outs: Vec<PathBuf>,
    output: Option<PathBuf>,
) -> PyResult<(PathBuf, Vec<PathBuf>, Vec<String>)> {
    let written = py
        .detach(|| write_report(&outs, output.as_deref(), &Selection::default(), &Registry::standard()))
        .map_err(of_bench)?;
    Ok((written.page, written.figures, written.warnings))
}

/// Runs the `locus` command. Returns its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, words: Vec<std::ffi::OsString>) -> PyResult<u8> {
    if words.is_empty() {
        return Err(PyValueError::new_err("the command has no words, expected its name at least"));
    }
    Ok(py.detach(|| locus_cli::run(words, &Registry::standard())))
}
