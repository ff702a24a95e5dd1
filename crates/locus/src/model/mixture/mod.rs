//! Locus: a mixture of a linear expert and an expert on a net's features, weighted by how well they predict.
//!
//! The linear expert is LinPool, with a prior whose precision is fitted. The other has the same regressions on `[c·x, 1,
//! w·φ/rms‖φ‖]`, where φ is the last hidden layer of a net that learns to predict rewards (`net.rs`). w is chosen so that the
//! net's contribution to a reward has a given prior standard deviation, in units of reward and independent of the noise; the
//! conjugate prior would grow with the noise. Before an observation updates the experts, each computes the likelihood of its
//! reward (`evidence.rs`). A decision averages the experts' means by this evidence, and takes its deviation from the linear
//! expert.
//!
//! A round of training changes all features, so the posteriors are then rebuilt from all observations in the replay, on a
//! recomputed scale. Once the replay holds only a sample of the observations, only the net's expert is rebuilt; the scale stays,
//! and the linear expert, updated with every observation, keeps them all. An observation whose net features overflow is omitted from the net's expert until then, and counted as an
//! intervention; training fails with a numerical error if they still overflow. docs/locus-policy.md derives all this, shows which
//! parts matter, and where the policy fails.

mod config;
mod evidence;
mod net;
#[cfg(test)]
mod tests;

pub use config::LocusConfig;

use std::sync::Arc;

use crate::agent::{
    Breakdown, Cache, Decider, FitReport, JointRows, Learner, Observation, Plan, Replay, Scratch, WeightDraws,
};
use crate::math::decay::Decay;
use crate::math::linear::{LanesWork, LinearPrior};
use crate::math::nn::Panel;
use crate::model::linear::batch::{BatchWork, Rows};
use crate::model::linear::heads::{LinearHeads, by_action};
use crate::model::linear::joint::{FeatureMap, draws_of};
use crate::model::linear::pooled::{
    Exploration, Precision, Scale, Seen, decode_n_built, encode_n_built, pooled_noise,
};
use crate::model::net::reward_net::{NetWork, Weights};
use crate::registry::save::{Decoder, Encoder};
use crate::registry::{Definition, Entry};
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};
use evidence::{Evidence, Prediction};
use net::GaussTrainer;

/// The policies of this family.
pub(crate) fn all() -> Vec<Arc<dyn Entry>> {
    vec![Arc::new(definition())]
}

fn definition() -> Definition<LocusConfig> {
    let summary =
        "Mixture of a linear expert and an expert on a net's features, weighted by how well they predict";
    Definition::of::<Locus>("locus", summary)
        .removed(
            &[
                ("precision", "fitted"),
                ("noise", "larger"),
                ("tempering", "coefficients"),
                ("deviation", "linear"),
                ("expert_choice", "averaged"),
                ("evidence_noise", "own"),
                ("net_prior", "fixed"),
                ("feature_net", "plain"),
            ],
            &["given", "mixture", "lu-gauss", "lu-sivi"],
        )
        .renamed(&[("net_sizes", "net_size")])
}

buildable!(LocusConfig => Locus);

/// Contexts whose features are computed in one pass.
const CHUNK: usize = 512;

/// Both experts, their weights, and the exploration rule.
#[derive(Clone, Debug)]
pub(crate) struct Experts {
    exploration: Exploration,
    map: FeatureMap,
    scale: Scale,
    weights: Arc<Weights>,
    /// The factor that scales the net's features to a mean square length of 1.
    net_factor: f64,
    /// w
    net_weight: f64,
    /// Regressions on `[c·x, 1]`.
    linear: LinearHeads,
    /// Regressions on `[c·x, 1, w·φ/rms‖φ‖]`.
    deep: LinearHeads,
    /// The weight of each expert, the linear one first.
    probabilities: [f64; 2],
    seen: Seen,
}

/// The decider and its training state.
#[derive(Clone, Debug)]
pub(crate) struct Locus {
    experts: Experts,
    net_size: f64,
    precision: Precision,
    decay: Decay,
    reward_unit_floor: f64,
    trainer: GaussTrainer,
    evidence: Evidence,
    /// Observations omitted from the net's expert since the last round of training.
    n_left_out: u64,
    /// Buffers for learning; a clone allocates its own.
    work: Cache<Work>,
}

