//! The part of an experiment that one run is asked for, so that several machines share it.
//!
//! The cut of an experiment into shards depends on its arguments alone, so that machines that never talk to each other agree on
//! it. Trials are listed kind by kind (problem by problem, on each policy by policy, as the arguments name them, Uniform first),
//! and those of a kind by number; trial k of the list goes to shard k mod n. So the numbers of trials of a kind in two shards
//! differ by at most one. Uniform is cut like any other policy.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::{Experiment, MAX_TRIALS};
use crate::Error;
use crate::error::ErrorKind;
use crate::record::{KindRecord, PartRecord};
use crate::trial::TrialId;

/// Which trials of an experiment a run is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// All of them.
    #[default]
    All,
    /// One of several shards, which together have each trial once.
    Shard(Shard),
    /// A shard whose trials a plan assigned; see [`ShardPlan::part`](crate::shards::ShardPlan::part).
    Planned(Shard, Vec<KindRecord>),
    /// These trials, each of which the experiment must describe.
    Only(Vec<TrialId>),
}

/// A shard of several, written `3/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    /// Its number, from 1.
    pub number: usize,
    /// How many shards there are.
    pub of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let Some((number, of)) = numbers else {
            return Err("expected i/n, for example 3/64 for the third of 64 shards".to_owned());
        };
        if number == 0 || number > of {
            return Err(format!("shards are numbered from 1 to {of}"));
        }
        Ok(Self { number, of })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl Part {
    /// The form of `run.json`; `None` stands for all trials.
    pub(crate) fn record(&self) -> Option<PartRecord> {
        match self {
            Self::All => None,
            Self::Shard(shard) => Some(PartRecord { shard: Some(shard.to_string()), trials: Vec::new() }),
            Self::Planned(shard, trials) => {
                Some(PartRecord { shard: Some(shard.to_string()), trials: trials.clone() })
            }
            Self::Only(ids) => Some(PartRecord { shard: None, trials: kinds_of(ids) }),
        }
    }
}

impl fmt::Display for Part {
    /// For the first line of a run, e.g. `shard 3/64`; nothing for all trials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => Ok(()),
            Self::Shard(shard) | Self::Planned(shard, _) => write!(f, "shard {shard}"),
            Self::Only(_) => f.write_str("only some trials"),
        }
    }
}

/// The trials by kind, in the order in which the kinds are first named.
fn kinds_of(ids: &[TrialId]) -> Vec<KindRecord> {
    let mut kinds: Vec<KindRecord> = Vec::new();
    for TrialId { problem, policy, trial } in ids {
        let range = [*trial, trial.saturating_add(1)];
        match kinds.iter_mut().find(|kind| kind.problem == *problem && kind.policy == *policy) {
            Some(kind) => kind.numbers.push(range),
            None => kinds.push(KindRecord {
                problem: problem.clone(),
                policy: policy.clone(),
                numbers: vec![range],
            }),
        }
    }
    kinds
}

impl PartRecord {
    /// The requested trials of a policy on a problem, of a session that describes `trials` of each.
    ///
    /// `kind` is the place of both among `n_kinds`, counted problem by problem. Numbers that no run would write ask for all.
    pub(crate) fn numbers(
        &self,
        (policy, problem): (&str, &str),
        (kind, n_kinds): (usize, usize),
        trials: Range<usize>,
    ) -> Vec<Range<usize>> {
        if !self.trials.is_empty() {
            let of_kind = self.trials.iter().filter(|kind| kind.policy == policy && kind.problem == problem);
            return of_kind.flat_map(|kind| &kind.numbers).map(|&[start, end]| start..end).collect();
        }
        let shard = self.shard.as_ref().and_then(|shard| shard.parse::<Shard>().ok());
        match shard {
            Some(Shard { number, of })
                if of > 1 && n_kinds.saturating_mul(trials.len()) <= MAX_TRIALS && kind < n_kinds =>
            {
                let before = kind * trials.len() % of;
                let first = (number - 1 + of - before) % of;
                trials.skip(first).step_by(of).map(|trial| trial..trial + 1).collect()
            }
            _ => vec![trials],
        }
    }
}

impl Experiment {
    /// The numbers of the requested trials of a policy on a problem, by their places; `policies` are in their order.
    pub(super) fn asked(&self, policies: &[String], policy: usize, problem: usize) -> Vec<Range<usize>> {
        let Some(part) = self.part.record() else { return vec![self.trial_numbers()] };
        let (kind, n_kinds) = (problem * policies.len() + policy, policies.len() * self.problems.len());
        let names = (&*policies[policy], self.problems[problem].problem.name());
        part.numbers(names, (kind, n_kinds), self.trial_numbers())
    }

