//! A linear posterior for every action, and decisions with them; shared by all policies that are linear in some features.
//!
//! Every such policy values an action at `xᵀμ + deviation·√(xᵀΛ⁻¹x)`. Thompson sampling draws the deviation, an upper confidence
//! bound fixes it.

use std::sync::Arc;

use crate::agent::{Breakdown, JointRows, Replay, Scratch, check_reward};
use crate::math::decay::DecayBlocks;
use crate::math::linear::{Block, LanesWork, LinearPosterior, LinearPrior};
use crate::math::wins::Race;
use crate::model::linear::joint::FeatureMap;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::values::HalfLife;
use crate::{Error, Outcome, Request, Rng};

/// One [`LinearPosterior`] for each action, all on the same features and with the same prior.
#[derive(Clone, Debug)]
pub(crate) struct LinearHeads {
    dim: usize,
    prior: LinearPrior,
    /// How many actions there were at first.
    n_built: usize,
    /// `None` forgets nothing.
    blocks: Option<DecayBlocks>,
    /// Shared with snapshots; observing copies only the posterior of the action observed.
    actions: Arc<Vec<Arc<LinearPosterior>>>,
}

impl LinearHeads {
    /// The prior, for `dim` features.
    pub(crate) fn new(dim: usize, n_actions: usize, prior: LinearPrior) -> Self {
        let prior_of_all = Arc::new(LinearPosterior::new(dim, prior));
        Self {
            dim,
            prior,
            n_built: n_actions,
            blocks: None,
            actions: Arc::new(vec![prior_of_all; n_actions]),
        }
    }

    /// Lets every observation, of whichever action, count half after so many further ones; `None` forgets nothing.
    #[must_use]
    pub(crate) fn forgetting(self, half_life: Option<f64>) -> Self {
        // An observation costs O(d²), and the end of a block O(d³).
        Self { blocks: half_life.map(|half_life| DecayBlocks::new(half_life, self.dim)), ..self }
    }

    /// The prior with another λ.
    pub(crate) fn with_precision(&self, precision: f64) -> Self {
        let prior = LinearPrior { precision, ..self.prior };
        let fresh = Self::new(self.dim, self.actions.len(), prior);
        Self { n_built: self.n_built, blocks: self.blocks, ..fresh }.restarted()
    }

    /// Adds an action, at the prior.
    pub(crate) fn add_action(&mut self) {
        let prior = Arc::new(LinearPosterior::new(self.dim, self.prior));
        Arc::make_mut(&mut self.actions).push(prior);
    }

    /// The same heads, of which only the first `n_built` were there at first.
    pub(crate) fn built_with(self, n_built: usize) -> Self {
        Self { n_built, ..self }
    }

    /// How many actions there were at first; the others were added.
    pub(crate) fn n_built(&self) -> usize {
        self.n_built
    }

    fn restarted(mut self) -> Self {
        if let Some(blocks) = &mut self.blocks {
            blocks.restart();
        }
        self
    }

    /// The posteriors of the same observations on the first `dim` features alone; with a half-life, only right after a rebuild.
    pub(crate) fn leading(&self, dim: usize) -> Self {
        let actions = self.actions.iter().map(|posterior| Arc::new(posterior.leading(dim))).collect();
        let blocks = self.blocks.map(|blocks| blocks.anew(dim));
        Self { dim, prior: self.prior, n_built: self.n_built, blocks, actions: Arc::new(actions) }
    }

    /// How many features they see.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// How many actions there are.
    pub(crate) fn n_actions(&self) -> usize {
        self.actions.len()
    }

    /// The prior of every posterior.
    pub(crate) fn prior(&self) -> LinearPrior {
        self.prior
    }

    /// The posterior of an action's coefficients. Panics if there is no such action.
    pub(crate) fn posterior(&self, action: usize) -> &LinearPosterior {
        &self.actions[action]
    }

    fn posterior_mut(&mut self, action: usize) -> &mut LinearPosterior {
        Arc::make_mut(&mut Arc::make_mut(&mut self.actions)[action])
    }

    /// The information of the observations about all coefficients, [`LinearPosterior::information`] over all actions.
    pub(crate) fn information(&self) -> f64 {
        self.actions.iter().map(|posterior| posterior.information()).sum()
    }

