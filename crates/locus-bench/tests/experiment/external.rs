//! Policies that the caller builds: they run after all others, one at a time unless somebody else plays them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use locus::{PolicySpec, Registry};
use locus_bench::experiment::{ExternalTrial, PlayExternal, Progress};
use locus_bench::record::read_trials;
use locus_bench::trial::{Stop, TrialId, TrialResult, run_trial};
use locus_bench::{Error, Experiment};

use crate::fakes::{experiment, results};

/// The experiment of the tests with a policy called `Mine`, which is `lin-ucb`.
fn with_external(out: &std::path::Path) -> Experiment {
    let build = |shape, seed| "lin-ucb".parse::<PolicySpec>()?.build(shape, seed);
    let registry = Registry::standard().with_external("Mine", Some("3"), build).unwrap();
    let policies = registry.parse_list("Mine,lin-full-post").unwrap();
    Experiment { registry, policies, ..experiment(out) }
}

/// Writes down which trials begin and end.
#[derive(Default)]
struct Diary(Mutex<Vec<(bool, TrialId)>>);

impl Progress for Diary {
    fn started(&self, id: &TrialId) {
        self.0.lock().unwrap().push((true, id.clone()));
    }

    fn finished(&self, row: &locus_bench::record::TrialRow) {
        self.0.lock().unwrap().push((false, row.id.clone()));
    }
}

#[test]
fn external_policies_run_last_and_one_after_another() {
    let out = tempfile::tempdir().unwrap();
    let diary = Diary::default();
    let outcome = with_external(out.path()).run(&diary, &AtomicBool::new(false)).unwrap();
    assert_eq!((outcome.ran, outcome.failed.len()), (18, 0));
    let diary = diary.0.into_inner().unwrap();
    let first = diary.iter().position(|(_, id)| id.policy == "Mine").unwrap();
    assert_eq!(first, 24, "those of the library begin and end first");
    for pair in diary[first..].chunks(2) {
        assert!(pair[0].0 && !pair[1].0 && pair[0].1 == pair[1].1, "{pair:?}");
    }
    let rows = read_trials(out.path()).unwrap();
    let versions = rows.iter().filter(|row| row.id.policy == "Mine").map(|row| row.version.as_str());
    assert!(versions.clone().count() == 6 && versions.clone().all(|version| version.ends_with("+3")));
    let again = with_external(out.path()).run(&(), &AtomicBool::new(false)).unwrap();
    assert_eq!((again.ran, again.skipped), (0, 18));
}

/// Plays as the library would, and counts.
struct Elsewhere {
    n_played: AtomicUsize,
    stop: AtomicBool,
    stops_after: usize,
}

impl PlayExternal for Elsewhere {
    fn jobs(&self) -> usize {
        1
    }

    fn play(&self, trial: &ExternalTrial<'_>, stop: &dyn Stop) -> Result<TrialResult, Error> {
        if self.n_played.fetch_add(1, Ordering::Relaxed) == self.stops_after {
            self.stop.store(true, Ordering::Relaxed);
            assert!(stop.is_set());
            return Err(Error::interrupted());
        }
        let mut policy = trial
            .policy
            .build(trial.sequence.shape(), trial.seed)
            .map_err(|error| Error::other(error.to_string()))?;
        run_trial(trial.sequence, &mut *policy, &mut (), stop)
    }
}

#[test]
fn somebody_else_may_play_them_and_the_rows_are_the_same() {
    let (here, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    with_external(here.path()).run(&(), &AtomicBool::new(false)).unwrap();
    let player = Elsewhere { n_played: AtomicUsize::new(0), stop: AtomicBool::new(false), stops_after: 4 };
    let outcome = with_external(elsewhere.path()).run_external(&player, &(), &player.stop).unwrap();
    assert_eq!((outcome.ran, outcome.discarded, outcome.interrupted), (16, 1, true));
    player.stop.store(false, Ordering::Relaxed);
    let outcome = with_external(elsewhere.path()).run_external(&player, &(), &player.stop).unwrap();
    assert_eq!((outcome.ran, outcome.skipped), (2, 16));
    assert_eq!(player.n_played.load(Ordering::Relaxed), 7);
    assert_eq!(results(here.path()), results(elsewhere.path()));
}
