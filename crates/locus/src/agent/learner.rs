//! The traits that each policy implements: how a model decides, and how it learns.
//!
//! A [`Learner`] processes outcomes and trains; its [`Decider`] holds everything that a decision needs. A snapshot is a clone of
//! the decider, so its large parts are shared (`Arc`) and copied only when the learner changes them.

use super::plan::Plan;
use super::{ADDING, FitReport, JointRows, Replay, Scratch, WeightDraws};
use crate::error::Kind;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::Config;
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

/// The deciding half of a policy: a frozen reward model.
///
/// **Samples** marks methods that draw random numbers from `rng`.
///
/// [`Learner::decider`] returns it. Cloning must be cheap, a few `Arc`s at most: every snapshot is a clone.
pub trait Decider: Clone + Send + Sync + 'static {
    /// Draws one posterior sample of every action's mean reward for each context. **Samples.**
    ///
    /// `rewards` is row-major, with one row per context. A context that is given twice gets two independent samples.
    ///
    /// A model without posterior samples returns the scores that its decisions compare, such as predictions or upper bounds.
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown>;

    /// Whether [`Decider::draw`] returns rewards.
    ///
    /// A decider without a reward model must override [`Decider::choose`] and [`Decider::distribution`], whose defaults call it.
    const HAS_REWARDS: bool = true;

    /// Whether every choice reports its exact propensity, even if the request does not ask for it.
    ///
    /// Set it for rules with known probabilities, such as ε-greedy.
    ///
    /// [`Decider::choose`] then samples from [`Decider::distribution`], unless it is overridden.
    const KNOWS_PROPENSITIES: bool = false;

    /// Decides among the allowed actions. **Samples.**
    ///
    /// The default is Thompson sampling: the allowed action with the highest reward of one draw, the first of ties. Its
    /// propensity is unknown. Override it to find the best action without sampling every reward; the result must equal the best
    /// of [`Decider::draw`] with the same `rng`.
    ///
    /// A model with another exploration rule keeps the default, sets [`Decider::KNOWS_PROPENSITIES`], and computes the
    /// probability of each action in [`Decider::distribution`].
    ///
    /// Decisions should not allocate: [`Scratch::with_rewards`] and [`Scratch::work`] give buffers that a thread reuses.
    fn choose(
        &self,
        request: Request<'_>,
        n_actions: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Result<Choice, Breakdown> {
        if Self::KNOWS_PROPENSITIES {
            return scratch.with_probabilities(n_actions, |probabilities, scratch| {
                self.distribution(request, 1, rng, scratch, probabilities)?;
                Ok(pick(probabilities, rng.uniform()))
            });
        }
        scratch.with_rewards(n_actions, |rewards, scratch| {
            self.draw(&[request.context], rng, scratch, rewards)?;
            #[cfg(test)]
            drawn::keep(rewards);
            request.highest(rewards).map(Choice::new)
        })
    }

    /// Computes the probability of every action: 0 if it is not allowed; the sum is 1. **Samples.**
    ///
    /// The default counts how often each allowed action has the highest reward in `n_draws` draws. Override it if the
    /// probabilities are known or cheaper to compute.
    ///
    /// Probabilities may depend on random numbers of `rng`: the action is sampled from the probabilities afterwards, so they are
    /// exact given these numbers. Their mean over the random numbers must equal the frequency with which [`Decider::choose`]
    /// takes each action.
    fn distribution(
        &self,
        request: Request<'_>,
        n_draws: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        let n_actions = probabilities.len();
        scratch.with_rewards(n_draws * n_actions, |rewards, scratch| {
            scratch.with_copies(request.context, n_draws, |contexts, scratch| {
                self.draw(contexts, rng, scratch, rewards)
            })?;
            win_shares(&request, rewards, probabilities)
        })
    }

    /// Decides for many requests, each with its own random numbers. **Samples.**
    ///
    /// Fails with the index of the request that failed.
    ///
    /// A choice must not depend on the other requests. The default calls [`Decider::choose`] for each request. The policy passes
    /// at most 256 requests at once.
    fn choose_many(
        &self,
        requests: &[Request<'_>],
        n_actions: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        choices: &mut [Choice],
    ) -> Result<(), (usize, Breakdown)> {
        choose_one_by_one(self, requests, n_actions, rngs, scratch, choices)
    }

    /// Computes the probabilities of many requests, row-major. **Samples.**
    ///
    /// Fails with the index of the request that failed. The default calls [`Decider::distribution`] for each request.
    fn distribution_many(
        &self,
        requests: &[Request<'_>],
        n_draws: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), (usize, Breakdown)> {
        distribute_one_by_one(self, requests, n_draws, rngs, scratch, probabilities)
    }

    /// Whether it decides among candidates with features, for [`Shape::described`].
    ///
    /// If so, its learner is built for contexts `[x, f_a]` and a single action, and [`Decider::draw_joint`] must be implemented.
    /// Otherwise the policy refuses to be built for such a shape.
    const HEEDS_CANDIDATES: bool = false;

    /// Draws one posterior sample of the model's weights, and computes the mean reward of every row with it. **Samples.**
    ///
    /// A model without posterior samples returns the scores that its decisions compare. Decisions take the allowed candidate with
    /// the highest reward, unless [`Decider::KNOWS_PROPENSITIES`] is set.
    fn draw_joint(
        &self,
        _rows: JointRows<'_>,
        _rng: &mut Rng,
        _scratch: &mut Scratch,
        _rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        panic!("a decider that sets `Decider::HEEDS_CANDIDATES` must implement `Decider::draw_joint`")
    }

    /// Computes the probability of every candidate: 0 if it is not allowed; the sum is 1. **Samples.**
    ///
    /// The default counts how often each candidate has the highest reward in as many draws as `draws` has samples. Override it if
    /// the probabilities are known, or to use the samples of the weights that decisions share.
    fn distribution_of_candidates(
        &self,
        request: Request<'_>,
        rows: JointRows<'_>,
        draws: &WeightDraws,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        probabilities.fill(0.0);
        scratch.with_rewards(rows.len(), |rewards, scratch| {
            for _ in 0..draws.n_draws() {
                self.draw_joint(rows, rng, scratch, rewards)?;
                probabilities[request.highest(rewards)?] += 1.0;
            }
            probabilities.iter_mut().for_each(|probability| *probability /= draws.n_draws() as f64);
            Ok(())
        })
    }
}

/// [`Decider::choose_many`] by [`Decider::choose`].
pub(crate) fn choose_one_by_one(
    decider: &impl Decider,
    requests: &[Request<'_>],
    n_actions: usize,
    rngs: &mut [Rng],
    scratch: &mut Scratch,
    choices: &mut [Choice],
) -> Result<(), (usize, Breakdown)> {
    for (index, (request, rng)) in requests.iter().zip(rngs).enumerate() {
        let choice = decider.choose(*request, n_actions, rng, scratch);
        choices[index] = choice.map_err(|breakdown| (index, breakdown))?;
    }
    Ok(())
}

/// [`Decider::distribution_many`] by [`Decider::distribution`].
pub(crate) fn distribute_one_by_one(
    decider: &impl Decider,
    requests: &[Request<'_>],
    n_draws: usize,
    rngs: &mut [Rng],
    scratch: &mut Scratch,
    probabilities: &mut [f64],
) -> Result<(), (usize, Breakdown)> {
    let n_actions = probabilities.len() / requests.len().max(1);
    for (index, (request, rng)) in requests.iter().zip(rngs).enumerate() {
        let probabilities = &mut probabilities[index * n_actions..][..n_actions];
        let distributed = decider.distribution(*request, n_draws, rng, scratch, probabilities);
        distributed.map_err(|breakdown| (index, breakdown))?;
    }
    Ok(())
}

/// How often each allowed action has the highest of the drawn rewards; `rewards` has one row per draw.
pub(crate) fn win_shares(
    request: &Request<'_>,
    rewards: &[f64],
    probabilities: &mut [f64],
) -> Result<(), Breakdown> {
    let n_actions = probabilities.len();
    probabilities.fill(0.0);
    for rewards in rewards.chunks_exact(n_actions) {
        probabilities[request.highest(rewards)?] += 1.0;
    }
    let n_draws = (rewards.len() / n_actions) as f64;
    probabilities.iter_mut().for_each(|probability| *probability /= n_draws);
    Ok(())
}

/// Chooses for each request the allowed action with the highest reward. `draw` writes one draw of the rewards for each context,
/// row-major; if it fails, the failed request is the first one with a reward that is not finite.
pub(crate) fn choose_by_draws(
    requests: &[Request<'_>],
    n_actions: usize,
    scratch: &mut Scratch,
    choices: &mut [Choice],
    draw: impl FnOnce(&[&[f32]], &mut Scratch, &mut [f64]) -> Result<(), Breakdown>,
) -> Result<(), (usize, Breakdown)> {
    let contexts: Vec<&[f32]> = requests.iter().map(|request| request.context).collect();
    scratch.with_rewards(requests.len() * n_actions, |rewards, scratch| {
        draw(&contexts, scratch, rewards).map_err(|breakdown| {
            let place = rewards.iter().position(|reward| !reward.is_finite());
            (place.unwrap_or(0) / n_actions, breakdown)
        })?;
        #[cfg(test)]
        drawn::keep(rewards);
        for (index, (request, rewards)) in requests.iter().zip(rewards.chunks_exact(n_actions)).enumerate() {
            let action = request.highest(rewards).map_err(|breakdown| (index, breakdown))?;
            choices[index] = Choice::new(action);
        }
        Ok(())
    })
}

/// The rewards that the last decision, or batch of decisions, of this thread compared.
#[cfg(test)]
pub(crate) mod drawn {
    use std::cell::RefCell;

    thread_local! {
        static REWARDS: RefCell<Vec<f64>> = RefCell::default();
    }

    pub(crate) fn keep(rewards: &[f64]) {
        REWARDS.with_borrow_mut(|kept| {
            kept.clear();
            kept.extend_from_slice(rewards);
        });
    }

    pub(crate) fn take() -> Vec<f64> {
        REWARDS.take()
    }
}

/// The action whose interval of the cumulative probabilities contains the number, with its probability; never one of probability 0.
pub(crate) fn pick(probabilities: &[f64], number: f64) -> Choice {
    let (mut rest, mut last) = (number, 0);
    for (action, &probability) in probabilities.iter().enumerate() {
        if rest < probability {
            return Choice::new(action).with_propensity(probability);
        }
        if probability > 0.0 {
            (rest, last) = (rest - probability, action);
        }
    }
    // Rounding may leave the sum of the shares slightly below 1.
    Choice::new(last).with_propensity(probabilities[last])
}

/// The learning half of a policy. [`Definition::of`](crate::Definition::of) turns it into a policy.
///
/// The policy around it does the rest: it checks inputs and draws, makes the initial pulls, keeps the replay, calls
/// [`Learner::fit`] on schedule, reverts a round of training that diverged, and saves and loads.
pub trait Learner: Clone + Send + Sync + 'static {
    /// Its settings, declared with [`config!`](crate::config).
    type Config: Config;

    /// The deciding half.
    type Decider: Decider;

    /// Whether [`Learner::observe`] and [`Learner::fit`] support weights.
    ///
    /// If not, the policy rejects outcomes with a weight other than 1.
    const HEEDS_WEIGHTS: bool = false;

    /// Whether what [`Learner::observe`] learned decays with the half-life of the plan's [`AgentConfig`](crate::AgentConfig).
    ///
    /// If not, the policy rejects the setting `half_life`. The weights of [`Replay`] decay by themselves; so a learner that
    /// learns from its replay alone, by weight, may set this.
    const FORGETS: bool = false;

    /// Rejects settings that are incompatible with this shape or with each other.
    ///
    /// Return [`Error::invalid_setting`]. Ranges of single settings are checked before.
    fn check(_config: &Self::Config, _shape: Shape) -> Result<(), Error> {
        Ok(())
    }

    /// The initial pulls and the training schedule.
    fn plan(config: &Self::Config) -> Plan;

    /// The untrained model. Randomness comes from streams of `seed`.
    ///
    /// If actions have features, contexts are rows `[x, f_a]` and all outcomes are of action 0: `shape` has 1 action, and the last
    /// `n_action_features` of its features are those of the action.
    fn new(config: &Self::Config, shape: Shape, seed: Seed) -> Self;

    /// The current decider.
    fn decider(&self) -> &Self::Decider;

    /// Learns from one outcome immediately. Rank-one updates belong here; nets do nothing.
    ///
    /// An outcome of weight w counts as w equal ones.
    fn observe(&mut self, _outcome: &Outcome<'_>) {}

    /// Learns from many outcomes immediately. The default calls [`Learner::observe`] for each.
    fn observe_many(&mut self, outcomes: &[Outcome<'_>]) {
        outcomes.iter().for_each(|outcome| self.observe(outcome));
    }

    /// Trains on the replay, on the plan's schedule. **Samples.**
    ///
    /// A learner whose plan is [`Plan::trained`] must implement it; the default panics.
    ///
    /// After an error the policy restores the learner to its state before the call.
    fn fit(&mut self, _replay: &Replay, _rng: &mut Rng) -> Result<FitReport, Breakdown> {
        panic!("a learner whose plan is `Plan::trained` must implement `Learner::fit`")
    }

    /// Adds an action, the last of `shape`. **Samples** its initial values.
    ///
    /// What was learned about the other actions must not change, nor the random numbers that decisions draw for them. `config`
    /// are the settings that the policy was built with; they passed [`Learner::check`] for the new shape.
    ///
    /// The default refuses. An error must leave the learner as it was.
    fn add_action(&mut self, _config: &Self::Config, _shape: Shape, _rng: &mut Rng) -> Result<(), Error> {
        Err(Kind::Unsupported { policy: String::new(), what: ADDING }.into())
    }

    /// Writes the state that [`Learner::decode`] needs to continue.
    fn encode(&self, encoder: &mut Encoder);

    /// Reads what [`Learner::encode`] wrote. Must not panic on any bytes: fail with [`Decoder::damaged`].
    fn decode(config: &Self::Config, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error>;
}

/// A numerical error inside a model: a number that is not finite.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Breakdown {
    /// The computation that gave it.
    pub place: String,
    /// The number.
    pub found: f64,
}

impl Breakdown {
    /// `place` completes the sentence "… gave NaN in round 7".
    pub fn new(place: impl Into<String>, found: f64) -> Self {
        Self { place: place.into(), found }
    }
}

/// The index of the highest reward, the first of ties.
#[cfg(any(test, feature = "contract"))]
pub(crate) fn highest(rewards: &[f64]) -> Result<usize, Breakdown> {
    Request::new(0, &[]).highest(rewards)
}

/// Fails if a drawn reward is not a finite number.
pub(crate) fn check_reward(action: usize, reward: f64) -> Result<(), Breakdown> {
    if reward.is_finite() {
        return Ok(());
    }
    Err(Breakdown::new(format!("the drawn reward of action {action}"), reward))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_by_share_and_never_without_one() {
        let shares = [0.0, 0.25, 0.0, 0.5, 0.25, 0.0];
        for (number, action) in [(1e-9, 1), (0.2499, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (1.0 - 1e-16, 4)]
        {
            let choice = pick(&shares, number);
            assert_eq!(choice, Choice::new(action).with_propensity(shares[action]), "{number}");
        }
        // Shares that rounding left short of 1.
        assert_eq!(pick(&[0.5, 0.4999999999999, 0.0], 1.0 - 1e-16).action, 1);
    }

    #[test]
    fn shares_count_wins_among_the_allowed() {
        let rewards = [1.0, 2.0, 3.0, 9.0, 2.0, 1.0, 0.0, 0.0, -1.0, 1.0, 5.0, f64::NAN];
        let allowed = [true, true, false];
        let request = Request::new(0, &[]).allowing(&allowed);
        let mut shares = [0.0; 3];
        win_shares(&request, &rewards, &mut shares).unwrap();
        assert_eq!(shares, [0.5, 0.5, 0.0]);
        assert!(win_shares(&Request::new(0, &[]), &rewards, &mut shares).is_err());
    }
}
