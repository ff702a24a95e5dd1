//! Servers that are in trouble, elsewhere, or not what they seem.

use super::server::{Reply, Server, deserted_address};
use super::*;

#[test]
fn trouble_that_passes_is_waited_for() {
    let content = table(5000);
    let served = content.clone();
    let server = Server::start(move |n_before, _| match n_before {
        0 => Reply::new(503, "busy"),
        1 => Reply::new(429, "slowly").with("Retry-After", "7"),
        2 => Reply::new(500, "oh").with("Retry-After", "86400"),
        _ => Reply::file(&served),
    });
    let mut desk = Desk::new();
    desk.fetch(&server, CENSUS).unwrap();
    assert!(desk.read(CENSUS) == content);
    assert_eq!(desk.told.pauses, [1, 7, 60], "as asked for, but not for a day");
    desk.assert_told("pausing: the server answered 503 (server error)");
}

#[test]
fn trouble_that_lasts_leads_to_the_next_address() {
    let server = Server::start(|_, request| match request.path.starts_with("/bucket/") {
        true => Reply::new(503, "busy"),
        false => Reply::not_found(),
    });
    let mut desk = Desk::new();
    let message = desk.fetch(&server, "covtype.data").unwrap_err().to_string();
    assert!(message.contains("/bucket/covtype.data: the server answered 503"), "{message}");
    assert_eq!(desk.told.pauses, [1, 2, 4, 8]);
    assert_eq!(server.paths()[5..], ["/uci/31/covertype.zip"]);
    for (status, meaning) in [(403, " (not allowed)"), (410, " (not found)"), (204, ""), (304, "")] {
        let server = Server::start(move |_, _| Reply::new(status, ""));
        let message = Desk::new().fetch(&server, "raw_stock_contexts").unwrap_err().to_string();
        assert!(message.contains(&format!("the server answered {status}{meaning}; ")), "{message}");
        assert_eq!(server.requests().len(), 1, "{status} is not tried again");
    }
}

#[test]
fn a_web_page_is_no_data() {
    let page = "\n<!DOCTYPE html>\n<html><body>Please log in</body></html>";
    let by_type =
        Server::start(move |_, _| Reply::new(200, "1,2\n").with("Content-Type", "text/html; charset=utf-8"));
    let by_content = Server::start(move |_, _| Reply::new(200, page).with("Content-Type", "text/plain"));
    for server in [by_type, by_content] {
        let mut desk = Desk::new();
        let message = desk.fetch(&server, "mushroom.data").unwrap_err().to_string();
        assert!(
            message.contains("/bucket/mushroom.data: the server sent a web page instead of the file"),
            "{message}"
        );
        assert!(message.contains("/uci/73/mushroom.zip: the server sent a web page"), "{message}");
        assert!(desk.told.pauses.is_empty() && desk.names().is_empty());
    }
}

#[test]
fn a_part_that_nobody_asked_for_will_not_do() {
    let server = Server::start(|_, _| Reply::new(206, "1,2\n").with("Content-Range", "bytes 0-3/100"));
    let mut desk = Desk::new();
    let error = desk.fetch(&server, CENSUS).unwrap_err();
    assert!(error.to_string().contains("the server answered 206; "), "{error}");
    assert!(desk.names().is_empty());
}

#[test]
fn a_cut_download_starts_over() {
    let content = table(300_000);
    let served = content.clone();
    let server = Server::start(move |n_before, _| match n_before {
        0 => Reply::file(&served).cut_after(300),
        1 => Reply::file(&served).cut_after(120_000),
        _ => Reply::file(&served),
    });
    let mut desk = Desk::new();
    desk.fetch(&server, CENSUS).unwrap();
    assert!(desk.read(CENSUS) == content);
    assert_eq!(desk.names(), [CENSUS]);
    assert_eq!(desk.told.pauses, [1, 2]);
    assert_eq!(server.requests().len(), 3);
    desk.assert_told("after 300 of 300000 bytes");
    desk.assert_told("after 120000 of 300000 bytes");
}

