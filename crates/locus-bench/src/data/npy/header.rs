//! The header of a `.npy` file: a Python literal such as
//! `{'descr': '<f8', 'fortran_order': False, 'shape': (19181, 40), }`.

use std::io::Read;

use super::{invalid, read_up_to};
use crate::Error;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// numpy writes some hundred bytes; versions 2 and 3 could claim four gigabytes.
const MAX_HEADER_BYTES: usize = 1 << 16;

/// What kind of numbers a reader can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Floating-point numbers of 4 or 8 bytes.
    Real,
    /// Whole numbers without sign, of 2 or 4 bytes.
    Whole,
    /// Floating-point numbers of 4 or 8 bytes, integers of 1 to 8, and booleans.
    Any,
}

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Float,
    Signed,
    /// Booleans, too, which are 0 and 1.
    Unsigned,
}

/// What a header says, checked as far as it can be.
pub(super) struct NpyHeader {
    pub(super) shape: Vec<usize>,
    /// The product of `shape`; so many values also fit into the address space.
    pub(super) n_values: usize,
    /// As the family has them.
    pub(super) class: Class,
    pub(super) value_bytes: usize,
    pub(super) is_big_endian: bool,
    pub(super) is_fortran_order: bool,
}

/// Reads magic string, version and header of an array of this family.
pub(super) fn read(input: &mut impl Read, file: &str, family: Family) -> Result<NpyHeader, Error> {
    let mut start = [0; 8];
    let n_read = read_up_to(input, &mut start, file)?;
    if n_read < start.len() || start[..6] != MAGIC[..] {
        return Err(invalid(file, "not a .npy file: expected it to begin with \\x93NUMPY".to_owned()));
    }
    let length_bytes = match start[6] {
        1 => 2,
        2 | 3 => 4,
        version => {
            let problem = format!("the .npy format has version {version}, expected 1, 2 or 3");
            return Err(invalid(file, problem));
        }
    };
    let mut length = [0; 4];
    let mut n_read = read_up_to(input, &mut length[..length_bytes], file)?;
    let n_header = u32::from_le_bytes(length) as usize;
    if n_header > MAX_HEADER_BYTES {
        let problem = format!("the header claims {n_header} bytes, expected at most {MAX_HEADER_BYTES}");
        return Err(invalid(file, problem));
    }
    let mut header = vec![0; n_header];
    n_read += read_up_to(input, &mut header, file)?;
    if n_read < length_bytes + n_header {
        return Err(invalid(file, "the file ends within the header".to_owned()));
    }
    let text = String::from_utf8_lossy(&header);
    parse(&text, family).map_err(|problem| invalid(file, problem))
}

/// A version 1 header for an array of one or two dimensions; the values begin at a multiple of 64 bytes.
pub(super) fn write(dtype: &str, shape: &[usize]) -> Vec<u8> {
    let shape = match shape {
        [n_values] => format!("{n_values},"),
        sizes => sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    };
    let literal = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({shape}), }}");
    let prefix = MAGIC.len() + 4;
    let total = (prefix + literal.len() + 1).next_multiple_of(64);
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[1, 0]);
    // At most 192 bytes in all, so the length fits.
    bytes.extend_from_slice(&((total - prefix) as u16).to_le_bytes());
    bytes.extend_from_slice(literal.as_bytes());
    bytes.resize(total - 1, b' ');
    bytes.push(b'\n');
    bytes
}

