//! `locus bench` and `locus table`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;

use anyhow::{Context, Result, ensure};
use locus::{PolicySpec, Seed};
use locus_bench::experiment::{Estimate, Experiment, RunOutcome};
use locus_bench::problem::{self, Loaded};
use locus_bench::record::read_trials;
use locus_bench::suite::{CsvFile, Suite};
use locus_bench::summary::{Format, Metric, Table};

use crate::args::{BenchArgs, TableArgs};
use crate::output::print;
use crate::progress::Watcher;
use crate::{FAILED, INTERRUPTED};

/// Runs what is missing, and shows what came out.
pub(crate) fn run(args: &BenchArgs) -> Result<u8> {
    let experiment = experiment(args)?;
    if args.dry_run {
        let estimate = experiment.estimate()?;
        print(&describe(&estimate, experiment.jobs))?;
        return Ok(0);
    }
    let stop = stop_on_ctrl_c()?;
    let watcher = Watcher::new(experiment.steps);
    let outcome = experiment.run(&watcher, &stop);
    watcher.finish();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        // What ran before is recorded; nothing was wrong with the command.
        Err(error) if error.is_io() => {
            eprintln!("error: {error}");
            return Ok(FAILED);
        }
        Err(error) => return Err(error.into()),
    };
    for warning in &outcome.warnings {
        eprintln!("warning: {warning}");
    }
    report(&experiment.out, &outcome)?;
    Ok(match outcome {
        RunOutcome { interrupted: true, .. } => INTERRUPTED,
        RunOutcome { failed, .. } if !failed.is_empty() => FAILED,
        _ => 0,
    })
}

/// Shows what a run's folder holds.
pub(crate) fn table(args: &TableArgs) -> Result<u8> {
    let rows = read_trials(&args.out)?;
    print(&Table::new(&rows, args.metric.into()).render(args.format.into()))?;
    Ok(0)
}

/// The suite with what the command line overrides, its problems loaded.
fn experiment(args: &BenchArgs) -> Result<Experiment> {
    let mut suite = Suite::load(&args.suite)?;
    ensure!(
        args.csv.len() == args.label.len(),
        "--csv was given {} times and --label {} times, expected a label for each file",
        args.csv.len(),
        args.label.len()
    );
    let csv: Vec<CsvFile> = args
        .csv
        .iter()
        .zip(&args.label)
        .map(|(file, label)| CsvFile { file: file.clone(), label: label.clone() })
        .collect();
    if args.problems.is_some() || !csv.is_empty() || !args.npz.is_empty() {
        suite.problems = args.problems.clone().unwrap_or_default();
        suite.csv = csv;
        suite.npz = args.npz.clone();
    }
    if let Some(policies) = &args.policies {
        suite.policies = PolicySpec::list(policies)?;
        ensure!(!suite.policies.is_empty(), "--policies names no policy; `locus policies` lists them");
    }
    let out = args.out.clone().unwrap_or_else(|| default_out(&suite.name, args));
    let folder = args.data.folder.as_deref();
    let is_available = |name: &str| problem::is_available(name, folder).unwrap_or(false);
    if args.problems.is_none()
        && let Some(note) = suite.substitute_census(is_available)
    {
        eprintln!("note: {note}");
    }
    let default_jobs = available_parallelism().map_or(1, usize::from);
    Ok(Experiment {
        command: std::env::args().collect(),
        problems: load(&suite, folder)?,
        policies: suite.policies,
        trials: args.trials.unwrap_or(suite.trials),
        steps: args.steps.unwrap_or(suite.steps),
        seed: args.seed.map_or(suite.seed, Seed::new),
        jobs: args.jobs.unwrap_or(default_jobs),
        suite: suite.name,
        out,
    })
}

/// A folder is bound to its seed and steps, so other ones get another folder.
fn default_out(suite: &str, args: &BenchArgs) -> PathBuf {
    let stem = Path::new(suite).file_stem().unwrap_or_default();
    let mut name = stem.to_string_lossy().into_owned();
    if let Some(steps) = args.steps {
        name.push_str(&format!("-steps-{steps}"));
    }
    if let Some(seed) = args.seed {
        name.push_str(&format!("-seed-{seed}"));
    }
    Path::new("runs").join(name)
}

/// Loads the problems, once every file that they need is known to be there.
fn load(suite: &Suite, folder: Option<&Path>) -> Result<Vec<Loaded>> {
    let mut missing = Vec::new();
    for name in &suite.problems {
        let info = problem::info(name.trim())?;
        if !problem::is_available(info.id, folder)? {
            missing.extend(info.file().map(|file| format!("{file} (for {})", info.id)));
        }
    }
    ensure!(
        missing.is_empty(),
        "{} missing: {}; {}, and see `locus data`",
        if missing.len() == 1 { "a file is" } else { "files are" },
        missing.join(", "),
        match folder {
            Some(folder) => format!("put them into `{}`, plain, .gz or .zst", folder.display()),
            None => "name the folder that holds them with --data DIR, or set LOCUS_DATA".to_owned(),
        }
    );
    let mut problems = Vec::new();
    for name in &suite.problems {
        problems.push(problem::load(name.trim(), folder)?);
    }
    for CsvFile { file, label } in &suite.csv {
        problems.push(problem::load_csv(file, label)?);
    }
    for file in &suite.npz {
        problems.push(problem::load_npz(file)?);
    }
    for loaded in &problems {
        for note in &loaded.notes {
            eprintln!("note: {note}");
        }
    }
    Ok(problems)
}

fn describe(Estimate { plan, seconds, unknown, .. }: &Estimate, jobs: usize) -> String {
    let missing = plan.missing.len();
    let mut text = format!(
        "{} trials: {} done, {missing} to run, about {} with {jobs} jobs\n",
        plan.done + missing,
        plan.done,
        duration(*seconds)
    );
    for problem in unknown {
        text.push_str(&format!("not in the estimate: {problem}\n"));
    }
    for warning in &plan.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    text
}

fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1.0 => "a second".to_owned(),
        seconds if seconds < 120.0 => format!("{seconds:.0} seconds"),
        seconds if seconds < 7200.0 => format!("{:.0} minutes", seconds / 60.0),
        seconds => format!("{:.1} hours", seconds / 3600.0),
    }
}

fn report(out: &Path, outcome: &RunOutcome) -> Result<()> {
    let rows = read_trials(out).context("the run left nothing to show")?;
    let table = Table::new(&rows, Metric::Cumulative).render(Format::Text);
    let RunOutcome { ran, skipped, failed, interrupted, .. } = outcome;
    let mut text = format!("\n{table}\n");
    if ran + failed.len() == 0 && !interrupted {
        text.push_str(&format!("nothing left to run: all {skipped} trials were done before\n"));
    } else {
        text.push_str(&format!("{ran} trials ran, {skipped} were done before, {} failed\n", failed.len()));
    }
    for row in failed.iter().take(10) {
        let error = row.outcome.as_ref().err().map_or("", String::as_str);
        text.push_str(&format!("failed: {}: {error}\n", row.id));
    }
    if *interrupted {
        text.push_str("interrupted: the same command goes on where this one stopped\n");
    }
    text.push_str(&format!("in {}: trials.csv, curves/, run.json, summary.md\n", out.display()));
    print(&text)
}

/// Set by the first Ctrl-C; a second one ends the process at once.
fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let in_handler = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if in_handler.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        eprintln!("\ninterrupted: ending the trials under way");
    })
    .context("cannot catch Ctrl-C")?;
    Ok(stop)
}
