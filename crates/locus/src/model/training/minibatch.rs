//! Minibatches: rows drawn from the replay, as the columns of a net's input.

use crate::Rng;
use crate::agent::{JointRows, Observation, Replay};
use crate::math::nn::{Input, LANES, Panel, SparseRows};
use crate::model::training::reward_scaling::RewardScale;

/// N observations, drawn with replacement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Minibatch<I = Panel> {
    /// The contexts [C, N], followed by the further lines that the model requested.
    pub(crate) inputs: I,
    pub(crate) actions: Vec<usize>,
    pub(crate) rewards: Vec<f32>,
}

/// Contexts in the faster representation: dense, or the differences from a common row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contexts {
    dense: Panel,
    /// All contexts of the replay.
    sparse: SparseRows,
    /// Those of the minibatch.
    rows: Vec<usize>,
    is_sparse: bool,
}

/// Sampling of distinct observations for each minibatch.
///
/// An outcome of weight w stands for w equal ones. So m observations are drawn from a population of the total weight, and one
/// observation may be drawn several times: it appears once, with its weight in the minibatch.
#[derive(Clone, Debug, Default)]
pub(crate) struct DistinctRows {
    order: Vec<usize>,
    drawn: Vec<(usize, f64)>,
}

impl DistinctRows {
    /// Prepares draws from this replay, valid until it changes.
    pub(crate) fn prepare(&mut self, replay: &Replay) {
        self.order.clear();
        self.order.extend(0..replay.len());
    }

    /// Draws `n_rows` distinct observations, or all if there are fewer, each with its weight in the minibatch. **Samples.**
    pub(crate) fn draw(&mut self, replay: &Replay, n_rows: usize, rng: &mut Rng) -> &[(usize, f64)] {
        self.drawn.clear();
        if replay.is_weighted() {
            self.draw_by_weight(replay, n_rows, rng);
        } else {
            let n_rows = n_rows.min(self.order.len());
            self.shuffle(n_rows, rng);
            self.drawn.extend(self.order[..n_rows].iter().map(|&row| (row, 1.0)));
        }
        &self.drawn
    }

    /// Fills the first `n` places with rows drawn evenly among all.
    fn shuffle(&mut self, n: usize, rng: &mut Rng) {
        for first in 0..n {
            let other = first + rng.below(self.order.len() - first);
            self.order.swap(first, other);
        }
    }

    /// Systematic sampling: rows are laid out in random order as intervals as long as their weights, and `n_rows` equidistant
    /// points fall on them. The number of points on a row is within one of its share, and equals it on average.
    fn draw_by_weight(&mut self, replay: &Replay, n_rows: usize, rng: &mut Rng) {
        let (n, total) = (n_rows as f64, replay.total_weight());
        if self.order.len() <= n_rows && total <= n {
            self.drawn.extend(self.order.iter().map(|&row| (row, replay.get(row).weight)));
            return;
        }
        self.shuffle(self.order.len(), rng);
        let distance = total / n;
        // A point stands for one outcome, or for less where all weights together are fewer than the points.
        let weight = distance.min(1.0);
        let (mut next, mut end) = (rng.uniform() * distance, 0.0);
        for &row in &self.order {
            end += replay.get(row).weight;
            let mut n_points = 0.0;
            while next < end {
                n_points += 1.0;
                next += distance;
            }
            if n_points > 0.0 {
                self.drawn.push((row, n_points * weight));
            }
        }
    }
}

/// The size of a minibatch, and the scaling of its rewards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gathering {
    /// N
    pub(crate) n_rows: usize,
    /// C
    pub(crate) n_features: usize,
    /// Lines of `inputs` after the contexts, with unspecified contents.
    pub(crate) n_more_lines: usize,
    /// What rewards are standardized by.
    pub(crate) scale: RewardScale,
}

impl Minibatch {
    /// Sets the contexts, and allocates the further lines; actions and rewards stay.
    pub(crate) fn set_contexts(&mut self, contexts: &[&[f32]], n_features: usize, n_more_lines: usize) {
        self.inputs.reshape(n_features + n_more_lines, contexts.len());
        self.inputs.put_rows(0, contexts);
    }

    /// The same for a batch of decisions: its numbers do not depend on how many there are.
    pub(crate) fn set_batch(&mut self, contexts: &[&[f32]], n_features: usize, n_more_lines: usize) {
        self.inputs.reshape_padded(n_features + n_more_lines, contexts.len());
        self.inputs.put_rows(0, contexts);
    }

