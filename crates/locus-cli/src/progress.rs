//! What a run shows while it goes on: a bar on a terminal, a line per trial elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};
use locus_bench::experiment::{Plan, Progress};
use locus_bench::record::TrialRow;
use locus_bench::trial::TrialId;

/// The bar of a run, or its lines.
pub(crate) struct Watcher {
    steps: usize,
    bar: Option<ProgressBar>,
    /// Trials that have ended, and all that were to run.
    count: Mutex<(usize, usize)>,
}

impl Watcher {
    /// For trials of this many steps.
    pub(crate) fn new(steps: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(ProgressBar::hidden);
        Self { steps, bar, count: Mutex::default() }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Watcher {
    fn planned(&self, plan: &Plan) {
        self.count.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).1 = plan.missing.len();
        let Some(bar) = &self.bar else { return };
        bar.set_length((plan.missing.len() * self.steps) as u64);
        let template = "{bar:32} {percent:>3} %  {elapsed} gone, {eta} left  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
    }

    fn stepped(&self, _: &TrialId, more_steps: usize) {
        if let Some(bar) = &self.bar {
            bar.inc(more_steps as u64);
        }
    }

    fn finished(&self, row: &TrialRow) {
        let mut count = self.count.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        count.0 += 1;
        let (done, all) = *count;
        let line = match &row.outcome {
            Ok(measured) => format!(
                "{}: regret {:.2} in {:.2} s",
                row.id,
                measured.cumulative_regret,
                measured.seconds_choosing + measured.seconds_learning
            ),
            Err(error) => format!("{}: failed: {error}", row.id),
        };
        match &self.bar {
            Some(bar) => {
                if row.outcome.is_err() {
                    bar.println(&line);
                }
                bar.set_message(format!("trial {done} of {all}"));
            }
            None => eprintln!("[{done}/{all}] {line}"),
        }
    }
}
