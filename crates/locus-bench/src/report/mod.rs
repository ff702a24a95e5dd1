//! The benchmark report: one page that tells who wins, by how much and how surely, and its figures.
//!
//! [`write_report`] reads what the runs wrote (`trials.csv`, `run.json`, `curves/`, `explore/`) and asks who holds their lock. It runs no
//! policy, loads no problem and reads no clock; of the registries it takes only the sentences that say what policies and problems are. It
//! may be called during a run, since a row implies its curves. What cannot be read is listed at the end of the page and in the warnings.
//!
//! ```text
//! collect ──► Group ──┬─► summary::Table ────────────────────┐
//!                     ├─► compare ──► standing ──► story ────┼─► page ──► report.html
//!                     └─► curves ──► figures ────────────────┴─► figures/*.svg
//! ```

mod about;
mod collect;
mod compare;
mod curves;
mod distribution;
mod figures;
mod look;
mod page;
mod pairs;
mod standing;
mod story;
pub(crate) mod svg;

use std::fs;
use std::path::{Path, PathBuf};

use locus::Registry;

use crate::Error;
use crate::error::ErrorKind;
use crate::experiment::UNIFORM;
use crate::paper;
use crate::record::{CURVES_FOLDER, Selection, TrialRow, Worker, create_folder, replace_file};
use crate::status::read_status;
use crate::summary::{Metric, NO_UNIFORM, Table};

use about::About;
use collect::{Group, RunFolder, collect};
pub use collect::{OF_FOLDER, compared_trials};
use compare::Ranking;
use compare::Values;
pub use compare::{CONFIDENCE, Paired, PairedOverall};
use curves::{Curves, Unreadable};
pub(crate) use figures::cut;
use figures::{Figure, Scene};
use page::Embedded;
pub use pairs::{Down, PairedLine, Pairs};
use standing::Standing;
use story::Story;

/// The page, within OUT.
pub const REPORT_FILE: &str = "report.html";
/// The folder of the figures, within OUT.
const FIGURES_FOLDER: &str = "figures";
/// The folder of pictures that `locus explore` writes, within OUT.
pub(crate) const EXPLORE_FOLDER: &str = "explore";
/// What `locus explore` says of its pictures in numbers, within its folder.
pub(crate) const EXPLORE_WORDS: &str = "summary.txt";
/// How to mend what is damaged there.
const EXPLORE_AGAIN: &str = "`locus explore` with the same --out writes it anew";

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenReport {
    /// The page.
    pub page: PathBuf,
    /// The figures, as SVG.
    pub figures: Vec<PathBuf>,
    /// What could not be read, or is not whole.
    pub warnings: Vec<String>,
}

/// Folders that are compared with each other, and all that is shown of them.
struct Section {
    /// Precedes ids where the page has several sections.
    prefix: String,
    story: Story,
    standing: Standing,
    about_policies: Vec<About>,
    about_problems: Vec<About>,
    folders: Vec<RunFolder>,
    policies: Vec<String>,
    problems: Vec<String>,
    values: Values,
    /// The policy that the others are compared with at first.
    reference: usize,
    tables: Vec<ShownTable>,
    figures: Vec<Figure>,
    explored: Vec<Embedded>,
    explored_words: Vec<String>,
}

/// A table and what it is called on the page.
struct ShownTable {
    id: String,
    title: String,
    table: Table,
}

/// Writes a report over the folders `outs`: the page and, beside it, the folder of figures.
///
/// `output` is an `.html` file or a folder; without it the report goes into the folder that it is about. Nothing is shown but
/// `selection`. `registry` says what the policies are.
pub fn write_report(
    outs: &[PathBuf],
    output: Option<&Path>,
    selection: &Selection,
    registry: &Registry,
) -> Result<WrittenReport, Error> {
    let page = match (output, outs) {
        (Some(output), _) if output.extension().is_some_and(|extension| extension == "html") => {
            output.to_owned()
        }
        (Some(output), _) => output.join(REPORT_FILE),
        (None, _) if !selection.is_all() => return Err(ErrorKind::NoPlaceForPart.into()),
        (None, [out]) => out.join(REPORT_FILE),
        (None, _) => return Err(ErrorKind::NoPlaceForReport { n_folders: outs.len() }.into()),
    };
    let mut warnings = Vec::new();
    let groups = collect(outs, selection, &mut warnings)?;
    let n_groups = groups.len();
    let sections: Vec<Section> = groups
        .into_iter()
        .enumerate()
        .map(|(index, group)| {
            let prefix = if n_groups > 1 { format!("run-{}-", index + 1) } else { String::new() };
            section(group, prefix, selection, registry, &mut warnings)
        })
        .collect();
    let parent = page.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = parent.join(FIGURES_FOLDER);
    create_folder(&folder)?;
    let figures = write_figures(&sections, &folder)?;
    replace_file(&page, page::render(&sections, &warnings).as_bytes())?;
    Ok(WrittenReport { page, figures, warnings })
}

