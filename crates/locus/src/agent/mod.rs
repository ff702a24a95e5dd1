//! How is an action chosen, and learned?
//!
//! Callers use two traits. [`Choose`] decides and cannot learn; threads share it. [`Policy`] learns and creates snapshots that
//! implement [`Choose`]. Authors of policies implement two more, [`Learner`] and its [`Decider`]; `Agent` turns them into a
//! policy.

mod actions;
#[cfg(any(test, feature = "contract"))]
#[allow(clippy::unwrap_used, reason = "a check that fails panics")]
pub mod contract;
mod joint;
mod learner;
mod plan;
mod replay;
mod scratch;
#[cfg(test)]
mod tests;
mod wrapper;

use std::sync::Arc;

use crate::error::Kind;
use crate::{Choice, Error, Outcome, Request, Seed, Shape};

pub use joint::{JointRows, WeightDraws};
pub(crate) use learner::check_reward;
#[cfg(any(test, feature = "contract"))]
pub(crate) use learner::highest;
pub use learner::{Breakdown, Decider, Learner};
pub(crate) use learner::{choose_by_draws, choose_one_by_one, distribute_one_by_one, pick, win_shares};
pub use plan::Plan;
pub use replay::{Observation, Replay};
pub(crate) use scratch::Cache;
pub use scratch::Scratch;
pub(crate) use wrapper::Agent;

/// The deciding interface of a policy: it cannot learn, and is safe to share between threads.
pub trait Choose: Send + Sync {
    /// The policy in canonical form, for records, tables and files: `lin-full-post[prior_precision=1]`.
    fn name(&self) -> &str;

    /// The number of features that it was built for, and the number of actions that it has.
    fn shape(&self) -> Shape;

