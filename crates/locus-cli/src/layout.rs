//! How far a run has come, laid out for a terminal of any size.
//!
//! A list (for each policy on each problem a bar, trials, mean and time left) says most and takes most room; then come a
//! grid of policies and problems, with and without bars, a line for each problem, and at last one line for everything.
//! [`frame`] takes the first that fits; problems that have ended are folded where that helps.

use console::{Alignment, Style, measure_text_width, pad_str, truncate_str};
use locus_bench::experiment::{KindStanding, Standing};

use crate::screen::Size;
use crate::words::{count, short_duration};

/// How things are set apart. Styles know by themselves whether the stream has colors and whether `NO_COLOR` is set.
pub(crate) struct Paint {
    bold: Style,
    dim: Style,
}

impl Paint {
    /// For standard output.
    pub(crate) fn stdout() -> Self {
        Self { bold: Style::new().bold(), dim: Style::new().dim() }
    }

    /// For standard error.
    pub(crate) fn stderr() -> Self {
        Self { bold: Style::new().for_stderr().bold(), dim: Style::new().for_stderr().dim() }
    }
}

/// The widest bar in a list, and above all.
const WIDEST_BAR: usize = 32;
/// A bar that is narrower says nothing.
const NARROWEST_BAR: usize = 5;
/// Room for a mean and for what is left, so that nothing moves when the first comes in or minutes become seconds.
const MEAN: usize = 6;
const OUTLOOK: usize = 11;
/// The bar in a cell of the grid.
const CELL_BAR: usize = 6;

/// All that a live view shows, in less than `size.height` lines (the cursor has one) where that is possible at all.
pub(crate) fn frame(standing: &Standing, elapsed: f64, size: Size, paint: &Paint) -> Vec<String> {
    let mut lines = vec![overall(standing, elapsed, size.width, paint)];
    let room = size.height.saturating_sub(1 + lines.len());
    let now: Vec<String> = under_way(standing, size.width).into_iter().collect();
    let body = body(standing, size.width, room.saturating_sub(now.len()), paint);
    lines.extend(now.into_iter().take(room));
    lines.extend(body.unwrap_or_default());
    lines
}

/// The way to show all kinds that says most in at most `room` lines.
fn body(standing: &Standing, width: usize, room: usize, paint: &Paint) -> Option<Vec<String>> {
    let all: Vec<usize> = (0..standing.problems().len()).collect();
    let has_ended = |problem: &usize| kinds(standing, *problem).all(|kind| kind.has_ended());
    let (ended, open): (Vec<usize>, Vec<usize>) = all.iter().partition(|problem| has_ended(problem));
    let attempt = |lay_out: &dyn Fn(&[usize]) -> Option<Vec<String>>| {
        let fits = |lines: &Vec<String>| lines.len() <= room;
        let with_folded = || {
            let mut lines = lay_out(&open)?;
            lines.push(folded(standing, &ended, width)?);
            Some(lines)
        };
        lay_out(&all).filter(fits).or_else(|| with_folded().filter(fits))
    };
    let grid_with = |has_bars, has_time| {
        attempt(&|problems| grid(standing, problems, (has_bars, has_time), width, paint))
    };
    attempt(&|problems| list(standing, problems, width, paint))
        .or_else(|| grid_with(true, true))
        .or_else(|| grid_with(false, true))
        .or_else(|| grid_with(false, false))
        .or_else(|| attempt(&|problems| by_problem(standing, problems, width, paint)))
}

