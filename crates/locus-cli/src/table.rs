//! `locus table`: what a run's folder holds, in numbers.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use locus::PolicySpec;
use locus_bench::record::{Selection, TrialRow, read_readable_trials};
use locus_bench::report::{Down, Pairs, compared_trials};
use locus_bench::summary::{Format, Metric, Table};

use crate::args::TableArgs;
use crate::bench::{each_once, selection};
use crate::output::{print, tell};

/// Shows the means, or how all others differ from one policy; of a file with damaged lines by the rows around them.
pub(crate) fn run(args: &TableArgs) -> Result<u8> {
    let mut rows = read(&args.outs)?;
    let mut selection = selection(&args.selection)?;
    let (metric, format): (Metric, Format) = (args.metric.into(), args.format.into());
    let Some(reference) = &args.against else {
        selection.check(rows.iter())?;
        selection.retain(&mut rows);
        print(&Table::new(&rows, metric).render(format))?;
        return Ok(0);
    };
    ensure!(
        metric.is_normalized(),
        "--against compares regrets trial by trial, and seconds depend on what else the machine did; expected --metric \
         cumulative or simple, found runtime"
    );
    let reference = reference.parse::<PolicySpec>()?.to_string();
    let named = Selection { policies: vec![reference.clone()], problems: Vec::new() };
    named.check(rows.iter())?;
    if !selection.policies.is_empty() {
        selection.policies = each_once(&[selection.policies, named.policies].concat());
    }
    selection.check(rows.iter())?;
    selection.retain(&mut rows);
    let pairs = Pairs::new(&rows, metric, &reference);
    ensure!(!pairs.lines.is_empty(), "there is no other policy that could be compared with `{reference}`");
    print(&pairs.render(format, Down::Problems))?;
    Ok(0)
}

fn read(outs: &[PathBuf]) -> Result<Vec<TrialRow>> {
    let (rows, warnings) = match outs {
        [out] => {
            let (rows, damages) = read_readable_trials(out)?;
            ensure!(!rows.is_empty(), "no trial in `{}` has ended yet", out.display());
            (rows, damages.iter().map(ToString::to_string).collect())
        }
        several => compared_trials(several)?,
    };
    for warning in &warnings {
        tell(&format!("warning: {warning}"));
    }
    Ok(rows)
}
