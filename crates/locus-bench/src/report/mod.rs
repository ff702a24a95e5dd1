//! What runs left behind, as one page and its figures.
//!
//! [`write_report`] reads what the runs wrote (`trials.csv`, `run.json`, `curves/`, `explore/`) and nothing else: no
//! policy, no problem, no clock. It may be called while a run goes on, since a row implies its curves. What cannot be
//! read is said on the page and in the warnings; the rest is shown.
//!
//! ```text
//! collect ──► Group ──┬─► summary::Table ──────────┐
//!                     ├─► compare (pairs, ranks) ──┼─► page ──► report.html
//!                     └─► curves ──► figures ──────┴─► figures/*.svg, *.png
//! ```

mod collect;
mod compare;
mod curves;
mod distribution;
mod figures;
mod look;
mod page;
pub mod svg;

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::experiment::UNIFORM;
use crate::paper;
use crate::record::{Selection, TrialRow, create_folder, replace_file};
use crate::summary::{Metric, Table};

use collect::{Group, RunFolder, collect};
use compare::Values;
pub use compare::{CONFIDENCE, Paired, PairedOverall, Ranking};
use curves::Curves;
pub(crate) use figures::cut;
use figures::{Figure, Scene};
use page::Embedded;

/// The page, within OUT.
pub const REPORT_FILE: &str = "report.html";
/// The folder of the figures, within OUT.
pub const FIGURES_FOLDER: &str = "figures";
/// The folder of pictures that `locus explore` writes, within OUT.
pub const EXPLORE_FOLDER: &str = "explore";
/// What `locus explore` says of its pictures in numbers, within its folder.
pub const EXPLORE_WORDS: &str = "summary.txt";
/// Pixels of a PNG for each of its picture's.
pub(crate) const ZOOM: f32 = 2.0;

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenReport {
    /// The page.
    pub page: PathBuf,
    /// The pictures, SVG and PNG.
    pub figures: Vec<PathBuf>,
    /// What could not be read, or is not whole.
    pub warnings: Vec<String>,
}

