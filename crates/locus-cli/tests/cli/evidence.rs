//! The tables of the pages are what `locus table` makes of the rows in `docs/evidence`.
//!
//! `LOCUS_WRITE_TABLES=1 cargo test --workspace --test cli evidence` writes them anew.

use std::fs;
use std::path::Path;

use crate::harness::Desk;

/// Where the rows lie.
const EVIDENCE: &str = "docs/evidence/";
const COMMAND: &str = "$ locus table ";
/// The pages whose tables are made from them, and how many they have at least.
const PAGES: [(&str, usize); 3] =
    [("docs/results.md", 20), ("docs/explore.md", 1), ("docs/locus-policy.md", 1)];

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
    for (name, least) in PAGES {
        let path = root.join(name);
        let page = fs::read_to_string(&path).unwrap();
        let (expected, n_tables) = rewritten(&page, print);
        assert!(n_tables >= least, "{name}: {n_tables}");
        if std::env::var_os("LOCUS_WRITE_TABLES").is_some() {
            fs::write(path, expected).unwrap();
        } else {
            for (place, (found, expected)) in page.lines().zip(expected.lines()).enumerate() {
                assert_eq!(found, expected, "{name}, line {}", place + 1);
            }
            assert_eq!(page.len(), expected.len(), "{name}");
        }
    }
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
