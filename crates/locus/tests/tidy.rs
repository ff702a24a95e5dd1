//! The documents tell the truth about the tree.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Whether a word in backticks is meant as a path of this repository.
fn is_path(word: &str) -> bool {
    let first = word.split('/').next().unwrap_or_default();
    let is_plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
    let is_file = [".md", ".toml", ".rs", ".cff"].iter().any(|ending| word.ends_with(ending));
    is_plain && (is_file || ["crates", "configs", "docs", "examples", ".ci"].contains(&first))
}

#[test]
fn every_path_that_the_documents_name_exists() {
    for (document, at_least) in [("ARCHITECTURE.md", 30), ("docs/paper.md", 40)] {
        let text = read(document);
        let paths: Vec<&str> = text.split('`').skip(1).step_by(2).filter(|word| is_path(word)).collect();
        assert!(paths.len() >= at_least, "{document} names only {paths:?}");
        for path in paths {
            assert!(root().join(path).exists(), "{document} names `{path}`, which does not exist");
        }
    }
}

/// All Rust sources below a folder, one after another.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).expect("a source"));
        }
    }
}

#[test]
fn every_symbol_and_test_that_maps_the_paper_exists() {
    let mut text = String::new();
    for name in ["locus", "locus-bench"] {
        sources(&root().join("crates").join(name).join("src"), &mut text);
        sources(&root().join("crates").join(name).join("tests"), &mut text);
    }
    let is_part_of_a_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let words: HashSet<&str> = text.split(|letter| !is_part_of_a_word(letter)).collect();
    let document = read("docs/paper.md");
    // `like_this` and `Like::this`; labels of the paper have a single colon or no underscore.
    let is_symbol = |word: &&str| {
        word.replace("::", "_").chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && (word.contains('_') || word.contains("::"))
    };
    let symbols: Vec<&str> = document.split('`').skip(1).step_by(2).filter(is_symbol).collect();
    assert!(symbols.len() >= 50, "docs/paper.md names only {symbols:?}");
    for symbol in symbols {
        for part in symbol.split("::") {
            assert!(words.contains(part), "docs/paper.md names `{symbol}`, which no source has");
        }
    }
}

/// All that a file says, or all Rust sources of a folder.
fn contents(path: &str) -> String {
    let full = root().join(path);
    if !full.is_dir() {
        return read(path);
    }
    let mut text = String::new();
    sources(&full, &mut text);
    text
}

/// `symbol` in `path`, and `path`, `test`: what stands beside a path is there, and not elsewhere.
#[test]
fn the_map_of_the_paper_names_the_right_places() {
    let document = read("docs/paper.md");
    let mut n_checked = 0;
    for cell in document.lines().filter(|line| line.starts_with('|')).flat_map(|line| line.split(" | ")) {
        let parts: Vec<&str> = cell.split('`').collect();
        // Words in backticks are the odd parts; what lies between two of them tells how they belong together.
        for place in (1..parts.len()).step_by(2).filter(|&place| parts[place].starts_with("crates/")) {
            let mut beside = Vec::new();
            let mut before = place;
            while before >= 3
                && [" in ", ", "].contains(&parts[before - 1])
                && !parts[before - 2].contains('/')
            {
                if parts[before - 1] == ", " && before == place {
                    break;
                }
                beside.push(parts[before - 2]);
                before -= 2;
            }
            let mut after = place;
            // What is followed by another place belongs to that one.
            let is_of_next =
                |word: usize| parts.get(word + 1).is_some_and(|between| between.starts_with(" in"));
            while after + 2 < parts.len()
                && parts[after + 1] == ", "
                && !parts[after + 2].contains('/')
                && !is_of_next(after + 2)
            {
                beside.push(parts[after + 2]);
                after += 2;
            }
            let text = contents(parts[place]);
            for symbol in beside {
                let name = symbol.rsplit("::").next().unwrap_or(symbol);
                assert!(text.contains(name), "docs/paper.md looks for `{symbol}` in `{}`", parts[place]);
                n_checked += 1;
            }
        }
    }
    assert!(n_checked >= 30, "only {n_checked} places were recognized");
}

