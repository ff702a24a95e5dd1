//! The documents tell the truth about the tree.

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
    for (document, at_least) in [("ARCHITECTURE.md", 30), ("docs/paper.md", 8)] {
        let text = read(document);
        let paths: Vec<&str> = text.split('`').skip(1).step_by(2).filter(|word| is_path(word)).collect();
        assert!(paths.len() >= at_least, "{document} names only {paths:?}");
        for path in paths {
            assert!(root().join(path).exists(), "{document} names `{path}`, which does not exist");
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
