//! `locus bench`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail, ensure};
use locus::{PolicySpec, PolicyText, Registry, Seed};
use locus_bench::experiment::{Estimate, Experiment, Part, Plan, RunOutcome};
use locus_bench::paper;
use locus_bench::problem::{self, CsvOptions, Loaded};
use locus_bench::record::{Selection, TrialRow, read_trials, safe_name};
use locus_bench::report::{WrittenReport, write_report};
use locus_bench::shards::ShardPlan;
use locus_bench::suite::{BUILT_IN, CENSUS, CENSUS_PART, CsvFile, Suite};
use locus_bench::summary::{Format, Metric, Table, seconds_in_words};
use locus_bench::trial::TrialId;

use crate::args::{BenchArgs, ColumnArgs, DEFAULT_SUITE, DescribedArgs, SelectionArgs};
use crate::inspect::{Detail, describe_schema};
use crate::output::{print, print_table, tell};
use crate::progress::Watcher;
use crate::report;
use crate::words::{count, count_of, rough_duration, shell_word};
use crate::{FAILED, INTERRUPTED};

/// Runs the missing trials, and shows the results.
pub(crate) fn run(args: &BenchArgs, command: Vec<String>, registry: &Registry) -> Result<u8> {
    let (mut experiment, steps_note) = experiment(&args.run, command, registry)?;
    experiment.jobs = args.jobs.unwrap_or_else(default_jobs);
    experiment.part = part(args, &experiment, registry)?;
    experiment.out = match &args.out {
        Some(out) => out.clone(),
        None => with_part(experiment.out, &experiment.part),
    };
    if args.dry_run {
        let estimate = experiment.estimate()?;
        let mut text = headline(&estimate.plan, &Described::from(&experiment), &steps_note);
        text.push_str(&describe(&estimate, experiment.jobs));
        print(&text)?;
        return Ok(0);
    }
    let described = Described::from(&experiment);
    let watcher = Watcher::with_headline(move |plan| headline(plan, &described, &steps_note));
    let watcher = Arc::new(watcher);
    let stop = stop_on_ctrl_c(Arc::clone(&watcher), STOPPING)?;
    let outcome = experiment.run(&*watcher, &stop);
    watcher.finish();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        // Finished trials are recorded, and the command was valid.
        Err(error) if error.is_io() => {
            tell(&format!("error: {error}"));
            return Ok(FAILED);
        }
        Err(error) => return Err(error.into()),
    };
    for warning in &outcome.warnings {
        tell(&format!("warning: {warning}"));
    }
    // A user who interrupts does not want to wait.
    let written = match outcome.interrupted {
        true => None,
        false => {
            Some(write_report(std::slice::from_ref(&experiment.out), None, &Selection::default(), registry))
        }
    };
    for warning in written.iter().flatten().flat_map(|written| &written.warnings) {
        tell(&format!("warning: {warning}"));
    }
    show(&experiment, &outcome, written.as_ref())?;
    Ok(match outcome {
        RunOutcome { interrupted: true, .. } => INTERRUPTED,
        _ if matches!(written, Some(Err(_))) => FAILED,
        RunOutcome { failed, .. } if !failed.is_empty() => FAILED,
        _ => 0,
    })
}

/// The selected part of a run.
pub(crate) fn selection(args: &SelectionArgs, registry: &Registry) -> Result<Selection> {
    let list = args.policies.as_deref().map(PolicyText::split_list);
    ensure!(list.as_ref().is_none_or(|list| !list.is_empty()), "{NO_POLICY}");
    let policies = list.into_iter().flatten().map(|policy| recorded_name(policy, registry));
    ensure!(
        args.problems.iter().all(|name| !name.trim().is_empty()),
        "--problems names no problem; the run's summary.md lists them"
    );
    Ok(Selection {
        policies: each_once(&policies.collect::<Result<Vec<_>>>()?),
        problems: each_once(&args.problems),
    })
}

/// A policy as records name it: in canonical form, or as it is written where the registry does not know it. A run's folder may hold policies
/// of another version, or of another binary.
pub(crate) fn recorded_name(policy: &str, registry: &Registry) -> Result<String> {
    PolicyText::parse(policy)?;
    Ok(registry.parse(policy).map_or(policy.to_owned(), |spec| spec.to_string()))
}

const NO_POLICY: &str = "--policies names no policy; `locus policies` lists them";

pub(crate) fn parse_policies(text: &str, registry: &Registry) -> Result<Vec<PolicySpec>> {
    let policies = registry.parse_list(text)?;
    ensure!(!policies.is_empty(), "{NO_POLICY}");
    Ok(policies)
}

