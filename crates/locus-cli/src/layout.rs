//! Text that shows the progress of a run: a list or a grid for `locus status`, and the live view's bars.
//!
//! A list has a line for each policy on each problem, with a bar, trials, mean and time left. A grid has a line for each
//! policy and a column for each problem. The live view has a bar for the run and one for each policy.

use console::{Alignment, Style, measure_text_width, pad_str, truncate_str};
use locus_bench::experiment::{KindStanding, Standing};

use crate::words::{count, short_duration};

/// The widest bar in a list.
const WIDEST_BAR: usize = 32;
/// A shorter bar shows too little.
const NARROWEST_BAR: usize = 5;
/// The widest name of a policy in the live view.
const WIDEST_NAME: usize = 24;
/// Column widths of a mean and of the time left, so that columns stay in place when values appear or shrink.
const MEAN: usize = 6;
const OUTLOOK: usize = 11;

/// The completed fraction and the text of each bar of the live view: first the run, then each policy over its problems.
///
/// What matters most comes first, because a narrow terminal clips the end.
pub(crate) fn bars(standing: &Standing, elapsed: f64) -> Vec<(f64, String)> {
    let total = standing.total();
    let failed = if total.failed > 0 { format!(" ({} failed)", total.failed) } else { String::new() };
    let left =
        standing.wall_seconds_left().map_or("?".to_owned(), |seconds| remaining(seconds, total.is_rough));
    let (n_ended, asked) = (total.done + total.failed, count(total.asked, "trial"));
    let run = format!("{n_ended} of {asked}{failed}, {left} left, {} elapsed", short_duration(elapsed));
    let names = policy_names(standing, WIDEST_NAME);
    let kinds: Vec<KindStanding> = (0..names.len()).map(|policy| over_problems(standing, policy)).collect();
    let (name_width, trials_width) = (widest(names.iter()), widest(kinds.iter().map(trials)));
    let line = |(name, kind): (&String, &KindStanding)| {
        let mean = kind.mean.map_or("–".to_owned(), |mean| format!("{mean:.2} %"));
        let (name, trials) = (left_aligned(name, name_width), right_aligned(&trials(kind), trials_width));
        let (mean, outlook) = (right_aligned(&mean, MEAN + 2), outlook(standing, kind));
        (part(kind), format!("{name}  {trials}  {mean}  {outlook}"))
    };
    std::iter::once((standing.fraction(), run)).chain(names.iter().zip(&kinds).map(line)).collect()
}

/// For each problem its name, and below it a line for each policy. `None` if that is too wide.
pub(crate) fn list(standing: &Standing, width: usize) -> Option<Vec<String>> {
    let names = policy_names(standing, width / 3);
    let mut rows = Vec::new();
    for problem in 0..standing.problems().len() {
        let best = best(standing, problem);
        for (policy, name) in names.iter().enumerate() {
            let kind = standing.kind(policy, problem);
            if kind.asked > 0 {
                let texts = [trials(&kind), mean(&kind, best), outlook(standing, &kind)];
                rows.push((problem, name, kind, texts));
            }
        }
    }
    let mut widths = [0, 1, 2].map(|column| widest(rows.iter().map(|(_, _, _, texts)| &texts[column])));
    (widths[1], widths[2]) = (widths[1].max(MEAN), widths[2].max(OUTLOOK));
    let name_width = widest(names.iter());
    let without_bar = 2 + name_width + widths.iter().map(|width| 2 + width).sum::<usize>();
    let bar_width = width.checked_sub(without_bar)?.saturating_sub(2).min(WIDEST_BAR);
    let mut lines = Vec::new();
    for (problem, title) in standing.problems().iter().enumerate() {
        // A shard may have no trial of a problem.
        if rows.iter().any(|row| row.0 == problem) {
            lines.push(truncated(title, width));
        }
        for (_, name, kind, [trials, mean, outlook]) in rows.iter().filter(|row| row.0 == problem) {
            let mut line = format!("  {}", left_aligned(name, name_width));
            if bar_width >= NARROWEST_BAR {
                line.push_str(&format!("  {}", bar(part(kind), bar_width)));
            }
            let (trials, mean) = (right_aligned(trials, widths[0]), right_aligned(mean, widths[1]));
            line.push_str(&format!("  {trials}  {mean}  {outlook}"));
            lines.push(line.trim_end().to_owned());
        }
    }
    Some(lines)
}

