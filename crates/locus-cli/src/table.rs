//! `locus table`: the results of a run as a table.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use locus::Registry;
use locus_bench::record::{Selection, TrialRow, WITH_PROPENSITIES, read_readable_trials};
use locus_bench::report::{Down, OF_FOLDER, Pairs, compared_trials};
use locus_bench::summary::{Metric, Table};

use crate::args::{FormatArg, TableArgs};
use crate::bench::{each_once, recorded_name, selection};
use crate::output::{print, print_table, tell};

/// Shows the means, or the differences of all others from one policy. Skips damaged lines of a file.
pub(crate) fn run(args: &TableArgs, registry: &Registry) -> Result<u8> {
    let mut selection = selection(&args.selection, registry)?;
    let metric: Metric = args.metric.into();
    let text = match &args.against {
        None => Table::new(&read(&args.outs, &selection)?, metric).render(args.format.into()),
        Some(reference) => {
            ensure!(
                metric.is_normalized(),
                "--against compares regrets trial by trial, but seconds depend on the load of the machine; expected \
                 --metric cumulative or simple, found runtime"
            );
            let (policy, folder) = match reference.split_once(OF_FOLDER) {
                Some((policy, folder)) => (policy, Some(folder)),
                None => (&**reference, None),
            };
            let (policy, mark) = match policy.strip_suffix(WITH_PROPENSITIES) {
                Some(policy) => (policy, WITH_PROPENSITIES),
                None => (policy, ""),
            };
            let policy = recorded_name(policy, registry)?;
            if !selection.policies.is_empty() {
                selection.policies = each_once(&[selection.policies, vec![policy.clone()]].concat());
            }
            let of_folder = folder.map_or(String::new(), |folder| format!("{OF_FOLDER}{folder}"));
            let reference = format!("{policy}{mark}{of_folder}");
            let rows = read(&args.outs, &selection)?;
            pairs(&rows, metric, &reference)?.render(args.format.into(), Down::Problems)
        }
    };
    match args.format {
        FormatArg::Text => print_table(&text)?,
        _ => print(&text)?,
    }
    Ok(0)
}

/// The differences from `reference`; fails with the reason if there is nothing to compare.
fn pairs(rows: &[TrialRow], metric: Metric, reference: &str) -> Result<Pairs> {
    let of_folders = format!("{reference}{OF_FOLDER}");
    if let Some(row) = rows.iter().find(|row| row.id.policy.starts_with(&of_folders)) {
        bail!(
            "`{reference}` has different results or settings in the folders; choose one, e.g. --against \
             \"{}\"",
            row.id.policy
        );
    }
    Selection { policies: vec![reference.to_owned()], problems: Vec::new() }.check(rows.iter())?;
    let pairs = Pairs::new(rows, metric, reference);
    ensure!(!pairs.lines.is_empty(), "there is no other policy to compare with `{reference}`");
    ensure!(
        pairs.has_any(),
        "no other policy has a trial in common with `{reference}`, so there are no paired differences"
    );
    Ok(pairs)
}

/// The selected rows.
fn read(outs: &[PathBuf], selection: &Selection) -> Result<Vec<TrialRow>> {
    let (rows, warnings) = match outs {
        [out] => {
            let (mut rows, damages) = read_readable_trials(out)?;
            ensure!(!rows.is_empty(), "no trial in `{}` has ended yet", out.display());
            selection.check(rows.iter())?;
            selection.retain(&mut rows);
            (rows, damages.iter().map(ToString::to_string).collect())
        }
        several => compared_trials(several, selection)?,
    };
    for warning in &warnings {
        tell(&format!("warning: {warning}"));
    }
    Ok(rows)
}
