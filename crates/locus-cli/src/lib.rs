//! The `locus` command as a library: arguments in, one call into the benchmark, an exit code out.
//!
//! A binary with its own policies is this command with another registry:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     let registry = locus::Registry::standard(); // .with(my_policy::definition())
//!     locus_cli::main(&registry)
//! }
//! ```
//!
//! Exit codes: 0 done; 1 a trial failed, or a file could not be downloaded or written; 2 the command, a suite or an input file is
//! invalid or missing, and nothing was run; 130 interrupted.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod data;
mod explore;
mod fetch;
mod inspect;
mod layout;
mod listing;
mod merge;
mod output;
mod plan;
mod progress;
mod report;
mod status;
mod table;
mod words;

use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use locus::Registry;

use args::{Cli, Command};
use output::{print, tell};

/// A trial failed, or a file could not be downloaded or written.
const FAILED: u8 = 1;
/// The command, a suite or an input file is invalid or missing.
const USAGE: u8 = 2;
/// Ctrl-C, as shells report it.
const INTERRUPTED: u8 = 130;

/// Runs the command that the process was called with, with the policies of `registry`.
pub fn main(registry: &Registry) -> ExitCode {
    ExitCode::from(run(std::env::args_os().collect(), registry))
}

/// Runs the command of these words, the first of which is its name, and returns its exit code. Catches Ctrl-C from then on.
pub fn run(words: Vec<OsString>, registry: &Registry) -> u8 {
    let command = match Cli::try_parse_from(&words) {
        Ok(cli) => cli.command,
        Err(error) => {
            // Help goes to standard output and the rest to standard error; if that fails, nobody reads it.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(USAGE);
        }
    };
    // Not all paths are Unicode.
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let code = match command {
        Command::Bench(args) => bench::run(&args, words, registry),
        Command::Table(args) => table::run(&args, registry),
        Command::Report(args) => report::run(&args, registry),
        Command::Status(args) => status::run(&args),
        Command::Plan(args) => plan::run(&args, words, registry),
        Command::Merge(args) => merge::run(&args, registry),
        Command::Explore(args) => explore::run(&args, words, registry),
        Command::Inspect(args) => inspect::run(&args),
        Command::Problems => listing::problems(),
        Command::Policies { ids } => listing::policies(&ids, registry),
        Command::Data(args) => data::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), binary_name(&words), &mut script);
            print(&String::from_utf8_lossy(&script)).map(|()| 0)
        }
    };
    match code {
        Ok(code) => code,
        Err(error) => {
            tell(&format!("error: {}", message(&error)));
            if error.is::<output::CannotPrint>() { FAILED } else { USAGE }
        }
    }
}

/// The error and its causes. Errors of Locus already include their causes.
fn message(error: &anyhow::Error) -> String {
    let is_ours =
        |cause: &(dyn Error + 'static)| cause.is::<locus_bench::Error>() || cause.is::<locus::Error>();
    let mut words = Vec::new();
    for cause in error.chain() {
        words.push(cause.to_string());
        if is_ours(cause) {
            break;
        }
    }
    words.join(": ")
}

/// The name of the executable; a binary with its own policies is not called `locus`.
fn binary_name(words: &[String]) -> String {
    let name = words.first().and_then(|path| std::path::Path::new(path).file_stem());
    name.map_or("locus".to_owned(), |name| name.to_string_lossy().into_owned())
}
