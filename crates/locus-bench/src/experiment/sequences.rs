//! The sequences of running trials, each created once for all policies and dropped after the last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::plan::Job;
use crate::problem::Sequence;

/// A problem, by place in the experiment's list, and a trial.
type Key = (usize, usize);
/// Made by the first policy that needs it, while the others wait.
type Slot = Arc<OnceLock<Result<Sequence, String>>>;

/// Holds those of about two trials of every problem, because trials run level by level (see `queue`).
pub(super) struct Sequences {
    slots: Mutex<HashMap<Key, (Slot, usize)>>,
}

impl Sequences {
    pub(super) fn new<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Self {
        let mut slots: HashMap<Key, (Slot, usize)> = HashMap::new();
        for job in jobs {
            slots.entry((job.problem, job.id.trial)).or_default().1 += 1;
        }
        Self { slots: Mutex::new(slots) }
    }

    /// Takes the place of the sequence of `job`; to be called once for each job.
    pub(super) fn take(&self, job: &Job) -> Slot {
        let key = (job.problem, job.id.trial);
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((slot, n_waiting)) = slots.get_mut(&key) else {
            return Slot::default();
        };
        let slot = Arc::clone(slot);
        *n_waiting -= 1;
        if *n_waiting == 0 {
            slots.remove(&key);
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::TrialId;
    use locus::Shape;

    #[test]
    fn a_sequence_is_shared_and_then_let_go() {
        let job = |policy: usize, trial| Job {
            id: TrialId { problem: "p".to_owned(), policy: policy.to_string(), trial },
            problem: 0,
            policy,
        };
        let jobs = [job(0, 0), job(1, 0), job(0, 1)];
        let sequences = Sequences::new(&jobs);
        let first = sequences.take(&jobs[0]);
        first.get_or_init(|| Ok(Sequence::new(Shape::new(1, 1), vec![], vec![], vec![]).unwrap()));
        let second = sequences.take(&jobs[1]);
        assert!(second.get().is_some());
        assert!(sequences.take(&jobs[2]).get().is_none());
        assert!(sequences.slots.lock().unwrap().is_empty());
        assert_eq!(Arc::strong_count(&first), 2);
    }
}
