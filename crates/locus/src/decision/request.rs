//! A request for one decision.

use super::shape::first_non_finite;
use crate::agent::{Breakdown, check_reward};
use crate::error::Kind;
use crate::{Error, Shape};

/// A request for one decision.
///
/// The caller counts the rounds, from 0, one for each decision. A policy does not count decisions itself, so rewards may be
/// delayed, batched or missing. The round does two things:
///
/// - It selects the random numbers. All randomness in a decision follows from the policy's seed and `round`: two requests with
///   the same round and context get the same choice, unless the policy learns in between. Never use a round for two decisions
///   that should be independent.
/// - It ends the initial pulls. An action is forced only while it has fewer than `initial_pulls` observations *and* the round is below
///   `initial_pulls` times the number of actions; [`Policy::add_action`](crate::Policy::add_action) says when an added one is.
///
/// After loading a policy, continue with [`Policy::next_round`](crate::Policy::next_round).
///
/// ```
/// use locus::{PolicySpec, Propensity, Request, Seed, Shape};
///
/// let policy = "lin-full-post".parse::<PolicySpec>()?.build(Shape::new(2, 3), Seed::new(7))?;
/// let in_stock = [true, false, true];
/// let request = Request::new(100, &[0.5, -1.0]).allowing(&in_stock).with_propensity();
/// let choice = policy.choose(request)?;
/// assert!(in_stock[choice.action]);
/// assert!(matches!(choice.propensity, Propensity::Exact(_)));
/// # Ok::<(), locus::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The number of this decision, from 0.
    pub round: u64,
    /// The features that the decision is based on.
    pub context: &'a [f32],
    /// Which actions may be chosen, one entry for each action; `None` allows all.
    pub allowed: Option<&'a [bool]>,
    /// Whether the choice must report its exact propensity.
    pub wants_propensity: bool,
    /// The features of every action that may be chosen, row-major; only for a policy of [`Shape::described`].
    pub candidates: Option<&'a [f32]>,
}

impl<'a> Request<'a> {
    /// Requests the decision of `round` for `context`, among all actions.
    pub const fn new(round: u64, context: &'a [f32]) -> Self {
        Self { round, context, allowed: None, wants_propensity: false, candidates: None }
    }

    /// Sets the actions to choose among, for a policy of [`Shape::described`]: one row of features for each, one row after another.
    ///
    /// Requests may have different candidates, and different numbers of them. [`Choice::action`](crate::Choice::action) is the
    /// index of the row that was chosen. A mask has one entry for each candidate.
    ///
    /// ```
    /// use locus::{Outcome, PolicySpec, Request, Seed, Shape};
    ///
    /// let mut policy = "lin-full-post".parse::<PolicySpec>()?.build(Shape::described(2, 3), Seed::new(7))?;
    /// let context = [0.5, -1.0];
    /// let articles = [[1.0, 0.0, 0.2], [0.0, 1.0, 0.7], [0.0, 1.0, -0.3], [1.0, 1.0, 0.1]];
    /// let choice = policy.choose(Request::new(0, &context).with_candidates(articles.as_flattened()))?;
    /// let taken = &articles[choice.action];
    /// policy.learn(Outcome::new(0, &context, choice.action, 1.0).with_action_features(taken))?;
    /// # Ok::<(), locus::Error>(())
    /// ```
    #[must_use]
    pub const fn with_candidates(self, candidates: &'a [f32]) -> Self {
        Self { candidates: Some(candidates), ..self }
    }

    /// Restricts the choice to the actions whose entry is `true`; one entry for each action or candidate.
    ///
    /// The choice is the best of the same random draw among the allowed actions.
    #[must_use]
    pub const fn allowing(self, allowed: &'a [bool]) -> Self {
        Self { allowed: Some(allowed), ..self }
    }

    /// Makes the choice report [`Propensity::Exact`](crate::Propensity::Exact).
    ///
    /// The policy then computes the probability of every action, samples the action from these probabilities and reports the
    /// probability of the sampled action. See [`Choose::distribution`](crate::Choose::distribution).
    #[must_use]
    pub const fn with_propensity(self) -> Self {
        Self { wants_propensity: true, ..self }
    }

    /// Whether an action may be chosen. Panics if the mask has no entry for it.
    pub fn allows(&self, action: usize) -> bool {
        self.allowed.is_none_or(|allowed| allowed[action])
    }

