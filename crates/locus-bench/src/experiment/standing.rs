//! The progress of a run: for each policy on each problem the trials that ended, the mean so far, and the time left.
//!
//! Time left is estimated from the trials that have ended, and where a kind has none from its running trials: a trial that took 10
//! seconds for a quarter of its steps will take 40. So the estimate does not wait for the first trial of the slowest policy to end.
//!
//! A watcher of a run updates a [`Standing`] with each row; [`read_status`](crate::status::read_status) creates one from the rows
//! of a folder. A row costs a few additions, which is negligible.

use std::collections::HashMap;
use std::ops::Range;

use super::UNIFORM;
use super::pace::{Pace, wall_seconds};
use super::progress::STEPS_AT_A_TIME;
use crate::record::TrialRow;
use crate::trial::TrialId;

/// The progress of the requested trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    policies: Vec<String>,
    problems: Vec<String>,
    /// One for each policy and problem, the problems of a policy side by side.
    kinds: Vec<Kind>,
    pace: Pace,
    /// The same, including running trials as of the last [`tick`](Self::tick).
    running_pace: Option<Pace>,
    steps: usize,
    jobs: usize,
    /// Trials that have begun and not ended, in the order in which they began.
    running: Vec<Running>,
}

/// A trial that has begun and not ended. Times are seconds since any moment, the same for all.
#[derive(Clone, Debug, PartialEq)]
struct Running {
    id: TrialId,
    /// Steps that it has taken.
    taken: usize,
    started: f64,
    /// When it took the last of these steps.
    stepped: f64,
}

impl Running {
    /// Seconds of the whole trial by the pace of its steps so far, and whether that is more than a lower bound. Steps are
    /// reported [`STEPS_AT_A_TIME`], so a trial without a report for long is at least that slow.
    fn expected_seconds(&self, steps: usize, now: f64) -> (f64, bool) {
        let at_most = (self.taken + STEPS_AT_A_TIME).min(steps.max(1));
        let slowest = (now - self.started) / at_most as f64;
        let per_step = match self.taken {
            0 => slowest,
            taken => slowest.max((self.stepped - self.started) / taken as f64),
        };
        (per_step * steps as f64, self.taken > 0)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Kind {
    /// The numbers of the requested trials: sorted ranges that do not overlap.
    numbers: Vec<Range<usize>>,
    /// How many these are.
    asked: usize,
    done: usize,
    failed: usize,
    seconds: f64,
    /// The regret of each trial that ended well, to be compared with Uniform's of the same trial.
    regrets: HashMap<usize, f64>,
    /// Trials that Uniform has ended too: their number, their regrets, and Uniform's.
    n_pairs: usize,
    own: f64,
    uniform: f64,
}

/// The progress of one policy on one problem.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KindStanding {
    /// Requested trials.
    pub asked: usize,
    /// Those of them that ended well.
    pub done: usize,
    /// Those of them that failed.
    pub failed: usize,
    /// Cumulative regret so far in percent of Uniform's over the same trials, as in the summary.
    ///
    /// `None` until both have finished a common trial.
    pub mean: Option<f64>,
    /// The seconds of all its trials together.
    pub seconds: f64,
    /// The estimated seconds of the remaining trials, run one after another.
    ///
    /// `None` before any trial of the run has ended or taken steps.
    pub seconds_left: Option<f64>,
    /// Whether the time left is only an order of magnitude.
    ///
    /// True until a trial of the policy has ended or taken steps.
    pub is_rough: bool,
    /// Finished trials and the completed parts of running ones, e.g. 2.5.
    pub progress: f64,
}

impl KindStanding {
    /// Whether nothing is left to run.
    pub fn has_ended(&self) -> bool {
        self.done + self.failed >= self.asked
    }
}

impl Standing {
    /// The progress before anything has run.
    ///
    /// `problems` are names and widths of contexts; `asked` returns the requested trials of a policy on a problem, by their
    /// indices. Trials that are requested twice count once.
    pub fn new(
        policies: Vec<String>,
        problems: Vec<(String, usize)>,
        steps: usize,
        jobs: usize,
        asked: impl Fn(usize, usize) -> Vec<Range<usize>>,
    ) -> Self {
        let n_features: Vec<usize> = problems.iter().map(|(_, n)| *n).collect();
        let pace = Pace::new(policies.iter().map(String::as_str), &n_features, steps);
        let places =
            (0..policies.len()).flat_map(|policy| (0..problems.len()).map(move |problem| (policy, problem)));
        let kinds = places
            .map(|(policy, problem)| {
                let numbers = apart(asked(policy, problem));
                let asked = numbers.iter().fold(0, |sum: usize, range| sum.saturating_add(range.len()));
                Kind { numbers, asked, ..Kind::default() }
            })
            .collect();
        let problems = problems.into_iter().map(|(name, _)| name).collect();
        Self { policies, problems, kinds, pace, running_pace: None, steps, jobs, running: Vec::new() }
    }

