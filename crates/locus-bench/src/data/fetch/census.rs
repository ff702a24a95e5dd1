//! The part of the census: its header and first 10 000 rows, with LF line endings.
//!
//! It is not published, so it is cut from the full file. The rows are in random order, so the first ones are a fair sample.

use std::io::{self, BufRead, BufReader, Read, Write};

/// The file as it is published.
pub(super) const WHOLE: &str = "USCensus1990.data.txt";
/// What is cut from it.
pub(super) const PART: &str = "USCensus1990.first10000.data.txt";
/// The header and 10 000 rows.
const N_LINES: usize = 10_001;
/// Some lines of the file have 150 bytes; a file of one endless line is none of the census.
const MAX_LINE_BYTES: u64 = 1 << 16;

/// Copies the first lines; fails if there are fewer.
pub(super) fn cut(whole: impl Read, part: &mut impl Write) -> io::Result<()> {
    let mut whole = BufReader::new(whole);
    let mut line = Vec::new();
    for n_before in 0..N_LINES {
        line.clear();
        whole.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        let content = line.strip_suffix(b"\n").unwrap_or(&line);
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if content.is_empty() || line.len() as u64 == MAX_LINE_BYTES {
            let problem = match content.is_empty() {
                true => format!("{WHOLE} has only {n_before} lines, expected at least {N_LINES}"),
                false => format!("line {} of {WHOLE} has {MAX_LINE_BYTES} bytes or more", n_before + 1),
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        part.write_all(content)?;
        part.write_all(b"\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_are_copied_with_lf() {
        for end in ["\n", "\r\n"] {
            let lines = |n| (0..n).map(|row| format!("{row},1{end}")).collect::<String>();
            let mut part = Vec::new();
            cut(lines(10_050).as_bytes(), &mut part).unwrap();
            let part = String::from_utf8(part).unwrap();
            assert!(part.starts_with("0,1\n1,1\n") && part.ends_with("\n10000,1\n") && !part.contains('\r'));
            assert_eq!(part.lines().count(), 10_001);
            let error = cut(lines(10_000).as_bytes(), &mut Vec::new()).unwrap_err();
            assert!(error.to_string().contains("only 10000 lines, expected at least 10001"), "{error}");
        }
        assert!(
            cut(io::repeat(b'1'), &mut io::sink()).unwrap_err().to_string().contains("65536 bytes or more")
        );
    }
}
