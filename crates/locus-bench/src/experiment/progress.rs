//! Watching an experiment while it runs.

use super::Plan;
use crate::observer::{Observer, Step};
use crate::record::TrialRow;
use crate::trial::TrialId;

/// Watches an experiment; `()` watches nothing.
///
/// Methods are called from all its threads; their defaults are empty.
pub trait Progress: Sync {
    /// Before the first trial.
    fn planned(&self, _: &Plan) {}
    /// A trial begins.
    fn started(&self, _: &TrialId) {}
    /// A trial has taken this many steps more, a few dozen at a time.
    fn stepped(&self, _: &TrialId, _more_steps: usize) {}
    /// A trial has ended, well or not, and its row is written.
    fn finished(&self, _: &TrialRow) {}
}

impl Progress for () {}

/// Steps between two calls of [`Progress::stepped`].
pub(super) const STEPS_AT_A_TIME: usize = 50;

/// Passes the steps of one trial on.
pub(crate) struct Watch<'a> {
    progress: &'a dyn Progress,
    id: &'a TrialId,
    untold: usize,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(progress: &'a dyn Progress, id: &'a TrialId) -> Self {
        Self { progress, id, untold: 0 }
    }

    fn tell(&mut self) {
        if self.untold > 0 {
            self.progress.stepped(self.id, std::mem::take(&mut self.untold));
        }
    }
}

impl Observer for Watch<'_> {
    fn stepped(&mut self, _: &Step<'_>) {
        self.untold += 1;
        if self.untold == STEPS_AT_A_TIME {
            self.tell();
        }
    }

    fn finished(&mut self, _: &crate::trial::TrialResult) {
        self.tell();
    }
}
