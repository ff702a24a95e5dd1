//! `locus data fetch` and `locus data derive`, against a server on this machine.
//!
//! Whatever asks for a public address meets a proxy on this machine that lets nobody through: nothing leaves it.

use std::fs;
use std::io::{Cursor, Write};
use std::process::{Command, Stdio};

use locus_bench::data::DataFile;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::harness::{Desk, Said};
use crate::server::{Reply, Request, Server};

/// Two rows of Shuttle's ten columns.
const SHUTTLE: &str = "1 2 3 4 5 6 7 8 9 1\n9 8 7 6 5 4 3 2 1 2\n";

/// A mirror with these files under `/lab/`, which also is a proxy that refuses.
fn mirror(files: &[(&str, Vec<u8>)]) -> Server {
    let files: Vec<(String, Vec<u8>)> =
        files.iter().map(|(name, content)| (format!("/lab/{name}"), content.clone())).collect();
    Server::start(move |_, request: &Request| match request.method.as_str() {
        "CONNECT" => Reply::new(403, ""),
        _ => match files.iter().find(|(path, _)| *path == request.path) {
            Some((_, content)) => Reply::file(content),
            None => Reply::not_found(),
        },
    })
}

/// `locus data fetch` with these words, that can reach nothing but `server`.
fn command(desk: &Desk, server: &Server, words: &str) -> Command {
    let mut command = desk.command(["data", "fetch", "--retries", "0"]);
    command.args(words.split_whitespace());
    for name in ["all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "no_proxy"] {
        command.env_remove(name);
    }
    command.env("ALL_PROXY", server.address()).env("NO_PROXY", "127.0.0.1");
    command
}

/// The same, with the server as mirror.
fn fetch(desk: &Desk, server: &Server, words: &str) -> Said {
    let mut command = command(desk, server, words);
    Said::from(command.args(["--mirror", &format!("{}/lab", server.address())]).output().unwrap())
}

