//! The policies, timed through the public API.

use locus::{Outcome, Policy, PolicySpec, Request, Rng, Seed, Shape};

use crate::seconds_a_call;

/// As many observations as a minibatch has rows; the other workers train on as many.
const OBSERVATIONS: usize = 512;
/// Decisions that are timed together, as in the other workers.
const DECISIONS: usize = 20;

/// A policy and the observations that it learns from repeatedly.
pub(crate) struct Subject {
    policy: Box<dyn Policy>,
    /// Minibatches of a round of training; it is timed whole.
    minibatches: usize,
    observations: Vec<(Vec<f32>, usize, f64)>,
    round: u64,
}

impl Subject {
    pub(crate) fn new(policy: char, shape: Shape) -> Self {
        let (id, minibatches, further) = match policy {
            'G' => ("lu-gauss", 4, ""),
            'S' => ("lu-sivi", 2, ""),
            _ => ("lu-sivi", 2, ",low_rank_noise=off"),
        };
        let spec: PolicySpec = format!(
            "{id}@paper[minibatches={minibatches},train_every={OBSERVATIONS},replay_capacity={OBSERVATIONS},initial_pulls=0{further}]"
        )
        .parse()
        .expect("a policy of ours");
        let mut rng = Seed::new(2).stream("problem", 0);
        let observation = |rng: &mut Rng| {
            let context = (0..shape.n_features).map(|_| rng.normal() as f32).collect();
            (context, rng.below(shape.n_actions), rng.normal())
        };
        Self {
            policy: spec.build(shape, Seed::new(1)).expect("a policy of ours"),
            minibatches,
            observations: (0..OBSERVATIONS).map(|_| observation(&mut rng)).collect(),
            round: 0,
        }
    }

    /// Milliseconds of a minibatch: rows drawn from the replay, random numbers, forward, backward, Adam, and its share of the
    /// other work of a round of training.
    pub(crate) fn training_ms(&mut self, reps: usize) -> Vec<f64> {
        let Self { policy, observations, round, minibatches } = self;
        let mut learn = |(context, action, reward): &(Vec<f32>, usize, f64)| {
            let outcome = Outcome::new(*round, context, *action, *reward);
            policy.learn(outcome).expect("standard normal rewards");
            *round += 1;
        };
        let (last, others) = observations.split_last().expect("observations");
        let mut timed_round = || {
            others.iter().for_each(&mut learn);
            seconds_a_call(1, || learn(last)) * 1e3 / *minibatches as f64
        };
        (0..reps).map(|_| timed_round()).collect()
    }

    /// Microseconds of a decision.
    pub(crate) fn decision_us(&mut self, reps: usize) -> Vec<f64> {
        let Self { policy, observations, round, .. } = self;
        let context = &observations[0].0;
        let mut decide = || {
            policy.choose(Request::new(*round, context)).expect("a finite context");
            *round += 1;
        };
        (0..reps).map(|_| seconds_a_call(DECISIONS, &mut decide) * 1e6).collect()
    }
}
