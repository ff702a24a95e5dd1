//! Per-thread buffers for the intermediate numbers of a decision.
//!
//! `choose` takes `&self` and may run on many threads at once, so it cannot use buffers of the policy without
//! a lock. Each thread keeps one set of buffers instead; they grow to the largest decision made there.

use std::any::Any;
use std::cell::RefCell;

/// Reusable buffers of a thread, for the intermediate numbers of a decision.
#[derive(Debug, Default)]
pub struct Scratch {
    doubles: Vec<f64>,
    /// Models' own buffers, one of each type.
    works: Vec<Box<dyn Any>>,
    /// One draw of every action's reward; separate, because models use the other buffers while they write to it.
    rewards: Vec<f64>,
    /// The features of a decision; separate for the same reason.
    features: Vec<f64>,
    /// The probabilities of all actions; separate for the same reason.
    probabilities: Vec<f64>,
    /// Storage for short-lived slices.
    slices: Vec<&'static [f32]>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Scratch {
    /// Calls `body` with this thread's buffers.
    pub(crate) fn with<T>(body: impl FnOnce(&mut Self) -> T) -> T {
        // Taken out during the call: a decider may ask another policy on the same thread, which then gets buffers of its own.
        let mut scratch = SCRATCH.take();
        let result = body(&mut scratch);
        SCRATCH.set(scratch);
        result
    }

    /// This thread's `T`, as the last decision left it: a model's own buffers.
    ///
    /// ```
    /// # use locus::Scratch;
    /// #[derive(Default)]
    /// struct Work {
    ///     scores: Vec<f64>,
    /// }
    ///
    /// fn best(n_actions: usize, scratch: &mut Scratch) -> usize {
    ///     let Work { scores } = scratch.work();
    ///     scores.resize(n_actions, 0.0); // allocates the first time only
    ///     scores.len()
    /// }
    /// ```
    pub fn work<T: Default + 'static>(&mut self) -> &mut T {
        let place = match self.works.iter().position(|work| work.is::<T>()) {
            Some(place) => place,
            None => {
                self.works.push(Box::new(T::default()));
                self.works.len() - 1
            }
        };
        self.works[place].downcast_mut().expect("the type that was looked for")
    }

    /// Calls `body` with `n` features to fill in, and with the rest of the buffers.
    pub(crate) fn with_features<T>(&mut self, n: usize, body: impl FnOnce(&mut [f64], &mut Self) -> T) -> T {
        let mut features = std::mem::take(&mut self.features);
        features.resize(n, 0.0);
        let result = body(&mut features, self);
        self.features = features;
        result
    }

    /// Calls `body` with `n` probabilities to fill in, and with the rest of the buffers.
    pub(crate) fn with_probabilities<T>(
        &mut self,
        n: usize,
        body: impl FnOnce(&mut [f64], &mut Self) -> T,
    ) -> T {
        let mut probabilities = std::mem::take(&mut self.probabilities);
        probabilities.resize(n, 0.0);
        let result = body(&mut probabilities, self);
        self.probabilities = probabilities;
        result
    }

    /// Calls `body` with one context repeated `n` times, and with the rest of the buffers.
    pub(crate) fn with_copies<T>(
        &mut self,
        context: &[f32],
        n: usize,
        body: impl FnOnce(&[&[f32]], &mut Self) -> T,
    ) -> T {
        let mut room = std::mem::take(&mut self.slices);
        room.clear();
        let mut copies: Vec<&[f32]> = room.into_iter().map(|slice| slice as &[f32]).collect();
        copies.resize(n, context);
        let result = body(&copies, self);
        copies.clear();
        self.slices = copies.into_iter().map(|_| -> &'static [f32] { &[] }).collect();
        result
    }

    /// Calls `body` with `n` rewards to fill in, and with the rest of the buffers.
    pub fn with_rewards<T>(&mut self, n: usize, body: impl FnOnce(&mut [f64], &mut Self) -> T) -> T {
        let mut rewards = std::mem::take(&mut self.rewards);
        rewards.resize(n, 0.0);
        let result = body(&mut rewards, self);
        self.rewards = rewards;
        result
    }

    /// Slices of these lengths, with unspecified contents.
    pub(crate) fn doubles<const N: usize>(&mut self, lengths: [usize; N]) -> [&mut [f64]; N] {
        let total = lengths.iter().sum();
        if self.doubles.len() < total {
            self.doubles.resize(total, 0.0);
        }
        let mut rest = self.doubles.as_mut_slice();
        lengths.map(|length| {
            let (slice, tail) = std::mem::take(&mut rest).split_at_mut(length);
            rest = tail;
            slice
        })
    }
}

/// A cached value that a clone does not copy.
#[derive(Debug, Default)]
pub(crate) struct Cache<T>(pub(crate) Option<Box<T>>);

impl<T> Clone for Cache<T> {
    fn clone(&self) -> Self {
        Self(None)
    }
}
