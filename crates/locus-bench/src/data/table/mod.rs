//! Delimited text into columns, in one pass.
//!
//! Numbers become `f32`, or `f64` in a column where one of them needs it; texts become category codes of one, two or four bytes;
//! no row objects and no copy of the text are kept. So the 2.46 million rows of the census take 170 MB; rows are one-hot encoded
//! only when they are used.

mod categories;
mod numbers;
mod profile;
mod reader;
mod records;

pub(crate) use categories::{CategoryBuilder, CategoryColumn};
pub(crate) use numbers::NumberColumn;
pub(crate) use profile::Profile;
pub(crate) use reader::TableReader;

/// The separator between cells. Blanks around a cell are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// A comma; cells may be quoted as RFC 4180 says.
    Comma,
    /// Another byte, with the same quotes.
    Byte(u8),
    /// Any number of spaces and tabs.
    Whitespace,
}

/// The contents of the first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// A row like any other.
    Absent,
    /// The names of the columns.
    Names,
    /// Ignored; it may use another separator than the rows.
    Skipped,
}

/// What a column is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A feature: finite numbers.
    Number,
    /// A feature: one of several categories.
    Category,
    /// The class of the row; at most one column is the label.
    Label,
    /// Not read at all.
    Dropped,
}

/// How rows with missing cells are handled.
///
/// A cell is missing if it is empty, `?`, `NA` (as R and pandas write it; `na` and `Na` are words) or `NaN` in
/// any case (programs differ in how they write it, and it is no word).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The row is dropped, and counted.
    DropRow,
    /// It is a category like any other; in a numeric column it is an error.
    IsCategory,
    /// It is an error.
    IsError,
    /// In a text column it is a separate category, however it is written. A row with a missing number or label is dropped, and counted.
    OwnCategory,
    /// In a numeric column it is the median of the kept rows, in a text column a separate category. A row without a label is
    /// dropped, and counted.
    Median,
}

impl Missing {
    /// Whether a missing cell of this kind drops the row or is an error.
    fn is_gap(self, kind: Kind) -> bool {
        match (self, kind) {
            (_, Kind::Dropped) | (Self::IsCategory, _) => false,
            (Self::DropRow | Self::IsError, _) => true,
            (Self::OwnCategory, kind) => kind != Kind::Category,
            (Self::Median, kind) => kind == Kind::Label,
        }
    }

    /// Whether missing cells are filled.
    fn fills(self) -> bool {
        matches!(self, Self::OwnCategory | Self::Median)
    }
}

/// The rows of a file, column by column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    /// Number of rows that were kept.
    pub(crate) n_rows: usize,
    /// Number of rows dropped because a cell is missing.
    pub(crate) n_dropped: usize,
    /// For each column of the file, how many of the dropped rows have no value in it.
    pub(crate) dropped: Vec<usize>,
    /// The columns that describe a row, in the order of the file.
    pub(crate) features: Vec<Feature>,
    /// The classes, if a column was declared as [`Kind::Label`].
    pub(crate) label: Option<CategoryColumn>,
}

/// A column that describes a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Feature {
    /// The name in the header, or `column 3` (from 1) in a file without one.
    pub(crate) name: String,
    /// Its values.
    pub(crate) values: Values,
}

/// The values of a column, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    /// Finite numbers.
    Numbers(NumberColumn),
    /// Texts.
    Categories(CategoryColumn),
}

#[cfg(test)]
mod tests;
