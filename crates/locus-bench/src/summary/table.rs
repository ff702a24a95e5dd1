//! The numbers of a table and its notes.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Metric;
use super::statistics::{Statistics, mean, ranks};
use crate::experiment::UNIFORM;
use crate::paper::{self, PaperOverall, PaperValue};
use crate::record::{Measured, TrialRow, WITH_PROPENSITIES};

/// One metric, all policies and problems of a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The metric.
    pub metric: Metric,
    /// The problems: those of the paper in its order, then the others by name.
    pub problems: Vec<String>,
    /// The policies: Uniform, those of the paper in its order, then the others by name.
    pub lines: Vec<PolicyLine>,
    /// Sentences that explain the numbers.
    pub caption: Vec<String>,
    /// Notes on missing numbers.
    pub notes: Vec<String>,
    /// Whether the paper's mean rank and mean value are comparable: the problems are its eight.
    pub has_paper_overall: bool,
    /// Whether seconds are CPU seconds, which all trials must have; else they are wall-clock seconds.
    pub is_cpu_time: bool,
    /// For each problem, the number of trials that all its policies have in common.
    ///
    /// Ranks and the best are computed from these. For seconds, which use each policy's own trials, it is the smallest number of
    /// trials.
    pub n_common: Vec<usize>,
}

/// One policy in a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyLine {
    /// The policy in canonical form.
    pub policy: String,
    /// One for each problem of the table.
    pub cells: Vec<Cell>,
    /// Mean rank over the problems, by common trials; `None` without such trials on every problem.
    pub mean_rank: Option<f64>,
    /// Mean over the problems of [`Cell::value`]; `None` without a value on every problem.
    pub mean_value: Option<f64>,
    /// The same of the means over common trials.
    pub common_value: Option<f64>,
    /// The paper's values.
    pub paper: Option<PaperOverall>,
}

/// One policy on one problem.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// Our value, if there are trials.
    pub ours: Option<Statistics>,
    /// The mean over the trials that all policies of the problem have in common.
    ///
    /// It is comparable between lines. For seconds, it is the median of the policy's own trials.
    pub common: Option<f64>,
    /// The paper's.
    pub paper: Option<PaperValue>,
}

impl Cell {
    /// Our result in one number: the mean of regrets, or the median of seconds.
    ///
    /// Other work on the machine can make single trials much slower, which hardly affects the median.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        self.ours.map(|ours| if metric.is_normalized() { ours.mean } else { ours.median })
    }

    /// The lower and the upper quartile of seconds; one trial has none.
    pub fn quartiles(&self, metric: Metric) -> Option<[f64; 2]> {
        self.ours.filter(|ours| !metric.is_normalized() && ours.n > 1).map(|ours| ours.quartiles)
    }

    /// Our mean minus the paper's, in units of its ±.
    pub fn difference(&self) -> Option<f64> {
        let paper = self.paper?;
        Some((self.ours?.mean - paper.mean) / paper.plus_minus?)
    }

    /// Our mean minus the paper's, in standard errors of the difference.
    ///
    /// It assumes that the paper's ± is a standard deviation over its trials, and ignores the error of Uniform's mean, by which
    /// both are divided.
    pub fn difference_in_errors(&self) -> Option<f64> {
        let paper = self.paper?;
        let theirs = paper.plus_minus? / (paper::TRIALS as f64).sqrt();
        let error = self.ours?.se()?.hypot(theirs);
        Some((self.ours?.mean - paper.mean) / error).filter(|_| error > 0.0)
    }
}

impl PolicyLine {
    /// Standard error of the mean value, the problems taken as given; medians have none here.
    pub fn value_se(&self, metric: Metric) -> Option<f64> {
        self.mean_value.filter(|_| metric.is_normalized())?;
        let errors: Option<Vec<f64>> = self.cells.iter().map(|cell| cell.ours?.se()).collect();
        errors.map(|errors| errors.iter().map(|se| se * se).sum::<f64>().sqrt() / self.cells.len() as f64)
    }
}

/// The value of each trial that ended well.
type Values = BTreeMap<usize, f64>;

