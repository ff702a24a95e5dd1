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
    is_plain && (is_file || ["crates", "configs", "docs", ".ci"].contains(&first))
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

#[test]
fn every_relative_link_leads_somewhere() {
    for document in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/paper.md",
        "docs/results.md",
        "docs/data.md",
    ] {
        let text = read(document);
        let folder = root().join(document).parent().expect("a folder").to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.starts_with("http") && !link.starts_with('#') {
                assert!(folder.join(link).exists(), "{document} links to {link}, which does not exist");
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