    /// Observes one outcome, which counts as `weight` equal ones.
    pub(crate) fn observe(&mut self, action: usize, features: &[f64], reward: f64, weight: f64) {
        let weight = match &self.blocks {
            None => weight,
            Some(blocks) => weight * blocks.factor(0),
        };
        self.posterior_mut(action).observe_weighted(features, reward, weight);
        self.age(1);
    }

    /// Lets all observations age by an outcome that is not observed.
    pub(crate) fn skip(&mut self) {
        self.age(1);
    }

    /// Counts observations, at most up to the end of the block of the decay.
    fn age(&mut self, n: usize) {
        let Some(remainder) = self.blocks.as_mut().and_then(|blocks| blocks.count(n)) else { return };
        let mut room = Block::new(self.dim);
        for posterior in Arc::make_mut(&mut self.actions) {
            if !posterior.is_prior() {
                Arc::make_mut(posterior).forget(remainder, &mut room);
            }
        }
    }

    /// Observes many outcomes: `observe` takes them in, sorted by action, with the weights that they are to have. Equal to
    /// observing each of them, up to rounding.
    pub(crate) fn observe_many<'a>(
        &mut self,
        outcomes: &[Outcome<'a>],
        mut observe: impl FnMut(&mut Self, &[Outcome<'a>]),
    ) {
        let mut rest = outcomes;
        while !rest.is_empty() {
            let n = self.blocks.map_or(rest.len(), |blocks| blocks.n_left().min(rest.len()));
            let (now, later) = rest.split_at(n);
            let mut now = now.to_vec();
            if let Some(blocks) = &self.blocks {
                now.iter_mut()
                    .enumerate()
                    .for_each(|(index, outcome)| outcome.weight *= blocks.factor(index));
            }
            now.sort_by_key(|outcome| outcome.action);
            observe(self, &now);
            self.age(n);
            rest = later;
        }
    }

    /// Restarts from the prior; the observations follow, sorted by action, with the weights that they have now.
    pub(crate) fn rebuild(&mut self) -> InBlocks<'_> {
        *self = self.with_precision(self.prior.precision);
        self.in_blocks()
    }

    /// Takes in many outcomes, which follow, sorted by action, with the weights that they are to have.
    pub(crate) fn in_blocks(&mut self) -> InBlocks<'_> {
        InBlocks { block: Block::new(self.dim), heads: self, action: 0 }
    }

    /// Takes in an outcome with the weight that it is to have; as [`Self::in_blocks`], for a single one.
    pub(crate) fn take_in(&mut self, action: usize, features: &[f64], reward: f64, weight: f64) {
        self.posterior_mut(action).observe_weighted(features, reward, weight);
    }

    /// One draw of every action's mean reward. **Samples.**
    pub(crate) fn draw(
        &self,
        features: &[f64],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let predict = |action: usize| self.actions[action].predict(features);
        self.value(features, scratch, rewards, predict, |deviations| self.draw_deviations(rng, deviations))
    }

    /// Every action's upper confidence bound, `width` deviations above its mean reward.
    pub(crate) fn bound(
        &self,
        features: &[f64],
        width: f64,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let predict = |action: usize| self.actions[action].predict(features);
        self.value(features, scratch, rewards, predict, |deviations| {
            deviations.fill(width);
            Ok(())
        })
    }

    /// Every action's value: the mean of `predict` plus the deviation of `deviate` times the root of the leverage.
    pub(crate) fn value(
        &self,
        features: &[f64],
        scratch: &mut Scratch,
        rewards: &mut [f64],
        predict: impl Fn(usize) -> f64,
        deviate: impl FnOnce(&mut [f64]) -> Result<(), Breakdown>,
    ) -> Result<(), Breakdown> {
        let [work, deviations] = scratch.doubles([self.dim, self.actions.len()]);
        deviate(deviations)?;
        for (action, (posterior, reward)) in self.actions.iter().zip(rewards).enumerate() {
            *reward = predict(action) + deviations[action] * posterior.leverage(features, work).sqrt();
        }
        Ok(())
    }

