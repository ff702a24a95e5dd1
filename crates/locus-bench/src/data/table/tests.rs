use proptest::prelude::*;

use super::reader::is_missing;
use super::*;
use crate::Error;

use Kind::{Category, Dropped, Label, Number};

fn read(text: &str, header: Header, kinds: &[Kind], missing: Missing) -> Result<Table, Error> {
    TableReader::new(text.as_bytes(), "t.csv", Separator::Comma, header)?.read(kinds, missing)
}

fn message(result: Result<Table, Error>) -> String {
    let error = result.unwrap_err();
    assert!(error.is_invalid_data(), "{error:?}");
    error.to_string()
}

fn numbers(table: &Table, feature: usize) -> Vec<f64> {
    match &table.features[feature].values {
        Values::Numbers(column) => (0..table.n_rows).map(|row| column.number(row)).collect(),
        Values::Categories(_) => panic!("feature {feature} holds categories"),
    }
}

fn words(table: &Table, feature: usize) -> Vec<&str> {
    match &table.features[feature].values {
        Values::Categories(column) => {
            (0..table.n_rows).map(|row| column.categories()[column.code(row)].as_str()).collect()
        }
        Values::Numbers(_) => panic!("feature {feature} holds numbers"),
    }
}

#[test]
fn declared_columns_are_read_and_rows_with_gaps_dropped() {
    let text = "id,age, job ,pay\r\n1, 39, clerk, low\r\n2, ?, cook, high\r\n3, 5e1, baker, NA\r\n?, -1.5, cook, high\r\n";
    let table = read(text, Header::Names, &[Dropped, Number, Category, Label], Missing::DropRow).unwrap();
    assert_eq!((table.n_rows, table.n_dropped), (2, 2));
    assert_eq!(table.features[1].name, "job");
    assert_eq!(numbers(&table, 0), [39.0, -1.5]);
    assert_eq!(words(&table, 1), ["clerk", "cook"]);
    // Neither category of a dropped row counts.
    let Values::Categories(job) = &table.features[1].values else { panic!() };
    assert_eq!(job.categories(), ["clerk", "cook"]);
    assert_eq!(table.label.unwrap().categories(), ["high", "low"]);
}

#[test]
fn a_gap_may_be_a_category_or_an_error() {
    let table = read("a,?\nb,x\n", Header::Absent, &[Label, Category], Missing::IsCategory).unwrap();
    assert_eq!(words(&table, 0), ["?", "x"]);
    assert_eq!(table.features[0].name, "column 2");
    let result = read("a,x\n\nb,?\n", Header::Absent, &[Label, Category], Missing::IsError);
    assert!(message(result).starts_with("t.csv, line 3, column 2 of 2: the value is missing"));
}

#[test]
fn rows_left_out_are_counted_for_every_column_that_misses_a_cell() {
    let text = "x,1,a\n?,,a\ny,,a\n,3,?\nx,4,b\n";
    let kinds = [Category, Number, Label];
    let table = read(text, Header::Absent, &kinds, Missing::DropRow).unwrap();
    assert_eq!((table.n_rows, table.n_dropped, &table.dropped[..]), (2, 3, &[2, 2, 1][..]));
    let table = read(text, Header::Absent, &kinds, Missing::OwnCategory).unwrap();
    assert_eq!((table.n_rows, table.n_dropped, &table.dropped[..]), (2, 3, &[0, 2, 1][..]));
    let ignored = read(text, Header::Absent, &[Dropped, Dropped, Label], Missing::DropRow).unwrap();
    assert_eq!((ignored.n_rows, &ignored.dropped[..]), (4, &[0, 0, 1][..]));
}

#[test]
fn a_gap_may_be_filled() {
    let text = "?,1,a\nNA,,a\nx,4,b\n,10,?\nx,2,b\n";
    let kinds = [Category, Number, Label];
    let table = read(text, Header::Absent, &kinds, Missing::OwnCategory).unwrap();
    // However it is written, and only where the row is kept.
    assert_eq!(words(&table, 0), ["", "x", "x"]);
    assert_eq!(numbers(&table, 1), [1.0, 4.0, 2.0]);
    let table = read(text, Header::Absent, &kinds, Missing::Median).unwrap();
    assert_eq!(words(&table, 0), ["", "", "x", "x"]);
    // The 10 stands in a row without a label, which is left out.
    assert_eq!(numbers(&table, 1), [1.0, 2.0, 4.0, 2.0]);
    let even = read("1,a\n,a\n0.5,b\n", Header::Absent, &[Number, Label], Missing::Median).unwrap();
    assert_eq!(numbers(&even, 0), [1.0, 0.75, 0.5]);
    let none = read(",a\n,b\n", Header::Absent, &[Number, Label], Missing::Median).unwrap();
    assert_eq!(numbers(&none, 0), [0.0, 0.0]);
}

#[test]
fn another_separator_has_the_same_quotes() {
    let reader =
        TableReader::new(&b"a;b\n\"x;1\";1,5\n"[..], "t", Separator::Byte(b';'), Header::Names).unwrap();
    assert_eq!(reader.names(), ["a", "b"]);
    let table = reader.read(&[Category, Label], Missing::DropRow).unwrap();
    assert_eq!(words(&table, 0), ["x;1"]);
    assert_eq!(table.label.unwrap().categories(), ["1,5"]);
}

#[test]
fn missing_is_what_the_documentation_says() {
    for cell in ["", "?", "NA", "NaN", "nan", "NAN"] {
        assert!(is_missing(cell.as_bytes()), "{cell}");
    }
    for cell in ["0", "na", "Na", "n/a", "??", "null", "-"] {
        assert!(!is_missing(cell.as_bytes()), "{cell}");
    }
}

