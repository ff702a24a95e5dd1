//! Policies against each other as HTML: one table for each policy that the others are compared with.

use super::tables::copies;
use super::{below, scrolling};
use crate::report::Section;
use crate::report::compare::{CONFIDENCE, Paired};
use crate::report::figures::Figure;
use crate::report::pairs::{Down, PairedLine, Pairs};
use crate::report::svg::escaped;
use crate::summary::{Format, Metric, signed};

pub(super) fn render(section: &Section, ranks: Option<&Figure>, level: usize) -> String {
    let policies = &section.policies;
    let shown = section.reference;
    let of = |reference: &str| {
        Pairs::of(&section.values, Metric::Cumulative, reference, policies, &section.problems)
    };
    if !policies.iter().any(|policy| of(policy).has_any()) {
        return String::new();
    }
    let id = format!("{}paired-with", section.prefix);
    let mut html = format!(
        "<p class=\"pick\"><label for=\"{id}\">Compare with</label> <select id=\"{id}\" class=\"reference\">"
    );
    for (index, policy) in policies.iter().enumerate() {
        let selected = if index == shown { " selected" } else { "" };
        html.push_str(&format!("<option value=\"{id}-{index}\"{selected}>{}</option>", escaped(policy)));
    }
    html.push_str("</select></p>\n");
    for (index, reference) in policies.iter().enumerate() {
        let hidden = if index == shown { "" } else { " hidden" };
        html.push_str(&format!(
            "<div id=\"{id}-{index}\"{hidden}>{}</div>\n",
            table(&of(reference), &format!("{id}-{index}"))
        ));
    }
    html.push_str(&format!(
        "<p class=\"words\">Normalized cumulative regret of the policy in the row minus that of the policy compared with, trial by \
         trial: both saw the same contexts and rewards. Negative is better. Each cell has the mean difference in percent of \
         Uniform's mean (taken as fixed), its {:.0} % confidence interval by Student's t over the common trials, and in how many \
         of them the row wins. Framed: the interval excludes 0. Over all problems: the mean of the differences, problems treated \
         as fixed. Intervals are not corrected for multiple comparisons.</p>\n",
        CONFIDENCE * 100.0
    ));
    html.push_str(&ranks.map(|ranks| below(ranks, level)).unwrap_or_default());
    html
}

fn table(pairs: &Pairs, id: &str) -> String {
    let formats = [Format::Markdown, Format::Csv, Format::Latex];
    let texts = formats.map(|format| pairs.render(format, Down::Policies));
    let mut html = format!(
        "<table class=\"sortable against\"><caption>Difference from <code>{}</code> in points: negative is better</caption>\n<thead><tr>",
        escaped(&pairs.reference)
    );
    let overall = pairs.has_overall().then_some("all problems");
    let titles = ["policy"].into_iter().chain(overall).chain(pairs.problems.iter().map(String::as_str));
    for title in titles {
        html.push_str(&format!("<th scope=\"col\"><button type=\"button\">{}</button></th>", escaped(title)));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    let (shown, apart): (Vec<&PairedLine>, Vec<&PairedLine>) =
        pairs.lines.iter().partition(|line| line.pairs.iter().any(Option::is_some));
    for line in shown {
        html.push_str(&format!(
            "<tr><th scope=\"row\" data-sort=\"{0}\"><code>{0}</code></th>",
            escaped(&line.policy)
        ));
        if pairs.has_overall() {
            html.push_str(&overall_cell(line));
        }
        line.pairs.iter().for_each(|paired| html.push_str(&cell(paired.as_ref())));
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table>\n");
    let apart: Vec<String> =
        apart.iter().map(|line| format!("<code>{}</code>", escaped(&line.policy))).collect();
    let apart = match apart.is_empty() {
        true => String::new(),
        false => format!(
            "<p class=\"words\">No common trials with <code>{}</code>: {}.</p>\n",
            escaped(&pairs.reference),
            apart.join(", ")
        ),
    };
    scrolling(&format!("Difference from {}", pairs.reference), &html) + &apart + &copies(id, texts)
}

fn overall_cell(PairedLine { pairs, overall, .. }: &PairedLine) -> String {
    let Some(overall) = overall else { return "<td>–</td>".to_owned() };
    let better = pairs.iter().flatten().filter(|paired| paired.verdict() < 0).count();
    let worse = pairs.iter().flatten().filter(|paired| paired.verdict() > 0).count();
    let verdict = match overall.interval {
        Some((_, high)) if high < 0.0 => -1,
        Some((low, _)) if low > 0.0 => 1,
        _ => 0,
    };
    format!(
        "<td data-sort=\"{}\"{}><b>{}</b>{}<small>better on {better}, worse on {worse}</small></td>",
        overall.difference,
        class(verdict),
        signed(overall.difference),
        interval(overall.interval)
    )
}

fn cell(paired: Option<&Paired>) -> String {
    let Some(paired) = paired else { return "<td>–<small>no common trial</small></td>".to_owned() };
    let ties = if paired.ties > 0 { format!(", {} equal", paired.ties) } else { String::new() };
    format!(
        "<td data-sort=\"{}\"{}><b>{}</b>{}<small>wins {} of {}{ties}</small></td>",
        paired.difference.mean,
        class(paired.verdict()),
        signed(paired.difference.mean),
        interval(paired.interval()),
        paired.wins,
        paired.n
    )
}

fn interval(interval: Option<(f64, f64)>) -> String {
    interval
        .map_or(String::new(), |(low, high)| format!("<small>[{}, {}]</small>", signed(low), signed(high)))
}

fn class(verdict: i32) -> &'static str {
    match verdict {
        -1 => " class=\"better\"",
        1 => " class=\"worse\"",
        _ => "",
    }
}
