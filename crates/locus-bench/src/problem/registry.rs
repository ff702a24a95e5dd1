//! The built-in problems by name, and how to load them.
//!
//! Adding a problem takes its own file and one line in [`INFOS`].

use std::path::Path;
use std::sync::Arc;

use locus::{Shape, did_you_mean};

use super::{
    Problem, Schema, adult, bilinear, census, covertype, financial, jester, linear, mushroom, statlog, wheel,
};
use crate::Error;
use crate::data::{DataFile, Fingerprint, catalog};
use crate::error::ErrorKind;

/// Description of a problem before it is loaded.
#[derive(Clone, Copy, Debug)]
pub struct ProblemInfo {
    /// Its name in commands, records and tables.
    pub id: &'static str,
    /// Width of the contexts and number of actions, with the benchmark's own file.
    pub shape: Shape,
    /// How many candidates a round has if actions have features, otherwise 0.
    pub n_candidates: usize,
    /// Rows that a trial can draw from; `None` if rounds are generated.
    pub rows: Option<usize>,
    /// What the rewards are, in one line.
    pub rewards: &'static str,
    pub(super) origin: Origin,
}

/// The source of a problem's rounds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    Generated(fn() -> Arc<dyn Problem>),
    File { name: &'static str, read: fn(&mut DataFile) -> Result<FromFile, Error> },
}

/// A problem read from a file, and warnings.
pub(super) struct FromFile {
    pub(super) problem: Arc<dyn Problem>,
    pub(super) notes: Vec<String>,
}

impl ProblemInfo {
    /// How many actions a round offers.
    pub fn n_choices(&self) -> usize {
        self.shape.n_actions.max(self.n_candidates)
    }

    /// The file that the problem needs, if any, by its uncompressed name.
    pub fn file(&self) -> Option<&'static str> {
        match self.origin {
            Origin::Generated(_) => None,
            Origin::File { name, .. } => Some(name),
        }
    }
}

/// All built-in problems, those of the paper first and in its order.
pub static INFOS: [ProblemInfo; 15] = [
    mushroom::INFO,
    financial::INFO,
    statlog::INFO,
    jester::INFO,
    wheel::INFO,
    covertype::INFO,
    adult::INFO,
    census::FULL_INFO,
    census::PART_INFO,
    linear::INFO,
    linear::SPARSE_INFO,
    linear::FOLDED_INFO,
    linear::DRIFT_INFO,
    bilinear::INFO,
    jester::DESCRIBED_INFO,
];

/// The built-in problem of this name.
pub fn info(name: &str) -> Result<&'static ProblemInfo, Error> {
    INFOS.iter().find(|info| info.id == name).ok_or_else(|| {
        Error::from(ErrorKind::UnknownProblem {
            name: name.to_owned(),
            hint: did_you_mean(name, INFOS.iter().map(|info| info.id)),
            known: INFOS.each_ref().map(|info| info.id).join(", "),
        })
    })
}

/// A loaded problem and its files.
#[derive(Clone)]
pub struct Loaded {
    /// The problem.
    pub problem: Arc<dyn Problem>,
    /// The files that were read.
    pub files: Vec<FileUsed>,
    /// Warnings for the user: dropped rows, a checksum that does not match.
    pub notes: Vec<String>,
    /// How the columns of the user's own table are used; `None` for all other problems.
    pub schema: Option<Schema>,
}

/// A file that a problem was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUsed {
    /// Its name without the folder; of a benchmark's file, the uncompressed one.
    pub name: String,
    /// SHA-256 of the uncompressed bytes.
    pub sha256: String,
    /// Whether it matches the known checksum; `None` if none is known.
    pub known: Option<bool>,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("problem", &self.problem.name())
            .field("files", &self.files)
            .field("notes", &self.notes)
            .finish()
    }
}

/// Whether [`load`] would find the file that the problem needs; true if it needs none.
pub fn is_available(name: &str, data_dir: Option<&Path>) -> Result<bool, Error> {
    let Some(file) = info(name)?.file() else { return Ok(true) };
    Ok(data_dir.is_some_and(|folder| DataFile::find(folder, file).is_ok()))
}

