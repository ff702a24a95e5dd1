//! For a page: policies down, problems across; below each policy its errors, its means over common trials and the paper's values.

use super::Table;
use super::grid::{Title, rows, words};

pub(super) fn render(table: &Table) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut header = ["policy", "mean rank", "mean value"].map(str::to_owned).to_vec();
    header.extend(table.problems.iter().map(|problem| escaped(problem)));
    let rule = std::iter::once("---").chain(std::iter::repeat_n("---:", header.len() - 1));
    let rule = rule.map(str::to_owned).collect();
    lines.push(header);
    lines.push(rule);
    for (title, cells) in rows(table) {
        let title = match title {
            Title::Policy(policy) => format!("`{}`", escaped(policy)),
            Title::Errors => "se (n)".to_owned(),
            Title::Numbers => "n".to_owned(),
            Title::Common => "in common (n)".to_owned(),
            Title::Paper => "paper".to_owned(),
        };
        let cells = cells.into_iter().map(|cell| match cell.is_best {
            true => format!("**{}**", cell.text),
            false => cell.text,
        });
        lines.push(std::iter::once(title).chain(cells).collect());
    }
    let mut out: String = lines.iter().map(|line| format!("| {} |\n", line.join(" | "))).collect();
    out.push_str(&format!("\n{}\n", words(table).join(" ")));
    if !table.notes.is_empty() {
        out.push('\n');
        out.extend(table.notes.iter().map(|note| format!("- {note}\n")));
    }
    out
}

pub(crate) fn escaped(name: &str) -> String {
    name.replace('|', "\\|")
}
