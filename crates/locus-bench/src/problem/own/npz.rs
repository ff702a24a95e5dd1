//! Your own rounds as a problem: contexts and the rewards of every action, run in their own order.
//!
//! This is how a simulator is brought, and how two programs are compared on one sequence.

use std::path::Path;
use std::sync::Arc;

use locus::{Seed, Shape};

use super::{file_used, name};
use crate::Error;
use crate::data::DataFile;
use crate::data::npz::Npz;
use crate::error::ErrorKind;
use crate::problem::{Loaded, Problem, Sequence, check_steps};

struct OwnRounds {
    name: String,
    rounds: Sequence,
}

/// Makes a problem of an `.npz` archive with the arrays `contexts` `[T, C]`, `rewards` `[T, A]` and, if there is
/// one, `optimal` `[T]`: the best expected reward, against which regret is measured; otherwise the best reward
/// of the round is. The problem is called by the file's stem, which no built-in problem may have, and all its trials are
/// alike.
pub fn load_npz(path: &Path) -> Result<Loaded, Error> {
    let name = name(path)?;
    let mut npz = Npz::open(path)?;
    let file = path.display().to_string();
    let invalid = |problem| Error::from(ErrorKind::InvalidFile { file: file.clone(), problem });

    let contexts = npz.required_array("contexts")?;
    let [n_rounds, n_features] = contexts.shape[..] else {
        return Err(invalid(format!(
            "`contexts` has shape {:?}, expected [rounds, features]",
            contexts.shape
        )));
    };
    let rewards = npz.required_array("rewards")?;
    let n_actions = match rewards.shape[..] {
        [n_rows, n_actions] if n_rows == n_rounds => n_actions,
        _ => {
            return Err(invalid(format!(
                "`rewards` has shape {:?}, expected [{n_rounds}, actions] as `contexts` has {n_rounds} rounds",
                rewards.shape
            )));
        }
    };
    let shape = Shape::new(n_features, n_actions);
    if n_rounds == 0 || n_features == 0 || n_actions == 0 {
        return Err(invalid(format!(
            "found {n_rounds} rounds with {n_features} features and {n_actions} actions, expected at least one of each"
        )));
    }
    let contexts = contexts.into_f32();
    let rewards = rewards.into_f64();
    let best_rewards = match npz.array("optimal")? {
        Some(optimal) if optimal.shape == [n_rounds] => optimal.into_f64(),
        Some(optimal) => {
            return Err(invalid(format!("`optimal` has shape {:?}, expected [{n_rounds}]", optimal.shape)));
        }
        None => {
            let best = |row: &[f64]| row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            rewards.chunks_exact(n_actions).map(best).collect()
        }
    };
    let non_finite = |array: &str, index: Option<usize>, width: usize| match index {
        Some(index) => Err(invalid(format!(
            "`{array}` [{}, {}] is NaN, infinite or beyond 3.4e38, expected a finite number",
            index / width,
            index % width
        ))),
        None => Ok(()),
    };
    non_finite("contexts", contexts.iter().position(|x| !x.is_finite()), n_features)?;
    // Policies learn from f32, so what f32 cannot hold is no reward.
    let is_beyond = |reward: &f64| !(*reward as f32).is_finite();
    non_finite("rewards", rewards.iter().position(is_beyond), n_actions)?;
    if let Some(index) = best_rewards.iter().position(is_beyond) {
        return Err(invalid(format!(
            "`optimal` [{index}] is {}, expected a finite number",
            best_rewards[index]
        )));
    }
    let rounds = Sequence::new(shape, contexts, rewards, best_rewards)?;

    // The archive as it is has one checksum, whatever is read of it.
    let used = file_used(path, DataFile::open(path)?.finish()?);
    let problem = Arc::new(OwnRounds { name, rounds });
    Ok(Loaded { problem, files: vec![used], notes: Vec::new() })
}

impl Problem for OwnRounds {
    fn name(&self) -> &str {
        &self.name
    }

    fn shape(&self) -> Shape {
        self.rounds.shape()
    }

    fn max_steps(&self) -> Option<usize> {
        Some(self.rounds.len())
    }

