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

    /// Decides. **Samples.**
    ///
    /// The default is Thompson sampling: the action with the highest reward of one draw, the first of several. Its propensity is
    /// unknown. Override it to find the best action without sampling every reward; the result must equal the best of
    /// [`Decider::draw`] with the same `rng`. A model that explores in another way decides here by its own rule, and reports the
    /// propensity if it knows it: `Choice::new(action).with_propensity(probability)`.
    ///
    /// Decisions should not allocate: [`Scratch::with_rewards`] and [`Scratch::work`] give buffers that a thread reuses.
    fn choose(
        &self,
        request: Request<'_>,
        n_actions: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Result<Choice, Breakdown> {
        scratch.with_rewards(n_actions, |rewards, scratch| {
            self.draw(&[request.context], rng, scratch, rewards)?;
            highest(rewards).map(Choice::new)
        })
    }
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
    fn observe(&mut self, _outcome: &Outcome<'_>) {}

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

/// The index of the highest reward, the first of several. Fails if any is not a finite number: no policy acts on such a draw.
///
/// # Panics
///
/// If there is no reward.
pub fn highest(rewards: &[f64]) -> Result<usize, Breakdown> {
    assert!(!rewards.is_empty(), "there is no reward to compare");
    let mut best = 0;
    for (action, &reward) in rewards.iter().enumerate() {
        check_reward(action, reward)?;
        if reward > rewards[best] {
            best = action;
        }
    }
    Ok(best)
}

/// Fails if a drawn reward is not a finite number.
pub(crate) fn check_reward(action: usize, reward: f64) -> Result<(), Breakdown> {
    if reward.is_finite() {
        return Ok(());
    }
    Err(Breakdown::new(format!("the drawn reward of action {action}"), reward))
}
