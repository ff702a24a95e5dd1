//! Locus: a linear expert, experts on a net's features, and the better each predicts, the more it has to say.
//!
//! The linear expert is LinPool, with a prior whose precision is fitted. Every other has the same regressions on `[c·x, 1, w·φ/rms‖φ‖]`,
//! where φ is the last hidden layer of a net that learns to predict rewards (`net.rs`). w is such that what the net adds to a reward has a
//! given standard deviation before anything is known, in units of reward and whatever the noise: a prior of fixed size, where the conjugate
//! one grows with the noise. Before an observation is taken in, each expert is asked how probable its reward was (`evidence.rs`); a decision
//! averages the experts' means by that, or draws one of them, and deviates from the mean as far as the linear one says.
//!
//! After a round of training all features are others, so the posteriors are rebuilt from all observations kept, on a scale taken anew.
//! An observation whose net features overflow is left out of the net's experts until then, and counted as an intervention; the round of
//! training breaks down if they still do.
//! docs/locus-policy.md derives all this, shows what else was tried, and says where it fails.

mod config;
mod evidence;
mod net;
#[cfg(test)]
mod tests;

pub use config::{Deviation, EvidenceNoise, ExpertChoice, LocusConfig, NetKind, NetPrior, Sizes};

use crate::agent::FitReport;
use crate::agent::replay::{Observation, Replay};
use crate::agent::scratch::{Cache, Scratch};
use crate::agent::wrapper::{Breakdown, RewardModel};
use crate::math::linear::{LinearPosterior, LinearPrior};
use crate::math::nn::Panel;
use crate::model::linear::heads::{LinearHeads, by_action};
use crate::model::linear::pooled::{Exploration, Precision, Scale, Seen, pooled_noise};
use crate::registry::registered;
use crate::registry::save::{Decoder, Encoder};
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};
use evidence::Evidence;
use net::{FeatureNet, FeatureWork};

registered!(
    LocusConfig => Locus,
    "locus",
    "Experts, linear and on a net's features, averaged by how well they predict",
    &[("default", LocusConfig::default), ("given", LocusConfig::given), ("mixture", LocusConfig::mixture), ("lu-gauss", LocusConfig::with_lu_gauss), ("lu-sivi", LocusConfig::with_lu_sivi)]
);

/// Contexts whose features are computed in one pass.
const CHUNK: usize = 512;

/// The linear expert, and up to four on the net's features.
const MAX_EXPERTS: usize = 5;

/// All experts, and what is shared by them.
#[derive(Clone, Debug)]
pub struct Locus {
    exploration: Exploration,
    deviation: Deviation,
    expert_choice: ExpertChoice,
    evidence_noise: EvidenceNoise,
    precision: Precision,
    reward_unit_floor: f64,
    scale: Scale,
    /// What brings the net's features to a mean square length of 1.
    net_factor: f64,
    net: FeatureNet,
    /// The linear one first.
    experts: Vec<Expert>,
    evidence: Evidence,
    seen: Seen,
    /// Observations left out of the net's experts since the last round of training.
    n_left_out: u64,
    /// Room for what is computed in learning; a copy makes its own.
    work: Cache<Work>,
}

/// Regressions on `[c·x, 1, w·φ/rms‖φ‖]`, or on as many of these features as they have.
#[derive(Clone, Debug)]
struct Expert {
    /// What w is made of, and how.
    net_size: f64,
    net_prior: NetPrior,
    /// w
    net_weight: f64,
    heads: LinearHeads,
}

#[derive(Debug, Default)]
struct Work {
    net: FeatureWork,
    /// The features of the observation that is taken in, those that an expert sees, and room for its leverage.
    features: Vec<f64>,
    seen_by_expert: Vec<f64>,
    leverage: Vec<f64>,
    /// The net's features of all observations, one after another.
    all_features: Vec<f64>,
}

impl Expert {
    fn new(net_size: f64, net_prior: NetPrior, heads: LinearHeads) -> Self {
        let precision = heads.prior().precision;
        let mut expert = Self { net_size, net_prior, net_weight: 0.0, heads };
        expert.weigh(precision, 1.0);
        expert
    }

    /// Makes w what it is by the noise that the posteriors saw: coefficients have the variance σ²/λ, so w²σ²/λ is that of what the net adds.
    /// The unit of rewards was `unit_ratio` times what it is now. If λ is another than before, the posteriors begin anew.
    fn weigh(&mut self, precision: f64, unit_ratio: f64) {
        let (shape, rate) = pooled_noise(&self.heads);
        let prior_rate = self.heads.prior().rate;
        let rate = prior_rate + (rate - prior_rate) * unit_ratio * unit_ratio;
        self.net_weight = match self.net_prior {
            NetPrior::Fixed => self.net_size * (precision * shape / rate).sqrt(),
            NetPrior::Noise => self.net_size,
        };
        if precision != self.heads.prior().precision {
            self.heads = self.heads.with_precision(precision);
        }
    }

