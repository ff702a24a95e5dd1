//! Downloads the benchmark's data files.
//!
//! Every file has a list of addresses: a mirror if one is named, the benchmark's bucket, the UCI archive. [`Fetcher`] tries them
//! in turn; a failure is reported and leads to the next. Downloads and unpacked files have temporary names in the same folder;
//! only a complete file gets its final name. A file whose checksum does not match is kept, because the publisher may have changed
//! it, and a warning shows what to compare.
//!
//! This module does not read a clock, sleep or print: the [`Watcher`] does.
//!
//! # Layout
//!
//! `sources` lists the addresses, `web` makes one request, `download` retries until a download is complete, `unpack` extracts the
//! file, `census` cuts the part of the census, which is not published.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use locus::did_you_mean;

use super::beside::{Spoiled, TemporaryFile, write_beside};
use super::catalog::{self, CatalogFile, FILES};
use super::inspect::inspect_path;
use super::{DataFile, FileState};
use crate::Error;
use crate::error::ErrorKind;

mod census;
mod download;
mod sources;
mod unpack;
mod web;

use download::{Downloader, Trouble};
use sources::{Bases, Recipe, Source};
use web::Web;

/// The maximum size of a download and of an unpacked file; the largest file, the census, is about a third of it.
const MAX_BYTES: u64 = 1 << 30;

/// Observes downloads, and waits between retries.
pub trait Watcher {
    /// An address is tried for a file.
    fn asking(&mut self, file: &CatalogFile, address: &str);
    /// A download begins, with its size in bytes if known.
    fn receiving(&mut self, total: Option<u64>);
    /// This many bytes were received.
    fn received(&mut self, n_bytes: u64);
    /// A request failed and will be retried after a pause.
    fn pausing(&mut self, address: &str, problem: &str, pause: Duration);
    /// Waits.
    fn pause(&mut self, pause: Duration);
    /// An address failed.
    fn gave_up(&mut self, address: &str, problem: &str);
    /// All bytes of a download were received; the file is being unpacked.
    fn unpacking(&mut self, file: &CatalogFile);
}

/// A file that is available.
#[derive(Debug)]
pub enum Fetched {
    /// It already existed, plain or compressed.
    WasThere {
        /// Where.
        path: PathBuf,
    },
    /// It was downloaded.
    Came {
        /// The address, or the file that it was cut from.
        from: String,
        /// What it is.
        state: FileState,
    },
}

/// The files with these names or problems, each once; all published ones if `names` is empty.
pub fn select<S: AsRef<str>>(names: &[S]) -> Result<Vec<&'static CatalogFile>, Error> {
    if names.is_empty() {
        return Ok(FILES.iter().filter(|file| !sources::is_cut_from_another(file)).collect());
    }
    let mut files: Vec<&CatalogFile> = Vec::new();
    for name in names.iter().map(AsRef::as_ref) {
        let is_it = |file: &&CatalogFile| file.name == name || file.problems.contains(&name);
        let file = FILES.iter().find(is_it).ok_or_else(|| ErrorKind::UnknownDataFile {
            name: name.to_owned(),
            hint: did_you_mean(name, FILES.iter().flat_map(|file| file.problems).copied()),
            known: FILES.iter().flat_map(|file| file.problems).copied().collect::<Vec<_>>().join(", "),
        })?;
        if !files.iter().any(|other| other.name == file.name) {
            files.push(file);
        }
    }
    Ok(files)
}

/// Downloads files into a folder.
pub struct Fetcher {
    folder: PathBuf,
    bases: Bases,
    downloader: Downloader,
    /// Hosts to which there was no connection: each is tried only once more for every file.
    unreachable: HashSet<String>,
}

impl Fetcher {
    /// Downloads into `folder`, which is created if necessary; tries `mirror` first.
    ///
    /// Transient failures are retried `retries` times.
    pub fn new(folder: &Path, mirror: Option<&str>, retries: u32) -> Result<Self, Error> {
        Self::with(folder, Bases::public(mirror)?, Web::new(), retries)
    }