    /// The same for rows `[x, f_a]`.
    pub(crate) fn set_joint(&mut self, rows: JointRows<'_>, n_features: usize, n_more_lines: usize) {
        self.inputs.reshape_padded(n_features + n_more_lines, rows.len());
        let n_shared = rows.shared().len();
        for (line, value) in rows.shared().iter().enumerate() {
            self.inputs.line_mut(line).fill(*value);
        }
        let n_own = n_features - n_shared;
        for feature in 0..n_own {
            let values = rows.own().iter().skip(feature).step_by(n_own);
            let line = self.inputs.line_mut(n_shared + feature);
            line.iter_mut().zip(values).for_each(|(place, value)| *place = *value);
        }
    }

    /// Draws the rows from all observations that are kept. **Samples.**
    pub(crate) fn gather(&mut self, replay: &Replay, rng: &mut Rng, gathering: Gathering) {
        self.gather_from(replay, gathering, || replay.sample_index(rng));
    }

    /// Fills the minibatch with the observations whose indices `next` returns.
    pub(crate) fn gather_from(&mut self, replay: &Replay, gathering: Gathering, next: impl FnMut() -> usize) {
        let Gathering { n_rows, n_features, n_more_lines, .. } = gathering;
        self.inputs.reshape_padded(n_features + n_more_lines, n_rows);
        let mut put = put_in_lots(n_rows);
        let put = |inputs: &mut Panel, row, index| put(inputs, row, replay.get(index).context);
        self.take(replay, gathering, next, put);
    }
}

impl Minibatch<Contexts> {
    /// Draws the rows, after [`Contexts::prepare`]; the same ones for either kind of contexts. **Samples.**
    pub(crate) fn gather(&mut self, replay: &Replay, rng: &mut Rng, gathering: Gathering) {
        let Gathering { n_rows, n_features, n_more_lines, .. } = gathering;
        let next = || replay.sample_index(rng);
        debug_assert_eq!(n_more_lines, 0, "sparse contexts have no further lines");
        if self.inputs.is_sparse {
            self.inputs.rows.clear();
            self.take(replay, gathering, next, |inputs, _, index| inputs.rows.push(index));
        } else {
            self.inputs.dense.reshape_padded(n_features, n_rows);
            let mut put = put_in_lots(n_rows);
            self.take(replay, gathering, next, |inputs, row, index| {
                put(&mut inputs.dense, row, replay.get(index).context);
            });
        }
    }
}

impl<I> Minibatch<I> {
    /// Takes actions and rewards, and hands out rows and the indices of the observations in them.
    fn take(
        &mut self,
        replay: &Replay,
        gathering: Gathering,
        mut next: impl FnMut() -> usize,
        mut put: impl FnMut(&mut I, usize, usize),
    ) {
        self.actions.clear();
        self.rewards.clear();
        for row in 0..gathering.n_rows {
            let index = next();
            let Observation { action, reward, .. } = replay.get(index);
            self.actions.push(action);
            self.rewards.push(gathering.scale.standardize(reward));
            put(&mut self.inputs, row, index);
        }
    }
}

/// Copies rows into a panel, in blocks of the fastest size.
fn put_in_lots<'a>(n_rows: usize) -> impl FnMut(&mut Panel, usize, &'a [f32]) {
    let mut lot: [&[f32]; LANES] = [&[]; LANES];
    move |panel, row, context| {
        let place = row % LANES;
        lot[place] = context;
        if place + 1 == LANES || row + 1 == n_rows {
            panel.put_rows(row - place, &lot[..=place]);
        }
    }
}

impl Contexts {
    /// Chooses the representation of a replay's contexts, given how many rows will be drawn before it changes.
    ///
    /// The choice depends only on these, so that a loaded policy makes the same choice. It costs about as much as drawing every
    /// observation once, so it is skipped if fewer are drawn.
    pub(crate) fn prepare(&mut self, replay: &Replay, n_features: usize, n_drawn: usize) {
        let contexts = (0..replay.len()).map(|index| replay.get(index).context);
        self.is_sparse = replay.len() <= n_drawn
            && does_sparse_pay(self.sparse.find_common(n_features, contexts.clone()), n_features);
        if self.is_sparse {
            contexts.for_each(|context| self.sparse.push(context));
        }
    }

    /// Sets the contexts of decisions.
    pub(crate) fn set(&mut self, contexts: &[&[f32]], n_features: usize) {
        self.is_sparse = false;
        self.dense.reshape(n_features, contexts.len());
        self.dense.put_rows(0, contexts);
    }

