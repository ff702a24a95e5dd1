//! `locus status`: the progress of a running or interrupted run.

use std::time::SystemTime;

use anyhow::Result;
use console::Term;
use locus_bench::experiment::{KindStanding, Standing};
use locus_bench::record::Worker;
use locus_bench::status::{Status, read_status};

use crate::args::{StatusArgs, StatusFormat};
use crate::layout::{grid, list};
use crate::output::{print, tell};
use crate::words::{count, short_duration};
use crate::{FAILED, USAGE};

/// The width where standard output is no terminal.
const WIDTH: usize = 100;

/// Shows the status of each folder. A folder without a run is an error, and the others are still shown.
pub(crate) fn run(args: &StatusArgs) -> Result<u8> {
    let mut code = 0;
    let mut shown = Vec::new();
    for out in &args.outs {
        match read_status(out) {
            Ok(status) => {
                for warning in &status.warnings {
                    tell(&format!("warning: {warning}"));
                }
                shown.push(status);
            }
            Err(error) => {
                tell(&format!("error: {error}"));
                code = if error.is_io() { FAILED } else { USAGE };
            }
        }
    }
    let text = match args.format {
        StatusFormat::Text => shown.iter().map(text).collect::<Vec<_>>().join("\n"),
        StatusFormat::Markdown => shown.iter().map(markdown).collect::<Vec<_>>().join("\n"),
        StatusFormat::Csv if shown.is_empty() => String::new(),
        StatusFormat::Csv => csv(&shown)?,
    };
    print(&text)?;
    Ok(code)
}

fn text(status: &Status) -> String {
    let term = Term::stdout();
    let (height, width) = match term.is_term() {
        true => (usize::from(term.size().0), usize::from(term.size().1)),
        false => (usize::MAX, WIDTH),
    };
    let standing = &status.standing;
    let mut lines = head(status);
    // A grid if a list would scroll off the screen, and a list that wraps if the terminal is too narrow for both.
    let body = match list(standing, width) {
        Some(list) if list.len() + lines.len() < height => Some(list),
        other => grid(standing, width).or(other).or_else(|| list(standing, WIDTH)),
    };
    lines.extend(body.unwrap_or_default());
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Whether a process is running it, what is done, and what is left.
fn head(status: &Status) -> Vec<String> {
    let Status { standing, worker, .. } = status;
    let total = standing.total();
    let worker = match worker {
        Worker::Process(Some(process)) => format!("running (process {process})"),
        Worker::Process(None) => "running".to_owned(),
        Worker::Nobody => "not running".to_owned(),
        _ => "this system cannot tell whether it is running".to_owned(),
    };
    let recorded = status.last_recorded.and_then(ago).unwrap_or_default();
    let failed = if total.failed > 0 { format!(", {} failed", total.failed) } else { String::new() };
    let trials = match status.is_total_known {
        true => format!("{} of {} done{failed}", total.done, count(total.asked, "trial")),
        false => format!("{} done{failed}; the requested number is unknown", count(total.done, "trial")),
    };
    let left = match standing.wall_seconds_left() {
        _ if !status.is_total_known => String::new(),
        _ if total.has_ended() => "; nothing left to run".to_owned(),
        Some(seconds) => {
            let jobs = count(standing.jobs(), "job");
            format!("; the rest takes about {} with {jobs}", short_duration(seconds))
        }
        None => "; no time estimate yet".to_owned(),
    };
    let mut lines = vec![
        format!("{}: {worker}{recorded}", status.out.display()),
        format!("{trials}; {:.1} seconds spent in trials{left}", total.seconds),
    ];
    if status.propensities {
        lines.push("with --propensities: actions are sampled from the reported probabilities".to_owned());
    }
    lines
}

fn ago(time: SystemTime) -> Option<String> {
    let passed = time.elapsed().ok()?;
    Some(format!("; last trial recorded {} ago", short_duration(passed.as_secs_f64())))
}

fn markdown(status: &Status) -> String {
    let standing = &status.standing;
    let escaped = |name: &String| name.replace('|', "\\|");
    let mut text = head(status).iter().map(|line| format!("{line}\n\n")).collect::<String>();
    let problems: Vec<String> = standing.problems().iter().map(escaped).collect();
    text.push_str(&format!("| policy | {} |\n", problems.join(" | ")));
    text.push_str(&format!("| --- |{}\n", " ---: |".repeat(problems.len())));
    for (policy, name) in standing.policies().iter().enumerate() {
        let cell = |problem| {
            let kind = standing.kind(policy, problem);
            let mean = kind.mean.map_or("–".to_owned(), |mean| format!("{mean:.2}"));
            format!("{} of {}: {mean}", kind.done, kind.asked)
        };
        let cells: Vec<String> = (0..problems.len()).map(cell).collect();
        text.push_str(&format!("| `{}` | {} |\n", escaped(name), cells.join(" | ")));
    }
    text.push_str(
        "\nTrials done of those requested, and cumulative regret so far in percent of Uniform's over the same trials.\n",
    );
    text
}

const COLUMNS: [&str; 10] =
    ["out", "at_work", "problem", "policy", "asked", "done", "failed", "mean", "seconds", "seconds_left"];

/// One row for each folder, problem and policy; unknown values are empty.
fn csv(statuses: &[Status]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for status in statuses {
        let Status { out, standing, worker, .. } = status;
        let at_work = match worker {
            Worker::Process(_) => "yes",
            Worker::Nobody => "no",
            _ => "",
        };
        for (place, problem) in standing.problems().iter().enumerate() {
            for (policy_place, policy) in standing.policies().iter().enumerate() {
                let start = [out.display().to_string(), at_work.to_owned(), problem.clone(), policy.clone()];
                let numbers = numbers(status.is_total_known, standing, policy_place, place);
                writer.write_record(start.into_iter().chain(numbers))?;
            }
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn numbers(is_total_known: bool, standing: &Standing, policy: usize, problem: usize) -> [String; 6] {
    let KindStanding { asked, done, failed, mean, seconds, seconds_left, .. } =
        standing.kind(policy, problem);
    let exact = |value: Option<f64>| value.map(|value| format!("{value:?}")).unwrap_or_default();
    let asked = if is_total_known { asked.to_string() } else { String::new() };
    let left = exact(seconds_left.filter(|_| is_total_known));
    [asked, done.to_string(), failed.to_string(), exact(mean), exact(Some(seconds)), left]
}
