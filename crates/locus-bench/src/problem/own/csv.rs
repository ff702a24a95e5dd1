//! Your own labelled table as a problem.

use std::path::Path;

use super::{file_used, name};
use crate::Error;
use crate::data::DataFile;
use crate::data::table::{Header, Kind, Missing, Separator, TableReader};
use crate::error::ErrorKind;
use crate::problem::Loaded;
use crate::problem::classification::Classification;
use crate::problem::registry::FromFile;

/// Makes a classification problem of a comma-separated file with a header, plain, `.gz` or `.zst`.
///
/// `label` is the name of the column with the classes or, where no column has that name, its number from 0.
/// Other columns are numbers if all their cells are, else categories. Rows in which a value is missing are
/// dropped. The problem is called by the file's stem, which no built-in problem may have. The file is read twice, first to see what its columns
/// are.
pub fn load_csv(path: &Path, label: &str) -> Result<Loaded, Error> {
    let name = name(path)?;
    let mut first_pass = DataFile::open(path)?;
    let file_label = first_pass.label();
    let reader = TableReader::new(&mut first_pass, &file_label, Separator::Comma, Header::Names)?;
    let names = reader.names().to_vec();
    let label_index = find_label(&names, label, &file_label)?;
    let mut kinds = reader.detect()?;
    kinds[label_index] = Kind::Label;
    drop(first_pass);

    let mut file = DataFile::open(path)?;
    let table = TableReader::new(&mut file, &file_label, Separator::Comma, Header::Names)?
        .read(&kinds, Missing::DropRow)?;
    let FromFile { problem, mut notes } = Classification::from_table(&name, table, &file_label)?;
    if names.iter().all(|name| name.parse::<f64>().is_ok()) {
        notes.push(format!(
            "{file_label}: the first line was taken for the header, but all its cells are numbers"
        ));
    }
    Ok(Loaded { problem, files: vec![file_used(path, file.finish()?)], notes })
}

/// A name wins over a number.
fn find_label(names: &[String], label: &str, file: &str) -> Result<usize, Error> {
    let label = label.trim();
    let mut matches = names.iter().enumerate().filter(|(_, name)| *name == label).map(|(index, _)| index);
    let problem = match (matches.next(), matches.next()) {
        (Some(index), None) => return Ok(index),
        (Some(first), Some(second)) => {
            format!("columns {first} and {second} (from 0) are both called `{label}`")
        }
        _ => match label.parse::<usize>() {
            Ok(index) if index < names.len() => return Ok(index),
            Ok(index) => format!("there is no column {index} among the {}, counted from 0", names.len()),
            Err(_) => format!("no column is called `{label}`"),
        },
    };
    Err(ErrorKind::UnknownLabel { file: file.to_owned(), problem, columns: list(names) }.into())
}

/// The names, but not hundreds of them.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        n_more => format!("{shown} and {n_more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locus::{Seed, Shape};

    const TEXT: &str = "size,color,0,kind\n1,red,5,a\n2,blue,6,b\n?,red,7,a\n3,2,8,NA\n4,red,5,b\n";

    fn load(text: &str, label: &str) -> Result<Loaded, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.table.csv");
        std::fs::write(&path, text).unwrap();
        load_csv(&path, label)
    }

    #[test]
    fn columns_are_detected_and_incomplete_rows_counted() {
        let loaded = load(TEXT, "kind").unwrap();
        assert_eq!(loaded.problem.name(), "my.table");
        // `2` in the column of colors is a word there; its row is dropped, and with it the category.
        assert_eq!(loaded.problem.shape(), Shape::new(1 + 2 + 1, 2));
        assert_eq!(loaded.problem.max_steps(), Some(3));
        assert_eq!(loaded.files[0].name, "my.table.csv");
        assert_eq!(loaded.files[0].known, None);
        assert!(loaded.notes[0].contains("dropped 2 of 5 rows"), "{:?}", loaded.notes);
        assert_eq!(loaded.problem.sequence(3, Seed::new(1)).unwrap().len(), 3);
    }

    /// Times of a second between them differ in digits that f32 does not have.
    #[test]
    fn numbers_are_standardized_before_they_are_narrowed() {
        let rows: String =
            (0..50).map(|i| format!("{}.{},{}\n", 1_763_240_000 + i / 10, i % 10, i % 2)).collect();
        let problem = load(&format!("t,kind\n{rows}"), "kind").unwrap().problem;
        let sequence = problem.sequence(50, Seed::new(1)).unwrap();
        let mut found: Vec<f32> = sequence.rounds().map(|round| round.context[0]).collect();
        found.sort_by(f32::total_cmp);
        // Of 0, 1, …, n − 1 the variance is (n² − 1)/12.
        let std = (2499.0_f64 / 12.0).sqrt();
        for (i, found) in found.into_iter().enumerate() {
            let expected = (i as f64 - 24.5) / std;
            assert!((f64::from(found) - expected).abs() < 1e-5, "{i}: {found}, expected {expected}");
        }
    }

    #[test]
    fn the_label_is_found_by_name_then_by_number() {
        let shape = |label| load(TEXT, label).unwrap().problem.shape();
        assert_eq!(shape("3"), shape("kind"));
        // The third column is called `0` and has two classes, 5 and 6; column 0 would have three.
        assert_eq!(shape("0"), Shape::new(1 + 2 + 2, 2));
        assert_eq!(shape("1").n_actions, 2);
        for label in ["sort", "4", "-1", ""] {
            let error = load(TEXT, label).unwrap_err();
            assert!(error.is_not_found());
            assert!(error.to_string().contains("its columns are size, color, 0, kind"), "{error}");
        }
        let message = load("a,b,a\n1,2,3\n", "a").unwrap_err().to_string();
        assert!(message.contains("columns 0 and 2 (from 0) are both called `a`"), "{message}");
    }

    #[test]
    fn a_missing_header_is_suspected_and_wrong_cells_are_named() {
        let loaded = load("1,2\n3,4\n5,6\n", "1").unwrap();
        assert!(loaded.notes[0].contains("taken for the header"), "{:?}", loaded.notes);
        let message = load("a,b\n1,x\ninf,y\n", "b").unwrap_err().to_string();
        assert!(message.contains("line 3, column 1 of 2 (`a`): found `inf`"), "{message}");
        assert!(load("", "b").unwrap_err().is_invalid_data());
        assert!(load("a,b\n", "b").unwrap_err().is_invalid_data());
        assert!(load_csv(Path::new("nowhere.csv"), "b").unwrap_err().is_not_found());
    }
}