#[test]
fn a_server_that_always_cuts_is_given_up_and_leaves_nothing() {
    let content = table(100_000);
    let server = Server::start(move |_, _| Reply::file(&content).cut_after(40_000));
    let mut desk = Desk::new();
    let error = desk.fetch(&server, CENSUS).unwrap_err();
    assert!(error.to_string().contains("after 40000 of 100000 bytes"), "{error}");
    assert_eq!(desk.told.pauses, [1, 2, 4, 8, 1, 2, 4, 8], "four tries more for each of two addresses");
    assert!(desk.names().is_empty());
}

#[test]
fn a_server_that_falls_silent_is_asked_again() {
    let content = table(50_000);
    let served = content.clone();
    let server = Server::start(move |n_before, _| match n_before {
        0 => Reply::file(&served).silent_after(20_000),
        _ => Reply::file(&served),
    });
    let mut desk = Desk::new();
    let mut fetcher = desk.fetcher(&server, 4);
    fetcher.downloader.web = Web::direct(Duration::from_millis(300));
    desk.fetch_with(&mut fetcher, CENSUS).unwrap();
    assert!(desk.read(CENSUS) == content);
    desk.assert_told("pausing: the server stopped sending after 20000 of 50000 bytes");
}

/// Two that fetch the same file into the same folder at once, one of them slower.
#[test]
fn two_at_once_do_not_damage_the_file() {
    let content = table(20_000);
    let served = content.clone();
    let server = Server::start(move |n_before, _| match n_before {
        0 => Reply::file(&served).dripping(),
        _ => Reply::file(&served),
    });
    let desk = Desk::new();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut fetcher = desk.fetcher(&server, 0);
            scope.spawn(move || fetcher.fetch(find(CENSUS).unwrap(), &mut Told::default()).unwrap());
        }
    });
    assert!(desk.read(CENSUS) == content);
    assert_eq!(desk.names(), [CENSUS]);
}

