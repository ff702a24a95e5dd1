//! Jester: having read a user's opinion of 32 jokes, choose which of 8 others to tell. The reward is the user's rating, from −10
//! to 10; every trial draws which jokes these are.
//!
//! `jester-described` is the same with features of jokes: see [`described`].

mod described;

use std::sync::Arc;

use locus::{Seed, Shape};

use super::registry::{FromFile, Origin, ProblemInfo};
use super::{Problem, Sequence, check_steps};
use crate::Error;
use crate::data::DataFile;
use crate::data::npy::read_npy;
use crate::error::ErrorKind;

pub(super) use described::INFO as DESCRIBED_INFO;

pub(super) const INFO: ProblemInfo = ProblemInfo {
    id: "jester",
    shape: Shape::new(32, 8),
    n_candidates: 0,
    rows: Some(19_181),
    rewards: "the user's rating of the joke, -10 to 10",
    origin: Origin::File { name: "jester_data_40jokes_19181users.npy", read },
};

const N_JOKES: usize = 40;

struct Jester(Ratings);

struct Ratings {
    n_users: usize,
    /// [users, jokes]
    values: Vec<f64>,
}

impl Ratings {
    /// What a user thinks of every joke.
    fn of_user(&self, user: usize) -> &[f64] {
        &self.values[user * N_JOKES..][..N_JOKES]
    }
}

fn read(file: &mut DataFile) -> Result<FromFile, Error> {
    Ok(FromFile { problem: Arc::new(Jester(read_ratings(file)?)), notes: Vec::new() })
}

fn read_ratings(file: &mut DataFile) -> Result<Ratings, Error> {
    let label = file.label();
    let array = read_npy(file, &label)?;
    let invalid = |problem| Error::from(ErrorKind::InvalidFile { file: label, problem });
    let n_users = match array.shape[..] {
        [n_users, N_JOKES] if n_users > 0 => n_users,
        _ => {
            let problem = format!("the array has shape {:?}, expected [users, {N_JOKES}]", array.shape);
            return Err(invalid(problem));
        }
    };
    let values = array.into_f64();
    // Contexts are f32, so a rating has to be finite as such.
    if let Some(index) = values.iter().position(|&rating| !(rating as f32).is_finite()) {
        let (user, joke) = (index / N_JOKES, index % N_JOKES);
        let problem = format!("rating [{user}, {joke}] is {}, expected a finite number", values[index]);
        return Err(invalid(problem));
    }
    Ok(Ratings { n_users, values })
}

impl Problem for Jester {
    fn name(&self) -> &str {
        INFO.id
    }

    fn shape(&self) -> Shape {
        INFO.shape
    }

    fn max_steps(&self) -> Option<usize> {
        Some(self.0.n_users)
    }

    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error> {
        check_steps(self, steps)?;
        let mut sequence = Sequence::with_room(INFO.shape, steps)?;
        let mut jokes: Vec<usize> = (0..N_JOKES).collect();
        seed.stream("columns", 0).shuffle(&mut jokes);
        let (known, told) = jokes.split_at(INFO.shape.n_features);
        let mut context = vec![0.0; known.len()];
        let mut rewards = vec![0.0; told.len()];
        for user in seed.stream("rows", 0).choose_distinct(self.0.n_users, steps) {
            let ratings = self.0.of_user(user);
            context.iter_mut().zip(known).for_each(|(x, &joke)| *x = ratings[joke] as f32);
            rewards.iter_mut().zip(told).for_each(|(reward, &joke)| *reward = ratings[joke]);
            let best = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            sequence.push(&context, &rewards, best);
        }
        Ok(sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::npy::tests::npy_f64;
    use crate::problem::load;
    use std::collections::BTreeSet;

    fn load_ratings(shape: &str, ratings: &[f64]) -> Result<Arc<dyn Problem>, Error> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("jester_data_40jokes_19181users.npy"), npy_f64(shape, ratings))
            .unwrap();
        Ok(load("jester", Some(folder.path()))?.problem)
    }

    #[test]
    fn a_round_is_a_permuted_row_split_in_two() {
        // User u rates joke j with 100 u + j, so that every number says where it comes from.
        let ratings: Vec<f64> =
            (0..5).flat_map(|user| (0..40).map(move |joke| f64::from(100 * user + joke))).collect();
        let problem = load_ratings("(5, 40)", &ratings).unwrap();
        let orders: Vec<Vec<f64>> = (0..2)
            .map(|seed| {
                let sequence = problem.sequence(5, Seed::new(seed)).unwrap();
                let mut users = Vec::new();
                let mut order = Vec::new();
                for round in sequence.rounds() {
                    let row: Vec<f64> = round
                        .context
                        .iter()
                        .map(|&x| x.into())
                        .chain(round.rewards.iter().copied())
                        .collect();
                    let user = (row[0] / 100.0).floor();
                    users.push(user as usize);
                    let jokes: Vec<f64> = row.iter().map(|rating| rating - 100.0 * user).collect();
                    assert!(order.is_empty() || order == jokes, "one order per trial");
                    order = jokes;
                    assert_eq!(round.best_reward, round.rewards.iter().copied().fold(0.0, f64::max));
                }
                users.sort_unstable();
                assert_eq!(users, [0, 1, 2, 3, 4]);
                let mut sorted = order.clone();
                sorted.sort_by(f64::total_cmp);
                assert_eq!(sorted, (0..40).map(f64::from).collect::<Vec<_>>());
                order
            })
            .collect();
        let told = |order: &[f64]| order[32..].iter().map(|&joke| joke as u32).collect::<BTreeSet<_>>();
        assert_ne!(told(&orders[0]), told(&orders[1]), "trials tell different jokes");
        assert_ne!(orders[0][..32], orders[1][..32]);
        assert!(problem.sequence(6, Seed::new(0)).is_err());
    }

    #[test]
    fn other_arrays_are_refused() {
        let message = |shape: &str, ratings: &[f64]| load_ratings(shape, ratings).err().unwrap().to_string();
        assert!(message("(2, 2)", &[0.0; 4]).contains("shape [2, 2], expected [users, 40]"));
        assert!(message("(0, 40)", &[]).contains("shape [0, 40]"));
        let mut ratings = [0.0; 80];
        ratings[41] = f64::NAN;
        assert!(message("(2, 40)", &ratings).contains("rating [1, 1] is NaN"));
    }
}
