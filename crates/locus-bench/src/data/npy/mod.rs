//! Reads and writes numpy's `.npy` files with arrays of one or two dimensions.
//!
//! The format is NEP 1 of numpy: a magic string, a version, a header that is a Python literal, then the
//! values. Versions 1, 2 and 3 differ only in the width of the header's length and in its encoding.

use std::io::{self, Read, Write};

use crate::Error;
use crate::error::ErrorKind;

mod header;

use header::{Class, Family, NpyHeader};

/// An array of one or two dimensions, rows first.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// One or two sizes, the product of which is the number of values.
    pub shape: Vec<usize>,
    /// The values, in C order whatever the order in the file.
    pub values: ArrayValues,
}

/// The values of an [`Array`], as wide as the file has them.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayValues {
    /// `<f4` or `>f4`
    F32(Vec<f32>),
    /// `<f8` or `>f8`
    F64(Vec<f64>),
}

impl Array {
    /// The values as `f64`, which loses nothing.
    pub fn into_f64(self) -> Vec<f64> {
        match self.values {
            ArrayValues::F32(values) => values.into_iter().map(f64::from).collect(),
            ArrayValues::F64(values) => values,
        }
    }

    /// The values as `f32`; what lies beyond its range becomes infinite.
    pub fn into_f32(self) -> Vec<f32> {
        match self.values {
            ArrayValues::F32(values) => values,
            ArrayValues::F64(values) => values.into_iter().map(|value| value as f32).collect(),
        }
    }
}

/// Reads an array to the end of `input`. `file` is what messages call it.
///
/// Memory grows with the bytes that arrive, not with the shape that the header claims.
pub fn read_npy(mut input: impl Read, file: &str) -> Result<Array, Error> {
    let header = header::read(&mut input, file, Family::Real)?;
    read_floats(input, file, header)
}

/// Reads an array of floating-point numbers, integers or booleans to the end of `input`, and says whether its values are stored as
/// whole numbers. These become `f64`, which rounds those beyond 2⁵³.
pub(crate) fn read_npy_any(mut input: impl Read, file: &str) -> Result<(Array, bool), Error> {
    let header = header::read(&mut input, file, Family::Any)?;
    /// Reads numbers of this type as `f64`.
    macro_rules! read {
        ($type:ty) => {{
            let number: fn([u8; size_of::<$type>()]) -> f64 = match header.is_big_endian {
                true => |bytes| <$type>::from_be_bytes(bytes) as f64,
                false => |bytes| <$type>::from_le_bytes(bytes) as f64,
            };
            read_values::<{ size_of::<$type>() }, f64>(&mut input, file, header.n_values, number)?
        }};
    }
    let values = match (header.class, header.value_bytes) {
        (Class::Float, _) => return Ok((read_floats(input, file, header)?, false)),
        (Class::Signed, 1) => read!(i8),
        (Class::Signed, 2) => read!(i16),
        (Class::Signed, 4) => read!(i32),
        (Class::Signed, _) => read!(i64),
        (Class::Unsigned, 1) => read!(u8),
        (Class::Unsigned, 2) => read!(u16),
        (Class::Unsigned, 4) => read!(u32),
        (Class::Unsigned, _) => read!(u64),
    };
    expect_end(&mut input, file, header.n_values)?;
    let values = ArrayValues::F64(rows_first(values, &header));
    Ok((Array { shape: header.shape, values }, true))
}

fn read_floats(mut input: impl Read, file: &str, header: NpyHeader) -> Result<Array, Error> {
    let values = if header.value_bytes == 4 {
        let number = if header.is_big_endian { f32::from_be_bytes } else { f32::from_le_bytes };
        let values = read_values::<4, f32>(&mut input, file, header.n_values, number)?;
        ArrayValues::F32(rows_first(values, &header))
    } else {
        let number = if header.is_big_endian { f64::from_be_bytes } else { f64::from_le_bytes };
        let values = read_values::<8, f64>(&mut input, file, header.n_values, number)?;
        ArrayValues::F64(rows_first(values, &header))
    };
    expect_end(&mut input, file, header.n_values)?;
    Ok(Array { shape: header.shape, values })
}

/// Reads a one-dimensional array of whole numbers to the end of `input`.
///
/// They may be stored in two bytes or in four, and memory grows as with [`read_npy`].
pub fn read_npy_u32(mut input: impl Read, file: &str) -> Result<Vec<u32>, Error> {
    let header = header::read(&mut input, file, Family::Whole)?;
    if header.shape.len() != 1 {
        let problem = format!("the array has {} dimensions, expected 1", header.shape.len());
        return Err(invalid(file, problem));
    }
    let values = if header.value_bytes == 2 {
        let number = if header.is_big_endian { u16::from_be_bytes } else { u16::from_le_bytes };
        read_values::<2, u16>(&mut input, file, header.n_values, number)?.into_iter().map(u32::from).collect()
    } else {
        let number = if header.is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
        read_values::<4, u32>(&mut input, file, header.n_values, number)?
    };
    expect_end(&mut input, file, header.n_values)?;
    Ok(values)
}

