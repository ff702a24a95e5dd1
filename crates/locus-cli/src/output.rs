//! Standard output and standard error, either of which may be a pipe whose reader has gone.

use std::io::{self, Write};

use console::{Term, measure_text_width};

/// Standard output could not be written.
#[derive(Debug)]
pub(crate) struct CannotPrint(io::Error);

impl std::fmt::Display for CannotPrint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write to standard output: {}", self.0)
    }
}

impl std::error::Error for CannotPrint {}

/// Prints `text`. A closed pipe (`locus table OUT | head`) is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CannotPrint(error).into()),
        _ => Ok(()),
    }
}

/// Prints tables and the sentences below them; on a terminal, sentences wrap at words.
pub(crate) fn print_table(text: &str) -> anyhow::Result<()> {
    let term = Term::stdout();
    match term.is_term() {
        true => print(&wrapped(text, usize::from(term.size().1))),
        false => print(text),
    }
}

/// Like [`print`], for lists: in a terminal, long lines continue below their first word.
pub(crate) fn print_list(text: &str) -> anyhow::Result<()> {
    let term = Term::stdout();
    match term.is_term() {
        true => print(
            &text.lines().map(|line| wrapped_line(line, usize::from(term.size().1))).collect::<String>(),
        ),
        false => print(text),
    }
}

/// Breaks lines at words so that none is wider than `width`, except by a single word. Lines that begin with a space are rows of a
/// table, and stay as they are.
fn wrapped(text: &str, width: usize) -> String {
    let wrapped = |line: &str| match line.starts_with(' ') {
        true => format!("{line}\n"),
        false => wrapped_line(line, width),
    };
    text.lines().map(wrapped).collect()
}

/// A line and its continuations, which keep its indentation.
fn wrapped_line(line: &str, width: usize) -> String {
    let mut out = String::with_capacity(line.len() + 20);
    let words = line.trim_start_matches(' ');
    let indentation = " ".repeat(line.len() - words.len());
    let mut column = 0;
    for word in words.split(' ') {
        let word_width = measure_text_width(word);
        if column > 0 && column + 1 + word_width > width {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out.push_str(&indentation);
            column = indentation.len();
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word_width;
    }
    out.push('\n');
    out
}

/// Prints `line` to standard error. Unlike `eprintln!` it does not panic if standard error is closed (`locus bench 2>&1 | head`),
/// which must not end a run of hours.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_wrap_at_words_and_rows_of_tables_do_not() {
        let text = "wheel\n  policy  mean  ± sd  se  n\n\nOne two three four.\na-word-that-is-too-long to fit\nä ö ü ß ä ö\n";
        let expected = "wheel\n  policy  mean  ± sd  se  n\n\nOne two\nthree four.\na-word-that-is-too-long\nto fit\nä ö ü ß ä ö\n";
        assert_eq!(wrapped(text, 11), expected);
        assert_eq!(wrapped(text, 100), text);
        assert_eq!(wrapped("", 10), "");
        assert_eq!(wrapped("a b", 0), "a\nb\n");
    }
}