    /// The same for a batch of decisions: its numbers do not depend on how many there are.
    pub(crate) fn set_batch(&mut self, contexts: &[&[f32]], n_features: usize) {
        self.is_sparse = false;
        self.dense.reshape_padded(n_features, contexts.len());
        self.dense.put_rows(0, contexts);
    }

    /// The input of the net.
    pub(crate) fn input(&self) -> Input<'_> {
        match self.is_sparse {
            true => Input::Sparse(&self.sparse, &self.rows),
            false => Input::Dense(self.dense.all()),
        }
    }

    /// The first number that is not finite, if there is one.
    pub(crate) fn find_non_finite(&self) -> Option<f32> {
        match self.is_sparse {
            true => self.rows.iter().find_map(|&row| self.sparse.find_non_finite(row)),
            false => self.dense.find_non_finite(),
        }
    }
}

/// Whether the sparse representation is faster, if this fraction of the numbers differs from the common row.
///
/// `cargo bench -p locus-bandits --features internals --bench bbb` shows the time of a BBB minibatch. Sparse: about 160 µs (200
/// with hundreds of features) plus 5 µs for each different number of a row. Dense: 70 µs plus up to 2 µs for each feature,
/// including the copying of all numbers. The threshold is slightly below the break-even point, so that the sparse representation
/// is used only if it is clearly faster: never below 73 features, for up to 15 different numbers of 117, and for up to 105 of
/// 389.
fn does_sparse_pay(density: f64, n_features: usize) -> bool {
    let n_features = n_features as f64;
    density * n_features + 24.0 < n_features / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, Seed};

    /// Every row of a minibatch is an observation: context, action and standardized reward belong together.
    #[test]
    fn rows_are_observations() {
        for (n_features, n_rows) in [(3, 5), (16, 16), (37, 50), (40, 64)] {
            let mut replay = Replay::new(n_features, None);
            for observation in 0..7_u64 {
                let context: Vec<f32> =
                    (0..n_features).map(|i| (100 * observation) as f32 + i as f32).collect();
                let (action, reward) = (observation as usize, 10.0 * observation as f64);
                replay.push(&Outcome::new(observation, &context, action, reward));
            }
            let mut batch: Minibatch = Minibatch::default();
            let scale = RewardScale { mean: 20.0, std: 10.0 };
            let gathering = Gathering { n_rows, n_features, n_more_lines: 2, scale };
            batch.gather(&replay, &mut Seed::new(1).stream("test", 0), gathering);
            assert_eq!((batch.inputs.n_features(), batch.inputs.n_columns()), (n_features + 2, n_rows));
            assert_eq!((batch.actions.len(), batch.rewards.len()), (n_rows, n_rows));
            for row in 0..n_rows {
                let observation = batch.actions[row];
                assert_eq!(batch.rewards[row], observation as f32 - 2.0);
                for feature in 0..n_features {
                    assert_eq!(batch.inputs.line(feature)[row], (100 * observation + feature) as f32);
                }
            }
        }
    }

    fn seen(weights: &[f64]) -> Replay {
        let mut replay = Replay::new(1, None);
        for (round, weight) in weights.iter().enumerate() {
            replay.push(&Outcome::new(round as u64, &[0.0], 0, 0.0).with_weight(*weight));
        }
        replay
    }

    /// A row's weight in a minibatch is its share of the points to within one, all add up, and over 20 000 draws the mean is the share: its
    /// standard deviation is at most 0.0036, five of them occur once in 170 000 seeds for each of 13 rows.
    #[test]
    fn distinct_rows_stand_for_as_many_as_their_weights_say() {
        for (weights, n_rows) in [
            (&[1.0, 4.0, 0.5, 2.0, 7.5, 1.0][..], 5),
            (&[10.0, 20.0, 50.0], 8),
            (&[0.02, 0.01, 0.05, 0.02], 3),
        ] {
            let (replay, total) = (seen(weights), weights.iter().sum::<f64>());
            let mut rows = DistinctRows::default();
            rows.prepare(&replay);
            let mut rng = Seed::new(2).stream("test", 0);
            let unit = (total / n_rows as f64).min(1.0);
            let mut sums = vec![0.0; weights.len()];
            let mut pairs = std::collections::BTreeSet::new();
            for _ in 0..20_000 {
                let drawn = rows.draw(&replay, n_rows, &mut rng);
                let sum: f64 = drawn.iter().map(|(_, weight)| weight).sum();
                assert!((sum - n_rows as f64 * unit).abs() < 1e-9, "{drawn:?}");
                for &(row, weight) in drawn {
                    let share = n_rows as f64 * weights[row] / total;
                    assert!((weight / unit - share).abs() < 1.0 + 1e-9, "{drawn:?}");
                    sums[row] += weight / unit;
                    pairs.extend(drawn.iter().map(|&(other, _)| (row, other)));
                }
            }
            for (row, sum) in sums.into_iter().enumerate() {
                let (mean, share) = (sum / 20_000.0, n_rows as f64 * weights[row] / total);
                assert!((mean - share).abs() < 0.018, "{row} of {weights:?}: {mean}, {share}");
            }
            // In random order, none of them keep apart.
            assert_eq!(pairs.len(), weights.len() * weights.len(), "{weights:?}");
        }
        // All of them, where there is room.
        let replay = seen(&[1.0, 4.0, 0.5]);
        let mut rows = DistinctRows::default();
        rows.prepare(&replay);
        let all = rows.draw(&replay, 6, &mut Seed::new(1).stream("test", 0));
        assert_eq!(all, [(0, 1.0), (1, 4.0), (2, 0.5)]);
    }

    /// Over 20 000 draws of 3 of 5, every one of the ten sets comes as often: each count has a standard deviation of 42; five of them
    /// occur once in 170 000 seeds.
    #[test]
    fn distinct_rows_are_different_and_all_as_probable() {
        let replay = seen(&[1.0; 5]);
        let mut rows = DistinctRows::default();
        rows.prepare(&replay);
        let mut rng = Seed::new(1).stream("test", 0);
        let mut counts = std::collections::BTreeMap::new();
        let mut draw = |n| {
            let drawn = rows.draw(&replay, n, &mut rng);
            assert!(drawn.iter().all(|(_, weight)| *weight == 1.0));
            drawn.iter().map(|(row, _)| *row).collect::<Vec<usize>>()
        };
        for _ in 0..20_000 {
            let mut drawn = draw(3);
            drawn.sort_unstable();
            *counts.entry(drawn).or_insert(0_i32) += 1;
        }
        assert!(counts.keys().all(|drawn| drawn.windows(2).all(|pair| pair[0] < pair[1])), "{counts:?}");
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|count| (count - 2000).abs() < 212), "{counts:?}");
        let mut all = draw(9);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4]);
    }

    /// Contexts of which so many numbers differ from a row in common are taken as these, others as they are; the rows, and the numbers in
    /// them, are those of a plain minibatch.
    #[test]
    fn contexts_of_either_kind_are_the_same_rows() {
        let (n_features, n_rows) = (120, 37);
        for (n_different, n_drawn, is_sparse) in
            [(0, 20, true), (3, 20, true), (3, 19, false), (40, 20, false), (600, 100, false)]
        {
            let mut replay = Replay::new(n_features, None);
            for round in 0..20 {
                let mut rng = Seed::new(3).stream("problem", round);
                let mut context: Vec<f32> = (0..n_features).map(|i| 0.001 * i as f32 - 0.02).collect();
                (0..n_different).for_each(|_| context[rng.below(n_features)] = rng.normal() as f32);
                let (action, reward) = (round as usize, round as f64);
                replay.push(&Outcome::new(round, &context, action, reward));
            }
            let scale = RewardScale { mean: 1.0, std: 2.0 };
            let gathering = Gathering { n_rows, n_features, n_more_lines: 0, scale };
            let mut plain: Minibatch = Minibatch::default();
            plain.gather(&replay, &mut Seed::new(1).stream("test", 0), gathering);
            let mut batch: Minibatch<Contexts> = Minibatch::default();
            batch.inputs.prepare(&replay, n_features, n_drawn);
            // Whatever it held before.
            batch.gather(&replay, &mut Seed::new(9).stream("test", 0), gathering);
            batch.gather(&replay, &mut Seed::new(1).stream("test", 0), gathering);
            assert_eq!((&batch.actions, &batch.rewards), (&plain.actions, &plain.rewards));
            match batch.inputs.input() {
                Input::Sparse(table, rows) => {
                    assert!(is_sparse, "{n_different}");
                    assert_eq!((table.n_features(), rows.len()), (n_features, n_rows));
                    for (column, &row) in rows.iter().enumerate() {
                        for (feature, value) in table.read(row).iter().enumerate() {
                            let expected = plain.inputs.line(feature)[column];
                            assert!((value - expected).abs() < 1e-6, "{value}, {expected}");
                        }
                    }
                }
                Input::Dense(lines) => {
                    assert!(!is_sparse, "{n_different}");
                    assert!(lines.iter().eq(plain.inputs.all().iter()));
                }
            }
        }
    }
}
