//! Records into columns, cell by cell.

use std::io::Read;

use csv::ByteRecord;

use super::categories::CategoryBuilder;
use super::numbers::NumberColumn;
use super::profile::{Profile, ProfileBuilder};
use super::records::Records;
use super::{Feature, Header, Kind, Missing, Separator, Table, Values};
use crate::Error;
use crate::error::ErrorKind;

/// A table about to be read: the header is known, the rows are not.
pub(crate) struct TableReader<R> {
    records: Records<R>,
    names: Option<Vec<String>>,
}

impl<R: Read> TableReader<R> {
    /// Reads the header. `file` is what messages call the input.
    pub(crate) fn new(input: R, file: &str, separator: Separator, header: Header) -> Result<Self, Error> {
        let mut records = Records::new(input, file, separator);
        let mut names = None;
        if header != Header::Absent {
            let mut record = ByteRecord::new();
            if records.next(&mut record)?.is_none() {
                return Err(invalid(file, "the file is empty, expected a header and rows".to_owned()));
            }
            if header == Header::Names {
                let name = |cell: &[u8]| String::from_utf8_lossy(cell.trim_ascii()).into_owned();
                names = Some(record.iter().map(name).collect());
            }
        }
        Ok(Self { records, names })
    }

    /// The names of the columns; empty for a file without them.
    pub(crate) fn names(&self) -> &[String] {
        self.names.as_deref().unwrap_or_default()
    }

    /// Reads all rows; `kinds` declares every column.
    pub(crate) fn read(mut self, kinds: &[Kind], missing: Missing) -> Result<Table, Error> {
        let mut columns: Vec<_> = kinds.iter().map(|&kind| ColumnBuilder::new(kind)).collect();
        let (mut n_rows, mut n_dropped) = (0, 0);
        let mut dropped = vec![0; kinds.len()];
        let mut record = ByteRecord::new();
        self.check_header(kinds.len())?;
        while let Some(line) = self.records.next(&mut record)? {
            self.check_width(&record, line, kinds.len())?;
            if missing != Missing::IsCategory {
                let is_gap =
                    |(cell, kind): (&[u8], &Kind)| missing.is_gap(*kind) && is_missing(cell.trim_ascii());
                if let Some(index) = record.iter().zip(kinds).position(is_gap) {
                    if missing == Missing::IsError {
                        let problem = "the value is missing, which this file does not allow";
                        return Err(self.invalid_cell(line, index, kinds.len(), problem.to_owned()));
                    }
                    for (n_dropped, cell) in dropped.iter_mut().zip(record.iter().zip(kinds)) {
                        *n_dropped += usize::from(is_gap(cell));
                    }
                    n_dropped += 1;
                    continue;
                }
            }
            for (index, (cell, column)) in record.iter().zip(&mut columns).enumerate() {
                let cell = cell.trim_ascii();
                if missing.fills() && is_missing(cell) {
                    column.push_gap(n_rows);
                    continue;
                }
                column.push(cell).map_err(|problem| self.invalid_cell(line, index, kinds.len(), problem))?;
            }
            n_rows += 1;
        }
        self.check_rows(n_rows, n_dropped)?;

        let mut table = Table { n_rows, n_dropped, dropped, features: Vec::new(), label: None };
        for (index, column) in columns.into_iter().enumerate() {
            let values = match column {
                ColumnBuilder::Numbers { mut numbers, gaps } => {
                    if !gaps.is_empty() {
                        numbers.fill_with_median(n_rows, &gaps);
                    }
                    numbers.shrink_to_fit();
                    Values::Numbers(numbers)
                }
                ColumnBuilder::Categories(builder) => {
                    Values::Categories(builder.finish(self.records.file())?)
                }
                ColumnBuilder::Label(builder) => {
                    table.label = Some(builder.finish(self.records.file())?);
                    continue;
                }
                ColumnBuilder::Dropped => continue,
            };
            table.features.push(Feature { name: self.name(index), values });
        }
        Ok(table)
    }

    /// Reads all rows for statistics of their columns. Keeps no rows; the file is opened again for reading them.
    pub(crate) fn profile(mut self) -> Result<Vec<Profile>, Error> {
        let mut columns: Vec<ProfileBuilder> = self.names().iter().map(|_| ProfileBuilder::new()).collect();
        let mut n_rows = 0;
        let mut record = ByteRecord::new();
        while let Some(line) = self.records.next(&mut record)? {
            if n_rows == 0 && self.names.is_none() {
                columns.resize_with(record.len(), ProfileBuilder::new);
            }
            self.check_width(&record, line, columns.len())?;
            for (cell, column) in record.iter().zip(&mut columns) {
                column.push(cell.trim_ascii());
            }
            n_rows += 1;
        }
        self.check_rows(n_rows, 0)?;
        Ok(columns.into_iter().map(ProfileBuilder::finish).collect())
    }