impl Table {
    /// Compares the policies of `rows` by `metric`.
    pub fn new(rows: &[TrialRow], metric: Metric) -> Self {
        let kinds = ByKind::new(rows);
        let is_cpu_time = kinds.is_cpu_time;
        let problems = in_order(rows.iter().map(|row| &row.id.problem), paper::problem_column);
        let policies = in_order(rows.iter().map(|row| &row.id.policy), |name| {
            let id = paper::base_id(name);
            paper::POLICIES.iter().position(|policy| *policy == id)
        });
        let mut notes = Vec::new();
        let steps = rows.first().map_or(0, |row| row.steps);
        let shows_paper = steps == paper::STEPS;
        let overall = overall_of(metric, &policies);
        let lines = policies.iter().map(|policy| {
            let cell = |problem: &String| {
                let paper = if shows_paper { paper::value(metric, policy, problem) } else { None };
                Cell { ours: statistics(&kinds, metric, policy, problem, &mut notes), common: None, paper }
            };
            let cells = problems.iter().map(cell).collect();
            let paper = if shows_paper { overall(policy) } else { None };
            PolicyLine {
                policy: policy.clone(),
                cells,
                mean_rank: None,
                mean_value: None,
                common_value: None,
                paper,
            }
        });
        let mut lines: Vec<PolicyLine> = lines.collect();
        let mut apart: Vec<&str> = Vec::new();
        let n_common = problems.iter().enumerate().map(|(place, problem)| {
            let n_common = compare(&kinds, metric, problem, place, &mut lines);
            if n_common == 0 && lines.iter().filter(|line| line.cells[place].ours.is_some()).count() > 1 {
                apart.push(problem);
            }
            n_common
        });
        let n_common = n_common.collect();
        if !apart.is_empty() {
            notes.push(format!(
                "{}: no trial is common to all policies, so none is ranked there.",
                apart.join(", ")
            ));
        }
        let has_uniform = rows.iter().any(|row| row.id.policy == UNIFORM && row.outcome.is_ok());
        if metric.is_normalized() && !rows.is_empty() && !has_uniform {
            // Said once, not of every policy on every problem.
            notes.retain(|note| !note.ends_with(NO_PARTNER));
            notes.insert(0, NO_UNIFORM.to_owned());
        }
        if policies.iter().any(|policy| policy.contains(WITH_PROPENSITIES)) {
            notes.push(PROPENSITIES_NOTE.to_owned());
        }
        let mut columns: Vec<_> = problems.iter().map(|problem| paper::problem_column(problem)).collect();
        columns.sort_unstable();
        let has_paper_overall = metric.is_normalized()
            && shows_paper
            && columns.into_iter().eq((0..paper::PROBLEMS.len()).map(Some));
        let mut table = Self {
            metric,
            problems,
            lines,
            caption: Vec::new(),
            notes,
            has_paper_overall,
            is_cpu_time,
            n_common,
        };
        table.rank();
        table.caption = table.words(steps);
        table
    }

    /// Whether the table shows any value of the paper.
    pub fn has_paper(&self) -> bool {
        self.lines.iter().flat_map(|line| &line.cells).any(|cell| cell.paper.is_some())
    }

    /// Whether a line has the lowest mean on a problem, over common trials.
    pub fn is_best(&self, line: &PolicyLine, problem: usize) -> bool {
        self.is_lowest(line, |line| line.cells[problem].common)
    }

    /// Whether a line has the lowest mean value, over common trials.
    pub fn has_best_value(&self, line: &PolicyLine) -> bool {
        self.is_lowest(line, |line| line.common_value)
    }

    /// Whether a line has the lowest mean rank.
    pub fn has_best_rank(&self, line: &PolicyLine) -> bool {
        self.is_lowest(line, |line| line.mean_rank)
    }

    /// Uniform, which learns nothing, is not marked as the best in seconds.
    fn is_lowest(&self, line: &PolicyLine, of: impl Fn(&PolicyLine) -> Option<f64>) -> bool {
        let is_rival = |line: &PolicyLine| self.metric.is_normalized() || line.policy != UNIFORM;
        let rivals = self.lines.iter().filter(|line| is_rival(line));
        let lowest = rivals.filter_map(&of).min_by(f64::total_cmp);
        is_rival(line) && lowest.is_some() && of(line) == lowest
    }

