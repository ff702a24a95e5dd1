//! Jester with features of jokes: having read a user's opinion of 20 jokes, choose which of 8 others to tell, other ones each time.
//!
//! The other 20 jokes are described by what users who never appear as contexts think of them: by the first six principal
//! components of their ratings, not centered, so that the first one is close to how popular a joke is. A user's taste shows in the
//! ratings of the 20 known jokes, so the reward is nearly bilinear in context and features.

use std::sync::Arc;

use locus::{Seed, Shape};

use super::super::registry::{FromFile, Origin, ProblemInfo};
use super::super::{Problem, Sequence, check_steps};
use super::{N_JOKES, Ratings, read_ratings};
use crate::Error;
use crate::data::DataFile;

pub(in crate::problem) const INFO: ProblemInfo = ProblemInfo {
    id: "jester-described",
    shape: Shape::described(N_KNOWN, N_COMPONENTS),
    n_candidates: 8,
    rows: Some(MAX_STEPS),
    rewards: "the user's rating of the joke, -10 to 10; jokes are described by the ratings of other users",
    origin: Origin::File { name: "jester_data_40jokes_19181users.npy", read },
};

/// Jokes whose ratings are the context.
const N_KNOWN: usize = 20;
const N_COMPONENTS: usize = 6;
/// Half of the users, so that the others can describe the jokes.
const MAX_STEPS: usize = 19_181 / 2;

struct DescribedJester(Ratings);

fn read(file: &mut DataFile) -> Result<FromFile, Error> {
    Ok(FromFile { problem: Arc::new(DescribedJester(read_ratings(file)?)), notes: Vec::new() })
}

impl Problem for DescribedJester {
    fn name(&self) -> &str {
        INFO.id
    }

    fn shape(&self) -> Shape {
        INFO.shape
    }

    fn max_steps(&self) -> Option<usize> {
        Some(self.0.n_users / 2)
    }

    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error> {
        check_steps(self, steps)?;
        let mut sequence = Sequence::with_choices(INFO.shape, INFO.n_candidates, steps)?;
        let mut jokes: Vec<usize> = (0..N_JOKES).collect();
        seed.stream("columns", 0).shuffle(&mut jokes);
        let (known, others) = jokes.split_at(N_KNOWN);
        let users = seed.stream("rows", 0).choose_distinct(self.0.n_users, steps);
        let features = self.describe(&users);
        let mut offers = seed.stream("candidates", 0);
        let mut context = vec![0.0; known.len()];
        let (mut candidates, mut rewards) = (Vec::new(), Vec::new());
        for user in users {
            let ratings = self.0.of_user(user);
            context.iter_mut().zip(known).for_each(|(x, &joke)| *x = ratings[joke] as f32);
            candidates.clear();
            rewards.clear();
            for place in offers.choose_distinct(others.len(), INFO.n_candidates) {
                let joke = others[place];
                candidates.extend_from_slice(&features[joke * N_COMPONENTS..][..N_COMPONENTS]);
                rewards.push(ratings[joke]);
            }
            let best = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            sequence.push_described(&context, &candidates, &rewards, best);
        }
        Ok(sequence)
    }
}

impl DescribedJester {
    /// The components of every joke [jokes, components], of mean square 1, by the ratings of all users but these.
    fn describe(&self, users: &[usize]) -> Vec<f32> {
        let mut appears = vec![false; self.0.n_users];
        users.iter().for_each(|&user| appears[user] = true);
        let mut moments = vec![0.0; N_JOKES * N_JOKES];
        for user in (0..self.0.n_users).filter(|&user| !appears[user]) {
            let ratings = self.0.of_user(user);
            for (row, rating) in moments.chunks_exact_mut(N_JOKES).zip(ratings) {
                row.iter_mut().zip(ratings).for_each(|(sum, other)| *sum += rating * other);
            }
        }
        let vectors = leading_eigenvectors(moments, N_JOKES, N_COMPONENTS);
        let unit = (N_JOKES as f64).sqrt();
        (0..N_JOKES).flat_map(|joke| vectors.iter().map(move |vector| (unit * vector[joke]) as f32)).collect()
    }
}

