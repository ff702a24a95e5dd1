//! `locus plan`: shards that take about as long each.

use anyhow::Result;
use locus::Registry;
use locus_bench::record::read_readable_trials;
use locus_bench::shards::{Durations, Planned, Simulation};

use crate::FAILED;
use crate::args::PlanArgs;
use crate::bench::experiment;
use crate::output::{print, tell};
use crate::words::{count, rough_duration, short_duration};

/// Plans, simulates, and writes the plan.
pub(crate) fn run(args: &PlanArgs, command: Vec<String>, registry: &Registry) -> Result<u8> {
    let (experiment, _) = experiment(&args.run, command, registry)?;
    let mut recorded = Vec::new();
    for folder in &args.pace {
        let (rows, damages) = read_readable_trials(folder)?;
        damages.iter().for_each(|damage| tell(&format!("warning: {damage}")));
        recorded.extend(rows);
    }
    let planned = Planned::new(&experiment, args.shards, &recorded)?;
    let plan = &planned.plan;
    let seconds = || plan.shards().iter().map(|shard| shard.seconds);
    let (least, most) = (seconds().fold(f64::INFINITY, f64::min), seconds().fold(0.0, f64::max));
    let mut text = format!(
        "{} in {} of {} to {}, {} in all; recorded: {} of {} policies on problems\n",
        count(plan.n_trials(), "trial"),
        count(plan.shards().len(), "shard"),
        short_duration(least),
        short_duration(most),
        rough_duration(seconds().sum()),
        planned.n_measured,
        planned.n_kinds(),
    );
    for (durations, pace) in
        [(Durations::Median, ""), (Durations::Drawn, ", seconds drawn from recorded trials")]
    {
        text.push_str(&line(&format!("a node for each shard{pace}"), &planned.simulate(durations)));
        let Some(nodes) = args.simulate else { continue };
        let name = format!("a queue of the shards on {}", count(nodes, "node"));
        text.push_str(&line(&format!("{name}{pace}"), &planned.simulate_queue(durations, nodes, 0.0)?));
        let failing = planned.simulate_queue(durations, nodes, args.failing)?;
        if failing.failed > 0 {
            let name = format!("{name}, {} of which fail{pace}", failing.failed);
            text.push_str(&line(&name, &failing));
        }
    }
    if let Err(error) = plan.write(&args.output) {
        if error.is_io() {
            tell(&format!("error: {error}"));
            return Ok(FAILED);
        }
        return Err(error.into());
    }
    let output = args.output.display();
    text.push_str(&format!(
        "in {output}; run a shard with the same arguments: `locus bench … --shard 1/{} --plan {output}`\n",
        args.shards
    ));
    print(&text)?;
    Ok(0)
}

fn line(name: &str, simulation: &Simulation) -> String {
    let Simulation { efficiency, seconds, .. } = simulation;
    format!("efficiency {efficiency:.3}, {}: {name}\n", short_duration(*seconds))
}
