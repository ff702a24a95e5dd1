//! Whole explorations on problems without files, with nets so small that they take milliseconds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use locus::Shape;

use super::draws::View;
use super::record::{HISTOGRAMS_FILE, STATISTICS_FILE};
use super::*;
use crate::problem;
use crate::report::tests::labels_stay_apart;

/// Mushrooms of six sorts: the last three are poisonous, and pay 5 or -35. In the first 25 rounds all go well, so that every
/// policy takes them for edible.
struct Berries;

const BERRIES: Shape = Shape::new(6, 2);

impl Problem for Berries {
    fn name(&self) -> &str {
        "berries"
    }

    fn shape(&self) -> Shape {
        BERRIES
    }

    fn action_name(&self, action: usize) -> String {
        ["Leave", "Eat"][action].to_owned()
    }

    fn deceptive_best_action(&self) -> Option<usize> {
        Some(0)
    }

    fn max_steps(&self) -> Option<usize> {
        None
    }

    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error> {
        let mut rng = seed.stream("berries", 0);
        let (mut contexts, mut rewards, mut best) = (Vec::new(), Vec::new(), Vec::new());
        for step in 0..steps {
            let sort = rng.below(6);
            contexts.extend((0..6).map(|other| f32::from(u8::from(other == sort))));
            let is_poisonous = sort >= 3;
            let meal = if is_poisonous && step >= 25 && rng.uniform() < 0.5 { -35.0 } else { 5.0 };
            rewards.extend([0.0, meal]);
            best.push(if is_poisonous { 0.0 } else { 5.0 });
        }
        Sequence::new(BERRIES, contexts, rewards, best)
    }
}

const SMALL_NET: &str =
    "lu-gauss[encoder_layers=8,decoder_layers=8,latent_dim=3,minibatches=5,batch_size=32,learning_rate=0.01]";

fn exploration(problem: Arc<dyn Problem>, policies: &[&str], out: &Path) -> Exploration {
    Exploration {
        registry: locus::Registry::standard(),
        command: vec!["locus".to_owned()],
        problem: Loaded { problem, files: Vec::new(), notes: Vec::new(), schema: None },
        policies: policies.iter().map(|policy| policy.parse().unwrap()).collect(),
        seed: Seed::new(0),
        trial: 1,
        steps: 200,
        every: 20,
        draws: 50,
        context: None,
        jobs: 1,
        out: out.to_owned(),
    }
}

fn berries(out: &Path) -> Exploration {
    exploration(Arc::new(Berries), &["lin-full-post", SMALL_NET], out)
}

fn run(exploration: &Exploration) -> Result<Explored, Error> {
    exploration.run(&(), &AtomicBool::new(false))
}

/// All files of an exploration but `explore.json`, which names the number of threads.
fn files(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(out.join("explore")).unwrap().map(|entry| entry.unwrap());
    let mut files: BTreeMap<String, Vec<u8>> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    assert!(files.remove("explore.json").is_some());
    files
}