    /// The policies in canonical form.
    pub fn policies(&self) -> &[String] {
        &self.policies
    }

    /// The problems by name.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// How many threads run the trials.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// How long trials take, by those that have ended.
    pub(super) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// How long trials take, by those that have ended and those that are running.
    fn expected(&self) -> &Pace {
        self.running_pace.as_ref().unwrap_or(&self.pace)
    }

    /// The running trials and the completed part of each, from 0 to 1.
    pub fn running(&self) -> impl Iterator<Item = (&TrialId, f64)> {
        self.running.iter().map(|running| (&running.id, running.taken as f64 / self.steps.max(1) as f64))
    }

    /// Records that a trial begins at `now`, in seconds since the start of the run or any other fixed moment.
    pub fn start(&mut self, id: &TrialId, now: f64) {
        self.running.push(Running { id: id.clone(), taken: 0, started: now, stepped: now });
    }

    /// Records that a running trial has taken this many more steps.
    pub fn step(&mut self, id: &TrialId, more_steps: usize, now: f64) {
        if let Some(running) = self.running.iter_mut().find(|running| running.id == *id) {
            running.taken += more_steps;
            running.stepped = now;
        }
    }

    /// Updates the estimates from running trials. Call it before showing the time left.
    pub fn tick(&mut self, now: f64) {
        let mut pace = self.pace.clone();
        for running in &self.running {
            let Some((policy, problem)) = self.place(&running.id) else { continue };
            let (seconds, is_estimate) = running.expected_seconds(self.steps, now);
            let is_known = self.pace.has_measured(policy, problem);
            // What is only a lower bound corrects what is below it, and a clock must have moved to tell anything.
            let is_news =
                is_estimate || (seconds > self.pace.seconds(policy, problem) && self.pace.is_measured());
            if !is_known && is_news && seconds > 0.0 {
                pace.measure(policy, problem, seconds);
            }
        }
        self.running_pace = Some(pace);
    }

    /// Records that a trial has ended.
    ///
    /// Rows of other policies or problems change nothing; trials that were not requested count only for the mean and the seconds.
    pub fn record(&mut self, row: &TrialRow) {
        if let Some((policy, problem, seconds)) = self.count(row) {
            self.pace.measure(policy, problem, seconds);
        }
    }

    /// Records many trials at once, for example those of a folder. Much faster than one after another.
    pub fn record_all<'a>(&mut self, rows: impl IntoIterator<Item = &'a TrialRow>) {
        let measured = rows.into_iter().filter_map(|row| self.count(row)).collect();
        self.pace.measure_all(measured);
    }

