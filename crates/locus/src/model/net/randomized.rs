//! Decisions at random, with probabilities that a rule makes of predicted rewards: what ε-greedy and Boltzmann exploration share.
//!
//! One reward net predicts, and is certain of what it predicts; all exploration is in the rule ([`Randomize`]). So every choice
//! knows exactly how probable it was. Nothing is drawn but the action: [`RewardModel::draw`] gives the predictions, the same each time.

use crate::agent::FitReport;
use crate::agent::replay::Replay;
use crate::agent::scratch::{Cache, Scratch};
use crate::agent::wrapper::{Breakdown, RewardModel};
use crate::model::net::reward_net::{AllUnits, NetConfig, NetWork, TrainedNet};
use crate::model::training::reward_scaling::RewardScaling;
use crate::registry::save::{Decoder, Encoder};
use crate::{Choice, Error, Outcome, Propensity, Request, Rng, Seed, Shape};

/// A rule that makes probabilities of predicted rewards; it is the policy's settings.
pub trait Randomize: NetConfig {
    /// Replaces the predicted rewards of all actions, finite numbers, by the probabilities of taking them in this round.
    /// `reward_std` is the standard deviation of all rewards seen so far, 1 where they have none.
    fn probabilities(&self, round: u64, reward_std: f64, rewards: &mut [f64]);
}

/// A reward net, and the rule by which it is acted on.
#[derive(Clone, Debug)]
pub struct Randomized<R> {
    rule: R,
    trained: TrainedNet,
    scaling: RewardScaling,
    /// Room for what is computed in learning; a copy makes its own.
    work: Cache<NetWork>,
}

impl<R: Randomize> Randomized<R> {
    /// The standard deviation of all rewards seen so far, 1 where they have none.
    pub(crate) fn reward_std(&self) -> f64 {
        self.scaling.scale(true).std
    }
}

impl<R: Randomize> RewardModel for Randomized<R> {
    type Config = R;

    fn new(config: &R, shape: Shape, seed: Seed) -> Self {
        let trained = TrainedNet::new(config.net(), shape, &mut seed.stream("init", 0));
        Self { rule: config.clone(), trained, scaling: RewardScaling::default(), work: Cache::default() }
    }

    /// The predicted rewards.
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.trained.predict(contexts, &AllUnits, rng, scratch.work(), rewards)
    }

    fn choose(
        &self,
        request: Request<'_>,
        rng: &mut Rng,
        scratch: &mut Scratch,
        n_actions: usize,
    ) -> Result<Choice, Breakdown> {
        scratch.with_rewards(n_actions, |rewards, scratch| {
            self.draw(&[request.context], rng, scratch, rewards)?;
            self.rule.probabilities(request.round, self.reward_std(), rewards);
            let action = pick(rewards, rng.uniform());
            Ok(Choice { action, propensity: Propensity::Exact(rewards[action]) })
        })
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        self.scaling.observe(outcome.reward);
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        self.trained.fit(replay, &AllUnits, rng, &mut self.work)
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.scaling.encode(encoder);
        self.trained.encode(encoder);
    }

    fn decode(config: &R, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let scaling = RewardScaling::decode(decoder)?;
        let trained = TrainedNet::decode(config.net(), shape, decoder)?;
        Ok(Self { rule: config.clone(), trained, scaling, work: Cache::default() })
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
