//! numpy's `.npz` files: a zip archive with one `.npy` file per array, stored or deflated.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::npy::{Array, read_npy_any};
use crate::Error;
use crate::error::ErrorKind;

/// An open archive.
#[derive(Debug)]
pub(crate) struct Npz<R> {
    archive: ZipArchive<R>,
    file: String,
}

impl Npz<BufReader<File>> {
    /// Opens the archive at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let label = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::new(BufReader::new(file), &label),
            Err(cause) => Err(ErrorKind::UnreadableFile { file: label, cause }.into()),
        }
    }
}

impl<R: Read + Seek> Npz<R> {
    /// Reads the list of arrays. `file` is what messages call the archive.
    pub(crate) fn new(input: R, file: &str) -> Result<Self, Error> {
        let archive = ZipArchive::new(input).map_err(|error| unreadable(file, error))?;
        Ok(Self { archive, file: file.to_owned() })
    }

    /// The names of the arrays, without `.npy`.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = (0..self.archive.len()).filter_map(|index| self.archive.name_for_index(index)?.ok());
        names.map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_owned()).collect()
    }

    /// Reads the array of this name, if there is one: floats, integers or booleans.
    pub(crate) fn array(&mut self, name: &str) -> Result<Option<Array>, Error> {
        Ok(self.array_and_class(name)?.map(|(array, _)| array))
    }

    /// The same, and whether its values are stored as whole numbers.
    pub(crate) fn array_and_class(&mut self, name: &str) -> Result<Option<(Array, bool)>, Error> {
        let Some(index) = self.archive.index_for_name(&format!("{name}.npy")) else { return Ok(None) };
        let label = format!("{}, array `{name}`", self.file);
        let member = self.archive.by_index(index).map_err(|error| unreadable(&label, error))?;
        read_npy_any(member, &label).map(Some)
    }

    /// Reads the array of this name, which has to be there.
    pub(crate) fn required_array(&mut self, name: &str) -> Result<Array, Error> {
        self.array(name)?.ok_or_else(|| {
            let names = match self.names() {
                names if names.is_empty() => "it holds no arrays".to_owned(),
                names => format!("it holds {}", names.join(", ")),
            };
            Error::from(ErrorKind::InvalidFile {
                file: self.file.clone(),
                problem: format!("no array is called `{name}`; {names}"),
            })
        })
    }
}

fn unreadable(file: &str, error: ZipError) -> Error {
    match error {
        ZipError::Io(cause) => Error::from(ErrorKind::UnreadableFile { file: file.to_owned(), cause }),
        error => Error::from(ErrorKind::InvalidFile {
            file: file.to_owned(),
            problem: format!("cannot read the archive: {error}"),
        }),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::npy::tests::npy_f64;
    use proptest::prelude::*;
    use std::io::{Cursor, Write};
    use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

    /// An archive of these members.
    pub(crate) fn npz(members: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in members {
            writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn small(method: CompressionMethod) -> Vec<u8> {
        let rewards: Vec<f64> = (0..6).map(f64::from).collect();
        npz(
            &[("contexts.npy", npy_f64("(3, 2)", &rewards)), ("optimal.npy", npy_f64("(3,)", &rewards[..3]))],
            method,
        )
    }

    #[test]
    fn arrays_are_read_by_name_stored_or_deflated() {
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let mut file = Npz::new(Cursor::new(small(method)), "a.npz").unwrap();
            assert_eq!(file.names(), ["contexts", "optimal"]);
            assert_eq!(file.array("contexts").unwrap().unwrap().shape, [3, 2]);
            assert_eq!(file.required_array("optimal").unwrap().into_f64(), [0.0, 1.0, 2.0]);
            assert!(file.array("rewards").unwrap().is_none());
            let message = file.required_array("rewards").unwrap_err().to_string();
            assert_eq!(message, "a.npz: no array is called `rewards`; it holds contexts, optimal");
        }
    }

    #[test]
    fn damage_is_noticed() {
        let good = small(CompressionMethod::Stored);
        let mut altered = good.clone();
        let place = good.windows(8).position(|window| window == 5_f64.to_le_bytes()).unwrap();
        altered[place] ^= 1;
        let error = Npz::new(Cursor::new(altered), "a.npz").unwrap().array("contexts").unwrap_err();
        assert!(error.to_string().contains("a.npz, array `contexts`"), "{error}");
        assert!(Npz::new(Cursor::new(&good[..good.len() / 2]), "a.npz").is_err());
        assert!(Npz::new(Cursor::new(b"text"), "a.npz").is_err());
        assert!(Npz::open(Path::new("nowhere/a.npz")).unwrap_err().is_not_found());
    }

    proptest! {
        /// Arbitrary bytes, and archives with some bytes changed, may fail but not panic.
        #[test]
        fn no_bytes_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
            is_deflated in any::<bool>(),
        ) {
            let method = if is_deflated { CompressionMethod::Deflated } else { CompressionMethod::Stored };
            let mut altered = small(method);
            for (position, byte) in changes {
                let index = position.index(altered.len());
                altered[index] = byte;
            }
            for file in [bytes, altered] {
                if let Ok(mut npz) = Npz::new(Cursor::new(file), "a.npz") {
                    for name in npz.names() {
                        let _ = npz.array(&name);
                    }
                }
            }
        }
    }
}
