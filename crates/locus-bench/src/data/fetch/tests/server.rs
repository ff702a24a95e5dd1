//! A web server on this machine that can misbehave, for tests. Every connection takes one request.
//!
//! It knows nothing but the standard library, as the tests of the command use it, too.

// Not every test that includes this file uses all of it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
}

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    manner: Manner,
}

/// How the body is sent.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Whole,
    /// Only so many bytes, and then the connection is cut.
    Cut(usize),
    /// Only so many bytes, and then nothing until the other side has enough.
    Silent(usize),
    /// Byte by byte.
    Drip,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), manner: Manner::Whole }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "no such file")
    }

    /// As a good server answers.
    pub(crate) fn file(content: &[u8]) -> Self {
        Self::new(200, content).with("Content-Type", "application/octet-stream")
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(key, _)| key != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn cut_after(mut self, n_bytes: usize) -> Self {
        self.manner = Manner::Cut(n_bytes);
        self
    }

    pub(crate) fn silent_after(mut self, n_bytes: usize) -> Self {
        self.manner = Manner::Silent(n_bytes);
        self
    }

    pub(crate) fn dripping(mut self) -> Self {
        self.manner = Manner::Drip;
        self
    }

    fn send(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let mut head = format!("HTTP/1.1 {} Words\r\nConnection: close\r\n", self.status);
        if !self.headers.iter().any(|(name, _)| name == "Transfer-Encoding" || name == "No-Length") {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        match self.manner {
            Manner::Whole => stream.write_all(&self.body),
            Manner::Cut(n_bytes) => stream.write_all(&self.body[..n_bytes]),
            Manner::Silent(n_bytes) => {
                stream.write_all(&self.body[..n_bytes])?;
                stream.read_to_end(&mut Vec::new()).map(|_| ())
            }
            Manner::Drip => self.body.iter().try_for_each(|byte| stream.write_all(&[*byte])),
        }
    }
}

/// Runs until the tests end.
pub(crate) struct Server {
    address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers as `answer` says, which is told how many requests came before.
    pub(crate) fn start(answer: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                // A connection that is silent must not keep others waiting.
                thread::spawn(move || {
                    let Some(request) = read_request(&stream) else { return };
                    let n_before = {
                        let mut seen = seen.lock().unwrap();
                        seen.push(request.clone());
                        seen.len() - 1
                    };
                    // The other side may have gone.
                    let _ = answer(n_before, &request).send(&mut stream);
                });
            }
        });
        Self { address, requests }
    }

    /// What its addresses begin with.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The paths that were asked for, in order; after a proxy's verb its host.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(|request| request.path.clone()).collect()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// An address where nobody listens.
pub(crate) fn deserted_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = lines.next()?.ok()?;
        let Some((name, value)) = line.split_once(':') else {
            return Some(Request { method, path, headers });
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}