    /// What it sees of `[c·x, 1, φ/rms‖φ‖]`, the first `n_linear` of which are linear.
    fn fill_features(&self, features: &[f64], n_linear: usize, own: &mut [f64]) {
        own.copy_from_slice(&features[..own.len()]);
        own[n_linear..].iter_mut().for_each(|feature| *feature *= self.net_weight);
    }

    /// The mean of its prediction for an action, and the variance with noise.
    fn predict(&self, action: usize, own: &[f64], noise: EvidenceNoise, leverage: &mut [f64]) -> (f64, f64) {
        let posterior = self.heads.posterior(action);
        let (shape, rate) = match noise {
            EvidenceNoise::Pooled => pooled_noise(&self.heads),
            EvidenceNoise::Own => (posterior.noise_shape(), posterior.noise_rate()),
        };
        (posterior.predict(own), rate / shape * (1.0 + posterior.leverage(own, leverage)))
    }
}

impl Locus {
    /// The posterior of an action's coefficients, by an expert: 0 is the linear one. Panics if there is no such expert or action.
    pub fn posterior(&self, expert: usize, action: usize) -> &LinearPosterior {
        self.experts[expert].heads.posterior(action)
    }

    /// The probabilities of the experts, the linear one first: by these they are averaged or drawn.
    pub fn expert_probabilities(&self) -> Vec<f64> {
        self.evidence.probabilities()[..self.experts.len()].to_vec()
    }

    /// λ, the precision of the prior as it was fitted last.
    pub fn precision(&self) -> f64 {
        self.precision.value()
    }

    fn assemble(config: &LocusConfig, net: FeatureNet, experts: Vec<Expert>) -> Self {
        Self {
            exploration: config.exploration(),
            deviation: config.deviation,
            expert_choice: config.expert_choice,
            evidence_noise: config.evidence_noise,
            precision: config.precision_rule(),
            reward_unit_floor: config.reward_unit_floor,
            scale: Scale::AS_GIVEN,
            net_factor: 1.0,
            net,
            evidence: Evidence::new(config.evidence_discount, experts.len()),
            experts,
            seen: Seen::NOTHING,
            n_left_out: 0,
            work: Cache::default(),
        }
    }

    fn linear(&self) -> &LinearHeads {
        &self.experts[0].heads
    }

    fn n_linear(&self) -> usize {
        self.linear().dim()
    }

    fn n_features(&self) -> usize {
        self.n_linear() + self.net.dim()
    }

    /// `[c·x, 1, φ/rms‖φ‖]`.
    fn fill_features(
        &self,
        context: &[f32],
        work: &mut FeatureWork,
        features: &mut [f64],
    ) -> Result<(), Breakdown> {
        let (linear, deep) = features.split_at_mut(self.n_linear());
        self.scale.fill_features(context, linear);
        fill_column(self.net.features(&[context], work)?, 0, self.net_factor, deep);
        Ok(())
    }

    /// How much each expert's mean counts in a decision. **Samples.**
    fn draw_weights(&self, rng: &mut Rng) -> [f64; MAX_EXPERTS] {
        let probabilities = self.evidence.probabilities();
        let chosen = match self.expert_choice {
            ExpertChoice::Averaged => return probabilities,
            ExpertChoice::Likelier => {
                let higher = |best, next| if probabilities[next] > probabilities[best] { next } else { best };
                (0..self.experts.len()).fold(0, higher)
            }
            ExpertChoice::Drawn => {
                let mut rest = rng.uniform();
                let is_here = |probability: &f64| {
                    rest -= probability;
                    rest < 0.0
                };
                probabilities.iter().position(is_here).unwrap_or(0)
            }
        };
        let mut weights = [0.0; MAX_EXPERTS];
        weights[chosen] = 1.0;
        weights
    }

