//! Your own labelled table as a problem.

use std::path::Path;
use std::sync::Arc;

use super::options::{CsvOptions, Forced, Names, quoted};
use super::schema::{Column, MAX_LABEL_VALUES, Reason, Schema, Usage, automatic};
use super::{expect_text, file_used, name};
use crate::Error;
use crate::data::table::{Header, Profile, Separator, Table, TableReader, Values};
use crate::data::{DataFile, Fingerprint};
use crate::error::ErrorKind;
use crate::problem::Loaded;
use crate::problem::classification::Classification;

/// Creates a classification problem from a delimited file with a header, plain, `.gz` or `.zst`.
///
/// `label` is the name of the column with the classes or, if no column has that name, its number from 0. The cells of each other
/// column decide how it is used, unless `options` do; [`Loaded::schema`] has the result. The problem is named after the file's
/// stem, which no built-in problem may have. The file is read twice: first for the schema, then for the rows.
pub fn load_csv(path: &Path, label: &str, options: &CsvOptions) -> Result<Loaded, Error> {
    let name = name(path)?;
    let Read { schema, table, file, fingerprint, notes } = read(path, Some(label), options)?;
    if schema.n_features == 0 {
        return Err(no_features(&schema, file));
    }
    let problem = Arc::new(Classification::new(&name, table, &file)?);
    Ok(Loaded { problem, files: vec![file_used(path, fingerprint)], notes, schema: Some(schema) })
}

/// The schema that [`load_csv`] would use. Reads the file twice.
///
/// Without a label, every column can be a feature.
pub fn inspect_csv(path: &Path, label: Option<&str>, options: &CsvOptions) -> Result<Inspected, Error> {
    let Read { schema, notes, .. } = read(path, label, options)?;
    Ok(Inspected { schema, notes })
}

/// The schema of a table, and warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// How its columns would be used.
    pub schema: Schema,
    /// Warnings.
    pub notes: Vec<String>,
}

struct Read {
    schema: Schema,
    table: Table,
    file: String,
    fingerprint: Fingerprint,
    notes: Vec<String>,
}

fn read(path: &Path, label: Option<&str>, options: &CsvOptions) -> Result<Read, Error> {
    expect_text(path)?;
    let separator = match options.delimiter {
        b',' => Separator::Comma,
        byte => Separator::Byte(byte),
    };
    let mut first_pass = DataFile::open(path)?;
    let file = first_pass.label();
    let reader = TableReader::new(&mut first_pass, &file, separator, Header::Names)?;
    let names = reader.names().to_vec();
    let (label, forced) =
        Names { names: &names, file: &file, delimiter: options.delimiter }.resolve(label, options)?;
    let profiles = reader.profile()?;
    drop(first_pass);
    let usage = |(index, (profile, forced)): (usize, (&Profile, &Option<Forced>))| match forced {
        _ if Some(index) == label => Usage::Label { values: profile.n_distinct },
        Some(Forced::Ignore) => Usage::Ignored(Reason::Asked),
        Some(Forced::Categorical) => Usage::Categorical { values: profile.n_distinct },
        Some(Forced::Numeric) => Usage::Numeric { is_constant: profile.n_distinct == 1 },
        None => automatic(profile, options.missing),
    };
    let usages: Vec<Usage> = profiles.iter().zip(&forced).enumerate().map(usage).collect();
    if let Some(index) = label
        && forced[index].is_none()
    {
        check_label(&names[index], &profiles[index], &file)?;
    }

    let mut data_file = DataFile::open(path)?;
    let kinds: Vec<_> = usages.iter().map(|usage| usage.kind()).collect();
    let table = TableReader::new(&mut data_file, &file, separator, Header::Names)?
        .read(&kinds, options.missing.rule())?;
    let mut notes = Vec::new();
    if names.iter().all(|name| name.parse::<f64>().is_ok()) {
        notes.push(format!("{file}: the first line was read as the header, but all its cells are numbers"));
    }
    let columns = names.into_iter().zip(usages).zip(profiles.iter().zip(&forced)).zip(&table.dropped);
    let columns = columns.map(|(((name, usage), (profile, forced)), &rows_dropped)| Column {
        name,
        usage,
        is_forced: forced.is_some(),
        missing: profile.n_missing,
        rows_dropped,
    });
    let schema = schema(columns.collect(), &table, options);
    Ok(Read { schema, fingerprint: data_file.finish()?, table, file, notes })
}

