//! The files of an exploration in OUT/explore: figures, tables, summary and settings.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::draws::{Cells, N_CELLS, View};
use super::{Exploration, Findings, figures, summary};
use locus::Registry;

use crate::Error;
use crate::error::ErrorKind;
use crate::problem::Sequence;
use crate::record::{RunFile, parse_format, read_run, replace_file, sequence_checksum};
use crate::report::{EXPLORE_FOLDER, EXPLORE_WORDS};

/// What was looked at, within OUT/explore.
const EXPLORE_FILE: &str = "explore.json";
/// Means, spreads and modes of every look, within OUT/explore.
pub(super) const STATISTICS_FILE: &str = "statistics.csv";
/// Histograms of every look, within OUT/explore.
pub(super) const HISTOGRAMS_FILE: &str = "histograms.csv";

/// The format that is written; older and equal ones are read.
const FORMAT: u32 = 1;

/// Everything that `explore.json` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ExploreFile {
    format: u32,
    /// The number of the trial.
    trial: usize,
    /// Steps from one look to the next.
    every: usize,
    /// Draws for the followed context at each look.
    draws: usize,
    /// The round of the requested context; absent if it was found by default.
    context: Option<usize>,
    /// The findings.
    found: Option<Found>,
    /// Seed, steps, data, policies, versions, machine and command, as a run records them.
    run: RunFile,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Found {
    /// The round of the followed context.
    followed: usize,
    best_action: usize,
    /// How many contexts have that best action.
    contexts: usize,
    /// SHA-256 of all contexts and rewards of the trial.
    sequence_sha256: String,
    /// After how many steps all policies first misjudged some context together; nothing where they never did.
    first_mistakes_after: Option<usize>,
    /// The rounds of those contexts.
    first_mistakes: Vec<usize>,
    policies: Vec<FoundOfPolicy>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FoundOfPolicy {
    policy: String,
    cumulative_regret: f64,
    /// How many of the contexts it misjudges at the end.
    misjudged: usize,
}

impl ExploreFile {
    /// The settings, before there are findings.
    pub(super) fn asked(exploration: &Exploration) -> Result<Self, Error> {
        let Exploration { trial, every, draws, context, .. } = *exploration;
        let run = exploration.experiment().describe(&exploration.policies)?;
        Ok(Self { format: FORMAT, trial, every, draws, context, found: None, run })
    }

    /// Fails if the folder holds a different exploration, or trials with another seed, number of steps or data, or with propensities.
    pub(super) fn check_folder(&self, out: &Path, registry: &Registry) -> Result<(), Error> {
        if let Some(run) = read_run(out)? {
            if run.propensities {
                let problem = format!(
                    "`{}` holds trials with propensities, but an exploration plays its trial without; choose another folder with --out",
                    out.display()
                );
                return Err(ErrorKind::InvalidExperiment { problem }.into());
            }
            run.extended(self.run.clone(), out, registry)?;
        }
        let path = out.join(EXPLORE_FOLDER).join(EXPLORE_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(cause) => return Err(ErrorKind::OutFile { doing: "read", path, cause }.into()),
        };
        let old: Self = parse_format(&text, "an exploration", FORMAT)
            .map_err(|problem| ErrorKind::DamagedRunFile { path, problem })?;
        for ((what, recorded), (_, asked)) in old.identity().into_iter().zip(self.identity()) {
            if recorded != asked {
                let out = out.join(EXPLORE_FOLDER);
                return Err(ErrorKind::OtherExploration { out, what, recorded, asked }.into());
            }
        }
        old.run.extended(self.run.clone(), &out.join(EXPLORE_FOLDER), registry).map(|_| ())
    }

    /// What makes an exploration another one, each with its name.
    fn identity(&self) -> [(&'static str, String); 6] {
        let names = |names: Vec<&str>| names.join(", ");
        [
            ("problem", names(self.run.problems.iter().map(|problem| problem.name.as_str()).collect())),
            ("policies", names(self.run.policies.iter().map(|policy| policy.policy.as_str()).collect())),
            ("trial", self.trial.to_string()),
            ("every", self.every.to_string()),
            ("draws", self.draws.to_string()),
            ("context", self.context.map_or("chosen by default".to_owned(), |context| context.to_string())),
        ]
    }
}

/// Writes all files, what was looked at last. Returns the words.
pub(super) fn write(
    folder: &Path,
    asked: ExploreFile,
    findings: &Findings<'_>,
    sequence: &Sequence,
) -> Result<String, Error> {
    for (name, view) in [("1-single", View::Single), ("2-many", View::Many)] {
        let picture = figures::draw(findings, view).finish();
        replace_file(&folder.join(format!("{name}.svg")), picture.as_bytes())?;
    }
    replace_file(&folder.join(STATISTICS_FILE), &statistics(findings))?;
    replace_file(&folder.join(HISTOGRAMS_FILE), &histograms(findings))?;
    let words = summary::render(findings);
    replace_file(&folder.join(EXPLORE_WORDS), words.as_bytes())?;
    let file = ExploreFile { found: Some(found(findings, sequence)), ..asked };
    let mut text = serde_json::to_string_pretty(&file).expect("names and numbers are always JSON");
    text.push('\n');
    replace_file(&folder.join(EXPLORE_FILE), text.as_bytes())?;
    Ok(words)
}

fn found(findings: &Findings<'_>, sequence: &Sequence) -> Found {
    let Findings { kind, first, followed, seen, .. } = findings;
    Found {
        followed: *followed,
        best_action: kind.best_action,
        contexts: kind.contexts.len(),
        sequence_sha256: sequence_checksum(sequence),
        first_mistakes_after: first.clearest.map(|_| first.step),
        first_mistakes: first.places.iter().map(|&place| kind.rounds[place]).collect(),
        policies: seen
            .iter()
            .map(|seen| FoundOfPolicy {
                policy: seen.policy.clone(),
                cumulative_regret: seen.result.cumulative_regret(),
                misjudged: summary::n_misjudged(seen),
            })
            .collect(),
    }
}

fn statistics(findings: &Findings<'_>) -> Vec<u8> {
    const COLUMNS: [&str; 15] = [
        "figure",
        "policy",
        "action",
        "step",
        "draws",
        "mean",
        "sd",
        "q05",
        "q50",
        "q95",
        "chosen",
        "modes",
        "mode_places",
        "mode_shares",
        "humps",
    ];
    let mut table = CsvText::new(COLUMNS);
    for view in View::ALL {
        for seen in &findings.seen {
            for action in &findings.actions {
                for look in &seen.looks {
                    let described = seen.describe(view, look, action.index);
                    let [q05, q50, q95] = described.quantiles.map(digits);
                    let join =
                        |numbers: Vec<f64>| numbers.into_iter().map(digits).collect::<Vec<_>>().join(" ");
                    table.write([
                        view.name().to_owned(),
                        seen.policy.clone(),
                        action.index.to_string(),
                        look.step.to_string(),
                        described.n.to_string(),
                        digits(described.mean),
                        digits(described.sd),
                        q05,
                        q50,
                        q95,
                        digits(described.chosen),
                        described.modes.len().to_string(),
                        join(described.modes.iter().map(|mode| mode.place).collect()),
                        join(described.modes.iter().map(|mode| mode.share).collect()),
                        described.humps.len().to_string(),
                    ]);
                }
            }
        }
    }
    table.finish()
}

fn histograms(findings: &Findings<'_>) -> Vec<u8> {
    let mut table = CsvText::new(["figure", "policy", "action", "step", "low", "high", "draws"]);
    for view in View::ALL {
        for action in &findings.actions {
            let cells = Cells::of(&findings.seen, view, action.index);
            for seen in &findings.seen {
                for look in &seen.looks {
                    let histogram = cells.count(&seen.draws(view, look, action.index));
                    let ends = cells.edges.windows(2).map(|edges| (edges[0], edges[1]));
                    let below = (f64::NEG_INFINITY, cells.edges[0], histogram.below);
                    let above = (cells.edges[N_CELLS], f64::INFINITY, histogram.above);
                    let within = ends.zip(histogram.counts).map(|((low, high), count)| (low, high, count));
                    for (low, high, count) in std::iter::once(below).chain(within).chain([above]) {
                        if count > 0 {
                            table.write([
                                view.name().to_owned(),
                                seen.policy.clone(),
                                action.index.to_string(),
                                look.step.to_string(),
                                digits(low),
                                digits(high),
                                count.to_string(),
                            ]);
                        }
                    }
                }
            }
        }
    }
    table.finish()
}

/// Six digits: draws are random, and files should stay small.
fn digits(number: f64) -> String {
    match number.is_finite() {
        true => {
            let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
            format!("{rounded:?}")
        }
        false => format!("{number}"),
    }
}

/// A table in memory, all of whose rows have one length.
struct CsvText<const N: usize> {
    writer: csv::Writer<Vec<u8>>,
}

impl<const N: usize> CsvText<N> {
    fn new(columns: [&str; N]) -> Self {
        let mut text = Self { writer: csv::Writer::from_writer(Vec::new()) };
        text.write(columns.map(str::to_owned));
        text
    }

    fn write(&mut self, row: [String; N]) {
        self.writer.write_record(row).expect("a Vec takes every write, and all records have one length");
    }

    fn finish(self) -> Vec<u8> {
        self.writer.into_inner().expect("a Vec can be flushed")
    }
}
