//! Decisions at random, with probabilities that a rule makes of predicted rewards: what ε-greedy and Boltzmann exploration share.
//!
//! One reward net predicts, and is certain of what it predicts; all exploration is in the rule ([`Randomize`]). So every choice
//! knows exactly how probable it was. Nothing is drawn but the action: [`Decider::draw`] gives the predictions, the same each time.

use std::sync::Arc;

use crate::agent::{Breakdown, Cache, Decider, FitReport, Learner, Plan, Replay, Scratch};
use crate::model::net::reward_net::{AllUnits, NetWork, RewardNetConfig, Trainer, Weights};
use crate::model::training::reward_scaling::RewardScaling;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::{AgentConfig, Config};
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

/// A rule that makes probabilities of predicted rewards; it is the policy's settings.
pub(crate) trait Randomize: Config {
    /// Settings of the net.
    fn net(&self) -> &RewardNetConfig;

    /// Settings of the policy around it.
    fn agent(&self) -> &AgentConfig;

    /// Replaces the predicted rewards of all actions, finite numbers, by the probabilities of taking them in this round.
    /// `reward_std` is the standard deviation of all rewards seen so far, 1 where they have none.
    fn probabilities(&self, round: u64, reward_std: f64, rewards: &mut [f64]);
}

/// A reward net, and the rule by which it is acted on.
#[derive(Clone, Debug)]
pub(crate) struct RandomizedDecider<R> {
    rule: Arc<R>,
    weights: Arc<Weights>,
    reward_std: f64,
}

/// The same, with what it learns by.
#[derive(Clone, Debug)]
pub(crate) struct Randomized<R> {
    decider: RandomizedDecider<R>,
    trainer: Trainer,
    scaling: RewardScaling,
    /// Room for what is computed in learning; a copy makes its own.
    work: Cache<NetWork>,
}

impl<R: Randomize> Randomized<R> {
    fn assemble(rule: &R, (weights, trainer): (Weights, Trainer), scaling: RewardScaling) -> Self {
        let (rule, weights, reward_std) = (Arc::new(rule.clone()), Arc::new(weights), reward_std(scaling));
        Self {
            decider: RandomizedDecider { rule, weights, reward_std },
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

/// The standard deviation of all rewards seen so far, 1 where they have none.
fn reward_std(scaling: RewardScaling) -> f64 {
    scaling.scale(true).std
}

impl<R: Randomize> Decider for RandomizedDecider<R> {
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

    fn choose(
        &self,
        request: Request<'_>,
        n_actions: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Result<Choice, Breakdown> {
        scratch.with_rewards(n_actions, |rewards, scratch| {
            self.draw(&[request.context], rng, scratch, rewards)?;
            self.rule.probabilities(request.round, self.reward_std, rewards);
            let action = pick(rewards, rng.uniform());
            Ok(Choice::new(action).with_propensity(rewards[action]))
        })
    }
}

impl<R: Randomize> Learner for Randomized<R> {
    type Config = R;
    type Decider = RandomizedDecider<R>;

    fn plan(config: &R) -> Plan {
        config.net().plan(config.agent())
    }

    fn new(config: &R, shape: Shape, seed: Seed) -> Self {
        let net = Trainer::new(config.net(), shape, &mut seed.stream("init", 0));
        Self::assemble(config, net, RewardScaling::default())
    }

    fn decider(&self) -> &RandomizedDecider<R> {
        &self.decider
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        self.scaling.observe(outcome.reward);
        self.decider.reward_std = reward_std(self.scaling);
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        self.trainer.fit(&mut self.decider.weights, replay, &AllUnits, rng, &mut self.work)
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.scaling.encode(encoder);
        self.trainer.encode(&self.decider.weights, encoder);
    }

    fn decode(config: &R, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let scaling = RewardScaling::decode(decoder)?;
        Ok(Self::assemble(config, Trainer::decode(config.net(), shape, decoder)?, scaling))
    }
}

/// The action in whose share of (0, 1) the number falls; never one without a share.
fn pick(probabilities: &[f64], number: f64) -> usize {
    let (mut rest, mut last) = (number, 0);
    for (action, &probability) in probabilities.iter().enumerate() {
        if rest < probability {
            return action;
        }
        if probability > 0.0 {
            (rest, last) = (rest - probability, action);
        }
    }
    // The shares add up to 1 but for rounding, which leaves the last one a little short.
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_by_share_and_never_without_one() {
        let shares = [0.0, 0.25, 0.0, 0.5, 0.25, 0.0];
        for (number, action) in [(1e-9, 1), (0.2499, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (1.0 - 1e-16, 4)]
        {
            assert_eq!(pick(&shares, number), action, "{number}");
        }
        // Shares that rounding left short of 1.
        assert_eq!(pick(&[0.5, 0.4999999999999, 0.0], 1.0 - 1e-16), 1);
    }
}
