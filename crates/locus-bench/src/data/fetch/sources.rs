//! The addresses of each file, in the order in which they are tried, and how to unpack it.

use std::fmt;

use crate::Error;
use crate::data::Compression;
use crate::data::catalog::CatalogFile;
use crate::error::ErrorKind;

/// The benchmark's own bucket: every file under its name.
const BUCKET: &str = "https://storage.googleapis.com/bandits_datasets";
/// The UCI archive: a zip file per dataset.
const UCI: &str = "https://archive.ics.uci.edu/static/public";

/// One address of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) address: String,
    pub(super) recipe: Recipe,
}

/// How a download becomes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recipe {
    /// It is the file, perhaps compressed.
    Whole(Compression),
    /// A zip archive that holds the file under this name, plain, `.gz` or `.Z`.
    Member(&'static str),
    /// A zip archive with `adult.data` and `adult.test`.
    Adult,
}

impl fmt::Display for Recipe {
    /// What to do by hand with the download.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(Compression::None) => f.write_str("the file itself"),
            Self::Whole(compression) => write!(f, "the file as {compression}"),
            Self::Member(member) => write!(f, "a zip archive that holds it as {member}, expanded"),
            Self::Adult => f.write_str(
                "a zip archive: the non-empty lines of adult.data, then those of adult.test without its first",
            ),
        }
    }
}

/// Base addresses: a mirror that is tried first, and the public ones.
#[derive(Clone, Debug)]
pub(super) struct Bases {
    mirror: Option<String>,
    bucket: String,
    uci: String,
}

impl Bases {
    /// The public addresses, after `mirror` if there is one.
    pub(super) fn public(mirror: Option<&str>) -> Result<Self, Error> {
        if let Some(mirror) = mirror
            && !["http://", "https://"].iter().any(|scheme| {
                mirror.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
                    && mirror.len() > scheme.len()
            })
        {
            return Err(ErrorKind::InvalidMirror { found: mirror.to_owned() }.into());
        }
        Ok(Self::new(mirror, BUCKET, UCI))
    }

    pub(super) fn new(mirror: Option<&str>, bucket: &str, uci: &str) -> Self {
        Self { mirror: mirror.map(str::to_owned), bucket: bucket.to_owned(), uci: uci.to_owned() }
    }

    /// All addresses of `file`. A mirror may have the layout of the bucket, that of the UCI archive, or be a folder
    /// of data files such as we read them.
    pub(super) fn sources(&self, file: &CatalogFile) -> Vec<Source> {
        let mut sources = Vec::new();
        if let Some(mirror) = &self.mirror {
            sources.push(Source::new(mirror, file.name, Recipe::Whole(Compression::None)));
            sources.extend(archive(file.name).map(|(path, recipe)| Source::new(mirror, path, recipe)));
            for compression in [Compression::Gzip, Compression::Zstd] {
                let path = format!("{}{}", file.name, compression.suffix());
                sources.push(Source::new(mirror, &path, Recipe::Whole(compression)));
            }
        }
        sources.extend(self.published(file));
        sources
    }

    /// Where the file is published.
    pub(super) fn published(&self, file: &CatalogFile) -> Vec<Source> {
        if is_cut_from_another(file) {
            return Vec::new();
        }
        let bucket = Source::new(&self.bucket, file.name, Recipe::Whole(Compression::None));
        let uci = archive(file.name).map(|(path, recipe)| Source::new(&self.uci, path, recipe));
        [bucket].into_iter().chain(uci).collect()
    }
}

impl Source {
    fn new(base: &str, path: &str, recipe: Recipe) -> Self {
        Self { address: format!("{}/{path}", base.trim_end_matches('/')), recipe }
    }
}

/// Whether the file is not published, but derived from another one.
pub(super) fn is_cut_from_another(file: &CatalogFile) -> bool {
    file.name == super::census::PART
}

/// The path in the UCI archive, for the files that are there.
fn archive(name: &str) -> Option<(&'static str, Recipe)> {
    match name {
        "mushroom.data" => Some(("73/mushroom.zip", Recipe::Member("agaricus-lepiota.data"))),
        "shuttle.trn" => Some(("148/statlog+shuttle.zip", Recipe::Member("shuttle.trn"))),
        "covtype.data" => Some(("31/covertype.zip", Recipe::Member("covtype.data"))),
        "adult.full" => Some(("2/adult.zip", Recipe::Adult)),
        super::census::WHOLE => Some(("116/us+census+data+1990.zip", Recipe::Member(super::census::WHOLE))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::catalog::{FILES, find};

    fn addresses(mirror: Option<&str>, name: &str) -> Vec<String> {
        let sources = Bases::public(mirror).unwrap().sources(find(name).unwrap());
        sources.into_iter().map(|source| source.address).collect()
    }

    #[test]
    fn the_bucket_comes_first_then_the_archive() {
        assert_eq!(
            addresses(None, "shuttle.trn"),
            [
                "https://storage.googleapis.com/bandits_datasets/shuttle.trn",
                "https://archive.ics.uci.edu/static/public/148/statlog+shuttle.zip"
            ]
        );
        assert_eq!(
            addresses(None, "raw_stock_contexts"),
            ["https://storage.googleapis.com/bandits_datasets/raw_stock_contexts"]
        );
        for file in &FILES {
            assert_eq!(addresses(None, file.name).is_empty(), is_cut_from_another(file), "{}", file.name);
        }
    }

    #[test]
    fn a_mirror_comes_before_both_in_either_layout() {
        assert_eq!(
            addresses(Some("http://localhost:8000/data/"), "adult.full"),
            [
                "http://localhost:8000/data/adult.full",
                "http://localhost:8000/data/2/adult.zip",
                "http://localhost:8000/data/adult.full.gz",
                "http://localhost:8000/data/adult.full.zst",
                "https://storage.googleapis.com/bandits_datasets/adult.full",
                "https://archive.ics.uci.edu/static/public/2/adult.zip"
            ]
        );
        for wrong in ["", "localhost:8000", "ftp://a", "http://", "/data", "é"] {
            let message = Bases::public(Some(wrong)).unwrap_err().to_string();
            assert!(message.contains(&format!("`{wrong}`")) && message.contains("http://"), "{message}");
        }
    }
}
