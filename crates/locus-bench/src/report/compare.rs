//! Policies against each other on the trials that they share.
//!
//! All policies of a trial see the same contexts and rewards, so their regrets are compared trial by trial: what makes a
//! trial hard falls out of the difference. Differences are in percent of Uniform's mean over the same trials, which is
//! taken as a fixed number. Ranks are compared over problems, as Demšar (JMLR 2006) does: Friedman's test in the form of
//! Iman and Davenport, then Nemenyi's critical difference.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::distribution::{f_tail, range_quantile, t_quantile};
use crate::experiment::UNIFORM;
use crate::record::TrialRow;
use crate::summary::{ByKind, Metric, Statistics, common_trials, mean, ranks};

/// How sure intervals and tests are.
pub const CONFIDENCE: f64 = 0.95;

/// The values of all trials, by policy and problem.
#[derive(Clone)]
pub(super) struct Values {
    /// (policy, problem) → trial → (its value, Uniform's).
    trials: HashMap<(String, String), BTreeMap<usize, (f64, f64)>>,
}

/// One policy against another on one problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Trials of both policies and Uniform.
    pub n: usize,
    /// In how many of them the first policy has the lower value.
    pub wins: usize,
    /// In how many both have the same.
    pub ties: usize,
    /// First minus second, in percent of Uniform's mean; negative where the first is better.
    pub difference: Statistics,
}

/// One policy against another over all problems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedOverall {
    /// Mean over the problems of the differences.
    pub difference: f64,
    /// Where it lies with [`CONFIDENCE`], the problems taken as given (Welch and Satterthwaite's degrees of freedom).
    pub interval: Option<(f64, f64)>,
}

impl Paired {
    /// Where the difference of the means lies with [`CONFIDENCE`]; one trial says nothing.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let half = t_quantile(0.5 + CONFIDENCE / 2.0, (self.n as f64) - 1.0) * self.difference.se()?;
        Some((self.difference.mean - half, self.difference.mean + half))
    }

    /// −1 where the first is surely better, 1 where it is surely worse, 0 where the interval holds 0.
    pub fn verdict(&self) -> i32 {
        match self.interval() {
            Some((_, high)) if high < 0.0 => -1,
            Some((low, _)) if low > 0.0 => 1,
            _ => 0,
        }
    }
}

impl Values {
    pub(super) fn new(rows: &[TrialRow], metric: Metric) -> Self {
        let pairs: BTreeSet<(&str, &str)> =
            rows.iter().map(|row| (row.id.policy.as_str(), row.id.problem.as_str())).collect();
        let kinds = ByKind::new(rows);
        let trials = pairs.into_iter().map(|(policy, problem)| {
            let values = kinds.with_uniform(metric, policy, problem);
            ((policy.to_owned(), problem.to_owned()), values)
        });
        Self { trials: trials.collect() }
    }

    /// The regrets themselves, for rows without Uniform: in percent of 100.
    pub(super) fn not_normalized(rows: &[TrialRow]) -> Self {
        let mut trials = HashMap::<(String, String), BTreeMap<usize, (f64, f64)>>::new();
        for row in rows {
            if let Ok(measured) = &row.outcome {
                let key = (row.id.policy.clone(), row.id.problem.clone());
                trials.entry(key).or_default().insert(row.id.trial, (measured.cumulative_regret, 100.0));
            }
        }
        Self { trials }
    }

    /// The same without all other trials of a problem than these.
    pub(super) fn only(&self, trials: impl Fn(&str) -> Vec<usize>) -> Self {
        let mut only = self.clone();
        for ((_, problem), values) in &mut only.trials {
            let trials = trials(problem);
            values.retain(|trial, _| trials.contains(trial));
        }
        only
    }

    pub(super) fn of(&self, policy: &str, problem: &str) -> Option<&BTreeMap<usize, (f64, f64)>> {
        self.trials.get(&(policy.to_owned(), problem.to_owned())).filter(|trials| !trials.is_empty())
    }

    /// `None` where the two share no trial, or Uniform's mean is not positive.
    pub(super) fn paired(&self, first: &str, second: &str, problem: &str) -> Option<Paired> {
        let (ours, theirs) = (self.of(first, problem)?, self.of(second, problem)?);
        let common: Vec<(f64, f64, f64)> = ours
            .iter()
            .filter_map(|(trial, &(own, uniform))| Some((own, theirs.get(trial)?.0, uniform)))
            .collect();
        let uniform = Statistics::of(&common.iter().map(|(_, _, uniform)| *uniform).collect::<Vec<_>>())?;
        if uniform.mean <= 0.0 {
            return None;
        }
        let difference = |(first, second, _): &(f64, f64, f64)| 100.0 * (first - second) / uniform.mean;
        Some(Paired {
            n: common.len(),
            wins: common.iter().filter(|(first, second, _)| first < second).count(),
            ties: common.iter().filter(|(first, second, _)| first == second).count(),
            difference: Statistics::of(&common.iter().map(difference).collect::<Vec<_>>())?,
        })
    }
}