/// The sizes of the floating-point array that `input` holds, from its header alone.
pub(crate) fn read_npy_shape(mut input: impl Read, file: &str) -> Result<Vec<usize>, Error> {
    Ok(header::read(&mut input, file, Family::Real)?.shape)
}

/// A number that [`write_npy`] can write.
pub trait Element: Copy + sealed::Sealed {
    /// What numpy calls the type.
    const DTYPE: &'static str;
    /// Appends the bytes of this number, little end first.
    fn append_to(self, bytes: &mut Vec<u8>);
}

mod sealed {
    /// Keeps [`Element`](super::Element) to the types below.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ty: $dtype:literal),*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: &'static str = $dtype;
            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
elements!(f64: "<f8", f32: "<f4", u32: "<u4", u16: "<u2");

/// Writes a one-dimensional array that `numpy.load` reads.
pub fn write_npy<T: Element>(output: impl Write, values: &[T]) -> io::Result<()> {
    write_array(output, &[values.len()], values)
}

/// Writes a two-dimensional array, given row after row, that `numpy.load` reads. The rows have `n_columns` values
/// each; what is left over at the end is an error.
pub(crate) fn write_npy_rows<T: Element>(
    output: impl Write,
    n_columns: usize,
    values: &[T],
) -> io::Result<()> {
    match values.len().checked_rem(n_columns) {
        Some(0) => write_array(output, &[values.len() / n_columns, n_columns], values),
        _ => {
            let problem = format!("{} values do not make rows of {n_columns}", values.len());
            Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
        }
    }
}

fn write_array<T: Element>(mut output: impl Write, shape: &[usize], values: &[T]) -> io::Result<()> {
    output.write_all(&header::write(T::DTYPE, shape))?;
    let mut bytes = Vec::with_capacity(CHUNK_BYTES);
    for chunk in values.chunks(CHUNK_BYTES / size_of::<T>()) {
        bytes.clear();
        chunk.iter().for_each(|value| value.append_to(&mut bytes));
        output.write_all(&bytes)?;
    }
    Ok(())
}

const CHUNK_BYTES: usize = 1 << 16;

fn read_values<const BYTES: usize, T>(
    input: &mut impl Read,
    file: &str,
    n_values: usize,
    number: fn([u8; BYTES]) -> T,
) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    while values.len() < n_values {
        let n_wanted = (n_values - values.len()).min(CHUNK_BYTES / BYTES) * BYTES;
        let n_read = read_up_to(input, &mut buffer[..n_wanted], file)?;
        let (numbers, _) = buffer[..n_read].as_chunks::<BYTES>();
        values.extend(numbers.iter().map(|bytes| number(*bytes)));
        if n_read < n_wanted {
            let problem = format!("the file ends after {} of {n_values} values", values.len());
            return Err(invalid(file, problem));
        }
    }
    values.shrink_to_fit();
    Ok(values)
}

/// Seeing the end also lets an archive compare its checksum.
fn expect_end(input: &mut impl Read, file: &str, n_values: usize) -> Result<(), Error> {
    match read_up_to(input, &mut [0], file)? {
        0 => Ok(()),
        _ => Err(invalid(file, format!("more bytes follow than the {n_values} values of the header"))),
    }
}

fn rows_first<T: Copy>(values: Vec<T>, header: &NpyHeader) -> Vec<T> {
    match header.shape[..] {
        [n_rows, n_columns] if header.is_fortran_order && !values.is_empty() => {
            let column_of_row = |row: usize| (0..n_columns).map(move |column| column * n_rows + row);
            (0..n_rows).flat_map(column_of_row).map(|index| values[index]).collect()
        }
        _ => values,
    }
}

/// Fills as much of `buffer` as there are bytes, and says how much.
fn read_up_to(input: &mut impl Read, buffer: &mut [u8], file: &str) -> Result<usize, Error> {
    let mut n_filled = 0;
    while n_filled < buffer.len() {
        match input.read(&mut buffer[n_filled..]) {
            Ok(0) => break,
            Ok(n_read) => n_filled += n_read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(ErrorKind::UnreadableFile { file: file.to_owned(), cause }.into()),
        }
    }
    Ok(n_filled)
}

fn invalid(file: &str, problem: String) -> Error {
    Error::from(ErrorKind::InvalidFile { file: file.to_owned(), problem })
}

#[cfg(test)]
pub(crate) mod tests;
