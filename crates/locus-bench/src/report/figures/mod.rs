//! The figures of a report. Each file draws one; each is drawn only where there is something to show.

mod actions;
mod boxes;
mod cost;
mod ranks;
mod regret;

use super::collect::Group;
use super::compare::{Ranking, Values};
use super::curves::Curves;
use super::look::{Look, looks};
use super::svg::{Area, Canvas};
use crate::experiment::UNIFORM;
use crate::summary::{PolicyLine, Table};

/// How wide all figures are.
pub(super) const WIDTH: f64 = 1120.0;

/// A picture and what is said below it.
pub(super) struct Figure {
    /// The name of its files and of its place on the page.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) caption: String,
    pub(super) svg: String,
}

/// What figures are drawn from.
pub(super) struct Scene<'a> {
    pub(super) group: &'a Group,
    pub(super) curves: &'a Curves,
    pub(super) cumulative: &'a Table,
    pub(super) runtime: &'a Table,
    pub(super) values: &'a Values,
    pub(super) ranking: Option<&'a Ranking>,
    /// In the order of the tables.
    pub(super) policies: Vec<String>,
    /// What figures over each policy's own trials call them: with their number, where policies differ in it.
    pub(super) labels: Vec<String>,
    pub(super) looks: Vec<Look>,
    /// Precedes ids where a page shows several groups.
    pub(super) prefix: String,
}

/// The names that figures may have, so that those of an earlier report can be told from files of others.
pub(super) const NAMES: [&str; 5] = ["regret", "boxes", "ranks", "cost", "actions"];

impl<'a> Scene<'a> {
    pub(super) fn new(
        group: &'a Group,
        curves: &'a Curves,
        tables: (&'a Table, &'a Table),
        values: &'a Values,
        ranking: Option<&'a Ranking>,
        prefix: String,
    ) -> Self {
        let (cumulative, runtime) = tables;
        let policies: Vec<String> = cumulative.lines.iter().map(|line| line.policy.clone()).collect();
        let looks = looks(&policies);
        let labels = labels(cumulative);
        Self { group, curves, cumulative, runtime, values, ranking, policies, labels, looks, prefix }
    }

    /// All that can be drawn.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let drawn =
            [regret::draw(self), boxes::draw(self), ranks::draw(self), cost::draw(self), actions::draw(self)];
        drawn.into_iter().flatten().collect()
    }

    /// An empty picture; `description` says what it shows to readers who do not see it.
    fn canvas(&self, name: &str, height: f64, title: &str, description: &str) -> Canvas {
        let mut canvas = Canvas::new(&self.id(name), WIDTH, height, title);
        canvas.describe(description);
        canvas
    }

    /// Who has the lowest mean on each problem, over its own trials.
    fn lowest(&self) -> String {
        let lowest = self.problems().iter().enumerate().filter_map(|(place, problem)| {
            let rivals = self.cumulative.lines.iter().filter(|line| line.policy != UNIFORM);
            let means = rivals.filter_map(|line| Some((line.cells[place].ours?.mean, &line.policy)));
            let (_, policy) = means.min_by(|one, other| one.0.total_cmp(&other.0))?;
            Some(format!("{policy} on {problem}"))
        });
        let lowest: Vec<String> = lowest.collect();
        if lowest.is_empty() { String::new() } else { format!(" Lowest mean: {}.", lowest.join(", ")) }
    }

    fn id(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn problems(&self) -> &[String] {
        &self.cumulative.problems
    }

    fn problems_with_curves(&self) -> Vec<&String> {
        let has_curves = |problem: &&String| self.curves.of.keys().any(|(_, of)| of == *problem);
        self.problems().iter().filter(has_curves).collect()
    }
}

/// The policies' names, with the numbers of their trials where those differ: `lu-sivi (20)`, `bbb (3–50)`.
fn labels(table: &Table) -> Vec<String> {
    let counts = |line: &PolicyLine| -> Vec<usize> {
        line.cells.iter().filter_map(|cell| Some(cell.ours?.n)).collect()
    };
    let all: Vec<usize> = table.lines.iter().flat_map(counts).collect();
    let is_told = all.iter().any(|n| Some(n) != all.first());
    let label = |line: &PolicyLine| {
        let counts = counts(line);
        match (counts.iter().min(), counts.iter().max()) {
            (Some(fewest), Some(most)) if is_told && fewest < most => {
                format!("{} ({fewest}–{most})", line.policy)
            }
            (Some(n), Some(_)) if is_told => format!("{} ({n})", line.policy),
            _ => line.policy.clone(),
        }
    };
    table.lines.iter().map(label).collect()
}

/// Equal panels in rows.
struct Grid {
    columns: usize,
    /// Around the data of the panels: left of the first, and between two.
    left: f64,
    gap: f64,
    panel: (f64, f64),
    top: f64,
    row_gap: f64,
}

impl Grid {
    fn area(&self, index: usize) -> Area {
        let (row, column) = (index / self.columns, index % self.columns);
        let (width, height) = self.panel;
        Area {
            x: self.left + (width + self.gap) * column as f64,
            y: self.top + (height + self.row_gap) * row as f64,
            width,
            height,
        }
    }

    /// The lower edge of the last panel of `n`.
    fn bottom(&self, n: usize) -> f64 {
        self.area(n.saturating_sub(1)).bottom()
    }
}

/// A text cut to a width: `…` stands for its middle, since settings that differ often come last.
pub(crate) fn cut(text: &str, size: f64, width: f64) -> String {
    let fits = |text: &str| super::svg::text_width(text, size, false) <= width;
    if fits(text) {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let without = |n_cut: usize| -> String {
        let head = (letters.len() - n_cut).div_ceil(2);
        let tail = &letters[head + n_cut..];
        letters[..head].iter().chain(&['…']).chain(tail).collect()
    };
    (1..=letters.len()).map(without).find(|text| fits(text)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
