//! Policies down and problems across, as plain text: what a page and a paper show alike.
//!
//! The cells are numbers, `±`, `–` and names as they are; each format escapes them in its own way.

use super::number::{DASH, number, optional, range, signed};
use super::{Cell, PolicyLine, Table};

/// What a row says.
pub(super) enum Title<'a> {
    /// Mean and standard deviation of this policy, or median and quartiles of its seconds.
    Policy(&'a str),
    /// Standard errors and numbers of trials of the policy above.
    Errors,
    /// Numbers of trials of the policy above, whose medians have no standard errors.
    Numbers,
    /// Means of the policy above over the trials that all have in common, where it has more.
    Common,
    /// What the paper says of the policy above.
    Paper,
}

/// A text, and whether it is the best of its column.
pub(super) struct Entry {
    pub(super) text: String,
    pub(super) is_best: bool,
}

/// Each policy's rows: its own, its errors, what it is compared by if that is not its own, and, where the paper has any, the
/// paper's values. The best of a column is marked in the row by which it is found.
pub(super) fn rows(table: &Table) -> Vec<(Title<'_>, Vec<Entry>)> {
    let plain = |texts: Vec<String>| texts.into_iter().map(|text| Entry { text, is_best: false }).collect();
    let mut rows = Vec::new();
    for line in &table.lines {
        let has_more = table.has_more_trials(line);
        let (is_best_rank, is_best_value) = (table.has_best_rank(line), table.has_best_value(line));
        let mut ours = vec![
            Entry { text: optional(table.metric, line.mean_rank), is_best: is_best_rank },
            Entry { text: optional(table.metric, line.mean_value), is_best: is_best_value && !has_more },
        ];
        let value_se = line.value_se(table.metric).map(|se| number(table.metric, se));
        let mut errors = vec![String::new(), value_se.unwrap_or_default()];
        let mut common = vec![
            Entry { text: String::new(), is_best: false },
            Entry { text: optional(table.metric, line.common_value), is_best: is_best_value },
        ];
        let mut paper = paper_overall(table, line).to_vec();
        for (problem, (cell, n_common)) in line.cells.iter().zip(&table.n_common).enumerate() {
            let is_best = table.is_best(line, problem);
            ours.push(Entry { text: center_and_spread(table, cell), is_best: is_best && !has_more });
            errors.push(se_and_n(table, cell));
            let text = cell.common.map(|mean| format!("{} ({n_common})", number(table.metric, mean)));
            common.push(Entry { text: text.unwrap_or_default(), is_best });
            paper.push(paper_value(table, cell));
        }
        rows.push((Title::Policy(&line.policy), ours));
        let below = if table.metric.is_normalized() { Title::Errors } else { Title::Numbers };
        rows.push((below, plain(errors)));
        if has_more {
            rows.push((Title::Common, common));
        }
        if line.cells.iter().any(|cell| cell.paper.is_some()) {
            rows.push((Title::Paper, plain(paper)));
        }
    }
    rows
}

/// What is said below the rows.
pub(super) fn words(table: &Table) -> Vec<String> {
    let mut words = table.caption.clone();
    words.push("Bold: the best of a column.".to_owned());
    if table.lines.iter().flat_map(|line| &line.cells).any(|cell| cell.difference().is_some()) {
        words.push("In brackets: ours minus the paper's, in units of its ±.".to_owned());
    }
    words
}

fn paper_overall(table: &Table, line: &PolicyLine) -> [String; 2] {
    match line.paper.filter(|_| table.has_paper_overall) {
        Some(paper) => {
            [format!("{} of {}", paper.mean_rank, paper.ranked), number(table.metric, paper.mean_value)]
        }
        None => [String::new(), String::new()],
    }
}

fn center_and_spread(table: &Table, cell: &Cell) -> String {
    if let (Some(median), Some(quartiles)) = (cell.value(table.metric), cell.quartiles(table.metric)) {
        return format!("{} ({})", number(table.metric, median), range(table.metric, quartiles));
    }
    let spread = cell.ours.and_then(|ours| ours.sd).filter(|_| table.metric.is_normalized());
    cell.value(table.metric).map_or_else(|| DASH.to_owned(), |value| with_spread(table, value, spread))
}

fn se_and_n(table: &Table, cell: &Cell) -> String {
    if !table.metric.is_normalized() {
        return cell.ours.map_or_else(String::new, |ours| ours.n.to_string());
    }
    cell.ours.map_or_else(String::new, |ours| format!("{} ({})", optional(table.metric, ours.se()), ours.n))
}

fn paper_value(table: &Table, cell: &Cell) -> String {
    let Some(paper) = cell.paper else { return String::new() };
    let difference = cell.difference().map(|difference| format!(" ({})", signed(difference)));
    with_spread(table, paper.mean, paper.plus_minus) + &difference.unwrap_or_default()
}

fn with_spread(table: &Table, mean: f64, spread: Option<f64>) -> String {
    let mean = number(table.metric, mean);
    spread.map_or_else(|| mean.clone(), |spread| format!("{mean} ± {}", number(table.metric, spread)))
}