/// Loads the built-in problem of this name; its file, if it needs one, is looked for in `data_dir`.
pub fn load(name: &str, data_dir: Option<&Path>) -> Result<Loaded, Error> {
    let info = info(name)?;
    let (file_name, read) = match info.origin {
        Origin::Generated(make) => {
            return Ok(Loaded { problem: make(), files: Vec::new(), notes: Vec::new(), schema: None });
        }
        Origin::File { name, read } => (name, read),
    };
    let folder = data_dir
        .ok_or_else(|| ErrorKind::NoDataFolder { problem: name.to_owned(), file: file_name.to_owned() })?;
    let mut file = DataFile::find(folder, file_name)?;
    let label = file.label();
    let FromFile { problem, mut notes } = read(&mut file)?;
    let Fingerprint { sha256, .. } = file.finish()?;
    let known = catalog::find(file_name).and_then(|entry| entry.sha256).map(|known| known == sha256);
    if known == Some(false) {
        notes.push(format!(
            "{label}: the checksum does not match the known one; results may differ from published ones"
        ));
    }
    Ok(Loaded {
        problem,
        files: vec![FileUsed { name: file_name.to_owned(), sha256, known }],
        notes,
        schema: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use locus::Seed;

    #[test]
    fn catalog_and_registry_know_of_each_other() {
        for info in &INFOS {
            if let Some(file) = info.file() {
                assert!(catalog::find(file).unwrap().problems.contains(&info.id), "{}", info.id);
            }
        }
        for file in &catalog::FILES {
            for problem in file.problems {
                assert_eq!(super::info(problem).unwrap().file(), Some(file.name));
            }
        }
    }

    #[test]
    fn generated_problems_are_as_announced() {
        for info in INFOS.iter().filter(|info| info.file().is_none()) {
            let loaded = load(info.id, None).unwrap();
            assert_eq!(loaded.problem.name(), info.id);
            assert_eq!(loaded.problem.shape(), info.shape);
            assert_eq!(loaded.problem.max_steps(), None);
            let sequence = |steps, seed| loaded.problem.sequence(steps, Seed::new(seed)).unwrap();
            assert_eq!(sequence(50, 1), sequence(50, 1));
            assert_ne!(sequence(50, 1), sequence(50, 2));
            // `drift` changes at half of its steps, however many these are.
            let n_shared = if info.id == "drift" { 10 } else { 20 };
            assert_eq!(sequence(50, 1).round(n_shared - 1), sequence(20, 1).round(n_shared - 1));
            assert!(matches!(
                loaded.problem.sequence(0, Seed::new(1)).unwrap_err().kind(),
                ErrorKind::NoSteps { .. }
            ));
            assert!(loaded.problem.sequence(usize::MAX, Seed::new(1)).is_err());
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let message = load("mushrooms", None).unwrap_err().to_string();
        assert!(message.contains("`mushrooms`") && message.contains("census-10k, linear"), "{message}");
        let message = load("adult", None).unwrap_err().to_string();
        assert!(message.contains("adult.full") && message.contains("--data DIR"), "{message}");
        let folder = tempfile::tempdir().unwrap();
        let error = load("adult", Some(folder.path())).unwrap_err();
        assert!(error.is_not_found());
        assert!(error.to_string().contains("adult.full.zst"), "{error}");
        assert!(!is_available("adult", Some(folder.path())).unwrap());
        assert!(!is_available("adult", None).unwrap());
        assert!(is_available("wheel", None).unwrap());
        std::fs::write(folder.path().join("adult.full.gz"), "").unwrap();
        assert!(is_available("adult", Some(folder.path())).unwrap());
    }

    #[test]
    fn a_checksum_that_differs_is_noted_and_not_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("shuttle.trn"), "1 2 3 4 5 6 7 8 9 1\n9 8 7 6 5 4 3 2 1 2\n")
            .unwrap();
        let loaded = load("statlog", Some(folder.path())).unwrap();
        assert_eq!(loaded.files[0].name, "shuttle.trn");
        assert_eq!(loaded.files[0].known, Some(false));
        assert!(loaded.notes[0].contains("shuttle.trn: the checksum"), "{:?}", loaded.notes);
        assert_eq!(loaded.problem.max_steps(), Some(2));
        let message = loaded.problem.sequence(3, Seed::new(1)).unwrap_err().to_string();
        assert_eq!(message, "problem `statlog` has 2 rows, fewer than the 3 steps; use at most 2 steps");
    }
}
