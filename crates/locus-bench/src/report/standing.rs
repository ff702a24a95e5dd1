//! Who is ahead, by how much, and whether the difference is significant: the numbers of the story and of the headline table.
//!
//! Means and differences are over the trials that all policies of a problem share, so that a difference is that of two means shown.
//! Where there is no such trial, each policy's own trials count, pairs are compared on the trials that both have, and two policies
//! without common trials as independent samples.

use super::compare::{Paired, Values, interval_of, overall};
use crate::experiment::UNIFORM;
use crate::summary::{Statistics, common_trials, mean};

/// All policies of a section, compared by cumulative regret.
pub(super) struct Standing {
    pub(super) problems: Vec<String>,
    /// Whether regret is in percent of Uniform's. Else it is in the unit of the rewards and not averaged over problems.
    pub(super) is_normalized: bool,
    pub(super) basis: Basis,
    /// Lowest mean first, policies without a mean over all problems last.
    pub(super) places: Vec<Place>,
    /// The trials that count.
    values: Values,
}

/// Which trials the means are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// Those that all policies share: the fewest and the most of a problem.
    Common(usize, usize),
    /// Each policy's own.
    Own,
}

/// One policy.
pub(super) struct Place {
    pub(super) policy: String,
    /// One for each problem.
    pub(super) cells: Vec<Option<Statistics>>,
    /// Mean over the problems; needs a value on each.
    pub(super) mean: Option<f64>,
    /// Its standard error, the problems taken as given.
    pub(super) se: Option<f64>,
    /// This policy minus the leader.
    pub(super) difference: Option<Difference>,
}

/// One policy minus another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) value: f64,
    /// Where it lies with 95 % confidence; `None` for single trials.
    pub(super) interval: Option<(f64, f64)>,
    /// The fewest and the most trials that both share on a problem; `None` where they are independent samples.
    pub(super) paired: Option<(usize, usize)>,
}

/// The lowest mean of a problem.
pub(super) struct Winner<'a> {
    pub(super) problem: &'a str,
    pub(super) policy: &'a str,
    /// The policy that it is compared with, and the difference.
    pub(super) against: Option<(&'a str, Difference)>,
}

/// What an interval says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Lower,
    Level,
    Higher,
    /// There is no interval.
    Unknown,
}

impl Difference {
    pub(super) fn verdict(&self) -> Verdict {
        match self.interval {
            None => Verdict::Unknown,
            Some((_, high)) if high < 0.0 => Verdict::Lower,
            Some((low, _)) if low > 0.0 => Verdict::Higher,
            Some(_) => Verdict::Level,
        }
    }

    /// The second policy minus the first.
    pub(super) fn reversed(self) -> Self {
        Self { value: -self.value, interval: self.interval.map(|(low, high)| (-high, -low)), ..self }
    }
}

impl Standing {
    pub(super) fn new(all: &Values, policies: &[String], problems: &[String], is_normalized: bool) -> Self {
        let common_of =
            |problem: &str| common_trials(policies.iter().filter_map(|policy| all.of(policy, problem)));
        let counts: Vec<usize> = problems.iter().map(|problem| common_of(problem).len()).collect();
        let basis = match (counts.iter().min(), counts.iter().max()) {
            (Some(&fewest @ 1..), Some(&most)) => Basis::Common(fewest, most),
            _ => Basis::Own,
        };
        let values = match basis {
            Basis::Common(..) => all.only(common_of),
            Basis::Own => all.clone(),
        };
        let cell = |policy: &str, problem: &str| {
            let (own, uniform): (Vec<f64>, Vec<f64>) = values.of(policy, problem)?.values().copied().unzip();
            let uniform = Some(mean(&uniform)).filter(|mean| *mean > 0.0)?;
            Some(Statistics::of(&own)?.scaled(100.0 / uniform))
        };
        let can_average = is_normalized || problems.len() == 1;
        let place = |policy: &String| {
            let cells: Vec<Option<Statistics>> =
                problems.iter().map(|problem| cell(policy, problem)).collect();
            let complete: Option<Vec<Statistics>> = cells.iter().copied().collect();
            let complete = complete.filter(|cells| can_average && !cells.is_empty());
            let errors = complete.as_ref().and_then(|cells| cells.iter().map(Statistics::se).collect());
            let se = |errors: Vec<f64>| {
                errors.iter().map(|se| se * se).sum::<f64>().sqrt() / problems.len() as f64
            };
            Place {
                policy: policy.clone(),
                mean: complete.map(|cells| mean(&cells.iter().map(|cell| cell.mean).collect::<Vec<_>>())),
                se: errors.map(se),
                cells,
                difference: None,
            }
        };
        let mut places: Vec<Place> = policies.iter().map(place).collect();
        let key = |place: &Place| place.mean.unwrap_or(f64::INFINITY);
        places.sort_by(|one, other| key(one).total_cmp(&key(other)));
        let mut standing = Self { problems: problems.to_vec(), is_normalized, basis, places, values };
        let everywhere: Vec<usize> = (0..problems.len()).collect();
        if let Some(leader) = standing.leader().map(|leader| leader.policy.clone()) {
            for place in 0..standing.places.len() {
                let policy = &standing.places[place];
                if policy.mean.is_some() && policy.policy != leader {
                    standing.places[place].difference =
                        standing.difference(&policy.policy, &leader, &everywhere);
                }
            }
        }
        standing
    }

