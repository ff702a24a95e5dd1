//! What each draw of chance is derived from, seen from where it is used.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use locus::{PolicySpec, Seed, Shape};
use locus_bench::Error;
use locus_bench::problem::{Loaded, Problem, Sequence};

use crate::fakes::{Act, OTHER, build, dice, experiment};

/// A problem that remembers the seeds of the sequences that it dealt out.
struct Remembers {
    problem: Arc<dyn Problem>,
    seeds: Mutex<Vec<Seed>>,
}

impl Problem for Remembers {
    fn name(&self) -> &str {
        self.problem.name()
    }

    fn shape(&self) -> Shape {
        self.problem.shape()
    }

    fn max_steps(&self) -> Option<usize> {
        self.problem.max_steps()
    }

    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error> {
        self.seeds.lock().unwrap().push(seed);
        self.problem.sequence(steps, seed)
    }
}

/// Each seed once, and in one order.
fn each_once(seeds: impl IntoIterator<Item = Seed>) -> Vec<u64> {
    let mut numbers: Vec<u64> = seeds.into_iter().map(Seed::number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The seeds are spelled out here, so that recorded trials can be repeated by whoever reads this.
#[test]
fn a_policys_chance_depends_on_seed_problem_trial_and_policy() {
    let out = tempfile::tempdir().unwrap();
    let mut experiment = experiment(out.path());
    experiment.policies = locus::Registry::standard().parse_list(&format!("lin-full-post,{OTHER}")).unwrap();
    let problems =
        ["a", "b"].map(|name| Arc::new(Remembers { problem: dice(name).problem, seeds: Mutex::default() }));
    experiment.problems = problems
        .iter()
        .map(|problem| Loaded { problem: Arc::clone(problem) as _, ..dice(problem.name()) })
        .collect();
    let built: Mutex<Vec<(String, Seed)>> = Mutex::default();
    let make = build(|_| Act::Random);
    let remember = |spec: &PolicySpec, shape: Shape, seed: Seed| {
        built.lock().unwrap().push((spec.to_string(), seed));
        make(spec, shape, seed)
    };
    experiment.run_with(&remember, &(), &AtomicBool::new(false)).unwrap();

    let trial =
        |problem: &str, trial: u64| Seed::new(5).derive("problem").derive(problem).derive_index(trial);
    for problem in &problems {
        let expected = each_once((0..3).map(|index| trial(problem.name(), index)));
        assert_eq!(each_once(problem.seeds.lock().unwrap().iter().copied()), expected);
    }
    let built = built.into_inner().unwrap();
    assert_eq!(built.len(), 2 * 3 * 3);
    assert_eq!(each_once(built.iter().map(|(_, seed)| *seed)).len(), built.len(), "all differ");
    for policy in ["uniform", "lin-full-post", OTHER] {
        let of_policy = built.iter().filter(|(name, _)| name == policy).map(|(_, seed)| *seed);
        let expected = ["a", "b"].iter().flat_map(|problem| {
            (0..3).map(move |index| trial(problem, index).derive("policy").derive(policy))
        });
        assert_eq!(each_once(of_policy), each_once(expected));
    }
}
