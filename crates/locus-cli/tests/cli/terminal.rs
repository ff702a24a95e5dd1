//! A terminal as far as the live view needs one: what is on it after the bytes that were written.

/// Lines of text and a cursor. What has scrolled off the screen is kept.
pub(crate) struct Terminal {
    width: usize,
    height: usize,
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Terminal {
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Self { width, height, lines: vec![Vec::new()], row: 0, column: 0 }
    }

    /// All lines, including those that have scrolled off the screen.
    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
    }

    /// The lines on the screen.
    pub(crate) fn screen(&self) -> Vec<String> {
        self.text().lines().skip(self.top()).map(str::to_owned).collect()
    }

    fn top(&self) -> usize {
        self.lines.len().saturating_sub(self.height)
    }

    /// Panics at a control sequence that the live view should not write.
    pub(crate) fn write(&mut self, text: &str) {
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\r' => self.column = 0,
                '\n' => self.feed(),
                '\u{7}' => {}
                '\u{8}' => self.column = self.column.saturating_sub(1),
                '\x1b' => {
                    assert_eq!(letters.next(), Some('['), "an escape that is no control sequence");
                    let mut number = String::new();
                    let kind = letters.by_ref().find(|letter| {
                        let is_last = letter.is_ascii_alphabetic();
                        number.extend((!is_last).then_some(*letter));
                        is_last
                    });
                    self.control(&number, kind.unwrap());
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
    }

    /// A line that is full wraps at the next letter, not before.
    fn put(&mut self, letter: char) {
        if self.column == self.width {
            self.column = 0;
            self.feed();
        }
        let column = self.column;
        let line = &mut self.lines[self.row];
        line.resize(line.len().max(column + 1), ' ');
        line[column] = letter;
        self.column += 1;
    }

    fn control(&mut self, number: &str, kind: char) {
        let count = || number.parse::<usize>().unwrap();
        match (number, kind) {
            (_, 'm') => {}
            ("", 'G') => self.column = 0,
            (_, 'A') => self.row = self.row.saturating_sub(count()).max(self.top()),
            (_, 'B') => self.row = (self.row + count()).min(self.lines.len() - 1),
            ("2", 'K') => self.lines[self.row].clear(),
            _ => panic!("the control sequence {number:?} {kind:?} was not expected"),
        }
    }
}
