//! For a page: policies down, problems across; below each policy its errors and the paper's values.

use super::number::{DASH, number, optional};
use super::{Cell, Table};

pub(super) fn render(table: &Table) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    let has_overall = table.metric.is_normalized();
    let mut header = vec!["policy".to_owned()];
    if has_overall {
        header.extend(["mean rank".to_owned(), "mean value".to_owned()]);
    }
    header.extend(table.problems.iter().map(|problem| escaped(problem)));
    let rule = std::iter::once("---").chain(std::iter::repeat_n("---:", header.len() - 1));
    let rule = rule.map(str::to_owned).collect();
    lines.push(header);
    lines.push(rule);
    for line in &table.lines {
        let mut ours = vec![format!("`{}`", escaped(&line.policy))];
        let mut errors = vec!["se (n)".to_owned()];
        let mut paper = vec!["paper".to_owned()];
        if has_overall {
            ours.extend([line.mean_rank, line.mean_value].map(|value| optional(table.metric, value)));
            errors.extend([String::new(), String::new()]);
            let overall = line.paper.filter(|_| table.has_paper_overall);
            paper.extend([
                overall.map_or_else(String::new, |paper| format!("{} of {}", paper.mean_rank, paper.ranked)),
                overall.map_or_else(String::new, |paper| number(table.metric, paper.mean_value)),
            ]);
        }
        for cell in &line.cells {
            ours.push(mean_and_sd(table, cell));
            errors.push(se_and_n(table, cell));
            paper.push(paper_value(table, cell));
        }
        lines.push(ours);
        lines.push(errors);
        if line.cells.iter().any(|cell| cell.paper.is_some()) {
            lines.push(paper);
        }
    }
    let mut out: String = lines.iter().map(|line| format!("| {} |\n", line.join(" | "))).collect();
    out.push_str(&format!("\n{}\n", table.caption.join(" ")));
    if !table.notes.is_empty() {
        out.push('\n');
        out.extend(table.notes.iter().map(|note| format!("- {note}\n")));
    }
    out
}

fn mean_and_sd(table: &Table, cell: &Cell) -> String {
    let Some(ours) = cell.ours else { return DASH.to_owned() };
    let mean = number(table.metric, ours.mean);
    ours.sd.map_or_else(|| mean.clone(), |sd| format!("{mean} ± {}", number(table.metric, sd)))
}

fn se_and_n(table: &Table, cell: &Cell) -> String {
    cell.ours.map_or_else(String::new, |ours| format!("{} ({})", optional(table.metric, ours.se()), ours.n))
}

fn paper_value(table: &Table, cell: &Cell) -> String {
    let Some(paper) = cell.paper else { return String::new() };
    let mean = number(table.metric, paper.mean);
    paper.plus_minus.map_or_else(|| mean.clone(), |pm| format!("{mean} ± {}", number(table.metric, pm)))
}

fn escaped(name: &str) -> String {
    name.replace('|', "\\|")
}
