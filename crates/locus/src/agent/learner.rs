//! What differs between policies: how a model decides, and how it learns.
//!
//! A [`Learner`] takes in outcomes and trains; the [`Decider`] inside it is all that a decision needs. A snapshot is a copy of the
//! decider alone, so what is large in it is shared (`Arc`) and copied only when the learner changes it.

use super::plan::Plan;
use super::{FitReport, Replay, Scratch};
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::Config;
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

/// What decides: a model of rewards as the last outcome left it. **Samples** marks methods that draw random numbers from `rng`.
///
/// [`Learner::decider`] gives it. Cloning must be cheap, a few `Arc`s at most: every snapshot is a clone.
pub trait Decider: Clone + Send + Sync + 'static {
    /// Draws one posterior sample of every action's mean reward for each context into `rewards`, the rewards of a context side by
    /// side. A context given twice is drawn for twice. **Samples.**
    ///
    /// A model that is not sampled from gives what its decisions compare, such as predictions or upper bounds.
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown>;

    /// Whether [`Decider::draw`] gives rewards. A decider without a reward model must override [`Decider::choose`] and
    /// [`Decider::distribution`], whose defaults draw.
    const HAS_REWARDS: bool = true;

    /// Whether every choice knows its exact propensity without being asked, because it follows a rule other than Thompson sampling.
    ///
    /// [`Decider::choose`] then samples from [`Decider::distribution`], unless it is overridden.
    const KNOWS_PROPENSITIES: bool = false;

    /// Decides among the allowed actions. **Samples.**
    ///
    /// The default is Thompson sampling: the allowed action with the highest reward of one draw, the first of several. Its propensity is
    /// unknown. Override it to find the best action without sampling every reward; the result must equal the best of
    /// [`Decider::draw`] with the same `rng`.
    ///
    /// A model that explores by a rule of its own leaves this as it is, sets [`Decider::KNOWS_PROPENSITIES`], and says in
    /// [`Decider::distribution`] how probable each action is.
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

    /// Fills in the probability of every action: 0 for those that are not allowed, 1 in all. **Samples.**
    ///
    /// The default counts how often each allowed action has the highest reward in `n_draws` draws. Override it where the probabilities
    /// are known, or cheaper to compute.
    ///
    /// Probabilities may depend on random numbers of `rng`: the action is sampled from them afterwards, so they are exact given these numbers. On
    /// average over them, they must be how often [`Decider::choose`] takes each action.
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

    /// Decides for many requests, each with its own random numbers. **Samples.** Fails with the index of a request that failed.
    ///
    /// A choice must not depend on the other requests. The default decides one by one. The policy around it asks for at most 256 at once.
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

    /// Fills in the probabilities of many requests, those of a request side by side. **Samples.** Fails with the index of a request
    /// that failed. The default does so one by one.
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

/// How often each allowed action has the highest of the drawn rewards, those of a draw side by side.
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

/// Takes for each request the allowed action of the highest reward. `draw` fills in the rewards of one draw for each context, those of a
/// context side by side; if it fails, the request that failed is the first with a reward that is not finite.
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

/// The action in whose share of (0, 1) the number falls, with its share; never one without a share.
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
    // The shares add up to 1 but for rounding, which leaves the last one a little short.
    Choice::new(last).with_propensity(probabilities[last])
}

/// What learns. [`Definition::of`](crate::Definition::of) makes a policy of it.
///
/// The policy around it does the rest: it checks inputs and draws, plays the initial pulls, keeps the replay, calls
/// [`Learner::fit`] on schedule, undoes a training round that diverged, and saves and loads.
pub trait Learner: Clone + Send + Sync + 'static {
    /// Its settings, declared with [`config!`](crate::config).
    type Config: Config;

    /// What it decides with.
    type Decider: Decider;

    /// Whether [`Learner::observe`] and [`Learner::fit`] heed weights; if not, the policy refuses outcomes of another weight than 1.
    const HEEDS_WEIGHTS: bool = false;

    /// Rejects settings that are individually valid but incompatible with this shape or with each other; see [`Error::invalid_setting`].
    fn check(_config: &Self::Config, _shape: Shape) -> Result<(), Error> {
        Ok(())
    }

    /// How the policy around it behaves.
    fn plan(config: &Self::Config) -> Plan;

    /// The untrained model. Randomness comes from streams of `seed`.
    fn new(config: &Self::Config, shape: Shape, seed: Seed) -> Self;

    /// What decides now.
    fn decider(&self) -> &Self::Decider;

    /// Takes in one outcome at once. Rank-one updates belong here; nets do nothing.
    ///
    /// An outcome of weight w counts as w equal ones.
    fn observe(&mut self, _outcome: &Outcome<'_>) {}

    /// Takes in many outcomes at once. The default does so one by one.
    fn observe_many(&mut self, outcomes: &[Outcome<'_>]) {
        outcomes.iter().for_each(|outcome| self.observe(outcome));
    }

    /// Trains on the replay, when the plan says so. **Samples.** A learner whose plan is [`Plan::trained`] must implement it; the default panics.
    ///
    /// After an error the policy restores the learner as it was before the call.
    fn fit(&mut self, _replay: &Replay, _rng: &mut Rng) -> Result<FitReport, Breakdown> {
        panic!("a learner whose plan is `Plan::trained` must implement `Learner::fit`")
    }

    /// Writes all that [`Learner::decode`] needs to continue.
    fn encode(&self, encoder: &mut Encoder);

    /// Reads what [`Learner::encode`] wrote. No bytes may panic it: fail with [`Decoder::damaged`] instead.
    fn decode(config: &Self::Config, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error>;
}

/// A numerical error inside a model: a number that is not finite.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Breakdown {
    /// Which computation.
    pub place: String,
    /// What came out.
    pub found: f64,
}

impl Breakdown {
    /// `place` completes the sentence "… gave NaN in round 7".
    pub fn new(place: impl Into<String>, found: f64) -> Self {
        Self { place: place.into(), found }
    }
}

/// The index of the highest reward, the first of several.
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
