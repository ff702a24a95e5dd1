//! Rows of a table as contexts: numbers unchanged, categories one-hot encoded.
//!
//! The categories are those of the whole file, in their sorted order, so the width never changes.

use crate::data::table::{Feature, Values};

/// Number of features that a column makes.
pub(super) fn width(feature: &Feature) -> usize {
    match &feature.values {
        Values::Numbers(_) => 1,
        Values::Categories(column) => column.categories().len(),
    }
}

/// Number of features that all columns make.
pub(super) fn total_width(features: &[Feature]) -> usize {
    features.iter().map(width).sum()
}

/// Writes a row into `context`, column by column, each number as `narrow` makes it.
pub(super) fn encode<T: Copy>(features: &[Feature], row: usize, context: &mut [T], narrow: fn(f64) -> T) {
    context.fill(narrow(0.0));
    let mut start = 0;
    for feature in features {
        match &feature.values {
            Values::Numbers(column) => context[start] = narrow(column.number(row)),
            Values::Categories(column) => context[start + column.code(row)] = narrow(1.0),
        }
        start += width(feature);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::table::{Header, Kind, Missing, Separator, TableReader};

    #[test]
    fn a_row_is_numbers_and_indicators_in_the_order_of_the_columns() {
        let text = "10,-1.5,b\n9,2,a\n10,3,c\n2,4,a\n";
        let table = TableReader::new(text.as_bytes(), "t", Separator::Comma, Header::Absent)
            .unwrap()
            .read(&[Kind::Category, Kind::Number, Kind::Category], Missing::IsError)
            .unwrap();
        assert_eq!(total_width(&table.features), 7);
        let mut context = [9.0; 7];
        encode(&table.features, 0, &mut context, |number| number);
        assert_eq!(context, [0.0, 0.0, 1.0, -1.5, 0.0, 1.0, 0.0]);
        encode(&table.features, 3, &mut context, |number| number);
        assert_eq!(context, [1.0, 0.0, 0.0, 4.0, 1.0, 0.0, 0.0]);
    }
}
