//! Tables of records: the results of each policy, normalized as in the paper, with the paper's values.
//!
//! All tables are computed from rows of `trials.csv` alone. [`Table`] holds the numbers and the notes; each format has a file
//! that only writes, and `grid` is the layout that two of them share.

mod csv;
mod grid;
mod latex;
mod markdown;
mod number;
mod statistics;
mod table;
mod text;
mod work;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Error;
use crate::error::ErrorKind;
use crate::record::{SUMMARY_FILE, TrialRow, read_trials, replace_file};

pub(crate) use latex::escaped as latex_escaped;
pub(crate) use markdown::escaped as markdown_escaped;
pub(crate) use number::{number, optional, range, signed};
pub use statistics::Statistics;
pub(crate) use statistics::{mean, quantile, ranks};
pub(crate) use table::{ByKind, NO_UNIFORM, common_trials};
pub use table::{Cell, PolicyLine, Table};
pub(crate) use text::aligned;
pub(crate) use work::interventions;
pub use work::seconds_in_words;

/// The metric of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Cumulative regret, in percent of Uniform's.
    Cumulative,
    /// Simple regret, in percent of Uniform's.
    Simple,
    /// Seconds for a trial: CPU seconds, or wall-clock seconds where not all trials have those.
    Runtime,
}

impl Metric {
    /// All metrics, in the order of the summary.
    pub const ALL: [Self; 3] = [Self::Cumulative, Self::Simple, Self::Runtime];

    /// The word that names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cumulative => "cumulative",
            Self::Simple => "simple",
            Self::Runtime => "runtime",
        }
    }

    /// Whether it is divided by Uniform's.
    pub fn is_normalized(self) -> bool {
        self != Self::Runtime
    }

    /// Its title above a table.
    pub fn title(self) -> &'static str {
        match self {
            Self::Cumulative => "Normalized cumulative regret",
            Self::Simple => "Normalized simple regret",
            Self::Runtime => "Seconds per trial",
        }
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|metric| metric.name() == text).ok_or_else(|| {
            Error::from(ErrorKind::UnknownWord {
                what: "metric",
                found: text.to_owned(),
                known: "cumulative, simple, runtime",
            })
        })
    }
}

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For a page.
    Markdown,
    /// For a program: one row for each policy and problem, in full precision.
    Csv,
    /// For a paper, with the package `booktabs`.
    Latex,
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "text" => Ok(Self::Text),
            "markdown" => Ok(Self::Markdown),
            "csv" => Ok(Self::Csv),
            "latex" => Ok(Self::Latex),
            _ => Err(ErrorKind::UnknownWord {
                what: "format",
                found: text.to_owned(),
                known: "text, markdown, csv, latex",
            }
            .into()),
        }
    }
}

impl Table {
    /// The table in this format, with a line break at the end.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Text => text::render(self),
            Format::Markdown => markdown::render(self),
            Format::Csv => csv::render(self),
            Format::Latex => latex::render(self),
        }
    }
}

/// Writes `summary.md` to the folder `out`, and returns its path.
///
/// It has the tables of all metrics, the seconds of all trials, and the counts of guards.
pub(crate) fn write_summary(out: &Path) -> Result<PathBuf, Error> {
    write_summary_of(out, &read_trials(out)?)
}

/// The same of the rows that the folder holds.
pub(crate) fn write_summary_of(out: &Path, rows: &[TrialRow]) -> Result<PathBuf, Error> {
    let mut page = String::from("# Summary\n");
    for metric in Metric::ALL {
        page.push_str(&format!("\n## {}\n\n", metric.title()));
        page.push_str(&Table::new(rows, metric).render(Format::Markdown));
    }
    let seconds = seconds_in_words(rows);
    page.push_str(&format!(
        "\n## Seconds of all trials\n\n{seconds} wall-clock seconds, over all runs of this folder.\n"
    ));
    let guarded = interventions(rows);
    if !guarded.is_empty() {
        page.push_str("\n## Interventions\n\n");
        page.extend(guarded.iter().map(|sentence| format!("- {sentence}\n")));
    }
    let path = out.join(SUMMARY_FILE);
    replace_file(&path, page.as_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests;
