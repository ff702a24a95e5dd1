//! The observations that a policy trains on.
//!
//! A replay keeps all observations, or the last ones up to its capacity, or a bounded number that stands for all: half of them
//! the latest, the others a uniform random sample of everything older, with weights that add up to those of all older ones. So
//! sums over the replay estimate sums over all observations, without bias where all weights are equal.
//!
//! With a half-life, weights decay with age, and observations that no longer count are dropped.

use crate::registry::save::{Decoder, Encoder};
use crate::{Error, Outcome, Rng, Seed, Shape};

/// Observations in order of arrival: all of them, the last `capacity`, or a weighted sample that stands for all.
///
/// Adding one takes constant time, or logarithmic time with weights.
#[derive(Clone, Debug)]
pub struct Replay {
    n_features: usize,
    /// The most observations that it holds.
    capacity: usize,
    /// Where the random numbers of a sample come from; `None` drops the oldest observation at capacity.
    sampling: Option<Seed>,
    half_life: Option<f64>,
    /// [n, C], a ring once `capacity` is reached.
    contexts: Vec<f32>,
    /// [n]
    actions: Vec<u32>,
    /// [n]
    rewards: Vec<f64>,
    /// `None` while all weights are 1, so that unweighted sampling uses the same random numbers as in earlier versions.
    weights: Option<Weights>,
    /// Index of the oldest observation.
    oldest: usize,
    /// How many observations were added, kept or not.
    n_added: u64,
    /// How many had been added when a learner last trained.
    n_fitted: u64,
    /// Whether the bound drops observations that a half-life still counts.
    is_cut_short: bool,
    /// The strata of a sample that is smaller than what it stands for.
    strata: Option<Strata>,
}

/// How a replay is bounded, and how weights decay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// The last ones, up to this many.
    pub(crate) capacity: Option<usize>,
    /// Without a capacity: a sample of this size stands for all.
    pub(crate) bound: Option<usize>,
    /// The age at which an observation counts half.
    pub(crate) half_life: Option<f64>,
    /// The random numbers of the sample.
    pub(crate) seed: Seed,
}

/// After this many half-lives an observation is dropped: all that are older would add 1/16384 to the sum of weights.
const HALF_LIVES: f64 = 14.0;

/// Weights relative to an observation that is more half-lives back are computed anew, before they overflow.
const MOST_GROWTH: f64 = 512.0;

/// The weights of the observations as they were given, by place.
#[derive(Clone, Debug)]
struct Weights {
    own: Vec<f64>,
    /// Those of the latest observations; with a half-life, relative to the one added as number `base`.
    tree: SumTree,
    base: u64,
    /// Those of the sample of older observations.
    older: SumTree,
}

/// Which places hold the latest observations, and which a sample of all older ones.
#[derive(Clone, Debug)]
struct Strata {
    /// The places of the latest observations, a ring.
    latest: Vec<u32>,
    /// The place in `latest` of the oldest of them.
    first: usize,
    /// The places of the sample.
    older: Vec<u32>,
    /// The sum of the weights of all older observations, kept or not.
    older_weight: f64,
    /// By place: how many observations came before it.
    arrivals: Vec<u64>,
}

impl Strata {
    /// How many older observations there are, kept or not.
    fn n_older(&self, n_added: u64) -> u64 {
        n_added - self.latest.len() as u64
    }

    fn is_older(&self, place: usize, n_added: u64) -> bool {
        self.arrivals[place] < self.n_older(n_added)
    }
}

/// One observation of a [`Replay`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Observation<'a> {
    /// The context of the decision.
    pub context: &'a [f32],
    /// The action that was taken.
    pub action: usize,
    /// The reward that was received.
    pub reward: f64,
    /// How many equal observations it counts as.
    pub weight: f64,
}

impl Replay {
    /// An empty replay that keeps the last `capacity` observations, or all with `None`.
    #[cfg(test)]
    pub(crate) fn new(n_features: usize, capacity: Option<usize>) -> Self {
        Self::keeping(n_features, Keep { capacity, bound: None, half_life: None, seed: Seed::new(0) })
    }

    /// An empty replay.
    pub(crate) fn keeping(n_features: usize, keep: Keep) -> Self {
        // A sample of one would have no older observations beside the latest.
        let bound = keep.bound.map(|bound| bound.max(2));
        let mut capacity = keep.capacity.or(bound).unwrap_or(usize::MAX).max(1);
        let mut is_cut_short = false;
        if let Some(half_life) = keep.half_life {
            let fading = (HALF_LIVES * half_life).ceil() as usize;
            is_cut_short = keep.capacity.is_none() && capacity < fading;
            capacity = capacity.min(fading);
        }
        let is_sample = keep.capacity.is_none() && keep.half_life.is_none() && capacity < usize::MAX;
        Self {
            n_features,
            capacity,
            sampling: is_sample.then_some(keep.seed),
            half_life: keep.half_life,
            contexts: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            weights: None,
            oldest: 0,
            n_added: 0,
            n_fitted: 0,
            is_cut_short,
            strata: None,
        }
    }

