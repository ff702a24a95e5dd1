//! From an address to a whole `.part`: tried again after cuts, from where they were.

use std::io::{self, Read};
use std::time::Duration;

use super::Watcher;
use super::part::{Note, Part};
use super::web::{self, Content, Failure, FailureKind, Resume, Web};
use crate::Error;

/// The first pause; each one after it is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// No pause is longer, whatever a server asks for.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// A try that brought this much more is no failure: the patience begins anew.
const PROGRESS_BYTES: u64 = 1 << 16;
/// Enough to see a web page.
const START_BYTES: usize = 512;
const CHUNK_BYTES: usize = 1 << 16;

/// How a download went wrong.
pub(super) enum Trouble {
    /// This address will not do; another may.
    Address { problem: String, is_unreachable: bool },
    /// No address will help: the disk is full, say.
    Here(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

/// Why one request did not end with a whole file.
enum Setback {
    Failed(Failure),
    /// What is there does not fit with what the server has.
    StartOver(&'static str),
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
    /// How often a failure that may pass is tried again.
    pub(super) retries: u32,
    /// Larger files are refused.
    pub(super) max_bytes: u64,
}

impl Downloader {
    /// Downloads `address` until `part` is whole. A failure that may pass is tried again `retries` times, with growing
    /// pauses, as long as no more bytes come.
    pub(super) fn download(
        &self,
        address: &str,
        part: &mut Part,
        retries: u32,
        watcher: &mut dyn Watcher,
    ) -> Result<(), Trouble> {
        let (mut n_retries, mut most_bytes, mut has_started_over) = (0, part.length(), false);
        while !part.is_whole() {
            let failure = match self.request(address, part, watcher) {
                Ok(()) => break,
                Err(Setback::Here(error)) => return Err(Trouble::Here(error)),
                Err(Setback::StartOver(why)) if !has_started_over => {
                    has_started_over = true;
                    watcher.starting_over(address, why);
                    part.clear()?;
                    most_bytes = 0;
                    continue;
                }
                Err(Setback::StartOver(why)) => Failure::lasting(why.to_owned()),
                Err(Setback::Failed(failure)) => failure,
            };
            if part.length() >= most_bytes + PROGRESS_BYTES {
                n_retries = 0;
                most_bytes = part.length();
            }
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
        Ok(())
    }

    /// Asks once, for what is missing.
    fn request(&self, address: &str, part: &mut Part, watcher: &mut dyn Watcher) -> Result<(), Setback> {
        let resume = (part.length() > 0).then(|| Resume {
            from: part.length(),
            validator: part.note().and_then(|note| note.validator.as_deref()),
        });
        let is_resumed = resume.is_some();
        let mut answer = self.web.get(address, resume)?;
        match answer.content {
            Content::WrongPart => {
                return Err(Setback::StartOver("the server sent another part than the one asked for"));
            }
            Content::Rest { total } => {
                let known = part.note();
                let differs =
                    |one: Option<&str>, other: Option<&str>| one.is_some() && other.is_some() && one != other;
                let known_total = known.and_then(|note| note.total);
                let known_validator = known.and_then(|note| note.validator.as_deref());
                if differs(known_validator, answer.validator.as_deref())
                    || known_total.is_some() && total.is_some() && known_total != total
                {
                    return Err(Setback::StartOver("the file on the server has changed"));
                }
                part.join(total);
            }
            Content::Whole { total } => {
                if let Some(total) = total.filter(|total| *total > self.max_bytes) {
                    return Err(self.too_large(&format!("has {total} bytes")).into());
                }
                let mut start = Vec::new();
                let read = web::fill(&mut answer.body, &mut start, START_BYTES);
                // Looked at before a good beginning is given up for it.
                if web::begins_like_a_web_page(&start) {
                    return Err(Failure::web_page().into());
                }
                if is_resumed {
                    watcher.starting_over(address, "the server sent the whole file, not the rest of it");
                }
                let validator = answer.validator.take();
                part.begin(Note { address: address.to_owned(), validator, total })?;
                part.append(&start)?;
                read.map_err(|cause| cut(&cause, part))?;
            }
        }
        let total = part.note().and_then(|note| note.total);
        watcher.receiving(part.length(), total);
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let n_read = match answer.body.read(&mut buffer) {
                Ok(0) => break,
                Ok(n_read) => n_read,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(cut(&cause, part).into()),
            };
            if part.length() + n_read as u64 > self.max_bytes {
                part.clear()?;
                return Err(self.too_large("goes on and on").into());
            }
            part.append(&buffer[..n_read])?;
            watcher.received(part.length());
        }
        match total {
            Some(total) if part.length() < total => {
                let problem = format!("the connection ended after {} of {total} bytes", part.length());
                Err(Failure::passing(problem).into())
            }
            Some(total) if part.length() > total => {
                Err(Setback::StartOver("the server sent more bytes than the file has"))
            }
            _ => Ok(part.end()?),
        }
    }

    fn too_large(&self, what: &str) -> Failure {
        Failure::lasting(format!("the download {what}; not more than {} are taken", self.max_bytes))
    }
}

fn cut(cause: &io::Error, part: &Part) -> Failure {
    let total = part.note().and_then(|note| note.total).map_or(String::new(), |total| format!(" of {total}"));
    Failure::passing(format!("{} after {}{total} bytes", web::cut(cause), part.length()))
}
