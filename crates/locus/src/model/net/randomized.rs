//! Random decisions with probabilities from predicted rewards, shared by ε-greedy and Boltzmann exploration.
//!
//! One reward net predicts, without uncertainty; all exploration is in the rule ([`Randomize`]). So every choice has an exact
//! propensity. Only the action is random: [`Decider::draw`] returns the predictions, which are deterministic.

use std::sync::Arc;

use crate::agent::{
    Breakdown, Cache, Decider, FitReport, JointRows, Learner, Plan, Replay, Scratch, WeightDraws, pick,
};
use crate::model::net::reward_net::{AllUnits, NetWork, RewardNetConfig, Trainer, Weights};
use crate::model::training::reward_scaling::RewardScaling;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::{AgentConfig, Config};
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

/// A rule that maps predicted rewards to probabilities; the policy's settings implement it.
pub(crate) trait Randomize: Config {
    /// Settings of the net.
    fn net(&self) -> &RewardNetConfig;

    /// Settings of the policy around it.
    fn agent(&self) -> &AgentConfig;

    /// Replaces the predicted rewards of the allowed actions, finite numbers, by their probabilities after `n_observed`
    /// observations. `reward_std` is the standard deviation of all rewards so far, or 1 if it is 0.
    fn probabilities(&self, n_observed: f64, reward_std: f64, rewards: &mut [f64]);
}

/// A reward net and its decision rule.
#[derive(Clone, Debug)]
pub(crate) struct RandomizedDecider<R> {
    rule: Arc<R>,
    weights: Arc<Weights>,
    n_observed: f64,
    reward_std: f64,
}

/// The decider and its training state.
#[derive(Clone, Debug)]
pub(crate) struct Randomized<R> {
    decider: RandomizedDecider<R>,
    trainer: Trainer,
    scaling: RewardScaling,
    /// Buffers for learning; a clone allocates its own.
    work: Cache<NetWork>,
}

impl<R: Randomize> Randomized<R> {
    fn assemble(rule: &R, (weights, trainer): (Weights, Trainer), scaling: RewardScaling) -> Self {
        let (n_observed, reward_std) = (scaling.n, reward_std(scaling));
        let (rule, weights) = (Arc::new(rule.clone()), Arc::new(weights));
        Self {
            decider: RandomizedDecider { rule, weights, n_observed, reward_std },
            trainer,
            scaling,
            work: Cache::default(),
        }
    }

    #[cfg(test)]
    pub(super) fn reward_std(&self) -> f64 {
        self.decider.reward_std
    }
}

/// The standard deviation of all rewards so far, or 1 if it is 0.
fn reward_std(scaling: RewardScaling) -> f64 {
    scaling.scale(true).std
}

impl<R: Randomize> Decider for RandomizedDecider<R> {
    const KNOWS_PROPENSITIES: bool = true;

    /// The predicted rewards.
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.weights.predict(contexts, &AllUnits, rng, scratch.work(), rewards)
    }

    fn distribution(
        &self,
        request: Request<'_>,
        _n_draws: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.draw(&[request.context], rng, scratch, probabilities)?;
        self.apply_rule(&request, probabilities);
        Ok(())
    }

    fn choose_many(
        &self,
        requests: &[Request<'_>],
        n_actions: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        choices: &mut [Choice],
    ) -> Result<(), (usize, Breakdown)> {
        scratch.with_probabilities(requests.len() * n_actions, |probabilities, scratch| {
            self.distribution_many(requests, 1, rngs, scratch, probabilities)?;
            let decided = choices.iter_mut().zip(rngs).zip(probabilities.chunks_exact(n_actions));
            decided.for_each(|((choice, rng), probabilities)| *choice = pick(probabilities, rng.uniform()));
            Ok(())
        })
    }

    fn distribution_many(
        &self,
        requests: &[Request<'_>],
        _n_draws: usize,
        _rngs: &mut [Rng],
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), (usize, Breakdown)> {
        let Weights { net, parameters } = &*self.weights;
        let contexts: Vec<&[f32]> = requests.iter().map(|request| request.context).collect();
        net.predict_batch(parameters, &contexts, scratch.work(), probabilities, |_| {}).map_err(
            |breakdown| {
                let place = probabilities.iter().position(|reward| !reward.is_finite());
                (place.unwrap_or(0) / net.n_actions(), breakdown)
            },
        )?;
        for (request, probabilities) in requests.iter().zip(probabilities.chunks_exact_mut(net.n_actions())) {
            self.apply_rule(request, probabilities);
        }
        Ok(())
    }

    const HEEDS_CANDIDATES: bool = true;

    fn draw_joint(
        &self,
        rows: JointRows<'_>,
        _rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let Weights { net, parameters } = &*self.weights;
        net.predict_joint(parameters, rows, scratch.work(), rewards, |_| {})
    }

    fn distribution_of_candidates(
        &self,
        request: Request<'_>,
        rows: JointRows<'_>,
        _draws: &WeightDraws,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.draw_joint(rows, rng, scratch, probabilities)?;
        self.apply_rule(&request, probabilities);
        Ok(())
    }
}

impl<R: Randomize> RandomizedDecider<R> {
    /// Replaces predicted rewards by probabilities, those of the allowed actions as if there were no others.
    fn apply_rule(&self, request: &Request<'_>, rewards: &mut [f64]) {
        let mut n_allowed = 0;
        for action in 0..rewards.len() {
            if request.allows(action) {
                rewards[n_allowed] = rewards[action];
                n_allowed += 1;
            }
        }
        self.rule.probabilities(self.n_observed, self.reward_std, &mut rewards[..n_allowed]);
        for action in (0..rewards.len()).rev() {
            rewards[action] = if request.allows(action) {
                n_allowed -= 1;
                rewards[n_allowed]
            } else {
                0.0
            };
        }
    }
}

impl<R: Randomize> Learner for Randomized<R> {
    type Config = R;
    type Decider = RandomizedDecider<R>;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn plan(config: &R) -> Plan {
        config.net().plan(config.agent())
    }

    fn new(config: &R, shape: Shape, seed: Seed) -> Self {
        let net = Trainer::new(config.net(), shape, &mut seed.stream("init", 0));
        Self::assemble(config, net, RewardScaling::forgetting(config.agent().half_life))
    }

    fn decider(&self) -> &RandomizedDecider<R> {
        &self.decider
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        self.scaling.observe(outcome);
        self.decider.n_observed = self.scaling.n;
        self.decider.reward_std = reward_std(self.scaling);
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        self.trainer.fit(&mut self.decider.weights, replay, &AllUnits, rng, &mut self.work)
    }

    fn add_action(&mut self, _rule: &R, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        self.trainer.add_action(Arc::make_mut(&mut self.decider.weights), shape, rng);
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.scaling.encode(encoder);
        self.trainer.encode(&self.decider.weights, encoder);
    }

    fn decode(config: &R, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let scaling = RewardScaling::decode(config.agent().half_life, decoder)?;
        Ok(Self::assemble(config, Trainer::decode(config.net(), shape, decoder)?, scaling))
    }
}