/// The suite with the overrides of the command line and its loaded problems; and the source of the number of steps, if that is
/// not obvious.
pub(crate) fn experiment(
    args: &DescribedArgs,
    command: Vec<String>,
    registry: &Registry,
) -> Result<(Experiment, Option<String>)> {
    let mut suite = Suite::load(args.suite.as_deref().unwrap_or(DEFAULT_SUITE), registry)?;
    ensure!(
        args.csv.len() == args.label.len(),
        "--csv was given {} times and --label {} times; give one label for each file",
        args.csv.len(),
        args.label.len()
    );
    check_columns(&args.columns, !args.csv.is_empty())?;
    let csv: Vec<CsvFile> = args
        .csv
        .iter()
        .zip(&args.label)
        .map(|(file, label)| CsvFile {
            file: file.clone(),
            label: label.clone(),
            options: CsvOptions::from(&args.columns),
        })
        .collect();
    if names_problems(args) {
        suite.problems = each_once(args.problems.as_deref().unwrap_or_default());
        suite.csv = csv;
        suite.npz = args.npz.clone();
    }
    if let Some(policies) = &args.policies {
        suite.policies = parse_policies(policies, registry)?;
    }
    let folder = args.data.folder.as_deref();
    let is_available = |name: &str| problem::is_available(name, folder).unwrap_or(false);
    if args.problems.is_none()
        && let Some(note) = suite.substitute_census(is_available)
    {
        tell(&format!("note: {note}"));
    }
    let problems = load(&suite, folder)?;
    let out = default_out(&suite, args, &problems);
    // Own files come after the problems by name.
    let own = &problems[suite.problems.len()..];
    let (steps, steps_note) = match args.steps {
        Some(steps) => (steps, None),
        None => default_steps(args, &suite, own),
    };
    let experiment = Experiment {
        command,
        registry: registry.clone(),
        problems,
        policies: suite.policies,
        trials: args.trials.unwrap_or(suite.trials),
        first_trial: args.first_trial.unwrap_or(suite.first_trial),
        steps,
        seed: args.seed.map_or(suite.seed, Seed::new),
        propensities: args.propensities.unwrap_or(suite.propensities),
        jobs: 1,
        suite: suite.name,
        part: Part::All,
        out,
    };
    Ok((experiment, steps_note))
}

/// The number of steps without --steps, and its source. With problems but no suite, trials are as long as the paper's, not those
/// of the quick suite, or as long as the smallest file of `own`.
fn default_steps(args: &DescribedArgs, suite: &Suite, own: &[Loaded]) -> (usize, Option<String>) {
    match &args.suite {
        _ if !names_problems(args) => (suite.steps, None),
        Some(name) => {
            let steps = suite.steps;
            (steps, Some(format!("steps: {steps}, from the suite {name}; --steps changes it")))
        }
        None => {
            let rows = own.iter().filter_map(|Loaded { problem, .. }| Some((problem.max_steps()?, problem)));
            let (steps, reason) = match rows.min_by_key(|(rows, _)| *rows) {
                Some((rows, problem)) if rows < paper::STEPS => {
                    (rows, format!("all rows of {}", problem.name()))
                }
                _ => (paper::STEPS, "as in the paper".to_owned()),
            };
            (steps, Some(format!("steps: {steps} by default, {reason}; --steps changes it")))
        }
    }
}

/// The requested part of the trials that the arguments describe.
fn part(args: &BenchArgs, experiment: &Experiment, registry: &Registry) -> Result<Part> {
    match (args.shard, &args.plan) {
        (Some(shard), Some(plan)) => return Ok(ShardPlan::read(plan)?.part(shard, experiment)?),
        (Some(shard), None) => return Ok(Part::Shard(shard)),
        _ => {}
    }
    let mut ids = Vec::new();
    for named in args.only.chunks_exact(3) {
        let (problem, policy) = (named[0].clone(), registry.parse(&named[1])?.to_string());
        let trial = named[2].parse().ok().with_context(|| {
            format!("--only {} {} {}: expected the number of a trial", named[0], named[1], named[2])
        })?;
        ids.push(TrialId { problem, policy, trial });
    }
    Ok(if ids.is_empty() { Part::All } else { Part::Only(ids) })
}

/// The numbers of an experiment that its first line tells.
struct Described {
    part: Part,
    trials: usize,
    steps: usize,
}

impl From<&Experiment> for Described {
    fn from(experiment: &Experiment) -> Self {
        Self { part: experiment.part.clone(), trials: experiment.trials, steps: experiment.steps }
    }
}

/// What is run, in one line, or two if the number of steps needs an explanation.
fn headline(plan: &Plan, described: &Described, steps_note: &Option<String>) -> String {
    let Described { part, trials, steps } = described;
    let (problems, policies) = (plan.standing.problems().len(), plan.standing.policies().len());
    let n_trials = plan.done + plan.missing.len();
    let n_described = problems * policies * trials;
    let n_trials = match part {
        Part::All => count(n_trials, "trial"),
        part => format!("{part}: {n_trials} of {}", count(n_described, "trial")),
    };
    let mut text = format!(
        "{n_trials} of {}: {} × {} × {} each\n",
        count(*steps, "step"),
        count(problems, "problem"),
        count_of(policies, "policy", "policies"),
        count(*trials, "trial"),
    );
    text.extend(steps_note.iter().map(|note| format!("{note}\n")));
    text
}