/// The names that `lib.rs` exports outside of `configs` and `internals`, sorted.
fn exported() -> Vec<String> {
    let text = read("crates/locus/src/lib.rs");
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let code = code.split("\npub mod ").next().expect("what comes before the modules").to_owned()
        + code.split("\n}\n").last().expect("what comes after them");
    let mut names = vec!["config!".to_owned(), "words!".to_owned(), "configs".to_owned()];
    for export in code.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let list = match export.split_once('{') {
            Some((_, list)) => list.trim_end_matches('}'),
            None => export.rsplit("::").next().unwrap_or(export),
        };
        names.extend(list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
    }
    names.extend(
        code.split("pub const ").skip(1).filter_map(|rest| rest.split(':').next()).map(str::to_owned),
    );
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn the_list_of_public_items_is_whole() {
    let listed: Vec<String> = read("crates/locus/public-items.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_whitespace().next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(listed, exported(), "crates/locus/public-items.txt is not what lib.rs exports");
    assert!(listed.len() <= 45, "{} public items", listed.len());
}

/// The anchors of a page's headings: lower case, spaces as dashes, without punctuation.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        words.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect()
    };
    headings.map(anchor).collect()
}

/// All Markdown pages below `docs`, as paths from the root.
fn pages(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).expect("a folder of documents") {
        let name = entry.expect("a document").file_name().into_string().expect("a plain name");
        let path = format!("{folder}/{name}");
        if root().join(&path).is_dir() {
            found.extend(pages(&path));
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    found
}

/// The relative links of a page.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let all = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    all.filter(|link| !link.starts_with("http"))
}

#[test]
fn the_index_leads_to_every_page() {
    let linked = |index: &str| -> HashSet<PathBuf> {
        let folder = root().join(index).parent().expect("a folder").to_owned();
        let text = read(index);
        let paths = links(&text).filter_map(|link| link.split('#').next());
        paths.filter_map(|path| folder.join(path).canonicalize().ok()).collect()
    };
    // The index lists the pages, `results.md` the pages of its experiments.
    let (index, results) = (linked("docs/README.md"), linked("docs/results.md"));
    let pages = pages("docs");
    assert!(pages.len() >= 20, "only {pages:?}");
    for page in pages.iter().filter(|page| *page != "docs/README.md") {
        let path = root().join(page).canonicalize().expect("a page");
        assert!(index.contains(&path) || results.contains(&path), "docs/README.md does not link to {page}");
    }
}

#[test]
fn every_relative_link_leads_somewhere() {
    let others = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "bench/peers/README.md"];
    for document in others.map(str::to_owned).into_iter().chain(pages("docs")) {
        let text = read(&document);
        let folder = root().join(&document).parent().expect("a folder").to_owned();
        for link in links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { root().join(&document) } else { folder.join(path) };
            assert!(target.exists(), "{document} links to {link}, which does not exist");
            if !anchor.is_empty() {
                let page = std::fs::read_to_string(&target).expect("a page");
                assert!(
                    anchors(&page).contains(&anchor.to_owned()),
                    "{document} links to {link}: no such heading"
                );
            }
        }
    }
}

#[test]
fn every_crate_is_in_the_architecture() {
    let text = read("ARCHITECTURE.md");
    for entry in std::fs::read_dir(root().join("crates")).expect("the crates") {
        let name = entry.expect("a crate").file_name().into_string().expect("a plain name");
        assert!(text.contains(&format!("`crates/{name}`")), "ARCHITECTURE.md says nothing of crates/{name}");
    }
}

#[test]
fn the_versions_agree() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("CITATION.cff").contains(&format!("version: {version}\n")));
}
