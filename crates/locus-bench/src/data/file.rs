//! A data file as a stream: finds it, decompresses it, and computes its checksum on the way.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::zstd::ZstdReader;
use crate::Error;
use crate::error::ErrorKind;

/// How a file is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As it is.
    None,
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
}

impl Compression {
    /// In the order in which a folder is searched.
    const ALL: [Self; 3] = [Self::None, Self::Gzip, Self::Zstd];

    /// What follows the name of the uncompressed file.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }

    /// As the path's extension says.
    fn of_path(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// Identifies the contents of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// SHA-256 of the uncompressed bytes, in lower-case hexadecimal digits.
    pub sha256: String,
    /// Number of uncompressed bytes.
    pub bytes: u64,
}

/// An open data file; reading it gives the uncompressed bytes.
pub struct DataFile {
    path: PathBuf,
    compression: Compression,
    decoder: Box<dyn Read>,
    hasher: Sha256,
    bytes: u64,
}

impl DataFile {
    /// Opens `name` in `folder`, plain or else compressed as `.gz` or `.zst`.
    pub fn find(folder: &Path, name: &str) -> Result<Self, Error> {
        if !folder.is_dir() {
            return Err(ErrorKind::FolderNotFound { folder: folder.to_owned() }.into());
        }
        Compression::ALL
            .iter()
            .map(|compression| folder.join(format!("{name}{}", compression.suffix())))
            .find(|path| path.is_file())
            .map_or_else(
                || Err(ErrorKind::FileNotFound { file: name.to_owned(), folder: folder.to_owned() }.into()),
                |path| Self::open(&path),
            )
    }

    /// Opens the file at `path`; its extension says whether it is compressed.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let compression = Compression::of_path(path);
        let file = File::open(path)
            .map_err(|cause| ErrorKind::UnreadableFile { file: path.display().to_string(), cause })?;
        let decoder = decoder(compression, file);
        Ok(Self { path: path.to_owned(), compression, decoder, hasher: Sha256::new(), bytes: 0 })
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path as messages show it.
    pub fn label(&self) -> String {
        self.path.display().to_string()
    }

    /// How it is stored.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Reads to the end of the file, and returns the fingerprint of the whole file.
    pub fn finish(mut self) -> Result<Fingerprint, Error> {
        io::copy(&mut self, &mut io::sink())
            .map_err(|cause| ErrorKind::UnreadableFile { file: self.label(), cause })?;
        let mut sha256 = String::with_capacity(64);
        for byte in self.hasher.finalize() {
            // Writing to a string cannot fail.
            let _ = write!(sha256, "{byte:02x}");
        }
        Ok(Fingerprint { sha256, bytes: self.bytes })
    }
}

/// Reads the uncompressed bytes.
pub(super) fn decoder(compression: Compression, file: File) -> Box<dyn Read> {
    // The other readers buffer what they take from a plain file; twice would only cost a copy.
    match compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, file))),
        Compression::Zstd => Box::new(ZstdReader::new(BufReader::with_capacity(BUFFER_BYTES, file))),
    }
}

impl Read for DataFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.decoder.read(buffer)?;
        self.hasher.update(&buffer[..n_read]);
        self.bytes += n_read as u64;
        Ok(n_read)
    }
}

impl fmt::Debug for DataFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataFile")
            .field("path", &self.path)
            .field("compression", &self.compression)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// Large enough that system calls do not count.
pub(super) const BUFFER_BYTES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn plain_comes_before_gz_before_zst_and_all_have_one_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        let text = b"abc";
        // The published example of FIPS 180-2.
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let expect = |compression| {
            let mut file = DataFile::find(folder.path(), "letters").unwrap();
            assert_eq!(file.compression(), compression);
            let mut first = [0];
            file.read_exact(&mut first).unwrap();
            assert_eq!(file.finish().unwrap(), Fingerprint { sha256: sha256.to_owned(), bytes: 3 });
        };
        write("letters.zst", &compress_to_vec(&text[..], CompressionLevel::Fastest));
        expect(Compression::Zstd);
        // Two members, as `cat a.gz b.gz` makes them.
        write("letters.gz", &[gzip(b"a"), gzip(b"bc")].concat());
        expect(Compression::Gzip);
        write("letters", text);
        expect(Compression::None);
    }

    #[test]
    fn missing_files_and_folders_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = DataFile::find(folder.path(), "letters").unwrap_err();
        assert!(error.is_not_found());
        let message = error.to_string();
        assert!(message.contains("letters.zst") && message.contains("LOCUS_DATA"), "{message}");
        assert!(message.contains(&folder.path().display().to_string()), "{message}");

        let nowhere = folder.path().join("nowhere");
        let error = DataFile::find(&nowhere, "letters").map(|_| ()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::FolderNotFound { .. }));
        assert!(DataFile::open(&nowhere).unwrap_err().is_not_found());
    }

    #[test]
    fn a_torn_archive_is_invalid_data() {
        let folder = tempfile::tempdir().unwrap();
        let text = b"locus ".repeat(100);
        for (name, bytes) in
            [("a.gz", gzip(&text)), ("a.zst", compress_to_vec(&text[..], CompressionLevel::Fastest))]
        {
            let path = folder.path().join(name);
            std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
            let error = DataFile::open(&path).unwrap().finish().unwrap_err();
            assert!(error.is_invalid_data(), "{error}");
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    proptest! {
        /// Arbitrary bytes, and archives with one byte changed, may fail but not panic.
        #[test]
        fn no_bytes_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            position in any::<proptest::sample::Index>(),
            flip in 1_u8..,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut archives = vec![("a.gz", gzip(&bytes)), ("a.zst", compress_to_vec(&bytes[..], CompressionLevel::Fastest))];
            for (_, archive) in &mut archives {
                let index = position.index(archive.len());
                archive[index] ^= flip;
            }
            archives.push(("b.gz", bytes.clone()));
            archives.push(("b.zst", bytes));
            for (name, archive) in archives {
                let path = folder.path().join(name);
                std::fs::write(&path, archive).unwrap();
                let _ = DataFile::open(&path).unwrap().finish();
            }
        }
    }
}
