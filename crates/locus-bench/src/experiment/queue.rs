//! The order in which trials run.
//!
//! Two goals conflict. Someone who watches a run, or stops it early, wants some trials of every policy on every problem soon. And
//! all threads should finish together, which requires the longest trials first. So:
//!
//! - Trials run level by level: trial 0 of every kind, then trial 1, and so on; within a level the longest first.
//! - Once the longest remaining trial, of any level, exceeds half of the remaining work per thread, it runs next. Later, it would
//!   run alone while the other threads are idle.
//! - Uniform's trial runs before others of the same number on the same problem: their regret is normalized by it, and it takes no time.
//!
//! The second rule applies only near the end of a run, so it does not conflict with the first; there it is longest-first
//! scheduling, whose last trials are the shortest. How long a trial takes is known from those that have ended ([`Pace`]). The
//! order changes no result: all randomness of a trial follows from its name.

use std::collections::VecDeque;

use super::UNIFORM;
use super::pace::Pace;
use super::plan::Job;

/// The longest trial goes first once it is more than 1/`SHARE` of what each thread has left.
const SHARE: f64 = 2.0;

/// The trials that have not started.
pub(super) struct Queue {
    kinds: Vec<Kind>,
    pace: Pace,
    threads: usize,
}

/// The trials of one policy on one problem.
struct Kind {
    policy: usize,
    problem: usize,
    is_uniform: bool,
    /// Place in the list of jobs, and number of the trial, lowest first.
    waiting: VecDeque<(usize, usize)>,
}

impl Kind {
    fn next_trial(&self) -> Option<usize> {
        self.waiting.front().map(|(_, trial)| *trial)
    }
}

impl Queue {
    /// Of those `jobs` that `is_in` selects; the trials of each policy and problem are in ascending order.
    pub(super) fn new(jobs: &[Job], is_in: impl Fn(&Job) -> bool, pace: Pace, threads: usize) -> Self {
        let mut kinds: Vec<Kind> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for (index, job) in jobs.iter().enumerate().filter(|(_, job)| is_in(job)) {
            let place = *places.entry((job.policy, job.problem)).or_insert_with(|| {
                let (policy, problem, is_uniform) = (job.policy, job.problem, job.id.policy == UNIFORM);
                kinds.push(Kind { policy, problem, is_uniform, waiting: VecDeque::new() });
                kinds.len() - 1
            });
            kinds[place].waiting.push_back((index, job.id.trial));
        }
        Self { kinds, pace, threads }
    }

    /// Takes the job to run next, by its place in the list.
    pub(super) fn take(&mut self) -> Option<usize> {
        let seconds = |kind: &Kind| self.pace.seconds(kind.policy, kind.problem);
        let waiting = || self.kinds.iter().enumerate().filter(|(_, kind)| !kind.waiting.is_empty());
        let (longest, longest_seconds) = waiting()
            .map(|(place, kind)| (place, seconds(kind)))
            .reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        let left: f64 = waiting().map(|(_, kind)| seconds(kind) * kind.waiting.len() as f64).sum();
        let place = if longest_seconds * SHARE > left / self.threads.max(1) as f64 {
            longest
        } else {
            let level = waiting().filter_map(|(_, kind)| kind.next_trial()).min()?;
            waiting()
                .filter(|(_, kind)| kind.next_trial() == Some(level))
                .map(|(place, kind)| (place, seconds(kind)))
                .reduce(|best, next| if next.1 > best.1 { next } else { best })?
                .0
        };
        let place = self.uniform_before(place).unwrap_or(place);
        self.kinds[place].waiting.pop_front().map(|(index, _)| index)
    }

    /// Uniform on the same problem, if it still has the trial that is next at `place` to run.
    fn uniform_before(&self, place: usize) -> Option<usize> {
        let Kind { problem, .. } = self.kinds[place];
        let trial = self.kinds[place].next_trial()?;
        self.kinds.iter().position(|kind| {
            kind.is_uniform && kind.problem == problem && kind.next_trial().is_some_and(|next| next <= trial)
        })
    }

