//! Tables as HTML: what `summary` knows of each cell, to be sorted and copied.

use super::scrolling;
use crate::experiment::UNIFORM;
use crate::paper;
use crate::report::ShownTable;
use crate::report::svg::escaped;
use crate::summary::{Cell, Format, Metric, PolicyLine, Table, number, optional, range, signed};

/// A table under its heading, the same in formats to copy, and its words unless they stand in `said` already.
pub(super) fn render(shown: &ShownTable, prefix: &str, level: usize, said: &mut String) -> String {
    let table = &shown.table;
    let id = format!("{prefix}table-{}", shown.id);
    let title = escaped(&shown.title);
    let mut words = table.caption.clone();
    words.push("The best of a column is framed.".to_owned());
    if table.has_paper() && table.metric.is_normalized() {
        words.push(
            "Difference: ours minus the paper's, in units of its ±; bold where it is above 1.".to_owned(),
        );
    }
    let (first, rest) = words.split_first().expect("a table says what it shows");
    let mut html =
        format!("<table class=\"sortable\" id=\"{id}\">\n<caption>{}</caption>\n<thead><tr>", escaped(first));
    let mut header = ["policy", "mean rank", "mean value"].map(str::to_owned).to_vec();
    header.extend(table.problems.iter().cloned());
    for title in header {
        html.push_str(&format!(
            "<th scope=\"col\"><button type=\"button\">{}</button></th>",
            escaped(&title)
        ));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for line in &table.lines {
        html.push_str(&row(table, line));
    }
    html.push_str("</tbody></table>\n");
    let copied = [Format::Markdown, Format::Csv, Format::Latex].map(|format| table.render(format));
    let mut html = format!(
        "<h{level} id=\"{prefix}{}\">{title}</h{level}>\n{}{}",
        shown.id,
        scrolling(&shown.title, &html),
        copies(&id, copied)
    );
    let rest = rest.join(" ");
    if *said != rest {
        html.push_str(&format!("<p class=\"words\">{}</p>\n", escaped(&rest)));
        *said = rest;
    }
    if !table.notes.is_empty() {
        let notes: String = table.notes.iter().map(|note| format!("<li>{}</li>", escaped(note))).collect();
        html.push_str(&format!("<ul class=\"words\">{notes}</ul>\n"));
    }
    if shown.id == Metric::Cumulative.name() {
        let sentences = agreement(table);
        if !sentences.is_empty() {
            let level = level + 1;
            html.push_str(&format!(
                "<h{level}>Agreement with the paper</h{level}>\n<p>{}</p>\n",
                sentences.join(" ")
            ));
        }
    }
    html
}

fn row(table: &Table, line: &PolicyLine) -> String {
    let compared = match table.metric {
        _ if !line.cells.iter().any(|cell| cell.paper.is_some()) => "",
        Metric::Runtime => "<small class=\"paper\">paper</small>",
        _ => "<small class=\"paper\">paper (difference)</small>",
    };
    let has_more = table.has_more_trials(line);
    let in_common = if has_more { "<small class=\"common\">in common (n)</small>" } else { "" };
    let below = if table.metric.is_normalized() { "se (n)" } else { "n" };
    let mut html = format!(
        "<tr><th scope=\"row\" data-sort=\"{0}\"><code>{0}</code><small>{below}</small>{in_common}{compared}</th>",
        escaped(&line.policy)
    );
    // Every line of a row's cells stands at the height of its title.
    let common = |text: String| has_more.then(|| format!("<small class=\"common\">{text}</small>"));
    let paper = line.paper.filter(|_| table.has_paper_overall);
    let rank = paper.map(|paper| format!("{} of {}", paper.mean_rank, paper.ranked));
    let below = common("&nbsp;".to_owned()).unwrap_or_default();
    html.push_str(&overall(table, (line.mean_rank, None), table.has_best_rank(line), below, rank));
    let value = paper.map(|paper| shown(table.metric, paper.mean_value));
    let below = common(optional(table.metric, line.common_value)).unwrap_or_default();
    let ours = (line.mean_value, line.value_se(table.metric));
    html.push_str(&overall(table, ours, table.has_best_value(line), below, value));
    for (problem, (cell, n_common)) in line.cells.iter().zip(&table.n_common).enumerate() {
        let text = cell.common.map(|mean| format!("{} ({n_common})", shown(table.metric, mean)));
        let below = common(text.unwrap_or_else(|| "&nbsp;".to_owned())).unwrap_or_default();
        html.push_str(&cell_html(table.metric, cell, table.is_best(line, problem), &below));
    }
    html.push_str("</tr>\n");
    html
}

/// A number as HTML.
fn shown(metric: Metric, value: f64) -> String {
    escaped(&number(metric, value))
}

fn overall(
    table: &Table,
    (ours, se): (Option<f64>, Option<f64>),
    is_best: bool,
    below: String,
    paper: Option<String>,
) -> String {
    let se = se.map_or_else(|| "&nbsp;".to_owned(), |se| shown(table.metric, se));
    let paper = paper.map(|paper| format!("<small class=\"paper\">{paper}</small>")).unwrap_or_default();
    let text = escaped(&optional(table.metric, ours));
    format!("<td{}{}><b>{text}</b><small>{se}</small>{below}{paper}</td>", sort_key(ours), class(is_best))
}

fn cell_html(metric: Metric, cell: &Cell, is_best: bool, below: &str) -> String {
    let (Some(ours), Some(value)) = (cell.ours, cell.value(metric)) else {
        return format!("<td><b>–</b><small>&nbsp;</small>{below}{}</td>", paper_html(metric, cell));
    };
    let (spread, below_it) = if metric.is_normalized() {
        let error = ours.se().map(|se| format!("{} ", shown(metric, se))).unwrap_or_default();
        (ours.sd.map(|sd| format!(" ± {}", shown(metric, sd))), format!("{error}({})", ours.n))
    } else {
        let quartiles = cell.quartiles(metric);
        (quartiles.map(|quartiles| format!(" ({})", escaped(&range(metric, quartiles)))), ours.n.to_string())
    };
    format!(
        "<td{}{}><b>{}</b>{}<small>{below_it}</small>{below}{}</td>",
        sort_key(Some(value)),
        class(is_best),
        shown(metric, value),
        spread.unwrap_or_default(),
        paper_html(metric, cell)
    )
}

fn paper_html(metric: Metric, cell: &Cell) -> String {
    let Some(paper) = cell.paper else { return String::new() };
    let spread = paper.plus_minus.map(|spread| format!(" ± {}", shown(metric, spread))).unwrap_or_default();
    let difference = cell.difference().map_or(String::new(), |difference| {
        // SPEC: a lower mean agrees too.
        let class = if difference <= 1.0 { "agrees" } else { "differs" };
        format!(" <span class=\"{class}\">({})</span>", signed(difference))
    });
    format!("<small class=\"paper\">{}{spread}{difference}</small>", shown(metric, paper.mean))
}

fn sort_key(value: Option<f64>) -> String {
    value.map(|value| format!(" data-sort=\"{value}\"")).unwrap_or_default()
}

fn class(is_best: bool) -> &'static str {
    if is_best { " class=\"best\"" } else { "" }
}