#[test]
fn missing_files_come_with_license_and_source() {
    let server = mirror(&[("shuttle.trn", SHUTTLE.into())]);
    let desk = Desk::new();
    let said = fetch(&desk, &server, "statlog --data new/folder").ok();
    assert_eq!(desk.read("new/folder/shuttle.trn"), SHUTTLE);
    for part in [
        "shuttle.trn, for statlog\n    new/folder/shuttle.trn\n",
        "2 rows, but 43500 were expected",
        "    license: CC BY 4.0\n    source: UCI Machine Learning Repository, Statlog (Shuttle)",
        "\n1 file available. Please cite the sources above; `locus bench --suite paper --data new/folder`",
        &format!("    from {}/lab/shuttle.trn\n", server.address()),
    ] {
        assert!(said.stdout.contains(part), "expected {part:?} in {}", said.stdout);
    }
    // Another checksum: kept, and what to compare.
    for part in [
        "warning: new/folder/shuttle.trn: the checksum does not match the known one; the file is kept",
        ", 40 bytes, 2 rows; expected: sha256 87b24ee9fb5137e1d417659cf905d84d0e15342bbaa60770f1ae83da1a38200a, 43500 rows",
    ] {
        assert!(said.stderr.contains(part), "expected {part:?} in {}", said.stderr);
    }
    assert!(!said.stderr.contains(['\r', '\u{1b}']), "no bar in a pipe: {:?}", said.stderr);

    let again = fetch(&desk, &server, "shuttle.trn --data new/folder").ok();
    assert!(again.stdout.contains("new/folder/shuttle.trn already exists"), "{}", again.stdout);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_large_file_is_told_of_on_the_way() {
    let server = mirror(&[("shuttle.trn", SHUTTLE.repeat(300_000).into())]);
    let said = fetch(&Desk::new(), &server, "statlog --data some").ok();
    let lines: Vec<&str> = said.stderr.lines().filter(|line| line.contains(" % of 12.00 MB, ")).collect();
    assert_eq!(lines.len(), 9, "{}", said.stderr);
    for (line, percent) in lines.iter().zip((10..).step_by(10)) {
        assert!(line.starts_with(&format!("    {percent} % of")) && line.ends_with(" s left"), "{line}");
        assert!(line.contains("B/s, "), "{line}");
    }
}

#[test]
fn after_the_mirror_come_the_public_addresses() {
    let server = mirror(&[]);
    let desk = Desk::new();
    let said = fetch(&desk, &server, "adult jester --data some");
    assert_eq!(said.code, Some(1), "{said:?}");
    let (bucket, uci) = ("storage.googleapis.com:443", "archive.ics.uci.edu:443");
    let adult =
        ["/lab/adult.full", "/lab/2/adult.zip", "/lab/adult.full.gz", "/lab/adult.full.zst", bucket, uci];
    assert_eq!(server.paths()[..6], adult);
    for part in [
        "/lab/2/adult.zip: the server answered 404 (not found); ",
        "https://storage.googleapis.com/bandits_datasets/adult.full: no connection: ",
        "https://archive.ics.uci.edu/static/public/2/adult.zip: no connection: ",
        "by hand: get https://storage.googleapis.com/bandits_datasets/adult.full (the file itself) or ",
        "and put adult.full into `some`\n",
        "error: cannot get jester_data_40jokes_19181users.npy: ",
        "`locus data derive jester FILE.csv`",
    ] {
        assert!(said.stderr.contains(part), "expected {part:?} in {}", said.stderr);
    }
    assert!(
        said.stdout.ends_with("0 files available, 2 failed: run the same command again to retry\n"),
        "{}",
        said.stdout
    );
    assert_eq!(fs::read_dir(desk.path("some")).unwrap().count(), 0);
}

#[test]
fn one_that_fails_does_not_keep_the_others_away() {
    let server = mirror(&[("shuttle.trn", SHUTTLE.into())]);
    let desk = Desk::new();
    let said = fetch(&desk, &server, "financial statlog --data some");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(desk.read("some/shuttle.trn"), SHUTTLE);
    assert!(said.stdout.contains("1 file available, 1 failed"), "{}", said.stdout);
}

#[test]
fn the_command_that_bench_names_gets_what_it_misses() {
    let server = mirror(&[("shuttle.trn", SHUTTLE.repeat(40).into())]);
    let desk = Desk::new();
    let words = "--problems statlog --data my-files --out out";
    let missing = desk.tiny_bench(words);
    let named =
        missing.stderr.split('`').find(|part| part.starts_with("locus data fetch ")).expect("a command");
    fetch(&desk, &server, named.strip_prefix("locus data fetch ").unwrap()).ok();
    desk.tiny_bench(words).ok();
}

#[test]
fn what_makes_no_sense_is_refused() {
    let server = mirror(&[]);
    let desk = Desk::new();
    fetch(&desk, &server, "wheel --data some")
        .refused(&["no data file or problem is called `wheel`; there are", "census-10k"]);
    fetch(&desk, &server, "adult").refused(&["name it with --data DIR, or set LOCUS_DATA"]);
    let words = ["data", "fetch", "--data", "some", "--mirror", "somewhere"];
    desk.locus(words).refused(&["the mirror `somewhere` is not a URL", "http://"]);
    assert!(server.requests().is_empty() && !desk.path("some").exists());
    desk.write("file", "");
    let said = fetch(&desk, &server, "adult --data file");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.starts_with("error: cannot create the folder `file`: "), "{}", said.stderr);
}

#[test]
fn the_folder_may_come_from_the_environment() {
    let server = mirror(&[("shuttle.trn", SHUTTLE.into())]);
    let desk = Desk::new();
    let mut command = command(&desk, &server, "statlog");
    command.args(["--mirror", &format!("{}/lab", server.address())]).env("LOCUS_DATA", desk.path("there"));
    Said::from(command.output().unwrap()).ok();
    assert_eq!(desk.read("there/shuttle.trn"), SHUTTLE);
}

/// A download that hangs is ended by Ctrl-C, and the next run starts over.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_no_half_file() {
    let content = SHUTTLE.repeat(1000);
    let served = content.clone();
    let server = Server::start(move |n_before, _| match n_before {
        0 => Reply::file(served.as_bytes()).silent_after(30_000),
        _ => Reply::file(served.as_bytes()),
    });
    let desk = Desk::new();
    let mut command = command(&desk, &server, "statlog --data some");
    command.args(["--mirror", &format!("{}/lab", server.address())]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lengths = || -> Vec<u64> {
        let entries = fs::read_dir(desk.path("some")).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).collect()
    };
    while lengths() != [30_000] {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was seen to run");
        std::thread::yield_now();
    }
    let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(kill.success());
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(
        said.stderr.ends_with("interrupted: run the same command again to download the missing files\n"),
        "{}",
        said.stderr
    );
    assert!(!desk.path("some/shuttle.trn").exists());

    fetch(&desk, &server, "statlog --data some").ok();
    assert_eq!(desk.read("some/shuttle.trn"), content);
    assert_eq!(lengths(), [40_000], "nothing else stays");
}

