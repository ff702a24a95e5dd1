//! Fetching from servers on this machine, good ones and bad ones. No pause is waited for.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use self::server::{Reply, Request, Server};
use super::sources::Bases;
use super::web::Web;
use super::{Fetched, Fetcher, Watcher};
use crate::Error;
use crate::data::FileState;
use crate::data::catalog::{CatalogFile, find};

pub(crate) mod server;

mod archives;
mod bad_servers;

/// A file whose checksum nobody knows, so that any content will do.
const CENSUS: &str = "USCensus1990.data.txt";

/// A folder to fetch into, and what was told meanwhile.
struct Desk {
    folder: TempDir,
    told: Told,
}

/// Writes down what a watcher is told.
#[derive(Default)]
struct Told {
    /// All but progress.
    events: Vec<String>,
    pauses: Vec<u64>,
    /// Every number of bytes, since the last `receiving`.
    progress: Vec<u64>,
}

impl Watcher for Told {
    fn asking(&mut self, file: &CatalogFile, address: &str) {
        self.events.push(format!("asking {address} for {}", file.name));
    }

    fn receiving(&mut self, total: Option<u64>) {
        let total = total.map_or("?".to_owned(), |total| total.to_string());
        self.events.push(format!("receiving {total}"));
        self.progress.clear();
    }

    fn received(&mut self, n_bytes: u64) {
        self.progress.push(n_bytes);
    }

    fn pausing(&mut self, _: &str, problem: &str, _: Duration) {
        self.events.push(format!("pausing: {problem}"));
    }

    fn pause(&mut self, pause: Duration) {
        self.pauses.push(pause.as_secs());
    }

    fn gave_up(&mut self, address: &str, problem: &str) {
        self.events.push(format!("gave up {address}: {problem}"));
    }

    fn unpacking(&mut self, file: &CatalogFile) {
        self.events.push(format!("unpacking {}", file.name));
    }
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), told: Told::default() }
    }

    /// Fetches from a server with the layout of the real ones: `/bucket/NAME` and `/uci/NUMBER/NAME.zip`.
    fn fetcher(&self, server: &Server, retries: u32) -> Fetcher {
        self.fetcher_at(server.address(), retries)
    }

    fn fetcher_at(&self, address: &str, retries: u32) -> Fetcher {
        let bases = Bases::new(None, &format!("{address}/bucket"), &format!("{address}/uci"));
        Fetcher::with(self.folder.path(), bases, Web::direct(Duration::from_secs(60)), retries).unwrap()
    }

    fn fetch(&mut self, server: &Server, name: &str) -> Result<Fetched, Error> {
        let mut fetcher = self.fetcher(server, 4);
        self.fetch_with(&mut fetcher, name)
    }

    fn fetch_with(&mut self, fetcher: &mut Fetcher, name: &str) -> Result<Fetched, Error> {
        fetcher.fetch(find(name).unwrap(), &mut self.told)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The names of all files.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[track_caller]
    fn assert_told(&self, event: &str) {
        assert!(self.told.events.iter().any(|told| told.contains(event)), "{event}: {:#?}", self.told.events);
    }
}

/// Whether the checksum is the known one.
fn matches_known(fetched: &Fetched) -> Option<bool> {
    match fetched {
        Fetched::Came { state: FileState::Found { matches_known, .. }, .. } => *matches_known,
        other => panic!("{other:?}"),
    }
}

/// A table of about this many bytes.
fn table(n_bytes: usize) -> Vec<u8> {
    let rows = (0..).flat_map(|row: usize| format!("{row},{},{}\n", row * row % 97, row % 7).into_bytes());
    rows.take(n_bytes).collect()
}

/// A good server with these files.
fn site(files: &[(&str, Vec<u8>)]) -> Server {
    let files: HashMap<String, Vec<u8>> =
        files.iter().map(|(path, content)| ((*path).to_owned(), content.clone())).collect();
    Server::start(move |_, request: &Request| match files.get(&request.path) {
        Some(content) => Reply::file(content),
        None => Reply::not_found(),
    })
}