#[test]
fn wrong_cells_rows_and_files_are_named() {
    let kinds = [Number, Label];
    let read = |text: &str| message(read(text, Header::Names, &kinds, Missing::DropRow));
    assert_eq!(
        read("x,y\n1,a\n1.2.3,b\n"),
        "t.csv, line 3, column 1 of 2 (`x`): found `1.2.3`, expected a number"
    );
    for huge in ["inf", "-Infinity", "1e39"] {
        let expected = format!("line 2, column 1 of 2 (`x`): found `{huge}`, expected a finite number");
        let found = read(&format!("x,y\n{huge},a\n"));
        assert!(found.contains(&expected), "{found}");
    }
    assert_eq!(read("x,y\n1,a\n1\n"), "t.csv, line 3: the row has 1 cells, expected 2");
    assert_eq!(read("x,y,z\n1,a,b\n"), "t.csv: the header has 3 columns, expected 2");
    assert_eq!(read(""), "t.csv: the file is empty, expected a header and rows");
    assert_eq!(read("x,y\n\n"), "t.csv: the file has a header but no rows");
    assert_eq!(read("x,y\n?,a\n"), "t.csv: all 1 rows have a missing cell, expected at least one without");
    let long = read(&format!("x,y\n{},a\n", "w".repeat(1000)));
    assert!(long.len() < 200, "{long}");
}

#[test]
fn numbers_keep_every_digit_and_take_no_more_memory_than_they_need() {
    let text = "7,1763240000.1,1e-46\n16777216,1763240000.2,-1e-46\n-0.5,3,0\n";
    let table = read(text, Header::Absent, &[Number; 3], Missing::IsError).unwrap();
    assert_eq!(numbers(&table, 0), [7.0, 16_777_216.0, -0.5]);
    assert_eq!(numbers(&table, 1), [1_763_240_000.1, 1_763_240_000.2, 3.0]);
    // Too small for f32, whose least number is 1.4e-45.
    assert_eq!(numbers(&table, 2), [0.0; 3]);
    let bytes = |feature: &Feature| match &feature.values {
        Values::Numbers(column) => column.number_bytes(),
        Values::Categories(_) => panic!("{} holds categories", feature.name),
    };
    assert_eq!(table.features.iter().map(bytes).collect::<Vec<_>>(), [4, 8, 4]);
}

#[test]
fn a_skipped_header_may_be_separated_otherwise() {
    let reader =
        |text: &'static str| TableReader::new(text.as_bytes(), "t", Separator::Whitespace, Header::Skipped);
    let table = reader("A,B,C\n1 2\t 3 \n").unwrap().read(&[Number; 3], Missing::IsError).unwrap();
    assert_eq!((numbers(&table, 0), numbers(&table, 2)), (vec![1.0], vec![3.0]));
    assert!(reader("").is_err());
}

fn kind_of(profile: &Profile) -> Kind {
    if profile.is_number { Number } else { Category }
}

#[test]
fn kinds_are_detected_over_the_whole_file() {
    let detect = |text: &'static str| {
        let reader = TableReader::new(text.as_bytes(), "t", Separator::Comma, Header::Names).unwrap();
        reader.profile().map(|profiles| profiles.iter().map(kind_of).collect::<Vec<_>>())
    };
    // The word in the last column stands in a row that another cell makes incomplete; it counts all the same.
    let kinds = detect("a,b,c,d,e\n1,x,?,0.5,7\n 2 ,3,NA,1e-3,8\n?,4,,inf,word\n").unwrap();
    assert_eq!(kinds, [Number, Category, Number, Number, Category]);
    assert!(detect("a,b\n1\n").is_err());
    assert!(detect("a,b\n").is_err());
}

/// What tables are made of, and what they stumble over.
const PIECES: &[&[u8]] = &[
    b",",
    b"\n",
    b"\r\n",
    b"\"",
    b" ",
    b"\t",
    b"?",
    b"NA",
    b"NaN",
    b"inf",
    b"1",
    b"2.5",
    b"-3e8",
    b"1e99",
    b"x",
    b"\xEF\xBB\xBF",
];

fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => proptest::sample::select(PIECES).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn any_kind() -> impl Strategy<Value = Kind> {
    proptest::sample::select(&[Number, Category, Label, Dropped][..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Whatever the bytes and the declaration: a table whose columns are all of one length, or an error.
    #[test]
    fn no_bytes_panic(
        text in any_text(),
        kinds in proptest::collection::vec(any_kind(), 0..4),
        separator in proptest::sample::select(&[Separator::Comma, Separator::Byte(b'\t'), Separator::Whitespace][..]),
        header in proptest::sample::select(&[Header::Absent, Header::Names, Header::Skipped][..]),
        missing in proptest::sample::select(&[Missing::DropRow, Missing::IsCategory, Missing::IsError, Missing::OwnCategory, Missing::Median][..]),
    ) {
        let open = || TableReader::new(&text[..], "t", separator, header);
        let detected = open().and_then(TableReader::profile);
        let detected = detected.map(|profiles| profiles.iter().map(kind_of).collect::<Vec<_>>());
        for kinds in detected.into_iter().chain([kinds]) {
            let Ok(table) = open().and_then(|reader| reader.read(&kinds, missing)) else { continue };
            prop_assert!(table.n_rows > 0);
            for feature in &table.features {
                match &feature.values {
                    Values::Numbers(column) => {
                        prop_assert_eq!(column.len(), table.n_rows);
                        prop_assert!((0..table.n_rows).all(|row| (column.number(row) as f32).is_finite()));
                    }
                    Values::Categories(column) => {
                        for row in 0..table.n_rows {
                            prop_assert!(column.code(row) < column.categories().len());
                        }
                    }
                }
            }
        }
    }
}
