//! Options for reading a table, and the columns that they name.

use super::schema::MissingValues;
use crate::Error;
use crate::error::ErrorKind;

/// Options for reading a table. By default the cells of a column decide how it is used; see [`Schema`](super::Schema).
///
/// A column is given by its name in the header, or else by its number from 0. One string may name several columns, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// Columns to ignore.
    pub ignore: Vec<String>,
    /// Columns to read as categories. For the label, this allows fractions and more than 100 values.
    pub categorical: Vec<String>,
    /// Columns to read as numbers, even if they look like identifiers.
    pub numeric: Vec<String>,
    /// How missing values are handled.
    pub missing: MissingValues,
    /// The delimiter between cells; see [`parse_delimiter`].
    pub delimiter: u8,
}

impl Default for CsvOptions {
    fn default() -> Self {
        let (ignore, categorical, numeric, missing) = Default::default();
        Self { ignore, categorical, numeric, missing, delimiter: b',' }
    }
}

/// Parses the delimiter of `--delimiter` and of suites.
///
/// It is `tab`, or one ASCII punctuation character that is neither a quote nor part of a number.
pub fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        &[byte] if byte == b'\t' || byte.is_ascii_punctuation() && !b"\"'+-.".contains(&byte) => Ok(byte),
        _ => Err(format!("the delimiter is `{text}`, expected one character such as `,` or `;`, or `tab`")),
    }
}

/// What an option decides about a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forced {
    Ignore,
    Categorical,
    Numeric,
}

impl Forced {
    fn option(self) -> &'static str {
        match self {
            Self::Ignore => "--ignore",
            Self::Categorical => "--categorical",
            Self::Numeric => "--numeric",
        }
    }
}

/// The header of a file, in which columns are looked up.
pub(super) struct Names<'a> {
    pub(super) names: &'a [String],
    pub(super) file: &'a str,
    pub(super) delimiter: u8,
}

impl Names<'_> {
    /// What the options say about each column, and the place of the label, if one is named.
    pub(super) fn resolve(
        &self,
        label: Option<&str>,
        options: &CsvOptions,
    ) -> Result<(Option<usize>, Vec<Option<Forced>>), Error> {
        let label = label.map(|label| self.find(label, "--label")).transpose()?;
        let mut forced: Vec<Option<Forced>> = vec![None; self.names.len()];
        for (kind, columns) in [
            (Forced::Ignore, &options.ignore),
            (Forced::Categorical, &options.categorical),
            (Forced::Numeric, &options.numeric),
        ] {
            for text in columns {
                for index in self.find_several(text, kind.option())? {
                    match forced[index] {
                        Some(earlier) if earlier != kind => {
                            return Err(self.invalid(format!(
                                "{} and {} both name the column `{}`; leave it to one of them",
                                earlier.option(),
                                kind.option(),
                                self.names[index]
                            )));
                        }
                        _ if Some(index) == label && kind != Forced::Categorical => {
                            return Err(self.invalid(format!(
                                "{} names `{}`, which is the label; name another column with --label, or remove it from {}",
                                kind.option(),
                                self.names[index],
                                kind.option()
                            )));
                        }
                        _ => forced[index] = Some(kind),
                    }
                }
            }
        }
        Ok((label, forced))
    }

    /// A column that is called so, or else all that are named between commas.
    fn find_several(&self, text: &str, option: &str) -> Result<Vec<usize>, Error> {
        match text.contains(',') && !self.names.iter().any(|name| *name == text.trim()) {
            true => text.split(',').map(|name| self.find(name, option)).collect(),
            false => Ok(vec![self.find(text, option)?]),
        }
    }

    /// A name wins over a number.
    fn find(&self, column: &str, option: &str) -> Result<usize, Error> {
        let Self { names, file, delimiter } = *self;
        let column = column.trim();
        let mut matches =
            names.iter().enumerate().filter(|(_, name)| *name == column).map(|(index, _)| index);
        let problem = match (matches.next(), matches.next()) {
            (Some(index), None) => return Ok(index),
            (Some(first), Some(second)) => {
                format!("columns {first} and {second} (from 0) are both called `{column}`")
            }
            _ => match column.parse::<usize>() {
                Ok(index) if index < names.len() => return Ok(index),
                Ok(index) => format!("there is no column {index} among the {}, counted from 0", names.len()),
                Err(_) => {
                    let nearest = nearest(names, column).map(|name| format!(" (did you mean `{name}`?)"));
                    format!(
                        "no column is called `{column}`, which {option} names{}",
                        nearest.unwrap_or_default()
                    )
                }
            },
        };
        let mut columns = list(names);
        // A header of one cell is one of many that another delimiter separates.
        if let ([name], Some(other)) = (
            names,
            [b';', b'\t', b'|', b',']
                .into_iter()
                .find(|byte| *byte != delimiter && names.iter().any(|name| name.as_bytes().contains(byte))),
        ) && !name.is_empty()
        {
            let other = if other == b'\t' { "tab".to_owned() } else { format!("'{}'", char::from(other)) };
            columns.push_str(&format!(" (if that is more than one column, try --delimiter {other})"));
        }
        Err(ErrorKind::UnknownColumn { file: file.to_owned(), problem, columns }.into())
    }

    fn invalid(&self, problem: String) -> Error {
        ErrorKind::InvalidFile { file: self.file.to_owned(), problem }.into()
    }
}

/// A name as a word of a command.
pub(super) fn quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

