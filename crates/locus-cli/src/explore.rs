//! `locus explore`: posterior samples of a trial.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use locus::{PolicySpec, Registry, Seed};
use locus_bench::explore::Exploration;
use locus_bench::problem::CsvOptions;
use locus_bench::record::{TRIALS_FILE, safe_name};
use locus_bench::suite::{CsvFile, Suite};

use crate::args::ExploreArgs;
use crate::bench::{check_columns, default_jobs, load, parse_policies, stop_on_ctrl_c};
use crate::output::{print, tell};
use crate::progress::Watcher;
use crate::{FAILED, INTERRUPTED};

/// Plays the trial, and prints the summary.
pub(crate) fn run(args: &ExploreArgs, command: Vec<String>, registry: &Registry) -> Result<u8> {
    let exploration = exploration(args, command, registry)?;
    exploration.check()?;
    let watcher = Arc::new(Watcher::new());
    let stop = stop_on_ctrl_c(Arc::clone(&watcher), "interrupted: stopping")?;
    if args.context.is_none() {
        tell("playing the first steps to find a context that all policies misjudge");
    }
    let explored = exploration.run(&*watcher, &stop);
    watcher.finish();
    let explored = match explored {
        Ok(explored) => explored,
        Err(error) if error.is_interrupted() => {
            tell("interrupted: nothing was written");
            return Ok(INTERRUPTED);
        }
        // The command was valid.
        Err(error) if error.is_io() || error.is_trial_failed() => {
            tell(&format!("error: {error}"));
            return Ok(FAILED);
        }
        Err(error) => return Err(error.into()),
    };
    let mut text = format!(
        "{}\nin {}: 1-single and 2-many as .svg, statistics.csv, histograms.csv, summary.txt, explore.json\n",
        explored.summary,
        explored.folder.display()
    );
    if exploration.out.join(TRIALS_FILE).exists() {
        text.push_str(&format!("`locus report {}` shows it\n", exploration.out.display()));
    }
    print(&text)?;
    Ok(0)
}

fn exploration(args: &ExploreArgs, command: Vec<String>, registry: &Registry) -> Result<Exploration> {
    let mut policies: Vec<PolicySpec> = Vec::new();
    for policy in parse_policies(&args.policies, registry)? {
        // As with `locus bench`, a policy named twice plays once.
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    check_columns(&args.columns, args.csv.is_some())?;
    let csv = args.csv.iter().zip(&args.label).map(|(file, label)| CsvFile {
        file: file.clone(),
        label: label.clone(),
        options: CsvOptions::from(&args.columns),
    });
    let suite = Suite {
        name: "explore".to_owned(),
        problems: args.problem.iter().cloned().collect(),
        csv: csv.collect(),
        npz: args.npz.iter().cloned().collect(),
        policies,
        trials: 1,
        first_trial: 0,
        steps: args.steps,
        seed: Seed::new(args.seed),
        propensities: false,
    };
    let problem =
        load(&suite, args.data.folder.as_deref())?.pop().context("there is no problem to explore")?;
    let out = args.out.clone().unwrap_or_else(|| default_out(args, problem.problem.name()));
    Ok(Exploration {
        command,
        registry: registry.clone(),
        problem,
        policies: suite.policies,
        seed: suite.seed,
        trial: args.trial,
        steps: args.steps,
        every: args.every,
        draws: args.draws,
        context: args.context,
        jobs: args.jobs.unwrap_or_else(default_jobs),
        out,
    })
}

/// A folder holds one exploration, so another trial or context gets another folder.
fn default_out(args: &ExploreArgs, problem: &str) -> PathBuf {
    let mut name = format!("explore-{problem}");
    for (what, number, usual) in
        [("steps", args.steps as u64, 2000), ("seed", args.seed, 0), ("trial", args.trial as u64, 0)]
    {
        if number != usual {
            name.push_str(&format!("-{what}-{number}"));
        }
    }
    if let Some(context) = args.context {
        name.push_str(&format!("-context-{context}"));
    }
    Path::new("runs").join(safe_name(&name))
}
