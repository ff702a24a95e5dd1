//! Derives Jester's file of 40 jokes from the public raw ratings.
//!
//! The benchmark's own file is known only by its name: 40 jokes and 19 181 users. Those are the users of Jester's first
//! dataset who rated all of the 40 jokes that were rated most. Users are kept in the order of the source and jokes in
//! that of their numbers; the benchmark's file has another order, which no trial depends on, as each shuffles both.

use std::path::Path;

use super::beside::{Spoiled, write_beside};
use super::inspect::inspect_path;
use super::npy::write_npy_rows;
use super::{DataFile, FileState, catalog};
use crate::Error;
use crate::error::ErrorKind;

/// The file that is made.
pub const FILE: &str = "jester_data_40jokes_19181users.npy";

/// Columns of the raw file: how many jokes a user rated, then a rating of each joke.
const N_COLUMNS: usize = 101;
const N_JOKES: usize = N_COLUMNS - 1;
/// What stands for a joke that was not rated.
const NOT_RATED: f64 = 99.0;
const N_KEPT_JOKES: usize = 40;
const N_KEPT_USERS: usize = 19_181;

/// The ratings of every user of every joke, with [`NOT_RATED`] where there is none.
struct Ratings {
    /// [users, jokes]
    values: Vec<f64>,
}

/// Creates [`FILE`] in `folder` from Jester's first dataset.
///
/// `raw` is `jester-data-1`, saved as CSV, plain, `.gz` or `.zst`.
///
/// Does not overwrite: an existing file must be deleted first.
pub fn derive(raw: &Path, folder: &Path) -> Result<FileState, Error> {
    match DataFile::find(folder, FILE) {
        Ok(found) => return Err(ErrorKind::AlreadyThere { path: found.path().to_owned() }.into()),
        Err(error) if matches!(error.kind(), ErrorKind::FileNotFound { .. }) => {}
        Err(error) => return Err(error),
    }
    let raw = DataFile::open(raw)?;
    let label = raw.label();
    let ratings = Ratings::read(raw)?;
    let invalid = |problem| Error::from(ErrorKind::InvalidFile { file: label.clone(), problem });
    let jokes = ratings.most_rated(N_KEPT_JOKES).map_err(invalid)?;
    let kept = ratings.of_users_who_rated_all(&jokes);
    let n_users = kept.len() / N_KEPT_JOKES;
    if n_users != N_KEPT_USERS {
        return Err(invalid(format!(
            "{n_users} of {} users rated all of the {N_KEPT_JOKES} most-rated jokes, expected {N_KEPT_USERS} of 24983; is it jester-data-1?",
            ratings.values.len() / N_JOKES
        )));
    }
    let target = folder.join(FILE);
    let written = write_beside(&target, u64::MAX, |output| write_npy_rows(output, N_KEPT_JOKES, &kept));
    let beside = written.map_err(|spoiled| match spoiled {
        Spoiled::Input(problem) => invalid(problem),
        Spoiled::Here(error) => error,
    })?;
    beside.put_in_place(&target)?;
    match catalog::find(FILE) {
        Some(file) => inspect_path(&target, file),
        None => Err(ErrorKind::FileNotFound { file: FILE.to_owned(), folder: folder.to_owned() }.into()),
    }
}

impl Ratings {
    fn read(mut input: DataFile) -> Result<Self, Error> {
        let file = input.label();
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(&mut input);
        let mut values = Vec::new();
        let mut record = csv::StringRecord::new();
        loop {
            match reader.read_record(&mut record) {
                Ok(true) => {}
                Ok(false) => return Ok(Self { values }),
                Err(error) => {
                    let problem = format!("cannot be read as CSV: {error}");
                    return Err(match error.into_kind() {
                        csv::ErrorKind::Io(cause) => Error::from(ErrorKind::UnreadableFile { file, cause }),
                        _ => Error::from(ErrorKind::InvalidFile { file, problem }),
                    });
                }
            }
            let line = record.position().map_or(0, csv::Position::line);
            let invalid = |problem| Error::from(ErrorKind::InvalidRow { file: file.clone(), line, problem });
            if record.len() != N_COLUMNS {
                return Err(invalid(format!("found {} columns, expected {N_COLUMNS}", record.len())));
            }
            let n_before = values.len();
            for (column, cell) in record.iter().enumerate().skip(1) {
                match cell.parse() {
                    Ok(rating) if (-10.0..=10.0).contains(&rating) || rating == NOT_RATED => {
                        values.push(rating)
                    }
                    _ => {
                        return Err(invalid(format!(
                            "the rating of joke {column} is `{cell}`, expected a number from -10 to 10, or 99 for none"
                        )));
                    }
                }
            }
            let n_rated = values[n_before..].iter().filter(|&&rating| rating != NOT_RATED).count();
            if record.get(0).and_then(|cell| cell.parse().ok()) != Some(n_rated) {
                let found = record.get(0).unwrap_or_default();
                return Err(invalid(format!(
                    "it says that {found} jokes were rated, but there are {n_rated} ratings"
                )));
            }
        }
    }

