//! Statistics of a column, from which its kind is decided before the rows are read.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::reader::{is_missing, shorten};

/// Distinct values of numbers with fractions are counted up to here: such a column is a measurement.
const MAX_COUNTED_FRACTIONS: usize = 1000;

/// Statistics of a column over all rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    /// Cells that are not missing.
    pub(crate) n_cells: usize,
    /// Cells that are missing.
    pub(crate) n_missing: usize,
    /// Distinct cells that are not missing; for numbers with fractions, at most about 1000 are counted.
    pub(crate) n_distinct: usize,
    /// Every cell that is not missing is a number.
    pub(crate) is_number: bool,
    /// Every cell that is not missing consists of digits.
    pub(crate) is_digits: bool,
    /// Every cell that is not missing is a date, a time of day, or both.
    pub(crate) is_date: bool,
    /// The first number with a fraction, such as `2.5` (`2.0` has none).
    pub(crate) fraction: Option<String>,
}

/// A profile under way.
pub(super) struct ProfileBuilder {
    profile: Profile,
    /// Hashes: the texts of a column of identifiers would take as much memory as the file.
    distinct: HashSet<u64>,
}

impl ProfileBuilder {
    pub(super) fn new() -> Self {
        let profile = Profile {
            n_cells: 0,
            n_missing: 0,
            n_distinct: 0,
            is_number: true,
            is_digits: true,
            is_date: true,
            fraction: None,
        };
        Self { profile, distinct: HashSet::new() }
    }

    /// Adds the cell of the next row, without blanks around it.
    pub(super) fn push(&mut self, cell: &[u8]) {
        let profile = &mut self.profile;
        if is_missing(cell) {
            profile.n_missing += 1;
            return;
        }
        profile.n_cells += 1;
        if profile.is_digits && !cell.iter().all(u8::is_ascii_digit) {
            profile.is_digits = false;
        }
        if profile.is_number && !profile.is_digits {
            match number(cell) {
                Some(number) if profile.fraction.is_none() && number.fract() != 0.0 && number.is_finite() => {
                    profile.fraction = Some(shorten(cell));
                }
                Some(_) => {}
                None => profile.is_number = false,
            }
        }
        profile.is_date = profile.is_date && is_date(cell);
        if profile.fraction.is_none() || !profile.is_number || self.distinct.len() < MAX_COUNTED_FRACTIONS {
            let mut hasher = DefaultHasher::new();
            cell.hash(&mut hasher);
            self.distinct.insert(hasher.finish());
        }
    }

    pub(super) fn finish(self) -> Profile {
        Profile { n_distinct: self.distinct.len(), ..self.profile }
    }
}

/// A number or an infinity. An infinity is refused later, when the column is read.
fn number(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(cell).ok()?.parse().ok()
}

/// Whether a cell is a date (`2024-01-31`, `31.1.2024`, `1/31/2024`, `2024-01`), a time of day (`12:30`, `12:30:05.2`), or both, with or
/// without a time zone. Month names are not recognized.
fn is_date(cell: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(cell) else { return false };
    match text.split_once(['T', ' ']) {
        Some((date, time)) => is_day(date) && is_time(time.trim_start()),
        None => is_day(text) || is_time(text),
    }
}

fn is_day(text: &str) -> bool {
    let Some(separator) = text.chars().find(|letter| !letter.is_ascii_digit()) else { return false };
    if !['-', '/', '.'].contains(&separator) {
        return false;
    }
    let parts: Vec<&str> = text.split(separator).collect();
    let is_year = |part: &str| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    // Day and month in either order.
    let is_part = |part: &str| {
        (1..=2).contains(&part.len()) && part.parse::<u8>().is_ok_and(|number| (1..=31).contains(&number))
    };
    match parts[..] {
        // `2024.01` is a number.
        [year, month] => separator != '.' && is_year(year) && is_part(month),
        [first, second, third] => {
            is_part(second) && (is_year(first) && is_part(third) || is_part(first) && is_year(third))
        }
        _ => false,
    }
}

fn is_time(text: &str) -> bool {
    let clock = text.find(['Z', '+', '-', ' ']).map_or(text, |end| &text[..end]);
    let mut parts = clock.split(':');
    let is_number = |part: &str, digits: usize, below: u8| {
        part.len() <= digits && part.parse::<u8>().is_ok_and(|number| number < below)
    };
    let (Some(hour), Some(minute)) = (parts.next(), parts.next()) else { return false };
    let second = parts.next().unwrap_or("0");
    let (whole, fraction) = second.split_once('.').unwrap_or((second, ""));
    is_number(hour, 2, 24)
        && is_number(minute, 2, 60)
        && is_number(whole, 2, 61)
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(cells: impl IntoIterator<Item = impl AsRef<str>>) -> Profile {
        let mut builder = ProfileBuilder::new();
        cells.into_iter().for_each(|cell| builder.push(cell.as_ref().as_bytes()));
        builder.finish()
    }

    #[test]
    fn cells_are_counted_and_told_apart() {
        let numbers = profile(["1", "2", "?", "2", "10"]);
        assert_eq!((numbers.n_cells, numbers.n_missing, numbers.n_distinct), (4, 1, 3));
        assert!(numbers.is_number && numbers.is_digits && !numbers.is_date && numbers.fraction.is_none());
        // `2.0` is not written as digits alone.
        let measured = profile(["1", "2.0", "-3e2"]);
        assert!(measured.is_number && !measured.is_digits && measured.fraction.is_none());
        assert_eq!(profile(["1", "2.5", "3.5"]).fraction.as_deref(), Some("2.5"));
        assert!(!profile(["-1"]).is_digits);
        let words = profile(["1.5", "x", "1.5", "", "NA"]);
        assert!(!words.is_number && !words.is_digits);
        assert_eq!((words.n_cells, words.n_missing, words.n_distinct), (3, 2, 2));
        let nothing = profile(["", "?"]);
        assert!((nothing.n_cells, nothing.is_number) == (0, true));
        // An infinity is refused later.
        assert!(profile(["inf"]).is_number && profile(["inf"]).fraction.is_none());
    }

    #[test]
    fn different_fractions_are_not_counted_without_end() {
        assert_eq!(profile((0..5000).map(|i| i.to_string())).n_distinct, 5000);
        assert_eq!(profile((0..5000).map(|i| format!("{i}.5"))).n_distinct, MAX_COUNTED_FRACTIONS);
        assert_eq!(profile((0..5000).map(|i| format!("w{i}"))).n_distinct, 5000);
    }

    #[test]
    fn dates_and_times_are_recognized() {
        for cell in [
            "2024-01-31",
            "2024/1/31",
            "31.1.2024",
            "1/31/2024",
            "31-01-2024",
            "2024-01",
            "2024-01-31T12:30:05Z",
            "2024-01-31 12:30:05.250+01:00",
            "1/31/2024 9:05",
            "12:30",
            "23:59:60",
        ] {
            assert!(profile([cell]).is_date, "{cell}");
        }
        for cell in [
            "20240131",
            "2024.01",
            "2024",
            "1.5",
            "31-1-24",
            "2024-13-32",
            "2024-01-31x",
            "10-20",
            "192.168.1.1",
            "24:00",
            "12:30:05:01",
            "red",
            "-",
            "a:b",
            "2024-01-31 noon",
        ] {
            assert!(!profile([cell]).is_date, "{cell}");
        }
        assert!(!profile(["2024-01-31", "soon"]).is_date);
    }
}