    /// Whether a policy has trials that another policy lacks.
    ///
    /// Its means over common trials then differ from its own means. False for Uniform, which is always 100.
    pub fn has_more_trials(&self, line: &PolicyLine) -> bool {
        let has_more = |(cell, n_common): (&Cell, &usize)| {
            cell.common.is_some() && cell.ours.is_some_and(|ours| ours.n > *n_common)
        };
        self.metric.is_normalized()
            && line.policy != UNIFORM
            && line.cells.iter().zip(&self.n_common).any(has_more)
    }

    /// How many trials ranks and the best are found by, e.g. `20` or `1 to 50`.
    pub fn common_in_words(&self) -> String {
        match (self.n_common.iter().min(), self.n_common.iter().max()) {
            (Some(fewest), Some(most)) if fewest < most => format!("{fewest} to {most}"),
            (_, most) => most.unwrap_or(&0).to_string(),
        }
    }

    fn rank(&mut self) {
        let mut ranks_of: Vec<Vec<f64>> = vec![Vec::new(); self.lines.len()];
        for problem in 0..self.problems.len() {
            let mean_of = |line: &PolicyLine| line.cells[problem].common;
            let means: Vec<f64> = self.lines.iter().filter_map(mean_of).collect();
            let ranked = (0..self.lines.len()).filter(|&line| mean_of(&self.lines[line]).is_some());
            for (line, rank) in ranked.zip(ranks(&means)) {
                ranks_of[line].push(rank);
            }
        }
        for (line, ranks) in self.lines.iter_mut().zip(ranks_of) {
            let over_problems = |of: &dyn Fn(&Cell) -> Option<f64>| {
                let values: Option<Vec<f64>> = line.cells.iter().map(of).collect();
                values.filter(|values| !values.is_empty()).map(|values| mean(&values))
            };
            let metric = self.metric;
            let own = over_problems(&|cell: &Cell| cell.value(metric));
            let common = over_problems(&|cell: &Cell| cell.common);
            line.mean_rank = (ranks.len() == self.problems.len()).then(|| mean(&ranks));
            (line.mean_value, line.common_value) = (own, common);
        }
    }

    fn words(&self, steps: usize) -> Vec<String> {
        let title = self.metric.title();
        let mut words = vec![match self.metric {
            Metric::Runtime => match self.is_cpu_time {
                true => format!("{title} of {steps} steps: CPU seconds."),
                false => format!(
                    "{title} of {steps} steps: wall-clock seconds, since not all of these trials have CPU seconds."
                ),
            },
            _ => format!(
                "{title}, {steps} steps: percent of Uniform's mean on the same problem over the policy's own trials; \
                 lower is better."
            ),
        }];
        if self.metric == Metric::Simple {
            words.push(
                "Simple regret is the mean regret over the last 500 steps, or over the last quarter of a trial shorter than 2000 steps."
                    .to_owned(),
            );
        }
        words.push(match self.metric {
            Metric::Runtime => {
                let other_work = match self.is_cpu_time {
                    true => "",
                    false => " Other work on the machine makes wall-clock seconds longer.",
                };
                format!(
                    "Median (lower–upper quartile) over n trials.{other_work} Uniform is ranked, but not marked as best."
                )
            }
            _ => "Mean ± standard deviation (sd) over n trials; se is the standard error, sd/√n; the standard error of a mean \
                  value is propagated from the per-problem standard errors."
                .to_owned(),
        });
        words.push(
            "Mean rank and mean value are over the problems shown, ranks among the policies shown."
                .to_owned(),
        );
        if self.lines.iter().any(|line| self.has_more_trials(line)) {
            words.push(format!(
                "Ranks and the best of a column are computed from the trials that all policies have in common, {} on a problem; a \
                 policy with more trials has its means over the common ones in a line of its own.",
                self.common_in_words()
            ));
        }
        if self.has_paper() {
            words.push(match self.metric {
                Metric::Runtime => "The paper's seconds are of one run on an Nvidia 1080-TI.".to_owned(),
                _ => {
                    "The paper calls its ± a standard error, but its size says standard deviation.".to_owned()
                }
            });
        } else if steps != paper::STEPS
            && self.problems.iter().any(|problem| paper::problem_column(problem).is_some())
        {
            words.push(format!("The paper's values are of {} steps, so they are not shown.", paper::STEPS));
        }
        words
    }
}