    /// The first rounds of the file, whatever the seed.
    fn sequence(&self, steps: usize, _seed: Seed) -> Result<Sequence, Error> {
        check_steps(self, steps)?;
        let mut sequence = Sequence::with_room(self.shape(), steps)?;
        for round in self.rounds.rounds().take(steps) {
            sequence.push(round.context, round.rewards, round.best_reward);
        }
        Ok(sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::npy::tests::npy_f64;
    use crate::data::npz::tests::npz;
    use zip::CompressionMethod;

    fn load(members: &[(&str, Vec<u8>)]) -> Result<Loaded, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("simulator.npz");
        std::fs::write(&path, npz(members, CompressionMethod::Deflated)).unwrap();
        load_npz(&path)
    }

    fn contexts() -> (&'static str, Vec<u8>) {
        ("contexts.npy", npy_f64("(3, 1)", &[1.0, 2.0, 3.0]))
    }

    fn rewards() -> (&'static str, Vec<u8>) {
        ("rewards.npy", npy_f64("(3, 2)", &[0.0, 1.0, 5.0, 2.0, -1.0, -2.0]))
    }

    #[test]
    fn rounds_come_in_their_own_order_and_fewer_steps_are_a_prefix() {
        let loaded = load(&[contexts(), rewards()]).unwrap();
        let problem = loaded.problem;
        assert_eq!(
            (problem.name(), problem.shape(), problem.max_steps()),
            ("simulator", Shape::new(1, 2), Some(3))
        );
        let all = problem.sequence(3, Seed::new(1)).unwrap();
        assert_eq!(all, problem.sequence(3, Seed::new(2)).unwrap());
        assert_eq!(all.rounds().map(|round| round.best_reward).collect::<Vec<_>>(), [1.0, 5.0, -1.0]);
        assert_eq!(all.round(2).context, [3.0]);
        assert_eq!(all.round(2).rewards, [-1.0, -2.0]);
        let two = problem.sequence(2, Seed::new(1)).unwrap();
        assert_eq!(two.rounds().collect::<Vec<_>>(), all.rounds().take(2).collect::<Vec<_>>());
        assert!(matches!(
            problem.sequence(4, Seed::new(1)).unwrap_err().kind(),
            ErrorKind::TooManySteps { rows: 3, .. }
        ));
        assert_eq!(loaded.files[0].sha256.len(), 64);
    }

    #[test]
    fn the_best_expected_reward_may_be_given() {
        let optimal = ("optimal.npy", npy_f64("(3,)", &[0.5, 4.0, -1.5]));
        let problem = load(&[contexts(), rewards(), optimal]).unwrap().problem;
        let sequence = problem.sequence(3, Seed::new(1)).unwrap();
        assert_eq!(sequence.rounds().map(|round| round.best_reward).collect::<Vec<_>>(), [0.5, 4.0, -1.5]);
    }

    #[test]
    fn arrays_that_do_not_fit_are_named() {
        let message = |members: &[(&str, Vec<u8>)]| {
            let error = load(members).unwrap_err();
            assert!(error.is_invalid_data(), "{error:?}");
            error.to_string()
        };
        let array = npy_f64;
        assert!(message(&[contexts()]).contains("no array is called `rewards`; it holds contexts"));
        assert!(message(&[("contexts.npy", array("(3,)", &[0.0; 3])), rewards()]).contains("shape [3]"));
        let short = ("rewards.npy", array("(2, 2)", &[0.0; 4]));
        assert!(message(&[contexts(), short]).contains("`rewards` has shape [2, 2], expected [3, actions]"));
        let none = [("contexts.npy", array("(0, 1)", &[])), ("rewards.npy", array("(0, 2)", &[]))];
        assert!(message(&none).contains("found 0 rounds"));
        let wide = ("optimal.npy", array("(3, 1)", &[0.0; 3]));
        assert!(message(&[contexts(), rewards(), wide]).contains("`optimal` has shape [3, 1], expected [3]"));
        for bad in [f64::NAN, f64::INFINITY, 1e39] {
            let broken = ("contexts.npy", array("(3, 1)", &[0.0, 0.0, bad]));
            assert!(message(&[broken, rewards()]).contains("`contexts` [2, 0] is"));
            let broken = ("rewards.npy", array("(3, 2)", &[0.0, 0.0, 0.0, bad, 0.0, 0.0]));
            assert!(message(&[contexts(), broken]).contains("`rewards` [1, 1] is"));
            let broken = ("optimal.npy", array("(3,)", &[0.0, bad, 0.0]));
            assert!(message(&[contexts(), rewards(), broken]).contains("`optimal` [1] is"));
        }
    }
}
