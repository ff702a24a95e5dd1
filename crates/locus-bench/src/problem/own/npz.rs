//! Your own rounds as a problem: contexts and the rewards of every action, run in their own order.
//!
//! Use it for simulators, and to compare two programs on the same sequence.

use std::path::Path;
use std::sync::Arc;

use locus::{Seed, Shape};

use super::{expect_archive, file_used, first_bytes, is_zip, name};
use crate::Error;
use crate::data::DataFile;
use crate::data::npz::Npz;
use crate::error::ErrorKind;
use crate::problem::{Loaded, Problem, Sequence, check_steps};

pub(super) struct OwnRounds {
    pub(super) name: String,
    pub(super) rounds: Sequence,
}

/// Creates a problem from an `.npz` archive of contexts and rewards.
///
/// The arrays are `contexts` `[T, C]` and `rewards` `[T, A]`, of floats or integers, and optionally `optimal` `[T]`, of floats:
/// the best expected reward of each round. Regret is measured against `optimal`, or else against the best reward of the round.
/// The problem is named after the file's stem, which no built-in problem may have, and all its trials are equal.
pub fn load_npz(path: &Path) -> Result<Loaded, Error> {
    let name = name(path)?;
    let Read { rounds, notes, .. } = read(path)?;
    // The checksum is that of the whole archive.
    let used = file_used(path, DataFile::open(path)?.finish()?);
    let problem = Arc::new(OwnRounds { name, rounds });
    Ok(Loaded { problem, files: vec![used], notes, schema: None })
}

/// Sizes and mean rewards of a file for [`load_npz`].
#[derive(Clone, Debug, PartialEq)]
pub struct RoundsSummary {
    /// T.
    pub n_rounds: usize,
    /// C and A.
    pub shape: Shape,
    /// The mean reward of each action.
    pub mean_rewards: Vec<f64>,
    /// The mean of the best rewards of the rounds.
    pub mean_best_reward: f64,
    /// The mean of `optimal`, if it is given.
    pub mean_optimal: Option<f64>,
    /// Warnings.
    pub notes: Vec<String>,
}

/// Reads a file as [`load_npz`] does, and summarizes it.
pub fn inspect_npz(path: &Path) -> Result<RoundsSummary, Error> {
    let Read { rounds, has_optimal, notes } = read(path)?;
    let n_rounds = rounds.len();
    let mean = |sum: f64| sum / n_rounds as f64;
    let mut mean_rewards = vec![0.0; rounds.shape().n_actions];
    for round in rounds.rounds() {
        mean_rewards.iter_mut().zip(round.rewards).for_each(|(sum, reward)| *sum += reward);
    }
    mean_rewards.iter_mut().for_each(|sum| *sum = mean(*sum));
    Ok(RoundsSummary {
        n_rounds,
        shape: rounds.shape(),
        mean_rewards,
        mean_best_reward: mean(rounds.rounds().map(|round| best(round.rewards)).sum()),
        mean_optimal: has_optimal.then(|| mean(rounds.rounds().map(|round| round.best_reward).sum())),
        notes,
    })
}

/// Whether the file begins like an NPZ archive.
pub fn is_npz(path: &Path) -> bool {
    first_bytes(path).is_some_and(|bytes| is_zip(&bytes))
}

/// What every error about `optimal` explains.
const OPTIMAL: &str = "`optimal` is the best expected reward of each round, not the index of the best action; save those rewards as floats, or leave `optimal` out to measure regret against the best reward of each round";

pub(super) struct Read {
    pub(super) rounds: Sequence,
    has_optimal: bool,
    pub(super) notes: Vec<String>,
}

/// Arrays that are not checked yet.
pub(super) struct Rounds {
    pub(super) n_rounds: usize,
    pub(super) shape: Shape,
    /// [T, C]
    pub(super) contexts: Vec<f32>,
    /// [T, A]
    pub(super) rewards: Vec<f64>,
    /// `[T]`
    pub(super) optimal: Option<Vec<f64>>,
}

