//! `locus inspect`: how a file of your own is read. `locus bench` prints the same for a table before it runs.

use std::path::Path;

use anyhow::{Result, bail};
use locus_bench::problem::{
    self, Column, CsvOptions, MissingValues, Reason, RoundsSummary, Schema, Usage, inspect_csv, inspect_npz,
};

use crate::args::InspectArgs;
use crate::output::{print, tell};
use crate::words::count;

/// Reads the file and prints its schema. Runs nothing.
pub(crate) fn run(args: &InspectArgs) -> Result<u8> {
    let file = &args.file;
    let (text, notes) = if problem::is_npz(file) {
        let given = args.label.as_ref().map(|_| "--label").or(args.columns.given());
        if let Some(option) = given {
            bail!(
                "{option} applies to the columns of a CSV file, but {} is an NPZ file; omit it",
                file.display()
            );
        }
        let summary = inspect_npz(file)?;
        (describe_rounds(&summary, file), summary.notes)
    } else {
        let inspected = inspect_csv(file, args.label.as_deref(), &CsvOptions::from(&args.columns))?;
        let mut text = describe_schema(&inspected.schema, file, Detail::Full);
        if args.label.is_none() {
            text.push_str("  no label: name the column to predict with --label COLUMN\n");
        }
        (text, inspected.notes)
    };
    print(&text)?;
    for note in notes {
        tell(&format!("note: {note}"));
    }
    Ok(0)
}

/// The level of detail of a table's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// One line per column.
    Full,
    /// In a wide table, adjacent columns with the same description share a line.
    Short,
}

/// Tables with more columns are wide.
const WIDE: usize = 20;

/// The schema as text.
pub(crate) fn describe_schema(schema: &Schema, file: &Path, detail: Detail) -> String {
    let Schema { columns, n_features, n_actions, rows_read, rows_dropped, missing, .. } = schema;
    let mut text = format!(
        "{}: {} read, {} used; {}",
        file.display(),
        count(*rows_read, "row"),
        rows_read - rows_dropped,
        count(*n_features, "feature")
    );
    match n_actions {
        Some(n_actions) => text.push_str(&format!(", {}\n", count(*n_actions, "action"))),
        None => text.push('\n'),
    }
    let described = columns.iter().map(|column| (name(&column.name), describe_column(column, *missing)));
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut described = described.peekable();
    while let Some((first, words)) = described.next() {
        let (mut n_alike, mut last) = (1, None);
        while detail == Detail::Short
            && columns.len() > WIDE
            && let Some((name, _)) = described.next_if(|(_, next)| *next == words)
        {
            n_alike += 1;
            last = Some(name);
        }
        lines.push(match last {
            Some(last) => (format!("{first} … {last}"), format!("{n_alike} columns: {words}")),
            None => (first, words),
        });
    }
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, words) in lines {
        let blanks = " ".repeat(width - name.chars().count());
        text.push_str(&format!("  {name}{blanks}  {words}\n"));
    }
    if *rows_dropped > 0 {
        let keep = match missing {
            MissingValues::Median => String::new(),
            _ => "; --missing median keeps them and fills numbers with the median".to_owned(),
        };
        text.push_str(&format!(
            "  {} dropped because a value is missing{keep}\n",
            count(*rows_dropped, "row")
        ));
    }
    let is_guess = |column: &&Column| matches!(column.usage, Usage::Ignored(_)) && !column.is_forced;
    let n_ignored = columns.iter().filter(is_guess).count();
    if n_ignored > 0 {
        text.push_str(&format!(
            "  {} ignored; force one with --categorical COLUMN or --numeric COLUMN\n",
            count(n_ignored, "column")
        ));
    }
    text
}

fn describe_column(column: &Column, missing: MissingValues) -> String {
    let mut words = match column.usage {
        Usage::Numeric { is_constant: true } => "numeric; constant, so its feature is always 0".to_owned(),
        Usage::Numeric { is_constant: false } => "numeric".to_owned(),
        Usage::Categorical { values } => format!("categorical, {}", count(values, "value")),
        Usage::Label { values } => format!("label, {}", count(values, "value")),
        Usage::Ignored(reason) => return format!("ignored: {}", describe_reason(reason)),
    };
    if column.is_forced {
        words.push_str(", forced");
    }
    if column.rows_dropped > 0 {
        words.push_str(&format!("; {} without a value dropped", count(column.rows_dropped, "row")));
    } else if column.missing > 0 {
        let filled = match (missing, column.usage) {
            (MissingValues::Median, Usage::Numeric { .. }) => "filled with the median",
            _ => "a separate category",
        };
        words.push_str(&format!("; missing in {}, {filled}", count(column.missing, "row")));
    }
    words
}