/// Folders that are compared with each other, and all that is shown of them.
struct Section {
    name: String,
    /// Precedes ids where the page has several sections.
    prefix: String,
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
    progress: String,
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
/// `selection`.
pub fn write_report(
    outs: &[PathBuf],
    output: Option<&Path>,
    selection: &Selection,
) -> Result<WrittenReport, Error> {
    let page = match (output, outs) {
        (Some(output), _) if output.extension().is_some_and(|extension| extension == "html") => {
            output.to_owned()
        }
        (Some(output), _) => output.join(REPORT_FILE),
        (None, _) if !selection.is_all() => return Err(Error::NoPlaceForPart),
        (None, [out]) => out.join(REPORT_FILE),
        (None, _) => return Err(Error::NoPlaceForReport { n_folders: outs.len() }),
    };
    let mut warnings = Vec::new();
    let groups = collect(outs, selection, &mut warnings)?;
    let n_groups = groups.len();
    let sections: Vec<Section> = groups
        .into_iter()
        .enumerate()
        .map(|(index, group)| {
            let prefix = if n_groups > 1 { format!("run-{}-", index + 1) } else { String::new() };
            section(group, prefix, selection, &mut warnings)
        })
        .collect();
    let parent = page.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = parent.join(FIGURES_FOLDER);
    create_folder(&folder)?;
    let figures = write_figures(&sections, &folder)?;
    replace_file(&page, page::render(&sections, &warnings).as_bytes())?;
    Ok(WrittenReport { page, figures, warnings })
}

fn section(group: Group, prefix: String, selection: &Selection, warnings: &mut Vec<String>) -> Section {
    let curves = Curves::read(&group);
    warnings.extend(curve_warnings(&curves));
    let cumulative = Table::new(&group.rows, Metric::Cumulative);
    let runtime = Table::new(&group.rows, Metric::Runtime);
    let values = Values::new(&group.rows, Metric::Cumulative);
    let policies: Vec<String> = cumulative.lines.iter().map(|line| line.policy.clone()).collect();
    let problems = cumulative.problems.clone();
    let ranking = Ranking::new(&values, &policies, &problems);
    let scene =
        Scene::new(&group, &curves, (&cumulative, &runtime), &values, ranking.as_ref(), prefix.clone());
    let figures = scene.figures();
    let best = |line: &usize| cumulative.lines[*line].common_value.unwrap_or(f64::INFINITY);
    let reference = (0..policies.len()).min_by(|one, other| best(one).total_cmp(&best(other))).unwrap_or(0);
    // What was explored is not told by policy and problem, so a part leaves it out.
    let with_explored: &[RunFolder] = if selection.is_all() { &group.folders } else { &[] };
    let explored = with_explored.iter().flat_map(|folder| explored(&folder.out, warnings)).collect();
    let explored_words =
        with_explored.iter().filter_map(|folder| explored_words(&folder.out, warnings)).collect();
    let names: Vec<&str> = group.folders.iter().map(|folder| folder.name.as_str()).collect();
    Section {
        name: if selection.is_all() { names.join(", ") } else { format!("a part of {}", names.join(", ")) },
        prefix,
        tables: tables(&group.rows, runtime),
        progress: progress(&group) + &selection.words().map(|words| format!(" {words}")).unwrap_or_default(),
        policies,
        problems,
        values,
        reference,
        figures,
        explored,
        explored_words,
        folders: group.folders,
    }
}

/// Every table of the paper: regret of both kinds without the ablations, the ablations, seconds.
fn tables(rows: &[TrialRow], runtime: Table) -> Vec<ShownTable> {
    let id_of = |row: &TrialRow| row.id.policy.split(['@', '[', ' ']).next().unwrap_or_default().to_owned();
    let main: Vec<TrialRow> = rows.iter().filter(|row| !id_of(row).ends_with("-ablation")).cloned().collect();
    let ablation: Vec<TrialRow> =
        rows.iter().filter(|row| paper::ablation_overall(&id_of(row)).is_some()).cloned().collect();
    let has_ablations = main.len() < rows.len();
    let has_others = main.iter().any(|row| row.id.policy != UNIFORM);
    let main = if has_others { &main[..] } else { rows };
    let mut tables = Vec::new();
    let mut show =
        |id: &str, title: String, table: Table| tables.push(ShownTable { id: id.to_owned(), title, table });
    for metric in [Metric::Cumulative, Metric::Simple] {
        show(metric.name(), metric.title().to_owned(), Table::new(main, metric));
    }
    if has_ablations {
        for metric in [Metric::Cumulative, Metric::Simple] {
            let mut table = Table::new(&ablation, metric);
            for line in &mut table.lines {
                // The paper ranks in its table of the ablation only what stands there.
                let paper = paper::ablation_overall(&line.policy).filter(|_| metric == Metric::Cumulative);
                line.paper = line.paper.and(paper);
            }
            let title = format!("Ablation: {}", metric.title().to_lowercase());
            show(&format!("ablation-{}", metric.name()), title, table);
        }
    }
    show("runtime", Metric::Runtime.title().to_owned(), runtime);
    tables
}

/// How much of what was asked for is there.
fn progress(group: &Group) -> String {
    let n_failed = group.rows.iter().filter(|row| row.outcome.is_err()).count();
    let steps = group.rows.first().map_or(0, |row| row.steps);
    let mut counts: Vec<usize> = Vec::new();
    let mut by_cell = std::collections::BTreeMap::<(&str, &str), usize>::new();
    for row in group.rows.iter().filter(|row| row.outcome.is_ok()) {
        *by_cell.entry((&row.id.policy, &row.id.problem)).or_default() += 1;
    }
    counts.extend(by_cell.values());
    let range = match (counts.iter().min(), counts.iter().max()) {
        (Some(fewest), Some(most)) if fewest == most => format!("{most}"),
        (Some(fewest), Some(most)) => format!("{fewest} to {most}"),
        _ => "no".to_owned(),
    };
    let failed = if n_failed > 0 { format!("; {n_failed} trials failed") } else { String::new() };
    format!("{} trials of {steps} steps, {range} for each policy on each problem{failed}.", group.rows.len())
}

fn curve_warnings(curves: &Curves) -> Vec<String> {
    /// More would hide other warnings.
    const SHOWN: usize = 5;
    if curves.unreadable.is_empty() {
        return Vec::new();
    }
    let head = format!(
        "the curves of {} of {} trials cannot be read, and are missing from the figures of regret and actions; to have them \
         again, delete the rows of these trials in trials.csv and run the same command",
        curves.unreadable.len(),
        curves.n_expected
    );
    let details = curves.unreadable.iter().take(SHOWN).map(|(id, error)| format!("{id}: {error}"));
    let mut warnings: Vec<String> = std::iter::once(head).chain(details).collect();
    if curves.unreadable.len() > SHOWN {
        warnings.push(format!("and the curves of {} more trials", curves.unreadable.len() - SHOWN));
    }
    warnings
}

/// The pictures in `explore/`, by name.
fn explored(out: &Path, warnings: &mut Vec<String>) -> Vec<Embedded> {
    let Ok(entries) = fs::read_dir(out.join(EXPLORE_FOLDER)) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "svg"));
    paths.sort();
    let mut pictures = Vec::new();
    for path in paths {
        match fs::read_to_string(&path) {
            Ok(svg) => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let name =
                    element(&svg, "title").map_or(stem.clone(), |title| format!("{title} ({stem}.svg)"));
                let caption = element(&svg, "desc").unwrap_or_default();
                pictures.push(Embedded { name, caption, svg });
            }
            Err(cause) => warnings.push(Error::OutFile { doing: "read", path, cause }.to_string()),
        }
    }
    pictures
}

