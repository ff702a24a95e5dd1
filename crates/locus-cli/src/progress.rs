//! Shows the progress of a run: bars on a terminal, a line per trial elsewhere.
//!
//! Trials only update a [`Standing`], and a thread draws it a few times per second. So a terminal that is slow, or paused
//! with Ctrl-S, does not delay trials; only a trial that fails waits until its error is printed.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use console::Term;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use locus_bench::experiment::{Plan, Progress, Standing};
use locus_bench::record::TrialRow;
use locus_bench::trial::TrialId;

use crate::layout::bars;
use crate::output::tell;
use crate::words::measured_duration;

/// Time between two drawings.
const TICK: Duration = Duration::from_millis(250);
/// The length of every bar; its position is the completed fraction of that.
const LENGTH: f64 = 1000.0;

/// A bar, and a text that indicatif clips to the width of the terminal.
const LINE: &str = "{bar:8./dim} {wide_msg}";
/// The same, and then the cursor goes back to the start of the line. At the end of the line, where indicatif leaves it, the
/// `^C` that a terminal echoes would wrap to the next line, and indicatif would miss the first bar when it clears them.
const LAST_LINE: &str = "{bar:8./dim} {wide_msg}\x1b[G";

/// Watches a run.
pub(crate) struct Watcher {
    /// What is printed once there is a plan.
    headline: Headline,
    /// Hidden if standard error is not a terminal, or is one that cannot redraw a line.
    bars: MultiProgress,
    /// Set once there is a plan, if the bars are not hidden.
    view: OnceLock<Arc<View>>,
    /// Trials that ended in this run, and trials to run.
    counts: Mutex<(usize, usize)>,
}

/// Formats the headline of a plan.
type Headline = Box<dyn Fn(&Plan) -> String + Send + Sync>;

/// The bars on a terminal, and what they show.
struct View {
    /// The run's bar, then one per policy.
    bars: Vec<ProgressBar>,
    standing: Mutex<Standing>,
}

impl Watcher {
    pub(crate) fn new() -> Self {
        Self::with_headline(|_| String::new())
    }

    /// Prints the `headline` of the plan before the first trial.
    pub(crate) fn with_headline(headline: impl Fn(&Plan) -> String + Send + Sync + 'static) -> Self {
        let headline = Box::new(headline);
        Self { headline, bars: MultiProgress::new(), view: OnceLock::new(), counts: Mutex::default() }
    }

    /// Prints a line to standard error, above the bars if there are any.
    pub(crate) fn say(&self, line: &str) {
        match self.view.get() {
            // Not `suspend`, which panics if the terminal is gone.
            Some(_) => drop(self.bars.println(line)),
            None => tell(line),
        }
    }

    /// Removes the bars for good.
    pub(crate) fn finish(&self) {
        self.view.get().iter().flat_map(|view| &view.bars).for_each(ProgressBar::finish_and_clear);
    }

    /// Passes a change to the view, with the seconds since it was first shown.
    fn update(&self, change: impl FnOnce(&mut Standing, f64)) {
        if let Some(view) = self.view.get() {
            let elapsed = view.elapsed();
            change(&mut locked(&view.standing), elapsed);
        }
    }
}

impl View {
    fn new(parent: &MultiProgress, standing: Standing) -> Self {
        let style = |template: &str| {
            let style =
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            style.progress_chars("━╸─")
        };
        // The last line must not be clipped by indicatif, because it places the cursor.
        let height = usize::from(Term::stderr().size().0);
        let n_bars = (1 + standing.policies().len()).min(height.max(1));
        let bar = |place| {
            let bar = parent.add(ProgressBar::new(LENGTH as u64));
            bar.set_style(style(if place + 1 == n_bars { LAST_LINE } else { LINE }));
            bar
        };
        Self { bars: (0..n_bars).map(bar).collect(), standing: Mutex::new(standing) }
    }

    fn elapsed(&self) -> f64 {
        self.bars[0].elapsed().as_secs_f64()
    }

    fn draw(&self) {
        let elapsed = self.elapsed();
        // The lock is released before anything is drawn.
        let texts = {
            let mut standing = locked(&self.standing);
            standing.tick(elapsed);
            bars(&standing, elapsed)
        };
        for (bar, (fraction, text)) in self.bars.iter().zip(texts) {
            bar.set_position((fraction * LENGTH) as u64);
            bar.set_message(text);
        }
    }

    /// Draws until the bars are removed or the terminal is gone: unwritten output would accumulate in memory.
    fn keep_drawing(&self) {
        while !self.bars[0].is_finished() && io::stderr().is_terminal() {
            self.draw();
            thread::sleep(TICK);
        }
    }
}

impl Progress for Watcher {
    fn planned(&self, plan: &Plan) {
        locked(&self.counts).1 = plan.missing.len();
        (self.headline)(plan).lines().for_each(tell);
        if !self.bars.is_hidden() && !plan.missing.is_empty() {
            let view = self.view.get_or_init(|| Arc::new(View::new(&self.bars, plan.standing.clone())));
            view.draw();
            let view = Arc::clone(view);
            thread::spawn(move || view.keep_drawing());
        }
    }

    fn started(&self, trial: &TrialId) {
        self.update(|standing, now| standing.start(trial, now));
    }

    fn stepped(&self, trial: &TrialId, more_steps: usize) {
        self.update(|standing, now| standing.step(trial, more_steps, now));
    }

    fn finished(&self, row: &TrialRow) {
        self.update(|standing, _| standing.record(row));
        let line = match &row.outcome {
            Ok(measured) => {
                let (regret, seconds) = (measured.cumulative_regret, measured_duration(measured.seconds()));
                format!("{}: regret {regret:.2} in {seconds}", row.id)
            }
            Err(error) => format!("{}: failed: {error}", row.id),
        };
        // Locked until the line is printed, so that lines appear in the order of their numbers.
        let mut counts = locked(&self.counts);
        counts.0 += 1;
        match self.view.get() {
            Some(_) if row.outcome.is_err() => self.say(&line),
            Some(_) => {}
            None => tell(&format!("[{}/{}] {line}", counts.0, counts.1)),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