    fn check_header(&self, n_columns: usize) -> Result<(), Error> {
        match &self.names {
            Some(names) if names.len() != n_columns => {
                let problem = format!("the header has {} columns, expected {n_columns}", names.len());
                Err(invalid(self.records.file(), problem))
            }
            _ => Ok(()),
        }
    }

    fn check_width(&self, record: &ByteRecord, line: u64, n_columns: usize) -> Result<(), Error> {
        if record.len() == n_columns {
            return Ok(());
        }
        let problem = format!("the row has {} cells, expected {n_columns}", record.len());
        Err(ErrorKind::InvalidRow { file: self.records.file().to_owned(), line, problem }.into())
    }

    fn check_rows(&self, n_rows: usize, n_dropped: usize) -> Result<(), Error> {
        if n_rows > 0 {
            return Ok(());
        }
        let problem = match (n_dropped, &self.names) {
            (0, None) => "the file has no rows".to_owned(),
            (0, Some(_)) => "the file has a header but no rows".to_owned(),
            _ => format!("all {n_dropped} rows have a missing cell, expected at least one without"),
        };
        Err(invalid(self.records.file(), problem))
    }

    fn name(&self, index: usize) -> String {
        self.names.as_ref().map_or_else(|| format!("column {}", index + 1), |names| names[index].clone())
    }

    fn invalid_cell(&self, line: u64, index: usize, n_columns: usize, problem: String) -> Error {
        let mut column = format!("column {} of {n_columns}", index + 1);
        if let Some(names) = &self.names {
            column.push_str(&format!(" (`{}`)", names[index]));
        }
        Error::from(ErrorKind::InvalidCell { file: self.records.file().to_owned(), line, column, problem })
    }
}

/// A column under way.
enum ColumnBuilder {
    /// The numbers of the rows in `gaps` are missing.
    Numbers {
        numbers: NumberColumn,
        gaps: Vec<usize>,
    },
    Categories(CategoryBuilder),
    Label(CategoryBuilder),
    Dropped,
}

impl ColumnBuilder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Number => Self::Numbers { numbers: NumberColumn::new(), gaps: Vec::new() },
            Kind::Category => Self::Categories(CategoryBuilder::new()),
            Kind::Label => Self::Label(CategoryBuilder::new()),
            Kind::Dropped => Self::Dropped,
        }
    }

    fn push(&mut self, cell: &[u8]) -> Result<(), String> {
        match self {
            Self::Numbers { numbers, .. } => numbers.push(parse_number(cell)?),
            Self::Categories(builder) | Self::Label(builder) => builder.push(cell),
            Self::Dropped => {}
        }
        Ok(())
    }

    /// Adds a missing cell, in this row. No cell that is there is empty, so an empty text is a separate category.
    fn push_gap(&mut self, row: usize) {
        match self {
            Self::Numbers { numbers, gaps } => {
                numbers.push(0.0);
                gaps.push(row);
            }
            Self::Categories(builder) | Self::Label(builder) => builder.push(b""),
            Self::Dropped => {}
        }
    }
}

pub(super) fn is_missing(cell: &[u8]) -> bool {
    matches!(cell, b"" | b"?" | b"NA") || cell.eq_ignore_ascii_case(b"nan")
}

/// A number of the range of `f32`, in which policies see it: what is too large for that is refused, and what is too
/// small is 0. So its square, too, can be trusted.
fn parse_number(cell: &[u8]) -> Result<f64, String> {
    if let &[digit @ b'0'..=b'9'] = cell {
        return Ok(f64::from(digit - b'0'));
    }
    match std::str::from_utf8(cell).ok().and_then(|cell| cell.parse::<f64>().ok()) {
        Some(number) if number as f32 == 0.0 => Ok(f64::from(number as f32)),
        Some(number) if (number as f32).is_finite() => Ok(number),
        Some(_) => Err(format!("found `{}`, expected a finite number below 3.4e38", shorten(cell))),
        None => Err(format!("found `{}`, expected a number", shorten(cell))),
    }
}

/// A cell as messages show it: no cell fills the screen.
pub(super) fn shorten(cell: &[u8]) -> String {
    let cell = String::from_utf8_lossy(cell);
    if cell.chars().count() <= 40 {
        cell.into_owned()
    } else {
        cell.chars().take(39).chain(['…']).collect()
    }
}

fn invalid(file: &str, problem: String) -> Error {
    Error::from(ErrorKind::InvalidFile { file: file.to_owned(), problem })
}
