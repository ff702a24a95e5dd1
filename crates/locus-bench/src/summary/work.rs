//! The seconds and the guard counts of all trials of a folder.

use std::collections::BTreeMap;

use crate::record::TrialRow;

/// The seconds of all finished trials together, e.g. `12.3 (1.2 choosing, 11.1 learning)`.
pub fn seconds_in_words(rows: &[TrialRow]) -> String {
    let measured = || rows.iter().filter_map(|row| row.outcome.as_ref().ok());
    // Not `sum`, which is -0 where there is nothing.
    let choosing = measured().fold(0.0, |sum, measured| sum + measured.seconds_choosing);
    let learning = measured().fold(0.0, |sum, measured| sum + measured.seconds_learning);
    format!("{:.1} ({choosing:.1} choosing, {learning:.1} learning)", choosing + learning)
}

/// What guards changed in the trials of one policy on one problem.
#[derive(Default)]
struct Guarded {
    interventions: u64,
    trials_with: usize,
    trials_counted: usize,
}

/// One sentence for each policy in whose trials a guard changed a number to continue training.
///
/// Trials of versions that did not count them are left out.
pub(crate) fn interventions(rows: &[TrialRow]) -> Vec<String> {
    let mut policies: BTreeMap<&str, BTreeMap<&str, Guarded>> = BTreeMap::new();
    for row in rows {
        let Some(number) = row.outcome.as_ref().ok().and_then(|measured| measured.interventions) else {
            continue;
        };
        let guarded = policies.entry(&row.id.policy).or_default().entry(&row.id.problem).or_default();
        guarded.interventions = guarded.interventions.saturating_add(number);
        guarded.trials_with += usize::from(number > 0);
        guarded.trials_counted += 1;
    }
    let sentence = |(policy, problems): (&str, BTreeMap<&str, Guarded>)| {
        let parts: Vec<String> = problems
            .into_iter()
            .filter(|(_, guarded)| guarded.interventions > 0)
            .map(|(problem, Guarded { interventions, trials_with, trials_counted })| {
                let times = match interventions {
                    1 => "once".to_owned(),
                    _ => format!("{interventions} times"),
                };
                format!("{times} on {problem} (in {trials_with} of the {trials_counted} trials with a count)")
            })
            .collect();
        (!parts.is_empty()).then(|| format!("{policy}: values clamped {}.", parts.join(", ")))
    };
    policies.into_iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Measured;
    use crate::trial::TrialId;

    fn row(policy: &str, problem: &str, trial: usize, interventions: Option<u64>) -> TrialRow {
        let id = TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial };
        let outcome = Ok(Measured {
            cumulative_regret: 1.0,
            simple_regret: 1.0,
            seconds_choosing: 0.25,
            seconds_learning: 2.0,
            cpu_seconds: None,
            interventions,
        });
        TrialRow { id, seed: 0, steps: 20, outcome, version: "0.1.0".to_owned() }
    }

    #[test]
    fn guards_are_told_by_policy_and_problem_where_there_were_any() {
        let rows = [
            row("uniform", "wheel", 0, Some(0)),
            row("bbb", "wheel", 0, Some(3)),
            row("bbb", "wheel", 1, Some(0)),
            row("bbb", "wheel", 2, Some(4)),
            row("bbb", "wheel", 3, None),
            row("bbb", "adult", 0, Some(1)),
            row("bbb", "census", 0, Some(0)),
            TrialRow { outcome: Err("no".to_owned()), ..row("bbb", "census", 1, None) },
            row("lu-sivi", "wheel", 0, None),
        ];
        let expected = "bbb: values clamped once on adult (in 1 of the 1 trials with a count), 7 times on wheel (in 2 of the 3 trials with a count).";
        assert_eq!(interventions(&rows), [expected]);
        assert_eq!(interventions(&rows[..1]), [] as [&str; 0]);
    }

    #[test]
    fn seconds_add_up_over_the_trials_that_ended_well() {
        let rows = [
            row("uniform", "wheel", 0, Some(0)),
            row("uniform", "wheel", 1, None),
            TrialRow { outcome: Err("no".to_owned()), ..row("uniform", "wheel", 2, None) },
        ];
        assert_eq!(seconds_in_words(&rows), "4.5 (0.5 choosing, 4.0 learning)");
        assert_eq!(seconds_in_words(&[]), "0.0 (0.0 choosing, 0.0 learning)");
    }
}