    /// Calls `decide` with what a decision needs: the heads whose leverage counts and their features, the means, and the deviations.
    /// **Samples.**
    fn with_opinion<T>(
        &self,
        context: &[f32],
        rng: &mut Rng,
        scratch: &mut Scratch,
        decide: impl FnOnce(
            &LinearHeads,
            &[f64],
            &dyn Fn(usize) -> f64,
            &mut dyn FnMut(&mut [f64]) -> Result<(), Breakdown>,
            &mut Scratch,
        ) -> Result<T, Breakdown>,
    ) -> Result<T, Breakdown> {
        let (n_features, n_experts) = (self.n_features(), self.experts.len());
        scratch.with_features((1 + n_experts) * n_features, |buffer, scratch| {
            let (features, own) = buffer.split_at_mut(n_features);
            self.fill_features(context, scratch.work(), features)?;
            let weights = self.draw_weights(rng);
            for (expert, own) in self.experts.iter().zip(own.chunks_exact_mut(n_features)) {
                expert.fill_features(features, self.n_linear(), &mut own[..expert.heads.dim()]);
            }
            let seen_by = |expert: usize| &own[expert * n_features..][..self.experts[expert].heads.dim()];
            let predict = |action: usize| {
                let counted = (0..n_experts).filter(|&expert| weights[expert] > 0.0);
                counted
                    .map(|expert| weights[expert] * self.posterior(expert, action).predict(seen_by(expert)))
                    .sum()
            };
            let deviating = match self.deviation {
                Deviation::Linear => 0,
                Deviation::Drawn => (0..n_experts).find(|&expert| weights[expert] > 0.5).unwrap_or(0),
            };
            let heads = &self.experts[deviating].heads;
            let mut deviate =
                |deviations: &mut [f64]| self.exploration.draw_deviations(heads, self.seen, rng, deviations);
            decide(heads, seen_by(deviating), &predict, &mut deviate, scratch)
        })
    }

    /// Makes the posteriors those of all observations that are kept, on the features of the net as it is and a scale taken anew.
    /// The unit of rewards was `unit_ratio` times the new one.
    fn rebuild(&mut self, replay: &Replay, unit_ratio: f64, work: &mut Work) -> Result<(), Breakdown> {
        let (n_linear, n_net) = (self.n_linear(), self.net.dim());
        work.all_features.clear();
        let mut contexts = Vec::with_capacity(CHUNK.min(replay.len()));
        for first in (0..replay.len()).step_by(CHUNK) {
            contexts.clear();
            contexts.extend((first..replay.len().min(first + CHUNK)).map(|index| replay.get(index).context));
            let panel = self.net.features(&contexts, &mut work.net)?;
            for column in 0..contexts.len() {
                let start = work.all_features.len();
                work.all_features.resize(start + n_net, 0.0);
                fill_column(panel, column, 1.0, &mut work.all_features[start..]);
            }
        }
        let squares: f64 = work.all_features.iter().map(|feature| feature * feature).sum();
        self.net_factor = if squares > 0.0 { (replay.len() as f64 / squares).sqrt() } else { 1.0 };
        let (scale, net_factor, order) = (self.scale, self.net_factor, by_action(replay));
        let take_in_all = |net_weight: f64, heads: &mut LinearHeads| {
            let mut own = vec![0.0; heads.dim()];
            let mut rebuild = heads.rebuild();
            for &index in &order {
                let Observation { context, action, reward } = replay.get(index);
                scale.fill_features(context, &mut own);
                let by_net = &work.all_features[index * n_net..][..n_net];
                for (place, feature) in own[n_linear..].iter_mut().zip(by_net) {
                    *place = net_weight * net_factor * feature;
                }
                rebuild.push(action, own.iter().copied(), scale.standardize(reward));
            }
            rebuild.finish();
        };
        let (linear, others) = self.experts.split_first_mut().expect("the linear expert");
        let is_due = self.precision.is_due(self.seen.n_observed, replay.len());
        if is_due {
            self.precision.fit(&mut linear.heads, self.seen.n_observed, |heads| take_in_all(0.0, heads));
        }
        for expert in &mut *others {
            expert.weigh(self.precision.value(), unit_ratio);
            take_in_all(expert.net_weight, &mut expert.heads);
        }
        if !is_due {
            // The net's experts see the linear features first, so theirs is the linear one's posterior, too.
            linear.heads = others[0].heads.leading(n_linear);
        }
        Ok(())
    }
}

impl RewardModel for Locus {
    type Config = LocusConfig;

