//! Every table below `docs` that follows a `locus table` command is what the command prints for the rows in `docs/evidence`.
//!
//! `LOCUS_WRITE_TABLES=1 cargo test --workspace --test cli evidence` rewrites them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::Desk;

/// The folder of the rows.
const EVIDENCE: &str = "docs/evidence/";
const COMMAND: &str = "$ locus table ";
/// At least this many tables, on at least this many pages: fewer means that a command is no longer recognized.
const N_TABLES: usize = 29;
const N_PAGES: usize = 11;

/// The page with the table after each command replaced by what the command prints; and how many there are.
fn rewritten(page: &str, print: impl Fn(&str) -> String) -> (String, usize) {
    let mut lines = page.lines();
    let (mut text, mut n_tables) = (String::new(), 0);
    while let Some(line) = lines.next() {
        text.push_str(&format!("{line}\n"));
        let words = line.strip_prefix(COMMAND).filter(|words| words.starts_with(EVIDENCE));
        let Some(words) = words else { continue };
        let table = print(words);
        // The end of the block and an empty line stand before the table, and an empty line after it.
        for line in lines.by_ref().take(2) {
            text.push_str(&format!("{line}\n"));
        }
        text.extend(table.lines().take_while(|line| line.starts_with('|')).map(|line| format!("{line}\n")));
        let after = lines.by_ref().find(|line| !line.starts_with('|'));
        text.extend(after.map(|line| format!("{line}\n")));
        n_tables += 1;
    }
    (text, n_tables)
}

/// All Markdown pages in a folder and its subfolders, sorted.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn tables_of_the_pages_are_those_of_their_rows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let desk = Desk::new();
    let print = |words: &str| {
        let words = words.split(' ').map(|word| match word.starts_with(EVIDENCE) {
            true => root.join(word).into_os_string(),
            false => word.trim_matches('\'').into(),
        });
        desk.locus(["table".into()].into_iter().chain(words)).ok().stdout
    };
    let (mut n_tables, mut n_pages) = (0, 0);
    for path in pages(&root.join("docs")) {
        let name = path.strip_prefix(&root).unwrap().display();
        let page = fs::read_to_string(&path).unwrap();
        let (expected, n_here) = rewritten(&page, print);
        n_tables += n_here;
        n_pages += usize::from(n_here > 0);
        if std::env::var_os("LOCUS_WRITE_TABLES").is_some() {
            fs::write(&path, expected).unwrap();
        } else {
            for (place, (found, expected)) in page.lines().zip(expected.lines()).enumerate() {
                assert_eq!(found, expected, "{name}, line {}", place + 1);
            }
            assert_eq!(page.len(), expected.len(), "{name}");
        }
    }
    assert!(n_tables >= N_TABLES && n_pages >= N_PAGES, "only {n_tables} tables on {n_pages} pages");
}

#[test]
fn a_table_is_replaced_and_nothing_else() {
    let page = "a\n```console\n$ locus table docs/evidence/x --metric simple\n```\n\n| old |\n| --- |\n\nb\n";
    let (text, n_tables) = rewritten(page, |words| {
        assert_eq!(words, "docs/evidence/x --metric simple");
        "| new |\n| --- |\n| 1 |\n\nwords\n".to_owned()
    });
    let expected =
        "a\n```console\n$ locus table docs/evidence/x --metric simple\n```\n\n| new |\n| --- |\n| 1 |\n\nb\n";
    assert_eq!((text.as_str(), n_tables), (expected, 1));
}