/// Policies down and problems across, in as many blocks as the width needs. `None` if not even one column fits.
pub(crate) fn grid(standing: &Standing, width: usize) -> Option<Vec<String>> {
    let names = policy_names(standing, width / 3);
    let name_width = widest(names.iter());
    let mut columns: Vec<Vec<String>> = Vec::new();
    for (problem, title) in standing.problems().iter().enumerate() {
        let best = best(standing, problem);
        let texts: Vec<[String; 2]> =
            kinds(standing, problem).map(|kind| [trials(&kind), mean(&kind, best)]).collect();
        let widths = [0, 1].map(|column| widest(texts.iter().map(|texts| &texts[column])));
        let cell = |[trials, mean]: &[String; 2]| {
            format!("{} {}", right_aligned(trials, widths[0]), right_aligned(mean, widths[1].max(MEAN)))
        };
        let cells: Vec<String> = texts.iter().map(cell).collect();
        let title = truncated(title, widest(cells.iter()).max(14));
        columns.push(std::iter::once(title).chain(cells).collect());
    }
    let time_of = |policy| outlook(standing, &over_problems(standing, policy));
    columns.push(std::iter::once(String::new()).chain((0..names.len()).map(time_of)).collect());
    let titles: Vec<String> = std::iter::once(String::new()).chain(names).collect();
    let mut lines = Vec::new();
    let mut rest = &columns[..];
    while !rest.is_empty() {
        let mut n_columns = 0;
        let mut taken = name_width;
        for column in rest {
            taken += 2 + widest(column.iter());
            if taken > width {
                break;
            }
            n_columns += 1;
        }
        let (block, others) = rest.split_at_checked(n_columns).filter(|(block, _)| !block.is_empty())?;
        for (row, title) in titles.iter().enumerate() {
            let mut line = left_aligned(title, name_width);
            for column in block {
                line.push_str(&format!("  {}", right_aligned(&column[row], widest(column.iter()))));
            }
            lines.push(line.trim_end().to_owned());
        }
        rest = others;
    }
    Some(lines)
}

fn kinds(standing: &Standing, problem: usize) -> impl Iterator<Item = KindStanding> {
    (0..standing.policies().len()).map(move |policy| standing.kind(policy, problem))
}

/// A policy on all problems together; its mean is over the problems that have one.
fn over_problems(standing: &Standing, policy: usize) -> KindStanding {
    let kinds = (0..standing.problems().len()).map(|problem| standing.kind(policy, problem));
    let means: Vec<f64> = kinds.clone().filter_map(|kind| kind.mean).collect();
    let sum = |one: KindStanding, other: KindStanding| KindStanding {
        asked: one.asked.saturating_add(other.asked),
        done: one.done + other.done,
        failed: one.failed + other.failed,
        mean: None,
        seconds: one.seconds + other.seconds,
        seconds_left: one.seconds_left.zip(other.seconds_left).map(|(one, other)| one + other),
        is_rough: one.is_rough || other.is_rough,
        progress: one.progress + other.progress,
    };
    let mean = (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64);
    KindStanding { mean, ..kinds.reduce(sum).unwrap_or_default() }
}

/// The lowest mean on a problem.
fn best(standing: &Standing, problem: usize) -> Option<f64> {
    kinds(standing, problem).filter_map(|kind| kind.mean).min_by(f64::total_cmp)
}

fn part(kind: &KindStanding) -> f64 {
    if kind.asked == 0 { 1.0 } else { kind.progress / kind.asked as f64 }
}

fn trials(kind: &KindStanding) -> String {
    if kind.asked == 0 { "–".to_owned() } else { format!("{}/{}", kind.done, kind.asked) }
}

fn mean(kind: &KindStanding, best: Option<f64>) -> String {
    let Some(mean) = kind.mean else { return "–".to_owned() };
    let text = format!("{mean:.2}");
    if kind.mean == best { Style::new().bold().apply_to(text).to_string() } else { text }
}

/// The time left for these trials, and their failures.
fn outlook(standing: &Standing, kind: &KindStanding) -> String {
    let failed = if kind.failed > 0 { format!(", {} failed", kind.failed) } else { String::new() };
    let share = kind.seconds_left.map(|seconds| seconds / standing.jobs().max(1) as f64);
    match share {
        _ if kind.has_ended() => format!("ended{failed}"),
        Some(seconds) => format!("{} left{failed}", remaining(seconds, kind.is_rough)),
        None => failed.trim_start_matches(", ").to_owned(),
    }
}

/// Remaining time; `~` marks rough estimates.
fn remaining(seconds: f64, is_rough: bool) -> String {
    let text = short_duration(seconds);
    if is_rough && !text.starts_with('<') { format!("~{text}") } else { text }
}

fn policy_names(standing: &Standing, width: usize) -> Vec<String> {
    standing.policies().iter().map(|name| truncated(name, width.max(10))).collect()
}

/// A bar in steps of half a column; it is full only when all is done.
fn bar(part: f64, width: usize) -> String {
    let halves = (part.clamp(0.0, 1.0) * (2 * width) as f64).floor() as usize;
    let done = "━".repeat(halves / 2) + if halves % 2 == 1 { "╸" } else { "" };
    let rest = "─".repeat(width - halves.div_ceil(2));
    format!("{done}{}", Style::new().dim().apply_to(rest))
}

/// At most `width` columns of a name or a line with arbitrary characters.
fn truncated(text: &str, width: usize) -> String {
    let text: String =
        text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect();
    let tail = if width > 0 { "…" } else { "" };
    truncate_str(&text, width, tail).into_owned()
}

fn widest(texts: impl Iterator<Item = impl AsRef<str>>) -> usize {
    texts.map(|text| measure_text_width(text.as_ref())).max().unwrap_or(0)
}

fn left_aligned(text: &str, width: usize) -> String {
    pad_str(text, width, Alignment::Left, None).into_owned()
}

fn right_aligned(text: &str, width: usize) -> String {
    pad_str(text, width, Alignment::Right, None).into_owned()
}

#[cfg(test)]
mod tests;
