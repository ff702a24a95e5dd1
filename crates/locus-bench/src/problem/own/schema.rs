//! The schema of a table: how each column is used, and why.
//!
//! A numeric column is one feature, a categorical column one indicator per value. Columns that would only widen contexts are ignored:
//! identifiers, dates, free text, constant text. `--categorical` and `--numeric` force a column back. A constant numeric column is kept as a
//! feature that is always 0: the digits behind `docs/evidence/own-digits` have three, and its rows stay reproducible.

use crate::data::table::{Kind, Missing, Profile};

/// A text column with more distinct values is ignored.
const MAX_VALUES: usize = 100;
/// A label with more distinct values has to be forced.
pub(super) const MAX_LABEL_VALUES: usize = 100;
/// With fewer cells, distinct values do not show that a column is an identifier or free text.
const MIN_CELLS: usize = 20;

/// How a table is read: its columns, and how many rows are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// The columns, in the order of the file.
    pub columns: Vec<Column>,
    /// C, the width of the contexts.
    pub n_features: usize,
    /// A, the number of distinct labels; `None` if no label was named.
    pub n_actions: Option<usize>,
    /// Rows of the file.
    pub rows_read: usize,
    /// Rows dropped because a value is missing.
    pub rows_dropped: usize,
    /// How missing values were handled.
    pub missing: MissingValues,
    /// The delimiter between cells.
    pub delimiter: u8,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// As the header says.
    pub name: String,
    /// How it is used.
    pub usage: Usage,
    /// Whether an option decided this, rather than the column's cells.
    pub is_forced: bool,
    /// Rows in which its value is missing.
    pub missing: usize,
    /// Rows dropped because its value is missing. A row that misses two values counts for both columns.
    pub rows_dropped: usize,
}

/// How a column is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// One feature.
    Numeric {
        /// Whether all values are equal, so that the feature is always 0.
        is_constant: bool,
    },
    /// One feature per value.
    Categorical {
        /// Number of distinct values in the rows that are used.
        values: usize,
    },
    /// The actions.
    Label {
        /// Number of distinct values in the rows that are used.
        values: usize,
    },
    /// Not used.
    Ignored(Reason),
}

/// Why a column is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// `--ignore` names it.
    Asked,
    /// Every value is missing.
    Empty,
    /// Its values are dates or times.
    Date,
    /// At least 95 % of the values are distinct, and they are texts or consist of digits.
    Identifier {
        /// Number of distinct values.
        values: usize,
    },
    /// All values are the same text.
    Constant,
    /// More than 100 distinct texts, or fewer than two rows per text.
    TooManyValues {
        /// Number of distinct values.
        values: usize,
    },
}

/// How missing values are handled: empty cells, `?`, `NA` and `NaN`.
///
/// A row without a label is always dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingValues {
    /// The row is dropped.
    #[default]
    Drop,
    /// In a categorical column they are a category of their own; rows with a missing number are dropped.
    Category,
    /// In a numeric column they are the median, in a categorical column a category of their own.
    Median,
}

impl MissingValues {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Drop, Self::Category, Self::Median];

    /// The name in suites, records and `--missing`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Category => "category",
            Self::Median => "median",
        }
    }

    pub(super) fn rule(self) -> Missing {
        match self {
            Self::Drop => Missing::DropRow,
            Self::Category => Missing::OwnCategory,
            Self::Median => Missing::Median,
        }
    }
}

impl Reason {
    /// One word for records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Empty => "empty",
            Self::Date => "date",
            Self::Identifier { .. } => "identifier",
            Self::Constant => "constant",
            Self::TooManyValues { .. } => "too many values",
        }
    }

    /// The number of distinct values, where that is the reason.
    pub fn values(self) -> Option<usize> {
        match self {
            Self::Identifier { values } | Self::TooManyValues { values } => Some(values),
            Self::Asked | Self::Empty | Self::Date | Self::Constant => None,
        }
    }
}