    /// Fails if the experiment has no such part.
    pub(super) fn check_part(&self, n_trials: usize) -> Result<(), Error> {
        let invalid = |problem: String| Err(ErrorKind::InvalidExperiment { problem }.into());
        match &self.part {
            Part::All => Ok(()),
            Part::Shard(Shard { number, of }) if *number == 0 || number > of => {
                invalid(format!("there is no shard {number}/{of}: shards are numbered from 1 to {of}"))
            }
            Part::Shard(Shard { of, .. }) if *of > n_trials => invalid(format!(
                "{of} shards of {n_trials} trials would leave some without a trial; expected at most {n_trials} shards"
            )),
            Part::Shard(_) | Part::Planned(..) => Ok(()),
            Part::Only(ids) => ids.iter().try_for_each(|id| self.check_described(id)),
        }
    }

    /// The policies in canonical form, Uniform first, and the problems.
    pub(crate) fn names(&self) -> Result<(Vec<String>, Vec<String>), Error> {
        let policies = self.policies_in_order()?.iter().map(ToString::to_string).collect();
        Ok((policies, self.problems.iter().map(|loaded| loaded.problem.name().to_owned()).collect()))
    }

    fn check_described(&self, id: &TrialId) -> Result<(), Error> {
        let numbers = self.trial_numbers();
        let (policies, problems) = self.names()?;
        let reason = if !problems.contains(&id.problem) {
            format!("the problems are {}; name others with --problems", problems.join(", "))
        } else if !policies.contains(&id.policy) {
            format!("the policies are {}; name others with --policies", policies.join(", "))
        } else if !numbers.contains(&id.trial) {
            let (first, last) = (numbers.start, numbers.end - 1);
            format!("its trials are {first} to {last}; change them with --trials and --first-trial")
        } else {
            return Ok(());
        };
        Err(ErrorKind::InvalidExperiment { problem: format!("this run has no trial `{id}`: {reason}") }
            .into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of_shard(shard: Shard) -> PartRecord {
        Part::Shard(shard).record().unwrap()
    }

    /// Three trials of each of two kinds are the list 0 1 2 0 1 2, dealt to four shards.
    #[test]
    fn by_hand() {
        let numbers = |number, kind| {
            let trials = of_shard(Shard { number, of: 4 }).numbers(("", ""), (kind, 2), 10..13);
            trials.into_iter().flatten().collect::<Vec<_>>()
        };
        let first: Vec<_> = (1..=4).map(|number| numbers(number, 0)).collect();
        let second: Vec<_> = (1..=4).map(|number| numbers(number, 1)).collect();
        assert_eq!(first, [vec![10], vec![11], vec![12], vec![]]);
        assert_eq!(second, [vec![11], vec![12], vec![], vec![10]]);
    }

    #[test]
    fn shards_are_read_as_they_are_written() {
        assert_eq!("3/64".parse(), Ok(Shard { number: 3, of: 64 }));
        assert_eq!(Shard { number: 3, of: 64 }.to_string(), "3/64");
        for text in ["", "3", "3/", "/3", "a/b", "3/64/2", "-1/3", "1.5/2", "3 of 64"] {
            assert!(text.parse::<Shard>().unwrap_err().starts_with("expected i/n"), "{text}");
        }
        for text in ["0/3", "4/3", "0/0"] {
            assert!(
                text.parse::<Shard>().unwrap_err().starts_with("shards are numbered from 1 to "),
                "{text}"
            );
        }
    }

    /// Numbers that no run would write neither panic nor fill the memory.
    #[test]
    fn absurd_shards_ask_for_all() {
        for (shard, trials) in [("0/0", 5), ("9/3", 5), ("x", 5), ("1/2", usize::MAX)] {
            let part = PartRecord { shard: Some(shard.to_owned()), trials: Vec::new() };
            let numbers = part.numbers(("", ""), (0, 3), 0..trials);
            assert!(numbers.len() == 1 && numbers[0] == (0..trials), "{shard}");
        }
    }

    proptest! {
        /// Together the shards have every trial once, and of each kind as many as any other, give or take one.
        #[test]
        fn shards_are_a_partition(n_kinds in 1..7_usize, n_trials in 1..30_usize, of in 1..40_usize, first in 0..5_usize) {
            let mut totals = vec![0; of];
            for kind in 0..n_kinds {
                let mut seen: Vec<usize> = Vec::new();
                let mut counts = Vec::new();
                for number in 1..=of {
                    let part = of_shard(Shard { number, of });
                    let numbers = part.numbers(("", ""), (kind, n_kinds), first..first + n_trials);
                    let numbers: Vec<usize> = numbers.into_iter().flatten().collect();
                    counts.push(numbers.len());
                    totals[number - 1] += numbers.len();
                    seen.extend(numbers);
                }
                seen.sort_unstable();
                prop_assert_eq!(seen, (first..first + n_trials).collect::<Vec<_>>());
                prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
            }
            prop_assert!(totals.iter().max().unwrap() - totals.iter().min().unwrap() <= 1);
        }
    }
}