/// Whether all finished trials have CPU seconds; otherwise they are not comparable.
fn has_cpu_seconds(rows: &[TrialRow]) -> bool {
    let mut measured = rows.iter().filter_map(|row| row.outcome.as_ref().ok()).peekable();
    measured.peek().is_some() && measured.all(|measured| measured.cpu_seconds.is_some())
}

/// What is said of trials that cannot be normalized.
const NO_PARTNER: &str = "Uniform has no such trial.";
/// What is said where none can.
pub(crate) const NO_UNIFORM: &str = "There is no trial of `uniform`, by whose regret all others are measured: run the same \
                                     command with `uniform` among its policies.";
/// What is said where a policy is marked by [`WITH_PROPENSITIES`].
const PROPENSITIES_NOTE: &str = "(propensities): every decision asked for its exact propensity, so that its action was sampled from the \
                                 reported probabilities.";

/// Each name once: those with a place by their place, the others after them.
fn in_order<'a>(
    names: impl Iterator<Item = &'a String>,
    place: impl Fn(&str) -> Option<usize>,
) -> Vec<String> {
    let names: HashSet<&String> = names.collect();
    let mut names: Vec<String> = names.into_iter().cloned().collect();
    names.sort_by_key(|name| (place(name).unwrap_or(usize::MAX), name.clone()));
    names
}

/// Where the paper's mean ranks come from: its table of the ablation, if an ablation is among the policies and all the others
/// stand in that table, too.
fn overall_of(metric: Metric, policies: &[String]) -> impl Fn(&str) -> Option<PaperOverall> {
    let ids: Vec<&str> = policies.iter().map(|policy| paper::base_id(policy)).collect();
    let is_ablation = metric == Metric::Cumulative
        && ids.iter().any(|id| id.ends_with("-ablation"))
        && ids.iter().all(|id| paper::ablation_overall(id).is_some());
    move |policy| match is_ablation {
        true => paper::ablation_overall(policy),
        false => paper::overall(metric, policy),
    }
}

/// One policy on one problem, normalized if the metric is; adds notes on omitted trials.
fn statistics(
    kinds: &ByKind<'_>,
    metric: Metric,
    policy: &str,
    problem: &str,
    notes: &mut Vec<String>,
) -> Option<Statistics> {
    let trials_of = |n: usize| if n == 1 { "1 trial".to_owned() } else { format!("{n} trials") };
    let (values, n_failed) = kinds.values_of(metric, policy, problem);
    if n_failed > 0 {
        notes.push(format!("{policy} on {problem}: {} failed, not counted.", trials_of(n_failed)));
    }
    if values.is_empty() {
        if n_failed == 0 {
            notes.push(format!("{policy} on {problem}: no trials."));
        }
        return None;
    }
    let n_negative = values.values().filter(|value| **value < 0.0).count();
    if metric == Metric::Cumulative && n_negative > 0 {
        let lowest = values.values().copied().fold(f64::INFINITY, f64::min);
        notes.push(format!(
            "{policy} on {problem}: total regret is negative in {n_negative} of {}, down to {lowest:.1}: the policy earned more than the best expected rewards. Noise in the rewards can cause this; a large amount means that `optimal` is too low.",
            trials_of(values.len())
        ));
    }
    if !metric.is_normalized() {
        return Statistics::of(&values.into_values().collect::<Vec<_>>());
    }
    let (own, partners): (Vec<f64>, Vec<f64>) =
        kinds.with_uniform(metric, policy, problem).into_values().unzip();
    if own.len() < values.len() {
        let left_out = trials_of(values.len() - own.len());
        notes.push(format!("{policy} on {problem}: {left_out} left out, {NO_PARTNER}"));
    }
    let uniform_mean = Statistics::of(&partners)?.mean;
    if uniform_mean <= 0.0 {
        notes.push(format!(
            "{policy} on {problem}: Uniform's mean is {uniform_mean}, so nothing can be normalized by it."
        ));
        return None;
    }
    // Uniform's own mean divided by itself is exactly 100.
    let ours = Statistics::of(&own)?;
    Some(Statistics { mean: 100.0 * (ours.mean / uniform_mean), ..ours.scaled(100.0 / uniform_mean) })
}

