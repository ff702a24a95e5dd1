//! How is an action chosen, and learned?
//!
//! Two traits face the caller. [`Choose`] decides and cannot learn; it is shared between threads. [`Policy`] learns and gives out
//! such deciders. Two more face whoever writes a policy: a [`Learner`] and its [`Decider`], which `Agent` makes a policy of.

#[cfg(any(test, feature = "contract"))]
#[allow(clippy::unwrap_used, reason = "a check that fails panics")]
pub mod contract;
mod learner;
mod plan;
mod replay;
mod scratch;
mod wrapper;

use std::sync::Arc;

use crate::error::Kind;
use crate::{Choice, Error, Outcome, Request, Shape};

pub(crate) use learner::check_reward;
pub use learner::{Breakdown, Decider, Learner, highest};
pub use plan::Plan;
pub use replay::{Observation, Replay};
pub(crate) use scratch::Cache;
pub use scratch::Scratch;
pub(crate) use wrapper::Agent;

/// Something that can decide; safe to share between threads, unable to learn.
pub trait Choose: Send + Sync {
    /// The policy in canonical form, for records, tables and files: `lin-full-post[prior_precision=1]`.
    fn name(&self) -> &str;

    /// Width of the contexts and number of actions that it was built for.
    fn shape(&self) -> Shape;

    /// Decides for one request. **Samples**, from the stream of its seed for the request's round. Does not
    /// block, and does not allocate once its thread has made a decision of this size.
    fn choose(&self, request: Request<'_>) -> Result<Choice, Error>;

    /// Draws every action's mean reward for each context, as a decision would: the rewards of a context side by side,
    /// one context after another. **Samples**, from the stream `"sample"` of `round`. Allocates.
    ///
    /// Give one context many times to see its distribution, or many contexts once each. Policies that do not sample rewards return the
    /// deterministic scores that they compare: predicted rewards (`epsilon-greedy`, `boltzmann`) or upper bounds (`lin-ucb`). A policy without a reward model fails ([`Error::is_no_rewards`]).
    fn sample_rewards(&self, _round: u64, _contexts: &[&[f32]]) -> Result<Vec<f64>, Error> {
        Err(Kind::NoRewards { policy: self.name().to_owned() }.into())
    }
}

/// A decision rule that learns from bandit feedback.
pub trait Policy: Choose {
    /// Learns from one outcome, and trains when training is due. Outcomes may be delayed, reordered or missing; what was learned depends on
    /// their order.
    ///
    /// Bad input is an error and changes nothing. If training diverges ([`Error::is_numeric`]), the outcome is still stored and the model
    /// keeps its state from before this round of training: do not submit the outcome again.
    fn learn(&mut self, outcome: Outcome<'_>) -> Result<FitReport, Error>;

    /// A frozen copy of what [`Choose::choose`] needs, which decides while this policy learns.
    ///
    /// Costs well under a microsecond. The next [`Policy::learn`] then copies the part that it changes: one action's posterior in a linear
    /// policy, the weights of a net when it trains.
    fn snapshot(&self) -> Arc<dyn Choose>;

    /// The whole policy as a versioned, checksummed file; [`load`](crate::load) resumes from it exactly.
    fn save(&self) -> Vec<u8>;
}

/// What a call of [`Policy::learn`], or a round of training in [`Learner::fit`], did; the default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FitReport {
    /// Minibatches that were trained on.
    pub minibatches: u32,
    /// Mean loss over these minibatches.
    pub mean_loss: Option<f64>,
    /// How often a guard changed a number so that training could go on, such as a standard deviation held at its floor.
    pub interventions: u64,
}

impl FitReport {
    /// A round of training on so many minibatches, with their mean loss.
    pub const fn new(minibatches: u32, mean_loss: f64) -> Self {
        Self { minibatches, mean_loss: Some(mean_loss), interventions: 0 }
    }
}
