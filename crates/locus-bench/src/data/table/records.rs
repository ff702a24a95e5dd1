//! Text into records: one row of cells at a time, with the line where it begins.

use std::io::{self, BufRead, BufReader, Read};

use csv::ByteRecord;

use super::Separator;
use crate::Error;
use crate::data::file::BUFFER_BYTES;
use crate::error::ErrorKind;

/// Reads records until the text ends.
///
/// Blank lines are passed over. Every cell of a record is valid UTF-8.
pub(super) struct Records<R> {
    splitter: Splitter<R>,
    file: String,
}

enum Splitter<R> {
    Csv(Box<csv::Reader<Lines<R>>>),
    Whitespace { input: BufReader<Lines<R>>, line: Vec<u8>, line_number: u64 },
}

impl<R: Read> Records<R> {
    pub(super) fn new(input: R, file: &str, separator: Separator) -> Self {
        let lines = Lines::new(input);
        let splitter = match separator {
            // Only `\n` ends a record: a `\r` before it is trimmed off with the other blanks, and the line
            // numbers of the reader stay right, which they do not where it looks for `\r\n`.
            Separator::Comma | Separator::Byte(_) => Splitter::Csv(Box::new(
                csv::ReaderBuilder::new()
                    .delimiter(if let Separator::Byte(byte) = separator { byte } else { b',' })
                    .has_headers(false)
                    .flexible(true)
                    .terminator(csv::Terminator::Any(b'\n'))
                    .buffer_capacity(BUFFER_BYTES)
                    .from_reader(lines),
            )),
            Separator::Whitespace => Splitter::Whitespace {
                input: BufReader::with_capacity(BUFFER_BYTES, lines),
                line: Vec::new(),
                line_number: 0,
            },
        };
        Self { splitter, file: file.to_owned() }
    }

    /// Path of the file, for messages.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Reads the next record that is not blank and says on which line it begins; `None` at the end.
    pub(super) fn next(&mut self, record: &mut ByteRecord) -> Result<Option<u64>, Error> {
        loop {
            let Some(line) = self.split_next(record)? else { return Ok(None) };
            let is_blank = record.len() <= 1 && record.as_slice().trim_ascii().is_empty();
            if is_blank {
                continue;
            }
            if !record.as_slice().is_ascii()
                && let Some(index) = record.iter().position(|cell| std::str::from_utf8(cell).is_err())
            {
                return Err(ErrorKind::InvalidCell {
                    file: self.file.clone(),
                    line,
                    column: format!("column {}", index + 1),
                    problem: "found bytes that are not UTF-8; save the file as UTF-8 text".to_owned(),
                }
                .into());
            }
            return Ok(Some(line));
        }
    }

    fn split_next(&mut self, record: &mut ByteRecord) -> Result<Option<u64>, Error> {
        match &mut self.splitter {
            Splitter::Csv(reader) => {
                let is_record = reader.read_byte_record(record).map_err(|error| {
                    let cause = match error.into_kind() {
                        csv::ErrorKind::Io(cause) => cause,
                        kind => io::Error::other(format!("{kind:?}")),
                    };
                    ErrorKind::UnreadableFile { file: self.file.clone(), cause }
                })?;
                if !is_record {
                    return Ok(None);
                }
                let n_inner = record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
                let next_line = reader.position().line();
                // The text ends with `\n`, so a whole record never needs to see the end of it.
                if reader.get_ref().has_ended {
                    return Err(ErrorKind::InvalidRow {
                        file: self.file.clone(),
                        line: next_line - n_inner,
                        problem: "a quote is opened in this row and never closed".to_owned(),
                    }
                    .into());
                }
                Ok(Some(next_line - 1 - n_inner))
            }
            Splitter::Whitespace { input, line, line_number } => {
                line.clear();
                let n_read = input
                    .read_until(b'\n', line)
                    .map_err(|cause| ErrorKind::UnreadableFile { file: self.file.clone(), cause })?;
                if n_read == 0 {
                    return Ok(None);
                }
                *line_number += 1;
                record.clear();
                let cells = line.split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty());
                cells.for_each(|cell| record.push_field(cell));
                Ok(Some(*line_number))
            }
        }
    }
}

/// The text with a `\n` after its last line, whether or not it had one, and no line beyond all reason.
struct Lines<R> {
    input: R,
    bytes_since_newline: usize,
    has_ended: bool,
}