fn section(
    group: Group,
    prefix: String,
    selection: &Selection,
    registry: &Registry,
    warnings: &mut Vec<String>,
) -> Section {
    let curves = Curves::read(&group);
    warnings.extend(curve_warnings(&group, &curves));
    let cumulative = Table::new(&group.rows, Metric::Cumulative);
    let runtime = Table::new(&group.rows, Metric::Runtime);
    let is_normalized = group.rows.iter().any(|row| row.id.policy == UNIFORM && row.outcome.is_ok());
    if !is_normalized {
        warnings.push(NO_UNIFORM.to_owned());
    }
    let values = Values::new(&group.rows, Metric::Cumulative);
    let policies: Vec<String> = cumulative.lines.iter().map(|line| line.policy.clone()).collect();
    let problems = cumulative.problems.clone();
    let ranking = Ranking::new(&values, &policies, &problems);
    let scene =
        Scene::new(&group, &curves, (&cumulative, &runtime), &values, ranking.as_ref(), prefix.clone());
    let figures = scene.figures();
    let raw = (!is_normalized).then(|| Values::not_normalized(&group.rows));
    let compared = raw.as_ref().unwrap_or(&values);
    let standing = Standing::new(compared, &policies, &problems, is_normalized);
    let mut story = Story::new(&standing, &group.rows);
    let of_run = [unfinished(&group.folders), selection.words()].into_iter().flatten().collect::<Vec<_>>();
    if !of_run.is_empty() {
        story.paragraphs.push(of_run.join(" "));
    }
    let leader = standing.leader().and_then(|leader| policies.iter().position(|name| *name == leader.policy));
    // What was explored is not told by policy and problem, so a part leaves it out.
    let with_explored: &[RunFolder] = if selection.is_all() { &group.folders } else { &[] };
    let explored = with_explored.iter().flat_map(|folder| explored(&folder.out, warnings)).collect();
    let explored_words =
        with_explored.iter().filter_map(|folder| explored_words(&folder.out, warnings)).collect();
    Section {
        prefix,
        story,
        standing,
        about_policies: about::policies(&policies, registry),
        about_problems: about::problems(&problems, &group.folders),
        tables: tables(&group.rows, runtime, is_normalized),
        policies,
        problems,
        values,
        reference: leader.unwrap_or(0),
        figures,
        explored,
        explored_words,
        folders: group.folders,
    }
}

/// Every table of the paper: regret of both kinds without the ablations, the ablations, seconds. Without Uniform only seconds.
fn tables(rows: &[TrialRow], runtime: Table, is_normalized: bool) -> Vec<ShownTable> {
    let id_of = |row: &TrialRow| paper::base_id(&row.id.policy).to_owned();
    let main: Vec<TrialRow> = rows.iter().filter(|row| !id_of(row).ends_with("-ablation")).cloned().collect();
    let ablation: Vec<TrialRow> =
        rows.iter().filter(|row| paper::ablation_overall(&id_of(row)).is_some()).cloned().collect();
    let has_ablations = main.len() < rows.len();
    let has_others = main.iter().any(|row| row.id.policy != UNIFORM);
    let main = if has_others { &main[..] } else { rows };
    let mut tables = Vec::new();
    let mut show =
        |id: &str, title: String, table: Table| tables.push(ShownTable { id: id.to_owned(), title, table });
    let regrets: &[Metric] = if is_normalized { &[Metric::Cumulative, Metric::Simple] } else { &[] };
    for &metric in regrets {
        show(metric.name(), metric.title().to_owned(), Table::new(main, metric));
    }
    if has_ablations {
        for &metric in regrets {
            let title = format!("Ablation: {}", metric.title().to_lowercase());
            show(&format!("ablation-{}", metric.name()), title, Table::new(&ablation, metric));
        }
    }
    show("runtime", Metric::Runtime.title().to_owned(), runtime);
    tables
}