/// Puts the comparisons on all problems together. Each problem is a sample of its own.
pub(super) fn overall(paired: &[Paired]) -> Option<PairedOverall> {
    let n_problems = paired.len() as f64;
    if paired.is_empty() {
        return None;
    }
    let difference = mean(&paired.iter().map(|paired| paired.difference.mean).collect::<Vec<_>>());
    let parts = paired.iter().map(|paired| Some((paired.difference.se()? / n_problems, paired.n)));
    let interval = parts.collect::<Option<Vec<_>>>().map(|parts| interval_of(difference, &parts));
    Some(PairedOverall { difference, interval })
}

/// Where a sum of independent means lies, each with its standard error and size (Welch and Satterthwaite's degrees of freedom).
pub(super) fn interval_of(center: f64, parts: &[(f64, usize)]) -> (f64, f64) {
    let sum: f64 = parts.iter().map(|(se, _)| se * se).sum();
    let fourths = parts.iter().map(|(se, n)| se.powi(4) / (n - 1) as f64);
    let freedom = sum * sum / fourths.sum::<f64>();
    let half = match freedom.is_finite() {
        true => t_quantile(0.5 + CONFIDENCE / 2.0, freedom) * sum.sqrt(),
        // All values were the same.
        false => 0.0,
    };
    (center - half, center + half)
}

/// The ranks of policies over problems, and which of them can be told apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranking {
    /// Policies and their mean ranks, best first.
    pub policies: Vec<(String, f64)>,
    /// On how many problems.
    pub n_problems: usize,
    /// The fewest and the most trials that all of these policies share on a problem.
    pub n_trials: (usize, usize),
    /// The probability of ranks as uneven as these if all policies were alike; `None` where the test says nothing.
    pub p_value: Option<f64>,
    /// Mean ranks that differ by less cannot be told apart.
    pub critical_difference: f64,
    /// Policies left out, since they miss a problem or share no trial.
    pub left_out: Vec<String>,
}

impl Ranking {
    /// Ranks the policies by their means over the trials that all of them share, problem by problem. `None` for fewer
    /// than two problems or policies.
    pub(super) fn new(values: &Values, policies: &[String], problems: &[String]) -> Option<Self> {
        let is_complete =
            |policy: &&String| problems.iter().all(|problem| values.of(policy, problem).is_some());
        let (ranked, left_out): (Vec<&String>, Vec<&String>) = policies.iter().partition(is_complete);
        let (k, n) = (ranked.len(), problems.len());
        if k < 2 || n < 2 || !ranked.iter().any(|policy| *policy == UNIFORM) {
            return None;
        }
        let mut n_trials = (usize::MAX, 0);
        let mut ranks_of: Vec<Vec<f64>> = Vec::new();
        for problem in problems {
            let trials: Vec<_> = ranked.iter().filter_map(|policy| values.of(policy, problem)).collect();
            let common = common_trials(trials.iter().copied());
            if common.is_empty() {
                return None;
            }
            n_trials = (n_trials.0.min(common.len()), n_trials.1.max(common.len()));
            let mean_of = |values: &&BTreeMap<usize, (f64, f64)>| {
                mean(&common.iter().map(|trial| values[trial].0).collect::<Vec<_>>())
            };
            ranks_of.push(ranks(&trials.iter().map(mean_of).collect::<Vec<_>>()));
        }
        let mean_rank = |policy: usize| mean(&ranks_of.iter().map(|ranks| ranks[policy]).collect::<Vec<_>>());
        let mut policies: Vec<(String, f64)> =
            ranked.iter().enumerate().map(|(place, policy)| ((*policy).clone(), mean_rank(place))).collect();
        policies.sort_by(|one, other| one.1.total_cmp(&other.1));
        let critical_difference = range_quantile(CONFIDENCE, k) / std::f64::consts::SQRT_2
            * ((k * (k + 1)) as f64 / (6 * n) as f64).sqrt();
        Some(Self {
            policies,
            n_problems: n,
            n_trials,
            p_value: friedman(&ranks_of),
            critical_difference,
            left_out: left_out.into_iter().cloned().collect(),
        })
    }

