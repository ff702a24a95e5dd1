//! Archives as in the UCI repository, and malicious ones.

use std::io::{Cursor, Write};

use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;
use crate::data::unix_compress::tests::compress;

/// What an archive holds.
type Members<'a> = Vec<(&'a str, Vec<u8>)>;

fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn members_are_found_and_expanded() {
    let content = table(150_000);
    let plain = content.clone();
    let cases: Vec<(&str, &str, Members)> = vec![
        (
            "mushroom.data",
            "/uci/73/mushroom.zip",
            vec![
                ("Index", b"else".to_vec()),
                ("agaricus-lepiota.names", b"else".to_vec()),
                ("agaricus-lepiota.data", plain.clone()),
            ],
        ),
        (
            "shuttle.trn",
            "/uci/148/statlog+shuttle.zip",
            vec![("shuttle.tst", b"else".to_vec()), ("shuttle.trn.Z", compress(&content, 16, &[]))],
        ),
        (
            "covtype.data",
            "/uci/31/covertype.zip",
            vec![("old_covtype.data", b"else".to_vec()), ("covtype.data.gz", gzip(&content))],
        ),
        ("covtype.data", "/uci/31/covertype.zip", vec![("covertype/covtype.data", plain.clone())]),
        (CENSUS, "/uci/116/us+census+data+1990.zip", vec![(CENSUS, plain)]),
    ];
    for (name, path, members) in cases {
        let server = site(&[(path, zip(&members))]);
        let mut desk = Desk::new();
        let fetched = desk.fetch(&server, name).unwrap();
        assert!(desk.read(name) == content, "{name}");
        assert_eq!(desk.names(), [name]);
        let expected = format!("{}{path}", server.address());
        assert!(matches!(&fetched, Fetched::Came { from, .. } if *from == expected), "{fetched:?}");
        assert_eq!(server.paths(), [format!("/bucket/{name}"), path.to_owned()]);
        desk.assert_told(&format!("unpacking {name}"));
    }
}

#[test]
fn what_one_address_left_goes_when_another_delivers() {
    let (content, archive) = (table(9000), zip(&[("agaricus-lepiota.data", table(9000))]));
    let server = Server::start(move |_, request| match request.path.as_str() {
        "/bucket/mushroom.data" => Reply::file(&content).cut_after(4000),
        _ => Reply::file(&archive),
    });
    let mut desk = Desk::new();
    let mut fetcher = desk.fetcher(&server, 0);
    desk.fetch_with(&mut fetcher, "mushroom.data").unwrap();
    assert_eq!(desk.names(), ["mushroom.data"]);
}

#[test]
fn adult_is_put_together() {
    let data = b"39, State-gov, <=50K\n50, Private, >50K\n\n".to_vec();
    let test = b"|1x3 Cross validator\n25, Private, <=50K.\r\n\n38, Private, >50K.".to_vec();
    let server = site(&[("/uci/2/adult.zip", zip(&[("adult.data", data.clone()), ("adult.test", test)]))]);
    let mut desk = Desk::new();
    desk.fetch(&server, "adult.full").unwrap();
    let expected = "39, State-gov, <=50K\n50, Private, >50K\n25, Private, <=50K.\n38, Private, >50K.\n";
    assert_eq!(String::from_utf8(desk.read("adult.full")).unwrap(), expected);

    for (members, expected) in [
        (
            vec![("adult.data", data.clone())],
            "holds neither adult.test nor adult.test.gz nor adult.test.Z, but: adult.data",
        ),
        (
            vec![("adult.data", data.clone()), ("adult.test", data.clone())],
            "adult.test begins with `39, State-gov, <=50K`, expected `|1x3 Cross validator`",
        ),
        (
            vec![("adult.data", vec![b'1'; 70_000]), ("adult.test", data.clone())],
            "a line has 65536 bytes or more",
        ),
    ] {
        let server = site(&[("/uci/2/adult.zip", zip(&members))]);
        let mut desk = Desk::new();
        let message = desk.fetch(&server, "adult.full").unwrap_err().to_string();
        assert!(message.contains("/uci/2/adult.zip: ") && message.contains(expected), "{message}");
        assert!(desk.names().is_empty(), "{:?}", desk.names());
    }
}

#[test]
fn damage_leads_to_the_next_address_and_leaves_nothing() {
    let content = table(20_000);
    let good = zip(&[("shuttle.trn.Z", compress(&content, 16, &[]))]);
    let mut corrupt = good.clone();
    corrupt[5000] ^= 1;
    for (archive, expected) in [
        (b"no archive".to_vec(), "cannot read the archive"),
        (good[..good.len() / 2].to_vec(), "cannot read the archive"),
        (corrupt, "/uci/148/statlog+shuttle.zip: "),
        (zip(&[("shuttle.trn.Z", b"no LZW".to_vec())]), "damaged .Z data: it does not begin with 1F 9D"),
        (zip(&[("shuttle.trn.gz", gzip(&content)[..900].to_vec())]), "/uci/148/statlog+shuttle.zip: "),
    ] {
        let server = site(&[("/uci/148/statlog+shuttle.zip", archive)]);
        let mut desk = Desk::new();
        let message = desk.fetch(&server, "shuttle.trn").unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
        assert!(desk.names().is_empty(), "{:?}", desk.names());
    }
}