    /// How many observations it holds.
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// Whether it holds no observation.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Whether it holds only a sample of the observations that it stands for.
    pub fn is_sample(&self) -> bool {
        self.strata.is_some()
    }

    /// Whether posteriors that are updated in place know more than it holds: it holds a part of what still counts, and a learner has
    /// trained when it held at least half as much.
    ///
    /// After many outcomes at once, a learner may never have seen them all, and has to train on the part.
    pub(crate) fn is_outgrown(&self) -> bool {
        let is_part = self.is_sample() || (self.is_cut_short && self.n_added > self.len() as u64);
        is_part && self.n_fitted.saturating_mul(2) >= self.len() as u64
    }

    /// Takes note that a learner has trained on it.
    pub(crate) fn note_fit(&mut self) {
        self.n_fitted = self.n_added;
    }

    /// The sum of all weights: how many observations these count as.
    pub fn total_weight(&self) -> f64 {
        match (&self.weights, &self.strata, self.half_life) {
            (Some(weights), Some(strata), _) => weights.tree.total() + strata.older_weight,
            (Some(weights), None, None) => weights.tree.total(),
            (Some(weights), None, Some(half_life)) => {
                weights.tree.total() * decay(self.n_added - 1 - weights.base, half_life)
            }
            (None, Some(_), _) => self.n_added as f64,
            (None, None, None) => self.len() as f64,
            (None, None, Some(half_life)) => {
                let log = -std::f64::consts::LN_2 / half_life;
                libm::expm1(self.len() as f64 * log) / libm::expm1(log)
            }
        }
    }

    /// The share of all observations ever added that a half-life leaves, whatever their weights and whether they are kept; 1
    /// without one. What falls with the number of rounds of training falls with what remains of this number.
    pub(crate) fn remaining_share(&self) -> f64 {
        match self.half_life {
            Some(half_life) if self.n_added > 0 => {
                let (log, n) = (-std::f64::consts::LN_2 / half_life, self.n_added as f64);
                libm::expm1(n * log) / libm::expm1(log) / n
            }
            _ => 1.0,
        }
    }