    /// The longest runs of policies, by place, that cannot be told apart.
    pub(super) fn cliques(&self) -> Vec<(usize, usize)> {
        let mut cliques: Vec<(usize, usize)> = Vec::new();
        for start in 0..self.policies.len() {
            let is_near =
                |(_, rank): &&(String, f64)| rank - self.policies[start].1 < self.critical_difference;
            let end = start + self.policies[start..].iter().take_while(is_near).count() - 1;
            if end > start && cliques.last().is_none_or(|&(_, last)| end > last) {
                cliques.push((start, end));
            }
        }
        cliques
    }
}

/// Iman and Davenport's F of Friedman's test, with ties, as a probability. `ranks_of` holds each problem's ranks.
fn friedman(ranks_of: &[Vec<f64>]) -> Option<f64> {
    let (n, k) = (ranks_of.len() as f64, ranks_of[0].len() as f64);
    let sum_of = |policy: usize| ranks_of.iter().map(|ranks| ranks[policy]).sum::<f64>();
    let expected = n * (k + 1.0) / 2.0;
    let between: f64 = (0..ranks_of[0].len()).map(|policy| (sum_of(policy) - expected).powi(2)).sum();
    let squares: f64 = ranks_of.iter().flatten().map(|rank| rank * rank).sum();
    let spread = squares - n * k * (k + 1.0).powi(2) / 4.0;
    if spread <= 0.0 {
        return None;
    }
    let chi_squared = (k - 1.0) * between / spread;
    let rest = n * (k - 1.0) - chi_squared;
    let by_f = match rest <= 1e-9 {
        // The order is the same on every problem.
        true => 0.0,
        false => f_tail((n - 1.0) * chi_squared / rest, k - 1.0, (k - 1.0) * (n - 1.0)),
    };
    // No ranks are less probable than one order without ties on every problem: k!^(1 − n).
    let n_orders: f64 = (1..=ranks_of[0].len()).map(|place| place as f64).product();
    Some(by_f.max(n_orders.powf(1.0 - n)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Measured;
    use crate::trial::TrialId;

    fn rows(problem: &str, policy: &str, values: &[(usize, f64)]) -> Vec<TrialRow> {
        let row = |&(trial, value): &(usize, f64)| {
            let id = TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial };
            let outcome = Ok(Measured {
                cumulative_regret: value,
                simple_regret: value,
                seconds_choosing: 0.0,
                seconds_learning: 0.0,
                cpu_seconds: None,
                interventions: None,
            });
            TrialRow { id, seed: 0, steps: 2000, outcome, version: "0.1.0".to_owned() }
        };
        values.iter().map(row).collect()
    }

    /// Trials 1, 2, 3 are common: Uniform's mean is 200, the differences are −10, 0 and −20, in percent −5, 0, −10. With
    /// two degrees of freedom t is 4.302653 and the interval −5 ± 4.302653 · 5/√3.
    #[test]
    fn a_paired_interval_against_its_closed_form() {
        let rows = [
            rows("p", UNIFORM, &[(0, 999.0), (1, 100.0), (2, 200.0), (3, 300.0), (5, 7.0)]),
            rows("p", "a", &[(1, 40.0), (2, 50.0), (3, 60.0), (4, 1.0), (5, 1.0)]),
            rows("p", "b", &[(0, 77.0), (1, 50.0), (2, 50.0), (3, 80.0), (4, 9.0)]),
        ]
        .concat();
        let values = Values::new(&rows, Metric::Cumulative);
        let paired = values.paired("a", "b", "p").unwrap();
        assert_eq!((paired.n, paired.wins, paired.ties), (3, 2, 1));
        assert!((paired.difference.mean + 5.0).abs() < 1e-12);
        let (low, high) = paired.interval().unwrap();
        let half = 4.302_652_729_911_275 * 5.0 / 3f64.sqrt();
        assert!((low + 5.0 + half).abs() < 1e-9 && (high + 5.0 - half).abs() < 1e-9, "{low} {high}");
        assert_eq!(paired.verdict(), 0);
        let mirrored = values.paired("b", "a", "p").unwrap();
        assert_eq!((mirrored.wins, mirrored.difference.mean), (0, -paired.difference.mean));
        assert_eq!(values.paired("a", "nobody", "p"), None);
        // Over one problem nothing changes; over two equal ones the half width shrinks by √2 and t has 4 degrees.
        let one = overall(&[paired]).unwrap();
        assert!((one.interval.unwrap().0 - low).abs() < 1e-9);
        let (low, high) = overall(&[paired, paired]).unwrap().interval.unwrap();
        let half = 2.776_445_105_197_999 * 5.0 / 6f64.sqrt();
        assert!((high - low - 2.0 * half).abs() < 1e-9, "{low} {high}");
    }

    /// Demšar's example (JMLR 2006, section 3.2.2): C4.5 and three variants on 14 sets have mean ranks 3.143, 2.000, 2.893,
    /// 1.964; F is 3.69 with 3 and 39 degrees of freedom and the critical difference is 1.25.
    #[test]
    fn ranks_as_in_the_textbook() {
        let table = [
            [0.763, 0.768, 0.771, 0.798],
            [0.599, 0.591, 0.590, 0.569],
            [0.954, 0.971, 0.968, 0.967],
            [0.628, 0.661, 0.654, 0.657],
            [0.882, 0.888, 0.886, 0.898],
            [0.936, 0.931, 0.916, 0.931],
            [0.661, 0.668, 0.609, 0.685],
            [0.583, 0.583, 0.563, 0.625],
            [0.775, 0.838, 0.866, 0.875],
            [1.000, 1.000, 1.000, 1.000],
            [0.940, 0.962, 0.965, 0.962],
            [0.619, 0.666, 0.614, 0.669],
            [0.972, 0.981, 0.9751, 0.975],
            [0.957, 0.978, 0.946, 0.970],
        ];
        let names = [UNIFORM, "c45-m", "c45-cf", "c45-m-cf"].map(str::to_owned);
        let problems: Vec<String> = (0..table.len()).map(|index| format!("p{index}")).collect();
        let mut all = Vec::new();
        for (problem, accuracies) in problems.iter().zip(&table) {
            for (name, accuracy) in names.iter().zip(accuracies) {
                all.extend(rows(problem, name, &[(0, 2.0 - accuracy)]));
            }
        }
        let values = Values::new(&all, Metric::Cumulative);
        let ranking = Ranking::new(&values, &names, &problems).unwrap();
        let rank = |name: &str| ranking.policies.iter().find(|(policy, _)| policy == name).unwrap().1;
        assert!((rank(UNIFORM) - 3.143).abs() < 5e-4 && (rank("c45-m") - 2.0).abs() < 5e-4);
        assert!((rank("c45-cf") - 2.893).abs() < 5e-4 && (rank("c45-m-cf") - 1.964).abs() < 5e-4);
        assert!((ranking.critical_difference - 1.25).abs() < 5e-3, "{}", ranking.critical_difference);
        // Without the correction for ties F is 3.69, whose tail is 0.0199; with it slightly less.
        let p_value = ranking.p_value.unwrap();
        assert!((0.01..0.02).contains(&p_value), "{p_value}");
        assert_eq!(ranking.n_trials, (1, 1));
        assert_eq!(ranking.cliques(), [(0, 3)]);
    }

    /// One order without ties on two problems: of 24 orders of the second one is that of the first.
    #[test]
    fn few_problems_prove_little() {
        let names = [UNIFORM, "a", "b", "c"].map(str::to_owned);
        let problems = ["p", "q"].map(str::to_owned);
        let mut all = Vec::new();
        for problem in &problems {
            for (name, value) in names.iter().zip([4.0, 3.0, 2.0, 1.0]) {
                all.extend(rows(problem, name, &[(0, value)]));
            }
        }
        let ranking = Ranking::new(&Values::new(&all, Metric::Cumulative), &names, &problems).unwrap();
        assert!((ranking.p_value.unwrap() - 1.0 / 24.0).abs() < 1e-12, "{ranking:?}");
    }

    #[test]
    fn policies_that_miss_a_problem_are_not_ranked() {
        let all = [
            rows("p", UNIFORM, &[(0, 2.0), (1, 2.0)]),
            rows("q", UNIFORM, &[(0, 2.0), (1, 2.0)]),
            rows("p", "a", &[(0, 1.0), (1, 1.0)]),
            rows("q", "a", &[(1, 1.0)]),
            rows("p", "b", &[(0, 1.0)]),
        ]
        .concat();
        let values = Values::new(&all, Metric::Cumulative);
        let names = [UNIFORM, "a", "b"].map(str::to_owned);
        let ranking = Ranking::new(&values, &names, &["p".to_owned(), "q".to_owned()]).unwrap();
        assert_eq!(ranking.policies, [("a".to_owned(), 1.0), (UNIFORM.to_owned(), 2.0)]);
        assert_eq!((ranking.left_out, ranking.n_trials), (vec!["b".to_owned()], (1, 2)));
        assert_eq!(ranking.p_value, Some(0.5), "of two orders, both the same on two problems");
    }
}
