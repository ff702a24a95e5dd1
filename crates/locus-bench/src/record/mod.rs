//! The records of a run: one folder, OUT, that can be read, resumed and extended.
//!
//! ```text
//! OUT/run.json          what was run: seed, steps, propensities, data checksums, settings, versions, machines
//! OUT/trials.csv        one row for each finished trial (RFC 4180), written when it ends
//! OUT/curves/*.npy      two arrays for each trial that did not fail, one number for each step:
//!                       PROBLEM.POLICY.TRIAL.regret.npy (f64) and PROBLEM.POLICY.TRIAL.action.npy (u32)
//! OUT/summary.md        the tables, rewritten at the end of every run
//! OUT/report.html       the report, with its figures in OUT/figures/, rewritten at the end of every run that is not interrupted
//! OUT/explore/          the results of `locus explore`, if it ran in this folder; the report shows them
//! OUT/.lock             held by the process that writes
//! ```
//!
//! A run is safe to kill because of the order of writing: a trial's curves are complete before its row is appended, and the row
//! is one write, so at worst the last line is torn; it is then ignored, and rewritten when the run resumes. Whole files are
//! written under temporary names and renamed.
//!
//! Summaries need only [`read_trials`], neither policies nor problems.

mod curves;
mod folder;
mod index;
mod run_file;
mod schema;
mod selection;
mod trials;
mod worker;

pub use curves::{CurvePaths, curve_paths, safe_name};
pub(crate) use folder::{Folder, create_folder, replace_file};
pub(crate) use index::TrialIndex;
pub use run_file::{
    FileRecord, KindRecord, Machine, PartRecord, PolicyRecord, ProblemRecord, RunFile, Session, read_run,
};
pub(crate) use run_file::{parse_format, sequence_checksum};
pub use schema::{ColumnRecord, SchemaRecord};
pub use selection::Selection;
pub use trials::{COLUMNS, Measured, TrialRow, read_readable_trials, read_trials};
pub(crate) use trials::{Trials, read_all_trials};
pub use worker::Worker;
pub(crate) use worker::worker;

/// The file with one row for each trial, within OUT.
pub const TRIALS_FILE: &str = "trials.csv";
/// The file that says what was run, within OUT.
pub const RUN_FILE: &str = "run.json";
/// The file that the process that writes holds locked, within OUT.
const LOCK_FILE: &str = ".lock";
/// The folder of the arrays, within OUT.
pub const CURVES_FOLDER: &str = "curves";
/// The tables, within OUT.
pub const SUMMARY_FILE: &str = "summary.md";
/// Suffix of a policy that ran with propensities, where it is compared with policies that ran without.
pub const WITH_PROPENSITIES: &str = " (propensities)";
/// The version that is written into every record.
pub const VERSION: &str = locus::BUILD;