#[test]
fn a_corrupt_byte_is_kept_and_told() {
    let mut content = table(5000);
    content[2500] ^= 1;
    let server = site(&[("/bucket/mushroom.data", content.clone())]);
    let mut desk = Desk::new();
    let fetched = desk.fetch(&server, "mushroom.data").unwrap();
    assert!(desk.read("mushroom.data") == content);
    assert_eq!(matches_known(&fetched), Some(false));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn what_cannot_be_the_file_is_not_kept() {
    for (name, content, expected) in [
        ("jester_data_40jokes_19181users.npy", &b"text"[..], "not a .npy file"),
        ("raw_stock_contexts", b"\n \n", "it holds no rows"),
        ("raw_stock_contexts", b"", "it holds no rows"),
    ] {
        let server = site(&[(&format!("/bucket/{name}"), content.to_vec())]);
        let mut desk = Desk::new();
        let message = desk.fetch(&server, name).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
        assert!(desk.names().is_empty(), "{:?}", desk.names());
    }
}

#[test]
fn a_slow_drip_is_drunk_to_the_end() {
    let content = table(3000);
    let served = content.clone();
    let server = Server::start(move |_, _| Reply::file(&served).dripping());
    let mut desk = Desk::new();
    desk.fetch(&server, CENSUS).unwrap();
    assert!(desk.read(CENSUS) == content);
}

#[test]
fn without_a_length_the_end_of_the_connection_is_the_end() {
    let content = table(3000);
    let chunked =
        [b"7d0\r\n".as_slice(), &content[..2000], b"\r\n3e8\r\n", &content[2000..], b"\r\n0\r\n\r\n"]
            .concat();
    let replies = [
        Reply::new(200, content.clone()).with("No-Length", "true"),
        Reply::new(200, chunked.clone()).with("Transfer-Encoding", "chunked"),
    ];
    for reply in replies {
        let server = Server::start(move |_, _| reply.clone());
        let mut desk = Desk::new();
        desk.fetch(&server, CENSUS).unwrap();
        assert!(desk.read(CENSUS) == content);
        desk.assert_told("receiving ?");
    }
    // Chunks tell that something is missing.
    let cut = Server::start(move |_, _| {
        Reply::new(200, chunked.clone()).with("Transfer-Encoding", "chunked").cut_after(1500)
    });
    let message = Desk::new().fetch(&cut, "raw_stock_contexts").unwrap_err().to_string();
    assert!(message.contains("the connection broke"), "{message}");
}

#[test]
fn redirects_are_followed() {
    let content = table(60_000);
    let served = content.clone();
    let server = Server::start(move |_, request| match request.path.as_str() {
        "/moved" => Reply::file(&served),
        _ => Reply::new(302, "").with("Location", "/moved"),
    });
    let mut desk = Desk::new();
    desk.fetch(&server, CENSUS).unwrap();
    assert!(desk.read(CENSUS) == content);
    assert_eq!(server.paths(), ["/bucket/USCensus1990.data.txt", "/moved"]);

    let circle = Server::start(|_, request| Reply::new(302, "").with("Location", &request.path));
    let message = Desk::new().fetch(&circle, "raw_stock_contexts").unwrap_err().to_string();
    assert!(message.contains("too many redirects"), "{message}");
}

#[test]
fn a_host_that_cannot_be_reached_is_not_waited_for_twice() {
    let address = deserted_address();
    let mut desk = Desk::new();
    let mut fetcher = desk.fetcher_at(&address, 3);
    let message = desk.fetch_with(&mut fetcher, "mushroom.data").unwrap_err().to_string();
    assert!(message.contains(&format!("{address}/bucket/mushroom.data: no connection: ")), "{message}");
    assert_eq!(desk.told.pauses, [1, 2, 4], "the second address is on the same host");
    desk.fetch_with(&mut fetcher, "shuttle.trn").unwrap_err();
    assert_eq!(desk.told.pauses.len(), 3);
    assert!(desk.names().is_empty());
}

#[test]
fn what_is_encoded_without_being_asked_is_refused() {
    let server = Server::start(|_, _| Reply::new(200, "1,2\n").with("Content-Encoding", "gzip"));
    let message = Desk::new().fetch(&server, "raw_stock_contexts").unwrap_err().to_string();
    assert!(message.contains("encoded as gzip, which was not requested"), "{message}");
}

#[test]
fn more_than_the_limit_is_not_taken() {
    let announced = Server::start(|_, _| Reply::new(200, table(5000)));
    let endless = Server::start(|_, _| Reply::new(200, table(5000)).with("No-Length", "true"));
    for (server, expected) in [
        (announced, "the download has 5000 bytes; at most 4000 are allowed"),
        (endless, "exceeds the maximum size; at most 4000 are allowed"),
    ] {
        let mut desk = Desk::new();
        let mut fetcher = desk.fetcher(&server, 4);
        fetcher.downloader.max_bytes = 4000;
        let message = desk.fetch_with(&mut fetcher, "raw_stock_contexts").unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
        assert!(desk.names().is_empty());
    }
}

#[test]
fn no_answer_panics() {
    for words in [
        "",
        "HTTP",
        "HTTP/1.1 200",
        "HTTP/1.1 999 x\r\n\r\n",
        "\r\n\r\n",
        "HTTP/1.1 206 x\r\nContent-Range: bytes 9-\r\n\r\n",
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                use std::io::{Read, Write};
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 1000]);
                let _ = stream.write_all(words.as_bytes());
            }
        });
        let mut desk = Desk::new();
        let mut fetcher = desk.fetcher_at(&address, 1);
        assert!(desk.fetch_with(&mut fetcher, "raw_stock_contexts").is_err(), "{words:?}");
    }
}
