//! Actions that come and go: until when an added one is forced, and which are retired.

use std::cell::Cell;

use crate::error::Kind;
use crate::registry::save::{Decoder, Encoder};
use crate::{Error, Request};

/// The rounds from which actions are no longer forced, however rarely they were observed.
///
/// Those that the policy was built with have one in common.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    n_built: usize,
    of_built: u64,
    of_added: Vec<u64>,
    highest: u64,
}

impl Limits {
    /// For `n_actions` that the policy was built with.
    pub(super) fn new(n_actions: usize, initial_pulls: u32) -> Self {
        let of_built = n_rounds(n_actions, initial_pulls);
        Self { n_built: n_actions, of_built, of_added: Vec::new(), highest: of_built }
    }

    /// Adds an action when `highest_round` was the highest round learned.
    pub(super) fn add(&mut self, highest_round: u64, initial_pulls: u32) {
        let n_actions = self.n_built + self.of_added.len() + 1;
        self.push(highest_round.saturating_add(n_rounds(n_actions, initial_pulls)));
    }

    fn push(&mut self, limit: u64) {
        self.of_added.push(limit);
        self.highest = self.highest.max(limit);
    }

    /// That of an action.
    pub(super) fn of(&self, action: usize) -> u64 {
        action.checked_sub(self.n_built).map_or(self.of_built, |added| self.of_added[added])
    }

    /// The highest of all.
    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    pub(super) fn encode(&self, encoder: &mut Encoder) {
        encoder.usize(self.of_added.len());
        self.of_added.iter().for_each(|limit| encoder.u64(*limit));
    }

    /// What [`Self::encode`] wrote; earlier formats had no added actions.
    pub(super) fn decode(
        n_actions: usize,
        initial_pulls: u32,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        let n_added = if decoder.format() > 3 { decoder.usize()? } else { 0 };
        // Actions that features describe have no number.
        let most = n_actions.saturating_sub(1);
        if n_added > most || n_added > decoder.remaining() / size_of::<u64>() {
            return Err(decoder.damaged(format!("{n_added} of its {n_actions} actions were added")));
        }
        let mut limits = Self::new(n_actions - n_added, initial_pulls);
        for _ in 0..n_added {
            limits.push(decoder.u64()?);
        }
        Ok(limits)
    }
}

/// Rounds in which so many actions can be forced in turn.
fn n_rounds(n_actions: usize, initial_pulls: u32) -> u64 {
    u64::from(initial_pulls) * n_actions as u64
}

/// Which actions are retired.
#[derive(Clone, Debug, Default)]
pub(super) struct Retired {
    n: usize,
    /// Whether each action is available; empty while none is retired.
    available: Vec<bool>,
}

thread_local! {
    /// Room for the mask of a decision, so that decisions do not allocate.
    static MASK: Cell<Vec<bool>> = const { Cell::new(Vec::new()) };
}

impl Retired {
    /// Retires an action of `n_actions`, or restores it.
    pub(super) fn set(&mut self, action: usize, n_actions: usize, is_retired: bool) {
        self.available.resize(n_actions, true);
        self.available[action] = !is_retired;
        self.n = self.available.iter().filter(|is_available| !**is_available).count();
        if self.n == 0 {
            self.available = Vec::new();
        }
    }

    /// Makes room for one more action, which is available.
    pub(super) fn add(&mut self) {
        if self.n > 0 {
            self.available.push(true);
        }
    }

    pub(super) fn contains(&self, action: usize) -> bool {
        self.n > 0 && !self.available[action]
    }

    /// All of them, in order.
    pub(super) fn actions(&self) -> Vec<usize> {
        (0..self.available.len()).filter(|&action| self.contains(action)).collect()
    }

    /// Fails if the request, which is valid otherwise, allows only retired actions.
    pub(super) fn check(&self, request: &Request<'_>) -> Result<(), Error> {
        let is_left = |(action, is_available): (usize, &bool)| *is_available && request.allows(action);
        if self.n == 0 || self.available.iter().enumerate().any(is_left) {
            return Ok(());
        }
        Err(Kind::NothingAllowed { n_actions: self.available.len(), n_retired: self.n }.into())
    }

    /// Calls `decide` with the request, which then allows only actions that are not retired.
    pub(super) fn restrict<T>(&self, request: Request<'_>, decide: impl FnOnce(Request<'_>) -> T) -> T {
        if self.n == 0 {
            return decide(request);
        }
        let Some(allowed) = request.allowed else { return decide(request.allowing(&self.available)) };
        // Taken out during the call: a decider may ask another policy on the same thread.
        let mut mask = MASK.take();
        mask.clear();
        mask.extend(self.both(allowed));
        let result = decide(request.allowing(&mask));
        MASK.set(mask);
        result
    }

    /// The same for many requests.
    pub(super) fn restrict_many<T>(
        &self,
        requests: &[Request<'_>],
        decide: impl FnOnce(&[Request<'_>]) -> T,
    ) -> T {
        if self.n == 0 {
            return decide(requests);
        }
        let masks: Vec<bool> =
            requests.iter().filter_map(|request| request.allowed).flat_map(|mask| self.both(mask)).collect();
        let mut masks = masks.chunks_exact(self.available.len());
        let restricted: Vec<Request<'_>> = requests
            .iter()
            .map(|request| match request.allowed {
                Some(_) => request.allowing(masks.next().expect("as many as requests have")),
                None => request.allowing(&self.available),
            })
            .collect();
        decide(&restricted)
    }

    /// Whether each action is available and allowed.
    fn both(&self, allowed: &[bool]) -> impl Iterator<Item = bool> {
        self.available.iter().zip(allowed).map(|(is_available, is_allowed)| *is_available && *is_allowed)
    }

    pub(super) fn encode(&self, encoder: &mut Encoder) {
        encoder.usize(self.n);
        self.actions().into_iter().for_each(|action| encoder.usize(action));
    }

    /// What [`Self::encode`] wrote; earlier formats had no retired actions.
    pub(super) fn decode(n_actions: usize, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let mut retired = Self::default();
        let n = if decoder.format() > 3 { decoder.usize()? } else { 0 };
        if n == 0 {
            return Ok(retired);
        }
        if n > n_actions || n > decoder.remaining() / size_of::<u64>() {
            return Err(decoder.damaged(format!("{n} of its {n_actions} actions are retired")));
        }
        retired.available = vec![true; n_actions];
        let mut least = 0;
        for _ in 0..n {
            let action = decoder.usize()?;
            if !(least..n_actions).contains(&action) {
                return Err(decoder.damaged(format!("action {action} of {n_actions} is retired")));
            }
            retired.available[action] = false;
            least = action + 1;
        }
        Ok(Self { n, ..retired })
    }
}
