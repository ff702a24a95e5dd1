//! The duration of a trial of each kind: measured if one has ended, otherwise guessed.
//!
//! A kind is a policy on a problem. Kinds differ by factors of ten thousand, so any reasonable guess improves the order of
//! trials, and the first trial of a kind replaces the guess. The guess is by policy and size: a table of orders of magnitude,
//! times 1 + C/100 for contexts of C features. As soon as anything is measured, guesses are scaled by what was measured of the
//! same policy on other problems, or else of all policies.

use super::UNIFORM;
use crate::paper::base_id;
use crate::summary::quantile;

/// Seconds of 2000 steps on a problem with few features, by the policy's id, to the order of magnitude.
const GUESSES: [(&str, f64); 21] = [
    (UNIFORM, 0.001),
    ("lin-full-post", 0.005),
    ("neural-linear", 0.4),
    ("bbb", 1.0),
    ("pi-ts-dgf", 4.0),
    ("lu-gauss", 4.0),
    ("lu-gauss-ablation", 4.0),
    ("lu-sivi", 45.0),
    ("lu-sivi-ablation", 45.0),
    ("epsilon-greedy", 0.3),
    ("boltzmann", 0.3),
    ("lin-ucb", 0.005),
    ("param-noise", 0.4),
    ("dropout", 1.5),
    ("bootstrap", 1.0),
    ("neural-ucb", 0.4),
    ("neural-ts", 0.4),
    ("multitask-gp", 10.0),
    ("fbnn", 20.0),
    ("lin-pool", 0.05),
    ("locus", 1.0),
];
/// The guess for a policy that is not in the table.
const GUESS_OF_OTHERS: f64 = 1.0;
/// A clock may see no time at all pass, and a ratio must not be zero.
const SHORTEST: f64 = 1e-9;

/// The seconds of every kind of trial, by place of policy and problem.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pace {
    n_problems: usize,
    /// One for each policy and problem, the problems of a policy side by side.
    kinds: Vec<Kind>,
    /// How much slower than guessed the trials of each policy were.
    by_policy: Vec<Ratio>,
    overall: Ratio,
}

#[derive(Clone, Debug, PartialEq)]
struct Kind {
    guess: f64,
    /// In order.
    measured: Vec<f64>,
}

/// The geometric mean of measured ÷ guessed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ratio {
    sum_of_logs: f64,
    n: usize,
}

impl Ratio {
    fn add(&mut self, ratio: f64) {
        self.sum_of_logs += ratio.ln();
        self.n += 1;
    }

    fn mean(self) -> Option<f64> {
        (self.n > 0).then(|| (self.sum_of_logs / self.n as f64).exp())
    }
}

impl Pace {
    /// Nothing is measured yet. `policies` are canonical forms, `n_features` the widths of the problems' contexts.
    pub(super) fn new<'a>(
        policies: impl Iterator<Item = &'a str>,
        n_features: &[usize],
        steps: usize,
    ) -> Self {
        let mut kinds = Vec::new();
        let mut n_policies = 0;
        for policy in policies {
            let id = base_id(policy);
            let known = GUESSES.iter().find(|(known, _)| *known == id);
            let of_2000_steps = known.map_or(GUESS_OF_OTHERS, |(_, seconds)| *seconds);
            let of_one = of_2000_steps / 2000.0 * steps.max(1) as f64;
            let kind = |n: &usize| Kind { guess: of_one * (1.0 + *n as f64 / 100.0), measured: Vec::new() };
            kinds.extend(n_features.iter().map(kind));
            n_policies += 1;
        }
        let by_policy = vec![Ratio::default(); n_policies];
        Self { n_problems: n_features.len(), kinds, by_policy, overall: Ratio::default() }
    }

    /// A trial took this long.
    pub(super) fn measure(&mut self, policy: usize, problem: usize, seconds: f64) {
        let kind = &mut self.kinds[policy * self.n_problems + problem];
        let place = kind.measured.partition_point(|earlier| *earlier < seconds);
        kind.measured.insert(place, seconds);
        let ratio = seconds.max(SHORTEST) / kind.guess;
        self.by_policy[policy].add(ratio);
        self.overall.add(ratio);
    }

    /// Trials of these places of policy and problem took this long. Unlike one after another, the cost is that of sorting.
    pub(super) fn measure_all(&mut self, trials: Vec<(usize, usize, f64)>) {
        for (policy, problem, seconds) in trials {
            let kind = &mut self.kinds[policy * self.n_problems + problem];
            kind.measured.push(seconds);
            let ratio = seconds.max(SHORTEST) / kind.guess;
            self.by_policy[policy].add(ratio);
            self.overall.add(ratio);
        }
        for kind in &mut self.kinds {
            kind.measured.sort_unstable_by(f64::total_cmp);
        }
    }

    /// Whether a trial of this kind was measured.
    pub(super) fn has_measured(&self, policy: usize, problem: usize) -> bool {
        !self.kinds[policy * self.n_problems + problem].measured.is_empty()
    }

    /// What was measured of this kind, in order, or what is guessed.
    pub(super) fn samples(&self, policy: usize, problem: usize) -> Vec<f64> {
        match &self.kinds[policy * self.n_problems + problem].measured[..] {
            [] => vec![self.seconds(policy, problem)],
            measured => measured.to_vec(),
        }
    }

    /// Whether there is more than a guess.
    pub(super) fn is_measured(&self) -> bool {
        self.overall.n > 0
    }

    /// Whether this policy has no measurements, so that its seconds are at best right to the order of magnitude.
    pub(super) fn is_guess(&self, policy: usize) -> bool {
        self.by_policy[policy].n == 0
    }

    /// The median of what was measured of this kind, since other work on the machine makes some trials far longer; or the
    /// guess, scaled by what was measured of others. Before anything is measured, only ratios between kinds mean something.
    pub(super) fn seconds(&self, policy: usize, problem: usize) -> f64 {
        let kind = &self.kinds[policy * self.n_problems + problem];
        if !kind.measured.is_empty() {
            return quantile(&kind.measured, 0.5);
        }
        kind.guess * self.by_policy[policy].mean().or(self.overall.mean()).unwrap_or(1.0)
    }
}