    /// Records a trial except for its seconds, which it returns with the places of policy and problem.
    fn count(&mut self, row: &TrialRow) -> Option<(usize, usize, f64)> {
        self.running.retain(|running| running.id != row.id);
        self.running_pace = None;
        let (policy, problem) = self.place(&row.id)?;
        let n_problems = self.problems.len();
        let kind = &mut self.kinds[policy * n_problems + problem];
        let place = kind.numbers.partition_point(|numbers| numbers.end <= row.id.trial);
        let is_asked = kind.numbers.get(place).is_some_and(|numbers| numbers.contains(&row.id.trial));
        let measured = match &row.outcome {
            Ok(measured) => measured,
            Err(_) => {
                kind.failed += usize::from(is_asked);
                return None;
            }
        };
        kind.done += usize::from(is_asked);
        kind.seconds += measured.seconds();
        kind.regrets.insert(row.id.trial, measured.cumulative_regret);
        let seconds = Some((policy, problem, measured.seconds()));
        let Some(uniform) = self.policies.iter().position(|name| name == UNIFORM) else { return seconds };
        let Some(&by_uniform) = self.kinds[uniform * n_problems + problem].regrets.get(&row.id.trial) else {
            return seconds;
        };
        // Uniform's own row may complete the pairs of all policies; any other only its own.
        let completed = if policy == uniform { 0..self.policies.len() } else { policy..policy + 1 };
        for policy in completed {
            let kind = &mut self.kinds[policy * n_problems + problem];
            if let Some(own) = kind.regrets.get(&row.id.trial) {
                kind.n_pairs += 1;
                kind.own += own;
                kind.uniform += by_uniform;
            }
        }
        seconds
    }

    /// Whether a trial is of these policies and problems.
    pub fn names(&self, id: &TrialId) -> bool {
        self.place(id).is_some()
    }

    /// Where a trial belongs.
    fn place(&self, id: &TrialId) -> Option<(usize, usize)> {
        let policy = self.policies.iter().position(|name| *name == id.policy)?;
        let problem = self.problems.iter().position(|name| *name == id.problem)?;
        Some((policy, problem))
    }

    /// The progress of a policy on a problem, by their indices.
    pub fn kind(&self, policy: usize, problem: usize) -> KindStanding {
        let kind = &self.kinds[policy * self.problems.len() + problem];
        let is_of_kind =
            |id: &TrialId| id.policy == self.policies[policy] && id.problem == self.problems[problem];
        let begun: f64 = self.running().filter(|(id, _)| is_of_kind(id)).map(|(_, part)| part.min(1.0)).sum();
        let ended = (kind.done + kind.failed).min(kind.asked) as f64;
        let progress = (ended + begun).min(kind.asked as f64);
        let left = (kind.asked as f64 - progress) * self.expected().seconds(policy, problem);
        KindStanding {
            asked: kind.asked,
            done: kind.done,
            failed: kind.failed,
            mean: (kind.uniform > 0.0).then(|| 100.0 * (kind.own / kind.uniform)),
            seconds: kind.seconds,
            seconds_left: (self.expected().is_measured() || left == 0.0).then_some(left),
            is_rough: left > 0.0 && self.expected().is_guess(policy),
            progress,
        }
    }

    /// All policies on all problems together; there is no mean over problems.
    pub fn total(&self) -> KindStanding {
        let mut total = KindStanding { seconds_left: Some(0.0), ..KindStanding::default() };
        for policy in 0..self.policies.len() {
            for problem in 0..self.problems.len() {
                let kind = self.kind(policy, problem);
                // A damaged folder may request any number.
                total.asked = total.asked.saturating_add(kind.asked);
                total.done += kind.done;
                total.failed += kind.failed;
                total.seconds += kind.seconds;
                total.seconds_left =
                    total.seconds_left.zip(kind.seconds_left).map(|(one, other)| one + other);
                total.is_rough |= kind.is_rough;
                total.progress += kind.progress;
            }
        }
        total
    }

