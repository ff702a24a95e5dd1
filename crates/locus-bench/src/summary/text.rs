//! For a terminal: problem by problem, one line for each policy, so that any number of problems stays readable.

use super::number::{DASH, number, optional, range};
use super::{Cell, Table};

pub(super) fn render(table: &Table) -> String {
    let mut out = String::new();
    let mut blocks: Vec<(String, Vec<Vec<String>>)> = Vec::new();
    for (problem_idx, problem) in table.problems.iter().enumerate() {
        blocks.push((problem.clone(), of_problem(table, problem_idx)));
    }
    blocks.push(overall(table));
    for (title, lines) in blocks {
        out.push_str(&format!("{title}\n{}\n", aligned(&lines)));
    }
    let mut words: Vec<&str> = table.caption.iter().map(String::as_str).collect();
    if table.lines.iter().flat_map(|line| &line.cells).any(|cell| cell.difference().is_some()) {
        words.push("diff/± is ours minus the paper's, in units of its ±.");
    }
    words.extend(table.notes.iter().map(String::as_str));
    out.push_str(&words.join("\n"));
    out.push('\n');
    out
}

/// A header, and a line for each policy; columns in which nothing stands are left out.
fn of_problem(table: &Table, problem: usize) -> Vec<Vec<String>> {
    let has_paper = table.lines.iter().any(|line| line.cells[problem].paper.is_some());
    // The paper's seconds come without ±.
    let has_spread = has_paper && table.metric.is_normalized();
    let n_common = table.n_common[problem];
    let has_common = table.lines.iter().any(|line| {
        table.has_more_trials(line) && line.cells[problem].ours.is_some_and(|ours| ours.n > n_common)
    });
    let in_common = format!("in common ({n_common})");
    let is_mean = table.metric.is_normalized();
    let (center, spread) = if is_mean { ("mean", "± sd") } else { ("median", "quartiles") };
    let header = ["policy", center, spread, "se", "n", &in_common, "paper", "±", "diff/±"];
    let is_shown = [true, true, true, is_mean, true, has_common, has_paper, has_spread, has_spread];
    let shown = |cells: Vec<String>| -> Vec<String> {
        cells.into_iter().zip(is_shown).filter_map(|(cell, is_shown)| is_shown.then_some(cell)).collect()
    };
    let header = header.map(str::to_owned).to_vec();
    let lines = table.lines.iter().map(|line| cells(table, &line.policy, &line.cells[problem]));
    std::iter::once(header).chain(lines).map(shown).collect()
}

fn cells(table: &Table, policy: &str, cell: &Cell) -> Vec<String> {
    let show = |value| optional(table.metric, value);
    let spread = |value: Option<f64>| {
        value.map_or_else(|| DASH.to_owned(), |value| format!("± {}", number(table.metric, value)))
    };
    let ours = cell.ours;
    let sd_or_quartiles = match table.metric.is_normalized() {
        true => spread(ours.and_then(|ours| ours.sd)),
        false => cell
            .quartiles(table.metric)
            .map_or_else(|| DASH.to_owned(), |quartiles| range(table.metric, quartiles)),
    };
    vec![
        policy.to_owned(),
        show(cell.value(table.metric)),
        sd_or_quartiles,
        show(ours.and_then(|ours| ours.se())),
        ours.map_or(0, |ours| ours.n).to_string(),
        show(cell.common),
        show(cell.paper.map(|paper| paper.mean)),
        spread(cell.paper.and_then(|paper| paper.plus_minus)),
        cell.difference().map_or_else(|| DASH.to_owned(), |difference| format!("{difference:+.2}")),
    ]
}

fn overall(table: &Table) -> (String, Vec<Vec<String>>) {
    let has_common = table.lines.iter().any(|line| table.has_more_trials(line));
    let has_errors = table.lines.iter().any(|line| line.value_se(table.metric).is_some());
    let mut header = vec!["policy", "mean rank", "mean value"];
    if has_errors {
        header.push("se");
    }
    if has_common {
        header.push("in common");
    }
    if table.has_paper_overall {
        header.extend(["paper rank", "paper value"]);
    }
    let mut lines: Vec<Vec<String>> = vec![header.into_iter().map(str::to_owned).collect()];
    for line in &table.lines {
        let mut cells = vec![
            line.policy.clone(),
            optional(table.metric, line.mean_rank),
            optional(table.metric, line.mean_value),
        ];
        if has_errors {
            cells.push(optional(table.metric, line.value_se(table.metric)));
        }
        if has_common {
            cells.push(optional(table.metric, line.common_value));
        }
        if table.has_paper_overall {
            let rank = line.paper.map(|paper| format!("{} of {}", paper.mean_rank, paper.ranked));
            cells.push(rank.unwrap_or_else(|| optional(table.metric, None)));
            cells.push(optional(table.metric, line.paper.map(|paper| paper.mean_value)));
        }
        lines.push(cells);
    }
    ("over all problems".to_owned(), lines)
}

/// The first column to the left, the others to the right.
pub(crate) fn aligned(lines: &[Vec<String>]) -> String {
    let n_columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let mut text = String::from(" ");
        for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            match column {
                0 => text.push_str(&format!(" {cell:<width$}")),
                _ => text.push_str(&format!("  {cell:>width$}")),
            }
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}