/// The columns of the rows of a table for which `wanted` holds, by name.
fn rows(out: &Path, file: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(out.join("explore").join(file)).unwrap();
    let columns: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = |record: csv::StringRecord| {
        columns.iter().cloned().zip(record.iter().map(str::to_owned)).collect::<BTreeMap<_, _>>()
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

#[test]
fn looking_changes_nothing() {
    let out = tempfile::tempdir().unwrap();
    let exploration = berries(out.path());
    let problem = &exploration.problem.problem;
    let sequence = problem.sequence(200, sequence_seed(Seed::new(0), "berries", 1)).unwrap();
    let kind = Kind::new(&sequence, 0);
    for spec in &exploration.policies {
        let id = exploration.trial_id(spec);
        let stop = AtomicBool::new(false);
        let seen = exploration.watch(spec, &sequence, &kind, 3, &mut Watch::new(&(), &id), &stop).unwrap();
        let mut alone = spec.build(BERRIES, id.policy_seed(Seed::new(0))).unwrap();
        let result = run_trial(&sequence, &mut *alone, &mut (), &stop).unwrap();
        assert_eq!((seen.result.actions, seen.result.regrets), (result.actions, result.regrets));
        // Equal actions could be a coincidence; the saved bytes must be equal too.
        let look = |step: usize, decider: &dyn Choose| -> Result<(), locus::Error> {
            kind.margins(decider, step).map(|_| ())
        };
        let policy = spec.build(BERRIES, id.policy_seed(Seed::new(0))).unwrap();
        let mut watched = Watched::new(policy, 20, 200, Box::new(look)).unwrap();
        run_trial(&sequence, &mut watched, &mut (), &stop).unwrap();
        assert!(watched.save() == alone.save(), "{spec} learned otherwise");
        let steps: Vec<usize> = seen.looks.iter().map(|look| look.step).collect();
        assert_eq!(steps, (0..=10).map(|look| 20 * look).collect::<Vec<_>>());
        assert_eq!(seen.looks[0].rewards.len(), (50 + 3) * 2);
        assert_eq!((seen.ending.margins.len(), seen.ending.within.len()), (3, 3 * 2));
    }
}

#[test]
fn threads_change_nothing() {
    let [one, two] = [1, 2].map(|jobs| {
        let out = tempfile::tempdir().unwrap();
        let explored = run(&Exploration { jobs, ..berries(out.path()) }).unwrap();
        (explored.summary, files(out.path()))
    });
    assert_eq!(one.0, two.0);
    let names: Vec<&str> = one.1.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [".lock", "1-single.svg", "2-many.svg", "histograms.csv", "statistics.csv", "summary.txt"]
    );
    assert!(one.1 == two.1, "files differ");
}

#[test]
fn the_followed_context_is_one_that_all_misjudge_at_first() {
    let out = tempfile::tempdir().unwrap();
    let exploration = berries(out.path());
    let explored = run(&exploration).unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.path().join("explore/explore.json")).unwrap()).unwrap();
    let followed = json["found"]["followed"].as_u64().unwrap() as usize;
    let sequence = Berries.sequence(200, sequence_seed(Seed::new(0), "berries", 1)).unwrap();
    assert_eq!(sequence.round(followed).best_reward, 0.0, "it is poisonous");
    assert_eq!((&json["found"]["contexts"], &json["context"]), (&3.into(), &serde_json::Value::Null));
    let step = json["found"]["first_mistakes_after"].as_u64().unwrap() as usize;
    assert!(step == 20, "within the first tenth of 200 steps, but found {step}");
    let firsts = json["found"]["first_mistakes"].as_array().unwrap();
    assert!(firsts.contains(&followed.into()));
    assert!(explored.summary.contains("that all policies first misjudged the most"), "{}", explored.summary);
    // What is shown says the same: of each policy, Eat is worth more than Leave after that step.
    let statistics = rows(out.path(), STATISTICS_FILE);
    for policy in &exploration.policies {
        let mean = |action: &str| -> f64 {
            let is_wanted = |row: &&BTreeMap<String, String>| {
                row["figure"] == "single"
                    && row["policy"] == policy.to_string()
                    && row["action"] == action
                    && row["step"] == step.to_string()
            };
            statistics.iter().find(is_wanted).unwrap()["mean"].parse().unwrap()
        };
        assert!(mean("1") > mean("0"), "{policy}");
    }
}