/// The first 20 names, and how many more there are.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        n_more => format!("{shown} and {n_more} more"),
    }
}

/// The name nearest to `word` by edit distance, unless more than a third of the letters differ.
fn nearest<'a>(names: &'a [String], word: &str) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().take(100).collect();
    let distance =
        |name: &str| edit_distance(&word, &name.to_lowercase().chars().take(100).collect::<Vec<_>>());
    let (distance, name) =
        names.iter().map(|name| (distance(name), name)).min_by_key(|(distance, _)| *distance)?;
    (3 * distance <= word.len().max(name.chars().count())).then_some(name)
}

/// Levenshtein distance.
fn edit_distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(
        names: &[&str],
        label: Option<&str>,
        options: &CsvOptions,
    ) -> Result<(Option<usize>, Vec<Option<Forced>>), String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let names = Names { names: &names, file: "t.csv", delimiter: options.delimiter };
        names.resolve(label, options).map_err(|error| error.to_string())
    }

    fn ignoring(columns: &[&str]) -> CsvOptions {
        CsvOptions {
            ignore: columns.iter().map(|name| (*name).to_owned()).collect(),
            ..CsvOptions::default()
        }
    }

    #[test]
    fn columns_are_named_one_by_one_between_commas_or_by_number() {
        let names = ["id", "color, as seen", "size", "kind"];
        let ignored = |columns: &[&str]| {
            let (_, forced) = resolve(&names, Some("kind"), &ignoring(columns)).unwrap();
            forced.iter().map(Option::is_some).collect::<Vec<_>>()
        };
        assert_eq!(ignored(&[]), [false; 4]);
        assert_eq!(ignored(&["id,size"]), [true, false, true, false]);
        assert_eq!(ignored(&["id", " size "]), [true, false, true, false]);
        assert_eq!(ignored(&["color, as seen"]), [false, true, false, false]);
        assert_eq!(ignored(&["0,1"]), [true, true, false, false]);
    }

    #[test]
    fn names_that_no_column_has_are_refused_with_the_nearest() {
        let names = ["customer_id", "outcome", "size"];
        for (label, expected) in [
            (
                "outcom",
                "t.csv: no column is called `outcom`, which --label names (did you mean `outcome`?); its columns are customer_id, outcome, size",
            ),
            ("Outcome", "did you mean `outcome`?"),
            ("7", "there is no column 7 among the 3, counted from 0"),
        ] {
            let message = resolve(&names, Some(label), &CsvOptions::default()).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        let message = resolve(&names, Some("price"), &CsvOptions::default()).unwrap_err();
        assert!(!message.contains("did you mean"), "{message}");
        let message = resolve(&names, Some("size"), &ignoring(&["outcome,custmer_id"])).unwrap_err();
        assert!(
            message.contains("`custmer_id`, which --ignore names (did you mean `customer_id`?)"),
            "{message}"
        );
    }

    #[test]
    fn a_header_of_one_cell_suggests_another_delimiter() {
        for (header, expected) in [("a;b;kind", "try --delimiter ';')"), ("a\tkind", "try --delimiter tab)")]
        {
            let message = resolve(&[header], Some("kind"), &CsvOptions::default()).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        let semicolons = CsvOptions { delimiter: b';', ..CsvOptions::default() };
        let message = resolve(&["a,kind"], Some("kind"), &semicolons).unwrap_err();
        assert!(message.contains("try --delimiter ',')"), "{message}");
        assert!(!resolve(&["a"], Some("kind"), &semicolons).unwrap_err().contains("--delimiter"));
        assert!(
            !resolve(&["a;b", "c"], Some("kind"), &CsvOptions::default())
                .unwrap_err()
                .contains("--delimiter")
        );
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let numeric = vec!["a".to_owned()];
        let both = CsvOptions { numeric: numeric.clone(), ..ignoring(&["a"]) };
        let message = resolve(&["a", "b"], Some("b"), &both).unwrap_err();
        assert!(message.contains("--ignore and --numeric both name the column `a`"), "{message}");
        assert!(resolve(&["a", "b"], Some("b"), &ignoring(&["a", "a"])).is_ok());
        let message = resolve(&["a", "b"], Some("a"), &ignoring(&["a"])).unwrap_err();
        assert!(message.contains("--ignore names `a`, which is the label"), "{message}");
        let label = CsvOptions { numeric, ..CsvOptions::default() };
        let message = resolve(&["a", "b"], Some("a"), &label).unwrap_err();
        assert!(message.contains("--numeric names `a`, which is the label"), "{message}");
        let label = CsvOptions { categorical: vec!["a".to_owned()], ..CsvOptions::default() };
        assert!(resolve(&["a", "b"], Some("a"), &label).is_ok());
    }

    #[test]
    fn delimiters_are_one_character_or_tab() {
        for (text, byte) in
            [(",", b','), (";", b';'), ("|", b'|'), ("tab", b'\t'), ("\\t", b'\t'), ("\t", b'\t')]
        {
            assert_eq!(parse_delimiter(text), Ok(byte));
        }
        for text in ["", ",,", "\"", "a", "1", ".", "-", " ", "\n", "é"] {
            assert!(parse_delimiter(text).unwrap_err().contains("expected one character"), "{text}");
        }
    }

    #[test]
    fn edits_are_counted() {
        let distance =
            |a: &str, b: &str| edit_distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        for (a, b, expected) in
            [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
