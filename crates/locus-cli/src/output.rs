//! Standard output and standard error, either of which may be a pipe whose reader has gone.

use std::io::{self, Write};

/// Standard output could not be written.
#[derive(Debug)]
pub(crate) struct CannotPrint(io::Error);

impl std::fmt::Display for CannotPrint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write to standard output: {}", self.0)
    }
}

impl std::error::Error for CannotPrint {}

/// Prints `text`. A reader that has seen enough (`locus table OUT | head`) is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CannotPrint(error).into()),
        _ => Ok(()),
    }
}

/// Says `line` on standard error. If nobody can hear it, that must not end a run of hours, so unlike `eprintln!`
/// this does not panic (`locus bench 2>&1 | head`).
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
