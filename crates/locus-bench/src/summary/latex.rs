//! For a paper: a `table` that needs the package `booktabs`, policies down and problems across.

use super::Table;
use super::grid::{Title, rows, words};

pub(super) fn render(table: &Table) -> String {
    let n_numbers = table.problems.len() + 2;
    let mut header = ["Policy", "Mean rank", "Mean value"].map(str::to_owned).to_vec();
    header.extend(table.problems.iter().map(|problem| escaped(problem)));
    let mut out = String::from("\\begin{table}\n\\centering\n");
    let words: Vec<String> = words(table).iter().chain(&table.notes).map(|words| escaped(words)).collect();
    out.push_str(&format!("\\caption{{{}}}\n", words.join(" ")));
    out.push_str(&format!("\\begin{{tabular}}{{l{}}}\n\\toprule\n", "r".repeat(n_numbers)));
    out.push_str(&format!("{} \\\\\n\\midrule\n", header.join(" & ")));
    for (title, cells) in rows(table) {
        let title = match title {
            Title::Policy(policy) => format!("\\texttt{{{}}}", escaped(policy)),
            Title::Errors => "\\quad se ($n$)".to_owned(),
            Title::Numbers => "\\quad $n$".to_owned(),
            Title::Common => "\\quad in common ($n$)".to_owned(),
            Title::Paper => "\\quad paper".to_owned(),
        };
        let cells = cells.iter().map(|cell| match cell.is_best {
            true => format!("\\textbf{{{}}}", escaped(&cell.text)),
            false => escaped(&cell.text),
        });
        let cells: Vec<String> = std::iter::once(title).chain(cells).collect();
        out.push_str(&format!("{} \\\\\n", cells.join(" & ")));
    }
    out.push_str("\\bottomrule\n\\end{tabular}\n\\end{table}\n");
    out
}

/// TeX's own letters, and the few that we use beyond ASCII.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', letter]),
            // A bracket after `\\` would be taken for its argument.
            '[' | ']' => out.extend(['{', letter, '}']),
            '<' => out.push_str("$<$"),
            '±' => out.push_str("$\\pm$"),
            '√' => out.push_str("$\\surd$"),
            '–' => out.push_str("--"),
            '−' => out.push_str("$-$"),
            _ => out.push(letter),
        }
    }
    out
}
