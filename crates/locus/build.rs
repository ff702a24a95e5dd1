//! Computes a checksum of the library's sources, so that records identify the build of their numbers.
//!
//! A change in a kernel's order of additions changes numbers but not the version; a checksum of all sources detects it, without
//! version control.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=build.rs");
    let mut files = Vec::new();
    collect(Path::new("src"), &mut files)?;
    files.sort();
    let mut checksum = FNV_OFFSET;
    for file in files {
        // Line endings may differ between checkouts.
        let text = fs::read_to_string(&file)?.replace("\r\n", "\n");
        checksum = text.bytes().fold(checksum, add);
    }
    println!("cargo:rustc-env=LOCUS_SOURCES={:08x}", (checksum >> 32) ^ (checksum & 0xFFFF_FFFF));
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// Fowler, Noll and Vo's checksum, variant 1a.
fn add(checksum: u64, byte: u8) -> u64 {
    (checksum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}