    fn with(folder: &Path, bases: Bases, web: Web, retries: u32) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(|cause| ErrorKind::OutFile {
            doing: "create the folder",
            path: folder.to_owned(),
            cause,
        })?;
        let downloader = Downloader { web, retries, max_bytes: MAX_BYTES };
        Ok(Self { folder: folder.to_owned(), bases, downloader, unreachable: HashSet::new() })
    }

    /// Downloads `file` unless it exists. Blocks until it is complete or every address failed.
    ///
    /// If [`Error::is_io`] holds, every other file will fail too.
    pub fn fetch(&mut self, file: &'static CatalogFile, watcher: &mut dyn Watcher) -> Result<Fetched, Error> {
        match DataFile::find(&self.folder, file.name) {
            Ok(found) => return Ok(Fetched::WasThere { path: found.path().to_owned() }),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        let sources = self.bases.sources(file);
        let mut tried = Vec::new();
        for source in &sources {
            watcher.asking(file, &source.address);
            match self.fetch_from(source, file, watcher) {
                Ok(state) => return Ok(Fetched::Came { from: source.address.clone(), state }),
                Err(Trouble::Here(error)) => return Err(error),
                Err(Trouble::Address { problem, is_unreachable }) => {
                    if is_unreachable {
                        self.unreachable.insert(host(&source.address).to_owned());
                    }
                    watcher.gave_up(&source.address, &problem);
                    tried.push(format!("{}: {problem}", source.address));
                }
            }
        }
        if sources::is_cut_from_another(file) {
            return self.cut_census(file, watcher);
        }
        Err(ErrorKind::NotFetched {
            file: file.name,
            tried: tried.join("; "),
            by_hand: by_hand(file, &self.folder, &self.bases.published(file)),
        }
        .into())
    }

    /// Gets `file` from one address.
    fn fetch_from(
        &self,
        source: &Source,
        file: &'static CatalogFile,
        watcher: &mut dyn Watcher,
    ) -> Result<FileState, Trouble> {
        let Source { address, recipe } = source;
        let retries = match self.unreachable.contains(host(address)) {
            true => 0,
            false => self.downloader.retries,
        };
        let place = self.folder.join(download_name(address));
        let download = self.downloader.download(address, &place, retries, watcher)?;
        watcher.unpacking(file);
        Ok(self.make(download, *recipe, file)?)
    }

    /// Makes the file of a whole download, looks at it and puts it in its place.
    fn make(
        &self,
        download: TemporaryFile,
        recipe: Recipe,
        file: &'static CatalogFile,
    ) -> Result<FileState, Spoiled> {
        let target = self.folder.join(file.name);
        let made = match recipe {
            Recipe::Whole(super::Compression::None) => download,
            recipe => unpack::unpack(download.path(), recipe, &target, self.downloader.max_bytes)?,
        };
        match inspect_path(made.path(), file) {
            Ok(FileState::Found { rows: 0, .. }) => Err(Spoiled::Input("it holds no rows".to_owned())),
            Ok(mut state) => {
                made.put_in_place(&target)?;
                if let FileState::Found { path, .. } = &mut state {
                    *path = target;
                }
                Ok(state)
            }
            Err(error) if error.is_invalid_data() => Err(Spoiled::Input(error.to_string())),
            Err(error) => Err(Spoiled::Here(error)),
        }
    }

    /// Cuts the part of the census from the whole file, which is fetched if need be.
    fn cut_census(
        &mut self,
        file: &'static CatalogFile,
        watcher: &mut dyn Watcher,
    ) -> Result<Fetched, Error> {
        let Some(whole) = catalog::find(census::WHOLE) else {
            return Err(ErrorKind::FileNotFound {
                file: census::WHOLE.to_owned(),
                folder: self.folder.clone(),
            }
            .into());
        };
        self.fetch(whole, watcher)?;
        let input = DataFile::find(&self.folder, whole.name)?;
        let from = input.label();
        watcher.unpacking(file);
        let target = self.folder.join(file.name);
        let made = write_beside(&target, self.downloader.max_bytes, |output| {
            let mut output = std::io::BufWriter::new(output);
            census::cut(input, &mut output)?;
            std::io::Write::flush(&mut output)
        });
        let beside = made.map_err(|spoiled| match spoiled {
            Spoiled::Input(problem) => Error::from(ErrorKind::InvalidFile { file: from.clone(), problem }),
            Spoiled::Here(error) => error,
        })?;
        beside.put_in_place(&target)?;
        Ok(Fetched::Came { from, state: inspect_path(&target, file)? })
    }
}

/// What the temporary name of a download begins with: its name on the server.
fn download_name(address: &str) -> &str {
    address.rsplit('/').next().unwrap_or_default()
}

fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default()
}

/// How to download the file with a browser.
fn by_hand(file: &CatalogFile, folder: &Path, published: &[Source]) -> String {
    let way = |source: &Source| format!("{} ({})", source.address, source.recipe);
    let ways: Vec<String> = published.iter().map(way).collect();
    let derived = match file.name {
        super::jester::FILE => {
            "; or get jester-data-1 from https://eigentaste.berkeley.edu/dataset/, save it as CSV, and create the file with `locus data derive jester FILE.csv`"
        }
        _ => "",
    };
    format!(
        "get {} with a browser and put {} into `{}`{derived}",
        ways.join(" or "),
        file.name,
        folder.display()
    )
}

#[cfg(test)]
mod tests;
