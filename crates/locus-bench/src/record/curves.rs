//! The paths of a trial's arrays.
//!
//! The names are made of problem, policy and trial, as readable as a file system allows. In problem and policy
//! everything but lower-case letters, digits and `_ = @ + -` becomes `_` (capitals stay, yet some disks do not
//! tell them apart), and what is longer than 60 characters is cut. A part that this does not leave as it was
//! gets `~` and the first 8 digits of the SHA-256 of the whole name, so that different trials never share a
//! file. [`curve_paths`] gives the names; by hand, `lin-full-post[prior_precision=1]` on `wheel` is found with
//! `ls curves/wheel.lin-full-post_prior_precision=1*`.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::folder::{create_folder, replace_file};
use super::{CURVES_FOLDER, run_file::hex};
use crate::Error;
use crate::data::npy::{Element, write_npy};
use crate::error::ErrorKind;
use crate::trial::{TrialId, TrialResult};

/// The files that hold the arrays of one trial.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CurvePaths {
    /// Regret of every step: `f64`, one dimension.
    pub regret: PathBuf,
    /// Action of every step: `u32`, one dimension.
    pub action: PathBuf,
}

/// Where the arrays of a trial lie in the folder `out`.
pub fn curve_paths(out: &Path, id: &TrialId) -> CurvePaths {
    let stem = format!("{}.{}.{:04}", safe_name(&id.problem), safe_name(&id.policy), id.trial);
    let file = |kind: &str| out.join(CURVES_FOLDER).join(format!("{stem}.{kind}.npy"));
    CurvePaths { regret: file("regret"), action: file("action") }
}

/// Writes both arrays, each whole or not at all.
pub(super) fn write_curves(out: &Path, id: &TrialId, result: &TrialResult) -> Result<(), Error> {
    let paths = curve_paths(out, id);
    create_folder(&out.join(CURVES_FOLDER))?;
    write_array(&paths.regret, &result.regrets)?;
    write_array(&paths.action, &result.actions)
}

fn write_array<T: Element>(path: &Path, values: &[T]) -> Result<(), Error> {
    let mut bytes = Vec::new();
    write_npy(&mut bytes, values).map_err(|cause| ErrorKind::OutFile {
        doing: "write",
        path: path.to_owned(),
        cause,
    })?;
    replace_file(path, &bytes)
}

const MAX_LETTERS: usize = 60;

/// A readable form of the name for file names; different names stay different. See the module.
pub fn safe_name(name: &str) -> String {
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "_=@+-".contains(letter);
    let safe: String =
        name.chars().map(|letter| if is_safe(letter) { letter } else { '_' }).take(MAX_LETTERS).collect();
    if safe == name && !name.contains(|letter: char| letter.is_ascii_uppercase()) {
        return safe;
    }
    let digest = hex(&Sha256::digest(name.as_bytes()));
    format!("{}~{}", safe.trim_end_matches('_'), &digest[..8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn names(problem: &str, policy: &str, trial: usize) -> (String, String) {
        let id = TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial };
        let paths = curve_paths(Path::new("out"), &id);
        let name = |path: &Path| path.strip_prefix("out/curves").unwrap().to_str().unwrap().to_owned();
        (name(&paths.regret), name(&paths.action))
    }

    #[test]
    fn names_are_as_documented() {
        let (regret, action) = names("wheel", "lu-gauss@paper", 7);
        assert_eq!(regret, "wheel.lu-gauss@paper.0007.regret.npy");
        assert_eq!(action, "wheel.lu-gauss@paper.0007.action.npy");
        let (regret, _) = names("wheel", "lin-full-post[prior_precision=1]", 12_345);
        assert_eq!(regret, "wheel.lin-full-post_prior_precision=1~2d7903fd.12345.regret.npy");
    }

    #[test]
    fn different_trials_have_different_safe_names() {
        let long = "x".repeat(300);
        let longer = "x".repeat(301);
        let odd = [
            "a", "A", "a.b", "a/b", "a\\b", "a_b", "a b", "ä", "..", "", "[a]", "_a_", "a~b", &long, &longer,
        ];
        let mut seen = HashSet::new();
        for problem in odd {
            for policy in odd {
                let (regret, action) = names(problem, policy, 0);
                assert!(regret.len() < 200 && !regret.contains(['/', '\\', '[', '*']), "{regret}");
                assert!(seen.insert(regret.to_lowercase()), "{problem} {policy}");
                assert!(seen.insert(action.to_lowercase()), "{problem} {policy}");
            }
        }
    }
}
