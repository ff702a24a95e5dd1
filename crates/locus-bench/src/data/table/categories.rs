//! Text columns as category codes, in the least memory that holds them.

use std::collections::HashMap;

use crate::Error;
use crate::error::ErrorKind;

/// A column of text: a code for every row, and what the codes mean.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CategoryColumn {
    codes: Codes,
    categories: Vec<String>,
}

impl CategoryColumn {
    /// The different texts of the column, sorted: as numbers if all of them are numbers, else by bytes.
    pub(crate) fn categories(&self) -> &[String] {
        &self.categories
    }

    /// Which of the categories stands in this row. Panics if there is no such row.
    pub(crate) fn code(&self, row: usize) -> usize {
        match &self.codes {
            Codes::U8(codes) => codes[row].into(),
            Codes::U16(codes) => codes[row].into(),
            Codes::U32(codes) => codes[row] as usize,
        }
    }

    /// Bytes per row.
    #[cfg(test)]
    pub(crate) fn code_bytes(&self) -> usize {
        match &self.codes {
            Codes::U8(_) => 1,
            Codes::U16(_) => 2,
            Codes::U32(_) => 4,
        }
    }
}

/// Codes in the smallest type that fits.
#[derive(Clone, Debug, PartialEq)]
enum Codes {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

impl Codes {
    fn push(&mut self, code: u32) {
        match self {
            Self::U8(codes) => match u8::try_from(code) {
                Ok(code) => return codes.push(code),
                Err(_) => *self = Self::U16(codes.iter().map(|&code| code.into()).collect()),
            },
            Self::U16(codes) => match u16::try_from(code) {
                Ok(code) => return codes.push(code),
                Err(_) => *self = Self::U32(codes.iter().map(|&code| code.into()).collect()),
            },
            Self::U32(codes) => return codes.push(code),
        }
        self.push(code);
    }

    /// Replaces every code by its rank. A rank fits where the code did: there are as many of one as of the other.
    fn rank(&mut self, rank_of: &[u32]) {
        match self {
            Self::U8(codes) => codes.iter_mut().for_each(|code| *code = rank_of[usize::from(*code)] as u8),
            Self::U16(codes) => codes.iter_mut().for_each(|code| *code = rank_of[usize::from(*code)] as u16),
            Self::U32(codes) => codes.iter_mut().for_each(|code| *code = rank_of[*code as usize]),
        }
    }

    fn shrink_to_fit(&mut self) {
        match self {
            Self::U8(codes) => codes.shrink_to_fit(),
            Self::U16(codes) => codes.shrink_to_fit(),
            Self::U32(codes) => codes.shrink_to_fit(),
        }
    }
}

/// Collects a text column cell by cell; codes are in order of appearance until the end.
pub(crate) struct CategoryBuilder {
    codes: Codes,
    code_of: HashMap<Vec<u8>, u32>,
    /// The codes of cells of one byte, which spare most look-ups of a file like the census.
    code_of_byte: Box<[Option<u32>; 256]>,
}

impl CategoryBuilder {
    pub(crate) fn new() -> Self {
        Self { codes: Codes::U8(Vec::new()), code_of: HashMap::new(), code_of_byte: Box::new([None; 256]) }
    }

    /// Adds the cell of the next row.
    pub(crate) fn push(&mut self, cell: &[u8]) {
        if let &[byte] = cell
            && let Some(code) = self.code_of_byte[usize::from(byte)]
        {
            return self.codes.push(code);
        }
        let code = match self.code_of.get(cell) {
            Some(&code) => code,
            None => {
                // A text with 2³² different cells would not fit into memory long before this overflows.
                let code = self.code_of.len() as u32;
                self.code_of.insert(cell.to_vec(), code);
                if let &[byte] = cell {
                    self.code_of_byte[usize::from(byte)] = Some(code);
                }
                code
            }
        };
        self.codes.push(code);
    }

    /// Sorts the categories and gives every row the code of this order.
    pub(crate) fn finish(mut self, file: &str) -> Result<CategoryColumn, Error> {
        let mut categories = Vec::with_capacity(self.code_of.len());
        for (text, code) in self.code_of {
            let text = String::from_utf8(text).map_err(|_| ErrorKind::InvalidFile {
                file: file.to_owned(),
                problem: "found bytes that are not UTF-8; save the file as UTF-8 text".to_owned(),
            })?;
            categories.push((text, code));
        }
        sort_categories(&mut categories);
        let mut rank_of = vec![0; categories.len()];
        for (rank, (_, code)) in categories.iter().enumerate() {
            rank_of[*code as usize] = rank as u32;
        }
        self.codes.rank(&rank_of);
        self.codes.shrink_to_fit();
        let categories = categories.into_iter().map(|(text, _)| text).collect();
        Ok(CategoryColumn { codes: self.codes, categories })
    }
}

/// Numerically if every category is a finite number (`2` before `10`), else by bytes.
fn sort_categories(categories: &mut [(String, u32)]) {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    if categories.iter().all(|(text, _)| number(text).is_some()) {
        let key = |text: &str| number(text).unwrap_or_default();
        categories.sort_unstable_by(|(a, _), (b, _)| key(a).total_cmp(&key(b)).then_with(|| a.cmp(b)));
    } else {
        categories.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: impl IntoIterator<Item = impl AsRef<str>>) -> CategoryColumn {
        let mut builder = CategoryBuilder::new();
        cells.into_iter().for_each(|cell| builder.push(cell.as_ref().as_bytes()));
        builder.finish("t").unwrap()
    }

    fn codes(column: &CategoryColumn, n_rows: usize) -> Vec<usize> {
        (0..n_rows).map(|row| column.code(row)).collect()
    }

    #[test]
    fn numbers_are_sorted_as_numbers_and_words_by_bytes() {
        let numbers = column(["10", "9", "-1", "9.0", "10"]);
        assert_eq!(numbers.categories(), ["-1", "9", "9.0", "10"]);
        assert_eq!(codes(&numbers, 5), [3, 1, 0, 2, 3]);
        let words = column(["b", "10", "9", "B", "é", "b"]);
        assert_eq!(words.categories(), ["10", "9", "B", "b", "é"]);
        assert_eq!(codes(&words, 6), [3, 0, 1, 2, 4, 3]);
    }

    #[test]
    fn codes_grow_with_the_number_of_categories_and_keep_their_rows() {
        for (n_categories, bytes) in [(256, 1), (257, 2), (65_536, 2), (65_537, 4)] {
            // Appearing in falling order, so that every code changes in the end.
            let cells = (0..n_categories).rev().chain([n_categories / 2]);
            let column = column(cells.map(|number: usize| number.to_string()));
            assert_eq!(column.code_bytes(), bytes);
            assert_eq!(column.categories().len(), n_categories);
            let expected: Vec<_> = (0..n_categories).rev().chain([n_categories / 2]).collect();
            assert_eq!(codes(&column, n_categories + 1), expected);
        }
    }
}
