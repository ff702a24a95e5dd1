//! The `locus` command with one more policy.

mod explore_then_commit;

use std::process::ExitCode;

fn main() -> ExitCode {
    locus_cli::main(&explore_then_commit::registry())
}