    fn new(config: &LocusConfig, shape: Shape, seed: Seed) -> Self {
        let net = FeatureNet::new(config, shape, seed);
        let n_linear = shape.n_features + 1;
        let heads = |dim| LinearHeads::new(dim, shape.n_actions, config.prior());
        let expert = |(size, dim)| Expert::new(size, config.net_prior, heads(dim));
        let experts = config.experts(n_linear, net.dim()).map(expert).collect();
        Self::assemble(config, net, experts)
    }

    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let n_actions = self.linear().n_actions();
        for (context, rewards) in contexts.iter().zip(rewards.chunks_exact_mut(n_actions)) {
            self.with_opinion(context, rng, scratch, |heads, own, predict, deviate, scratch| {
                heads.value(own, scratch, rewards, predict, deviate)
            })?;
            self.scale.restore(rewards);
        }
        Ok(())
    }

    fn choose(
        &self,
        request: Request<'_>,
        rng: &mut Rng,
        scratch: &mut Scratch,
        _n_actions: usize,
    ) -> Result<Choice, Breakdown> {
        self.with_opinion(request.context, rng, scratch, |heads, own, predict, deviate, scratch| {
            heads.find_best(own, scratch, predict, deviate).map(Choice::drawn)
        })
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        let mut work = self.work.0.take().unwrap_or_default();
        let Work { net, features, seen_by_expert, leverage, .. } = &mut *work;
        let (n_linear, n_features) = (self.n_linear(), self.n_features());
        [&mut *features, seen_by_expert, leverage].into_iter().for_each(|room| room.resize(n_features, 0.0));
        let (action, target) = (outcome.action, self.scale.standardize(outcome.reward));
        let is_whole = self.fill_features(outcome.context, net, features).is_ok();
        self.n_left_out += u64::from(!is_whole);
        let n_experts = if is_whole { self.experts.len() } else { 1 };
        let mut predictions = [(0.0, 1.0); MAX_EXPERTS];
        for (expert, prediction) in self.experts[..n_experts].iter_mut().zip(&mut predictions) {
            let own = &mut seen_by_expert[..expert.heads.dim()];
            expert.fill_features(features, n_linear, own);
            *prediction = expert.predict(action, own, self.evidence_noise, &mut leverage[..own.len()]);
            expert.heads.observe(action, own, target);
        }
        if is_whole {
            self.evidence.observe(&predictions[..n_experts], target);
        }
        self.seen = self.exploration.look(self.linear(), &self.scale, self.seen.n_observed + 1);
        self.work = Cache(Some(work));
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let mut work = self.work.0.take().unwrap_or_default();
        let unit_before = self.scale.reward_unit;
        self.scale = Scale::of(replay, self.reward_unit_floor)?;
        let mut report = self.net.train(replay, self.scale.of_rewards(), rng, &mut work.net)?;
        self.rebuild(replay, unit_before / self.scale.reward_unit, &mut work)?;
        self.seen = self.exploration.look(self.linear(), &self.scale, self.seen.n_observed);
        self.work = Cache(Some(work));
        report.interventions += std::mem::take(&mut self.n_left_out);
        Ok(report)
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.u64(self.seen.n_observed);
        encoder.u64(self.n_left_out);
        encoder.f64(self.net_factor);
        self.precision.encode(encoder);
        self.scale.encode(encoder);
        self.evidence.encode(encoder);
        self.net.encode(encoder);
        for Expert { net_weight, heads, .. } in &self.experts {
            encoder.f64(*net_weight);
            heads.encode(encoder);
        }
    }

    fn decode(config: &LocusConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let (n_observed, n_left_out, net_factor) = (decoder.u64()?, decoder.u64()?, decoder.f64()?);
        if !(net_factor > 0.0 && net_factor.is_finite()) {
            return Err(decoder.damaged(format!("its net's features are multiplied by {net_factor}")));
        }
        let precision = config.precision_rule().decode(decoder)?;
        let prior = LinearPrior { precision: precision.value(), ..config.prior() };
        let scale = Scale::decode(decoder)?;
        let n_experts = 1 + config.net_sizes.0.len();
        let evidence = Evidence::decode(config.evidence_discount, n_experts, decoder)?;
        let net = FeatureNet::decode(config, shape, decoder)?;
        let mut experts = Vec::new();
        for (net_size, dim) in config.experts(shape.n_features + 1, net.dim()) {
            let net_weight = decoder.f64()?;
            if !(net_weight >= 0.0 && net_weight.is_finite()) {
                return Err(decoder.damaged(format!("an expert weighs its net's features by {net_weight}")));
            }
            let heads = LinearHeads::decode(dim, shape.n_actions, prior, decoder)?;
            experts.push(Expert { net_size, net_prior: config.net_prior, net_weight, heads });
        }
        let seen = config.exploration().look(&experts[0].heads, &scale, n_observed);
        Ok(Self {
            precision,
            scale,
            net_factor,
            evidence,
            seen,
            n_left_out,
            ..Self::assemble(config, net, experts)
        })
    }
}

/// The numbers of one column, each times `factor`.
fn fill_column(panel: &Panel, column: usize, factor: f64, features: &mut [f64]) {
    for (feature, place) in features.iter_mut().enumerate() {
        *place = factor * f64::from(panel.line(feature)[column]);
    }
}
