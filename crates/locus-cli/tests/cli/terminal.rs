//! A terminal as far as the live view needs one: what is on it after the bytes that were written.

/// Lines of text and a cursor. What has scrolled away above is kept.
pub(crate) struct Terminal {
    width: usize,
    height: usize,
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// The first line that can be seen.
    top: usize,
    n_broken: usize,
    /// Lines that were too long for the terminal, up to the last frame.
    pub(crate) n_broken_in_frames: usize,
    /// What the visible part looked like each time that a frame was complete.
    pub(crate) frames: Vec<String>,
}

impl Terminal {
    pub(crate) fn new(width: usize, height: usize) -> Self {
        let (lines, frames) = (vec![Vec::new()], Vec::new());
        let (row, column, top, n_broken, n_broken_in_frames) = (0, 0, 0, 0, 0);
        Self { width, height, lines, row, column, top, n_broken, n_broken_in_frames, frames }
    }

    /// All lines, also those that have scrolled away.
    pub(crate) fn text(&self) -> String {
        text(&self.lines)
    }

    /// Panics at a control sequence that the view has no business with.
    pub(crate) fn write(&mut self, bytes: &str) {
        let mut letters = bytes.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\r' => self.column = 0,
                '\n' => self.feed(),
                '\u{7}' | '\u{8}' => self.column = self.column.saturating_sub(usize::from(letter == '\u{8}')),
                '\x1b' => {
                    assert_eq!(letters.next(), Some('['), "an escape that is no control sequence");
                    let sequence: String =
                        letters.by_ref().take_while_inclusive(|letter| !letter.is_ascii_alphabetic());
                    self.control(&sequence);
                }
                _ => self.put(letter),
            }
        }
    }

    fn feed(&mut self) {
        self.row += 1;
        if self.row == self.lines.len() {
            self.lines.push(Vec::new());
        }
        self.top = self.top.max((self.row + 1).saturating_sub(self.height));
    }

    fn put(&mut self, letter: char) {
        if self.column == self.width {
            self.n_broken += 1;
            self.column = 0;
            self.feed();
        }
        let (row, column) = (self.row, self.column);
        let line = &mut self.lines[row];
        line.resize(line.len().max(column + 1), ' ');
        line[column] = letter;
        self.column += 1;
    }

    fn control(&mut self, sequence: &str) {
        let (number, kind) = sequence.split_at(sequence.len() - 1);
        match (number, kind) {
            (_, "m") => {}
            (number, "A") => {
                self.row = self.row.saturating_sub(number.parse().unwrap()).max(self.top);
            }
            ("", "K") => {
                let column = self.column;
                self.lines[self.row].truncate(column);
            }
            ("", "J") => {
                let column = self.column;
                self.lines[self.row].truncate(column);
                self.lines.truncate(self.row + 1);
                self.n_broken_in_frames = self.n_broken;
                self.frames.push(text(&self.lines[self.top..]));
            }
            _ => panic!("the control sequence {sequence:?} was not expected"),
        }
    }
}

fn text(lines: &[Vec<char>]) -> String {
    lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
}

trait TakeWhileInclusive: Iterator<Item = char> {
    /// The letters up to and with the first that does not pass.
    fn take_while_inclusive(&mut self, passes: impl Fn(&char) -> bool) -> String {
        let mut taken = String::new();
        for letter in self {
            taken.push(letter);
            if !passes(&letter) {
                break;
            }
        }
        taken
    }
}

impl<I: Iterator<Item = char>> TakeWhileInclusive for I {}