/// How a column is used unless an option decides; categories are counted again once rows are dropped.
pub(super) fn automatic(profile: &Profile, missing: MissingValues) -> Usage {
    let Profile { n_cells, n_missing, n_distinct: values, is_number, is_digits, is_date, .. } = *profile;
    let is_long = n_cells >= MIN_CELLS;
    // A gap may be a second category.
    let is_constant = values == 1 && (n_missing == 0 || missing == MissingValues::Drop);
    let is_identifier = is_long && (is_digits || !is_number) && values * 20 >= n_cells * 19;
    match () {
        () if n_cells == 0 => Usage::Ignored(Reason::Empty),
        () if is_date && !is_number => Usage::Ignored(Reason::Date),
        () if is_identifier => Usage::Ignored(Reason::Identifier { values }),
        () if is_number => Usage::Numeric { is_constant: values == 1 },
        () if is_constant => Usage::Ignored(Reason::Constant),
        () if values > MAX_VALUES || is_long && values * 2 > n_cells => {
            Usage::Ignored(Reason::TooManyValues { values })
        }
        () => Usage::Categorical { values },
    }
}

impl Usage {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Numeric { .. } => Kind::Number,
            Self::Categorical { .. } => Kind::Category,
            Self::Label { .. } => Kind::Label,
            Self::Ignored(_) => Kind::Dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(n_cells: usize, n_distinct: usize) -> Profile {
        Profile {
            n_cells,
            n_missing: 0,
            n_distinct,
            is_number: true,
            is_digits: false,
            is_date: false,
            fraction: None,
        }
    }

    fn digits(n_cells: usize, n_distinct: usize) -> Profile {
        Profile { is_digits: true, ..number(n_cells, n_distinct) }
    }

    fn text(n_cells: usize, n_distinct: usize) -> Profile {
        Profile { is_number: false, ..number(n_cells, n_distinct) }
    }

    fn usage(profile: &Profile) -> Usage {
        automatic(profile, MissingValues::Drop)
    }

    #[test]
    fn identifiers_are_digits_or_texts_of_which_hardly_two_are_alike() {
        let identifier = |values| Usage::Ignored(Reason::Identifier { values });
        for profile in [digits, text] {
            assert_eq!(usage(&profile(1000, 1000)), identifier(1000));
            assert_eq!(usage(&profile(1000, 950)), identifier(950));
            assert_ne!(usage(&profile(1000, 949)), identifier(949));
            assert_eq!(usage(&profile(20, 20)), identifier(20));
            assert_ne!(usage(&profile(19, 19)), identifier(19));
        }
        // Measurements differ in every row.
        assert_eq!(usage(&number(1000, 1000)), Usage::Numeric { is_constant: false });
    }

    #[test]
    fn texts_of_many_values_and_of_one_are_ignored_and_numbers_never() {
        let many = |values| Usage::Ignored(Reason::TooManyValues { values });
        assert_eq!(usage(&text(3000, 101)), many(101));
        assert_eq!(usage(&text(3000, 100)), Usage::Categorical { values: 100 });
        assert_eq!(usage(&text(100, 51)), many(51));
        assert_eq!(usage(&text(100, 50)), Usage::Categorical { values: 50 });
        // Too few rows to tell.
        assert_eq!(usage(&text(19, 18)), Usage::Categorical { values: 18 });
        assert_eq!(usage(&text(9, 1)), Usage::Ignored(Reason::Constant));
        assert_eq!(usage(&number(9, 1)), Usage::Numeric { is_constant: true });
        assert_eq!(usage(&digits(3000, 2000)), Usage::Numeric { is_constant: false });
    }

    #[test]
    fn a_gap_is_a_second_category_only_where_it_is_one() {
        let gaps = Profile { n_missing: 2, ..text(9, 1) };
        assert_eq!(automatic(&gaps, MissingValues::Drop), Usage::Ignored(Reason::Constant));
        for missing in [MissingValues::Category, MissingValues::Median] {
            assert_eq!(automatic(&gaps, missing), Usage::Categorical { values: 1 });
        }
    }

    #[test]
    fn dates_and_empty_columns_are_ignored() {
        let date = Profile { is_date: true, ..text(9, 3) };
        assert_eq!(usage(&date), Usage::Ignored(Reason::Date));
        let unique = Profile { is_date: true, ..text(1000, 1000) };
        assert_eq!(usage(&unique), Usage::Ignored(Reason::Date));
        let empty = Profile { n_missing: 9, is_date: true, ..digits(0, 0) };
        assert_eq!(usage(&empty), Usage::Ignored(Reason::Empty));
    }
}
