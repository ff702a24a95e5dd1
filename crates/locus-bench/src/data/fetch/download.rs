//! Complete downloads: transient failures are retried from the beginning.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use super::Watcher;
use super::web::{self, Failure, FailureKind, Web};
use crate::Error;
use crate::data::beside::{Spoiled, TemporaryFile};

/// The first pause; each one after it is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause, even if a server asks for more.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Enough to see a web page.
const START_BYTES: usize = 512;
const CHUNK_BYTES: usize = 1 << 16;

/// Why a download failed.
pub(super) enum Trouble {
    /// This address failed; another may work.
    Address { problem: String, is_unreachable: bool },
    /// No address will work, for example because the disk is full.
    Here(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

impl From<Spoiled> for Trouble {
    fn from(spoiled: Spoiled) -> Self {
        match spoiled {
            Spoiled::Input(problem) => Self::Address { problem, is_unreachable: false },
            Spoiled::Here(error) => Self::Here(error),
        }
    }
}

/// Why one request did not end with a whole file.
enum Setback {
    Failed(Failure),
    Here(Error),
}

impl From<Failure> for Setback {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Error> for Setback {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

/// How downloads are made.
pub(super) struct Downloader {
    pub(super) web: Web,
    /// How often a transient failure is retried.
    pub(super) retries: u32,
    /// Larger files are rejected.
    pub(super) max_bytes: u64,
}

impl Downloader {
    /// Downloads `address` to a temporary file beside `target`. A transient failure is retried `retries` times, with growing
    /// pauses.
    pub(super) fn download(
        &self,
        address: &str,
        target: &Path,
        retries: u32,
        watcher: &mut dyn Watcher,
    ) -> Result<TemporaryFile, Trouble> {
        let mut n_retries = 0;
        loop {
            let failure = match self.request(address, target, watcher) {
                Ok(download) => return Ok(download),
                Err(Setback::Here(error)) => return Err(Trouble::Here(error)),
                Err(Setback::Failed(failure)) => failure,
            };
            let least_pause = match failure.kind {
                FailureKind::Passing { retry_after } if n_retries < retries => {
                    retry_after.unwrap_or_default()
                }
                FailureKind::Unreachable if n_retries < retries => Duration::ZERO,
                kind => {
                    let is_unreachable = kind == FailureKind::Unreachable;
                    return Err(Trouble::Address { problem: failure.problem, is_unreachable });
                }
            };
            let pause = FIRST_PAUSE.saturating_mul(1 << n_retries.min(16)).max(least_pause).min(MAX_PAUSE);
            n_retries += 1;
            watcher.pausing(address, &failure.problem, pause);
            watcher.pause(pause);
        }
    }

    /// Asks once.
    fn request(
        &self,
        address: &str,
        target: &Path,
        watcher: &mut dyn Watcher,
    ) -> Result<TemporaryFile, Setback> {
        let mut answer = self.web.get(address)?;
        let total = answer.total;
        if let Some(total) = total.filter(|total| *total > self.max_bytes) {
            return Err(self.too_large(&format!("has {total} bytes")).into());
        }
        let mut start = Vec::new();
        let read = web::fill(&mut answer.body, &mut start, START_BYTES);
        if web::begins_like_a_web_page(&start) {
            return Err(Failure::web_page().into());
        }
        let mut n_bytes = start.len() as u64;
        read.map_err(|cause| cut(&cause, n_bytes, total))?;
        let mut download = TemporaryFile::create(target)?;
        download.append(&start)?;
        watcher.receiving(total);
        watcher.received(n_bytes);
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let n_read = match answer.body.read(&mut buffer) {
                Ok(0) => break,
                Ok(n_read) => n_read,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(cut(&cause, n_bytes, total).into()),
            };
            n_bytes += n_read as u64;
            if n_bytes > self.max_bytes {
                return Err(self.too_large("exceeds the maximum size").into());
            }
            download.append(&buffer[..n_read])?;
            watcher.received(n_bytes);
        }
        match total {
            Some(total) if n_bytes < total => {
                let problem = format!("the connection ended after {n_bytes} of {total} bytes");
                Err(Failure::passing(problem).into())
            }
            _ => Ok(download),
        }
    }

    fn too_large(&self, what: &str) -> Failure {
        Failure::lasting(format!("the download {what}; at most {} are allowed", self.max_bytes))
    }
}

fn cut(cause: &io::Error, n_bytes: u64, total: Option<u64>) -> Failure {
    let total = total.map_or(String::new(), |total| format!(" of {total}"));
    Failure::passing(format!("{} after {n_bytes}{total} bytes", web::cut(cause)))
}
