//! `locus report`: a page over what runs left behind.

use anyhow::Result;
use locus::Registry;
use locus_bench::report::{WrittenReport, write_report};

use crate::FAILED;
use crate::args::ReportArgs;
use crate::bench;
use crate::output::{print, tell};
use crate::words::count;

/// Writes the report and says where it is. What could not be read is no failure: the page says it too.
pub(crate) fn run(args: &ReportArgs, registry: &Registry) -> Result<u8> {
    let selection = bench::selection(&args.selection, registry)?;
    let written = match write_report(&args.outs, args.output.as_deref(), &selection, registry) {
        Ok(written) => written,
        // Nothing was wrong with the command.
        Err(error) if error.is_io() => {
            tell(&format!("error: {error}"));
            return Ok(FAILED);
        }
        Err(error) => return Err(error.into()),
    };
    for warning in &written.warnings {
        tell(&format!("warning: {warning}"));
    }
    print(&format!("{}\n", describe(&written)))?;
    Ok(0)
}

/// Where it is.
pub(crate) fn describe(written: &WrittenReport) -> String {
    format!("report: {} and {} in figures/", written.page.display(), count(written.figures.len(), "figure"))
}