/// Buttons that copy the table called `id`, and what they copy: Markdown, CSV and LaTeX.
pub(super) fn copies(id: &str, texts: [String; 3]) -> String {
    let mut html = String::from("<div class=\"copies\">Copy as ");
    for (text, name) in texts.iter().zip(["Markdown", "CSV", "LaTeX"]) {
        let target = format!("{id}-{}", name.to_lowercase());
        html.push_str(&format!(
            "<button type=\"button\" data-copy=\"{target}\">{name}</button><textarea id=\"{target}\" hidden readonly \
             aria-label=\"the table as {name}\">\n{}</textarea> ",
            escaped(text)
        ));
    }
    html.push_str("<span class=\"copied\" role=\"status\"></span></div>\n");
    html
}

/// Whether our means agree with the paper's, in a few sentences.
fn agreement(table: &Table) -> Vec<String> {
    let differences: Vec<f64> = table
        .lines
        .iter()
        .filter(|line| line.policy != UNIFORM)
        .flat_map(|line| line.cells.iter().filter_map(Cell::difference))
        .collect();
    if differences.is_empty() {
        return Vec::new();
    }
    let better = differences.iter().filter(|difference| **difference < -1.0).count();
    let worse = differences.iter().filter(|difference| **difference > 1.0).count();
    let n = differences.len();
    let within = format!(
        "Of the {n} means that the paper prints too, {} lie within one of its ±, {better} are lower and {worse} are higher.",
        n - better - worse
    );
    std::iter::once(within).chain(in_errors(table)).collect()
}