/// Fails if there are options for the columns of a CSV file, but no such file.
pub(crate) fn check_columns(columns: &ColumnArgs, has_csv: bool) -> Result<()> {
    match columns.given() {
        Some(option) if !has_csv => {
            bail!("{option} applies to the columns of a CSV file; name one with --csv FILE --label COLUMN")
        }
        _ => Ok(()),
    }
}

/// One thread for each core.
pub(crate) fn default_jobs() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Whether other problems replace the suite's.
fn names_problems(args: &DescribedArgs) -> bool {
    args.problems.is_some() || !args.csv.is_empty() || !args.npz.is_empty()
}

/// A name given twice counts once.
pub(crate) fn each_once(names: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        if !kept.iter().any(|earlier| earlier == name) {
            kept.push(name.to_owned());
        }
    }
    kept
}

/// A folder is named after what is run, so that its tables compare related trials. It has one seed and number of steps, so others
/// get another folder, as do propensities if they differ from the suite.
fn default_out(suite: &Suite, args: &DescribedArgs, problems: &[Loaded]) -> PathBuf {
    let Suite { name: suite, propensities, .. } = suite;
    let is_built_in = |name: &str| BUILT_IN.iter().any(|(built_in, _)| *built_in == name);
    let mut parts = Vec::new();
    if !names_problems(args) || args.suite.is_some() {
        let stem = Path::new(suite).file_stem().unwrap_or_default().to_string_lossy();
        parts.push(if is_built_in(suite) { suite.to_owned() } else { format!("suite-{stem}") });
    }
    if names_problems(args) {
        let names = problems.iter().map(|loaded| loaded.problem.name());
        // The user's own files must not map to the folder of a suite.
        parts.extend(names.map(|name| match is_built_in(name) || name.starts_with("suite-") {
            true => format!("data-{name}"),
            false => name.to_owned(),
        }));
    }
    let mut name = safe_name(&parts.join("+"));
    if let Some(steps) = args.steps {
        name.push_str(&format!("-steps-{steps}"));
    }
    if let Some(seed) = args.seed {
        name.push_str(&format!("-seed-{seed}"));
    }
    match args.propensities {
        Some(true) if !propensities => name.push_str("-propensities"),
        Some(false) if *propensities => name.push_str("-no-propensities"),
        _ => {}
    }
    Path::new("runs").join(name)
}

