//! From a whole download to the file: zip archives, `.gz`, `.Z`, `.zst`, and the one file that is put together.
//!
//! Archives are not trusted. Names within them are only compared, never used as paths; everything is read as a stream
//! into the one file that is made, and stops where that grows beyond what is allowed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use zip::ZipArchive;

use super::sources::Recipe;
use crate::Error;
use crate::data::beside::{Output, Spoiled, TemporaryFile, write_beside};
use crate::data::file::{BUFFER_BYTES, decoder};
use crate::data::unix_compress::CompressReader;
use crate::error::ErrorKind;

/// Unpacks `download` to a temporary file in the final folder.
pub(super) fn unpack(
    download: &Path,
    recipe: Recipe,
    target: &Path,
    max_bytes: u64,
) -> Result<TemporaryFile, Spoiled> {
    let failed = |cause| Error::from(ErrorKind::OutFile { doing: "read", path: download.to_owned(), cause });
    let file = File::open(download).map_err(failed)?;
    write_beside(target, max_bytes, |output| match recipe {
        Recipe::Whole(compression) => io::copy(&mut decoder(compression, file), output).map(|_| ()),
        Recipe::Member(name) => {
            let mut archive = open_archive(file)?;
            with_member(&mut archive, name, |member| io::copy(member, output).map(|_| ()))
        }
        Recipe::Adult => {
            let mut archive = open_archive(file)?;
            with_member(&mut archive, "adult.data", |member| copy_rows(member, output))?;
            with_member(&mut archive, "adult.test", |member| {
                let mut member = BufReader::new(member);
                let mut first = Vec::new();
                member.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut first)?;
                if !first.starts_with(b"|") {
                    let found = String::from_utf8_lossy(&first);
                    let found: String = found.trim_end().chars().take(40).collect();
                    return Err(damaged(format!(
                        "adult.test begins with `{found}`, expected `|1x3 Cross validator`"
                    )));
                }
                copy_rows(&mut member, output)
            })
        }
    })
}

type Archive = ZipArchive<BufReader<File>>;

fn open_archive(file: File) -> io::Result<Archive> {
    ZipArchive::new(BufReader::with_capacity(BUFFER_BYTES, file))
        .map_err(|error| damaged(format!("cannot read the archive: {error}")))
}

/// Hands over the member of this name, expanded. It may lie in a folder of the archive, and be `.gz` or `.Z`.
fn with_member(
    archive: &mut Archive,
    name: &str,
    take: impl FnOnce(&mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let unreadable = |error| damaged(format!("cannot read {name} in the archive: {error}"));
    let names: Vec<String> = (0..archive.len())
        .map(|index| archive.name_for_index(index).and_then(Result::ok).unwrap_or_default().into_owned())
        .collect();
    let found = ["", ".gz", ".Z"].into_iter().find_map(|suffix| {
        let wanted = format!("{name}{suffix}");
        let is_it = |path: &String| leads_inside(path) && path.rsplit('/').next() == Some(&wanted);
        names.iter().position(is_it).map(|index| (index, suffix))
    });
    let Some((index, suffix)) = found else {
        let mut known = names.join(", ");
        if known.len() > 300 {
            let end = (0..=300).rev().find(|&end| known.is_char_boundary(end)).unwrap_or(0);
            known.truncate(end);
            known.push('…');
        }
        return Err(damaged(format!(
            "the archive holds neither {name} nor {name}.gz nor {name}.Z, but: {known}"
        )));
    };
    let member = BufReader::with_capacity(BUFFER_BYTES, archive.by_index(index).map_err(unreadable)?);
    match suffix {
        ".gz" => take(&mut MultiGzDecoder::new(member)),
        ".Z" => take(&mut CompressReader::new(member)),
        _ => take(&mut { member }),
    }
}

/// Whether a path within an archive stays within it. Archives with other paths are malicious.
fn leads_inside(path: &str) -> bool {
    !path.starts_with('/') && !path.contains('\\') && path.split('/').all(|part| part != "..")
}

/// Longer lines are none of `adult`.
const MAX_LINE_BYTES: u64 = 1 << 16;

/// Copies the lines that are not empty.
fn copy_rows(input: &mut dyn Read, output: &mut Output<'_>) -> io::Result<()> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let mut output = BufWriter::with_capacity(BUFFER_BYTES, output);
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return output.flush();
        }
        if line.len() as u64 == MAX_LINE_BYTES {
            return Err(damaged(format!("a line has {MAX_LINE_BYTES} bytes or more")));
        }
        let row = line.strip_suffix(b"\n").unwrap_or(&line);
        let row = row.strip_suffix(b"\r").unwrap_or(row);
        if !row.trim_ascii().is_empty() {
            output.write_all(row)?;
            output.write_all(b"\n")?;
        }
    }
}

fn damaged(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}