/// A limit on the size of files stands in for a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_with_a_hint() {
    let server = mirror(&[("shuttle.trn", SHUTTLE.repeat(1000).into())]);
    let desk = Desk::new();
    let fetch = command(&desk, &server, "statlog financial --data some");
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"]).arg(fetch.get_program());
    limited.args(fetch.get_args()).args(["--mirror", &format!("{}/lab", server.address())]);
    limited.current_dir(fetch.get_current_dir().unwrap());
    for (name, value) in fetch.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let said = Said::from(limited.output().unwrap());
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("error: cannot write `some/shuttle.trn."), "{}", said.stderr);
    assert!(said.stderr.contains(".tmp`: File too large"), "{}", said.stderr);
    assert!(said.stderr.ends_with("with --data, and run the command again\n"), "{}", said.stderr);
    assert_eq!(server.requests().len(), 1, "the next file would not fit either");
    assert_eq!(fs::read_dir(desk.path("some")).unwrap().count(), 0);
}

#[test]
fn jester_is_made_of_nothing_else() {
    let desk = Desk::new();
    desk.write("some/raw.csv", "1,2,3\n");
    let derive =
        |words: &str| desk.locus(["data", "derive", "jester"].into_iter().chain(words.split_whitespace()));
    derive("some/raw.csv --data some").refused(&["some/raw.csv, line 1: found 3 columns, expected 101"]);
    derive("nowhere.csv --data some").refused(&["cannot read nowhere.csv"]);
    derive("some/raw.csv").refused(&["--data DIR, or set LOCUS_DATA"]);
    derive("some/raw.csv --data nowhere").refused(&["nowhere is not a folder"]);
    desk.write("some/jester_data_40jokes_19181users.npy.gz", "");
    derive("some/raw.csv --data some").refused(&["already exists; delete it"]);
    desk.locus(["data", "derive", "adult", "raw.csv"]).refused(&["jester"]);
}

/// The benchmark's own file, if `LOCUS_DATA` names a folder that holds it.
fn real_file(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("LOCUS_DATA")?;
    let mut file = DataFile::find(folder.as_ref(), name).ok()?;
    let mut content = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut content).unwrap();
    Some(content)
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The archive's two files, as their published checksums know them, make the file of the known checksum.
#[test]
fn real_files_make_adult() {
    let Some(full) = real_file("adult.full") else {
        println!("skipped: LOCUS_DATA names no folder with adult.full");
        return;
    };
    let n_data: usize = full.split_inclusive(|&byte| byte == b'\n').take(32_561).map(<[u8]>::len).sum();
    let data = [&full[..n_data], b"\n"].concat();
    let test = [b"|1x3 Cross validator\n", &full[n_data..], b"\n"].concat();
    let server = mirror(&[("2/adult.zip", zip(&[("adult.data", &data), ("adult.test", &test)]))]);
    let said = fetch(&Desk::new(), &server, "adult --data some").ok();
    assert!(
        said.stdout.contains("48842 rows") && said.stdout.contains("(matches the known one)"),
        "{}",
        said.stdout
    );
}

/// The raw ratings make the file of the known checksum, byte for byte.
#[test]
fn real_files_make_jester() {
    let Some(raw) = real_file("jester-data-1.csv") else {
        println!("skipped: LOCUS_DATA names no folder with jester-data-1.csv");
        return;
    };
    let desk = Desk::new();
    desk.write("some/raw.csv", raw);
    let said = desk.locus(["data", "derive", "jester", "some/raw.csv", "--data", "some"]).ok();
    assert!(
        said.stdout.contains("19181 rows") && said.stdout.contains("(matches the known one)"),
        "{}",
        said.stdout
    );
    assert_eq!(said.stderr, "");
}
