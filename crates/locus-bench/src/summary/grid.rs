//! Policies down and problems across, as plain text: what a page and a paper show alike.
//!
//! The cells are numbers, `±`, `–` and names as they are; each format escapes them in its own way.

use super::number::{DASH, number, optional};
use super::{Cell, PolicyLine, Table};

/// What a row says.
pub(super) enum Title<'a> {
    /// Mean and standard deviation of this policy.
    Policy(&'a str),
    /// Standard errors and numbers of trials of the policy above.
    Errors,
    /// What the paper says of the policy above.
    Paper,
}

/// Each policy's rows: its own, its errors and, where the paper has any, the paper's values.
pub(super) fn rows(table: &Table) -> Vec<(Title<'_>, Vec<String>)> {
    let mut rows = Vec::new();
    for line in &table.lines {
        let mut ours = Vec::new();
        let mut errors = Vec::new();
        let mut paper = Vec::new();
        if table.metric.is_normalized() {
            ours.extend([line.mean_rank, line.mean_value].map(|value| optional(table.metric, value)));
            errors.extend([String::new(), String::new()]);
            paper.extend(paper_overall(table, line));
        }
        for cell in &line.cells {
            ours.push(mean_and_sd(table, cell));
            errors.push(se_and_n(table, cell));
            paper.push(paper_value(table, cell));
        }
        rows.push((Title::Policy(&line.policy), ours));
        rows.push((Title::Errors, errors));
        if line.cells.iter().any(|cell| cell.paper.is_some()) {
            rows.push((Title::Paper, paper));
        }
    }
    rows
}

fn paper_overall(table: &Table, line: &PolicyLine) -> [String; 2] {
    match line.paper.filter(|_| table.has_paper_overall) {
        Some(paper) => {
            [format!("{} of {}", paper.mean_rank, paper.ranked), number(table.metric, paper.mean_value)]
        }
        None => [String::new(), String::new()],
    }
}

fn mean_and_sd(table: &Table, cell: &Cell) -> String {
    cell.ours.map_or_else(|| DASH.to_owned(), |ours| with_spread(table, ours.mean, ours.sd))
}

fn se_and_n(table: &Table, cell: &Cell) -> String {
    cell.ours.map_or_else(String::new, |ours| format!("{} ({})", optional(table.metric, ours.se()), ours.n))
}

fn paper_value(table: &Table, cell: &Cell) -> String {
    cell.paper.map_or_else(String::new, |paper| with_spread(table, paper.mean, paper.plus_minus))
}

fn with_spread(table: &Table, mean: f64, spread: Option<f64>) -> String {
    let mean = number(table.metric, mean);
    spread.map_or_else(|| mean.clone(), |spread| format!("{mean} ± {}", number(table.metric, spread)))
}