    /// Finds the highest reward of one draw among the allowed actions without computing all; the first of ties. **Samples.**
    pub(crate) fn choose(
        &self,
        request: &Request<'_>,
        features: &[f64],
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Result<usize, Breakdown> {
        let predict = |action: usize| self.actions[action].predict(features);
        self.find_best(request, features, scratch, predict, |deviations| {
            self.draw_deviations(rng, deviations)
        })
    }

    /// Finds the highest upper confidence bound among the allowed actions without computing all; the first of several.
    pub(crate) fn choose_by_bound(
        &self,
        request: &Request<'_>,
        features: &[f64],
        width: f64,
        scratch: &mut Scratch,
    ) -> Result<usize, Breakdown> {
        let predict = |action: usize| self.actions[action].predict(features);
        self.find_best(request, features, scratch, predict, |deviations| {
            deviations.fill(width);
            Ok(())
        })
    }

    /// The allowed action with the highest [`Self::value`], the first of ties.
    ///
    /// An action's leverage costs a pass over its factor, O(d²); its mean, and a bound on the leverage, O(d). So actions are
    /// considered in descending order of their upper bounds, until no remaining action can win.
    pub(crate) fn find_best(
        &self,
        request: &Request<'_>,
        features: &[f64],
        scratch: &mut Scratch,
        predict: impl Fn(usize) -> f64,
        deviate: impl FnOnce(&mut [f64]) -> Result<(), Breakdown>,
    ) -> Result<usize, Breakdown> {
        let n_actions = self.actions.len();
        let [work, deviations, means, ceilings] =
            scratch.doubles([self.dim, n_actions, n_actions, n_actions]);
        deviate(deviations)?;
        let widest = self.actions[0].leverage_bound(features).sqrt();
        for action in 0..n_actions {
            if !request.allows(action) {
                ceilings[action] = f64::NEG_INFINITY;
                continue;
            }
            means[action] = predict(action);
            ceilings[action] = means[action] + deviations[action].max(0.0) * widest;
            check_reward(action, ceilings[action])?;
        }
        let (mut best, mut best_reward) = (usize::MAX, f64::NEG_INFINITY);
        for _ in 0..n_actions {
            let next = first_highest(ceilings);
            if ceilings[next] < best_reward {
                break;
            }
            let reward = means[next] + deviations[next] * self.actions[next].leverage(features, work).sqrt();
            check_reward(next, reward)?;
            if reward > best_reward || (reward == best_reward && next < best) {
                (best, best_reward) = (next, reward);
            }
            ceilings[next] = f64::NEG_INFINITY;
        }
        Ok(best)
    }

    /// The probability that each allowed action has the highest reward of a draw, given the noise variances. **Samples** these.
    pub(crate) fn win_probabilities(
        &self,
        request: &Request<'_>,
        features: &[f64],
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        let predict = |action: usize| self.actions[action].predict(features);
        self.find_wins(request, features, scratch, probabilities, predict, |spreads| {
            self.draw_spreads(rng, spreads)
        })
    }

    /// The probability that each allowed action has the highest value, if values are independent and normal: `predict` gives
    /// their means, and `spread` times the root of the leverage their standard deviations.
    ///
    /// As in [`Self::find_best`], the leverage is computed only if it can affect the result.
    pub(crate) fn find_wins(
        &self,
        request: &Request<'_>,
        features: &[f64],
        scratch: &mut Scratch,
        probabilities: &mut [f64],
        predict: impl Fn(usize) -> f64,
        spread: impl FnOnce(&mut [f64]) -> Result<(), Breakdown>,
    ) -> Result<(), Breakdown> {
        let n_actions = self.actions.len();
        let mut wins = std::mem::take::<WinsWork>(scratch.work());
        let WinsWork { race, order } = &mut wins;
        race.clear();
        let [work, spreads, means, ceilings] = scratch.doubles([self.dim, n_actions, n_actions, n_actions]);
        spread(spreads)?;
        let widest = self.actions[0].leverage_bound(features).sqrt();
        for action in 0..n_actions {
            if !request.allows(action) {
                ceilings[action] = f64::NEG_INFINITY;
                continue;
            }
            means[action] = predict(action);
            ceilings[action] = means[action] + Race::reach(spreads[action] * widest);
            check_reward(action, ceilings[action])?;
        }
        order_by_ceiling(ceilings, order);
        for action in order.iter().map(|&action| action as usize) {
            if ceilings[action] < race.start() {
                break;
            }
            let std = spreads[action] * self.actions[action].leverage(features, work).sqrt();
            check_reward(action, std)?;
            race.enter(action, means[action], std);
        }
        race.finish(probabilities);
        *scratch.work() = wins;
        Ok(())
    }

    /// Draws the noise's standard deviation σ of every action. **Samples.**
    pub(crate) fn draw_spreads(&self, rng: &mut Rng, spreads: &mut [f64]) -> Result<(), Breakdown> {
        for (action, spread) in spreads.iter_mut().enumerate() {
            *spread = self.draw_noise_variance(action, rng)?.sqrt();
        }
        Ok(())
    }

    fn draw_noise_variance(&self, action: usize, rng: &mut Rng) -> Result<f64, Breakdown> {
        let noise_variance = self.actions[action].sample_noise_variance(rng);
        if noise_variance.is_finite() {
            return Ok(noise_variance);
        }
        Err(Breakdown {
            place: format!("the drawn noise variance of action {action}"),
            found: noise_variance,
        })
    }

    /// Draws the noise variance and the coefficients of the first action, which may be all that there is. **Samples.**
    pub(crate) fn draw_coefficients(&self, rng: &mut Rng, coefficients: &mut [f64]) -> Result<(), Breakdown> {
        let noise_variance = self.draw_noise_variance(0, rng)?;
        self.actions[0].sample_coefficients(noise_variance, rng, coefficients);
        Ok(())
    }

    /// Draws the part of the rewards that does not depend on the context.
    ///
    /// A drawn reward is `xᵀβ` with `β ~ N(μ, σ²Λ⁻¹)`. Given σ² it is one Gaussian number, `xᵀμ + σξ·√(xᵀΛ⁻¹x)` with ξ standard
    /// normal: this draws σξ for every action. **Samples.**
    pub(crate) fn draw_deviations(&self, rng: &mut Rng, deviations: &mut [f64]) -> Result<(), Breakdown> {
        for (action, deviation) in deviations.iter_mut().enumerate() {
            *deviation = self.draw_noise_variance(action, rng)?.sqrt() * rng.normal();
        }
        Ok(())
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        if let Some(blocks) = &self.blocks {
            blocks.encode(encoder);
        }
        self.actions.iter().for_each(|posterior| posterior.encode(encoder));
    }

    pub(crate) fn decode(
        dim: usize,
        n_actions: usize,
        prior: LinearPrior,
        half_life: Option<f64>,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        let blocks =
            half_life.map(|half_life| DecayBlocks::new(half_life, dim).decode(decoder)).transpose()?;
        let mut actions = Vec::new();
        for _ in 0..n_actions {
            actions.push(Arc::new(LinearPosterior::decode(dim, prior, decoder)?));
        }
        Ok(Self { dim, prior, n_built: n_actions, blocks, actions: Arc::new(actions) })
    }
}

/// Posteriors that observe many outcomes: [`Self::push`] adds one, [`Self::finish`] must follow the last.
pub(crate) struct InBlocks<'a> {
    heads: &'a mut LinearHeads,
    /// Observations of `action` that the posterior does not include yet.
    block: Block,
    action: usize,
}