    /// Whether any observation has, or had, a weight other than 1.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some() || self.strata.is_some() || self.half_life.is_some()
    }

    /// Adds an outcome as the newest observation.
    pub(crate) fn push(&mut self, outcome: &Outcome<'_>) {
        debug_assert_eq!(outcome.context.len(), self.n_features);
        if outcome.weight != 1.0 && self.weights.is_none() {
            self.weigh();
        }
        let place = self.free_place();
        self.set_weight(place, outcome.weight);
        let action = outcome.action as u32;
        if place == self.len() {
            self.contexts.extend_from_slice(outcome.context);
            self.actions.push(action);
            self.rewards.push(outcome.reward);
        } else {
            self.contexts[place * self.n_features..][..self.n_features].copy_from_slice(outcome.context);
            self.actions[place] = action;
            self.rewards[place] = outcome.reward;
        }
        if let Some(strata) = &mut self.strata {
            strata.arrivals[place] = self.n_added;
        }
        self.n_added += 1;
    }

    /// The place of the next observation; what it holds is dropped.
    fn free_place(&mut self) -> usize {
        if self.len() < self.capacity {
            return self.len();
        }
        let Some(seed) = self.sampling else {
            let place = self.oldest;
            self.oldest = (place + 1) % self.capacity;
            return place;
        };
        let n_added = self.n_added;
        let strata = self.strata.get_or_insert_with(|| {
            let (n, n_older) = (self.actions.len() as u32, self.actions.len() as u32 / 2);
            // Nothing was dropped yet, so the older ones are all there.
            let older_weight = match &mut self.weights {
                None => f64::from(n_older),
                Some(weights) => (0..n_older as usize).fold(0.0, |sum, place| {
                    weights.make_older(place);
                    sum + weights.own[place]
                }),
            };
            let arrivals = (0..u64::from(n)).collect();
            Strata {
                latest: (n_older..n).collect(),
                first: 0,
                older: (0..n_older).collect(),
                older_weight,
                arrivals,
            }
        });
        // The oldest of the latest observations joins the older ones, of which each is in the sample with the same probability.
        let aged = strata.latest[strata.first] as usize;
        let n_older = strata.n_older(n_added) + 1;
        strata.older_weight += self.weights.as_ref().map_or(1.0, |weights| weights.own[aged]);
        let mut rng = seed.stream("replay", n_added);
        let is_taken = rng.uniform() * n_older as f64 >= strata.older.len() as f64;
        let place = if is_taken {
            if let Some(weights) = &mut self.weights {
                weights.tree.set(aged, 0.0);
            }
            aged
        } else {
            let member = rng.below(strata.older.len());
            let dropped = std::mem::replace(&mut strata.older[member], aged as u32) as usize;
            if let Some(weights) = &mut self.weights {
                weights.make_older(aged);
                weights.older.set(dropped, 0.0);
            }
            dropped
        };
        strata.latest[strata.first] = place as u32;
        strata.first = (strata.first + 1) % strata.latest.len();
        place
    }

    /// Starts to keep weights, which are all 1 so far.
    fn weigh(&mut self) {
        let n = self.len();
        let mut weights = Weights {
            own: vec![1.0; n],
            tree: SumTree::of_ones(n),
            base: self.arrival(0),
            older: SumTree::of_ones(0),
        };
        if let Some(strata) = &self.strata {
            strata.older.iter().for_each(|&place| weights.make_older(place as usize));
        }
        self.weights = Some(weights);
        self.rebase(self.n_added);
    }

    fn set_weight(&mut self, place: usize, weight: f64) {
        let (n_added, half_life) = (self.n_added, self.half_life);
        let Some(weights) = &mut self.weights else { return };
        if place == weights.own.len() {
            weights.own.push(weight);
        } else {
            weights.own[place] = weight;
        }
        match half_life {
            None => weights.tree.set(place, weight),
            Some(half_life) => {
                let growth = (n_added - weights.base) as f64 / half_life;
                weights.tree.set(place, weight * libm::exp2(growth));
                if growth > MOST_GROWTH {
                    weights.base = n_added;
                    self.rebase(n_added + 1);
                }
            }
        }
    }

    /// Computes the decayed weights anew, relative to the base, where the latest of them belongs to the last of `n_arrived`
    /// observations.
    fn rebase(&mut self, n_arrived: u64) {
        let (Some(half_life), Some(weights)) = (self.half_life, &mut self.weights) else { return };
        let (n, oldest, base) = (weights.own.len(), self.oldest, weights.base);
        for index in 0..n {
            let place = (oldest + index) % n;
            let arrival = n_arrived as f64 - (n - index) as f64;
            weights.tree.set(place, weights.own[place] * libm::exp2((arrival - base as f64) / half_life));
        }
    }

    /// The place of observation `index`.
    fn place(&self, index: usize) -> usize {
        let to_end = self.len() - self.oldest;
        if index < to_end { self.oldest + index } else { index - to_end }
    }

    /// How many observations were added before observation `index`.
    pub(crate) fn arrival(&self, index: usize) -> u64 {
        match &self.strata {
            Some(strata) => strata.arrivals[index],
            None => self.n_added - self.len() as u64 + index as u64,
        }
    }

    /// Observation `index`; 0 is the oldest, unless this is a sample. Panics if there is none.
    pub fn get(&self, index: usize) -> Observation<'_> {
        assert!(index < self.len(), "observation {index} of {}", self.len());
        let place = self.place(index);
        Observation {
            context: &self.contexts[place * self.n_features..][..self.n_features],
            action: self.actions[place] as usize,
            reward: self.rewards[place],
            weight: self.weight(index, place),
        }
    }

    fn weight(&self, index: usize, place: usize) -> f64 {
        let own = self.weights.as_ref().map_or(1.0, |weights| weights.own[place]);
        match (&self.strata, self.half_life) {
            (None, None) => own,
            (None, Some(half_life)) => own * decay((self.len() - 1 - index) as u64, half_life),
            (Some(strata), _) if strata.is_older(place, self.n_added) => own * self.older_factor(strata),
            (Some(_), _) => own,
        }
    }

    /// How many older observations each of the sample stands for, by weight.
    fn older_factor(&self, strata: &Strata) -> f64 {
        strata.older_weight
            / self.weights.as_ref().map_or(strata.older.len() as f64, |weights| weights.older.total())
    }

    /// Samples an observation with replacement, with probability proportional to its weight.
    ///
    /// Panics if there is none.
    pub fn sample(&self, rng: &mut Rng) -> Observation<'_> {
        self.get(self.sample_index(rng))
    }

    /// Like [`Replay::sample`], but returns an index for [`Replay::get`].
    pub fn sample_index(&self, rng: &mut Rng) -> usize {
        if let Some(strata) = &self.strata {
            return self.sample_stratum(strata, rng);
        }
        match (&self.weights, self.half_life) {
            (None, None) => rng.below(self.len()),
            (None, Some(half_life)) => {
                // The age has a geometric distribution, truncated at what is kept.
                let log = -std::f64::consts::LN_2 / half_life;
                let kept = -libm::expm1(self.len() as f64 * log);
                let age = (libm::log1p(-rng.uniform() * kept) / log) as usize;
                self.len() - 1 - age.min(self.len() - 1)
            }
            (Some(weights), _) => {
                let place = weights.tree.find(rng.uniform() * weights.tree.total());
                (place + self.len() - self.oldest) % self.len()
            }
        }
    }

    fn sample_stratum(&self, strata: &Strata, rng: &mut Rng) -> usize {
        let is_older = rng.uniform() * self.total_weight() < strata.older_weight;
        match (&self.weights, is_older) {
            (None, true) => strata.older[rng.below(strata.older.len())] as usize,
            (None, false) => {
                strata.latest[(strata.first + rng.below(strata.latest.len())) % strata.latest.len()] as usize
            }
            (Some(weights), true) => weights.older.find(rng.uniform() * weights.older.total()),
            (Some(weights), false) => weights.tree.find(rng.uniform() * weights.tree.total()),
        }
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.u64(self.n_fitted);
        encoder.usize(self.len());
        for index in 0..self.len() {
            let observation = self.get(index);
            encoder.f32s(observation.context);
            encoder.usize(observation.action);
            encoder.f64(observation.reward);
        }
        encoder.u64(u64::from(self.weights.is_some()));
        if let Some(weights) = &self.weights {
            // Weighted sampling depends on the position of each weight in the ring.
            encoder.usize(self.oldest);
            (0..self.len()).for_each(|index| encoder.f64(weights.own[self.place(index)]));
            encoder.u64(weights.base);
        }
        encoder.u64(u64::from(self.strata.is_some()));
        if let Some(strata) = &self.strata {
            strata.arrivals.iter().for_each(|&arrival| encoder.u64(arrival));
            strata.older.iter().for_each(|&place| encoder.u64(u64::from(place)));
            encoder.f64(strata.older_weight);
        }
    }

    /// Reads what [`Self::encode`] wrote, after `n_added` observations.
    pub(crate) fn decode(
        shape: Shape,
        keep: Keep,
        n_added: u64,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        let mut replay = Self::keeping(shape.n_features, keep);
        // Earlier formats have no bounds.
        let n_fitted = if decoder.format() > 3 { decoder.u64()? } else { n_added };
        if n_fitted > n_added {
            return Err(decoder.damaged(format!("it trained on {n_fitted} observations of {n_added}")));
        }
        replay.n_fitted = n_fitted;
        let n_observations = decoder.usize()?;
        if n_observations > 0 && decoder.remaining() / size_of::<f32>() < shape.n_features {
            return Err(decoder.damaged("its observations are cut short".to_owned()));
        }
        if decoder.format() > 3 && (n_observations > replay.capacity || n_observations as u64 > n_added) {
            return Err(decoder.damaged(format!("it kept {n_observations} observations of {n_added}")));
        }
        let mut context = vec![0.0; if n_observations > 0 { shape.n_features } else { 0 }];
        for _ in 0..n_observations {
            decoder.f32s(&mut context)?;
            let outcome = Outcome::new(0, &context, decoder.usize()?, decoder.f64()?);
            outcome.check(shape).map_err(|error| decoder.damaged(error.to_string()))?;
            replay.push(&outcome);
        }
        // Formats 1 and 2 may have kept more than their capacity.
        replay.n_added = n_added.max(replay.n_added);
        if decoder.format() > 1 && decoder.u64()? != 0 {
            replay.decode_weights(decoder)?;
        }
        if decoder.format() > 3 && decoder.u64()? != 0 {
            replay.decode_strata(decoder)?;
        }
        Ok(replay)
    }

    /// Reads the weights, and rotates the ring to its saved position.
    fn decode_weights(&mut self, decoder: &mut Decoder<'_>) -> Result<(), Error> {
        let (n, oldest) = (self.len(), decoder.usize()?);
        if self.oldest != 0 || (oldest != 0 && (oldest >= n || n < self.capacity)) {
            return Err(decoder.damaged(format!("its oldest observation of {n} is at {oldest}")));
        }
        self.contexts.rotate_right(oldest * self.n_features);
        self.actions.rotate_right(oldest);
        self.rewards.rotate_right(oldest);
        self.oldest = oldest;
        let (mut own, mut tree) = (vec![1.0; n], SumTree::of_ones(n));
        for index in 0..n {
            let weight = decoder.f64()?;
            if !Outcome::is_weight(weight) {
                return Err(decoder.damaged(format!("an observation has the weight {weight}")));
            }
            own[(oldest + index) % n] = weight;
            tree.set((oldest + index) % n, weight);
        }
        let base = if decoder.format() > 3 { decoder.u64()? } else { 0 };
        let reach = self.half_life.map_or(0.0, |half_life| self.n_added.abs_diff(base) as f64 / half_life);
        // The base is one of the observations, and never further back than a growth and the observation that exceeded it.
        if self.half_life.is_some() && (base >= self.n_added || reach > MOST_GROWTH + 2.0) {
            return Err(decoder.damaged(format!("its weights are relative to observation {base}")));
        }
        self.weights = Some(Weights { own, tree, base, older: SumTree::of_ones(0) });
        self.rebase(self.n_added);
        Ok(())
    }

    /// Reads which observations are the latest, and which a sample of the others.
    fn decode_strata(&mut self, decoder: &mut Decoder<'_>) -> Result<(), Error> {
        let (n, n_older) = (self.len(), self.len() / 2);
        if self.sampling.is_none() || n != self.capacity || self.n_added <= n as u64 {
            return Err(decoder.damaged(format!("it sampled {n} of {} observations", self.n_added)));
        }
        let mut arrivals = vec![0; n];
        arrivals.iter_mut().try_for_each(|arrival| decoder.u64().map(|read| *arrival = read))?;
        let mut older = Vec::with_capacity(n_older);
        for _ in 0..n_older {
            older.push(decoder.u64()?);
        }
        let older_weight = decoder.weight_sum()?;
        let first_latest = self.n_added - (n - n_older) as u64;
        let mut latest: Vec<u32> =
            (0..n as u32).filter(|&place| arrivals[place as usize] >= first_latest).collect();
        latest.sort_unstable_by_key(|&place| arrivals[place as usize]);
        let mut is_older: Vec<bool> = arrivals.iter().map(|&arrival| arrival < first_latest).collect();
        let are_older = older.iter().all(|&place| {
            // Each of them once.
            is_older.get_mut(place as usize).is_some_and(std::mem::take)
        });
        let are_latest = latest.iter().map(|&place| arrivals[place as usize]).eq(first_latest..self.n_added);
        if !are_older || !are_latest || older_weight <= 0.0 {
            return Err(decoder.damaged("its sample of observations does not add up"));
        }
        let older: Vec<u32> = older.into_iter().map(|place| place as u32).collect();
        if let Some(weights) = &mut self.weights {
            older.iter().for_each(|&place| weights.make_older(place as usize));
        }
        self.strata = Some(Strata { latest, first: 0, older, older_weight, arrivals });
        Ok(())
    }
}

