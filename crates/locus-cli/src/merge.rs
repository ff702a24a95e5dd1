//! `locus merge`: the folders of several runs as one.

use anyhow::Result;
use locus::Registry;
use locus_bench::merge::{AbsentShards, Merged, merge};

use crate::FAILED;
use crate::args::MergeArgs;
use crate::output::{print, tell};
use crate::words::count;

/// Merges, and says what was added and what is missing.
pub(crate) fn run(args: &MergeArgs, registry: &Registry) -> Result<u8> {
    let merged = match merge(&args.out, &args.folders, registry) {
        Ok(merged) => merged,
        // Nothing was wrong with the command.
        Err(error) if error.is_io() => {
            tell(&format!("error: {error}"));
            return Ok(FAILED);
        }
        Err(error) => return Err(error.into()),
    };
    for warning in &merged.warnings {
        tell(&format!("warning: {warning}"));
    }
    print(&describe(args, &merged))?;
    Ok(0)
}

fn describe(args: &MergeArgs, merged: &Merged) -> String {
    /// More would hide the rest.
    const KINDS_SHOWN: usize = 20;
    let Merged { added, equal, replaced, standing, absent, .. } = merged;
    let out = args.out.display();
    let mut text = format!("{out}: {} added, {equal} already there", count(*added, "trial"));
    if *replaced > 0 {
        text.push_str(&format!(", {} replaced", count(*replaced, "failed trial")));
    }
    let total = standing.total();
    let failed = if total.failed > 0 { format!(", {} failed", total.failed) } else { String::new() };
    text.push_str(&format!("\n{} of {} done{failed}", total.done, count(total.asked, "trial")));
    text.push_str(if total.done >= total.asked { "; nothing is missing\n" } else { "; missing:\n" });
    let mut kinds = Vec::new();
    for (place, problem) in standing.problems().iter().enumerate() {
        for (policy_place, policy) in standing.policies().iter().enumerate() {
            let kind = standing.kind(policy_place, place);
            if kind.done < kind.asked {
                kinds.push(format!(
                    "  {policy} on {problem}: {} of {}\n",
                    kind.asked - kind.done,
                    kind.asked
                ));
            }
        }
    }
    let n_kinds = kinds.len();
    text.extend(kinds.into_iter().take(KINDS_SHOWN));
    if n_kinds > KINDS_SHOWN {
        text.push_str(&format!("  and {} more: see `locus status {out}`\n", n_kinds - KINDS_SHOWN));
    }
    text.extend(absent.iter().map(absent_line));
    text.push_str(&format!(
        "`locus table {out}` shows the results, `locus report {out}` writes the report\n"
    ));
    text
}

/// No folder of a run's shards tells that another shard was lost.
fn absent_line(AbsentShards { numbers, of }: &AbsentShards) -> String {
    const SHOWN: usize = 20;
    let shown = numbers.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let more =
        if numbers.len() > SHOWN { format!(" and {} more", numbers.len() - SHOWN) } else { String::new() };
    let shards = if numbers.len() == 1 { "shard" } else { "shards" };
    format!("not among the merged folders: {shards} {shown}{more} of {of}\n")
}
