//! Downloads that are cut and go on.

use std::fs;
use std::time::Duration;

use super::server::{Reply, Server};
use super::*;

const PART: &str = "USCensus1990.data.txt.part";
const NOTE: &str = "USCensus1990.data.txt.part.json";

/// A server whose first answer is cut after `n_bytes`, and whose later ones are `then`.
fn cut_once(
    content: &[u8],
    n_bytes: usize,
    then: impl Fn(&Request, &[u8]) -> Reply + Send + Sync + 'static,
) -> Server {
    let content = content.to_vec();
    Server::start(move |n_before, request| match n_before {
        0 => Reply::file(request, &content, "1").cut_after(n_bytes),
        _ => then(request, &content),
    })
}

#[test]
fn a_cut_download_goes_on_where_it_was() {
    let content = table(300_000);
    let server = cut_once(&content, 120_000, |request, content| Reply::file(request, content, "1"));
    let mut desk = Desk::new();
    desk.fetch(&server, CENSUS).unwrap();
    assert!(desk.read(CENSUS) == content);
    assert_eq!(desk.names(), [CENSUS]);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!((requests[1].from(), requests[1].header("if-range")), (Some(120_000), Some("\"1\"")));
    assert_eq!(desk.told.pauses, [1]);
    desk.assert_told("after 120000 of 300000 bytes");
    desk.assert_told("receiving from 120000 to 300000");
}

#[test]
fn so_does_one_that_an_earlier_run_began() {
    let content = table(100_000);
    let server = cut_once(&content, 40_000, |request, content| Reply::file(request, content, "1"));
    let mut desk = Desk::new();
    let mut without_patience = desk.fetcher(&server, 0);
    let error = desk.fetch_with(&mut without_patience, CENSUS).unwrap_err();
    assert!(error.to_string().contains("after 40000 of 100000 bytes"), "{error}");
    assert_eq!(desk.names(), [PART, NOTE], "no half file under the final name");
    assert_eq!(desk.read(PART).len(), 40_000);
    drop(without_patience);
    desk.fetch(&server, CENSUS).unwrap();
    assert!(desk.read(CENSUS) == content);
    let asked: Vec<Option<usize>> = server.requests().iter().map(Request::from).collect();
    // Between the two, the second source was asked in vain.
    assert_eq!((asked[0], asked.last()), (None, Some(&Some(40_000))));
    assert_eq!(desk.names(), [CENSUS]);
}

#[test]
fn what_an_earlier_run_left_whole_is_not_downloaded_again() {
    let content = table(1000);
    let server = site(&[]);
    let desk = &mut Desk::new();
    fs::write(desk.path(PART), &content).unwrap();
    let address = format!("{}/bucket/{CENSUS}", server.address());
    fs::write(desk.path(NOTE), format!("{{\"address\":\"{address}\",\"validator\":null,\"total\":1000}}"))
        .unwrap();
    desk.fetch(&server, CENSUS).unwrap();
    assert!(desk.read(CENSUS) == content && server.requests().is_empty());
}

#[test]
fn a_beginning_of_unknown_origin_is_worth_nothing() {
    let content = table(1000);
    let server = site(&[("/bucket/USCensus1990.data.txt", content.clone())]);
    let address = format!("{}/bucket/{CENSUS}", server.address());
    for note in [
        None,
        Some("not json".to_owned()),
        Some("{\"address\":\"http://elsewhere/file\",\"validator\":null,\"total\":1000}".to_owned()),
        // Longer than the whole.
        Some(format!("{{\"address\":\"{address}\",\"validator\":null,\"total\":3}}")),
    ] {
        let mut desk = Desk::new();
        fs::write(desk.path(PART), "else").unwrap();
        if let Some(note) = &note {
            fs::write(desk.path(NOTE), note).unwrap();
        }
        desk.fetch(&server, CENSUS).unwrap();
        assert!(desk.read(CENSUS) == content, "{note:?}");
    }
    assert!(server.requests().iter().all(|request| request.from().is_none()));
}