impl Weights {
    /// Moves the weight of a place to the older observations.
    fn make_older(&mut self, place: usize) {
        self.older.extend_to(place);
        self.older.set(place, self.own[place]);
        self.tree.set(place, 0.0);
    }
}

/// What an observation of this age counts.
fn decay(age: u64, half_life: f64) -> f64 {
    libm::exp2(-(age as f64) / half_life)
}

/// A binary tree of weights and their sums: sampling in proportion to weights and changing one take logarithmic time.
#[derive(Clone, Debug)]
struct SumTree {
    /// Node i is the sum of nodes 2i and 2i + 1; the second half holds the weights, and zeros after them.
    nodes: Vec<f64>,
}

impl SumTree {
    fn of_ones(n: usize) -> Self {
        let n_leaves = n.next_power_of_two();
        let mut nodes = vec![0.0; 2 * n_leaves];
        nodes[n_leaves..][..n].fill(1.0);
        let mut tree = Self { nodes };
        (1..n_leaves).rev().for_each(|node| tree.add_up(node));
        tree
    }

    fn add_up(&mut self, node: usize) {
        self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1];
    }

    fn n_leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    fn total(&self) -> f64 {
        self.nodes[1]
    }

    /// Makes room for a weight at `place`.
    fn extend_to(&mut self, place: usize) {
        while self.n_leaves() <= place {
            let n_leaves = self.n_leaves();
            let mut nodes = vec![0.0; 2 * self.nodes.len()];
            nodes[2 * n_leaves..][..n_leaves].copy_from_slice(&self.nodes[n_leaves..]);
            self.nodes = nodes;
            (1..2 * n_leaves).rev().for_each(|node| self.add_up(node));
        }
    }

    /// Sets a weight, or adds one at the end.
    fn set(&mut self, place: usize, weight: f64) {
        self.extend_to(place);
        let mut node = self.n_leaves() + place;
        self.nodes[node] = weight;
        while node > 1 {
            node /= 2;
            self.add_up(node);
        }
    }

    /// The place whose interval of the cumulative weights contains `number`.
    fn find(&self, mut number: f64) -> usize {
        let mut node = 1;
        while node < self.n_leaves() {
            node *= 2;
            // Rounding must not lead to an empty subtree.
            if number >= self.nodes[node] && self.nodes[node + 1] > 0.0 {
                number -= self.nodes[node];
                node += 1;
            }
        }
        node - self.n_leaves()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn keep(capacity: Option<usize>) -> Keep {
        Keep { capacity, bound: None, half_life: None, seed: Seed::new(0) }
    }

    fn weighted(capacity: Option<usize>, weights: &[f64]) -> Replay {
        let mut replay = Replay::new(1, capacity);
        for (i, &weight) in weights.iter().enumerate() {
            replay.push(&Outcome::new(0, &[i as f32], 0, i as f64).with_weight(weight));
        }
        replay
    }

    /// Over 100 000 draws each share has a standard deviation of at most 0.0016; five of them occur once in 170 000 seeds.
    #[test]
    fn draws_are_in_proportion_to_weights() {
        let weights = [1.0, 1.0, 0.5, 3.0, 2.0, 10.0, 0.25, 4.0, 1.0];
        for (capacity, first) in [(None, 0), (Some(4), 5)] {
            let replay = weighted(capacity, &weights);
            let kept = &weights[first..];
            let total: f64 = kept.iter().sum();
            assert_eq!(replay.total_weight(), total);
            let found: Vec<f64> = (0..replay.len()).map(|index| replay.get(index).weight).collect();
            assert_eq!(found, kept);
            let mut rng = Seed::new(3).stream("test", 0);
            let mut counts = [0.0; 9];
            (0..100_000).for_each(|_| counts[replay.sample(&mut rng).reward as usize] += 1.0);
            for (i, count) in counts.into_iter().enumerate() {
                let share = if i < first { 0.0 } else { weights[i] / total };
                assert!((count / 1e5 - share).abs() < 0.008, "{i}: {count}, {share}");
            }
        }
    }

    #[test]
    fn weights_are_saved_and_those_of_1_change_no_draw() {
        for (capacity, weights) in [(Some(5), [1.0, 2.0, 1.0, 7.0, 0.5, 3.0, 1.0, 0.25]), (None, [1.0; 8])] {
            let replay = weighted(capacity, &weights);
            let mut encoder = Encoder::default();
            replay.encode(&mut encoder);
            let bytes = encoder.into_bytes();
            let loaded =
                Replay::decode(Shape::new(1, 1), keep(capacity), 8, &mut Decoder::new(&bytes)).unwrap();
            let (mut rng, mut loaded_rng) = (Seed::new(1).stream("test", 0), Seed::new(1).stream("test", 0));
            for _ in 0..100 {
                assert_eq!(replay.sample(&mut rng), loaded.sample(&mut loaded_rng));
            }
            assert_eq!(loaded.total_weight(), replay.total_weight());
        }
        let mut tree = SumTree::of_ones(0);
        for place in 0..9 {
            tree.set(place, f64::from(place as u32) + 1.0);
        }
        assert_eq!((tree.total(), tree.find(0.0), tree.find(44.99), tree.find(1e9)), (45.0, 0, 8, 8));
        let boundaries: Vec<usize> = (0..45).map(|number| tree.find(f64::from(number))).collect();
        let expected: Vec<usize> = (0..9).flat_map(|place| vec![place; place + 1]).collect();
        assert_eq!(boundaries, expected);
    }

    /// A half-life of 1 leads beyond any growth several times; weights begin late.
    #[test]
    fn weights_decay_with_age() {
        for (half_life, capacity) in [(1.0, None), (3.7, None), (20.0, Some(50)), (1e6, None)] {
            let keep = Keep { capacity, half_life: Some(half_life), ..keep(None) };
            let mut replay = Replay::keeping(1, keep);
            let mut given = Vec::new();
            for n in 0..2500_u32 {
                let weight = if n > 100 { [1.0, 0.5, 3.0][n as usize % 3] } else { 1.0 };
                replay.push(&Outcome::new(0, &[n as f32], 0, f64::from(n)).with_weight(weight));
                given.push(weight);
                let first = given.len() - replay.len();
                let of_age = |(age, weight): (usize, &f64)| weight * (-(age as f64) / half_life).exp2();
                let expected: Vec<f64> = given[first..].iter().rev().enumerate().map(of_age).collect();
                let total: f64 = expected.iter().sum();
                assert!((replay.total_weight() / total - 1.0).abs() < 1e-9, "half-life {half_life}, {n}");
                if n % 50 == 0 || n == 2499 {
                    for (age, expected) in expected.iter().enumerate() {
                        let seen = replay.get(replay.len() - 1 - age);
                        assert_eq!(seen.reward, f64::from(n) - age as f64);
                        assert!((seen.weight / expected - 1.0).abs() < 1e-9, "half-life {half_life}, {n}");
                    }
                    let mut encoder = Encoder::default();
                    replay.encode(&mut encoder);
                    let bytes = encoder.into_bytes();
                    let decode = |bytes: &[u8], n_added: u64| {
                        Replay::decode(Shape::new(1, 1), keep, n_added, &mut Decoder::new(bytes))
                    };
                    let loaded = decode(&bytes, given.len() as u64).unwrap();
                    assert_eq!(loaded.total_weight(), replay.total_weight());
                    let [mut rng, mut loaded_rng] = [(); 2].map(|()| Seed::new(1).stream("test", 0));
                    for _ in 0..20 {
                        assert_eq!(replay.sample(&mut rng), loaded.sample(&mut loaded_rng));
                    }
                    // The base of the weights, which the flag that there is no sample follows.
                    if n > 100 {
                        let base = bytes.len() - 16;
                        for wrong in [u64::MAX, given.len() as u64] {
                            let mut damaged = bytes.clone();
                            damaged[base..base + 8].copy_from_slice(&wrong.to_le_bytes());
                            assert!(decode(&damaged, given.len() as u64).is_err());
                        }
                    }
                }
            }
        }
    }

    /// Over 100 000 draws each share has a standard deviation of at most 0.0016; five of them occur once in 170 000 seeds.
    #[test]
    fn draws_decay_with_age() {
        for is_weighted in [false, true] {
            let mut replay = Replay::keeping(1, Keep { half_life: Some(4.0), ..keep(None) });
            (0..100_u32).for_each(|n| {
                let weight = if is_weighted && n % 2 == 0 { 2.0 } else { 1.0 };
                replay.push(&Outcome::new(0, &[0.0], 0, f64::from(n)).with_weight(weight));
            });
            let mut rng = Seed::new(3).stream("test", 0);
            let mut counts = [0.0; 100];
            (0..100_000).for_each(|_| counts[replay.sample(&mut rng).reward as usize] += 1.0);
            for index in 0..replay.len() {
                let seen = replay.get(index);
                let share = seen.weight / replay.total_weight();
                let count: f64 = counts[seen.reward as usize];
                assert!((count / 1e5 - share).abs() < 0.008, "{seen:?}: {count}, {share}");
            }
        }
    }

    fn filled(capacity: Option<usize>, n: usize) -> Replay {
        let mut replay = Replay::new(2, capacity);
        for i in 0..n {
            let context = [i as f32, -(i as f32)];
            replay.push(&Outcome::new(i as u64, &context, i % 3, i as f64));
        }
        replay
    }

    fn rewards(replay: &Replay) -> Vec<f64> {
        (0..replay.len()).map(|index| replay.get(index).reward).collect()
    }

    #[test]
    fn keeps_the_last_observations_in_order() {
        assert_eq!(rewards(&filled(None, 5)), [0.0, 1.0, 2.0, 3.0, 4.0]);
        for n in 0..12 {
            let replay = filled(Some(4), n);
            let expected: Vec<f64> = (n.saturating_sub(4)..n).map(|i| i as f64).collect();
            assert_eq!(rewards(&replay), expected);
            for index in 0..replay.len() {
                let Observation { context, action, reward, .. } = replay.get(index);
                assert_eq!(context, [reward as f32, -reward as f32]);
                assert_eq!(action, reward as usize % 3);
            }
        }
    }

    #[test]
    fn samples_with_replacement_and_evenly() {
        let replay = filled(Some(5), 8);
        let mut rng = Seed::new(1).stream("test", 0);
        let mut counts = [0_i32; 8];
        for _ in 0..50_000 {
            counts[replay.sample(&mut rng).reward as usize] += 1;
        }
        assert_eq!(counts[..3], [0, 0, 0]);
        // Each count has a standard deviation of 89; five of them occur once in 300 000 seeds.
        assert!(counts[3..].iter().all(|count| (count - 10_000).abs() < 450), "{counts:?}");
    }

    #[test]
    fn a_saved_ring_samples_the_same() {
        let replay = filled(Some(5), 8);
        let mut encoder = Encoder::default();
        replay.encode(&mut encoder);
        let bytes = encoder.into_bytes();
        let shape = Shape::new(2, 3);
        let loaded = Replay::decode(shape, keep(Some(5)), 8, &mut Decoder::new(&bytes)).unwrap();
        let (mut rng, mut loaded_rng) = (Seed::new(1).stream("test", 0), Seed::new(1).stream("test", 0));
        for _ in 0..100 {
            assert_eq!(replay.sample(&mut rng), loaded.sample(&mut loaded_rng));
        }
    }

    fn sampled(bound: usize, seed: u64, n: usize, weight: impl Fn(usize) -> f64) -> Replay {
        let keep = Keep { bound: Some(bound), seed: Seed::new(seed), ..keep(None) };
        let mut replay = Replay::keeping(1, keep);
        for i in 0..n {
            replay.push(&Outcome::new(i as u64, &[i as f32], i % 3, i as f64).with_weight(weight(i)));
        }
        replay
    }

    /// Half of a sample are the latest observations, and its weights add up to those of all.
    #[test]
    fn a_sample_has_the_latest_and_stands_for_all() {
        for weight in [|_| 1.0, |i: usize| [0.5, 3.0, 1.0][i % 3]] as [fn(usize) -> f64; 2] {
            for n in [3, 8, 9, 10, 30, 200] {
                let replay = sampled(8, 1, n, weight);
                assert_eq!((replay.len(), replay.is_sample()), (n.min(8), n > 8));
                let mut found = rewards(&replay);
                found.sort_by(f64::total_cmp);
                found.dedup();
                assert_eq!(found.len(), n.min(8), "no observation twice");
                let latest: Vec<f64> = (n.saturating_sub(4)..n).map(|i| i as f64).collect();
                assert_eq!(found[found.len() - latest.len()..], latest);
                let total: f64 = (0..n).map(weight).sum();
                assert!((replay.total_weight() - total).abs() < 1e-9);
                let sum: f64 = (0..replay.len()).map(|index| replay.get(index).weight).sum();
                assert!((sum - total).abs() < 1e-9, "{sum}, {total}");
                for index in 0..replay.len() {
                    assert_eq!(replay.arrival(index), replay.get(index).reward as u64);
                }
            }
        }
    }

    /// Every older observation is kept with the same probability, 4/36. Over 20 000 samples each share has a standard deviation of
    /// 0.0022, and one of 36 exceeds five of them for one seed in 48 000.
    #[test]
    fn older_observations_are_equally_likely_to_be_kept() {
        const N_SAMPLES: usize = 20_000;
        let mut counts = [0_u32; 40];
        for seed in 0..N_SAMPLES {
            let replay = sampled(8, seed as u64, 40, |_| 1.0);
            rewards(&replay).into_iter().for_each(|reward| counts[reward as usize] += 1);
        }
        assert!(counts[36..].iter().all(|count| *count == N_SAMPLES as u32));
        for (i, count) in counts[..36].iter().enumerate() {
            let share = f64::from(*count) / N_SAMPLES as f64;
            assert!((share - 4.0 / 36.0).abs() < 0.0112, "{i}: {share}");
        }
    }

    /// Draws are in proportion to the weights that observations have in the sample. Over 100 000 draws each share has a standard
    /// deviation of at most 0.0016; five of them occur once in 170 000 seeds.
    #[test]
    fn a_sample_is_drawn_from_in_proportion_to_what_it_stands_for() {
        for weight in [|_| 1.0, |i: usize| [0.5, 3.0, 1.0][i % 3]] as [fn(usize) -> f64; 2] {
            let replay = sampled(8, 5, 50, weight);
            let mut rng = Seed::new(3).stream("test", 0);
            let mut counts = [0.0; 8];
            (0..100_000).for_each(|_| counts[replay.sample_index(&mut rng)] += 1.0);
            for (index, count) in counts.into_iter().enumerate() {
                let share = replay.get(index).weight / replay.total_weight();
                assert!((count / 1e5 - share).abs() < 0.008, "{index}: {count}, {share}");
            }
        }
    }

    #[test]
    fn samples_that_do_not_add_up_are_damage() {
        let replay = sampled(8, 1, 50, |_| 1.0);
        let mut encoder = Encoder::default();
        replay.encode(&mut encoder);
        let bytes = encoder.into_bytes();
        let decode = |bytes: &[u8], n_added| {
            let keep = Keep { bound: Some(8), seed: Seed::new(1), ..keep(None) };
            Replay::decode(Shape::new(1, 3), keep, n_added, &mut Decoder::new(bytes))
        };
        let loaded = decode(&bytes, 50).unwrap();
        assert_eq!(rewards(&loaded), rewards(&replay));
        // One observation more or fewer was added, the same place twice, a place that does not exist, a weight below 0.
        assert!(decode(&bytes, 49).is_err() && decode(&bytes, 51).is_err() && decode(&bytes, 8).is_err());
        let (older, weight) = (bytes.len() - 40, bytes.len() - 8);
        let twice = bytes[older..older + 8].to_vec();
        for (place, written) in [
            (older + 8, twice),
            (older, u64::MAX.to_le_bytes().to_vec()),
            (weight, (-1.0_f64).to_le_bytes().to_vec()),
            (older - 8, 3_u64.to_le_bytes().to_vec()),
        ] {
            let mut altered = bytes.clone();
            altered[place..place + 8].copy_from_slice(&written);
            assert!(decode(&altered, 50).is_err(), "at {place}");
        }
    }
}
