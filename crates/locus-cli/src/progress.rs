//! What a run shows while it goes on: a live view on a terminal, a line per trial elsewhere.
//!
//! Trials only note how far they are; a thread of its own draws that a few times a second. So a terminal that is slow, or
//! stopped with Ctrl-S, holds up nobody.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use locus_bench::experiment::{Plan, Progress, Standing};
use locus_bench::record::TrialRow;
use locus_bench::trial::TrialId;

use crate::layout::{Paint, frame};
use crate::output::tell;
use crate::screen::Screen;
use crate::words::measured_duration;

/// Between two drawings.
const TICK: Duration = Duration::from_millis(250);

/// Watches a run.
pub(crate) struct Watcher {
    /// On a terminal.
    view: Option<Arc<View>>,
    /// Trials that ended in this run, and how many there are to run.
    counts: Mutex<(usize, usize)>,
}

/// What is shown on a terminal.
struct View {
    screen: Mutex<Screen>,
    state: Mutex<State>,
    /// Wakes the thread that draws when the run has ended.
    ended: Condvar,
    drawing: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    /// How far the run is, and when it began.
    run: Option<(Standing, Instant)>,
    /// What is to be said above the view.
    unsaid: Vec<String>,
    has_ended: bool,
}

impl Watcher {
    pub(crate) fn new() -> Self {
        let view = Screen::new().map(|screen| {
            Arc::new(View {
                screen: Mutex::new(screen),
                state: Mutex::default(),
                ended: Condvar::new(),
                drawing: Mutex::default(),
            })
        });
        Self { view, counts: Mutex::default() }
    }

    /// Says something, above the view if there is one.
    pub(crate) fn say(&self, line: &str) {
        match &self.view {
            Some(view) => {
                let mut screen = locked(&view.screen);
                let lines = view.lines(&screen).unwrap_or_default();
                screen.show(&[line.to_owned()], lines);
            }
            None => tell(line),
        }
    }

    /// Takes the view away, for good.
    pub(crate) fn finish(&self) {
        if let Some(view) = &self.view {
            view.finish();
        }
    }

    /// The same at once, for a process that is about to end: whoever is drawing is not waited for.
    pub(crate) fn leave(&self) {
        if let Some(view) = &self.view
            && let Ok(mut screen) = view.screen.try_lock()
        {
            screen.clear();
        }
    }
}

impl View {
    /// What to show now; `None` before there is a plan, and after the end.
    fn lines(&self, screen: &Screen) -> Option<Vec<String>> {
        let size = screen.size();
        let state = locked(&self.state);
        let (standing, begun) = state.run.as_ref().filter(|_| !state.has_ended)?;
        Some(frame(standing, begun.elapsed().as_secs_f64(), size, &Paint::stderr()))
    }

    fn draw(&self) {
        let mut screen = locked(&self.screen);
        if let Some(lines) = self.lines(&screen) {
            let said = std::mem::take(&mut locked(&self.state).unsaid);
            screen.show(&said, lines);
        }
    }

    /// Draws until the run has ended.
    fn keep_drawing(&self) {
        loop {
            self.draw();
            let state = locked(&self.state);
            let waited = self.ended.wait_timeout_while(state, TICK, |state| !state.has_ended);
            if waited.unwrap_or_else(PoisonError::into_inner).0.has_ended {
                return;
            }
        }
    }

    fn finish(&self) {
        locked(&self.state).has_ended = true;
        self.ended.notify_all();
        if let Some(drawing) = locked(&self.drawing).take() {
            // It cannot panic; if it did, there would be nothing more to draw.
            let _ = drawing.join();
        }
        let said = std::mem::take(&mut locked(&self.state).unsaid);
        let mut screen = locked(&self.screen);
        if said.is_empty() {
            screen.clear();
        } else {
            screen.show(&said, Vec::new());
        }
    }
}

impl Progress for Watcher {
    fn planned(&self, plan: &Plan) {
        locked(&self.counts).1 = plan.missing.len();
        if let Some(view) = self.view.as_ref().filter(|_| !plan.missing.is_empty()) {
            locked(&view.state).run = Some((plan.standing.clone(), now()));
            let drawn = Arc::clone(view);
            *locked(&view.drawing) = Some(thread::spawn(move || drawn.keep_drawing()));
        }
    }

    fn started(&self, trial: &TrialId) {
        self.note(|standing| standing.start(trial));
    }

    fn stepped(&self, trial: &TrialId, more_steps: usize) {
        self.note(|standing| standing.step(trial, more_steps));
    }

    fn finished(&self, row: &TrialRow) {
        let line = match &row.outcome {
            Ok(measured) => {
                let (regret, seconds) = (measured.cumulative_regret, measured_duration(measured.seconds()));
                format!("{}: regret {regret:.2} in {seconds}", row.id)
            }
            Err(error) => format!("{}: failed: {error}", row.id),
        };
        // Held to the end, so that lines come in the order of their numbers.
        let mut counts = locked(&self.counts);
        counts.0 += 1;
        match &self.view {
            Some(view) => {
                self.note(|standing| standing.record(row));
                if row.outcome.is_err() {
                    locked(&view.state).unsaid.push(line);
                }
            }
            None => tell(&format!("[{}/{}] {line}", counts.0, counts.1)),
        }
    }
}

impl Watcher {
    fn note(&self, change: impl FnOnce(&mut Standing)) {
        if let Some(view) = &self.view
            && let Some((standing, _)) = &mut locked(&view.state).run
        {
            change(standing);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(clippy::disallowed_methods)] // It is shown, and no result depends on it.
fn now() -> Instant {
    Instant::now()
}