    /// The part of the work that is done, from 0 to 1, where work is measured in seconds.
    pub fn fraction(&self) -> f64 {
        let (mut done, mut all) = (0.0, 0.0);
        for policy in 0..self.policies.len() {
            for problem in 0..self.problems.len() {
                // A trial that takes no time is work too, or a run of such trials would never get on.
                let seconds = self.expected().seconds(policy, problem).max(1e-9);
                let kind = self.kind(policy, problem);
                done += kind.progress * seconds;
                all += kind.asked as f64 * seconds;
            }
        }
        if all > 0.0 { (done / all).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// Wall seconds until all trials have ended.
    ///
    /// `None` before any trial has ended or, as of the last [`tick`](Self::tick), taken a step.
    pub fn wall_seconds_left(&self) -> Option<f64> {
        let total = self.total().seconds_left?;
        let mut untouched: Vec<usize> =
            self.kinds.iter().map(|kind| kind.asked.saturating_sub(kind.done + kind.failed)).collect();
        let mut longest = 0.0_f64;
        for (id, part) in self.running() {
            if let Some((policy, problem)) = self.place(id) {
                longest = longest.max((1.0 - part) * self.expected().seconds(policy, problem));
                let left = &mut untouched[policy * self.problems.len() + problem];
                *left = left.saturating_sub(1);
            }
        }
        for (index, _) in untouched.iter().enumerate().filter(|(_, left)| **left > 0) {
            let (policy, problem) = (index / self.problems.len(), index % self.problems.len());
            longest = longest.max(self.expected().seconds(policy, problem));
        }
        Some(wall_seconds(total, longest, self.jobs))
    }
}

/// The same numbers in ranges that are in order and neither overlap nor touch.
fn apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, range| {
        let is_joined = next.start <= range.end;
        if is_joined {
            range.end = range.end.max(next.end);
        }
        is_joined
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Measured;
    use crate::summary::{Metric, Table};
    use proptest::prelude::*;

    const POLICIES: [&str; 3] = [UNIFORM, "lin-full-post", "lu-gauss"];
    const PROBLEMS: [&str; 2] = ["wheel", "linear"];

    fn standing(asked: usize, jobs: usize) -> Standing {
        let policies = POLICIES.map(str::to_owned).to_vec();
        let problems = PROBLEMS.map(|name| (name.to_owned(), 2)).to_vec();
        Standing::new(policies, problems, 100, jobs, |_, _| std::iter::once(0..asked).collect())
    }

    fn id(policy: usize, problem: usize, trial: usize) -> TrialId {
        TrialId { problem: PROBLEMS[problem].to_owned(), policy: POLICIES[policy].to_owned(), trial }
    }

    fn row(policy: usize, problem: usize, trial: usize, regret: f64, seconds: f64) -> TrialRow {
        let outcome = Ok(Measured {
            cumulative_regret: regret,
            simple_regret: regret,
            seconds_choosing: seconds / 2.0,
            seconds_learning: seconds / 2.0,
            cpu_seconds: None,
            interventions: Some(0),
        });
        let id = id(policy, problem, trial);
        TrialRow { id, seed: 0, steps: 100, outcome, version: "0.1.0".to_owned() }
    }

    #[test]
    fn by_hand() {
        let mut standing = standing(4, 2);
        assert_eq!((standing.wall_seconds_left(), standing.fraction()), (None, 0.0));
        standing.record(&row(1, 0, 0, 30.0, 2.0));
        // Uniform has no such trial yet.
        assert_eq!(standing.kind(1, 0).mean, None);
        assert!(!standing.kind(1, 1).is_rough && standing.kind(2, 1).is_rough && standing.total().is_rough);
        standing.record(&row(0, 0, 0, 60.0, 0.5));
        standing.record(&row(0, 0, 1, 90.0, 0.5));
        assert_eq!(standing.kind(1, 0).mean, Some(50.0));
        assert_eq!(standing.kind(0, 0).mean, Some(100.0));
        standing.record(&row(1, 0, 1, 15.0, 4.0));
        standing.record(&TrialRow { outcome: Err("no".to_owned()), ..row(1, 0, 2, 0.0, 0.0) });
        let kind = standing.kind(1, 0);
        assert_eq!((kind.asked, kind.done, kind.failed, kind.has_ended()), (4, 2, 1, false));
        // (30 + 15) of (60 + 90), and one trial of three seconds left.
        assert_eq!((kind.mean, kind.seconds, kind.seconds_left), (Some(30.0), 6.0, Some(3.0)));
        // A quarter of that trial has run.
        standing.start(&id(1, 0, 3), 0.0);
        standing.step(&id(1, 0, 3), 25, 100.0);
        // Trials of its kind have ended, so its own pace changes nothing.
        standing.tick(100.0);
        let kind = standing.kind(1, 0);
        assert_eq!((kind.progress, kind.seconds_left), (3.25, Some(2.25)));
        standing.record(&row(1, 0, 3, 15.0, 3.0));
        assert!(standing.kind(1, 0).has_ended() && standing.running().next().is_none());
        assert_eq!(standing.kind(1, 0).seconds_left, Some(0.0));
        let total = standing.total();
        assert_eq!((total.asked, total.done, total.failed, total.seconds), (24, 5, 1, 10.0));
    }

    #[test]
    fn what_is_left_is_shared_by_the_threads_and_no_trial_is_split() {
        for (jobs, expected) in [(1, 60.0), (2, 30.0), (100, 10.0)] {
            let mut standing = standing(2, jobs);
            for policy in 0..3 {
                for problem in 0..2 {
                    standing.record(&row(policy, problem, 0, 1.0, 10.0));
                }
            }
            assert_eq!(standing.wall_seconds_left(), Some(expected), "{jobs} jobs");
            assert_eq!(standing.fraction(), 0.5);
        }
        // The last two trials, one of them half done.
        let mut standing = standing(1, 2);
        for (policy, problem) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            standing.record(&row(policy, problem, 0, 1.0, 10.0));
        }
        standing.pace.measure(2, 0, 8.0);
        standing.pace.measure(2, 1, 10.0);
        standing.start(&id(2, 0, 0), 0.0);
        standing.start(&id(2, 1, 0), 0.0);
        standing.step(&id(2, 1, 0), 50, 1.0);
        assert_eq!(standing.wall_seconds_left(), Some(8.0));
    }

    /// Trials of the quick policies have ended, and LU-Gauss has run for ten seconds: its own steps tell how long it takes, not the
    /// seconds of the others.
    #[test]
    fn time_left_follows_from_the_steps_of_running_trials() {
        let close = |found: Option<f64>, expected: f64| {
            assert!(
                found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-12),
                "{found:?} {expected}"
            );
        };
        let mut standing = standing(2, 1);
        for (policy, problem, trial) in (0..8).map(|place| (place % 2, place / 2 % 2, place / 4)) {
            standing.record(&row(policy, problem, trial, 1.0, 0.001));
        }
        standing.start(&id(2, 0, 0), 5.0);
        standing.tick(5.0);
        let guessed = standing.wall_seconds_left().unwrap();
        assert!(standing.total().is_rough && guessed < 10.0, "{guessed}");
        // 25 of 100 steps took 10 seconds: 40 seconds for a trial, also on the other problem.
        standing.step(&id(2, 0, 0), 25, 15.0);
        standing.tick(17.0);
        close(standing.kind(2, 0).seconds_left, 1.75 * 40.0);
        close(standing.kind(2, 1).seconds_left, 2.0 * 40.0);
        close(standing.wall_seconds_left(), 3.75 * 40.0);
        assert!(!standing.total().is_rough && (standing.fraction() - 0.25 / 4.0).abs() < 1e-3);
        // Nothing for 70 seconds: the next 50 steps are not done, so that 75 steps take 85 seconds or more.
        standing.tick(90.0);
        close(standing.kind(2, 0).seconds_left, 1.75 * 85.0 / 75.0 * 100.0);
        // What has ended tells more.
        standing.record(&row(2, 0, 0, 1.0, 60.0));
        standing.tick(90.0);
        close(standing.wall_seconds_left(), 3.0 * 60.0);
    }