/// For each problem its name, and below it a line for each policy. `None` where that is too wide.
pub(crate) fn list(
    standing: &Standing,
    problems: &[usize],
    width: usize,
    paint: &Paint,
) -> Option<Vec<String>> {
    let names = policy_names(standing, width / 3);
    let mut rows = Vec::new();
    for &problem in problems {
        let best = best(standing, problem);
        for (policy, name) in names.iter().enumerate() {
            let kind = standing.kind(policy, problem);
            if kind.asked > 0 {
                let texts = [trials(&kind), mean(&kind, best, paint), outlook(standing, &kind)];
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
    for &problem in problems {
        lines.push(truncated(&standing.problems()[problem], width));
        for (_, name, kind, [trials, mean, outlook]) in rows.iter().filter(|row| row.0 == problem) {
            let mut line = format!("  {}", left(name, name_width));
            if bar_width >= NARROWEST_BAR {
                line.push_str(&format!("  {}", bar(part(kind), bar_width, paint)));
            }
            line.push_str(&format!("  {}  {}  {outlook}", right(trials, widths[0]), right(mean, widths[1])));
            lines.push(line.trim_end().to_owned());
        }
    }
    Some(lines)
}

/// Policies down and problems across, in as many blocks as the width needs. `None` where not even one column fits.
pub(crate) fn grid(
    standing: &Standing,
    problems: &[usize],
    (has_bars, has_time): (bool, bool),
    width: usize,
    paint: &Paint,
) -> Option<Vec<String>> {
    let names = policy_names(standing, width / 3);
    let name_width = widest(names.iter());
    let mut columns: Vec<Vec<String>> = Vec::new();
    for &problem in problems {
        let best = best(standing, problem);
        let kinds: Vec<KindStanding> = kinds(standing, problem).collect();
        let texts: Vec<[String; 2]> =
            kinds.iter().map(|kind| [trials(kind), mean(kind, best, paint)]).collect();
        let widths = [0, 1].map(|column| widest(texts.iter().map(|texts| &texts[column])));
        let cells = kinds.iter().zip(&texts).map(|(kind, [trials, mean])| {
            let bar = if has_bars { bar(part(kind), CELL_BAR, paint) + " " } else { String::new() };
            format!("{bar}{} {}", right(trials, widths[0]), right(mean, widths[1].max(MEAN)))
        });
        let cells: Vec<String> = cells.collect();
        let title = truncated(&standing.problems()[problem], widest(cells.iter()).max(14));
        columns.push(std::iter::once(title).chain(cells).collect());
    }
    if has_time {
        let all = 0..standing.problems().len();
        let time_of =
            |policy: usize| match all.clone().map(|problem| standing.kind(policy, problem)).reduce(sum) {
                Some(kind) => outlook(standing, &kind),
                None => String::new(),
            };
        columns.push(std::iter::once(String::new()).chain((0..names.len()).map(time_of)).collect());
    }
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
            let mut line = left(title, name_width);
            for column in block {
                line.push_str(&format!("  {}", right(&column[row], widest(column.iter()))));
            }
            lines.push(line.trim_end().to_owned());
        }
        rest = others;
    }
    Some(lines)
}

/// One line for each problem, all policies together.
fn by_problem(standing: &Standing, problems: &[usize], width: usize, paint: &Paint) -> Option<Vec<String>> {
    let sums: Vec<KindStanding> =
        problems.iter().filter_map(|&problem| kinds(standing, problem).reduce(sum)).collect();
    let texts: Vec<[String; 2]> = sums.iter().map(|kind| [trials(kind), outlook(standing, kind)]).collect();
    let names: Vec<String> =
        problems.iter().map(|&problem| truncated(&standing.problems()[problem], width / 3)).collect();
    let (name_width, trials_width) = (widest(names.iter()), widest(texts.iter().map(|texts| &texts[0])));
    let without_bar = name_width + 4 + trials_width + widest(texts.iter().map(|texts| &texts[1]));
    let bar_width = width.checked_sub(without_bar)?.saturating_sub(2).min(WIDEST_BAR);
    let line = |((kind, name), [trials, outlook]): ((&KindStanding, &String), &[String; 2])| {
        let bar = match bar_width {
            NARROWEST_BAR.. => format!("  {}", bar(part(kind), bar_width, paint)),
            _ => String::new(),
        };
        let line = format!("{}{bar}  {}  {outlook}", left(name, name_width), right(trials, trials_width));
        line.trim_end().to_owned()
    };
    Some(sums.iter().zip(&names).zip(&texts).map(line).collect())
}

/// One line for everything.
fn overall(standing: &Standing, elapsed: f64, width: usize, paint: &Paint) -> String {
    let total = standing.total();
    let percent = format!("{:>3.0} %", (100.0 * standing.fraction()).floor());
    let n_ended = total.done + total.failed;
    let failed = if total.failed > 0 { format!(" ({} failed)", total.failed) } else { String::new() };
    let trials = format!("  {n_ended} of {}{failed}", count(total.asked, "trial"));
    let left =
        standing.wall_seconds_left().map_or("?".to_owned(), |seconds| remaining(seconds, total.is_rough));
    let (gone, left) = (format!("  {} gone,", short_duration(elapsed)), format!(" {left} left"));
    // What can be done without goes first.
    let texts = [
        format!("{percent}{trials}{gone}{left}"),
        format!("{percent}{trials} {left}"),
        format!("{percent} {left}"),
        percent.trim_start().to_owned(),
    ];
    let fits = |text: &&String| measure_text_width(text) + 2 + NARROWEST_BAR <= width;
    let text = texts.iter().find(fits).unwrap_or(&texts[3]);
    let bar_width = width.saturating_sub(measure_text_width(text) + 2).min(width / 4).min(WIDEST_BAR);
    match bar_width {
        NARROWEST_BAR.. => format!("{}  {text}", bar(standing.fraction(), bar_width, paint)),
        _ => truncated(text, width),
    }
}

/// What the threads are at.
fn under_way(standing: &Standing, width: usize) -> Option<String> {
    let trials: Vec<String> =
        standing.under_way().map(|(id, part)| format!("{id} ({:.0} %)", (100.0 * part).floor())).collect();
    (!trials.is_empty()).then(|| truncated(&format!("now: {}", trials.join("; ")), width))
}

fn folded(standing: &Standing, ended: &[usize], width: usize) -> Option<String> {
    let names: Vec<&str> = ended.iter().map(|&problem| standing.problems()[problem].as_str()).collect();
    (!names.is_empty()).then(|| truncated(&format!("ended: {}", names.join(", ")), width))
}

fn kinds(standing: &Standing, problem: usize) -> impl Iterator<Item = KindStanding> {
    (0..standing.policies().len()).map(move |policy| standing.kind(policy, problem))
}

/// Counts and seconds of two kinds together; there is no common mean.
fn sum(one: KindStanding, other: KindStanding) -> KindStanding {
    KindStanding {
        asked: one.asked.saturating_add(other.asked),
        done: one.done + other.done,
        failed: one.failed + other.failed,
        mean: None,
        seconds: one.seconds + other.seconds,
        seconds_left: one.seconds_left.zip(other.seconds_left).map(|(one, other)| one + other),
        is_rough: one.is_rough || other.is_rough,
        progress: one.progress + other.progress,
    }
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

fn mean(kind: &KindStanding, best: Option<f64>, paint: &Paint) -> String {
    let Some(mean) = kind.mean else { return "–".to_owned() };
    let text = format!("{mean:.2}");
    if kind.mean == best { paint.bold.apply_to(text).to_string() } else { text }
}

/// What is left of the run's time for these trials, and what went wrong.
fn outlook(standing: &Standing, kind: &KindStanding) -> String {
    let failed = if kind.failed > 0 { format!(", {} failed", kind.failed) } else { String::new() };
    let share = kind.seconds_left.map(|seconds| seconds / standing.jobs().max(1) as f64);
    match share {
        _ if kind.has_ended() => format!("ended{failed}"),
        Some(seconds) => format!("{} left{failed}", remaining(seconds, kind.is_rough)),
        None => failed.trim_start_matches(", ").to_owned(),
    }
}

/// A time that is to come; rough ones say so.
fn remaining(seconds: f64, is_rough: bool) -> String {
    let text = short_duration(seconds);
    if is_rough && !text.starts_with('<') { format!("~{text}") } else { text }
}

fn policy_names(standing: &Standing, width: usize) -> Vec<String> {
    standing.policies().iter().map(|name| truncated(name, width.max(10))).collect()
}

/// A bar in steps of half a column; it is full only when all is done.
fn bar(part: f64, width: usize, paint: &Paint) -> String {
    let halves = (part.clamp(0.0, 1.0) * (2 * width) as f64).floor() as usize;
    let done = "━".repeat(halves / 2) + if halves % 2 == 1 { "╸" } else { "" };
    let rest = "─".repeat(width - halves.div_ceil(2));
    format!("{done}{}", paint.dim.apply_to(rest))
}

/// At most `width` columns of a name or a line, which may hold anything.
fn truncated(text: &str, width: usize) -> String {
    let text: String =
        text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect();
    let tail = if width > 0 { "…" } else { "" };
    truncate_str(&text, width, tail).into_owned()
}

fn widest<'a>(texts: impl Iterator<Item = &'a String>) -> usize {
    texts.map(|text| measure_text_width(text)).max().unwrap_or(0)
}

fn left(text: &str, width: usize) -> String {
    pad_str(text, width, Alignment::Left, None).into_owned()
}

fn right(text: &str, width: usize) -> String {
    pad_str(text, width, Alignment::Right, None).into_owned()
}

#[cfg(test)]
mod tests;
