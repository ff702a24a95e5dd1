//! Which part of a run is looked at.

use super::TrialRow;
use crate::Error;
use crate::experiment::UNIFORM;

/// The policies and problems of a run to look at, as `trials.csv` calls them; all, where none are named. Uniform stays, since
/// regret is measured by its.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The policies in canonical form.
    pub policies: Vec<String>,
    /// The problems.
    pub problems: Vec<String>,
}

impl Selection {
    /// An error where a policy or a problem is named that no row has.
    pub fn check<'a>(&self, rows: impl Iterator<Item = &'a TrialRow> + Clone) -> Result<(), Error> {
        let check = |what, named: &[String], name_of: fn(&TrialRow) -> &str| {
            let has_run = |name: &String| rows.clone().any(|row| name_of(row) == name);
            let Some(found) = named.iter().find(|name| !has_run(name)) else { return Ok(()) };
            let mut known: Vec<&str> = rows.clone().map(name_of).collect();
            known.sort_unstable();
            known.dedup();
            Err(Error::NotInRun { what, found: found.clone(), known: known.join(", ") })
        };
        check("policy", &self.policies, |row| &row.id.policy)?;
        check("problem", &self.problems, |row| &row.id.problem)
    }

    /// Leaves the rows that are asked for.
    pub fn retain(&self, rows: &mut Vec<TrialRow>) {
        let is_asked_for = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        rows.retain(|row| {
            (row.id.policy == UNIFORM || is_asked_for(&self.policies, &row.id.policy))
                && is_asked_for(&self.problems, &row.id.problem)
        });
    }

    /// What is shown, where that is not all.
    pub fn words(&self) -> Option<String> {
        let named = [("policies", &self.policies), ("problems", &self.problems)];
        let named = named.iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> =
            named.map(|(what, names)| format!("the {what} {}", names.join(", "))).collect();
        (!parts.is_empty()).then(|| format!("Of what was run only this is shown: {}.", parts.join("; ")))
    }
}
