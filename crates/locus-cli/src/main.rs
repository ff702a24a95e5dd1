//! The `locus` command with the policies of the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    locus_cli::main(&locus::Registry::standard())
}
