//! One-dimensional arrays in numpy's `.npy` format, version 1.0.

/// A number that `.npy` files can hold.
pub trait Element: Copy {
    /// The type as numpy spells it, e.g. `<f8`.
    const DESCR: &'static str;
    /// Appends the bytes of the number, little-endian.
    fn push_to(self, bytes: &mut Vec<u8>);
}

impl Element for f64 {
    const DESCR: &'static str = "<f8";
    fn push_to(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

impl Element for u32 {
    const DESCR: &'static str = "<u4";
    fn push_to(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

/// The bytes of a file that holds `values` as an array of one dimension.
pub fn write<T: Element>(values: &[T]) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", T::DESCR, values.len());
    // Magic, version and length take 10 bytes; the numbers begin at a multiple of 64.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    for &value in values {
        value.push_to(&mut bytes);
    }
    bytes
}