fn read(path: &Path) -> Result<Read, Error> {
    expect_archive(path)?;
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
    let contexts = contexts.into_f32();
    let rewards = rewards.into_f64();
    let optimal = match npz.array_and_class("optimal")? {
        Some((optimal, _)) if optimal.shape != [n_rounds] => {
            return Err(invalid(format!(
                "`optimal` has shape {:?}, expected [{n_rounds}]: {OPTIMAL}",
                optimal.shape
            )));
        }
        Some((_, true)) => {
            return Err(invalid(format!("`optimal` holds integers, expected floats: {OPTIMAL}")));
        }
        Some((optimal, false)) => Some(optimal.into_f64()),
        None => None,
    };
    checked(&file, Rounds { n_rounds, shape, contexts, rewards, optimal })
}

/// Fails unless the arrays of `source`, a file or a problem, can be the rounds of a trial.
pub(super) fn checked(source: &str, rounds: Rounds) -> Result<Read, Error> {
    let Rounds { n_rounds, shape, contexts, rewards, optimal } = rounds;
    let Shape { n_features, n_actions, .. } = shape;
    let invalid = |problem| Error::from(ErrorKind::InvalidFile { file: source.to_owned(), problem });
    if n_rounds == 0 || n_features == 0 || n_actions == 0 {
        return Err(invalid(format!(
            "found {n_rounds} rounds with {n_features} features and {n_actions} actions, expected at least one of each"
        )));
    }
    for (array, found, expected) in [
        ("contexts", Some(contexts.len()), n_rounds.checked_mul(n_features)),
        ("rewards", Some(rewards.len()), n_rounds.checked_mul(n_actions)),
        ("optimal", optimal.as_ref().map(Vec::len), Some(n_rounds)),
    ] {
        if let Some(found) = found.filter(|found| Some(*found) != expected) {
            return Err(invalid(format!(
                "`{array}` has {found} numbers, which do not make {n_rounds} rounds"
            )));
        }
    }
    let has_optimal = optimal.is_some();
    let best_rewards = optimal.unwrap_or_else(|| rewards.chunks_exact(n_actions).map(best).collect());
    let non_finite = |array: &str, index: Option<usize>, width: usize| match index {
        Some(index) => Err(invalid(format!(
            "`{array}` [{}, {}] is NaN, infinite or beyond 3.4e38, expected a finite number",
            index / width,
            index % width
        ))),
        None => Ok(()),
    };
    non_finite("contexts", contexts.iter().position(|x| !x.is_finite()), n_features)?;
    // Policies store rewards as f32, so they must fit into f32.
    let is_beyond = |reward: &f64| !(*reward as f32).is_finite();
    non_finite("rewards", rewards.iter().position(is_beyond), n_actions)?;
    if let Some(index) = best_rewards.iter().position(is_beyond) {
        return Err(invalid(format!(
            "`optimal` [{index}] is {}, expected a finite number",
            best_rewards[index]
        )));
    }
    let mut notes = Vec::new();
    if has_optimal {
        let note = check_optimal(&best_rewards, &rewards, n_actions).map_err(invalid)?;
        notes.extend(note.map(|note| format!("{source}: {note}")));
    }
    let rounds = Sequence::new(shape, contexts, rewards, best_rewards)?;
    Ok(Read { rounds, has_optimal, notes })
}

fn best(rewards: &[f64]) -> f64 {
    rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// A larger difference is not explained by noise.
const MAX_STANDARD_ERRORS: f64 = 4.0;

/// Compares `optimal` with its bounds: its mean is at least the mean reward of any single action and at most the mean of the best rewards
/// of the rounds. Fails below the lower bound, where regret would be negative; returns a warning above the upper bound.
fn check_optimal(optimal: &[f64], rewards: &[f64], n_actions: usize) -> Result<Option<String>, String> {
    let n_rounds = optimal.len() as f64;
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / n_rounds;
    let reward = |action: usize| rewards.iter().skip(action).step_by(n_actions).copied();
    let means = (0..n_actions).map(|action| mean(&mut reward(action)));
    let Some((action, mean_reward)) = means.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b)) else {
        return Ok(None);
    };
    let mean_optimal = mean(&mut optimal.iter().copied());
    if is_index_of_best(optimal, rewards, n_actions) {
        return Err("`optimal` looks like indices of the best actions, expected the best expected reward of each round; store those rewards, or leave `optimal` out to measure regret against the best reward of each round".to_owned());
    }
    let excess = excess(reward(action).zip(optimal.iter().copied()));
    if excess > MAX_STANDARD_ERRORS {
        return Err(format!(
            "`optimal` has mean {}, but action {action} alone earns {} on average, {}: {OPTIMAL}",
            rounded(mean_optimal),
            rounded(mean_reward),
            in_standard_errors(excess, "more")
        ));
    }
    let best_rewards = || rewards.chunks_exact(n_actions).map(best);
    let excess = self::excess(optimal.iter().copied().zip(best_rewards()));
    let note = || {
        format!(
            "`optimal` has mean {}, but the best rewards of the rounds have mean {}, {}; regret may be too large: {OPTIMAL}",
            rounded(mean_optimal),
            rounded(mean(&mut best_rewards())),
            in_standard_errors(excess, "less")
        )
    };
    Ok((excess > MAX_STANDARD_ERRORS).then(note))
}

