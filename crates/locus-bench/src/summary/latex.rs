//! For a paper: a `table` that needs the package `booktabs`, policies down and problems across.

use super::number::{number, optional};
use super::{Cell, Table};

pub(super) fn render(table: &Table) -> String {
    let has_overall = table.metric.is_normalized();
    let n_numbers = table.problems.len() + if has_overall { 2 } else { 0 };
    let mut header = vec!["Policy".to_owned()];
    if has_overall {
        header.extend(["Mean rank".to_owned(), "Mean value".to_owned()]);
    }
    header.extend(table.problems.iter().map(|problem| escaped(problem)));
    let mut out = String::from("\\begin{table}\n\\centering\n");
    let words: Vec<String> = table.caption.iter().chain(&table.notes).map(|words| escaped(words)).collect();
    out.push_str(&format!("\\caption{{{}}}\n", words.join(" ")));
    out.push_str(&format!("\\begin{{tabular}}{{l{}}}\n\\toprule\n", "r".repeat(n_numbers)));
    out.push_str(&format!("{} \\\\\n\\midrule\n", header.join(" & ")));
    for line in &table.lines {
        let mut ours = vec![format!("\\texttt{{{}}}", escaped(&line.policy))];
        let mut errors = vec!["\\quad se ($n$)".to_owned()];
        let mut paper = vec!["\\quad paper".to_owned()];
        if has_overall {
            ours.extend([line.mean_rank, line.mean_value].map(|value| shown(table, value)));
            errors.extend([String::new(), String::new()]);
            let overall = line.paper.filter(|_| table.has_paper_overall);
            paper.extend([
                overall.map_or_else(String::new, |paper| format!("{} of {}", paper.mean_rank, paper.ranked)),
                overall.map_or_else(String::new, |paper| number(table.metric, paper.mean_value)),
            ]);
        }
        for cell in &line.cells {
            let mean = cell.ours.map(|ours| ours.mean);
            ours.push(with_spread(table, mean, cell.ours.and_then(|ours| ours.sd)));
            errors.push(se_and_n(table, cell));
            paper
                .push(cell.paper.map_or_else(String::new, |paper| {
                    with_spread(table, Some(paper.mean), paper.plus_minus)
                }));
        }
        let has_paper = line.cells.iter().any(|cell| cell.paper.is_some());
        for cells in [Some(ours), Some(errors), has_paper.then_some(paper)].into_iter().flatten() {
            out.push_str(&format!("{} \\\\\n", cells.join(" & ")));
        }
    }
    out.push_str("\\bottomrule\n\\end{tabular}\n\\end{table}\n");
    out
}

fn shown(table: &Table, value: Option<f64>) -> String {
    escaped(&optional(table.metric, value))
}

fn with_spread(table: &Table, mean: Option<f64>, spread: Option<f64>) -> String {
    let mean = shown(table, mean);
    spread.map_or_else(|| mean.clone(), |spread| format!("{mean} $\\pm$ {}", number(table.metric, spread)))
}

fn se_and_n(table: &Table, cell: &Cell) -> String {
    cell.ours.map_or_else(String::new, |ours| format!("{} ({})", shown(table, ours.se()), ours.n))
}

/// TeX's own letters, and the few that we use beyond ASCII.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', letter]),
            // A bracket after `\\` would be taken for its argument.
            '[' | ']' => out.extend(['{', letter, '}']),
            '±' => out.push_str("$\\pm$"),
            '√' => out.push_str("$\\surd$"),
            '–' => out.push_str("--"),
            _ => out.push(letter),
        }
    }
    out
}