impl InBlocks<'_> {
    pub(crate) fn push(
        &mut self,
        action: usize,
        features: impl ExactSizeIterator<Item = f64>,
        target: f64,
        weight: f64,
    ) {
        if self.block.is_full() || action != self.action {
            self.take_block();
            self.action = action;
        }
        self.block.push_weighted(features, target, weight);
    }

    pub(crate) fn finish(mut self) {
        self.take_block();
    }

    fn take_block(&mut self) {
        if !self.block.is_empty() {
            self.heads.posterior_mut(self.action).observe_block(&mut self.block);
        }
    }
}

/// The observations in `replay`, sorted by action, then by time.
pub(crate) fn by_action(replay: &Replay) -> Vec<usize> {
    let mut order: Vec<usize> = (0..replay.len()).collect();
    order.sort_by_key(|&index| replay.get(index).action);
    order
}

/// The heads of policies that are linear in the context itself, or in that and the features of an action.
#[derive(Clone, Debug)]
pub(crate) struct ContextHeads {
    pub(crate) heads: LinearHeads,
    pub(crate) map: FeatureMap,
}

impl ContextHeads {
    pub(crate) fn new(map: FeatureMap, n_actions: usize, prior: LinearPrior, half_life: HalfLife) -> Self {
        Self { heads: LinearHeads::new(map.dim(), n_actions, prior).forgetting(half_life.0), map }
    }

    /// Calls `value` with the features of every context and where its rewards go.
    pub(crate) fn for_each(
        &self,
        contexts: &[&[f32]],
        scratch: &mut Scratch,
        rewards: &mut [f64],
        mut value: impl FnMut(&[f64], &mut Scratch, &mut [f64]) -> Result<(), Breakdown>,
    ) -> Result<(), Breakdown> {
        let n_actions = self.heads.actions.len();
        for (context, rewards) in contexts.iter().zip(rewards.chunks_exact_mut(n_actions)) {
            self.with_context(context, scratch, |features, scratch| value(features, scratch, rewards))?;
        }
        Ok(())
    }

