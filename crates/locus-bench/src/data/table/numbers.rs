//! Columns of numbers, in `f32` as long as that loses nothing.

/// A column of finite numbers, none beyond the range of `f32`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NumberColumn {
    numbers: Numbers,
}

/// Numbers in the narrower type that holds every one of them exactly.
#[derive(Clone, Debug, PartialEq)]
enum Numbers {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl NumberColumn {
    pub(crate) fn new() -> Self {
        Self { numbers: Numbers::F32(Vec::new()) }
    }

    /// The number in this row, as the file has it. Panics if there is no such row.
    pub(crate) fn number(&self, row: usize) -> f64 {
        match &self.numbers {
            Numbers::F32(numbers) => numbers[row].into(),
            Numbers::F64(numbers) => numbers[row],
        }
    }

    /// Number of rows.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        match &self.numbers {
            Numbers::F32(numbers) => numbers.len(),
            Numbers::F64(numbers) => numbers.len(),
        }
    }

    /// Adds the number of the next row.
    pub(crate) fn push(&mut self, number: f64) {
        if let Numbers::F32(numbers) = &mut self.numbers {
            let narrow = number as f32;
            if f64::from(narrow) == number {
                return numbers.push(narrow);
            }
            self.numbers = Numbers::F64(numbers.iter().map(|&number| number.into()).collect());
        }
        if let Numbers::F64(numbers) = &mut self.numbers {
            numbers.push(number);
        }
    }

    /// Replaces the numbers of these rows, in ascending order, by the median of all others; by 0 where there are none.
    pub(super) fn fill_with_median(&mut self, n_rows: usize, gaps: &[usize]) {
        let mut present: Vec<f64> =
            (0..n_rows).filter(|row| gaps.binary_search(row).is_err()).map(|row| self.number(row)).collect();
        present.sort_unstable_by(f64::total_cmp);
        let middle = present.len() / 2;
        let median = match present.len() {
            0 => 0.0,
            n if n % 2 == 1 => present[middle],
            _ => f64::midpoint(present[middle - 1], present[middle]),
        };
        let mut filled = Self::new();
        for row in 0..n_rows {
            filled.push(if gaps.binary_search(&row).is_ok() { median } else { self.number(row) });
        }
        *self = filled;
    }

    pub(super) fn shrink_to_fit(&mut self) {
        match &mut self.numbers {
            Numbers::F32(numbers) => numbers.shrink_to_fit(),
            Numbers::F64(numbers) => numbers.shrink_to_fit(),
        }
    }

    /// Bytes per row.
    #[cfg(test)]
    pub(crate) fn number_bytes(&self) -> usize {
        match &self.numbers {
            Numbers::F32(_) => 4,
            Numbers::F64(_) => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(numbers: &[f64]) -> NumberColumn {
        let mut column = NumberColumn::new();
        numbers.iter().for_each(|&number| column.push(number));
        column.shrink_to_fit();
        column
    }

    #[test]
    fn whole_and_binary_numbers_stay_narrow() {
        assert_eq!(column(&[0.0, -1.0, 581_012.0, 16_777_216.0, 0.375, 3e38_f32.into()]).number_bytes(), 4);
        for wide in [0.1, 16_777_217.0, 1_763_240_000.1, 1e-300] {
            assert_eq!(column(&[1.0, wide, 2.0]).number_bytes(), 8, "{wide}");
        }
    }

    proptest! {
        #[test]
        fn every_number_comes_back_as_it_was(
            numbers in proptest::collection::vec(prop_oneof![-3e38..3e38, (-9..9).prop_map(f64::from)], 0..20),
        ) {
            let column = column(&numbers);
            prop_assert_eq!(column.len(), numbers.len());
            prop_assert!(numbers.iter().enumerate().all(|(row, &number)| column.number(row) == number));
        }
    }
}
