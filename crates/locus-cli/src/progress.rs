//! What a run shows while it goes on: a bar on a terminal, a line per trial elsewhere.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use locus_bench::experiment::{Plan, Progress};
use locus_bench::record::TrialRow;
use locus_bench::trial::TrialId;

use crate::output::tell;
use crate::words::{count, measured_duration};

/// The bar of a run, or its lines.
pub(crate) struct Watcher {
    steps: usize,
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    n_ended: usize,
    n_all: usize,
    /// The steps that trials under way have taken: what a trial that fails leaves out, the bar has to skip.
    taken: HashMap<TrialId, usize>,
}

impl Watcher {
    /// For trials of this many steps.
    pub(crate) fn new(steps: usize) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let template = "{bar:32} {percent:>3} %  {elapsed} gone, {left} left  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("left", time_left).progress_chars("━╸─"));
        }
        // The bar hides itself where standard error is no terminal, or one that cannot redraw a line.
        Self { steps, bar: (!bar.is_hidden()).then_some(bar), state: Mutex::default() }
    }

    /// Says something, above the bar if there is one.
    pub(crate) fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(line)),
            None => tell(line),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Before the first step nothing is known, which indicatif's own `eta` shows as no time at all.
pub(crate) fn time_left(state: &ProgressState, out: &mut dyn fmt::Write) {
    let _ = match state.pos() {
        0 => out.write_char('?'),
        _ => write!(out, "{:#}", HumanDuration(state.eta())),
    };
}

impl Progress for Watcher {
    fn planned(&self, plan: &Plan) {
        let n_all = plan.missing.len();
        self.state().n_all = n_all;
        if let Some(bar) = self.bar.as_ref().filter(|_| n_all > 0) {
            bar.set_length((n_all * self.steps) as u64);
            bar.set_message(format!("0 of {}", count(n_all, "trial")));
            // Time goes on also while slow trials take no step.
            bar.enable_steady_tick(Duration::from_millis(500));
        }
    }

    fn stepped(&self, trial: &TrialId, more_steps: usize) {
        if let Some(bar) = &self.bar {
            *self.state().taken.entry(trial.clone()).or_default() += more_steps;
            bar.inc(more_steps as u64);
        }
    }

    fn finished(&self, row: &TrialRow) {
        // Held to the end, so that lines come in the order of their numbers.
        let mut state = self.state();
        state.n_ended += 1;
        let n_taken = state.taken.remove(&row.id).unwrap_or(0);
        let line = match &row.outcome {
            Ok(measured) => format!(
                "{}: regret {:.2} in {}",
                row.id,
                measured.cumulative_regret,
                measured_duration(measured.seconds_choosing + measured.seconds_learning)
            ),
            Err(error) => format!("{}: failed: {error}", row.id),
        };
        match &self.bar {
            Some(bar) => {
                if row.outcome.is_err() {
                    self.say(&line);
                }
                bar.inc(self.steps.saturating_sub(n_taken) as u64);
                bar.set_message(format!("{} of {}", state.n_ended, count(state.n_all, "trial")));
            }
            None => tell(&format!("[{}/{}] {line}", state.n_ended, state.n_all)),
        }
    }
}