    /// Calls `decide` with the features of a context.
    pub(crate) fn with_context<T>(
        &self,
        context: &[f32],
        scratch: &mut Scratch,
        decide: impl FnOnce(&[f64], &mut Scratch) -> T,
    ) -> T {
        scratch.with_features(self.heads.dim(), |features, scratch| {
            self.map.fill(context, 1.0, features);
            decide(features, scratch)
        })
    }

    /// Writes the features of a context.
    pub(crate) fn fill(&self) -> impl Fn(&[f32], &mut [f64]) {
        let map = self.map;
        move |context, features| map.fill(context, 1.0, features)
    }

    pub(crate) fn observe(&mut self, outcome: &Outcome<'_>) {
        Scratch::with(|scratch| {
            scratch.with_features(self.heads.dim(), |features, _| {
                self.map.fill(outcome.context, 1.0, features);
                self.heads.observe(outcome.action, features, outcome.reward, outcome.weight);
            });
        });
    }

    /// Equal to observing each outcome, up to rounding; several times as fast.
    pub(crate) fn observe_many(&mut self, outcomes: &[Outcome<'_>]) {
        if let [only] = outcomes {
            return self.observe(only);
        }
        let mut features = vec![0.0; self.heads.dim()];
        let Self { heads, map } = self;
        heads.observe_many(outcomes, |heads, outcomes| {
            let mut blocks = heads.in_blocks();
            for outcome in outcomes {
                map.fill(outcome.context, 1.0, &mut features);
                blocks.push(outcome.action, features.iter().copied(), outcome.reward, outcome.weight);
            }
            blocks.finish();
        });
    }

    /// One draw of the coefficients, and the mean reward of every row by it. **Samples.**
    pub(crate) fn draw_joint(
        &self,
        rows: JointRows<'_>,
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let [coefficients, reduced] = scratch.doubles([self.map.dim(), self.map.n_action()]);
        self.heads.draw_coefficients(rng, coefficients)?;
        self.map.values(coefficients, 1.0, rows, reduced, rewards);
        Ok(())
    }

    /// The upper confidence bound of every row, `width` deviations above its mean reward.
    pub(crate) fn bound_joint(
        &self,
        width: f64,
        rows: JointRows<'_>,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) {
        let (map, posterior) = (self.map, self.heads.posterior(0));
        let [reduced] = scratch.doubles([map.n_action()]);
        map.values(posterior.mean(), 1.0, rows, reduced, rewards);
        scratch.with_features(LOT * map.dim(), |features, scratch| {
            let BoundWork { indices, lanes, leverages } = scratch.work();
            for (lot, rewards) in rewards.chunks_mut(LOT).enumerate() {
                for (row, features) in features.chunks_exact_mut(map.dim()).take(rewards.len()).enumerate() {
                    map.fill_row(rows, lot * LOT + row, 1.0, features);
                }
                indices.clear();
                indices.extend(0..rewards.len());
                posterior.leverages(features, indices, lanes, leverages);
                for (reward, leverage) in rewards.iter_mut().zip(&*leverages) {
                    *reward += width * leverage.sqrt();
                }
            }
        });
    }

    pub(crate) fn decode(
        map: FeatureMap,
        n_actions: usize,
        prior: LinearPrior,
        half_life: HalfLife,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        Ok(Self { heads: LinearHeads::decode(map.dim(), n_actions, prior, half_life.0, decoder)?, map })
    }
}

/// Rows whose leverages are computed together.
const LOT: usize = 64;

/// Buffers for the bounds of many rows.
#[derive(Debug, Default)]
struct BoundWork {
    indices: Vec<usize>,
    lanes: LanesWork,
    leverages: Vec<f64>,
}

/// Buffers for the probabilities that each action wins.
#[derive(Debug, Default)]
struct WinsWork {
    race: Race,
    order: Vec<u32>,
}

/// Actions that could reach anything, the one that could reach highest first.
pub(super) fn order_by_ceiling(ceilings: &[f64], order: &mut Vec<u32>) {
    order.clear();
    order.extend((0..ceilings.len() as u32).filter(|&action| ceilings[action as usize] != f64::NEG_INFINITY));
    order.sort_unstable_by(|&one, &other| {
        ceilings[other as usize].total_cmp(&ceilings[one as usize]).then(one.cmp(&other))
    });
}

/// The index of the highest number, the first of ties; none of them is NaN.
pub(super) fn first_highest(numbers: &[f64]) -> usize {
    let higher = |best, place| if numbers[place] > numbers[best] { place } else { best };
    (0..numbers.len()).fold(0, higher)
}

/// What tests of several policies compare posteriors by.
#[cfg(test)]
pub(crate) mod comparison {
    use super::*;
    use crate::{Policy, Seed, Shape};

