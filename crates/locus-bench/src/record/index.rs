//! The places of trials in a list, by their names, without a copy of the names for each trial.

use std::collections::HashMap;

use crate::trial::TrialId;

/// A map from trials to places. A million trials take tens of megabytes; with a [`TrialId`] for each they would take hundreds.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrialIndex {
    /// By problem, policy and number.
    problems: HashMap<String, HashMap<String, HashMap<usize, usize>>>,
}

impl TrialIndex {
    /// Of `ids`, in their order.
    pub(crate) fn of<'a>(ids: impl Iterator<Item = &'a TrialId>) -> Self {
        let mut index = Self::default();
        ids.enumerate().for_each(|(place, id)| index.insert(id, place));
        index
    }

    pub(crate) fn get(&self, id: &TrialId) -> Option<usize> {
        self.problems.get(&id.problem)?.get(&id.policy)?.get(&id.trial).copied()
    }

    pub(crate) fn insert(&mut self, id: &TrialId, place: usize) {
        // `entry` would copy the names each time.
        if !self.problems.contains_key(&id.problem) {
            self.problems.insert(id.problem.clone(), HashMap::new());
        }
        let Some(policies) = self.problems.get_mut(&id.problem) else { return };
        if !policies.contains_key(&id.policy) {
            policies.insert(id.policy.clone(), HashMap::new());
        }
        if let Some(trials) = policies.get_mut(&id.policy) {
            trials.insert(id.trial, place);
        }
    }
}