/// How much of what was asked for is missing, and whether somebody is at it.
fn unfinished(folders: &[RunFolder]) -> Option<String> {
    let of_folder = |folder: &RunFolder| {
        let status = read_status(&folder.out).ok().filter(|status| status.is_total_known)?;
        let total = status.standing.total();
        let missing = total.asked.saturating_sub(total.done);
        let at_work = match status.worker {
            Worker::Process(_) => ", and is running",
            Worker::Nobody => ", and is not running",
            Worker::Unknown => "",
        };
        let (name, done, asked) = (&folder.name, total.done, total.asked);
        (missing > 0)
            .then(|| format!("Unfinished: {name} has {done} of the {asked} trials asked for{at_work}."))
    };
    let sentences: Vec<String> = folders.iter().filter_map(of_folder).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn curve_warnings(group: &Group, curves: &Curves) -> Vec<String> {
    /// More would hide other warnings; of so many more the names are told, so that they can be run again one by one.
    const SHOWN: usize = 5;
    const NAMED: usize = 40;
    let mut warnings = Vec::new();
    // Rows are kept without their curves where those would be too large: nothing is wrong with such a folder.
    let has_curves = |folder: &RunFolder| folder.out.join(CURVES_FOLDER).is_dir();
    for folder in group.folders.iter().filter(|folder| !has_curves(folder)) {
        warnings.push(format!(
            "`{}` holds no folder {CURVES_FOLDER}: its trials are missing from the figures of regret over steps and of actions",
            folder.out.display()
        ));
    }
    let damaged: Vec<&Unreadable> =
        curves.unreadable.iter().filter(|trial| has_curves(&group.folders[trial.folder])).collect();
    if damaged.is_empty() {
        return warnings;
    }
    warnings.push(format!(
        "the curves of {} of {} trials cannot be read, and are missing from the figures of regret and actions; to have them \
         again, delete the rows of these trials in trials.csv and run the same command",
        damaged.len(),
        curves.n_expected
    ));
    warnings.extend(damaged.iter().take(SHOWN).map(|trial| format!("{}: {}", trial.id, trial.error)));
    let others: Vec<String> = damaged.iter().skip(SHOWN).map(|trial| trial.id.to_string()).collect();
    match others.len() {
        0 => {}
        1..=NAMED => warnings.push(format!("and so of {}", others.join("; "))),
        n => warnings.push(format!("and so of {n} more trials")),
    }
    warnings
}

/// The pictures in `explore/`, by name.
fn explored(out: &Path, warnings: &mut Vec<String>) -> Vec<Embedded> {
    let folder = out.join(EXPLORE_FOLDER);
    let Ok(entries) = fs::read_dir(&folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "svg"));
    paths.sort();
    if paths.is_empty() {
        warnings.push(format!("`{}` holds no picture; {EXPLORE_AGAIN}", folder.display()));
    }
    let mut pictures = Vec::new();
    for path in paths {
        match fs::read_to_string(&path) {
            Ok(svg) => match embedded(&path, svg) {
                Ok(picture) => pictures.push(picture),
                Err(problem) => {
                    warnings.push(format!("`{}` is no picture: {problem}; {EXPLORE_AGAIN}", path.display()));
                }
            },
            Err(cause) => warnings.push(ErrorKind::OutFile { doing: "read", path, cause }.to_string()),
        }
    }
    pictures
}

/// A picture with what it says that it is (`title`) and shows (`desc`).
fn embedded(path: &Path, svg: String) -> Result<Embedded, roxmltree::Error> {
    let document = roxmltree::Document::parse(&svg)?;
    let element = |name: &str| {
        let node = document.descendants().find(|node| node.tag_name().name() == name)?;
        Some(node.text()?.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = element("title").map_or(stem.clone(), |title| format!("{title} ({stem}.svg)"));
    let caption = element("desc").unwrap_or_default();
    Ok(Embedded { name, caption, svg })
}

/// What `locus explore` said at its end, if it ran here.
fn explored_words(out: &Path, warnings: &mut Vec<String>) -> Option<String> {
    let folder = out.join(EXPLORE_FOLDER);
    let path = folder.join(EXPLORE_WORDS);
    match fs::read_to_string(&path) {
        Ok(words) => Some(words),
        Err(_) if !folder.is_dir() => None,
        Err(cause) => {
            let error = Error::from(ErrorKind::OutFile { doing: "read", path, cause });
            warnings.push(format!("{error}; {EXPLORE_AGAIN}"));
            None
        }
    }
}

/// Writes every figure as SVG, and takes away those of an earlier report that are not drawn any more.
fn write_figures(sections: &[Section], folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut written = Vec::new();
    for figure in sections.iter().flat_map(|section| &section.figures) {
        let path = folder.join(format!("{}.svg", figure.id));
        replace_file(&path, figure.svg.as_bytes())?;
        written.push(path);
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_figure(&path) && !written.contains(&path) {
            let _ = fs::remove_file(path);
        }
    }
    Ok(written)
}

/// Whether a report wrote the file: `NAME.svg`, or `run-2-NAME.svg` of one with several sections.
fn is_figure(path: &Path) -> bool {
    let is_picture = path.extension().is_some_and(|ending| ending == "svg");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match stem.strip_prefix("run-").and_then(|rest| rest.split_once('-')) {
        Some((number, name)) if number.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => &stem,
    };
    is_picture && figures::NAMES.contains(&name)
}

#[cfg(test)]
pub(crate) mod tests;
