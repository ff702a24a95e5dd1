//! Classification as a bandit: the actions are the classes, and the right one pays 1.
//!
//! Rows are drawn without replacement. Category columns become one indicator per category of the whole file,
//! so the width is the same in every trial; then every column is standardized over the rows of the trial.

use std::sync::Arc;

use locus::{Seed, Shape};

use super::one_hot::{encode, total_width, width};
use super::registry::FromFile;
use super::{Problem, Sequence, check_steps};
use crate::Error;
use crate::data::table::{CategoryColumn, Feature, Table};
use crate::error::ErrorKind;

/// A linear policy keeps a matrix of this many rows and columns for each action: here already most of a gigabyte.
const MAX_FEATURES: usize = 10_000;

/// More happens when a column of identifiers, or a date that is no number, is taken for a feature.
const MAX_CATEGORIES: usize = 1000;

/// More happens when a column of measurements is taken for the label.
const MAX_CLASSES: usize = 10_000;

/// A table with a label to predict.
#[derive(Debug)]
pub(super) struct Classification {
    name: String,
    n_rows: usize,
    features: Vec<Feature>,
    label: CategoryColumn,
    shape: Shape,
}

impl Classification {
    /// The problem `name`, from a table read from `file`.
    pub(super) fn new(name: &str, table: Table, file: &str) -> Result<Self, Error> {
        let invalid = |problem| Error::from(ErrorKind::InvalidFile { file: file.to_owned(), problem });
        let Table { n_rows, features, label, .. } = table;
        let Some(label) = label else {
            return Err(invalid("no column is the label, expected one".to_owned()));
        };
        let n_features = total_width(&features);
        let n_actions = label.categories().len();
        if n_features == 0 {
            return Err(invalid(
                "there is no column but the label, expected at least one feature".to_owned(),
            ));
        }
        if let Some(feature) = features.iter().find(|feature| width(feature) > MAX_CATEGORIES) {
            return Err(invalid(format!(
                "the text column `{}` has {} different values, expected at most {MAX_CATEGORIES}; ignore the column with --ignore, or bucket its values",
                feature.name,
                width(feature)
            )));
        }
        if n_features > MAX_FEATURES {
            return Err(invalid(format!(
                "its {} columns make {n_features} features, expected at most {MAX_FEATURES} (a text column makes one for each of its values); ignore columns with --ignore, or bucket values",
                features.len()
            )));
        }
        if !(2..=MAX_CLASSES).contains(&n_actions) {
            return Err(invalid(format!(
                "the label has {n_actions} different values, expected 2 to {MAX_CLASSES}"
            )));
        }
        Ok(Self { name: name.to_owned(), n_rows, features, label, shape: Shape::new(n_features, n_actions) })
    }

    /// The problem together with a note on rows that were dropped.
    pub(super) fn from_table(name: &str, table: Table, file: &str) -> Result<FromFile, Error> {
        let (n_dropped, n_all) = (table.n_dropped, table.n_dropped + table.n_rows);
        let problem = Arc::new(Self::new(name, table, file)?);
        let note = format!("{file}: dropped {n_dropped} of {n_all} rows, in which a value is missing");
        Ok(FromFile { problem, notes: if n_dropped > 0 { vec![note] } else { Vec::new() } })
    }
}