#[derive(Debug, Default)]
struct Work {
    net: NetWork,
    /// The features of the current observation, and a buffer for its leverage.
    features: Vec<f64>,
    leverage: Vec<f64>,
    /// The net's features of all observations, one after another.
    all_features: Vec<f64>,
}

impl Experts {
    /// `[c·x, 1, w·φ/rms‖φ‖]`: the features of the net's expert; the first ones are those of the linear expert.
    fn fill_features(
        &self,
        context: &[f32],
        work: &mut NetWork,
        features: &mut [f64],
    ) -> Result<(), Breakdown> {
        let (linear, deep) = features.split_at_mut(self.linear.dim());
        self.scale.fill_features(&self.map, context, linear);
        fill_column(self.weights.features(&[context], work)?, 0, deep);
        self.weigh(deep);
        Ok(())
    }

    /// Calls `decide` with what a decision needs: the linear features and the means.
    fn with_opinion<T>(
        &self,
        context: &[f32],
        scratch: &mut Scratch,
        decide: impl FnOnce(&[f64], &dyn Fn(usize) -> f64, &mut Scratch) -> Result<T, Breakdown>,
    ) -> Result<T, Breakdown> {
        scratch.with_features(self.deep.dim(), |features, scratch| {
            self.fill_features(context, scratch.work(), features)?;
            let predict = |action: usize| self.predict(features, action);
            decide(&features[..self.linear.dim()], &predict, scratch)
        })
    }

    /// The mean reward of an action, given the features of the net's expert.
    fn predict(&self, features: &[f64], action: usize) -> f64 {
        let linear = &features[..self.linear.dim()];
        // An expert of weight 0 is skipped: its mean may have overflowed.
        match self.probabilities {
            [_, 0.0] => self.linear.posterior(action).predict(linear),
            [0.0, _] => self.deep.posterior(action).predict(features),
            [by_linear, by_deep] => {
                by_linear * self.linear.posterior(action).predict(linear)
                    + by_deep * self.deep.posterior(action).predict(features)
            }
        }
    }

    /// [`Self::predict`] for many contexts and all actions, given the features of both experts.
    fn predict_many(&self, linear: &[f64], deep: &[f64], lanes: &mut LanesWork, means: &mut [f64]) {
        match self.probabilities {
            [_, 0.0] => self.linear.predict_many(linear, lanes, means),
            [0.0, _] => self.deep.predict_many(deep, lanes, means),
            [by_linear, by_deep] => {
                self.linear.predict_many(linear, lanes, means);
                let mut deep_means = vec![0.0; means.len()];
                self.deep.predict_many(deep, lanes, &mut deep_means);
                for (mean, deep) in means.iter_mut().zip(deep_means) {
                    *mean = by_linear * *mean + by_deep * deep;
                }
            }
        }
    }