/// What the picture says that it is (`title`) or shows (`desc`).
fn element(svg: &str, name: &str) -> Option<String> {
    let document = resvg::usvg::roxmltree::Document::parse(svg).ok()?;
    let node = document.descendants().find(|node| node.tag_name().name() == name)?;
    Some(node.text()?.trim().to_owned()).filter(|text| !text.is_empty())
}

/// What `locus explore` said at its end, if it ran here.
fn explored_words(out: &Path, warnings: &mut Vec<String>) -> Option<String> {
    let path = out.join(EXPLORE_FOLDER).join(EXPLORE_WORDS);
    match fs::read_to_string(&path) {
        Ok(words) => Some(words),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => None,
        Err(cause) => {
            warnings.push(Error::OutFile { doing: "read", path, cause }.to_string());
            None
        }
    }
}

/// Writes every figure as SVG and PNG, and takes away those of an earlier report that are not drawn any more.
fn write_figures(sections: &[Section], folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let figures: Vec<&Figure> = sections.iter().flat_map(|section| &section.figures).collect();
    let images: Vec<Result<Vec<u8>, Error>> = std::thread::scope(|scope| {
        let workers: Vec<_> =
            figures.iter().map(|figure| scope.spawn(|| svg::png(&figure.svg, ZOOM))).collect();
        let failed = || Error::InvalidPicture { problem: "rasterizing it panicked".to_owned() };
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(failed()))).collect()
    });
    let mut written = Vec::new();
    for (figure, image) in figures.iter().zip(images) {
        for (ending, bytes) in [("svg", figure.svg.clone().into_bytes()), ("png", image?)] {
            let path = folder.join(format!("{}.{ending}", figure.id));
            replace_file(&path, &bytes)?;
            written.push(path);
        }
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_figure(&path) && !written.contains(&path) {
            let _ = fs::remove_file(path);
        }
    }
    Ok(written)
}

/// Whether a report wrote the file: `NAME.svg`, or `run-2-NAME.png` of one with several sections.
fn is_figure(path: &Path) -> bool {
    let is_picture = path.extension().is_some_and(|ending| ending == "svg" || ending == "png");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match stem.strip_prefix("run-").and_then(|rest| rest.split_once('-')) {
        Some((number, name)) if number.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => &stem,
    };
    is_picture && figures::NAMES.contains(&name)
}

#[cfg(test)]
pub(crate) mod tests;
