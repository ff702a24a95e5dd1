//! A few lines at the bottom of a terminal that are drawn again and again, with room above them for what is to stay.
//!
//! Only lines that changed are written, over what was there, and all in one write: nothing flickers. The cursor stays
//! visible and rests below the lines, and nothing about the terminal is changed, so even a process that is killed leaves it
//! usable.

use std::io::{self, Write};

use console::{Term, is_dumb, measure_text_width};

/// Columns and lines of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Size {
    /// Of the terminal that `term` writes to.
    pub(crate) fn of(term: &Term) -> Self {
        let (height, width) = term.size();
        Self { width: usize::from(width), height: usize::from(height) }
    }
}

/// The lower end of the terminal that standard error goes to.
pub(crate) struct Screen {
    term: Term,
    shown: Vec<String>,
}

impl Screen {
    /// `None` where standard error is no terminal, or one that cannot redraw a line.
    pub(crate) fn new() -> Option<Self> {
        let term = Term::stderr();
        // Windows interprets escape sequences once it was asked for colors.
        let _ = term.features().colors_supported();
        (term.is_term() && !is_dumb()).then(|| Self { term, shown: Vec::new() })
    }

    /// How large the terminal is now.
    pub(crate) fn size(&self) -> Size {
        Size::of(&self.term)
    }

    /// Draws `lines` in the place of those that are shown, and before them `above`, which stays. If nobody can see it, that
    /// must not end a run.
    pub(crate) fn show(&mut self, above: &[String], lines: Vec<String>) {
        let text = redrawn(&self.shown, above, &lines, self.size().width);
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
        self.shown = lines;
    }

    /// Takes the lines away.
    pub(crate) fn clear(&mut self) {
        if !self.shown.is_empty() {
            self.show(&[], Vec::new());
        }
    }
}

/// What to write so that `lines` take the place of `shown`, below `above`; the cursor is below the lines before and after.
fn redrawn(shown: &[String], above: &[String], lines: &[String], width: usize) -> String {
    // Where the terminal became narrower, it has broken long lines.
    let rows = |line: &String| measure_text_width(line).div_ceil(width.max(1)).max(1);
    let n_rows: usize = shown.iter().map(rows).sum();
    let mut text = String::from("\r");
    if n_rows > 0 {
        text.push_str(&format!("\x1b[{n_rows}A"));
    }
    let is_anew = n_rows != shown.len() || !above.is_empty();
    if is_anew {
        text.push_str("\x1b[J");
    }
    text.extend(above.iter().map(|line| format!("{line}\n")));
    for (place, line) in lines.iter().enumerate() {
        if is_anew || shown.get(place) != Some(line) {
            text.push_str(&format!("{line}\x1b[K"));
        }
        text.push('\n');
    }
    // Also what the user typed meanwhile.
    text.push_str("\x1b[J");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn only_what_changed_is_written() {
        let (before, after) = (lines(&["one", "two", "three"]), lines(&["one", "2", "three"]));
        assert_eq!(redrawn(&[], &[], &before, 80), "\rone\x1b[K\ntwo\x1b[K\nthree\x1b[K\n\x1b[J");
        assert_eq!(redrawn(&before, &[], &after, 80), "\r\x1b[3A\n2\x1b[K\n\n\x1b[J");
        assert_eq!(redrawn(&before, &[], &before[..1], 80), "\r\x1b[3A\n\x1b[J");
        assert_eq!(redrawn(&before, &[], &[], 80), "\r\x1b[3A\x1b[J");
        assert_eq!(redrawn(&[], &[], &[], 80), "\r\x1b[J");
    }

    #[test]
    fn what_stays_is_written_above() {
        let shown = lines(&["one", "two"]);
        let expected = "\r\x1b[2A\x1b[Jfailed\none\x1b[K\ntwo\x1b[K\n\x1b[J";
        assert_eq!(redrawn(&shown, &lines(&["failed"]), &shown, 80), expected);
    }

    /// Two lines of 8 columns take four rows of a terminal of 5 columns; colors take none.
    #[test]
    fn a_terminal_that_became_narrower_has_broken_lines() {
        let shown = lines(&["12345678", "\x1b[1m87654321\x1b[0m", ""]);
        assert!(redrawn(&shown, &[], &[], 5).starts_with("\r\x1b[5A"));
        assert!(redrawn(&shown, &[], &shown, 8).starts_with("\r\x1b[3A\n\n\n"));
        assert!(redrawn(&shown, &[], &[], 0).starts_with("\r\x1b["));
    }
}