/// The benchmark's own linear problem, with a policy whose model is right: means end at the true rewards.
#[test]
fn draws_are_of_mean_rewards_and_counted_all() {
    let out = tempfile::tempdir().unwrap();
    let problem = problem::load("linear", None).unwrap().problem;
    let steps = 1500;
    let sequence = problem.sequence(steps, sequence_seed(Seed::new(0), "linear", 1)).unwrap();
    let exploration = exploration(problem, &["lin-full-post"], out.path());
    let explored = run(&Exploration { steps, every: 400, ..exploration }).unwrap();
    assert!(explored.summary.contains("followed: the context of round 0"), "{}", explored.summary);

    let statistics = rows(out.path(), STATISTICS_FILE);
    let last: Vec<_> =
        statistics.iter().filter(|row| row["figure"] == "single" && row["step"] == "1500").collect();
    // Four of the eight actions: the best, and those chosen most.
    assert_eq!(last.len(), 4);
    let best = best_action(&sequence.round(0)).to_string();
    assert!(last.iter().any(|row| row["action"] == best));
    for row in &last {
        let reward = sequence.round(0).rewards[row["action"].parse::<usize>().unwrap()];
        let mean: f64 = row["mean"].parse().unwrap();
        // Noise has a standard deviation of 0.08 at most, and every shown action was played a hundred times.
        assert!((mean - reward).abs() < 0.5, "{row:?}, played {reward}");
    }
    let looks: Vec<&str> = ["0", "400", "800", "1200", "1500"].to_vec();
    let kind = Kind::new(&sequence, best_action(&sequence.round(0)));
    let histograms = rows(out.path(), HISTOGRAMS_FILE);
    for (figure, n_draws) in [("single", 50), ("many", kind.contexts.len())] {
        for step in &looks {
            let of = |row: &&BTreeMap<String, String>| {
                row["figure"] == figure && row["step"] == *step && row["action"] == best
            };
            let counts = histograms.iter().filter(of).map(|row| row["draws"].parse::<usize>().unwrap());
            assert_eq!(counts.sum::<usize>(), n_draws, "{figure}, step {step}");
        }
    }
}

