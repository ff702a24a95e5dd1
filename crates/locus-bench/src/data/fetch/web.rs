//! One HTTP request and the meaning of its response. The HTTP library handles redirects, proxies and TLS.

use std::io::{self, Read};
use std::time::Duration;

use ureq::http::{HeaderMap, header};
use ureq::{Agent, BodyReader, Proxy, Timeout};

/// How long to wait for a connection, and for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a server may pause within a file.
const MAX_SILENCE: Duration = Duration::from_secs(60);

/// Asks servers for files.
pub(super) struct Web {
    agent: Agent,
}

/// An answer that brings a file.
pub(super) struct Answer {
    /// How many bytes the file has, if that was said.
    pub(super) total: Option<u64>,
    pub(super) body: BodyReader<'static>,
}

/// Why a request returned no file.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) problem: String,
    pub(super) kind: FailureKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// No connection. Other files on the same host will fail too.
    Unreachable,
    /// A transient failure; retry after this pause if the server requested one.
    Passing { retry_after: Option<Duration> },
    /// A permanent failure.
    Lasting,
}

impl Web {
    /// With the proxy that the environment names, if any.
    pub(super) fn new() -> Self {
        Self::with(Proxy::try_from_env(), MAX_SILENCE)
    }

    /// Without a proxy; for servers on this machine.
    #[cfg(test)]
    pub(super) fn direct(max_silence: Duration) -> Self {
        Self::with(None, max_silence)
    }

    fn with(proxy: Option<Proxy>, max_silence: Duration) -> Self {
        let config = Agent::config_builder()
            .proxy(proxy)
            .http_status_as_error(false)
            .user_agent(concat!("locus/", env!("CARGO_PKG_VERSION")))
            // Lengths are of the bytes as they are sent.
            .accept_encoding("identity")
            .timeout_resolve(Some(PATIENCE))
            .timeout_connect(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            .timeout_per_read(Some(max_silence));
        Self { agent: config.build().into() }
    }

    /// Asks for a file.
    pub(super) fn get(&self, address: &str) -> Result<Answer, Failure> {
        let (parts, body) = self.agent.get(address).call().map_err(Failure::from)?.into_parts();
        match parts.status.as_u16() {
            200 => {}
            status => return Err(Failure::status(status, &parts.headers)),
        }
        let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(encoding) = text(header::CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
            return Err(Failure::lasting(format!(
                "the server sent the file encoded as {encoding}, which was not requested"
            )));
        }
        if text(header::CONTENT_TYPE).is_some_and(is_html) {
            return Err(Failure::web_page());
        }
        Ok(Answer { total: body.content_length(), body: body.into_reader() })
    }
}

fn is_html(content_type: &str) -> bool {
    let mime = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    mime == "text/html" || mime == "application/xhtml+xml"
}

/// Whether a file that begins so is a web page, whatever the server calls it.
pub(super) fn begins_like_a_web_page(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start).to_ascii_lowercase();
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    text.starts_with("<!doctype html") || text.starts_with("<html") || text.starts_with("<head")
}

impl Failure {
    pub(super) fn lasting(problem: String) -> Self {
        Self { problem, kind: FailureKind::Lasting }
    }

    pub(super) fn passing(problem: String) -> Self {
        Self { problem, kind: FailureKind::Passing { retry_after: None } }
    }

    pub(super) fn web_page() -> Self {
        let problem =
            "the server sent a web page instead of the file: it may require a login, or the file has moved";
        Self::lasting(problem.to_owned())
    }

    fn status(status: u16, headers: &HeaderMap) -> Self {
        let meaning = match status {
            401 | 403 => " (not allowed)",
            404 | 410 => " (not found)",
            408 => " (timeout)",
            429 => " (too many requests)",
            500..=599 => " (server error)",
            _ => "",
        };
        let problem = format!("the server answered {status}{meaning}");
        match status {
            408 | 429 | 500..=599 => {
                let text = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
                let seconds = text.and_then(|text| text.trim().parse().ok());
                let retry_after = seconds.map(Duration::from_secs);
                Self { problem, kind: FailureKind::Passing { retry_after } }
            }
            _ => Self::lasting(problem),
        }
    }
}

impl From<ureq::Error> for Failure {
    fn from(error: ureq::Error) -> Self {
        use io::ErrorKind as Io;
        use ureq::Error as E;
        let unreachable = |problem| Self { problem, kind: FailureKind::Unreachable };
        match error {
            E::HostNotFound => unreachable("unknown host; check the network connection".to_owned()),
            E::Timeout(Timeout::Resolve | Timeout::Connect) => {
                unreachable(format!("no connection within {} s", PATIENCE.as_secs()))
            }
            E::ConnectionFailed | E::ConnectProxyFailed(_) => unreachable(format!("no connection: {error}")),
            E::Io(cause) => match cause.kind() {
                Io::ConnectionRefused
                | Io::HostUnreachable
                | Io::NetworkUnreachable
                | Io::NetworkDown
                | Io::AddrNotAvailable
                | Io::TimedOut => unreachable(format!("no connection: {cause}")),
                // A certificate that cannot be trusted, say.
                Io::InvalidData | Io::InvalidInput => Self::lasting(cause.to_string()),
                _ => Self::passing(format!("the connection broke: {cause}")),
            },
            E::Timeout(_) => Self::passing("the server does not answer".to_owned()),
            E::Protocol(cause) => Self::passing(format!("the server's response is not HTTP: {cause}")),
            error => Self::lasting(error.to_string()),
        }
    }
}

/// Why a body ended before its end.
pub(super) fn cut(cause: &io::Error) -> String {
    let inner = cause.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
    match inner {
        Some(ureq::Error::Timeout(_)) => "the server stopped sending".to_owned(),
        Some(error) => format!("the connection broke ({error})"),
        None => format!("the connection broke ({cause})"),
    }
}

/// Reads until `buffer` is full or the body ends; what was read before an error stays in it.
pub(super) fn fill(body: &mut impl Read, buffer: &mut Vec<u8>, capacity: usize) -> io::Result<()> {
    let missing = capacity.saturating_sub(buffer.len()) as u64;
    body.take(missing).read_to_end(buffer).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_pages_are_known_by_their_beginning() {
        for page in ["<!DOCTYPE html><p>", "\n  <HTML>", "\u{FEFF}<!doctype HTML", "<head>"] {
            assert!(begins_like_a_web_page(page.as_bytes()), "{page}");
        }
        for data in ["", "p,x,s,n", "<x", "PK\x03\x04", "1 2 3"] {
            assert!(!begins_like_a_web_page(data.as_bytes()), "{data}");
        }
        assert!(is_html("Text/HTML; charset=utf-8") && !is_html("text/plain") && !is_html("application/zip"));
    }
}