    /// No trial has ended: the steps of the first are enough for an estimate, and before them there is none.
    #[test]
    fn the_first_steps_give_the_first_estimate() {
        let mut standing = standing(1, 2);
        standing.start(&id(2, 0, 0), 0.0);
        standing.tick(30.0);
        assert_eq!(standing.wall_seconds_left(), None);
        standing.step(&id(2, 0, 0), 50, 30.0);
        standing.tick(30.0);
        assert!(standing.wall_seconds_left().is_some_and(|seconds| (59.0..90.0).contains(&seconds)));
        // A trial that says nothing is at least as slow as its silence.
        standing.record(&row(0, 0, 0, 1.0, 0.001));
        standing.start(&id(2, 1, 0), 30.0);
        standing.tick(130.0);
        assert!((standing.kind(2, 1).seconds_left.unwrap() - 200.0).abs() < 1e-9);
    }

    #[test]
    fn rows_of_others_and_of_more_trials_change_no_count() {
        let mut standing = standing(1, 1);
        let mut other = row(0, 0, 0, 5.0, 1.0);
        other.id.policy = "bbb".to_owned();
        standing.record(&other);
        assert_eq!(standing, super::tests::standing(1, 1));
        standing.record(&row(0, 1, 7, 5.0, 1.0));
        let kind = standing.kind(0, 1);
        assert_eq!((kind.done, kind.seconds, kind.mean), (0, 1.0, Some(100.0)));
    }

