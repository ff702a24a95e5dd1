//! A policy that is sampled from while it plays.
//!
//! It wraps the policy and forwards every call, so the loop of a trial is that of the benchmark. Sampling does not change what
//! the policy does: it uses separate random streams ([`Choose::sample_rewards`]).

use std::sync::Arc;

use locus::{Choice, Choose, FitReport, Outcome, Policy, Request, Seed, Shape};

/// What is done at a look: the number of outcomes that were learned so far, and the policy.
pub(super) type Look<'a> = dyn FnMut(usize, &dyn Choose) -> Result<(), locus::Error> + Send + Sync + 'a;

/// A policy, and who looks into it.
pub(super) struct Watched<'a> {
    policy: Box<dyn Policy>,
    n_learned: usize,
    every: usize,
    steps: usize,
    look: Box<Look<'a>>,
}

impl<'a> Watched<'a> {
    /// Looks at once, then whenever `every` outcomes more were learned, and after the last of `steps`.
    pub(super) fn new(
        policy: Box<dyn Policy>,
        every: usize,
        steps: usize,
        mut look: Box<Look<'a>>,
    ) -> Result<Self, locus::Error> {
        look(0, &*policy)?;
        Ok(Self { policy, n_learned: 0, every, steps, look })
    }
}

impl Choose for Watched<'_> {
    fn name(&self) -> &str {
        self.policy.name()
    }

    fn shape(&self) -> Shape {
        self.policy.shape()
    }

    fn choose(&self, request: Request<'_>) -> Result<Choice, locus::Error> {
        self.policy.choose(request)
    }

    fn distribution(&self, request: Request<'_>, probabilities: &mut [f64]) -> Result<(), locus::Error> {
        self.policy.distribution(request, probabilities)
    }

    fn sample_rewards(&self, round: u64, contexts: &[&[f32]]) -> Result<Vec<f64>, locus::Error> {
        self.policy.sample_rewards(round, contexts)
    }
}

impl Policy for Watched<'_> {
    fn learn(&mut self, outcome: Outcome<'_>) -> Result<FitReport, locus::Error> {
        let report = self.policy.learn(outcome)?;
        self.n_learned += 1;
        if self.n_learned.is_multiple_of(self.every) || self.n_learned == self.steps {
            (self.look)(self.n_learned, &*self.policy)?;
        }
        Ok(report)
    }

    fn learn_many(&mut self, outcomes: &[Outcome<'_>]) -> Result<FitReport, locus::Error> {
        let report = self.policy.learn_many(outcomes)?;
        let before = self.n_learned;
        self.n_learned += outcomes.len();
        if before / self.every != self.n_learned / self.every || self.n_learned == self.steps {
            (self.look)(self.n_learned, &*self.policy)?;
        }
        Ok(report)
    }

    fn seed(&self) -> Seed {
        self.policy.seed()
    }

    fn n_observed(&self) -> u64 {
        self.policy.n_observed()
    }

    fn last_round(&self) -> Option<u64> {
        self.policy.last_round()
    }

    fn next_round(&self) -> u64 {
        self.policy.next_round()
    }

    fn set_next_round(&mut self, round: u64) {
        self.policy.set_next_round(round);
    }

    fn snapshot(&self) -> Arc<dyn Choose> {
        self.policy.snapshot()
    }

    fn save(&self) -> Vec<u8> {
        self.policy.save()
    }
}

/// The purpose of draws. Each purpose has its own random streams, so that the shown draws are independent of those that chose the context.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// To be shown.
    Show = 0,
    /// To judge contexts by their means.
    Judge = 1,
    /// To see one context after another at the end.
    Within = 2,
}

impl Purpose {
    /// The round under which [`Choose::sample_rewards`] draws for this purpose: a number for each step and each call in it.
    pub(super) fn round(self, step: usize, call: usize) -> u64 {
        (self as u64) << 60 | (step as u64) << 24 | call as u64
    }
}