#[test]
fn a_bomb_does_not_go_off() {
    let zeros = vec![0; 1 << 20];
    for (members, name) in [
        (zip(&[("agaricus-lepiota.data", zeros.clone())]), "plain"),
        (zip(&[("agaricus-lepiota.data.gz", gzip(&zeros))]), "gz within zip"),
        (zip(&[("agaricus-lepiota.data.Z", compress(&zeros, 16, &[]))]), "Z within zip"),
    ] {
        let server = site(&[("/uci/73/mushroom.zip", members)]);
        let mut desk = Desk::new();
        let mut fetcher = desk.fetcher(&server, 0);
        fetcher.downloader.max_bytes = 100_000;
        let message = desk.fetch_with(&mut fetcher, "mushroom.data").unwrap_err().to_string();
        assert!(message.contains("unpacks to more than 100000 bytes, the maximum"), "{name}: {message}");
        assert!(desk.names().is_empty());
    }
}

#[test]
fn paths_that_leave_the_folder_lead_nowhere() {
    for path in [
        "../mushroom.data",
        "../agaricus-lepiota.data",
        "/tmp/agaricus-lepiota.data",
        "a\\..\\agaricus-lepiota.data",
        "a/../../agaricus-lepiota.data",
    ] {
        let server = site(&[("/uci/73/mushroom.zip", zip(&[(path, table(500))]))]);
        let mut desk = Desk::new();
        let inner = desk.path("inner");
        fs::create_dir(&inner).unwrap();
        let bases = Bases::new(None, server.address(), &format!("{}/uci", server.address()));
        let mut fetcher = Fetcher::with(&inner, bases, Web::direct(Duration::from_secs(60)), 0).unwrap();
        let message = desk.fetch_with(&mut fetcher, "mushroom.data").unwrap_err().to_string();
        assert!(message.contains("holds neither agaricus-lepiota.data nor"), "{message}");
        assert_eq!(desk.names(), ["inner"]);
        assert_eq!(fs::read_dir(&inner).unwrap().count(), 0);
    }
}

#[test]
fn a_mirror_may_be_a_folder_of_compressed_files() {
    let content = table(9000);
    let files = [
        ("/lab/covtype.data.gz", gzip(&content)),
        ("/lab/shuttle.trn.zst", compress_to_vec(&content[..], CompressionLevel::Fastest)),
        ("/lab/73/mushroom.zip", zip(&[("agaricus-lepiota.data", content.clone())])),
    ];
    let server = site(&files);
    let mut desk = Desk::new();
    let mirror = format!("{}/lab/", server.address());
    let bases = Bases::new(Some(&mirror), server.address(), server.address());
    let mut fetcher =
        Fetcher::with(desk.folder.path(), bases, Web::direct(Duration::from_secs(60)), 0).unwrap();
    for name in ["covtype.data", "shuttle.trn", "mushroom.data"] {
        desk.fetch_with(&mut fetcher, name).unwrap();
        assert!(desk.read(name) == content, "{name}");
    }
    assert_eq!(desk.names(), ["covtype.data", "mushroom.data", "shuttle.trn"]);
}

#[test]
fn the_part_of_the_census_is_cut_from_the_whole() {
    let whole: String = (0..10_100).map(|row| format!("{row},1\r\n")).collect();
    let part: String = (0..10_001).map(|row| format!("{row},1\n")).collect();
    let name = "USCensus1990.first10000.data.txt";
    let server = site(&[("/bucket/USCensus1990.data.txt", whole.clone().into_bytes())]);
    let mut desk = Desk::new();
    let fetched = desk.fetch(&server, name).unwrap();
    assert!(desk.read(name) == part.as_bytes());
    assert_eq!(desk.names(), [CENSUS, name], "the whole stays");
    assert!(matches!(fetched, Fetched::Came { from, .. } if from.ends_with(CENSUS)));

    // One that is there, though compressed, will do.
    let mut desk = Desk::new();
    fs::write(desk.path("USCensus1990.data.txt.gz"), gzip(whole.as_bytes())).unwrap();
    desk.fetch(&server, name).unwrap();
    assert!(desk.read(name) == part.as_bytes());
    assert_eq!(server.requests().len(), 1);

    // One that is too short will not.
    let mut desk = Desk::new();
    fs::write(desk.path(CENSUS), "1,2\n").unwrap();
    let message = desk.fetch(&server, name).unwrap_err().to_string();
    assert!(message.contains("has only 1 lines, expected at least 10001"), "{message}");
    assert_eq!(desk.names(), [CENSUS]);
}
