//! The file format of saved policies, its reader and its writer.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `LOCUSPOL` |
//! | 4 | format, [`FORMAT`] |
//! | 8 | length of the body |
//! | … | body: full policy text, shape, seed, then the policy's own numbers |
//! | 4 | CRC-32 of everything before |
//!
//! Numbers are little-endian, floats exact. The policy's text names every setting, so a file keeps its meaning when defaults
//! change. The reader does not trust lengths: no input causes a panic or an allocation larger than the input.

use crate::error::Kind;
use crate::{Error, Shape};

/// The first bytes of a saved policy.
const MAGIC: &[u8; 8] = b"LOCUSPOL";
/// The newest format, in which policies are written.
///
/// Format 1 did not store the number of observations of each action, the highest round, and weights; format 2 did not store the next
/// round; format 3 did not store when training is due, samples of a replay, and the number of features of an action.
pub(crate) const FORMAT: u32 = 4;
/// Bytes before the body.
const HEADER: usize = 8 + 4 + 8;
/// Bytes after the body.
const TRAILER: usize = 4;

/// Writes numbers one after another.
#[derive(Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    /// Writes a number.
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes a size.
    pub fn usize(&mut self, value: usize) {
        self.u64(value as u64);
    }

    /// Writes a number.
    pub fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    /// Writes numbers, without their count.
    pub fn f64s(&mut self, values: &[f64]) {
        values.iter().for_each(|value| self.f64(*value));
    }

    /// Writes numbers, without their count.
    pub fn f32s(&mut self, values: &[f32]) {
        values.iter().for_each(|value| self.bytes.extend_from_slice(&value.to_le_bytes()));
    }

    /// Writes text.
    pub fn text(&mut self, text: &str) {
        self.usize(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    #[cfg(test)]
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads what an [`Encoder`] wrote.
#[derive(Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    format: u32,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, format: FORMAT }
    }

    /// The format of the file, 1 or higher.
    pub(crate) fn format(&self) -> u32 {
        self.format
    }

    /// Reads a number.
    pub fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads a size.
    pub fn usize(&mut self) -> Result<usize, Error> {
        let value = self.u64()?;
        usize::try_from(value).map_err(|_| self.damaged(format!("it contains a size of {value}")))
    }

    /// Reads a number.
    pub fn f64(&mut self) -> Result<f64, Error> {
        self.u64().map(f64::from_bits)
    }

    /// Reads a sum of weights, the number of observations. Format 1 had no weights and stored a count.
    pub(crate) fn weight_sum(&mut self) -> Result<f64, Error> {
        let sum = if self.format == 1 { self.u64()? as f64 } else { self.f64()? };
        match sum >= 0.0 && sum.is_finite() {
            true => Ok(sum),
            false => Err(self.damaged(format!("it counts {sum} observations"))),
        }
    }

    /// Fills `values`.
    pub fn f64s(&mut self, values: &mut [f64]) -> Result<(), Error> {
        values.iter_mut().try_for_each(|value| self.f64().map(|read| *value = read))
    }

    /// Fills `values`.
    pub fn f32s(&mut self, values: &mut [f32]) -> Result<(), Error> {
        values.iter_mut().try_for_each(|value| self.array().map(|bytes| *value = f32::from_le_bytes(bytes)))
    }

    /// Fails if a net for this shape needs more bytes than are left, before allocating it.
    pub(crate) fn check_room(&self, shape: Shape) -> Result<(), Error> {
        if shape.n_features.max(shape.n_actions) > self.remaining() {
            return Err(self.damaged("its parameters are cut short".to_owned()));
        }
        Ok(())
    }

    /// Reads `N` lists of `n` finite numbers each: parameters and the optimizer's state.
    pub(crate) fn parameters<const N: usize>(&mut self, n: usize) -> Result<[Vec<f32>; N], Error> {
        if self.remaining() / (N * size_of::<f32>()) < n {
            return Err(self.damaged("its parameters are cut short".to_owned()));
        }
        let mut lists = std::array::from_fn(|_| vec![0.0; n]);
        for list in &mut lists {
            self.f32s(list)?;
            if list.iter().any(|value| !value.is_finite()) {
                return Err(self.damaged("a parameter is not a finite number".to_owned()));
            }
        }
        Ok(lists)
    }

    /// Reads text.
    pub fn text(&mut self) -> Result<&'a str, Error> {
        let length = self.usize()?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| self.damaged("its text is not UTF-8".to_owned()))
    }

    /// How many bytes are left. Check lengths against it before allocating.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Fails unless all bytes were read.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.damaged(format!("{} bytes are left over", self.rest.len())))
    }

    /// An error for invalid contents; `problem` completes the sentence "the saved policy is damaged: …".
    pub fn damaged(&self, problem: impl Into<String>) -> Error {
        Kind::DamagedPolicy { problem: problem.into() }.into()
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        if length > self.rest.len() {
            return Err(self.damaged(format!("{length} bytes were expected, {} are left", self.rest.len())));
        }
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }
}

/// Adds header and checksum to a body.
pub(crate) fn seal(body: Encoder) -> Vec<u8> {
    let body = body.bytes;
    let mut file = Vec::with_capacity(HEADER + body.len() + TRAILER);
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&FORMAT.to_le_bytes());
    file.extend_from_slice(&(body.len() as u64).to_le_bytes());
    file.extend_from_slice(&body);
    let checksum = crc32fast::hash(&file);
    file.extend_from_slice(&checksum.to_le_bytes());
    file
}

/// Checks header and checksum, and returns the body.
pub(crate) fn unseal(file: &[u8]) -> Result<Decoder<'_>, Error> {
    if !file.starts_with(MAGIC) {
        let found = match file.len() {
            0 => "an empty file".to_owned(),
            length => format!("`{}`", file[..length.min(8)].escape_ascii()),
        };
        return Err(Kind::NotASavedPolicy { found }.into());
    }
    let mut header = Decoder::new(&file[MAGIC.len()..]);
    let found = u32::from_le_bytes(header.array()?);
    if found > FORMAT {
        return Err(Kind::FutureFormat { found, newest: FORMAT }.into());
    }
    let length = header.usize()?;
    let present = file.len().saturating_sub(HEADER + TRAILER);
    if length != present || file.len() < HEADER + TRAILER {
        let problem = format!("its body should have {length} bytes but has {present}");
        return Err(Kind::DamagedPolicy { problem }.into());
    }
    let (contents, checksum) = file.split_at(file.len() - TRAILER);
    if crc32fast::hash(contents).to_le_bytes() != checksum {
        return Err(
            Kind::DamagedPolicy { problem: "its checksum does not match its contents".to_owned() }.into()
        );
    }
    Ok(Decoder { rest: &contents[HEADER..], format: found })
}