/// Whether `optimal` is the index of the best action in most rounds, and not its reward. One value in all rounds says nothing.
fn is_index_of_best(optimal: &[f64], rewards: &[f64], n_actions: usize) -> bool {
    let (mut n_indices, mut n_rewards) = (0, 0);
    for (optimal, rewards) in optimal.iter().zip(rewards.chunks_exact(n_actions)) {
        let best = best(rewards);
        let index = rewards.iter().position(|reward| *reward == best);
        n_indices += usize::from(index.is_some_and(|index| index as f64 == *optimal));
        n_rewards += usize::from(*optimal == best);
    }
    let varies = optimal.iter().any(|value| *value != optimal[0]);
    varies && n_indices * 10 >= optimal.len() * 9 && n_rewards * 2 < optimal.len()
}

/// Mean difference of the pairs, first minus second, in standard errors. 0 if rounding to `f32` would explain it; infinite if all
/// differences are equal.
fn excess(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let n = pairs.len() as f64;
    if n < 2.0 {
        return 0.0;
    }
    let mean = pairs.iter().map(|(a, b)| a - b).sum::<f64>() / n;
    let size = pairs.iter().map(|(a, b)| a.abs() + b.abs()).sum::<f64>() / n;
    if mean.abs() <= 1e-6 * size {
        return 0.0;
    }
    let variance = pairs.iter().map(|(a, b)| (a - b - mean).powi(2)).sum::<f64>() / (n - 1.0);
    mean / (variance / n).sqrt()
}

fn in_standard_errors(excess: f64, than: &str) -> String {
    match excess.is_finite() {
        true => format!("{excess:.1} standard errors {than}"),
        false => format!("{than} by the same amount in every round"),
    }
}