    /// Calls `decide` with the linear features, the means, and buffers for a batch of decisions.
    fn with_opinions(
        &self,
        requests: &[Request<'_>],
        scratch: &mut Scratch,
        decide: impl FnOnce(
            Rows<'_>,
            &mut dyn FnMut(&mut LanesWork, &mut [f64]),
            &mut BatchWork,
        ) -> Result<(), (usize, Breakdown)>,
    ) -> Result<(), (usize, Breakdown)> {
        let (n_linear, dim) = (self.linear.dim(), self.deep.dim());
        let contexts: Vec<&[f32]> = requests.iter().map(|request| request.context).collect();
        scratch.with_features((dim + n_linear) * requests.len(), |features, scratch| {
            let (all, linear) = features.split_at_mut(dim * requests.len());
            let Weights { net, parameters } = &*self.weights;
            let panel = net.features_of_batch(parameters, &contexts, scratch.work())?;
            for (column, own) in all.chunks_exact_mut(dim).enumerate() {
                self.scale.fill_features(&self.map, contexts[column], &mut own[..n_linear]);
                fill_column(panel, column, &mut own[n_linear..]);
                self.weigh(&mut own[n_linear..]);
                linear[column * n_linear..][..n_linear].copy_from_slice(&own[..n_linear]);
            }
            let (by_linear, by_deep) = (&*linear, &*all);
            let mut predict = |lanes: &mut LanesWork, means: &mut [f64]| {
                self.predict_many(by_linear, by_deep, lanes, means)
            };
            decide(Rows { requests, features: by_linear }, &mut predict, scratch.work())
        })
    }

    /// Replaces φ by w·φ/rms‖φ‖.
    fn weigh(&self, features: &mut [f64]) {
        // In this order, because published results were computed so.
        features.iter_mut().for_each(|feature| *feature = *feature * self.net_factor * self.net_weight);
    }

    /// The linear coefficients of the mean reward [d], both experts' averaged, and the net's [H] for features φ as they are.
    fn mean_coefficients(&self, linear: &mut [f64], net: &mut [f64]) {
        linear.fill(0.0);
        net.fill(0.0);
        let [by_linear, by_deep] = self.probabilities;
        // An expert of weight 0 is skipped: its mean may have overflowed.
        if by_linear > 0.0 {
            let means = self.linear.posterior(0).mean();
            linear.iter_mut().zip(means).for_each(|(place, mean)| *place += by_linear * mean);
        }
        if by_deep > 0.0 {
            let (first, rest) = self.deep.posterior(0).mean().split_at(linear.len());
            linear.iter_mut().zip(first).for_each(|(place, mean)| *place += by_deep * mean);
            let factor = by_deep * self.net_factor * self.net_weight;
            net.iter_mut().zip(rest).for_each(|(place, mean)| *place = factor * mean);
        }
    }

    /// The values of rows: by the mean, and by deviations of the linear coefficients that `deviate` adds, on the policy's scale.
    fn values(
        &self,
        rows: JointRows<'_>,
        scratch: &mut Scratch,
        values: &mut [f64],
        deviate: impl FnOnce(&mut [f64], &mut [f64]) -> Result<(), Breakdown>,
    ) -> Result<(), Breakdown> {
        let (n_linear, n_net) = (self.linear.dim(), self.weights.net.dim());
        scratch.with_features(2 * n_linear + n_net, |room, scratch| {
            let (linear, room) = room.split_at_mut(n_linear);
            let (net, deviations) = room.split_at_mut(n_net);
            self.mean_coefficients(linear, net);
            deviate(linear, deviations)?;
            let [reduced] = scratch.doubles([self.map.n_action()]);
            self.map.values(linear, self.scale.context_factor, rows, reduced, values);
            if self.probabilities[1] > 0.0 {
                let Weights { net: layers, parameters } = &*self.weights;
                let features = layers.features_of_joint(parameters, rows, scratch.work())?;
                features.add_lines(net, values);
            }
            Ok(())
        })
    }

    /// Draws how far the linear coefficients that all actions share are from their mean. **Samples.**
    fn draw_deviations(&self, rng: &mut Rng, deviations: &mut [f64]) -> Result<(), Breakdown> {
        let spread = self.exploration.draw_shared_spread(&self.linear, self.seen, rng)?;
        self.linear.posterior(0).sample_deviations(spread, rng, deviations);
        Ok(())
    }

    fn deviate(&self, rng: &mut Rng) -> impl FnOnce(&mut [f64]) -> Result<(), Breakdown> {
        |deviations| self.exploration.draw_deviations(&self.linear, self.seen, rng, deviations)
    }
}

impl Decider for Experts {
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let n_actions = self.linear.n_actions();
        for (context, rewards) in contexts.iter().zip(rewards.chunks_exact_mut(n_actions)) {
            self.with_opinion(context, scratch, |features, predict, scratch| {
                self.linear.value(features, scratch, rewards, predict, self.deviate(rng))
            })?;
            self.scale.restore(rewards);
        }
        Ok(())
    }

