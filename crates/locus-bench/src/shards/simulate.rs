//! What a plan promises: the shards of a plan on simulated machines.
//!
//! Recorded seconds include what other work on a machine did to a trial, now and then a hundredfold. So a trial takes the median of
//! its kind, which is the pace that the plan knows, or, to see what such trials cost, seconds drawn from the recorded ones.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use locus::Seed;

use super::Planned;
use crate::Error;
use crate::error::ErrorKind;

/// A number that is ordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time(pub(super) f64);

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// How long simulated trials take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durations {
    /// Each the median of its policy and problem.
    Median,
    /// Each the seconds of a recorded trial of its policy and problem, drawn at random with a fixed seed.
    Drawn,
}

/// What simulated nodes did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulation {
    /// How many nodes there were.
    pub nodes: usize,
    /// How many of them failed.
    pub failed: usize,
    /// Seconds from the start to the end of the last shard.
    pub seconds: f64,
    /// Seconds of all trials, each once, divided by those of all nodes until the end of the last shard.
    pub efficiency: f64,
}

impl Planned {
    /// The efficiency of one node for each shard, all started together.
    pub fn simulate(&self, durations: Durations) -> Simulation {
        let seconds = self.seconds(durations);
        let nodes = seconds.len();
        of_run(&seconds, nodes, 0, seconds.iter().copied().fold(0.0, f64::max))
    }

    /// A queue of the plan's shards, the longest first: each of `nodes` nodes takes the next shard when it has ended one.
    ///
    /// `failing` is the share of nodes that fail for good, at times drawn uniformly from the duration of the run without failures.
    /// The shard of a failed node is lost, and runs again from its beginning on another.
    pub fn simulate_queue(
        &self,
        durations: Durations,
        nodes: usize,
        failing: f64,
    ) -> Result<Simulation, Error> {
        let failed = (failing * nodes as f64).round() as usize;
        if nodes == 0 || !(0.0..1.0).contains(&failing) || failed >= nodes {
            let problem = format!(
                "{nodes} nodes of which a share of {failing} fails; expected at least 1 node, and that not all fail"
            );
            return Err(ErrorKind::InvalidExperiment { problem }.into());
        }
        let seconds = self.seconds(durations);
        // The queue knows the plan, not the truth.
        let mut order: Vec<usize> = (0..seconds.len()).collect();
        let shards = self.plan.shards();
        order.sort_by(|one, other| shards[*other].seconds.total_cmp(&shards[*one].seconds));
        let without = queue(&order, &seconds, &vec![f64::INFINITY; nodes]);
        if failed == 0 {
            return Ok(of_run(&seconds, nodes, 0, without));
        }
        let mut rng = Seed::new(0).stream("failing nodes", 0);
        let mut ends = vec![f64::INFINITY; nodes];
        // Nodes are alike, so it does not matter which ones fail.
        ends.iter_mut().take(failed).for_each(|end| *end = rng.uniform() * without);
        Ok(of_run(&seconds, nodes, failed, queue(&order, &seconds, &ends)))
    }

    /// For each shard the seconds of its trials.
    fn seconds(&self, durations: Durations) -> Vec<f64> {
        match durations {
            Durations::Median => self.plan.shards().iter().map(|shard| shard.seconds).collect(),
            Durations::Drawn => self.drawn_seconds(),
        }
    }

    /// For each shard the seconds of its trials, drawn from the recorded ones.
    fn drawn_seconds(&self) -> Vec<f64> {
        let plan = &self.plan;
        let place = |names: &[String]| -> BTreeMap<String, usize> {
            names.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect()
        };
        let (problems, policies) = (place(&plan.problems), place(&plan.policies));
        let mut rng = Seed::new(0).stream("seconds", 0);
        let mut of_shard = |shard: &super::PlannedShard| {
            let mut sum = 0.0;
            for kind in &shard.trials {
                let samples =
                    &self.samples[problems[&kind.problem] * policies.len() + policies[&kind.policy]];
                for _ in kind.numbers.iter().flat_map(|[start, end]| *start..*end) {
                    sum += samples[rng.below(samples.len())];
                }
            }
            sum
        };
        plan.shards().iter().map(&mut of_shard).collect()
    }
}

fn of_run(seconds: &[f64], nodes: usize, failed: usize, end: f64) -> Simulation {
    let all = nodes as f64 * end;
    let efficiency = if all > 0.0 { seconds.iter().sum::<f64>() / all } else { 1.0 };
    Simulation { nodes, failed, seconds: end, efficiency }
}

/// What happens next in a simulated queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The node is free.
    Free(usize),
    /// A node failed, and the task that it ran waits again.
    Lost(usize),
}

/// When the last of the tasks ends that nodes take in this `order`, where node k fails at `ends[k]`.
fn queue(order: &[usize], seconds: &[f64], ends: &[f64]) -> f64 {
    let mut waiting: VecDeque<usize> = order.iter().copied().collect();
    let mut events: BinaryHeap<Reverse<(Time, Event)>> =
        (0..ends.len()).map(|node| Reverse((Time(0.0), Event::Free(node)))).collect();
    let mut idle: Vec<usize> = Vec::new();
    let mut last = 0.0_f64;
    while let Some(Reverse((Time(now), event))) = events.pop() {
        match event {
            Event::Free(node) => idle.push(node),
            // The longest that is left goes first: what was lost is as long as what began before.
            Event::Lost(task) => waiting.push_front(task),
        }
        idle.retain(|&node| ends[node] > now);
        while let Some(task) = waiting.pop_front() {
            let Some(node) = idle.pop() else {
                waiting.push_front(task);
                break;
            };
            let end = now + seconds[task];
            if end < ends[node] {
                last = last.max(end);
                events.push(Reverse((Time(end), Event::Free(node))));
            } else {
                events.push(Reverse((Time(ends[node]), Event::Lost(task))));
            }
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks of 4, 3, 2 and 1 seconds on two nodes end after 5. If the first node fails at 3.5, its task of 4 runs again when the
    /// other is free, at 5, and the last after it; if the second does, its task of 2, begun at 3, runs again at 4.
    #[test]
    fn queues_by_hand() {
        let (order, seconds) = ([0, 1, 2, 3], [4.0, 3.0, 2.0, 1.0]);
        let never = f64::INFINITY;
        assert_eq!(queue(&order, &seconds, &[never, never]), 5.0);
        assert_eq!(queue(&order, &seconds, &[never]), 10.0);
        assert_eq!(queue(&order, &seconds, &[3.5, never]), 10.0);
        assert_eq!(queue(&order, &seconds, &[never, 3.5]), 7.0);
        // A node that fails while it is idle loses nothing, and takes nothing afterwards.
        assert_eq!(queue(&[0], &[2.0], &[never, 1.0]), 2.0);
        assert_eq!(queue(&[0], &[2.0], &[1.0, never]), 3.0);
        assert_eq!(queue(&[0, 1], &[3.0, 2.0], &[2.5, 2.0, never]), 7.0);
        assert_eq!(queue(&[], &[], &[never]), 0.0);
        assert_eq!(of_run(&[4.0, 3.0, 2.0, 1.0], 2, 0, 5.0).efficiency, 1.0);
    }
}