impl Problem for Classification {
    fn name(&self) -> &str {
        &self.name
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn action_name(&self, action: usize) -> String {
        match self.label.categories().get(action) {
            Some(category) => format!("action {action} ({})", category.trim()),
            None => format!("action {action}"),
        }
    }

    fn max_steps(&self) -> Option<usize> {
        Some(self.n_rows)
    }

    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error> {
        check_steps(self, steps)?;
        let mut sequence = Sequence::with_room(self.shape, steps)?;
        let rows = seed.stream("rows", 0).choose_distinct(self.n_rows, steps);
        let scales = scales(self.shape.n_features, rows.len(), |index, context| {
            encode(&self.features, rows[index], context, |number| number);
        });
        let mut wide = vec![0.0; self.shape.n_features];
        let mut context = vec![0.0; self.shape.n_features];
        let mut rewards = vec![0.0; self.shape.n_actions];
        for &row in &rows {
            encode(&self.features, row, &mut wide, |number| number);
            for (x, (&number, scale)) in context.iter_mut().zip(wide.iter().zip(&scales)) {
                *x = scale.apply(number);
            }
            rewards.fill(0.0);
            rewards[self.label.code(row)] = 1.0;
            sequence.push(&context, &rewards, 1.0);
        }
        Ok(sequence)
    }
}

/// What turns a column into one of mean 0 and population standard deviation 1, or into zeros if it is constant.
#[derive(Clone, Copy, Debug)]
struct Scale {
    mean: f64,
    std: f64,
    is_constant: bool,
}

impl Scale {
    /// Converts to f32 only here: times may differ only in digits that `f32` does not have.
    fn apply(self, number: f64) -> f32 {
        if self.is_constant { 0.0 } else { ((number - self.mean) / self.std) as f32 }
    }
}

/// The scales of all columns over `n_rows` rows, each of which `read` writes into a buffer. Every row is read twice,
/// which takes less than keeping them all in `f64` would.
fn scales(n_features: usize, n_rows: usize, read: impl Fn(usize, &mut [f64])) -> Vec<Scale> {
    let mut row = vec![0.0; n_features];
    let mut means = vec![0.0; n_features];
    for index in 0..n_rows {
        read(index, &mut row);
        means.iter_mut().zip(&row).for_each(|(mean, x)| *mean += x);
    }
    means.iter_mut().for_each(|mean| *mean /= n_rows as f64);
    let mut variances = vec![0.0; n_features];
    // Whether a column is constant is seen by comparing, not by its variance, which rounding keeps from 0.
    let mut is_constant = vec![true; n_features];
    let mut first = vec![0.0; n_features];
    read(0, &mut first);
    for index in 0..n_rows {
        read(index, &mut row);
        for (column, &x) in row.iter().enumerate() {
            variances[column] += (x - means[column]).powi(2);
            is_constant[column] &= x == first[column];
        }
    }
    let scale = |column: usize| Scale {
        mean: means[column],
        std: (variances[column] / n_rows as f64).sqrt(),
        is_constant: is_constant[column],
    };
    (0..n_features).map(scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::table::{Header, Kind, Missing, Separator, TableReader};
    use proptest::prelude::*;

    const TEXT: &str = "10,x,0.1,no\n20,y,0.1,yes\n30,x,0.1,no\n40,z,0.1,perhaps\n";

    fn problem(text: &str, kinds: &[Kind]) -> Result<Classification, Error> {
        let reader = TableReader::new(text.as_bytes(), "t.csv", Separator::Comma, Header::Absent)?;
        Classification::new("t", reader.read(kinds, Missing::DropRow)?, "t.csv")
    }

    fn small() -> Classification {
        problem(TEXT, &[Kind::Number, Kind::Category, Kind::Number, Kind::Label]).unwrap()
    }

    #[test]
    fn rows_are_encoded_against_all_categories_and_standardized_over_the_trial() {
        let problem = small();
        assert_eq!(problem.shape(), Shape::new(5, 3));
        let sequence = problem.sequence(4, Seed::new(1)).unwrap();
        // All four rows are drawn, so the statistics are known: 25 ± √125, and indicators of share ½, ¼, ¼.
        let (half, quarter) = ([1.0, -1.0], [3_f32.sqrt(), -(1.0 / 3_f32).sqrt()]);
        let numbers = [-1.5, -0.5, 0.5, 1.5].map(|x: f32| x / 1.25_f32.sqrt());
        let expected = [
            ([numbers[0], half[0], quarter[1], quarter[1], 0.0], [1.0, 0.0, 0.0]),
            ([numbers[1], half[1], quarter[0], quarter[1], 0.0], [0.0, 0.0, 1.0]),
            ([numbers[2], half[0], quarter[1], quarter[1], 0.0], [1.0, 0.0, 0.0]),
            ([numbers[3], half[1], quarter[1], quarter[0], 0.0], [0.0, 1.0, 0.0]),
        ];
        let mut seen = [0; 4];
        for round in sequence.rounds() {
            let close = |(context, _): &([f32; 5], [f64; 3])| {
                context.iter().zip(round.context).all(|(a, b)| (a - b).abs() < 1e-6)
            };
            let row = expected.iter().position(close).unwrap();
            assert_eq!(round.rewards, expected[row].1);
            assert_eq!(round.best_reward, 1.0);
            seen[row] += 1;
        }
        assert_eq!(seen, [1; 4]);
    }

    #[test]
    fn sequences_follow_from_seed_and_steps() {
        let problem = small();
        let sequence = |steps, seed| problem.sequence(steps, Seed::new(seed)).unwrap();
        assert_eq!(sequence(3, 7), sequence(3, 7));
        assert!((0..20).any(|seed| sequence(3, seed) != sequence(3, 7)));
        assert_eq!(sequence(1, 7).round(0).context, [0.0; 5]);
        assert!(matches!(
            problem.sequence(5, Seed::new(1)).unwrap_err().kind(),
            ErrorKind::TooManySteps { rows: 4, steps: 5, .. }
        ));
        assert!(matches!(problem.sequence(0, Seed::new(1)).unwrap_err().kind(), ErrorKind::NoSteps { .. }));
    }

    #[test]
    fn tables_that_are_no_problem_are_refused() {
        let message = |text: &str, kinds: &[Kind]| problem(text, kinds).unwrap_err().to_string();
        assert!(message("1,a\n2,a\n", &[Kind::Number, Kind::Label]).contains("1 different values"));
        assert!(message("1,a\n2,b\n", &[Kind::Dropped, Kind::Label]).contains("at least one feature"));
        assert!(message("1,a\n2,b\n", &[Kind::Number, Kind::Category]).contains("no column is the label"));
        let ids: String = (0..=10_000).map(|id| format!("id{id},{}\n", id % 2)).collect();
        assert!(
            message(&ids, &[Kind::Label, Kind::Number]).contains("10001 different values, expected 2 to")
        );
    }

    /// A trial's memory grows with the width, and that of a linear policy with its square.
    #[test]
    fn tables_that_are_too_wide_are_refused_with_the_column_to_blame() {
        let ids = |n: usize| (0..n).map(|id| format!("id{id},{}\n", id % 2)).collect::<String>();
        let kinds = [Kind::Category, Kind::Label];
        assert_eq!(problem(&ids(1000), &kinds).unwrap().shape().n_features, 1000);
        assert_eq!(
            problem(&ids(1001), &kinds).unwrap_err().to_string(),
            "t.csv: the text column `column 1` has 1001 different values, expected at most 1000; ignore the column with \
             --ignore, or bucket its values"
        );
        // Eleven columns, each narrow enough, and then numbers alone.
        let row = |id: usize| format!("{}{}\n", format!("id{id},").repeat(11), id % 2);
        let text: String = (0..1000).map(row).collect();
        let kinds: Vec<Kind> = std::iter::repeat_n(Kind::Category, 11).chain([Kind::Label]).collect();
        let message = problem(&text, &kinds).unwrap_err().to_string();
        assert!(message.contains("make 11000 features, expected at most 10000"), "{message}");
        let row = |id: usize| format!("{}{id}\n", "1,".repeat(10_001));
        let kinds: Vec<Kind> = std::iter::repeat_n(Kind::Number, 10_001).chain([Kind::Label]).collect();
        let message = problem(&[0, 1].map(row).concat(), &kinds).unwrap_err().to_string();
        assert!(message.contains("make 10001 features, expected at most 10000"), "{message}");
    }

    proptest! {
        #[test]
        fn columns_have_mean_0_and_deviation_1_or_0(
            contexts in (1_usize..5).prop_flat_map(|n_features| (
                Just(n_features),
                proptest::collection::vec(
                    proptest::collection::vec(
                        prop_oneof![-1e3..1e3, Just(0.1), 1.7e9..1.8e9, Just(1e-45), Just(2e-45)], n_features), 1..40),
            )),
        ) {
            let (n_features, rows) = contexts;
            let scales = scales(n_features, rows.len(), |index, row| row.copy_from_slice(&rows[index]));
            for (column, scale) in scales.iter().enumerate() {
                let values: Vec<f64> = rows.iter().map(|row| scale.apply(row[column]).into()).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let square = values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64;
                let is_constant = rows.iter().all(|row| row[column] == rows[0][column]);
                prop_assert!(mean.abs() < 1e-5, "mean {}", mean);
                let expected = if is_constant { 0.0 } else { 1.0 };
                prop_assert!((square - expected).abs() < 1e-5, "square {}", square);
            }
        }
    }
}