    /// The indices, in ascending order, of the jokes with the most ratings.
    fn most_rated(&self, n_kept: usize) -> Result<Vec<usize>, String> {
        let mut counts = [0_usize; N_JOKES];
        for user in self.values.chunks_exact(N_JOKES) {
            for (count, &rating) in counts.iter_mut().zip(user) {
                *count += usize::from(rating != NOT_RATED);
            }
        }
        let mut jokes: Vec<usize> = (0..N_JOKES).collect();
        jokes.sort_by_key(|&joke| std::cmp::Reverse(counts[joke]));
        let (last, next) = (counts[jokes[n_kept - 1]], counts[jokes[n_kept]]);
        if last == next {
            return Err(format!(
                "the jokes ranked {n_kept} and {} by number of ratings have {last} each, so the {n_kept} most-rated jokes are ambiguous",
                n_kept + 1
            ));
        }
        jokes.truncate(n_kept);
        jokes.sort_unstable();
        Ok(jokes)
    }

    /// The ratings of these jokes, [users, jokes], by the users who rated them all.
    fn of_users_who_rated_all(&self, jokes: &[usize]) -> Vec<f64> {
        let users = self.values.chunks_exact(N_JOKES);
        let rated_all = users.filter(|user| jokes.iter().all(|&joke| user[joke] != NOT_RATED));
        rated_all.flat_map(|user| jokes.iter().map(|&joke| user[joke])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user's row, with ratings of the jokes that `rating` has an opinion of.
    fn row(rating: impl Fn(usize) -> Option<f64>) -> String {
        let ratings: Vec<Option<f64>> = (0..N_JOKES).map(rating).collect();
        let n_rated = ratings.iter().flatten().count();
        let cells: Vec<String> =
            ratings.iter().map(|rating| rating.unwrap_or(NOT_RATED).to_string()).collect();
        format!("{n_rated},{}\n", cells.join(","))
    }

    fn derive_from(text: &str) -> Result<FileState, Error> {
        let folder = tempfile::tempdir().unwrap();
        let raw = folder.path().join("raw.csv");
        std::fs::write(&raw, text).unwrap();
        let result = derive(&raw, folder.path());
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 1 + usize::from(result.is_ok()), "nothing but the file stays behind");
        result
    }

    /// So many users who rated the jokes 30 to 69, and a few who did not.
    fn raw(n_users: usize) -> String {
        let rated = |joke: usize| (30..70).contains(&joke).then_some(joke as f64 / 10.0);
        let mut text = row(rated).repeat(n_users - 1);
        text.push_str(&row(|joke| (joke < 99).then_some(-9.95)));
        text + &row(|joke| (joke == 30).then_some(1.0)) + &row(|_| None)
    }

    #[test]
    fn users_who_rated_all_of_the_most_rated_jokes_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw.csv");
        std::fs::write(&path, raw(N_KEPT_USERS)).unwrap();
        let state = derive(&path, folder.path()).unwrap();
        assert!(matches!(state, FileState::Found { rows: N_KEPT_USERS, matches_known: Some(false), .. }));
        let file = std::fs::File::open(folder.path().join(FILE)).unwrap();
        let array = super::super::npy::read_npy(file, FILE).unwrap();
        assert_eq!(array.shape, [N_KEPT_USERS, 40]);
        let values = array.into_f64();
        let expected: Vec<f64> = (30..70).map(|joke| f64::from(joke) / 10.0).collect();
        assert_eq!(values[..40], expected[..]);
        assert_eq!(values[(N_KEPT_USERS - 1) * 40..], [-9.95; 40]);
        // It does not overwrite.
        let message = derive(&path, folder.path()).unwrap_err().to_string();
        assert!(message.contains(FILE) && message.contains("already exists"), "{message}");
    }

    #[test]
    fn what_is_not_the_dataset_is_refused() {
        let message = |text: &str| derive_from(text).unwrap_err().to_string();
        let few = message(&raw(7));
        assert!(
            few.contains("7 of 9 users rated all of the 40 most-rated jokes, expected 19181 of 24983"),
            "{few}"
        );
        let tie = message(&row(|joke| (joke < 50).then_some(1.0)));
        assert!(tie.contains("ranked 40 and 41 by number of ratings have 1 each"), "{tie}");
        assert!(message("").contains("ranked 40 and 41 by number of ratings have 0 each"));
        let narrow = message("1,2,3\n");
        assert!(narrow.contains("raw.csv, line 1: found 3 columns, expected 101"), "{narrow}");
        let good = row(|_| Some(1.0));
        let word = message(&format!("{good}{}", good.replacen(",1,", ",one,", 1)));
        assert!(
            word.contains("line 2: the rating of joke 1 is `one`, expected a number from -10 to 10"),
            "{word}"
        );
        let wild = message(&good.replacen(",1,", ",10.5,", 1));
        assert!(wild.contains("`10.5`"), "{wild}");
        let count = message(&good.replacen("100,", "99,", 1));
        assert!(count.contains("it says that 99 jokes were rated, but there are 100 ratings"), "{count}");
        let nan = message(&good.replacen(",1,", ",NaN,", 1));
        assert!(nan.contains("`NaN`"), "{nan}");
    }

    #[test]
    fn missing_files_and_folders_are_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(derive(&folder.path().join("raw.csv"), folder.path()).unwrap_err().is_not_found());
        let nowhere = derive(&folder.path().join("raw.csv"), &folder.path().join("nowhere")).unwrap_err();
        assert!(matches!(nowhere.kind(), ErrorKind::FolderNotFound { .. }));
    }
}