/// The schema, with values counted in the rows that were kept.
fn schema(mut columns: Vec<Column>, table: &Table, options: &CsvOptions) -> Schema {
    let n_actions = table.label.as_ref().map(|label| label.categories().len());
    let mut features = table.features.iter();
    let mut n_features = 0;
    for column in &mut columns {
        match &mut column.usage {
            Usage::Ignored(_) => {}
            Usage::Label { values } => *values = n_actions.unwrap_or_default(),
            Usage::Numeric { .. } => {
                features.next();
                n_features += 1;
            }
            Usage::Categorical { values } => {
                if let Some(Values::Categories(column)) = features.next().map(|feature| &feature.values) {
                    *values = column.categories().len();
                }
                n_features += *values;
            }
        }
    }
    Schema {
        columns,
        n_features,
        n_actions,
        rows_read: table.n_rows + table.n_dropped,
        rows_dropped: table.n_dropped,
        missing: options.missing,
        delimiter: options.delimiter,
    }
}

/// Fails for a label that looks like a measurement or an identifier.
fn check_label(name: &str, profile: &Profile, file: &str) -> Result<(), Error> {
    let found = match &profile.fraction {
        Some(fraction) if profile.is_number => format!("holds numbers with fractions, such as `{fraction}`"),
        _ if profile.n_distinct > MAX_LABEL_VALUES => {
            format!("has {} distinct values", profile.n_distinct)
        }
        _ => return Ok(()),
    };
    let problem = format!(
        "the label `{name}` {found}, expected at most {MAX_LABEL_VALUES} classes: each value would be an action; name another column with --label, or force this one with --categorical {}",
        quoted(name)
    );
    Err(ErrorKind::InvalidFile { file: file.to_owned(), problem }.into())
}