    /// A trial of this policy and problem took so long.
    pub(super) fn measure(&mut self, job: &Job, seconds: f64) {
        self.pace.measure(job.policy, job.problem, seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::super::pace::wall_seconds;
    use super::*;
    use crate::trial::TrialId;
    use std::collections::HashSet;

    /// What a simulated run did.
    struct Simulated {
        /// The jobs, by place, in the order in which they began.
        order: Vec<usize>,
        /// When the last thread ended.
        makespan: f64,
        /// When each thread ended.
        ends: Vec<f64>,
    }

    /// Carries the jobs out on `threads` threads; a trial of policy p on problem q takes `seconds(p, q)`, which the queue
    /// learns when it ends.
    fn simulate(jobs: &[Job], pace: Pace, threads: usize, seconds: &dyn Fn(&Job) -> f64) -> Simulated {
        let mut queue = Queue::new(jobs, |_| true, pace, threads);
        let mut order = Vec::new();
        // When each thread is free, and the job that it then has ended.
        let mut free: Vec<(f64, Option<usize>)> = vec![(0.0, None); threads];
        let mut ends = vec![0.0; threads];
        while let Some(thread) = (0..threads).min_by(|&one, &other| free[one].0.total_cmp(&free[other].0)) {
            let (now, ended) = free[thread];
            if let Some(index) = ended {
                queue.measure(&jobs[index], seconds(&jobs[index]));
                ends[thread] = now;
            }
            match queue.take() {
                Some(index) => {
                    order.push(index);
                    free[thread] = (now + seconds(&jobs[index]), Some(index));
                }
                None => {
                    free[thread] = (f64::INFINITY, None);
                    if free.iter().all(|(time, _)| time.is_infinite()) {
                        break;
                    }
                }
            }
        }
        Simulated { order, makespan: ends.iter().copied().fold(0.0, f64::max), ends }
    }

    const POLICIES: [&str; 5] = [UNIFORM, "lin-full-post", "neural-linear", "lu-gauss", "lu-sivi"];
    const FEATURES: [usize; 4] = [2, 20, 120, 390];

    fn jobs(n_trials: usize) -> Vec<Job> {
        let mut jobs = Vec::new();
        for trial in 0..n_trials {
            for problem in 0..FEATURES.len() {
                for (policy, name) in POLICIES.iter().enumerate() {
                    let id = TrialId { problem: problem.to_string(), policy: (*name).to_owned(), trial };
                    jobs.push(Job { id, problem, policy });
                }
            }
        }
        jobs
    }

    fn unmeasured() -> Pace {
        Pace::new(POLICIES.into_iter(), &FEATURES, 2000)
    }

    /// Unlike the guess in size and, in places, in order.
    fn truth(job: &Job) -> f64 {
        let base = [0.001, 0.4, 0.05, 3.0, 20.0][job.policy];
        base * [1.0, 1.4, 9.0, 2.0][job.problem]
    }

    fn work(jobs: &[Job]) -> (f64, f64) {
        (jobs.iter().map(truth).sum(), jobs.iter().map(truth).fold(0.0, f64::max))
    }

    #[test]
    fn every_job_is_run_once() {
        for threads in [1, 2, 3, 200] {
            let jobs = jobs(7);
            let run = simulate(&jobs, unmeasured(), threads, &truth);
            let distinct: HashSet<usize> = run.order.iter().copied().collect();
            assert_eq!((run.order.len(), distinct.len()), (jobs.len(), jobs.len()));
        }
        assert!(simulate(&[], unmeasured(), 2, &truth).order.is_empty());
    }

    /// The longest trial takes 180 of the 314 seconds of a level: level by level alone, or in the order of the lists, one
    /// thread would end long before the other.
    #[test]
    fn threads_end_together() {
        // With few trials, no order is perfect: each of the longest takes a good part of a thread's time.
        for (n_trials, most_lost) in [(2, 0.06), (3, 0.04), (10, 0.001), (50, 0.001)] {
            let jobs = jobs(n_trials);
            let (total, longest) = work(&jobs);
            for threads in [2, 3, 4] {
                let run = simulate(&jobs, unmeasured(), threads, &truth);
                let lost = run.makespan / wall_seconds(total, longest, threads) - 1.0;
                assert!(lost < most_lost, "{n_trials} trials, {threads} threads: {lost} lost");
                let first = run.ends.iter().copied().fold(f64::INFINITY, f64::min);
                let apart = (run.makespan - first) / longest;
                assert!(n_trials < 10 || apart < 0.01, "{n_trials} trials, {threads} threads: {apart} apart");
                // An order that knows nothing of seconds loses more.
                let listed = listed_makespan(&jobs, threads);
                assert!(run.makespan < listed, "{n_trials} trials, {threads} threads: {listed} as listed");
            }
        }
    }

    /// The jobs as they are listed, each by the thread that is free first.
    fn listed_makespan(jobs: &[Job], threads: usize) -> f64 {
        let mut free = vec![0.0_f64; threads];
        for job in jobs {
            let next = free.iter_mut().min_by(|one, other| one.total_cmp(other)).unwrap();
            *next += truth(job);
        }
        free.into_iter().fold(0.0, f64::max)
    }

    /// After a tenth of the work every kind has trials: about as many as any other.
    #[test]
    fn every_kind_has_trials_early() {
        let jobs = jobs(50);
        let run = simulate(&jobs, unmeasured(), 2, &truth);
        let (total, longest) = work(&jobs);
        let mut done = 0.0;
        let mut counts = vec![0_usize; POLICIES.len() * FEATURES.len()];
        for &index in &run.order {
            let job = &jobs[index];
            counts[job.policy * FEATURES.len() + job.problem] += 1;
            done += truth(job);
            let (fewest, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            let is_at_the_end = total - done < 4.0 * longest + truth(job);
            assert!(most - fewest <= 1 || is_at_the_end, "{fewest} to {most} trials after {done} of {total}");
        }
        assert!(counts.iter().all(|&n| n == 50));
    }

    #[test]
    fn a_level_begins_with_the_longest() {
        let jobs = jobs(50);
        let run = simulate(&jobs, unmeasured(), 1, &truth);
        // In the second level all is measured.
        let second: Vec<&Job> = run.order[20..40].iter().map(|&index| &jobs[index]).collect();
        assert!(second.iter().all(|job| job.id.trial == 1));
        let seconds: Vec<f64> =
            second.iter().filter(|job| job.id.policy != UNIFORM).map(|job| truth(job)).collect();
        assert!(seconds.len() == 16 && seconds.is_sorted_by(|one, next| one >= next), "{seconds:?}");
        // In the first, the guess says that LU-SIVI takes longest, and longest on the widest contexts.
        let first = &jobs[run.order[1]];
        assert_eq!((first.id.policy.as_str(), first.problem), ("lu-sivi", 3));
    }

    #[test]
    fn uniform_goes_before_those_that_it_measures() {
        for threads in [1, 2, 100] {
            let jobs = jobs(5);
            let mut done = HashSet::new();
            for index in simulate(&jobs, unmeasured(), threads, &truth).order {
                let Job { id, problem, .. } = &jobs[index];
                let is_uniform = id.policy == UNIFORM;
                assert!(is_uniform || done.contains(&(*problem, id.trial)), "{id}");
                if is_uniform {
                    done.insert((*problem, id.trial));
                }
            }
        }
    }

    /// What a resumed folder holds is known from the first trial on.
    #[test]
    fn a_measured_pace_is_followed_at_once() {
        let mut pace = unmeasured();
        let jobs = jobs(3);
        for job in &jobs[..20] {
            pace.measure(job.policy, job.problem, truth(job));
        }
        let run = simulate(&jobs[20..], pace, 1, &truth);
        let first = &jobs[20 + run.order[1]];
        assert_eq!((first.id.policy.as_str(), first.problem), ("lu-sivi", 2));
    }
}