/// Wall seconds of work that takes `total` seconds on one thread: however many threads there are, the longest trial runs on
/// one.
pub(super) fn wall_seconds(total: f64, longest: f64, jobs: usize) -> f64 {
    longest.max(total / jobs.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICIES: [&str; 4] = [UNIFORM, "lin-full-post", "lu-sivi@paper", "news[size=3]"];

    fn pace() -> Pace {
        Pace::new(POLICIES.into_iter(), &[0, 100], 2000)
    }

    #[test]
    fn the_guess_goes_by_policy_size_and_steps() {
        let seconds = |policy, problem| pace().seconds(policy, problem);
        assert_eq!([seconds(0, 0), seconds(1, 0), seconds(2, 0), seconds(3, 0)], [0.001, 0.005, 45.0, 1.0]);
        assert_eq!([seconds(1, 1), seconds(2, 1)], [0.01, 90.0]);
        assert_eq!(Pace::new(POLICIES.into_iter(), &[0], 1000).seconds(3, 0), 0.5);
        assert!(!pace().is_measured() && pace().is_guess(1));
    }

    #[test]
    fn what_was_measured_replaces_the_guess_and_scales_the_others() {
        let mut pace = pace();
        pace.measure(1, 0, 0.02);
        pace.measure(1, 0, 0.08);
        assert!(pace.is_measured() && !pace.is_guess(1) && pace.is_guess(2));
        assert_eq!(pace.seconds(1, 0), 0.05);
        // Four and sixteen times the guess: eight times, geometrically, for the same policy and for the others.
        let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found}");
        close(pace.seconds(1, 1), 0.08);
        close(pace.seconds(2, 0), 360.0);
        // A policy's own trials say more than those of others.
        pace.measure(2, 1, 45.0);
        close(pace.seconds(2, 0), 22.5);
        close(pace.seconds(1, 1), 0.08);
        pace.measure(2, 1, 44.0);
        pace.measure(2, 1, 9000.0);
        let mut at_once = self::pace();
        at_once.measure_all(vec![(1, 0, 0.02), (1, 0, 0.08), (2, 1, 45.0), (2, 1, 44.0), (2, 1, 9000.0)]);
        assert_eq!(at_once, pace);
        assert_eq!(pace.seconds(2, 1), 45.0, "one trial that was held up changes little");
        pace.measure(0, 0, 0.0);
        assert_eq!(pace.seconds(0, 0), 0.0);
        assert!(pace.seconds(0, 1) > 0.0 && pace.seconds(3, 0).is_finite());
    }

    #[test]
    fn the_longest_trial_runs_on_one_thread() {
        assert_eq!(
            [wall_seconds(12.0, 2.0, 3), wall_seconds(12.0, 7.0, 3), wall_seconds(12.0, 7.0, 0)],
            [4.0, 7.0, 12.0]
        );
    }
}
