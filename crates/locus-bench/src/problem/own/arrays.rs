//! Problems made of arrays in memory, as the Python package has them.
//!
//! They are the same problems as those of files: contexts and rewards are rounds as of an `.npz` archive, numbers and labels are a
//! table as of a CSV file.

use std::sync::Arc;

use locus::Shape;
use sha2::{Digest, Sha256};

use super::npz::{OwnRounds, Read, Rounds, checked};
use super::{FileUsed, is_built_in};
use crate::Error;
use crate::data::table::{CategoryBuilder, Feature, NumberColumn, Table, Values};
use crate::error::ErrorKind;
use crate::problem::Loaded;
use crate::problem::classification::Classification;

/// Makes a problem of contexts [T, C], rewards [T, A] and, if given, the best expected reward of each round `[T]`, row by row:
/// the same as [`load_npz`](super::load_npz) makes of a file. All its trials are alike.
pub fn from_rounds(
    name: &str,
    shape: Shape,
    contexts: Vec<f32>,
    rewards: Vec<f64>,
    optimal: Option<Vec<f64>>,
) -> Result<Loaded, Error> {
    check_name(name)?;
    let mut checksum = Sha256::new();
    contexts.iter().for_each(|number| checksum.update(number.to_le_bytes()));
    rewards.iter().chain(optimal.iter().flatten()).for_each(|number| checksum.update(number.to_le_bytes()));
    let Read { rounds, notes, .. } = checked(
        &source(name),
        Rounds { n_rounds: rewards.len() / shape.n_actions.max(1), shape, contexts, rewards, optimal },
    )?;
    let problem = Arc::new(OwnRounds { name: name.to_owned(), rounds });
    Ok(Loaded { problem, files: vec![used(checksum)], notes, schema: None })
}

/// Makes a classification problem of features [N, C], row by row, and the label of each row: the same as
/// [`load_csv`](super::load_csv) makes of a file with these numbers.
pub fn from_labels(
    name: &str,
    n_features: usize,
    features: &[f64],
    labels: &[String],
) -> Result<Loaded, Error> {
    check_name(name)?;
    let source = source(name);
    let invalid = |problem| Error::from(ErrorKind::InvalidFile { file: source.clone(), problem });
    let n_rows = labels.len();
    if n_rows.checked_mul(n_features) != Some(features.len()) {
        return Err(invalid(format!(
            "found {} feature values, expected {n_rows} rows of {n_features}",
            features.len()
        )));
    }
    if let Some(place) = features.iter().position(|number| !(*number as f32).is_finite()) {
        return Err(invalid(format!(
            "the feature in row {}, column {} is {}, expected a finite number between -3.4e38 and 3.4e38",
            place / n_features,
            place % n_features,
            features[place]
        )));
    }
    let mut checksum = Sha256::new();
    features.iter().for_each(|number| checksum.update(number.to_le_bytes()));
    let mut label = CategoryBuilder::new();
    for text in labels {
        checksum.update(text.as_bytes());
        checksum.update([0]);
        label.push(text.as_bytes());
    }
    let columns = (0..n_features).map(|column| {
        let mut numbers = NumberColumn::new();
        features.iter().skip(column).step_by(n_features).for_each(|&number| numbers.push(number));
        Feature { name: format!("column {column}"), values: Values::Numbers(numbers) }
    });
    let table = Table {
        n_rows,
        n_dropped: 0,
        dropped: vec![0; n_features + 1],
        features: columns.collect(),
        label: Some(label.finish(&source)?),
    };
    let problem = Arc::new(Classification::new(name, table, &source)?);
    Ok(Loaded { problem, files: vec![used(checksum)], notes: Vec::new(), schema: None })
}

/// How errors name a problem that has no file.
fn source(name: &str) -> String {
    format!("problem `{name}`")
}

fn check_name(name: &str) -> Result<(), Error> {
    if is_built_in(name) {
        let problem = "this is the name of a built-in problem; give yours another name".to_owned();
        return Err(ErrorKind::InvalidFile { file: source(name), problem }.into());
    }
    Ok(())
}

fn used(checksum: Sha256) -> FileUsed {
    let sha256 = checksum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    FileUsed { name: "arrays".to_owned(), sha256, known: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locus::Seed;

    #[test]
    fn rounds_come_back_as_they_were() {
        let (contexts, rewards) = (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![0.5, 1.0, 2.0, 0.0]);
        let loaded = from_rounds("mine", Shape::new(3, 2), contexts.clone(), rewards.clone(), None).unwrap();
        let sequence = loaded.problem.sequence(2, Seed::new(5)).unwrap();
        assert_eq!((loaded.problem.name(), loaded.problem.max_steps()), ("mine", Some(2)));
        let last = sequence.round(1);
        assert_eq!((last.context, last.rewards, last.best_reward), (&contexts[3..], &rewards[2..], 2.0));
        let other = from_rounds("mine", Shape::new(3, 2), contexts, vec![0.5, 1.0, 2.0, 0.1], None).unwrap();
        assert_ne!(loaded.files, other.files);
    }

    #[test]
    fn labels_make_the_problem_of_the_same_csv_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.csv");
        let numbers = [0.1, 2.0, 0.7, 3.5, 1.5, 2.5, 1.9, 0.3, 3.1, 7.5];
        let labels = ["b", "a", "b", "c", "a"].map(str::to_owned);
        let mut text = "x,y,label\n".to_owned();
        for (row, label) in numbers.chunks(2).zip(&labels) {
            text.push_str(&format!("{},{},{label}\n", row[0], row[1]));
        }
        std::fs::write(&path, text).unwrap();
        let file = super::super::load_csv(&path, "label", &Default::default()).unwrap();
        let arrays = from_labels("mine", 2, &numbers, &labels).unwrap();
        assert_eq!(file.problem.shape(), arrays.problem.shape());
        let [file, arrays] = [file, arrays].map(|loaded| loaded.problem.sequence(4, Seed::new(3)).unwrap());
        assert_eq!(file, arrays);
    }

    #[test]
    fn bad_arrays_are_refused_with_the_place() {
        let message = |loaded: Result<Loaded, Error>| loaded.unwrap_err().to_string();
        let shape = Shape::new(2, 2);
        let rounds =
            |contexts: Vec<f32>, rewards| message(from_rounds("mine", shape, contexts, rewards, None));
        assert!(rounds(vec![0.0; 3], vec![0.0; 4]).starts_with("problem `mine`: "));
        let found = rounds(vec![0.0, 1.0, 2.0, f32::NAN], vec![0.0; 4]);
        assert!(found.contains("`contexts` [1, 1] is NaN"), "{found}");
        let labels =
            |features: &[f64], n: usize| message(from_labels("mine", 2, features, &vec!["a".to_owned(); n]));
        assert!(labels(&[0.0; 3], 2).contains("found 3 feature values, expected 2 rows of 2"));
        assert!(labels(&[0.0, 1.0, 2.0, f64::INFINITY], 2).contains("row 1, column 1 is inf"));
        assert!(labels(&[0.0; 4], 2).contains("the label has 1 different values"));
        assert!(message(from_labels("wheel", 1, &[0.0], &["a".to_owned()])).contains("a built-in problem"));
        assert!(message(from_rounds("wheel", shape, vec![], vec![], None)).contains("a built-in problem"));
        assert!(message(from_rounds("mine", shape, vec![], vec![], None)).contains("at least one of each"));
    }
}
