//! Generates a run's folder of the paper's size with made-up results, to measure `locus report`; or, as shards without curves, one
//! as large as a run may be, to measure `locus merge`, `table`, `status` and `plan`.
//!
//! ```console
//! $ cargo run --release -p locus-bandits-bench --example generate_run -- OUT [TRIALS]
//! $ time cargo run --release -- report OUT
//! $ cargo run --release -p locus-bandits-bench --example generate_run -- OUT 13888 SHARDS
//! $ time cargo run --release -- merge OUT/all OUT/shard-*
//! ```
//!
//! Nine policies, eight problems, 50 trials of 2000 steps; LU-SIVI and its ablation have 20, as in the experiment that we
//! publish. The numbers are random around the paper's: they are not results.

use std::error::Error;
use std::fs;
use std::path::Path;

use locus::{PolicySpec, Seed};
use locus_bench::data::npy::write_npy;
use locus_bench::paper::{POLICIES, PROBLEMS, STEPS, value};
use locus_bench::record::{COLUMNS, curve_paths};
use locus_bench::summary::Metric;
use locus_bench::trial::TrialId;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (out, trials) = match &words[..] {
        [out] => (Path::new(out), 50),
        [out, trials] => (Path::new(out), trials.parse()?),
        [out, trials, shards] => return write_shards(Path::new(out), trials.parse()?, shards.parse()?),
        _ => return Err("expected: generate_run OUT [TRIALS [SHARDS]]".into()),
    };
    fs::create_dir_all(out.join("curves"))?;
    let mut csv = csv::Writer::from_path(out.join("trials.csv"))?;
    csv.write_record(COLUMNS)?;
    for problem in PROBLEMS {
        for policy in POLICIES {
            let n = if policy.starts_with("lu-sivi") { (trials * 2 / 5).max(1) } else { trials };
            for trial in 0..n {
                let id = TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial };
                csv.write_record(write_trial(out, &id)?)?;
            }
        }
    }
    csv.flush()?;
    fs::write(out.join("run.json"), run_json(50, None)?)?;
    Ok(())
}

/// The rows of shards of all policies with as many trials each, without curves.
fn write_shards(out: &Path, trials: usize, shards: usize) -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    for shard in 1..=shards {
        let folder = out.join(format!("shard-{shard}"));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("run.json"), run_json(trials, Some(format!("{shard}/{shards}")))?)?;
        let mut csv = csv::Writer::from_path(folder.join("trials.csv"))?;
        csv.write_record(COLUMNS)?;
        files.push(csv);
    }
    for (kind, (problem, policy)) in
        PROBLEMS.iter().flat_map(|problem| POLICIES.map(|policy| (*problem, policy))).enumerate()
    {
        let paper = value(Metric::Cumulative, policy, problem).ok_or("a cell of the paper")?;
        for trial in 0..trials {
            let id = TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial };
            let mut rng = id.policy_seed(Seed::new(0)).stream("generate", 0);
            let end = (paper.mean + paper.plus_minus.unwrap_or(0.0) * rng.normal()).max(1.0);
            files[(kind * trials + trial) % shards].write_record(row(&id, end * 10.0, end / 200.0))?;
        }
    }
    files.iter_mut().try_for_each(csv::Writer::flush)?;
    Ok(())
}

/// Writes the curves of a trial and returns its row.
fn write_trial(out: &Path, id: &TrialId) -> Result<Vec<String>, Box<dyn Error>> {
    let mut rng = id.policy_seed(Seed::new(0)).stream("generate", 0);
    let paper = value(Metric::Cumulative, &id.policy, &id.problem).ok_or("a cell of the paper")?;
    let end = (paper.mean + paper.plus_minus.unwrap_or(0.0) * rng.normal()).max(1.0);
    // Regret falls as a policy learns; Uniform's does not.
    let is_uniform = id.policy == "uniform";
    let weight = |step: usize| if is_uniform { 1.0 } else { 0.4 + 2.0 / (1.0 + step as f64 / 100.0) };
    let total: f64 = (0..STEPS).map(weight).sum();
    let regrets: Vec<f64> =
        (0..STEPS).map(|step| weight(step) / total * end * 10.0 * (1.0 + 0.5 * rng.normal())).collect();
    let actions: Vec<u32> = (0..STEPS)
        .map(|step| {
            let is_settled = !is_uniform && rng.normal().abs() < step as f64 / 600.0;
            if is_settled { 1 } else { (rng.normal().abs() * 3.0) as u32 % 7 }
        })
        .collect();
    let paths = curve_paths(out, id);
    write_npy(fs::File::create(&paths.regret)?, &regrets)?;
    write_npy(fs::File::create(&paths.action)?, &actions)?;
    let cumulative: f64 = regrets.iter().sum();
    let simple = regrets[STEPS - 500..].iter().sum::<f64>() / 500.0;
    Ok(row(id, cumulative, simple))
}

fn row(id: &TrialId, cumulative: f64, simple: f64) -> Vec<String> {
    let seconds = value(Metric::Runtime, id.policy.trim_end_matches("-ablation"), &id.problem)
        .map_or(1.0, |paper| paper.mean);
    let numbers = [cumulative, simple, seconds * 0.1, seconds * 0.9].map(|number| format!("{number:?}"));
    let mut row =
        vec![id.problem.clone(), id.policy.clone(), id.trial.to_string(), "0".to_owned(), STEPS.to_string()];
    row.extend(numbers);
    row.extend([format!("{seconds:?}"), "0".to_owned(), "0.1.0".to_owned(), String::new()]);
    row
}

fn run_json(trials: usize, shard: Option<String>) -> Result<String, Box<dyn Error>> {
    let policies: Vec<_> = POLICIES
        .iter()
        .map(|policy| {
            // Policies that this version does not have keep their names.
            let settings = policy.parse::<PolicySpec>().map_or((*policy).to_owned(), |spec| spec.full());
            serde_json::json!({ "policy": policy, "settings": settings })
        })
        .collect();
    let problems: Vec<_> = PROBLEMS
        .iter()
        .map(|name| {
            serde_json::json!({
                "name": name, "n_features": 10, "n_actions": 7, "files": [], "first_trial_sha256": "0".repeat(64)
            })
        })
        .collect();
    let machine = serde_json::json!({ "os": "none", "arch": "none", "cpus": 1, "cpu_model": "made up" });
    let command = ["generate_run"];
    let mut session = serde_json::json!({
        "version": "0.1.0", "suite": "made up", "command": command, "policies": POLICIES, "problems": PROBLEMS,
        "trials": trials, "jobs": 1, "machine": machine
    });
    if let Some(shard) = shard {
        session["part"] = serde_json::json!({ "shard": shard });
    }
    let run = serde_json::json!({
        "format": 1, "seed": 0, "steps": STEPS, "problems": problems, "policies": policies, "sessions": [session]
    });
    Ok(serde_json::to_string_pretty(&run)?)
}
