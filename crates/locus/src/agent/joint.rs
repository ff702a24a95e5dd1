//! Decisions among candidates that features describe.
//!
//! The policy around a learner turns an outcome of a described action into one that every learner understands: its context is the
//! row `[x, f_a]`, the features of the context followed by those of the action, and its action is 0. What remains is to decide:
//! all candidates of a request are rows with the same x, and one sample of the model's weights values them all.

use std::sync::{Arc, Mutex, OnceLock};

use super::Breakdown;
use crate::{Rng, Seed};

/// Rows `[x, f_a]`: the features of a context, followed by those of an action.
///
/// They begin with the same numbers, [`JointRows::shared`], which are x or nothing. [`JointRows::own`] has the rest of each row.
#[derive(Clone, Copy, Debug)]
pub struct JointRows<'a> {
    shared: &'a [f32],
    own: &'a [f32],
    n_rows: usize,
}

impl<'a> JointRows<'a> {
    /// The candidates of a context, `n_own` features each.
    pub(crate) fn of_candidates(context: &'a [f32], candidates: &'a [f32], n_own: usize) -> Self {
        Self { shared: context, own: candidates, n_rows: candidates.len() / n_own }
    }

    /// Rows of `n_own` numbers that share none.
    pub(crate) fn whole(rows: &'a [f32], n_own: usize) -> Self {
        Self::of_candidates(&[], rows, n_own)
    }

    /// How many rows there are.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one")]
    pub fn len(&self) -> usize {
        self.n_rows
    }

    /// The numbers that all rows begin with.
    pub fn shared(&self) -> &'a [f32] {
        self.shared
    }

    /// The rest of all rows, row-major.
    pub fn own(&self) -> &'a [f32] {
        self.own
    }

    /// The rest of a row. Panics if there is no such row.
    pub fn own_of(&self, row: usize) -> &'a [f32] {
        let n_own = self.own.len() / self.n_rows;
        &self.own[row * n_own..][..n_own]
    }

    /// The features of a row's context, of which there are `n_features`, and those of its action.
    pub(crate) fn parts(&self, row: usize, n_features: usize) -> (&'a [f32], &'a [f32]) {
        match self.shared.is_empty() {
            true => self.own_of(row).split_at(n_features),
            false => (self.shared, self.own_of(row)),
        }
    }
}

/// Samples of a model's weights, which all propensities share until the policy next learns.
///
/// The values of candidates are correlated, because they depend on the same weights. So their probabilities of being the highest
/// are shares of these samples. They follow from the policy's seed and the number of outcomes learned: the policy, its snapshots
/// and a loaded copy use the same ones.
#[derive(Debug)]
pub struct WeightDraws {
    seed: Seed,
    n_observed: u64,
    n_draws: usize,
    drawn: OnceLock<Result<Vec<f64>, Breakdown>>,
    /// Memory of earlier samples.
    room: Mutex<Vec<f64>>,
}

impl WeightDraws {
    pub(crate) fn new(seed: Seed, n_observed: u64, n_draws: usize) -> Self {
        Self { seed, n_observed, n_draws, drawn: OnceLock::new(), room: Mutex::default() }
    }

    /// S, how many samples there are.
    pub fn n_draws(&self) -> usize {
        self.n_draws
    }

    /// The samples; `draw` appends them to an empty list at first use. Other threads wait for it.
    ///
    /// Fails as `draw` did.
    pub fn get(
        &self,
        draw: impl FnOnce(&mut Rng, &mut Vec<f64>) -> Result<(), Breakdown>,
    ) -> Result<&[f64], Breakdown> {
        let drawn = self.drawn.get_or_init(|| {
            let mut room = self.room.lock().map(|mut room| std::mem::take(&mut *room)).unwrap_or_default();
            room.clear();
            draw(&mut self.seed.stream("weights", self.n_observed), &mut room).map(|()| room)
        });
        drawn.as_deref().map_err(Clone::clone)
    }

    /// Drops the samples, after the policy learned its `n_observed`th outcome. Snapshots keep theirs.
    pub(crate) fn renew(draws: &mut Option<Arc<Self>>, n_observed: u64) {
        let Some(draws) = draws else { return };
        match Arc::get_mut(draws) {
            Some(Self { n_observed: place, drawn, room, .. }) => {
                *place = n_observed;
                if let Some(Ok(used)) = drawn.take() {
                    *room = Mutex::new(used);
                }
            }
            None => *draws = Arc::new(Self::new(draws.seed, n_observed, draws.n_draws)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(draws: &WeightDraws) -> Vec<f64> {
        let draw = |rng: &mut Rng, room: &mut Vec<f64>| {
            room.extend((0..draws.n_draws()).map(|_| rng.normal()));
            Ok(())
        };
        draws.get(draw).unwrap().to_vec()
    }

    /// Samples follow from the seed and the number of outcomes alone, and those who hold earlier ones keep them.
    #[test]
    fn samples_depend_on_the_seed_and_on_what_was_learned() {
        let begin = |n_observed: u64| Some(Arc::new(WeightDraws::new(Seed::new(4), n_observed, 5)));
        let mut draws = begin(7);
        let of_7 = numbers(draws.as_ref().unwrap());
        assert_eq!((of_7.len(), numbers(draws.as_ref().unwrap())), (5, of_7.clone()));
        // In place, and beside a snapshot.
        WeightDraws::renew(&mut draws, 8);
        let of_8 = numbers(draws.as_ref().unwrap());
        let snapshot = draws.clone();
        WeightDraws::renew(&mut draws, 9);
        let of_9 = numbers(draws.as_ref().unwrap());
        assert_eq!(numbers(snapshot.as_ref().unwrap()), of_8);
        assert!(of_7 != of_8 && of_8 != of_9 && of_7 != of_9);
        assert_eq!([8, 9].map(|n| numbers(begin(n).as_ref().unwrap())), [of_8, of_9]);
        let other = WeightDraws::new(Seed::new(5), 7, 5);
        assert_ne!(numbers(&other), of_7);
    }

    #[test]
    fn a_sample_that_fails_fails_for_all_until_the_next() {
        let mut draws = Some(Arc::new(WeightDraws::new(Seed::new(4), 0, 5)));
        let breakdown = Breakdown::new("a test", f64::NAN);
        let found = draws.as_ref().unwrap().get(|_, _| Err(breakdown.clone()));
        assert_eq!(found.unwrap_err().place, "a test");
        let again = draws.as_ref().unwrap().get(|_, _| Ok(()));
        assert_eq!(again.unwrap_err().place, "a test");
        WeightDraws::renew(&mut draws, 0);
        assert_eq!(draws.as_ref().unwrap().get(|_, _| Ok(())), Ok(&[][..]));
    }
}