    /// Fails unless two posteriors are the same, relative to their own size: means, leverages, noise.
    pub(crate) fn assert_close(
        what: &str,
        found: &LinearPosterior,
        expected: &LinearPosterior,
        tolerance: f64,
    ) {
        let assert_near = |part: &str, found: f64, expected: f64, size: f64| {
            assert!((found - expected).abs() <= tolerance * size, "{what}, {part}: {found}, {expected}");
        };
        let size = expected.mean().iter().fold(1e-3, |most: f64, value| most.max(value.abs()));
        for (found, expected) in found.mean().iter().zip(expected.mean()) {
            assert_near("mean", *found, *expected, size);
        }
        let mut rng = Seed::new(77).stream("test", 0);
        for _ in 0..10 {
            let features: Vec<f64> = (0..expected.dim()).map(|_| rng.normal()).collect();
            let [found, expected] = [found, expected]
                .map(|posterior| posterior.leverage(&features, &mut vec![0.0; features.len()]));
            assert_near("leverage", found, expected, expected);
        }
        assert_near("shape", found.noise_shape(), expected.noise_shape(), expected.noise_shape());
        assert_near("rate", found.noise_rate(), expected.noise_rate(), expected.noise_rate());
    }

    /// Rounds of a problem: contexts, actions, rewards and weights, all 1 unless asked for. Actions come in no order, and unevenly often.
    pub(crate) fn rounds(shape: Shape, n: u64, is_weighted: bool) -> Vec<(Vec<f32>, usize, f64, f64)> {
        let round = |round: u64| {
            let mut rng = Seed::new(21).stream("problem", round);
            let context: Vec<f32> = (0..shape.n_features).map(|_| rng.normal() as f32).collect();
            let action = rng.below(shape.n_actions).min(rng.below(shape.n_actions));
            let reward = 3.0 + f64::from(context[action % shape.n_features]) + 0.5 * rng.normal();
            let weight = if is_weighted { [0.5, 1.0, 3.0, 2.25][rng.below(4)] } else { 1.0 };
            (context, action, reward, weight)
        };
        (0..n).map(round).collect()
    }

    /// Gives the outcomes of these rounds one by one to the first policy, and in unequal parts to the second.
    pub(crate) fn teach_both(
        one_by_one: &mut dyn Policy,
        many: &mut dyn Policy,
        rounds: &[(Vec<f32>, usize, f64, f64)],
    ) {
        let outcomes: Vec<Outcome<'_>> = rounds
            .iter()
            .enumerate()
            .map(|(round, (context, action, reward, weight))| {
                Outcome::new(round as u64, context, *action, *reward).with_weight(*weight)
            })
            .collect();
        outcomes.iter().for_each(|outcome| assert!(one_by_one.learn(*outcome).is_ok()));
        let (first, rest) = outcomes.split_at(outcomes.len() / 3);
        let (second, third) = rest.split_at(1);
        for part in [first, second, &[], third] {
            many.learn_many(part).unwrap();
        }
        assert_eq!(
            (many.n_observed(), many.last_round()),
            (one_by_one.n_observed(), one_by_one.last_round())
        );
    }
}

#[cfg(test)]
mod tests {
    use super::comparison::{assert_close, rounds};
    use super::*;
    use crate::Shape;
    use crate::registry::values::Interactions;

    const SHAPE: Shape = Shape::new(4, 5);
    const PRIOR: LinearPrior = LinearPrior { precision: 0.3, shape: 2.0, rate: 1.5 };

    fn map() -> FeatureMap {
        FeatureMap::new(SHAPE, Interactions::Off)
    }

