//! The selected part of a run.

use std::collections::HashSet;

use locus::did_you_mean;

use super::TrialRow;
use crate::Error;
use crate::error::ErrorKind;
use crate::experiment::UNIFORM;
use crate::trial::TrialId;

/// The selected policies and problems of a run, by their names in `trials.csv`; empty means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The policies in canonical form. Uniform is always included, because regret is normalized by it.
    pub policies: Vec<String>,
    /// The problems. If empty, those on which any of the policies ran.
    pub problems: Vec<String>,
}

impl Selection {
    /// Whether everything is selected.
    pub fn is_all(&self) -> bool {
        self.policies.is_empty() && self.problems.is_empty()
    }

    /// Fails if no row has a selected policy or problem, or if no row is selected.
    pub fn check<'a>(&self, rows: impl Iterator<Item = &'a TrialRow> + Clone) -> Result<(), Error> {
        let check = |what, named: &[String], name_of: fn(&TrialRow) -> &str| {
            let has_run = |name: &String| rows.clone().any(|row| name_of(row) == name);
            let Some(found) = named.iter().find(|name| !has_run(name)) else { return Ok(()) };
            let mut known: Vec<&str> = rows.clone().map(name_of).collect();
            known.sort_unstable();
            known.dedup();
            let hint = did_you_mean(found, known.iter().copied());
            Err(ErrorKind::NotInRun { what, found: found.clone(), hint, known: known.join(", ") })
        };
        check("policy", &self.policies, |row| &row.id.policy)?;
        check("problem", &self.problems, |row| &row.id.problem)?;
        let is_empty = !self.is_all() && !self.picks(rows.map(|row| &row.id)).contains(&true);
        if is_empty { Err(ErrorKind::NothingTogether.into()) } else { Ok(()) }
    }

    /// Which of these trials are selected.
    pub(crate) fn picks<'a>(&self, ids: impl Iterator<Item = &'a TrialId> + Clone) -> Vec<bool> {
        let has_others = self.policies.iter().any(|policy| policy != UNIFORM);
        let with_others: HashSet<&str> = ids
            .clone()
            .filter(|id| self.policies.contains(&id.policy) && id.policy != UNIFORM)
            .map(|id| id.problem.as_str())
            .collect();
        let is_asked_for = |id: &TrialId| {
            (self.policies.is_empty() || id.policy == UNIFORM || self.policies.contains(&id.policy))
                && (!has_others || with_others.contains(id.problem.as_str()))
                && (self.problems.is_empty() || self.problems.contains(&id.problem))
        };
        ids.map(is_asked_for).collect()
    }

    /// Keeps the selected rows.
    pub fn retain(&self, rows: &mut Vec<TrialRow>) {
        let mut picked = self.picks(rows.iter().map(|row| &row.id)).into_iter();
        rows.retain(|_| picked.next().unwrap_or_default());
    }

    /// A sentence about the selection; `None` if everything is shown.
    pub fn words(&self) -> Option<String> {
        let named = [("policies", &self.policies), ("problems", &self.problems)];
        let named = named.iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> =
            named.map(|(what, names)| format!("the {what} {}", names.join(", "))).collect();
        (!parts.is_empty()).then(|| format!("Only a part of the run is shown: {}.", parts.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(problem: &str, policy: &str) -> TrialId {
        TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial: 0 }
    }

    /// Uniform stays beside the policies, but not on problems where none of them ran.
    #[test]
    fn uniform_is_company_only() {
        let ids = [id("p", UNIFORM), id("p", "a"), id("q", UNIFORM), id("q", "b"), id("r", UNIFORM)];
        let picks = |policies: &[&str], problems: &[&str]| {
            let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            Selection { policies: names(policies), problems: names(problems) }.picks(ids.iter())
        };
        assert_eq!(picks(&[], &[]), [true; 5]);
        assert_eq!(picks(&["a"], &[]), [true, true, false, false, false]);
        assert_eq!(picks(&["a", UNIFORM, "b"], &[]), [true, true, true, true, false]);
        assert_eq!(picks(&[UNIFORM], &[]), [true, false, true, false, true]);
        assert_eq!(picks(&[], &["q", "r"]), [false, false, true, true, true]);
        assert_eq!(picks(&["a"], &["q"]), [false; 5]);
    }
}