    fn choose(
        &self,
        request: Request<'_>,
        _n_actions: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Result<Choice, Breakdown> {
        self.with_opinion(request.context, scratch, |features, predict, scratch| {
            let deviate = self.deviate(rng);
            self.linear.find_best(&request, features, scratch, predict, deviate).map(Choice::new)
        })
    }

    fn distribution(
        &self,
        request: Request<'_>,
        _n_draws: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.with_opinion(request.context, scratch, |features, predict, scratch| {
            self.linear.find_wins(&request, features, scratch, probabilities, predict, |spreads| {
                self.exploration.draw_spreads(&self.linear, self.seen, rng, spreads)
            })
        })
    }

    fn choose_many(
        &self,
        requests: &[Request<'_>],
        _n_actions: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        choices: &mut [Choice],
    ) -> Result<(), (usize, Breakdown)> {
        self.with_opinions(requests, scratch, |rows, predict, work| {
            let deviate = |rng: &mut Rng, deviations: &mut [f64]| {
                self.exploration.draw_deviations(&self.linear, self.seen, rng, deviations)
            };
            self.linear.find_best_many(rows, work, rngs, choices, predict, deviate)
        })
    }

    fn distribution_many(
        &self,
        requests: &[Request<'_>],
        _n_draws: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), (usize, Breakdown)> {
        self.with_opinions(requests, scratch, |rows, predict, work| {
            let spread = |rng: &mut Rng, spreads: &mut [f64]| {
                self.exploration.draw_spreads(&self.linear, self.seen, rng, spreads)
            };
            self.linear.find_wins_many(rows, work, rngs, probabilities, predict, spread)
        })
    }

    const HEEDS_CANDIDATES: bool = true;

    fn draw_joint(
        &self,
        rows: JointRows<'_>,
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.values(rows, scratch, rewards, |coefficients, deviations| {
            self.draw_deviations(rng, deviations)?;
            coefficients.iter_mut().zip(deviations).for_each(|(place, deviation)| *place += *deviation);
            Ok(())
        })?;
        self.scale.restore(rewards);
        Ok(())
    }

    fn distribution_of_candidates(
        &self,
        request: Request<'_>,
        rows: JointRows<'_>,
        draws: &WeightDraws,
        _rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        let draws = draws_of(draws, self.map.dim(), |rng, weights| self.draw_deviations(rng, weights))?;
        scratch.with_rewards(rows.len(), |means, scratch| {
            self.values(rows, scratch, means, |_, _| Ok(()))?;
            let factor = self.scale.context_factor;
            self.map.win_shares(draws, factor, Some(means), (request, rows), scratch, probabilities)
        })
    }
}

/// w, given the noise that the regressions saw: coefficients have the variance σ²/λ, so w²σ²/λ is that of what the net adds. The unit of
/// rewards was `unit_ratio` times what it is now.
fn net_weight(net_size: f64, deep: &LinearHeads, precision: f64, unit_ratio: f64) -> f64 {
    let (shape, rate) = pooled_noise(deep);
    let prior_rate = deep.prior().rate;
    let rate = prior_rate + (rate - prior_rate) * unit_ratio * unit_ratio;
    net_size * (precision * shape / rate).sqrt()
}

/// What an expert predicts for an action.
fn predict(heads: &LinearHeads, action: usize, features: &[f64], work: &mut [f64]) -> Prediction {
    let posterior = heads.posterior(action);
    Prediction {
        mean: posterior.predict(features),
        noise: posterior.noise_rate() / posterior.noise_shape(),
        leverage: posterior.leverage(features, work),
    }
}

impl Locus {
    /// Rebuilds the posteriors from all observations in the replay, with the current net and a recomputed scale. The unit of
    /// rewards was `unit_ratio` times the new one.
    fn rebuild(&mut self, replay: &Replay, unit_ratio: f64, work: &mut Work) -> Result<(), Breakdown> {
        let Experts { map, scale, weights, net_factor, net_weight: w, linear, deep, seen, .. } =
            &mut self.experts;
        let (n_linear, n_net) = (linear.dim(), weights.net.dim());
        work.all_features.clear();
        let mut contexts = Vec::with_capacity(CHUNK.min(replay.len()));
        for first in (0..replay.len()).step_by(CHUNK) {
            contexts.clear();
            contexts.extend((first..replay.len().min(first + CHUNK)).map(|index| replay.get(index).context));
            let panel = weights.features(&contexts, &mut work.net)?;
            for column in 0..contexts.len() {
                let start = work.all_features.len();
                work.all_features.resize(start + n_net, 0.0);
                fill_column(panel, column, &mut work.all_features[start..]);
            }
        }
        let by_observation = work.all_features.chunks_exact(n_net).enumerate();
        let squares: f64 = by_observation
            .flat_map(|(index, features)| {
                let weight = replay.get(index).weight;
                features.iter().map(move |feature| weight * (feature * feature))
            })
            .sum();
        *net_factor = if squares > 0.0 { (replay.total_weight() / squares).sqrt() } else { 1.0 };
        let (map, scale, net_factor, order) = (*map, *scale, *net_factor, by_action(replay));
        let take_in_all = |net_weight: f64, heads: &mut LinearHeads| {
            let mut own = vec![0.0; heads.dim()];
            let mut rebuild = heads.rebuild();
            for &index in &order {
                let Observation { context, action, reward, weight } = replay.get(index);
                scale.fill_features(&map, context, &mut own);
                let by_net = &work.all_features[index * n_net..][..n_net];
                for (place, feature) in own[n_linear..].iter_mut().zip(by_net) {
                    *place = net_weight * net_factor * feature;
                }
                rebuild.push(action, own.iter().copied(), scale.standardize(reward), weight);
            }
            rebuild.finish();
        };
        // A part of the observations cannot better the linear posteriors, which include all of them.
        let is_outgrown = replay.is_outgrown();
        let is_due = !is_outgrown && self.precision.is_due(seen.n_observed, replay.total_weight());
        if is_due {
            self.precision.fit(linear, seen.n_observed, |heads| take_in_all(0.0, heads));
        }
        let precision = self.precision.value();
        *w = net_weight(self.net_size, deep, precision, unit_ratio);
        if precision != deep.prior().precision {
            *deep = deep.with_precision(precision);
        }
        take_in_all(*w, deep);
        // Tempering takes note of added actions only now, so that an addition changes no decision among the others.
        *seen = Seen::by(linear, seen.n_observed);
        if !is_due && !is_outgrown {
            // The features of the net's expert begin with the linear ones, so its posterior contains the linear one's.
            *linear = deep.leading(n_linear);
        }
        Ok(())
    }
}

impl Learner for Locus {
    type Config = LocusConfig;
    type Decider = Experts;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn check(config: &LocusConfig, shape: Shape) -> Result<(), Error> {
        config.pooled.interactions.check(shape)
    }

    fn plan(config: &LocusConfig) -> Plan {
        Plan::trained(&config.agent, config.train_every, config.pooled.replay_capacity.0)
            .on_replay(&config.pooled.replay)
            .with_propensity_draws(config.pooled.propensity_draws as usize)
    }

    fn new(config: &LocusConfig, shape: Shape, seed: Seed) -> Self {
        let (weights, trainer) = GaussTrainer::new(config, shape, &mut seed.stream("init", 0));
        let map = config.pooled.map(shape);
        let n_linear = map.dim();
        let half_life = config.agent.half_life.0;
        let heads = |dim| LinearHeads::new(dim, shape.n_actions, config.pooled.prior()).forgetting(half_life);
        let (linear, deep) = (heads(n_linear), heads(n_linear + weights.net.dim()));
        let evidence = Evidence::new(config.evidence_discount, Decay::new(half_life));
        let experts = Experts {
            exploration: config.exploration(),
            map,
            scale: Scale::AS_GIVEN,
            weights: Arc::new(weights),
            net_factor: 1.0,
            net_weight: net_weight(config.net_size, &deep, deep.prior().precision, 1.0),
            probabilities: evidence.probabilities(),
            seen: Seen::by(&linear, 0.0),
            linear,
            deep,
        };
        Self {
            experts,
            net_size: config.net_size,
            precision: config.precision_rule(),
            decay: Decay::new(half_life),
            reward_unit_floor: config.pooled.reward_unit_floor,
            trainer,
            evidence,
            n_left_out: 0,
            work: Cache::default(),
        }
    }

    fn decider(&self) -> &Experts {
        &self.experts
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        let mut work = self.work.0.take().unwrap_or_default();
        let Work { net, features, leverage, .. } = &mut *work;
        let (n_linear, n_features) = (self.experts.linear.dim(), self.experts.deep.dim());
        [&mut *features, leverage].into_iter().for_each(|room| room.resize(n_features, 0.0));
        let Outcome { action, weight, .. } = *outcome;
        let target = self.experts.scale.standardize(outcome.reward);
        let is_whole = self.experts.fill_features(outcome.context, net, features).is_ok();
        let Experts { linear, deep, probabilities, seen, .. } = &mut self.experts;
        let by_linear = predict(linear, action, &features[..n_linear], &mut leverage[..n_linear]);
        linear.observe(action, &features[..n_linear], target, weight);
        if is_whole {
            let by_deep = predict(deep, action, features, leverage);
            deep.observe(action, features, target, weight);
            self.evidence.observe([by_linear, by_deep], target, weight);
            *probabilities = self.evidence.probabilities();
        } else {
            deep.skip();
            self.evidence.skip();
            self.n_left_out += 1;
        }
        self.precision.age(self.decay);
        self.decay.pass(&mut seen.n_observed);
        seen.n_observed += weight;
        self.work = Cache(Some(work));
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let mut work = self.work.0.take().unwrap_or_default();
        let unit_before = self.experts.scale.reward_unit;
        if !replay.is_outgrown() {
            self.experts.scale = Scale::of(replay, self.reward_unit_floor, &self.experts.map)?;
        }
        let scale = self.experts.scale.of_rewards();
        let weights = Arc::make_mut(&mut self.experts.weights);
        let mut report = self.trainer.train(weights, replay, scale, rng, &mut work.net)?;
        self.rebuild(replay, unit_before / self.experts.scale.reward_unit, &mut work)?;
        self.work = Cache(Some(work));
        report.interventions += std::mem::take(&mut self.n_left_out);
        Ok(report)
    }

    fn add_action(&mut self, config: &LocusConfig, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        let Experts { weights, linear, deep, .. } = &mut self.experts;
        self.trainer.add_action(config, Arc::make_mut(weights), shape, rng);
        [linear, deep].into_iter().for_each(LinearHeads::add_action);
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        let Experts { scale, weights, net_factor, net_weight, linear, deep, seen, .. } = &self.experts;
        encoder.f64(seen.n_observed);
        encoder.u64(self.n_left_out);
        encoder.f64(*net_factor);
        encode_n_built(linear, encoder);
        encoder.usize(seen.n_actions as usize);
        self.precision.encode(encoder);
        scale.encode(encoder);
        self.evidence.encode(encoder);
        self.trainer.encode(weights, encoder);
        for (net_weight, heads) in [(0.0, linear), (*net_weight, deep)] {
            encoder.f64(net_weight);
            heads.encode(encoder);
        }
    }

    fn decode(config: &LocusConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let half_life = config.agent.half_life.0;
        let (n_observed, n_left_out, net_factor) = (decoder.weight_sum()?, decoder.u64()?, decoder.f64()?);
        if !(net_factor > 0.0 && net_factor.is_finite()) {
            return Err(decoder.damaged(format!("its net's features are multiplied by {net_factor}")));
        }
        let n_built = decode_n_built(shape, decoder)?;
        let n_tempered = if decoder.format() > 3 { decoder.usize()? } else { shape.n_actions };
        if !(n_built..=shape.n_actions).contains(&n_tempered) {
            return Err(decoder.damaged(format!("it is tempered for {n_tempered} actions")));
        }
        let precision = config.precision_rule().decode(decoder)?;
        let prior = LinearPrior { precision: precision.value(), ..config.pooled.prior() };
        let scale = Scale::decode(decoder)?;
        let evidence = Evidence::new(config.evidence_discount, Decay::new(half_life)).decode(decoder)?;
        let (weights, trainer) = GaussTrainer::decode(config, shape, decoder)?;
        let map = config.pooled.map(shape);
        let n_linear = map.dim();
        let mut expert = |dim: usize| -> Result<(f64, LinearHeads), Error> {
            let net_weight = decoder.f64()?;
            if !(net_weight >= 0.0 && net_weight.is_finite()) {
                return Err(decoder.damaged(format!("an expert weighs its net's features by {net_weight}")));
            }
            let heads = LinearHeads::decode(dim, shape.n_actions, prior, half_life, decoder)?;
            Ok((net_weight, heads.built_with(n_built)))
        };
        let (_, linear) = expert(n_linear)?;
        let (net_weight, deep) = expert(n_linear + weights.net.dim())?;
        let experts = Experts {
            exploration: config.exploration(),
            map,
            scale,
            weights: Arc::new(weights),
            net_factor,
            net_weight,
            probabilities: evidence.probabilities(),
            seen: Seen::of_actions(&linear, n_observed, n_tempered),
            linear,
            deep,
        };
        Ok(Self {
            experts,
            net_size: config.net_size,
            precision,
            decay: Decay::new(half_life),
            reward_unit_floor: config.pooled.reward_unit_floor,
            trainer,
            evidence,
            n_left_out,
            work: Cache::default(),
        })
    }
}

/// The numbers of one column.
fn fill_column(panel: &Panel, column: usize, features: &mut [f64]) {
    for (feature, place) in features.iter_mut().enumerate() {
        *place = f64::from(panel.line(feature)[column]);
    }
}