/// The error where no column is a feature; it names ignored columns, which can be forced.
fn no_features(schema: &Schema, file: String) -> Error {
    let ignored = schema.columns.iter().filter_map(|column| match column.usage {
        Usage::Ignored(reason) => Some(format!("`{}` is ignored ({})", column.name, reason.name())),
        _ => None,
    });
    let ignored: Vec<String> = ignored.take(5).collect();
    let problem = match ignored.is_empty() {
        true => "there is no column but the label, expected at least one feature".to_owned(),
        false => format!(
            "no column is left as a feature: {}; use one with --categorical COLUMN or --numeric COLUMN",
            ignored.join(", ")
        ),
    };
    ErrorKind::InvalidFile { file, problem }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use locus::{Seed, Shape};

    /// The schema that a file gets with these options.
    fn schema(text: &str, options: &CsvOptions) -> Result<Schema, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.csv");
        std::fs::write(&path, text).unwrap();
        let loaded = load_csv(&path, "kind", options).map_err(|error| error.to_string())?;
        let schema = loaded.schema.unwrap();
        assert_eq!(loaded.problem.shape(), Shape::new(schema.n_features, schema.n_actions.unwrap()));
        assert_eq!(loaded.problem.max_steps(), Some(schema.rows_read - schema.rows_dropped));
        assert_eq!(inspect_csv(&path, Some("kind"), options).unwrap().schema, schema);
        Ok(schema)
    }

    /// An identifier, a date, free text, a word that never changes, a size that is missing every tenth time, a color, a kind.
    fn shop() -> String {
        let row = |i: usize| {
            let size = if i.is_multiple_of(10) { String::new() } else { format!("{}.5", i % 7) };
            let color = ["red", "blue", "?"][i % 3];
            format!("{},2024-01-{:02},note {},eu,{size},{color},{}\n", 100 + i, 1 + i % 28, i % 50, i % 2)
        };
        format!("id,day,note,region,size,color,kind\n{}", (0..60).map(row).collect::<String>())
    }

    fn named(columns: &[&str]) -> Vec<String> {
        columns.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn columns_that_only_widen_contexts_are_ignored_and_do_not_drop_rows() {
        let found = schema(&shop(), &CsvOptions::default()).unwrap();
        let usages: Vec<Usage> = found.columns.iter().map(|column| column.usage).collect();
        let expected = [
            Usage::Ignored(Reason::Identifier { values: 60 }),
            Usage::Ignored(Reason::Date),
            Usage::Ignored(Reason::TooManyValues { values: 50 }),
            Usage::Ignored(Reason::Constant),
            Usage::Numeric { is_constant: false },
            Usage::Categorical { values: 2 },
            Usage::Label { values: 2 },
        ];
        assert_eq!(usages, expected);
        // Six sizes and twenty colors are missing, two in the same row.
        assert_eq!((found.n_features, found.n_actions), (3, Some(2)));
        assert_eq!((found.rows_read, found.rows_dropped), (60, 24));
        let dropped =
            |found: &Schema| found.columns.iter().map(|column| column.rows_dropped).collect::<Vec<_>>();
        assert_eq!(dropped(&found), [0, 0, 0, 0, 6, 20, 0]);
        assert!(found.columns.iter().all(|column| !column.is_forced));

        let ignore = CsvOptions { ignore: named(&["color"]), ..CsvOptions::default() };
        let found = schema(&shop(), &ignore).unwrap();
        assert_eq!((found.n_features, found.rows_dropped), (1, 6));
        assert_eq!(found.columns[5].usage, Usage::Ignored(Reason::Asked));
        assert!(found.columns[5].is_forced && found.columns[5].missing == 20);
    }

    #[test]
    fn columns_can_be_forced() {
        let options = CsvOptions {
            categorical: named(&["day,note", "size"]),
            numeric: named(&["id"]),
            missing: super::super::MissingValues::Category,
            ..CsvOptions::default()
        };
        let found = schema(&shop(), &options).unwrap();
        let usages: Vec<Usage> = found.columns.iter().map(|column| column.usage).collect();
        let categorical = |values| Usage::Categorical { values };
        assert_eq!(usages[..3], [Usage::Numeric { is_constant: false }, categorical(28), categorical(50)]);
        // Seven sizes, two colors, and each of them missing.
        assert_eq!(usages[4..6], [categorical(8), categorical(3)]);
        assert_eq!((found.n_features, found.rows_dropped), (1 + 28 + 50 + 8 + 3, 0));
        assert!(found.columns[0].is_forced && !found.columns[5].is_forced);
        let words = CsvOptions { numeric: named(&["note"]), ..CsvOptions::default() };
        let message = schema(&shop(), &words).unwrap_err();
        assert!(
            message.contains("line 3, column 3 of 7 (`note`): found `note 1`, expected a number"),
            "{message}"
        );
    }

    #[test]
    fn missing_values_are_dropped_a_category_or_the_median() {
        use super::super::MissingValues::{Category, Drop, Median};
        let dropped = |missing| schema(&shop(), &CsvOptions { missing, ..CsvOptions::default() }).unwrap();
        assert_eq!([Drop, Category, Median].map(|missing| dropped(missing).rows_dropped), [24, 6, 0]);
        assert_eq!([Drop, Category, Median].map(|missing| dropped(missing).n_features), [3, 4, 4]);
        // Nothing stands for a class.
        let text = "x,kind\n1,a\n2,?\n3,b\n";
        for missing in [Drop, Category, Median] {
            assert_eq!(
                schema(text, &CsvOptions { missing, ..CsvOptions::default() }).unwrap().rows_dropped,
                1
            );
        }
    }

    #[test]
    fn labels_that_look_like_measurements_or_identifiers_have_to_be_forced() {
        let forced = CsvOptions { categorical: named(&["kind"]), ..CsvOptions::default() };
        let fractions: String = (0..40).map(|i| format!("{},{}.5\n", i % 9, i % 4)).collect();
        let many: String = (0..101).map(|i| format!("{},w{i}\n", i % 9)).collect();
        for (rows, expected, n_actions) in [
            (fractions, "the label `kind` holds numbers with fractions, such as `0.5`, expected", 4),
            (many, "the label `kind` has 101 distinct values, expected at most 100 classes", 101),
        ] {
            let text = format!("x,kind\n{rows}");
            let message = schema(&text, &CsvOptions::default()).unwrap_err();
            assert!(message.contains(expected), "{message}");
            assert!(message.ends_with("or force this one with --categorical kind"), "{message}");
            assert_eq!(schema(&text, &forced).unwrap().n_actions, Some(n_actions));
        }
        // Whole numbers however they are written, words among which one is a fraction, and a hundred classes.
        for rows in [
            "1,1.0\n2,2.0\n".to_owned(),
            "1,1.5\n2,x\n".to_owned(),
            (0..200).map(|i| format!("{},{}\n", i % 9, i % 100)).collect(),
        ] {
            assert!(schema(&format!("x,kind\n{rows}"), &CsvOptions::default()).is_ok(), "{rows}");
        }
    }

    #[test]
    fn a_table_without_a_label_can_be_inspected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("adult.csv");
        std::fs::write(&path, shop().replace(',', ";")).unwrap();
        let options = CsvOptions { delimiter: b';', ..CsvOptions::default() };
        let found = inspect_csv(&path, None, &options).unwrap().schema;
        assert_eq!((found.columns.len(), found.n_features, found.n_actions), (7, 4, None));
        assert_eq!(found.columns[6].usage, Usage::Numeric { is_constant: false });
    }

    #[test]
    fn a_table_of_ignored_columns_says_how_to_use_them() {
        let rows: String = (0..30).map(|i| format!("u{i},{}\n", i % 2)).collect();
        let message = schema(&format!("user,kind\n{rows}"), &CsvOptions::default()).unwrap_err();
        assert!(
            message.ends_with(
                "no column is left as a feature: `user` is ignored (identifier); use one with --categorical COLUMN or --numeric COLUMN"
            ),
            "{message}"
        );
        let message = schema("kind\na\nb\n", &CsvOptions::default()).unwrap_err();
        assert!(message.contains("there is no column but the label"), "{message}");
    }

    const TEXT: &str = "size,color,0,kind\n1,red,5,a\n2,blue,6,b\n?,red,7,a\n3,2,8,NA\n4,red,5,b\n";

    fn load(text: &str, label: &str) -> Result<Loaded, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.table.csv");
        std::fs::write(&path, text).unwrap();
        load_csv(&path, label, &CsvOptions::default())
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
        let schema = loaded.schema.unwrap();
        assert_eq!((schema.rows_read, schema.rows_dropped), (5, 2));
        assert_eq!(schema.columns.iter().map(|column| column.rows_dropped).collect::<Vec<_>>(), [1, 0, 0, 1]);
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
        assert!(loaded.notes[0].contains("read as the header"), "{:?}", loaded.notes);
        let message = load("a,b\n1,x\ninf,y\n", "b").unwrap_err().to_string();
        assert!(message.contains("line 3, column 1 of 2 (`a`): found `inf`"), "{message}");
        assert!(load("", "b").unwrap_err().is_invalid_data());
        assert!(load("a,b\n", "b").unwrap_err().is_invalid_data());
        assert!(load_csv(Path::new("nowhere.csv"), "b", &CsvOptions::default()).unwrap_err().is_not_found());
    }

    /// The files behind the rows of `docs/evidence/own-*` have numeric features and a label alone, columns that never change among
    /// them. The checksum is that of version 0.1.0, before columns could be ignored.
    #[test]
    fn numeric_files_keep_their_features_rows_and_order() {
        let row = |i: usize| {
            let gap = if i % 17 == 5 { "?".to_owned() } else { format!("{}.0", 1000 + i * 37 % 101) };
            format!("{}.{},0.0,{gap},{},class{}\n", i * 7 % 13, i % 10, i % 23, i % 3)
        };
        let text = format!("x0,x1,x2,x3,label\n{}", (0..200).map(row).collect::<String>());
        let problem = load(&text, "label").unwrap().problem;
        assert_eq!((problem.shape(), problem.max_steps()), (Shape::new(4, 3), Some(188)));
        let sequence = problem.sequence(150, Seed::new(3)).unwrap();
        assert_eq!(
            crate::record::sequence_checksum(&sequence),
            "e6b12a0a7152b0673018f7cd6dc81e9667b6410967ae89dda16d965a79912f65"
        );
    }
}