fn parse(text: &str, family: Family) -> Result<NpyHeader, String> {
    let mut literal = Literal { rest: text };
    let (mut dtype, mut is_fortran_order, mut shape) = (None, None, None);
    literal.expect('{')?;
    while !literal.accept('}') {
        let key = literal.string()?;
        literal.expect(':')?;
        match key {
            "descr" => dtype = Some(literal.dtype()?),
            "fortran_order" => is_fortran_order = Some(literal.boolean()?),
            "shape" => shape = Some(literal.tuple()?),
            _ => {
                return Err(format!("the header has a key `{key}`, expected descr, fortran_order and shape"));
            }
        }
        if !literal.accept(',') {
            literal.expect('}')?;
            break;
        }
    }
    let (Some(dtype), Some(is_fortran_order), Some(shape)) = (dtype, is_fortran_order, shape) else {
        return Err("the header lacks one of descr, fortran_order and shape".to_owned());
    };
    let (class, value_bytes, is_big_endian) = family.storage(dtype)?;
    if !matches!(shape.len(), 1 | 2) {
        return Err(format!("the array has {} dimensions, expected 1 or 2", shape.len()));
    }
    let n_values = shape.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
    match n_values {
        Some(n_values) if n_values <= isize::MAX as usize / value_bytes => {
            Ok(NpyHeader { shape, n_values, class, value_bytes, is_big_endian, is_fortran_order })
        }
        _ => Err(format!("the shape {shape:?} has more values than memory can hold")),
    }
}

impl Family {
    /// How values are stored, bytes per value, and whether the big end comes first.
    fn storage(self, dtype: &str) -> Result<(Class, usize, bool), String> {
        let (end, name) = dtype.split_at_checked(1).unwrap_or(("", ""));
        let storage = match name {
            "f4" => Some((Class::Float, 4)),
            "f8" => Some((Class::Float, 8)),
            "b1" | "u1" => Some((Class::Unsigned, 1)),
            "u2" => Some((Class::Unsigned, 2)),
            "u4" => Some((Class::Unsigned, 4)),
            "u8" => Some((Class::Unsigned, 8)),
            "i1" => Some((Class::Signed, 1)),
            "i2" => Some((Class::Signed, 2)),
            "i4" => Some((Class::Signed, 4)),
            "i8" => Some((Class::Signed, 8)),
            _ => None,
        };
        let storage = storage.filter(|(class, bytes)| match self {
            Self::Real => *class == Class::Float,
            Self::Whole => *class == Class::Unsigned && [2, 4].contains(bytes),
            Self::Any => true,
        });
        match (self, storage, end) {
            (_, Some((class, bytes)), "<" | ">") => Ok((class, bytes, end == ">")),
            // One byte has no end.
            (_, Some((class, 1)), "|") => Ok((class, 1, false)),
            (Self::Real, ..) => Err(format!(
                "the dtype is `{dtype}`, expected <f4, <f8, >f4 or >f8; convert with `.astype(numpy.float64)`"
            )),
            (Self::Whole, ..) => Err(format!(
                "the dtype is `{dtype}`, expected <u2, <u4, >u2 or >u4; convert with `.astype(numpy.uint32)`"
            )),
            (Self::Any, ..) => Err(format!(
                "the dtype is `{dtype}`, expected floats of 4 or 8 bytes, integers or booleans; convert with `.astype(numpy.float64)`"
            )),
        }
    }
}

/// What is left to read of a Python literal.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn accept(&mut self, symbol: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, symbol: char) -> Result<(), String> {
        if self.accept(symbol) { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        for quote in ['\'', '"'] {
            if self.accept(quote) {
                let Some((string, rest)) = self.rest.split_once(quote) else { break };
                self.rest = rest;
                return Ok(string);
            }
        }
        Err(self.unexpected("a string"))
    }

    /// A string; a record type is a list, which is given back as it is written, to be named in a message.
    fn dtype(&mut self) -> Result<&'a str, String> {
        if self.rest.trim_start().starts_with('[') {
            self.rest = self.rest.trim_start();
            let end = self.rest.rfind(']').map_or(self.rest.len(), |end| end + 1);
            let (list, rest) = self.rest.split_at(end);
            self.rest = rest;
            return Ok(list);
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    fn tuple(&mut self) -> Result<Vec<usize>, String> {
        self.expect('(')?;
        let mut sizes = Vec::new();
        while !self.accept(')') {
            self.rest = self.rest.trim_start();
            let n_digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, rest) = self.rest.split_at(n_digits);
            sizes.push(digits.parse().map_err(|_| self.unexpected("a size"))?);
            // Python 2 marks long integers.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(sizes)
    }

    fn unexpected(&self, expected: &str) -> String {
        let found: String = self.rest.trim().chars().take(20).collect();
        format!("the header is damaged: found `{found}`, expected {expected}")
    }
}