/// The eigenvectors of a symmetric matrix with the largest eigenvalues, of length 1, by Jacobi's rotations. The largest entry of each
/// is positive, which makes it unique.
fn leading_eigenvectors(mut matrix: Vec<f64>, n: usize, n_vectors: usize) -> Vec<Vec<f64>> {
    const MAX_SWEEPS: usize = 60;
    let mut rotations = vec![0.0; n * n];
    (0..n).for_each(|i| rotations[i * n + i] = 1.0);
    for _ in 0..MAX_SWEEPS {
        let off_diagonal = |i: usize| (0..n).filter(move |&j| j != i).map(move |j| (i, j));
        let left: f64 = (0..n).flat_map(off_diagonal).map(|(i, j)| matrix[i * n + j].powi(2)).sum();
        let total: f64 = matrix.iter().map(|entry| entry * entry).sum();
        if left <= 1e-24 * total {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                let apq = matrix[p * n + q];
                if apq == 0.0 {
                    continue;
                }
                let theta = (matrix[q * n + q] - matrix[p * n + p]) / (2.0 * apq);
                let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
                let sine = tangent * cosine;
                for k in 0..n {
                    let (kp, kq) = (matrix[k * n + p], matrix[k * n + q]);
                    matrix[k * n + p] = cosine * kp - sine * kq;
                    matrix[k * n + q] = sine * kp + cosine * kq;
                }
                for k in 0..n {
                    let (pk, qk) = (matrix[p * n + k], matrix[q * n + k]);
                    matrix[p * n + k] = cosine * pk - sine * qk;
                    matrix[q * n + k] = sine * pk + cosine * qk;
                    let (vp, vq) = (rotations[k * n + p], rotations[k * n + q]);
                    rotations[k * n + p] = cosine * vp - sine * vq;
                    rotations[k * n + q] = sine * vp + cosine * vq;
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| matrix[b * n + b].total_cmp(&matrix[a * n + a]).then(a.cmp(&b)));
    let vector = |column: usize| {
        let entries: Vec<f64> = (0..n).map(|row| rotations[row * n + column]).collect();
        let largest =
            entries.iter().fold(0.0_f64, |most, entry| if entry.abs() > most.abs() { *entry } else { most });
        entries.into_iter().map(|entry| entry * largest.signum()).collect()
    };
    order.into_iter().take(n_vectors).map(vector).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_are_those_of_the_largest_eigenvalues() {
        // Orthogonal columns of a known rotation of (7, 3, 1).
        let matrix = vec![5.0, 2.0, 0.0, 2.0, 5.0, 0.0, 0.0, 0.0, 1.0];
        let found = leading_eigenvectors(matrix, 3, 2);
        let root = 0.5_f64.sqrt();
        for (found, expected) in found.iter().zip([[root, root, 0.0], [root, -root, 0.0]]) {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found.abs() - expected.abs()).abs() < 1e-12, "{found}, {expected}");
            }
            assert!(found.iter().copied().fold(0.0, f64::max) > 0.7);
        }
        // A random symmetric matrix: A·v = λ·v, and vectors are orthonormal.
        let mut rng = Seed::new(1).stream("test", 0);
        let n = 12;
        let half: Vec<f64> = (0..n * n).map(|_| rng.normal()).collect();
        let matrix: Vec<f64> = (0..n * n).map(|i| half[i] + half[(i % n) * n + i / n]).collect();
        let vectors = leading_eigenvectors(matrix.clone(), n, n);
        let mut last = f64::INFINITY;
        for (index, vector) in vectors.iter().enumerate() {
            let product: Vec<f64> =
                (0..n).map(|row| (0..n).map(|k| matrix[row * n + k] * vector[k]).sum()).collect();
            let eigenvalue: f64 = product.iter().zip(vector).map(|(p, v)| p * v).sum();
            assert!(product.iter().zip(vector).all(|(p, v)| (p - eigenvalue * v).abs() < 1e-10));
            assert!(eigenvalue <= last);
            last = eigenvalue;
            for (other, column) in vectors.iter().enumerate() {
                let dot: f64 = vector.iter().zip(column).map(|(a, b)| a * b).sum();
                assert!((dot - f64::from(u8::from(index == other))).abs() < 1e-12);
            }
        }
    }

    /// 60 users with a taste of their own: user u rates joke j with a_u·s_j + b_u·t_j.
    fn problem() -> DescribedJester {
        let mut rng = Seed::new(2).stream("test", 0);
        let jokes: Vec<[f64; 2]> = (0..N_JOKES).map(|_| [1.0 + 0.1 * rng.normal(), rng.normal()]).collect();
        let mut values = Vec::new();
        for _ in 0..60 {
            let (a, b) = (3.0 + rng.normal(), rng.normal());
            values.extend(jokes.iter().map(|[s, t]| a * s + b * t));
        }
        DescribedJester(Ratings { n_users: 60, values })
    }

    #[test]
    fn jokes_are_described_by_users_who_do_not_appear() {
        let problem = problem();
        let sequence = problem.sequence(30, Seed::new(5)).unwrap();
        let mut seen = std::collections::BTreeMap::new();
        for round in sequence.rounds() {
            assert_eq!((round.context.len(), round.rewards.len()), (N_KNOWN, 8));
            assert_eq!(round.best_reward, round.rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            for joke in 0..8 {
                let features = round.action_features(joke).unwrap();
                assert_eq!(features.len(), N_COMPONENTS);
                let key: Vec<u32> = features.iter().map(|feature| feature.to_bits()).collect();
                *seen.entry(key).or_insert(0) += 1;
            }
        }
        // The same jokes come again, 20 of them, other ones each time.
        assert_eq!(seen.len(), N_JOKES - N_KNOWN);
        assert!(seen.values().all(|n| (1..30).contains(n)), "{seen:?}");
        // Two components explain all ratings of the others, so the users who appear do not matter to them.
        let all = problem.describe(&[]);
        let some = problem.describe(&(0..30).collect::<Vec<_>>());
        assert_ne!(all, some);
        let span = |features: &[f32], joke: usize| {
            [features[joke * N_COMPONENTS], features[joke * N_COMPONENTS + 1]]
        };
        assert!((0..N_JOKES).all(|joke| span(&all, joke).iter().all(|feature| feature.is_finite())));
        assert!(problem.sequence(31, Seed::new(5)).is_err(), "half of the users describe the jokes");
    }
}