/// Every part has a folder of its own, since machines may share a disk.
fn with_part(out: PathBuf, part: &Part) -> PathBuf {
    let suffix = match part {
        Part::Shard(shard) => format!("-shard-{}-of-{}", shard.number, shard.of),
        Part::Planned(shard, _) => format!("-planned-shard-{}-of-{}", shard.number, shard.of),
        Part::Only(ids) => {
            let word = |id: &TrialId| format!("{}-{}-{}", id.problem, id.policy, id.trial);
            format!("-only-{}", safe_name(&ids.iter().map(word).collect::<Vec<_>>().join("+")))
        }
        _ => return out,
    };
    let mut name = out.into_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// Loads the problems, after checking that every file that they need exists.
pub(crate) fn load(suite: &Suite, folder: Option<&Path>) -> Result<Vec<Loaded>> {
    let mut missing = Vec::new();
    let mut ids = Vec::new();
    let mut census = String::new();
    for name in &suite.problems {
        let info = problem::info(name)?;
        if !problem::is_available(info.id, folder)? {
            missing.extend(info.file().map(|file| format!("{file} (for {})", info.id)));
            ids.push(info.id);
            if info.id == CENSUS
                && let Some(part) = problem::info(CENSUS_PART)?.file()
            {
                census = format!(
                    "; with the first 10,000 rows of the census, {part}, the problem `{CENSUS_PART}` can run instead"
                );
            }
        }
    }
    let them = if missing.len() == 1 { "it" } else { "them" };
    ensure!(
        missing.is_empty(),
        "missing {}: {}; `locus data fetch --data {} {}` tries to download {them}, or {}{census}; `locus data` lists the sources",
        if missing.len() == 1 { "file" } else { "files" },
        missing.join(", "),
        folder.map_or("DIR".to_owned(), shell_word),
        ids.join(" "),
        match folder {
            Some(folder) if !folder.is_dir() => format!(
                "name the folder that holds {them} with --data DIR or LOCUS_DATA (`{}` is not a folder)",
                folder.display()
            ),
            Some(folder) => format!("put {them} into `{}`, plain, .gz or .zst", folder.display()),
            None => format!("name the folder that holds {them} with --data DIR, or set LOCUS_DATA"),
        }
    );
    let mut problems = Vec::new();
    for name in &suite.problems {
        problems.push(problem::load(name, folder)?);
    }
    let mut schemas = String::new();
    for CsvFile { file, label, options } in &suite.csv {
        let loaded = problem::load_csv(file, label, options)?;
        if let Some(schema) = &loaded.schema {
            schemas.push_str(&describe_schema(schema, file, Detail::Short));
        }
        problems.push(loaded);
    }
    for file in &suite.npz {
        problems.push(problem::load_npz(file)?);
    }
    if !schemas.is_empty() {
        tell(schemas.trim_end());
    }
    for loaded in &problems {
        for note in &loaded.notes {
            tell(&format!("note: {note}"));
        }
    }
    Ok(problems)
}

fn describe(Estimate { plan, seconds, unknown, .. }: &Estimate, jobs: usize) -> String {
    let missing = plan.missing.len();
    let mut text = format!("{} done, ", plan.done);
    text.push_str(&match (missing, plan.retried) {
        (0, _) => "nothing left to run".to_owned(),
        (_, 0) => format!("{missing} to run"),
        (_, retried) => format!("{missing} to run ({retried} failed before)"),
    });
    if missing > 0 {
        text.push_str(&format!(", {} with {}", rough_duration(*seconds), count(jobs, "job")));
    }
    text.push('\n');
    for problem in unknown {
        text.push_str(&format!("not in the estimate: {problem}\n"));
    }
    for warning in &plan.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    text
}

/// Shows the problems and policies of this run, even if the folder holds others.
fn show(
    experiment: &Experiment,
    outcome: &RunOutcome,
    written: Option<&Result<WrittenReport, locus_bench::Error>>,
) -> Result<()> {
    /// More lines would hide the table.
    const FAILURES_SHOWN: usize = 10;
    let out = experiment.out.display();
    let rows = read_trials(&experiment.out).context("the run recorded no trials")?;
    let seconds = seconds_in_words(&rows);
    let (rows, others): (Vec<TrialRow>, Vec<TrialRow>) =
        rows.into_iter().partition(|row| experiment.concerns(&row.id));
    let RunOutcome { ran, skipped, failed, interrupted, discarded, .. } = outcome;
    let mut text = String::new();
    if !rows.is_empty() {
        text.push_str(&format!("\n{}\n", Table::new(&rows, Metric::Cumulative).render(Format::Text)));
    }
    if ran + failed.len() == 0 && !interrupted {
        text.push_str(&format!("nothing left to run: {} done before\n", count(*skipped, "trial")));
    } else {
        let ran = count(*ran, "trial");
        text.push_str(&format!("{ran} ran, {skipped} done before, {} failed\n", failed.len()));
    }
    for row in failed.iter().take(FAILURES_SHOWN) {
        let error = row.outcome.as_ref().err().map_or("", String::as_str);
        text.push_str(&format!("failed: {}: {error}\n", row.id));
    }
    if failed.len() > FAILURES_SHOWN {
        text.push_str(&format!("and {} more: see trials.csv\n", failed.len() - FAILURES_SHOWN));
    }
    if *interrupted {
        let were = if *discarded == 1 { "was" } else { "were" };
        let discarded = count(*discarded, "running trial");
        text.push_str(&format!(
            "interrupted: {discarded} {were} discarded; the same command resumes the run\n"
        ));
    }
    text.push_str(&format!("wall-clock seconds of all trials in this folder: {seconds}\n"));
    text.push_str(&format!("in {out}: trials.csv, curves/, run.json, summary.md\n"));
    match written {
        Some(Ok(written)) => text.push_str(&format!("{}\n", report::describe(written))),
        Some(Err(error)) => tell(&format!("error: no report: {error}")),
        None => text.push_str(&format!("`locus report {out}` writes a report of the recorded trials\n")),
    }
    if !others.is_empty() {
        text.push_str(&format!("`locus table {out}` shows all trials of this folder\n"));
    }
    print_table(&text)
}

/// What the first Ctrl-C prints.
const STOPPING: &str = "interrupted: stopping; finished trials are kept, running ones are discarded";

/// Set by the first Ctrl-C, which prints `line`; a second one ends the process at once.
pub(crate) fn stop_on_ctrl_c(watcher: Arc<Watcher>, line: &'static str) -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let in_handler = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if in_handler.load(Ordering::Relaxed) {
            watcher.finish();
            std::process::exit(i32::from(INTERRUPTED));
        }
        // Printed first: once the run is stopped, the process may end at any moment.
        watcher.say(line);
        in_handler.store(true, Ordering::Relaxed);
    })
    .context("cannot catch Ctrl-C")?;
    Ok(stop)
}