    /// The policies without the baseline.
    pub(super) fn rivals(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.policy != UNIFORM)
    }

    /// The policy with the lowest mean over all problems.
    pub(super) fn leader(&self) -> Option<&Place> {
        self.rivals().next().filter(|place| place.mean.is_some())
    }

    /// The next one.
    pub(super) fn runner_up(&self) -> Option<&Place> {
        self.rivals().nth(1).filter(|place| place.mean.is_some())
    }

    /// Whether a policy has the lowest mean of a problem, Uniform not counted.
    pub(super) fn is_lowest(&self, place: &Place, problem: usize) -> bool {
        place.policy != UNIFORM
            && self.ranked(problem).first().is_some_and(|first| first.policy == place.policy)
    }

    /// The winner of every problem: compared with the leader, or with the second where it is the leader or there is none.
    pub(super) fn winners(&self) -> Vec<Winner<'_>> {
        let leader = self.leader().map(|leader| leader.policy.as_str());
        let winner = |problem: usize| {
            let ranked = self.ranked(problem);
            let first = ranked.first()?;
            let second = || ranked.get(1).map(|second| second.policy.as_str());
            let has_leader = |name: &&str| ranked.iter().any(|place| place.policy == *name);
            let other = leader.filter(|leader| *leader != first.policy).filter(has_leader).or_else(second);
            let against =
                other.and_then(|other| Some((other, self.difference(&first.policy, other, &[problem])?)));
            Some(Winner { problem: &self.problems[problem], policy: &first.policy, against })
        };
        (0..self.problems.len()).filter_map(winner).collect()
    }

    /// The rivals that have a value on a problem, lowest first.
    fn ranked(&self, problem: usize) -> Vec<&Place> {
        let mut ranked: Vec<(&Place, f64)> =
            self.rivals().filter_map(|place| Some((place, place.cells[problem]?.mean))).collect();
        ranked.sort_by(|one, other| one.1.total_cmp(&other.1));
        ranked.into_iter().map(|(place, _)| place).collect()
    }

    /// The first minus the second over these problems: trial by trial where they share trials on each, else by their means.
    fn difference(&self, first: &str, second: &str, problems: &[usize]) -> Option<Difference> {
        let pairs: Option<Vec<Paired>> = problems
            .iter()
            .map(|&problem| self.values.paired(first, second, &self.problems[problem]))
            .collect();
        if let Some(pairs) = pairs {
            let overall = overall(&pairs)?;
            let counts = || pairs.iter().map(|paired| paired.n);
            let paired = Some((counts().min()?, counts().max()?));
            return Some(Difference { value: overall.difference, interval: overall.interval, paired });
        }
        let cells = |policy: &str| -> Option<Vec<Statistics>> {
            let place = self.places.iter().find(|place| place.policy == policy)?;
            problems.iter().map(|&problem| place.cells[problem]).collect()
        };
        let (ours, theirs) = (cells(first)?, cells(second)?);
        let n_problems = problems.len() as f64;
        let sum = |cells: &[Statistics]| cells.iter().map(|cell| cell.mean).sum::<f64>();
        let value = (sum(&ours) - sum(&theirs)) / n_problems;
        // Each policy on each problem is a sample of its own.
        let parts = ours.iter().chain(&theirs).map(|cell| Some((cell.se()? / n_problems, cell.n)));
        let interval = parts.collect::<Option<Vec<_>>>().map(|parts| interval_of(value, &parts));
        Some(Difference { value, interval, paired: None })
    }
}