#[test]
fn a_file_comes_from_the_bucket() {
    let content = table(200_000);
    let server = site(&[("/bucket/USCensus1990.data.txt", content.clone())]);
    let mut desk = Desk::new();
    let fetched = desk.fetch(&server, CENSUS).unwrap();
    assert!(desk.read(CENSUS) == content);
    assert_eq!(desk.names(), [CENSUS]);
    let Fetched::Came { from, state: FileState::Found { path, bytes, rows, matches_known, .. } } = fetched
    else {
        panic!("{fetched:?}");
    };
    assert_eq!(from, format!("{}/bucket/{CENSUS}", server.address()));
    assert_eq!((path, bytes, matches_known), (desk.path(CENSUS), 200_000, None));
    assert_eq!(
        rows,
        content.iter().filter(|&&byte| byte == b'\n').count(),
        "the header is no row, the cut one is"
    );
    let request = &server.requests()[0];
    assert!(request.header("user-agent").unwrap().starts_with("locus/"));
    assert_eq!(request.header("accept-encoding"), Some("identity"));
    assert_eq!(desk.told.progress.last(), Some(&200_000));
    assert!(desk.told.pauses.is_empty());
}

#[test]
fn what_is_there_is_not_asked_for() {
    let server = site(&[]);
    for name in ["mushroom.data", "mushroom.data.gz", "mushroom.data.zst"] {
        let mut desk = Desk::new();
        fs::write(desk.path(name), "whatever").unwrap();
        let fetched = desk.fetch(&server, "mushroom.data").unwrap();
        assert!(matches!(fetched, Fetched::WasThere { path } if path == desk.path(name)));
    }
    assert!(server.requests().is_empty());
}

#[test]
fn where_no_address_has_the_file_each_is_named_with_what_to_do() {
    let server = site(&[]);
    let mut desk = Desk::new();
    let message = desk.fetch(&server, "shuttle.trn").unwrap_err().to_string();
    let address = server.address();
    for part in [
        "cannot get shuttle.trn: ".to_owned(),
        format!("{address}/bucket/shuttle.trn: the server answered 404 (not found); "),
        format!("{address}/uci/148/statlog+shuttle.zip: the server answered 404 (not found); "),
        format!("by hand: get {address}/bucket/shuttle.trn (the file itself) or "),
        "(a zip archive that holds it as shuttle.trn, expanded) with a browser and put shuttle.trn into `"
            .to_owned(),
        desk.folder.path().display().to_string(),
    ] {
        assert!(message.contains(&part), "expected {part} in {message}");
    }
    assert_eq!(
        server.paths(),
        ["/bucket/shuttle.trn", "/uci/148/statlog+shuttle.zip"],
        "404 is not tried again"
    );
    assert!(desk.told.pauses.is_empty() && desk.names().is_empty());
    let jester = desk.fetch(&server, "jester_data_40jokes_19181users.npy").unwrap_err().to_string();
    assert!(jester.contains("`locus data derive jester FILE.csv`"), "{jester}");
}

#[test]
fn files_are_selected_by_name_or_problem_each_once() {
    let names = |words: &[&str]| -> Vec<&str> {
        super::select(words).unwrap().into_iter().map(|file| file.name).collect()
    };
    assert_eq!(names(&["adult", "mushroom.data", "adult.full", "mushroom"]), ["adult.full", "mushroom.data"]);
    assert_eq!(names(&["census-10k"]), ["USCensus1990.first10000.data.txt"]);
    let all = names(&[]);
    assert!(all.len() == 7 && all.contains(&CENSUS) && !all.contains(&"USCensus1990.first10000.data.txt"));
    let error = super::select(&["wheel"]).unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("`wheel`"), "{error}");
    assert!(
        error.to_string().ends_with(
            "there are files for mushroom, financial, statlog, jester, jester-described, covertype, adult, census, census-10k"
        ),
        "{error}"
    );
}