/// Sets the means of a problem over the trials that all of its policies have in common, and returns their number. Seconds depend
/// on the machine more than on the trial, so each policy's own trials count.
fn compare(
    kinds: &ByKind<'_>,
    metric: Metric,
    problem: &str,
    place: usize,
    lines: &mut [PolicyLine],
) -> usize {
    if !metric.is_normalized() {
        for cell in lines.iter_mut().map(|line| &mut line.cells[place]) {
            cell.common = cell.value(metric);
        }
        return lines.iter().filter_map(|line| Some(line.cells[place].ours?.n)).min().unwrap_or(0);
    }
    let compared: Vec<_> = (0..lines.len())
        .filter(|&line| lines[line].cells[place].ours.is_some())
        .map(|line| (line, kinds.with_uniform(metric, &lines[line].policy, problem)))
        .collect();
    let common = common_trials(compared.iter().map(|(_, values)| values));
    for (line, values) in compared.iter().filter(|_| !common.is_empty()) {
        let (own, uniform): (Vec<f64>, Vec<f64>) = common.iter().map(|trial| values[trial]).unzip();
        let uniform = mean(&uniform);
        lines[*line].cells[place].common = (uniform > 0.0).then(|| 100.0 * (mean(&own) / uniform));
    }
    common.len()
}

/// The trials that all of these have.
pub(crate) fn common_trials<'a, V: 'a>(
    mut all: impl Iterator<Item = &'a BTreeMap<usize, V>> + Clone,
) -> Vec<usize> {
    let Some(first) = all.next() else { return Vec::new() };
    first.keys().copied().filter(|trial| all.clone().all(|values| values.contains_key(trial))).collect()
}

/// The rows of each policy on each problem, found once: a run may have a million rows.
pub(crate) struct ByKind<'a> {
    /// By policy, then by problem.
    policies: HashMap<&'a str, HashMap<&'a str, Vec<&'a TrialRow>>>,
    is_cpu_time: bool,
}

impl<'a> ByKind<'a> {
    pub(crate) fn new(rows: &'a [TrialRow]) -> Self {
        let mut policies: HashMap<&str, HashMap<&str, Vec<&TrialRow>>> = HashMap::new();
        for row in rows {
            let problems = policies.entry(&row.id.policy).or_default();
            problems.entry(&row.id.problem).or_default().push(row);
        }
        Self { policies, is_cpu_time: has_cpu_seconds(rows) }
    }

    /// The value of each trial of a policy, and Uniform's of the same trial; trials without a partner are left out.
    pub(crate) fn with_uniform(
        &self,
        metric: Metric,
        policy: &str,
        problem: &str,
    ) -> BTreeMap<usize, (f64, f64)> {
        let (values, _) = self.values_of(metric, policy, problem);
        let (uniform, _) = self.values_of(metric, UNIFORM, problem);
        values.into_iter().filter_map(|(trial, own)| Some((trial, (own, *uniform.get(&trial)?)))).collect()
    }

    /// The values of the trials that ended well, and how many failed.
    fn values_of(&self, metric: Metric, policy: &str, problem: &str) -> (Values, usize) {
        let is_cpu_time = metric == Metric::Runtime && self.is_cpu_time;
        let mut values = Values::new();
        let mut n_failed = 0;
        let rows = self.policies.get(policy).and_then(|problems| problems.get(problem));
        for row in rows.into_iter().flatten() {
            match &row.outcome {
                Ok(measured) => {
                    values.insert(row.id.trial, value(metric, measured, is_cpu_time));
                }
                Err(_) => n_failed += 1,
            }
        }
        (values, n_failed)
    }
}

fn value(metric: Metric, measured: &Measured, is_cpu_time: bool) -> f64 {
    match metric {
        Metric::Cumulative => measured.cumulative_regret,
        Metric::Simple => measured.simple_regret,
        Metric::Runtime => measured.cpu_seconds.filter(|_| is_cpu_time).unwrap_or_else(|| measured.seconds()),
    }
}