/// A million cells of 16 characters: longer is not a table.
const MAX_LINE_BYTES: usize = 1 << 24;

impl<R> Lines<R> {
    fn new(input: R) -> Self {
        Self { input, bytes_since_newline: 0, has_ended: false }
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.has_ended {
            return Ok(0);
        }
        let n_read = self.input.read(buffer)?;
        if n_read == 0 {
            if self.bytes_since_newline > 0 {
                self.bytes_since_newline = 0;
                buffer[0] = b'\n';
                return Ok(1);
            }
            self.has_ended = true;
            return Ok(0);
        }
        match buffer[..n_read].iter().rposition(|&byte| byte == b'\n') {
            Some(newline) => self.bytes_since_newline = n_read - 1 - newline,
            None => self.bytes_since_newline += n_read,
        }
        if self.bytes_since_newline > MAX_LINE_BYTES {
            let problem = format!("a line is longer than {MAX_LINE_BYTES} bytes; is this a text file?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &[u8], separator: Separator) -> Result<Vec<(u64, Vec<String>)>, Error> {
        let mut records = Records::new(text, "t", separator);
        let mut record = ByteRecord::new();
        let mut all = Vec::new();
        while let Some(line) = records.next(&mut record)? {
            let cells = record.iter().map(|cell| String::from_utf8(cell.trim_ascii().to_vec()).unwrap());
            all.push((line, cells.collect()));
        }
        Ok(all)
    }

    fn lines(text: &str, separator: Separator) -> Vec<u64> {
        records(text.as_bytes(), separator).unwrap().into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn lines_are_counted_over_blanks_quotes_and_carriage_returns() {
        for end in ["\n", "\r\n"] {
            let text = ["a,b", "", "c,\"d", "d\"", "  ", "e,f", "", "g,h"].join(end);
            for text in [text.clone(), text + end] {
                assert_eq!(lines(&text, Separator::Comma), [1, 3, 6, 8], "{text:?}");
            }
            let text = ["a b", "", " \t ", "c\t  d  ", "e"].join(end);
            for text in [text.clone(), text + end] {
                assert_eq!(lines(&text, Separator::Whitespace), [1, 4, 5], "{text:?}");
            }
        }
    }

    #[test]
    fn cells_are_split_alike_with_and_without_carriage_returns() {
        let expected =
            vec![(1, vec!["a, 1".to_owned(), "b".to_owned()]), (2, vec!["c".to_owned(), String::new()])];
        for text in ["\"a, 1\", b\n c,\n", "\"a, 1\",b\r\nc,\r\n", "\u{feff}\"a, 1\",\"b\"\r\nc, "] {
            assert_eq!(records(text.as_bytes(), Separator::Comma).unwrap(), expected, "{text:?}");
        }
        let cells = records(b" 1  -2\t3 \r\n", Separator::Whitespace).unwrap();
        assert_eq!(cells, [(1, vec!["1".to_owned(), "-2".to_owned(), "3".to_owned()])]);
    }

    #[test]
    fn an_open_quote_is_found_where_it_begins() {
        for text in ["a,b\n\nc,\"d\ne,f", "a,b\n\nc,\"d\ne,f\n\n"] {
            let message = records(text.as_bytes(), Separator::Comma).unwrap_err().to_string();
            assert!(message.starts_with("t, line 3: a quote"), "{message}");
        }
        assert!(records(b"a,\"b\nc\n\"", Separator::Comma).is_ok());
    }

    #[test]
    fn bytes_that_are_not_text_are_found() {
        let error = records(b"a,b\nc,\xFFd\n", Separator::Comma).unwrap_err();
        assert!(error.is_invalid_data());
        assert!(error.to_string().starts_with("t, line 2, column 2: found bytes"), "{error}");
        // Two halves of one character in two cells are no character.
        assert!(records(b"a\xC3,\xA9b\n", Separator::Comma).is_err());
        assert!(records("é,b\n".as_bytes(), Separator::Comma).is_ok());
    }

    #[test]
    fn an_endless_line_is_refused() {
        for separator in [Separator::Comma, Separator::Whitespace] {
            let mut records = Records::new(io::repeat(b'1').take(1 << 30), "t", separator);
            let error = records.next(&mut ByteRecord::new()).unwrap_err();
            assert!(error.is_invalid_data() && error.to_string().contains("longer"), "{error}");
        }
    }
}
