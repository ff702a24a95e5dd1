//! The benchmark's own files, as they are.
//!
//! These tests run only where the environment variable `LOCUS_DATA` names a folder with the files (plain, `.gz`
//! or `.zst`): `LOCUS_DATA=… cargo test -p locus-bandits-bench --test real_data`. Otherwise, or where a single file is
//! missing from the folder, they say so and pass.

// The helpers of tests may unwrap as the tests do.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use locus::{PolicySpec, Request, Seed, Shape};
use locus_bench::data::{FileState, inspect};
use locus_bench::problem::{self, Loaded, Problem, Sequence};
use locus_bench::trial::run_trial;

fn data_dir() -> Option<PathBuf> {
    let folder = std::env::var_os("LOCUS_DATA").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: LOCUS_DATA is not set");
    }
    folder
}

/// The problem, if its file is there; whatever else goes wrong fails the test.
fn load(name: &str) -> Option<Loaded> {
    match problem::load(name, Some(&data_dir()?)) {
        Ok(loaded) => Some(loaded),
        Err(error) if error.is_not_found() => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn sequence(problem: &Arc<dyn Problem>, steps: usize, seed: u64) -> Sequence {
    problem.sequence(steps, Seed::new(seed)).unwrap()
}

/// How often each class is the one that pays.
fn class_counts(sequence: &Sequence) -> Vec<usize> {
    let mut counts = vec![0; sequence.shape().n_actions];
    for round in sequence.rounds() {
        assert_eq!(round.best_reward, 1.0);
        assert_eq!(round.rewards.iter().sum::<f64>(), 1.0);
        counts[round.rewards.iter().position(|&reward| reward == 1.0).unwrap()] += 1;
    }
    counts
}

/// Every column has mean 0, and standard deviation 1 or, if it is constant, 0.
fn assert_standardized(sequence: &Sequence) {
    let n = sequence.len() as f64;
    for column in 0..sequence.shape().n_features {
        let values = || sequence.rounds().map(|round| f64::from(round.context[column]));
        let mean = values().sum::<f64>() / n;
        let std = (values().map(|x| x * x).sum::<f64>() / n).sqrt();
        assert!(mean.abs() < 1e-4, "column {column} has mean {mean}");
        assert!(
            (std - 1.0).abs() < 1e-4 || values().all(|x| x == 0.0),
            "column {column} has deviation {std}"
        );
    }
}

/// What every problem with a file promises.
fn assert_as_announced(loaded: &Loaded, is_without_replacement: bool) {
    let info = problem::info(loaded.problem.name()).unwrap();
    assert_eq!(loaded.problem.shape(), info.shape);
    assert_eq!(loaded.problem.max_steps(), info.rows.filter(|_| is_without_replacement));
    assert_eq!(loaded.files.len(), 1);
    assert_ne!(loaded.files[0].known, Some(false), "the checksum of {} differs", loaded.files[0].name);
    let first = sequence(&loaded.problem, 300, 1);
    assert_eq!(first, sequence(&loaded.problem, 300, 1));
    assert_ne!(first, sequence(&loaded.problem, 300, 2));
    assert_eq!((first.len(), first.shape()), (300, info.shape));
}

/// A classification problem whose class counts in the whole file are known.
fn assert_classification(name: &str, expected_counts: &[usize], expected_zero_columns_at_most: usize) {
    let Some(loaded) = load(name) else { return };
    assert_as_announced(&loaded, true);
    let trial = sequence(&loaded.problem, 2000, 3);
    assert_standardized(&trial);
    let is_zero = |column: &usize| trial.rounds().all(|round| round.context[*column] == 0.0);
    let n_zero = (0..trial.shape().n_features).filter(is_zero).count();
    assert!(n_zero <= expected_zero_columns_at_most, "{n_zero} columns are constant");
    // All rows without replacement are the file itself, so the counts have to be exact.
    let rows = loaded.problem.max_steps().unwrap();
    assert_eq!(class_counts(&sequence(&loaded.problem, rows, 4)), expected_counts);
    let message = loaded.problem.sequence(rows + 1, Seed::new(1)).unwrap_err().to_string();
    assert!(message.contains(&rows.to_string()) && message.contains(name), "{message}");
}

#[test]
fn files_are_the_known_ones() {
    let Some(folder) = data_dir() else { return };
    for status in inspect(&folder).unwrap() {
        match status.state {
            FileState::Missing => println!("skipped: {} is missing", status.file.name),
            FileState::Found { rows, matches_known, .. } => {
                assert_eq!(rows, status.file.rows, "{}", status.file.name);
                assert_ne!(matches_known, Some(false), "{}", status.file.name);
            }
            state => panic!("{}: {state:?}", status.file.name),
        }
    }
}

#[test]
fn mushroom() {
    let Some(loaded) = load("mushroom") else { return };
    assert_as_announced(&loaded, false);
    let n_steps = 40_000;
    let trial = sequence(&loaded.problem, n_steps, 3);
    let (mut n_edible, mut n_lucky, mut n_poisoned) = (0_i64, 0_i64, 0_i64);
    for round in trial.rounds() {
        assert!(round.context.iter().all(|&x| x == 0.0 || x == 1.0));
        assert_eq!(round.context.iter().sum::<f32>(), 22.0, "one indicator per attribute");
        match (round.rewards, round.best_reward) {
            ([0.0, 5.0], 5.0) => n_edible += 1,
            ([0.0, 5.0], 0.0) => n_lucky += 1,
            ([0.0, -35.0], 0.0) => n_poisoned += 1,
            odd => panic!("{odd:?}"),
        }
    }
    // 4208 of 8124 are edible: 20 719 ± 100. The rest is halved: 9641 ± 86. Five deviations each.
    assert!((n_edible - 20_719).abs() < 500, "{n_edible}");
    assert!((n_lucky - 9641).abs() < 430, "{n_lucky}");
    assert!((n_poisoned - 9641).abs() < 430, "{n_poisoned}");
    // 2480 of 8124 rows have `?` as stalk-root, more than any other letter there but `b`.
    let shares: Vec<i64> = (0..117)
        .map(|column| trial.rounds().filter(|round| round.context[column] == 1.0).count() as i64)
        .collect();
    assert!(shares.iter().any(|share| (share - 12_211).abs() < 460), "no column has the share of `?`");
    assert_eq!(sequence(&loaded.problem, 500, 3).round(499), trial.round(499));
}

#[test]
fn financial() {
    let Some(loaded) = load("financial") else { return };
    assert_as_announced(&loaded, true);
    let trial = sequence(&loaded.problem, 3713, 3);
    let values: Vec<f64> = trial.rounds().flat_map(|round| round.context).map(|&x| x.into()).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let std = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert!((mean - 0.01192).abs() < 1e-5 && (std - 1.17323).abs() < 1e-5, "{mean} ± {std}");
    assert!((max - 26.979981).abs() < 1e-5, "{max}");

    // Each arm's rewards are linear in the context but for its noise, of which least squares leaves
    // (3713 − 21)/3713 of the variance; the residual deviations are 0.01·(j + 1), within 6 %.
    for arm in 0..8 {
        let residual = residual_std(&trial, arm);
        let expected = 0.01 * (arm + 1) as f64;
        assert!((residual / expected - 1.0).abs() < 0.06, "arm {arm}: {residual}");
    }
    // The best expected reward is near the best realised one, not equal to it.
    for round in trial.rounds() {
        let best = round.rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!((best - round.best_reward).abs() < 0.08 * 6.0);
        assert!(!round.rewards.contains(&round.best_reward));
    }
    assert_eq!(sequence(&loaded.problem, 500, 3).round(499), trial.round(499));
}

/// What least squares on the contexts leaves of an arm's rewards.
fn residual_std(trial: &Sequence, arm: usize) -> f64 {
    let n = trial.shape().n_features;
    // Normal equations, solved by Gauss–Jordan elimination; stock prices are no ill-conditioned matrix.
    let mut system = vec![vec![0.0; n + 1]; n];
    for round in trial.rounds() {
        for (i, row) in system.iter_mut().enumerate() {
            let x = f64::from(round.context[i]);
            round.context.iter().enumerate().for_each(|(j, &y)| row[j] += x * f64::from(y));
            row[n] += x * round.rewards[arm];
        }
    }
    for pivot in 0..n {
        let pivot_row: Vec<f64> = system[pivot].iter().map(|x| x / system[pivot][pivot]).collect();
        for (i, row) in system.iter_mut().enumerate() {
            let factor = row[pivot];
            if i != pivot {
                row.iter_mut().zip(&pivot_row).for_each(|(x, p)| *x -= factor * p);
            }
        }
        system[pivot] = pivot_row;
    }
    let coefficients: Vec<f64> = system.iter().map(|row| row[n]).collect();
    let length = coefficients.iter().map(|b| b * b).sum::<f64>().sqrt();
    assert!((length - 1.0).abs() < 0.02, "arm {arm} has length {length}");
    let square = |round: problem::Round<'_>| {
        let fit: f64 = round.context.iter().zip(&coefficients).map(|(&x, b)| f64::from(x) * b).sum();
        (round.rewards[arm] - fit).powi(2)
    };
    (trial.rounds().map(square).sum::<f64>() / trial.len() as f64).sqrt()
}

#[test]
fn jester() {
    let Some(loaded) = load("jester") else { return };
    assert_as_announced(&loaded, true);
    let trial = sequence(&loaded.problem, 19_181, 3);
    let (mut sum, mut min, mut max) = (0.0, 0.0_f64, 0.0_f64);
    let mut rows = std::collections::HashSet::new();
    for round in trial.rounds() {
        let ratings = || round.context.iter().map(|&x| f64::from(x)).chain(round.rewards.iter().copied());
        sum += ratings().sum::<f64>();
        min = ratings().fold(min, f64::min);
        max = ratings().fold(max, f64::max);
        assert_eq!(round.best_reward, round.rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        rows.insert(round.context.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    }
    assert!((sum / (40.0 * 19_181.0) - 1.505).abs() < 1e-3, "mean {}", sum / (40.0 * 19_181.0));
    assert!((min + 9.95).abs() < 1e-6 && (max - 9.71).abs() < 1e-6, "{min} to {max}");
    // Users hardly ever agree on 32 jokes, so rows drawn twice would show.
    assert!(rows.len() > 19_100, "{} different rows", rows.len());
}

#[test]
fn jester_with_features_of_jokes() {
    let Some(loaded) = load("jester-described") else { return };
    assert_as_announced(&loaded, true);
    let trial = sequence(&loaded.problem, 2000, 3);
    let mut jokes = std::collections::HashMap::new();
    for round in trial.rounds() {
        assert_eq!((round.rewards.len(), round.context.len()), (8, 20));
        assert_eq!(round.best_reward, round.rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        for (joke, &rating) in round.rewards.iter().enumerate() {
            let features = round.action_features(joke).unwrap();
            let key: Vec<u32> = features.iter().map(|feature| feature.to_bits()).collect();
            let (popularity, sum, n) = jokes.entry(key).or_insert((f64::from(features[0]), 0.0, 0.0));
            assert!(popularity.abs() < 4.0);
            (*sum, *n) = (*sum + rating, *n + 1.0);
        }
    }
    assert_eq!(jokes.len(), 20);
    // The first component is close to how popular a joke is with users who do not appear.
    let means: Vec<(f64, f64)> = jokes.into_values().map(|(first, sum, n)| (first, sum / n)).collect();
    let mean = |value: fn(&(f64, f64)) -> f64| means.iter().map(value).sum::<f64>() / 20.0;
    let (first, rating) = (mean(|m| m.0), mean(|m| m.1));
    let moment = |value: &dyn Fn(&(f64, f64)) -> f64| means.iter().map(value).sum::<f64>();
    let covariance = moment(&|m| (m.0 - first) * (m.1 - rating));
    let correlation =
        covariance / (moment(&|m| (m.0 - first).powi(2)) * moment(&|m| (m.1 - rating).powi(2))).sqrt();
    assert!(correlation > 0.8, "{correlation}");
}

#[test]
fn statlog() {
    assert_classification("statlog", &[34_108, 37, 132, 6748, 2458, 6, 11], 0);
}

#[test]
fn covertype() {
    assert_classification("covertype", &[211_840, 283_301, 35_754, 2747, 9493, 17_367, 20_510], 10);
}

#[test]
fn adult() {
    // Counted with awk over the lines without ` ?`, since no publication lists them.
    let counts = [5540, 14, 6020, 5984, 1480, 2046, 2970, 4808, 232, 6008, 976, 5408, 1420, 2316];
    assert_classification("adult", &counts, 20);
    if let Some(loaded) = load("adult") {
        assert!(loaded.notes[0].contains("dropped 3620 of 48842 rows"), "{:?}", loaded.notes);
    }
}

#[test]
fn census_part() {
    assert_classification("census-10k", &[4086, 1379, 1770, 847, 209, 663, 1005, 25, 16], 40);
}

/// The full file is rarely at hand; the counts of its classes are not published, so the part's shares are used.
#[test]
fn census() {
    let Some(loaded) = load("census") else { return };
    assert_as_announced(&loaded, true);
    let trial = sequence(&loaded.problem, 20_000, 3);
    assert_standardized(&trial);
    let share = class_counts(&trial)[0] as f64 / 20_000.0;
    assert!((share - 0.4086).abs() < 0.03, "{share}");
}

#[test]
fn shapes_are_those_of_the_benchmark() {
    let shape = |id| problem::info(id).unwrap().shape;
    assert_eq!(shape("mushroom"), Shape::new(117, 2));
    assert_eq!(shape("adult"), Shape::new(94, 14));
    assert_eq!(shape("census-10k"), Shape::new(383, 9));
}

/// One-hot columns that add up to one, and long runs, are where a posterior loses its positive definiteness.
#[test]
fn lin_full_post_holds_over_50_000_rows_of_covertype() {
    let Some(loaded) = load("covertype") else { return };
    let sequence = sequence(&loaded.problem, 50_000, 1);
    let spec: PolicySpec = "lin-full-post".parse().unwrap();
    let mut policy = spec.build(sequence.shape(), Seed::new(1)).unwrap();
    let result = run_trial(&sequence, &mut *policy, &mut (), &AtomicBool::new(false)).unwrap();
    let mean = |regrets: &[f64]| regrets.iter().sum::<f64>() / regrets.len() as f64;
    let (first, last) = (mean(&result.regrets[..5_000]), mean(&result.regrets[45_000..]));
    assert!(last < 0.35 && last < first, "regret {first} in the first rounds, {last} in the last");
    // It can still be saved, loaded and asked.
    let resumed = locus::load(&policy.save()).unwrap();
    let request = Request::new(50_000, sequence.round(0).context);
    assert_eq!(resumed.choose(request).unwrap(), policy.choose(request).unwrap());
}