    /// The allowed action with the highest reward, the first of ties; `rewards` has one entry per action.
    ///
    /// Fails if the reward of an allowed action is not a finite number: no policy acts on such a draw.
    ///
    /// # Panics
    ///
    /// If no action is allowed, or the mask has fewer entries than `rewards`.
    pub fn highest(&self, rewards: &[f64]) -> Result<usize, Breakdown> {
        let mut best: Option<usize> = None;
        for (action, &reward) in rewards.iter().enumerate() {
            if !self.allows(action) {
                continue;
            }
            check_reward(action, reward)?;
            if best.is_none_or(|best| reward > rewards[best]) {
                best = Some(action);
            }
        }
        Ok(best.expect("an allowed action"))
    }

    /// How many actions a policy of this shape chooses among, allowed or not.
    pub(crate) fn n_actions(&self, shape: Shape) -> usize {
        match self.candidates {
            Some(candidates) if shape.is_described() => candidates.len() / shape.n_action_features,
            _ => shape.n_actions,
        }
    }

    /// How many actions may be chosen, of `n_actions`.
    pub(crate) fn n_allowed(&self, n_actions: usize) -> usize {
        self.allowed.map_or(n_actions, |allowed| allowed.chunks(LOT).map(count).sum())
    }

    /// The allowed action with index `n` among the allowed ones. It must exist.
    pub(crate) fn nth_allowed(&self, mut n: usize) -> usize {
        let Some(allowed) = self.allowed else { return n };
        // Skips whole chunks by their counts before it searches one.
        for (lot, allowed) in allowed.chunks(LOT).enumerate() {
            let n_allowed = count(allowed);
            if n < n_allowed {
                let mut actions = (0..allowed.len()).filter(|&action| allowed[action]);
                return lot * LOT + actions.nth(n).expect("as many as were counted");
            }
            n -= n_allowed;
        }
        panic!("fewer actions are allowed than were counted")
    }

    /// Fails unless a policy of this shape can decide.
    pub(crate) fn check(&self, shape: Shape) -> Result<(), Error> {
        shape.check_context(self.context)?;
        self.check_candidates(shape)?;
        let Some(allowed) = self.allowed else { return Ok(()) };
        let (found, n_actions) = (allowed.len(), self.n_actions(shape));
        if found != n_actions {
            return Err(Kind::AllowedLength { found, n_actions }.into());
        }
        match allowed.contains(&true) {
            true => Ok(()),
            false => Err(Kind::NothingAllowed { n_actions, n_retired: 0 }.into()),
        }
    }

    fn check_candidates(&self, shape: Shape) -> Result<(), Error> {
        let (n_actions, n_action_features) = (shape.n_actions, shape.n_action_features);
        let candidates = match self.candidates {
            Some(_) if !shape.is_described() => return Err(Kind::UnexpectedCandidates { n_actions }.into()),
            None if shape.is_described() => return Err(Kind::MissingCandidates { n_action_features }.into()),
            None => return Ok(()),
            Some(candidates) => candidates,
        };
        let found = candidates.len();
        if found == 0 || !found.is_multiple_of(n_action_features) {
            return Err(Kind::CandidatesLength { found, n_action_features }.into());
        }
        if self.n_actions(shape) > Shape::MAX {
            return Err(Kind::TooManyCandidates { found: self.n_actions(shape) }.into());
        }
        match first_non_finite(candidates) {
            Some(place) => {
                let (candidate, index) = (place / n_action_features, place % n_action_features);
                Err(Kind::NonFiniteCandidate { candidate, index, value: candidates[place] }.into())
            }
            None => Ok(()),
        }
    }
}

/// Actions per chunk that are counted together.
const LOT: usize = 32;

/// Counts the true entries of a chunk. Counts in bytes, because a SIMD vector holds many of them.
fn count(lot: &[bool]) -> usize {
    usize::from(lot.iter().fold(0, |n: u8, is_allowed| n + u8::from(*is_allowed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_actions_are_counted_and_found() {
        for n_actions in [1, 31, 32, 33, 100] {
            let mask: Vec<bool> = (0..n_actions).map(|action| action % 3 != 1).collect();
            let allowed: Vec<usize> = (0..n_actions).filter(|action| mask[*action]).collect();
            let request = Request::new(0, &[]).allowing(&mask);
            assert_eq!(request.n_allowed(n_actions), allowed.len());
            for (n, action) in allowed.iter().enumerate() {
                assert_eq!(request.nth_allowed(n), *action);
            }
            assert_eq!(Request::new(0, &[]).n_allowed(n_actions), n_actions);
            assert_eq!(Request::new(0, &[]).nth_allowed(n_actions - 1), n_actions - 1);
        }
    }
}