#[test]
fn pictures_have_a_panel_for_each_policy_and_action_and_labels_apart() {
    let out = tempfile::tempdir().unwrap();
    let policies =
        ["lin-full-post", "lin-full-post[prior_precision=1]", "lin-full-post[prior_shape=3,prior_rate=3]"];
    let wheel = problem::load("wheel", None).unwrap().problem;
    run(&exploration(wheel, &policies, &out.path().join("wheel"))).unwrap();
    run(&Exploration { every: 1, ..berries(&out.path().join("berries")) }).unwrap();
    run(&Exploration { steps: 1, context: Some(0), ..berries(&out.path().join("one")) }).unwrap();
    for (problem, n_panels) in [("wheel", 12), ("berries", 4), ("one", 4)] {
        for name in ["1-single", "2-many"] {
            let path = out.path().join(problem).join("explore").join(format!("{name}.svg"));
            let svg = fs::read_to_string(&path).unwrap();
            labels_stay_apart(&svg, &path);
            assert_eq!(svg.matches("shape-rendering").count(), n_panels + 1, "{path:?}: panels and a bar");
            assert!(svg.contains("-desc\">Histograms over the steps"), "{path:?}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_written() {
    let out = tempfile::tempdir().unwrap();
    let good = || berries(&out.path().join("out"));
    let named = |policies: &[&str]| exploration(Arc::new(Berries), policies, &out.path().join("out"));
    let described = crate::problem::load("bilinear", None).unwrap().problem;
    let cases = [
        (Exploration { draws: 0, ..good() }, "`draws` is 0, expected at least 1"),
        (Exploration { every: 0, ..good() }, "`every` is 0, expected at least 1"),
        (Exploration { steps: 0, ..good() }, "`steps` is 0, expected at least 1"),
        (Exploration { context: Some(200), ..good() }, "no context 200: a context is named by its round"),
        (
            Exploration { draws: 10_000_000, ..good() },
            "expected at most 50000000; sample less often (--every)",
        ),
        (
            exploration(described, &["lin-full-post"], &out.path().join("out")),
            "the actions of `bilinear` have features and change every round",
        ),
        (named(&[]), "there is no policy to explore"),
        (named(&["lin-full-post", "lin-full-post"]), "`lin-full-post` is named twice"),
        (named(&["uniform"]), "`uniform` has no reward model to sample from; remove it from --policies"),
    ];
    for (exploration, expected) in cases {
        let message = run(&exploration).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

#[test]
fn nothing_misjudged_is_an_error_that_says_what_to_do() {
    let out = tempfile::tempdir().unwrap();
    // By the only look, the policies have learned so much that they misjudge nothing.
    let exploration = Exploration { steps: 2000, every: 2000, ..berries(&out.path().join("out")) };
    let error = run(&exploration).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NothingMisjudged { .. }), "{error}");
    let message = error.to_string();
    for part in ["no context with the best action Leave", "first 2000 steps", "--context", "from 0 to 1999"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!out.path().join("out").exists());
    run(&Exploration { context: Some(5), ..exploration }).unwrap();
}

#[test]
fn a_folder_holds_one_exploration() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    run(&berries(out)).unwrap();
    let before = files(out);
    // The same is done again, and comes out the same.
    run(&berries(out)).unwrap();
    assert!(files(out) == before);
    let others = [
        (Exploration { draws: 51, ..berries(out) }, "an exploration with draws 50, but 51 was requested"),
        (Exploration { every: 10, ..berries(out) }, "with every 20, but 10"),
        (Exploration { trial: 2, ..berries(out) }, "with trial 1, but 2"),
        (Exploration { context: Some(1), ..berries(out) }, "with context chosen by default, but 1"),
        (exploration(Arc::new(Berries), &["lin-full-post"], out), "with policies lin-full-post, lu-gauss["),
        (Exploration { steps: 100, ..berries(out) }, "with steps 200, but 100"),
        (Exploration { seed: Seed::new(9), ..berries(out) }, "with seed 0, but 9"),
    ];
    for (other, expected) in others {
        let message = run(&other).unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("--out"), "{message}");
    }
    assert!(files(out) == before);
    fs::write(out.join("explore/explore.json"), "{\"format\": 1}").unwrap();
    let message = run(&berries(out)).unwrap_err().to_string();
    assert!(message.contains("explore.json`: not the record of an exploration"), "{message}");
    fs::write(out.join("explore/explore.json"), "{\"format\": 7}").unwrap();
    let message = run(&berries(out)).unwrap_err().to_string();
    assert!(message.contains("written in format 7"), "{message}");
}

#[test]
fn a_run_of_another_seed_does_not_share_its_folder() {
    let out = tempfile::tempdir().unwrap();
    let experiment = berries(out.path()).experiment();
    experiment.run(&(), &AtomicBool::new(false)).unwrap();
    let error = run(&Exploration { seed: Seed::new(3), ..berries(out.path()) }).unwrap_err().to_string();
    assert!(error.contains("holds trials with seed 0, but 3 was requested"), "{error}");
    run(&berries(out.path())).unwrap();
}

#[test]
fn an_interrupted_exploration_writes_nothing() {
    let out = tempfile::tempdir().unwrap();
    let stopped = berries(&out.path().join("out")).run(&(), &AtomicBool::new(true));
    assert!(stopped.unwrap_err().is_interrupted());
    assert!(!out.path().join("out").exists());
}

/// A numerical error names its policy, and ends the others.
#[test]
fn a_policy_that_fails_is_named() {
    let out = tempfile::tempdir().unwrap();
    let wild = SMALL_NET.replace("0.01", "10,latent_std_link=exp");
    let exploration = exploration(Arc::new(Berries), &["lin-full-post", &wild], out.path());
    let error = run(&Exploration { context: Some(0), ..exploration }).unwrap_err();
    assert!(error.is_trial_failed(), "{error}");
    assert!(error.to_string().starts_with("lu-gauss["), "{error}");
}

#[test]
fn the_shown_actions_are_the_best_and_the_most_chosen() {
    let problem = problem::load("linear", None).unwrap().problem;
    let mut seen = Seen {
        policy: String::new(),
        n_draws: 0,
        n_actions: 8,
        looks: Vec::new(),
        ending: Ending::default(),
        result: crate::trial::TrialResult::default(),
    };
    seen.result.actions = vec![7, 7, 7, 5, 5, 2, 2, 0, 3];
    let shown: Vec<usize> = shown_actions(&*problem, 3, &[seen]).iter().map(|action| action.index).collect();
    assert_eq!(shown, [2, 3, 5, 7]);
    assert_eq!(View::ALL.map(View::name), ["single", "many"]);
}