/// How our means agree with the paper's by a stricter measure than its ±.
fn in_errors(table: &Table) -> Option<String> {
    // Another preset than the plain id's is known to be something else.
    let is_plain = |policy: &str| policy != UNIFORM && !policy.contains('@');
    let rivals = table.lines.iter().filter(|line| is_plain(&line.policy));
    // Fewer trials do not tell their standard error well enough.
    let has_enough = |cell: &Cell| cell.ours.is_some_and(|ours| ours.n >= 10);
    let of_line = |line: &PolicyLine| {
        let cells = line.cells.iter().zip(&table.problems).filter(|(cell, _)| has_enough(cell));
        let errors =
            cells.filter_map(|(cell, problem)| Some((cell.difference_in_errors()?, problem.clone())));
        errors.map(|(errors, problem)| (errors, line.policy.clone(), problem)).collect::<Vec<_>>()
    };
    let all: Vec<_> = rivals.flat_map(of_line).collect();
    let (errors, policy, problem) = all.iter().max_by(|one, other| one.0.abs().total_cmp(&other.0.abs()))?;
    let beyond = all.iter().filter(|(errors, ..)| errors.abs() > 2.0).count();
    Some(format!(
        "By a stricter measure, which takes its ± for a standard deviation over {} trials, {beyond} of the {} means of policies with \
         default settings differ by more than two standard errors of the difference, where about one in twenty is expected by \
         chance. The largest difference is that of <code>{}</code> on {}: {} standard errors.",
        paper::TRIALS,
        all.len(),
        escaped(policy),
        escaped(problem),
        signed(*errors)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Measured, TrialRow};
    use crate::trial::TrialId;

    #[test]
    fn agreement_is_told_in_standard_errors() {
        let row = |problem: &str, policy: &str, trial: usize, cumulative_regret: f64| TrialRow {
            id: TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial },
            seed: 0,
            steps: paper::STEPS,
            outcome: Ok(Measured {
                cumulative_regret,
                simple_regret: 1.0,
                seconds_choosing: 1.0,
                seconds_learning: 1.0,
                cpu_seconds: None,
                interventions: None,
            }),
            version: String::new(),
        };
        // 30 with a standard error of 1/3 where the paper has 38.38 ± 13.05, and what the paper has.
        let of_trial = |trial: usize| {
            let turn = if trial.is_multiple_of(2) { 1.0 } else { -1.0 };
            [
                row("wheel", UNIFORM, trial, 100.0),
                row("wheel", "lin-full-post", trial, 30.0 + turn),
                row("wheel", "lu-gauss", trial, 52.90 + turn),
            ]
        };
        let rows = |n: usize| (0..n).flat_map(of_trial).collect::<Vec<_>>();
        let said = in_errors(&Table::new(&rows(10), Metric::Cumulative)).unwrap();
        let t = -8.38 / (1.0 / 9.0 + 13.05_f64.powi(2) / 50.0).sqrt();
        assert!(said.contains("1 of the 2 means of policies with default settings differ"), "{said}");
        assert!(said.contains(&format!("<code>lin-full-post</code> on wheel: {}", signed(t))), "{said}");
        assert_eq!(in_errors(&Table::new(&rows(9), Metric::Cumulative)), None);
    }
}