#[test]
fn a_server_that_cannot_go_on_starts_over() {
    type Then = fn(&Request, &[u8]) -> Reply;
    let cases: [(&str, Then, &str); 6] = [
        ("all", |_, content| Reply::new(200, content), "the server sent the whole file"),
        ("changed", |request, content| Reply::file(request, content, "2"), "the server sent the whole file"),
        (
            "changed, without a look at If-Range",
            |request, content| match request.from() {
                Some(from) => Reply::new(206, &content[from..])
                    .with("Content-Range", &format!("bytes {from}-299999/300000"))
                    .with("ETag", "\"2\""),
                None => Reply::file(request, content, "2"),
            },
            "the file on the server has changed",
        ),
        (
            "another length",
            |request, content| match request.from() {
                Some(from) => Reply::new(206, &content[from..])
                    .with("Content-Range", &format!("bytes {from}-299999/300001")),
                None => Reply::new(200, content),
            },
            "the file on the server has changed",
        ),
        (
            "another part",
            |request, content| match request.from() {
                Some(from) => Reply::new(206, &content[from - 5..])
                    .with("Content-Range", &format!("bytes {}-299999/300000", from - 5)),
                None => Reply::new(200, content),
            },
            "the server sent another part than the one asked for",
        ),
        (
            "no such part",
            |request, content| match request.from() {
                Some(_) => Reply::new(416, "").with("Content-Range", "bytes */300000"),
                None => Reply::new(200, content),
            },
            "the server sent another part than the one asked for",
        ),
    ];
    let content = table(300_000);
    for (case, then, why) in cases {
        let server = cut_once(&content, 100_000, then);
        let mut desk = Desk::new();
        desk.fetch(&server, CENSUS).unwrap();
        assert!(desk.read(CENSUS) == content, "{case}");
        desk.assert_told(&format!("starting over: {why}"));
        assert_eq!(desk.told.pauses, [1], "{case}");
        assert_eq!(desk.names(), [CENSUS], "{case}");
    }
}

#[test]
fn a_part_that_nobody_asked_for_will_not_do() {
    let server = Server::start(|_, _| Reply::new(206, "1,2\n").with("Content-Range", "bytes 0-3/100"));
    let mut desk = Desk::new();
    let error = desk.fetch(&server, CENSUS).unwrap_err();
    assert!(error.to_string().contains("another part than the one asked for"), "{error}");
    assert!(desk.names().is_empty());
}

#[test]
fn pieces_that_do_not_belong_together_are_downloaded_once_more() {
    // Without a validator the server cannot tell that the file has changed; the checksum can.
    let old = table(1000);
    let server = cut_once(&old, 600, |request, old| {
        let new: Vec<u8> = old.iter().map(|byte| if *byte == b'1' { b'2' } else { *byte }).collect();
        Reply::file(request, &new, "1").without("ETag")
    });
    let mut desk = Desk::new();
    let fetched = desk.fetch(&server, "mushroom.data").unwrap();
    desk.assert_told("starting over: the pieces do not make the known file");
    assert!(!desk.read("mushroom.data").contains(&b'1'), "it is of one piece");
    assert_eq!(matches_known(&fetched), Some(false), "and still not the known one");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn patience_begins_anew_as_long_as_bytes_come() {
    // Ten cuts, each after 70 000 bytes more, are no reason to give up after two tries.
    let content = table(700_000);
    let served = content.clone();
    let server = Server::start(move |_, request| {
        let left = served.len() - request.from().unwrap_or(0);
        Reply::file(request, &served, "1").cut_after(left.min(70_000))
    });
    let mut desk = Desk::new();
    let mut fetcher = desk.fetcher(&server, 1);
    desk.fetch_with(&mut fetcher, CENSUS).unwrap();
    assert!(desk.read(CENSUS) == content);
    assert_eq!(desk.told.pauses, [1; 9]);

    // A server that always stops at the same place is given up.
    let served = content.clone();
    let stuck = Server::start(move |_, request| Reply::file(request, &served, "1").cut_after(0));
    let mut desk = Desk::new();
    assert!(desk.fetch(&stuck, CENSUS).is_err());
    assert_eq!(desk.told.pauses, [1, 2, 4, 8, 1, 2, 4, 8], "four tries more for each of two addresses");
}

#[test]
fn a_server_that_falls_silent_is_asked_again() {
    let content = table(50_000);
    let served = content.clone();
    let server = Server::start(move |n_before, request| match n_before {
        0 => Reply::file(request, &served, "1").silent_after(20_000),
        _ => Reply::file(request, &served, "1"),
    });
    let mut desk = Desk::new();
    let mut fetcher = desk.fetcher(&server, 4);
    fetcher.downloader.web = Web::direct(Duration::from_millis(300));
    desk.fetch_with(&mut fetcher, CENSUS).unwrap();
    assert!(desk.read(CENSUS) == content);
    desk.assert_told("pausing: the server fell silent after 20000 of 50000 bytes");
}

#[test]
fn a_download_that_another_process_writes_is_left_alone() {
    let server = site(&[("/bucket/USCensus1990.data.txt", table(1000))]);
    let mut desk = Desk::new();
    let other = fs::File::create(desk.path(PART)).unwrap();
    other.lock().unwrap();
    let error = desk.fetch(&server, CENSUS).unwrap_err();
    assert!(matches!(error, Error::PartInUse { .. }) && error.to_string().contains(PART), "{error}");
    drop(other);
    desk.fetch(&server, CENSUS).unwrap();
}