/// Rounds to four significant digits.
fn rounded(number: f64) -> String {
    format!("{}", format!("{number:.3e}").parse::<f64>().unwrap_or(number))
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
    use crate::data::npy::tests::{npy, npy_f64};
    use crate::data::npz::tests::npz;
    use zip::CompressionMethod;

    #[test]
    fn indices_of_best_actions_are_refused_as_floats_too() {
        // Rewards above and below the indices, so that their means say nothing.
        let rewards: Vec<f64> = (0..60).map(|place| f64::from((place * 7) % 11) / 3.0).collect();
        let rounds = || rewards.chunks_exact(3);
        let index =
            |rewards: &[f64]| rewards.iter().position(|reward| *reward == best(rewards)).unwrap() as f64;
        let indices: Vec<f64> = rounds().map(index).collect();
        assert!(is_index_of_best(&indices, &rewards, 3));
        assert!(check_optimal(&indices, &rewards, 3).unwrap_err().contains("looks like indices"));
        let bests: Vec<f64> = rounds().map(best).collect();
        assert!(!is_index_of_best(&bests, &rewards, 3));
        // Where the best action is 1 and earns 1, the two are the same.
        let binary = [0.0, 1.0].repeat(20);
        assert!(!is_index_of_best(&[1.0; 20], &binary, 2));
        assert!(check_optimal(&[1.0; 20], &binary, 2).is_ok());
    }

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

    /// As numpy saves whole numbers.
    fn npy_i64(shape: &str, values: &[i64]) -> Vec<u8> {
        let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        npy(1, &format!("{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}"), &values)
    }

    #[test]
    fn contexts_and_rewards_may_be_integers_and_optimal_may_not() {
        let contexts = ("contexts.npy", npy_i64("(3, 1)", &[1, 2, 3]));
        let rewards = ("rewards.npy", npy_i64("(3, 2)", &[0, 1, 5, 2, -1, -2]));
        let whole = load(&[contexts.clone(), rewards.clone()]).unwrap().problem;
        let floats = load(&[self::contexts(), self::rewards()]).unwrap().problem;
        assert_eq!(whole.sequence(3, Seed::new(1)).unwrap(), floats.sequence(3, Seed::new(1)).unwrap());
        let optimal = ("optimal.npy", npy_i64("(3,)", &[1, 0, 0]));
        let message = load(&[contexts, rewards, optimal]).unwrap_err().to_string();
        for part in [
            "`optimal` holds integers, expected floats",
            "the best expected reward of each round, not the index of the best action",
            "or leave `optimal` out",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }

    /// 100 rounds in which action 1 earns 4 or 6, action 0 nothing, and these as `optimal`.
    fn with_optimal(optimal: impl Fn(usize) -> f64) -> Result<Loaded, Error> {
        let rewards: Vec<f64> = (0..100).flat_map(|t| [0.0, if t % 2 == 0 { 4.0 } else { 6.0 }]).collect();
        let optimal: Vec<f64> = (0..100).map(optimal).collect();
        load(&[
            ("contexts.npy", npy_f64("(100, 1)", &[1.0; 100])),
            ("rewards.npy", npy_f64("(100, 2)", &rewards)),
            ("optimal.npy", npy_f64("(100,)", &optimal)),
        ])
    }

    #[test]
    fn an_optimal_far_below_what_one_action_earns_is_refused() {
        let message = with_optimal(|_| 1.5).unwrap_err().to_string();
        let expected = "simulator.npz: `optimal` has mean 1.5, but action 1 alone earns 5 on average, 34.8 standard errors more: `optimal` is the best expected";
        assert!(message.contains(expected), "{message}");
        // The rewards of action 1 have a standard error of 0.1005: just within four, and just beyond.
        assert!(with_optimal(|_| 4.6).unwrap().notes.is_empty());
        assert!(with_optimal(|_| 4.59).unwrap_err().to_string().contains("4.1 standard errors more"));
        // Lower by the same in every round, and by what f32 rounds off.
        let realized = |t: usize| if t.is_multiple_of(2) { 4.0 } else { 6.0 };
        let message = with_optimal(|t| realized(t) - 0.01).unwrap_err().to_string();
        assert!(message.contains("on average, more by the same amount in every round: "), "{message}");
        assert!(with_optimal(|t| realized(t) - 1e-6).unwrap().notes.is_empty());
    }

    #[test]
    fn an_optimal_far_above_the_best_rewards_is_noted() {
        let notes = with_optimal(|_| 9.0).unwrap().notes;
        assert!(notes[0].contains("`optimal` has mean 9, but the best rewards of the rounds have mean 5, 39.8 standard errors less"), "{notes:?}");
        assert!(with_optimal(|_| 5.4).unwrap().notes.is_empty());
    }

    #[test]
    fn a_file_can_be_inspected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("adult.npz");
        let optimal = ("optimal.npy", npy_f64("(3,)", &[0.5, 4.0, -1.5]));
        for members in [vec![contexts(), rewards()], vec![contexts(), rewards(), optimal]] {
            std::fs::write(&path, npz(&members, CompressionMethod::Stored)).unwrap();
            assert!(is_npz(&path));
            let found = inspect_npz(&path).unwrap();
            assert_eq!((found.n_rounds, found.shape), (3, Shape::new(1, 2)));
            assert_eq!(found.mean_rewards, [4.0 / 3.0, 1.0 / 3.0]);
            assert_eq!(found.mean_best_reward, 5.0 / 3.0);
            assert_eq!(found.mean_optimal, (members.len() == 3).then_some(1.0));
        }
        std::fs::write(&path, "a,b\n").unwrap();
        assert!(!is_npz(&path) && !is_npz(Path::new("nowhere.npz")));
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