    /// Decides for one request. **Samples** from the stream of its seed for the request's round.
    ///
    /// Does not block, and does not allocate once its thread has made a decision of this size. The one exception: if actions have
    /// features ([`Shape::described`]), the first decision with a propensity after the policy learned draws samples of the weights
    /// that those after it share, and other threads wait for it.
    fn choose(&self, request: Request<'_>) -> Result<Choice, Error>;

    /// Computes the probability of every action, 0 for those that the request does not allow. **Samples.**
    ///
    /// If a request asks for its propensity, the action is sampled from these probabilities. Besides the context they may depend
    /// on random numbers, such as a noise variance or posterior samples of a net, which come from the stream of the round. So the
    /// reported propensity is exact, even where the probabilities only approximate those of Thompson sampling. The same round
    /// gives the same probabilities and the same action.
    ///
    /// If actions have features, the probabilities are shares of samples of the model's weights. Decisions between two calls of
    /// [`Policy::learn`] share these samples: given them, their actions are independent and their propensities exact.
    ///
    /// `probabilities` must have one entry for each action or candidate. [`Request::with_propensity`] has no effect here.
    ///
    /// With the default setting `floor=0` an action may have the probability 0, and offline evaluation cannot estimate its value.
    /// Set `floor=0.1` to spread a tenth of the probability evenly over the allowed actions, in every decision.
    fn distribution(&self, request: Request<'_>, probabilities: &mut [f64]) -> Result<(), Error>;

    /// Decides for many requests and returns the choices in the same order. Allocates.
    ///
    /// Faster than single calls: linear policies share the pass over their factors, nets the product with their weights. A choice
    /// does not depend on the other requests. Linear policies make exactly the choices of [`Choose::choose`]. The rewards that
    /// nets sample differ by rounding, by less than 1e-5 of their size.
    ///
    /// Fails if a request is invalid or cannot be decided; [`Error::index`] says which.
    fn choose_many(&self, requests: &[Request<'_>]) -> Result<Vec<Choice>, Error> {
        let mut choices = vec![Choice::new(0); requests.len()];
        self.choose_into(requests, &mut choices)?;
        Ok(choices)
    }

    /// Like [`Choose::choose_many`], into a slice with one entry for each request.
    ///
    /// After an error its contents are unspecified.
    fn choose_into(&self, requests: &[Request<'_>], choices: &mut [Choice]) -> Result<(), Error> {
        check_length("choices", choices.len(), requests.len())?;
        for (index, (request, choice)) in requests.iter().zip(choices).enumerate() {
            *choice = self.choose(*request).map_err(|cause| cause.of_request(index))?;
        }
        Ok(())
    }

    /// Computes the probabilities of many requests. Allocates.
    ///
    /// `probabilities` has the probabilities of one request after those of another, one entry per action or candidate. After an error its contents are
    /// unspecified; [`Error::index`] says which request failed.
    fn distribution_many(&self, requests: &[Request<'_>], probabilities: &mut [f64]) -> Result<(), Error> {
        let shape = self.shape();
        let total = requests.iter().map(|request| request.n_actions(shape)).sum();
        check_length("probabilities", probabilities.len(), total)?;
        let mut rest = probabilities;
        for (index, request) in requests.iter().enumerate() {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(request.n_actions(shape));
            self.distribution(*request, own).map_err(|cause| cause.of_request(index))?;
            rest = others;
        }
        Ok(())
    }

    /// Samples every action's mean reward for each context, as a decision would. Allocates.
    ///
    /// The result is row-major, with one row per context and one entry per action. **Samples** from the stream `"sample"` of
    /// `round`.
    ///
    /// If actions have features, pass rows `[x, f_a]`, the features of the context followed by those of the action. The result has
    /// one reward for each row, all of one sample of the model's weights; the LU policies' local uncertainty is drawn for each row.
    ///
    /// Pass one context many times to see its posterior, or many contexts once each. Policies that do not sample rewards return
    /// the deterministic scores that they compare: predicted rewards (`epsilon-greedy`, `boltzmann`) or upper bounds (`lin-ucb`).
    /// A policy without a reward model fails ([`Error::is_no_rewards`]).
    fn sample_rewards(&self, _round: u64, _contexts: &[&[f32]]) -> Result<Vec<f64>, Error> {
        Err(Kind::NoRewards { policy: self.name().to_owned() }.into())
    }
}

/// A decision rule that learns from bandit feedback.
pub trait Policy: Choose {
    /// Learns from one outcome, and trains when training is due.
    ///
    /// Outcomes may be delayed, reordered or missing; the learned state depends on their order.
    ///
    /// Bad input is an error and changes nothing. If training diverges ([`Error::is_numeric`]), the outcome is still stored and the model
    /// keeps its state from before this round of training: do not submit the outcome again.
    fn learn(&mut self, outcome: Outcome<'_>) -> Result<FitReport, Error>;

    /// Learns from many outcomes, in their order, and trains at most once.
    ///
    /// Training happens after the last outcome, if any of them made it due.
    ///
    /// Use it for logs and for batched rewards. It is faster than single calls. Linear policies learn the same as from single
    /// calls, up to rounding; a policy that trains on a schedule trains once instead of several times.
    ///
    /// If one outcome is invalid, nothing is learned and [`Error::index`] says which.
    fn learn_many(&mut self, outcomes: &[Outcome<'_>]) -> Result<FitReport, Error>;

    /// Trains if training is due. Only a policy with the setting `training=manual` needs it.
    ///
    /// [`Policy::learn`] then only takes note of outcomes: it updates posteriors in place where a policy has them, which takes
    /// microseconds, but leaves nets and rebuilds to this call, which takes milliseconds. Decide with snapshots while it runs. A
    /// call after every outcome gives the same policy as `training=auto`.
    ///
    /// Returns the default report if nothing was due. Fails as [`Policy::learn`] does if training diverges.
    fn train(&mut self) -> Result<FitReport, Error> {
        Ok(FitReport::default())
    }

    /// The seed that it was built with.
    fn seed(&self) -> Seed;

    /// How many outcomes were learned.
    fn n_observed(&self) -> u64;

    /// The highest round among the learned outcomes.
    ///
    /// `None` if there is none, or if an earlier version saved the policy without it.
    fn last_round(&self) -> Option<u64>;

    /// The first round that is still free: above every round learned, and at least what [`Policy::set_next_round`] set.
    ///
    /// Saved with the policy. Use it to number decisions after a restart.
    fn next_round(&self) -> u64;

    /// Stores the caller's counter of decisions, to be saved with the policy. Decisions do not depend on it; a counter
    /// below [`Policy::next_round`] changes nothing.
    fn set_next_round(&mut self, round: u64);

    /// Adds an action to the running policy, and returns its index: the number of actions before.
    ///
    /// The new action starts as all actions of an untrained policy do: linear models at their prior, nets with a new output. It
    /// is forced, as initial pulls are, while it has fewer than `initial_pulls` observations and the round is below the highest
    /// round learned so far plus `initial_pulls` times the new number of actions. Nothing that was learned about the other actions
    /// changes, and linear policies draw the same rewards for them as without the addition. Masks and probabilities have an
    /// entry more from now on; earlier snapshots keep their number of actions.
    ///
    /// Costs about as much as building the policy. Fails, and changes nothing, if the policy cannot add actions
    /// ([`Error::is_unsupported`]), as where features describe them, or no more of them ([`Error::is_invalid_config`]).
    fn add_action(&mut self) -> Result<usize, Error> {
        Err(Kind::Unsupported { policy: self.name().to_owned(), what: ADDING }.into())
    }

    /// Retires an action: no decision takes it until [`Policy::restore_action`].
    ///
    /// It keeps its index and everything that was learned, and the policy still learns from outcomes that arrive late. Decisions
    /// are those of requests that do not allow it. A request that then allows no action is an error. Saved with the policy;
    /// earlier snapshots still take it. Retiring a retired action changes nothing.
    ///
    /// Fails if there is no such action.
    fn retire_action(&mut self, _action: usize) -> Result<(), Error> {
        Err(Kind::Unsupported { policy: self.name().to_owned(), what: RETIRING }.into())
    }

    /// Makes a retired action available again, with everything that was learned. If it is not retired, nothing changes.
    ///
    /// Fails if there is no such action.
    fn restore_action(&mut self, _action: usize) -> Result<(), Error> {
        Err(Kind::Unsupported { policy: self.name().to_owned(), what: RETIRING }.into())
    }

    /// The actions that are retired, in ascending order.
    fn retired_actions(&self) -> Vec<usize> {
        Vec::new()
    }

    /// A frozen copy that decides while this policy learns.
    ///
    /// Costs well under a microsecond. The next [`Policy::learn`] then copies the part that it changes: one action's posterior in a linear
    /// policy, the weights of a net when it trains.
    fn snapshot(&self) -> Arc<dyn Choose>;

    /// Serializes the whole policy, versioned and checksummed; [`load`](crate::load) resumes from it exactly.
    fn save(&self) -> Vec<u8>;
}

/// What a policy may not support, as [`Kind::Unsupported`] says it: the end of "cannot …", and what to do instead.
pub(crate) const ADDING: (&str, &str) = (
    "add actions",
    "build it with as many as there may be, and allow those that exist with `Request::allowing`",
);
pub(crate) const NUMBERED: (&str, &str) = (
    "add, retire or restore actions that are described by features",
    "give those that exist as the candidates of each request",
);
const RETIRING: (&str, &str) = ("retire or restore actions", "leave them out of `Request::allowing`");

/// Statistics of a call of [`Policy::learn`] or [`Learner::fit`]; the default means no training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FitReport {
    /// Minibatches that were trained on.
    pub minibatches: u32,
    /// Mean loss over these minibatches.
    pub mean_loss: Option<f64>,
    /// How often a guard changed a number to continue training.
    ///
    /// An example is a standard deviation clamped at its floor.
    pub interventions: u64,
}

impl FitReport {
    /// A round of training on `minibatches` minibatches, with their mean loss.
    pub const fn new(minibatches: u32, mean_loss: f64) -> Self {
        Self { minibatches, mean_loss: Some(mean_loss), interventions: 0 }
    }
}

/// Fails unless a slice for results has the expected length.
pub(crate) fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    match found == expected {
        true => Ok(()),
        false => Err(Kind::ResultLength { what, found, expected }.into()),
    }
}