    /// Trials 0 to 3, 2 to 5 and 100 are seven; only rows of these count as done.
    #[test]
    fn trials_asked_for_twice_count_once_and_need_not_begin_at_0() {
        assert_eq!(apart(vec![100..101, 2..6, 0..4, 3..3]), [0..6, 100..101]);
        let asked = |_: usize, _: usize| vec![0..4, 100..101, 2..6];
        let (policies, problems) = (vec![POLICIES[0].to_owned()], vec![(PROBLEMS[0].to_owned(), 2)]);
        let mut standing = Standing::new(policies, problems, 100, 1, asked);
        assert_eq!(standing.kind(0, 0).asked, 7);
        for trial in [5, 6, 99, 100, 101] {
            standing.record(&row(0, 0, trial, 1.0, 1.0));
        }
        assert_eq!(standing.kind(0, 0).done, 2);
    }

    #[test]
    fn nothing_asked_for_is_all_done() {
        let standing = standing(0, 2);
        assert_eq!((standing.fraction(), standing.wall_seconds_left()), (1.0, Some(0.0)));
        assert!(standing.kind(0, 0).has_ended());
    }

    proptest! {
        /// In whatever order the rows come, the mean is that of the summary.
        #[test]
        fn the_mean_is_that_of_the_summary(
            rows in prop::collection::hash_map((0..3_usize, 0..2_usize, 0..6_usize), 0.5..100.0_f64, 0..36),
        ) {
            let rows: Vec<TrialRow> = rows
                .into_iter()
                .map(|((policy, problem, trial), regret)| row(policy, problem, trial, regret, 1.0))
                .collect();
            let mut standing = standing(6, 2);
            rows.iter().for_each(|row| standing.record(row));
            let table = Table::new(&rows, Metric::Cumulative);
            for line in &table.lines {
                let policy = POLICIES.iter().position(|name| *name == line.policy).unwrap();
                for (name, cell) in table.problems.iter().zip(&line.cells) {
                    let problem = PROBLEMS.iter().position(|other| other == name).unwrap();
                    match (standing.kind(policy, problem).mean, cell.ours) {
                        (Some(found), Some(ours)) => prop_assert!((found / ours.mean - 1.0).abs() < 1e-12),
                        (found, ours) => prop_assert!(found.is_none() && ours.is_none(), "{found:?} {ours:?}"),
                    }
                }
            }
        }
    }
}
