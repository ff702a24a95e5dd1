//! The schema of a table in `run.json`.

use serde::{Deserialize, Serialize};

use crate::problem::{Column, Schema, Usage};

/// How a table was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaRecord {
    /// The delimiter between cells.
    pub delimiter: String,
    /// How missing values were handled: `drop`, `category` or `median`.
    pub missing: String,
    /// Rows of the file.
    pub rows_read: usize,
    /// Rows dropped because a value is missing.
    pub rows_dropped: usize,
    /// The columns, in the order of the file.
    pub columns: Vec<ColumnRecord>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnRecord {
    /// As the header says.
    pub name: String,
    /// `numeric`, `categorical`, `label` or `ignored`.
    pub usage: String,
    /// Why it is ignored; `constant` for a numeric column whose values are all equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of distinct values, where it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<usize>,
    /// Whether an option decided this; not written if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// Rows in which its value is missing.
    pub missing: usize,
    /// Rows dropped because its value is missing.
    pub rows_dropped: usize,
}

impl From<&Schema> for SchemaRecord {
    fn from(schema: &Schema) -> Self {
        Self {
            delimiter: char::from(schema.delimiter).to_string(),
            missing: schema.missing.name().to_owned(),
            rows_read: schema.rows_read,
            rows_dropped: schema.rows_dropped,
            columns: schema.columns.iter().map(ColumnRecord::from).collect(),
        }
    }
}

impl From<&Column> for ColumnRecord {
    fn from(column: &Column) -> Self {
        let (usage, reason, values) = match column.usage {
            Usage::Numeric { is_constant } => ("numeric", is_constant.then_some("constant"), None),
            Usage::Categorical { values } => ("categorical", None, Some(values)),
            Usage::Label { values } => ("label", None, Some(values)),
            Usage::Ignored(reason) => ("ignored", Some(reason.name()), reason.values()),
        };
        Self {
            name: column.name.clone(),
            usage: usage.to_owned(),
            reason: reason.map(str::to_owned),
            values,
            forced: column.is_forced,
            missing: column.missing,
            rows_dropped: column.rows_dropped,
        }
    }
}