fn describe_reason(reason: Reason) -> String {
    match reason {
        Reason::Asked => "--ignore".to_owned(),
        Reason::Empty => "empty, every value is missing".to_owned(),
        Reason::Date => "date or time".to_owned(),
        Reason::Identifier { values } => format!("identifier or free text, {values} distinct values"),
        Reason::Constant => "constant, every value is the same".to_owned(),
        Reason::TooManyValues { values } => format!("too many values, {values} distinct texts"),
    }
}

/// A column name, shortened and without control characters.
fn name(name: &str) -> String {
    const LONGEST: usize = 40;
    let name = name.replace(char::is_control, " ");
    match name.chars().count() {
        0 => "(no name)".to_owned(),
        n if n > LONGEST => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        _ => name,
    }
}

fn describe_rounds(summary: &RoundsSummary, file: &Path) -> String {
    let RoundsSummary { n_rounds, shape, mean_rewards, mean_best_reward, mean_optimal, .. } = summary;
    let (n_features, n_actions) = (shape.n_features, shape.n_actions);
    let best = mean_rewards.iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
    let (best, mean) = best.map_or((0, f64::NAN), |(action, mean)| (action, *mean));
    let lowest = mean_rewards.iter().copied().fold(f64::INFINITY, f64::min);
    let mut text = format!(
        "{}: {}; {}, {}\n  contexts  [{n_rounds}, {n_features}]\n  rewards   [{n_rounds}, {n_actions}]; mean by action {lowest:.4} to {mean:.4} (action {best}), of the best in each round {mean_best_reward:.4}\n",
        file.display(),
        count(*n_rounds, "round"),
        count(n_features, "feature"),
        count(n_actions, "action"),
    );
    text.push_str(&match mean_optimal {
        Some(mean) => format!("  optimal   [{n_rounds}]; mean {mean:.4}: regret is measured against it, the best expected reward\n"),
        None => "  optimal   not given: regret is measured against the best reward in each round\n".to_owned(),
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, usage: Usage) -> Column {
        Column { name: name.to_owned(), usage, is_forced: false, missing: 0, rows_dropped: 0 }
    }

    fn schema(columns: Vec<Column>) -> Schema {
        Schema {
            columns,
            n_features: 3,
            n_actions: Some(2),
            rows_read: 10,
            rows_dropped: 0,
            missing: MissingValues::Drop,
            delimiter: b',',
        }
    }

    #[test]
    fn neighbors_that_are_alike_share_a_line_in_a_wide_table() {
        let numbers =
            |n: usize| (0..n).map(|i| column(&format!("x{i}"), Usage::Numeric { is_constant: false }));
        let label = column("kind", Usage::Label { values: 2 });
        let wide = schema(numbers(20).chain([label.clone()]).collect());
        let short = describe_schema(&wide, Path::new("a.csv"), Detail::Short);
        assert_eq!(
            short,
            "a.csv: 10 rows read, 10 used; 3 features, 2 actions\n  x0 … x19  20 columns: numeric\n  kind      label, 2 values\n"
        );
        assert_eq!(describe_schema(&wide, Path::new("a.csv"), Detail::Full).lines().count(), 22);
        let narrow = schema(numbers(19).chain([label]).collect());
        assert_eq!(describe_schema(&narrow, Path::new("a.csv"), Detail::Short).lines().count(), 21);
    }

    #[test]
    fn what_becomes_of_missing_values_is_said() {
        let gaps = |usage| Column { missing: 3, ..column("a", usage) };
        let number = Usage::Numeric { is_constant: false };
        for (usage, missing, expected) in [
            (number, MissingValues::Median, "numeric; missing in 3 rows, filled with the median"),
            (
                Usage::Categorical { values: 1 },
                MissingValues::Median,
                "categorical, 1 value; missing in 3 rows, a separate category",
            ),
            (
                Usage::Categorical { values: 2 },
                MissingValues::Category,
                "categorical, 2 values; missing in 3 rows, a separate category",
            ),
        ] {
            assert_eq!(describe_column(&gaps(usage), missing), expected);
        }
        let dropped = Column { rows_dropped: 1, ..gaps(number) };
        assert_eq!(describe_column(&dropped, MissingValues::Drop), "numeric; 1 row without a value dropped");
        let forced = Column { is_forced: true, ..column("a", number) };
        assert_eq!(describe_column(&forced, MissingValues::Drop), "numeric, forced");
    }

    #[test]
    fn names_fit_into_a_line() {
        assert_eq!(name("a\nb"), "a b");
        assert_eq!(name(""), "(no name)");
        assert_eq!(name(&"é".repeat(50)).chars().count(), 40);
    }
}