    /// Rounds in which the last action is never taken, and the one before only early.
    fn fading_rounds(n: u64) -> Vec<(Vec<f32>, usize, f64, f64)> {
        let mut rounds = rounds(SHAPE, n, true);
        for (round, (_, action, ..)) in rounds.iter_mut().enumerate() {
            *action %= if round < 20 { 4 } else { 3 };
        }
        rounds
    }

    fn outcomes(rounds: &[(Vec<f32>, usize, f64, f64)]) -> Vec<Outcome<'_>> {
        rounds
            .iter()
            .map(|(context, action, reward, weight)| {
                Outcome::new(0, context, *action, *reward).with_weight(*weight)
            })
            .collect()
    }

    /// Observes the outcomes from the prior, each with what its age leaves of its weight.
    fn direct(outcomes: &[Outcome<'_>], half_life: f64) -> ContextHeads {
        let mut heads = ContextHeads::new(map(), SHAPE.n_actions, PRIOR, HalfLife(None));
        for (age, outcome) in outcomes.iter().rev().enumerate() {
            let weight = outcome.weight * (-(age as f64) / half_life).exp2();
            heads.observe(&outcome.with_weight(weight));
        }
        heads
    }

    /// At the end of each block; the actions age together, and the one that is never observed stays at the prior.
    #[test]
    fn at_the_end_of_a_block_all_actions_have_aged() {
        for (half_life, length) in [(1.0, 1), (14.0, 3), (300.0, 5)] {
            let rounds = fading_rounds(60);
            let outcomes = outcomes(&rounds);
            let mut heads = ContextHeads::new(map(), SHAPE.n_actions, PRIOR, HalfLife(Some(half_life)));
            for (index, outcome) in outcomes.iter().enumerate() {
                heads.observe(outcome);
                if (index + 1) % length != 0 {
                    continue;
                }
                let direct = direct(&outcomes[..=index], half_life);
                for action in 0..SHAPE.n_actions {
                    let [found, expected] = [&heads, &direct].map(|heads| heads.heads.posterior(action));
                    let what = format!("half-life {half_life}, after {index}, action {action}");
                    assert_close(&what, found, expected, 1e-9);
                }
            }
            assert!(heads.heads.posterior(4).is_prior());
        }
    }

    /// Within a block and beyond several, in parts that end anywhere.
    #[test]
    fn many_at_once_are_forgotten_as_one_by_one() {
        let rounds = fading_rounds(100);
        let outcomes = outcomes(&rounds);
        for half_life in [9.0, 1000.0] {
            let [mut one_by_one, mut many] =
                [(); 2].map(|()| ContextHeads::new(map(), SHAPE.n_actions, PRIOR, HalfLife(Some(half_life))));
            let mut rest = outcomes.as_slice();
            for n in [1, 2, 7, 0, 4, 31, 55] {
                let (now, later) = rest.split_at(n);
                now.iter().for_each(|outcome| one_by_one.observe(outcome));
                many.observe_many(now);
                rest = later;
                for action in 0..SHAPE.n_actions {
                    let [found, expected] = [&many, &one_by_one].map(|heads| heads.heads.posterior(action));
                    assert_close(&format!("half-life {half_life}, action {action}"), found, expected, 1e-9);
                }
            }
            assert!(rest.is_empty());
        }
    }

    /// To the bit, from the middle of a block.
    #[test]
    fn the_position_in_a_block_is_saved() {
        let rounds = fading_rounds(43);
        let outcomes = outcomes(&rounds);
        let half_life = HalfLife(Some(100.0));
        let mut heads = ContextHeads::new(map(), SHAPE.n_actions, PRIOR, half_life);
        outcomes[..33].iter().for_each(|outcome| heads.observe(outcome));
        let encode = |heads: &ContextHeads| {
            let mut encoder = Encoder::default();
            heads.heads.encode(&mut encoder);
            encoder.into_bytes()
        };
        let bytes = encode(&heads);
        let mut loaded =
            ContextHeads::decode(map(), SHAPE.n_actions, PRIOR, half_life, &mut Decoder::new(&bytes))
                .unwrap();
        let copy = heads.clone();
        for heads in [&mut heads, &mut loaded] {
            outcomes[33..].iter().for_each(|outcome| heads.observe(outcome));
        }
        assert!(encode(&loaded) == encode(&heads));
        assert!(encode(&copy) == bytes);
        let mut forged = bytes;
        forged[0] = 5;
        assert!(
            ContextHeads::decode(map(), SHAPE.n_actions, PRIOR, half_life, &mut Decoder::new(&forged))
                .is_err()
        );
    }
}
