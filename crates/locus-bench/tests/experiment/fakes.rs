//! A problem without files, policies that do as their name says, and what the tests share.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use locus::{Choice, Choose, FitReport, Outcome, Policy, PolicySpec, Registry, Request, Seed, Shape};
use locus_bench::experiment::{BuildPolicy, Part, RunOutcome};
use locus_bench::problem::{FileUsed, Loaded, Problem, Sequence};
use locus_bench::record::{TrialRow, read_trials};
use locus_bench::{Error, Experiment};

/// Three actions whose rewards are drawn anew in every round; the context tells nothing.
pub(crate) struct Dice {
    pub(crate) name: String,
    pub(crate) scale: f64,
}

const SHAPE: Shape = Shape::new(2, 3);
pub(crate) const MAX_STEPS: usize = 1000;

impl Problem for Dice {
    fn name(&self) -> &str {
        &self.name
    }

    fn shape(&self) -> Shape {
        SHAPE
    }

    fn max_steps(&self) -> Option<usize> {
        Some(MAX_STEPS)
    }

    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error> {
        let mut rng = seed.stream("dice", 0);
        let contexts = (0..steps * SHAPE.n_features).map(|_| rng.uniform() as f32).collect();
        let rewards: Vec<f64> = (0..steps * SHAPE.n_actions).map(|_| self.scale * rng.uniform()).collect();
        let best =
            rewards.chunks(SHAPE.n_actions).map(|round| round.iter().copied().fold(0.0, f64::max)).collect();
        Sequence::new(SHAPE, contexts, rewards, best)
    }
}

pub(crate) fn dice(name: &str) -> Loaded {
    dice_from(name, 1.0, "11")
}

pub(crate) fn dice_from(name: &str, scale: f64, sha256: &str) -> Loaded {
    let file = FileUsed { name: format!("{name}.dat"), sha256: sha256.to_owned(), known: None };
    let problem = Arc::new(Dice { name: name.to_owned(), scale });
    Loaded { problem, files: vec![file], notes: Vec::new(), schema: None }
}

/// What a fake does when it is asked to choose.
#[derive(Clone, Copy)]
pub(crate) enum Act {
    /// A random action.
    Random,
    /// Always the first action.
    First,
    /// Fails in this round, as a policy does whose numbers broke down.
    Fail(u64),
    /// Panics in this round.
    Panic(u64),
    /// Chooses an action that there is not.
    OutOfRange,
}

struct Fake {
    name: String,
    seed: Seed,
    act: Act,
    asked: Asked,
}

/// The policies that had to choose, and whether they were asked for propensities.
pub(crate) type Asked = Arc<Mutex<BTreeSet<(String, bool)>>>;

impl Choose for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn shape(&self) -> Shape {
        SHAPE
    }

    fn choose(&self, request: Request<'_>) -> Result<Choice, locus::Error> {
        let round = request.round;
        self.asked.lock().unwrap().insert((self.name.clone(), request.wants_propensity));
        let action = match self.act {
            Act::Fail(when) if when == round => {
                let message = "the \"draw\",\nof gave NaN in round 7; the policy did not act on it";
                return Err(locus::Error::policy(message));
            }
            Act::Panic(when) if when == round => panic!("fell over,\nin round {round}"),
            Act::First => 0,
            Act::OutOfRange => SHAPE.n_actions,
            _ => self.seed.stream("choose", round).below(SHAPE.n_actions),
        };
        Ok(Choice::new(action))
    }

    fn distribution(&self, _: Request<'_>, _: &mut [f64]) -> Result<(), locus::Error> {
        unimplemented!("no trial asks for it")
    }
}

impl Policy for Fake {
    fn learn(&mut self, _: Outcome<'_>) -> Result<FitReport, locus::Error> {
        Ok(FitReport::default())
    }

    fn learn_many(&mut self, _: &[Outcome<'_>]) -> Result<FitReport, locus::Error> {
        unimplemented!("no trial asks for it")
    }

    fn seed(&self) -> Seed {
        unimplemented!("no trial asks for it")
    }

    fn n_observed(&self) -> u64 {
        unimplemented!("no trial asks for it")
    }

    fn last_round(&self) -> Option<u64> {
        unimplemented!("no trial asks for it")
    }

    fn next_round(&self) -> u64 {
        unimplemented!("no trial asks for it")
    }

    fn set_next_round(&mut self, _: u64) {
        unimplemented!("no trial asks for it")
    }

    fn snapshot(&self) -> Arc<dyn Choose> {
        unimplemented!("no trial asks for it")
    }

    fn save(&self) -> Vec<u8> {
        unimplemented!("no trial asks for it")
    }
}

/// Builds fakes that act as `act` says for the policy in canonical form.
pub(crate) fn build(
    act: impl Fn(&str) -> Act + Sync,
) -> impl Fn(&PolicySpec, Shape, Seed) -> Result<Box<dyn Policy>, locus::Error> + Sync {
    build_recording(act, Asked::default())
}

/// The same, and `asked` has what they were asked.
pub(crate) fn build_recording(
    act: impl Fn(&str) -> Act + Sync,
    asked: Asked,
) -> impl Fn(&PolicySpec, Shape, Seed) -> Result<Box<dyn Policy>, locus::Error> + Sync {
    move |spec, _, seed| {
        let name = spec.to_string();
        Ok(Box::new(Fake { act: act(&name), name, seed, asked: Arc::clone(&asked) }))
    }
}

pub(crate) const OTHER: &str = "lin-full-post[prior_precision=2]";

/// Two problems, Uniform and one more, three trials of 20 steps.
pub(crate) fn experiment(out: &Path) -> Experiment {
    Experiment {
        suite: "test".to_owned(),
        command: vec!["locus".to_owned(), "bench".to_owned()],
        registry: Registry::standard(),
        problems: vec![dice("a"), dice("b")],
        policies: Registry::standard().parse_list("lin-full-post").unwrap(),
        trials: 3,
        first_trial: 0,
        steps: 20,
        seed: Seed::new(5),
        propensities: false,
        jobs: 2,
        part: Part::All,
        out: out.to_owned(),
    }
}

pub(crate) fn run(experiment: &Experiment) -> Result<RunOutcome, Error> {
    run_with(experiment, &build(|_| Act::Random))
}

pub(crate) fn run_with(experiment: &Experiment, build: &BuildPolicy<'_>) -> Result<RunOutcome, Error> {
    experiment.run_with(build, &(), &AtomicBool::new(false))
}

/// The rows without what the clock says, in one order.
pub(crate) fn results(out: &Path) -> Vec<TrialRow> {
    let mut rows = read_trials(out).unwrap();
    for row in &mut rows {
        if let Ok(measured) = &mut row.outcome {
            (measured.seconds_choosing, measured.seconds_learning) = (0.0, 0.0);
            measured.cpu_seconds = None;
        }
    }
    rows.sort_by(|one, other| one.id.cmp(&other.id));
    rows
}

/// Every file of the curves, with its bytes.
pub(crate) fn curves(out: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(out.join("curves"))
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        })
        .collect()
}
