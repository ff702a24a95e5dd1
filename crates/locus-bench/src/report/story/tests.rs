//! What is said of a few trials whose differences and intervals are known in closed form.

use super::*;
use crate::record::Measured;
use crate::report::compare::Values;
use crate::trial::TrialId;

/// Trials of a policy, numbered from `first`.
fn rows(problem: &str, policy: &str, first: usize, values: &[f64]) -> Vec<TrialRow> {
    let row = |(place, &value): (usize, &f64)| TrialRow {
        id: TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial: first + place },
        seed: 7,
        steps: 500,
        outcome: Ok(Measured {
            cumulative_regret: value,
            simple_regret: value,
            seconds_choosing: 0.0,
            seconds_learning: 0.0,
            cpu_seconds: None,
            interventions: None,
        }),
        version: String::new(),
    };
    values.iter().enumerate().map(row).collect()
}

fn uniform(problem: &str, n: usize) -> Vec<TrialRow> {
    rows(problem, UNIFORM, 0, &vec![100.0; n])
}

fn told(rows: &[TrialRow]) -> Story {
    let names = |of: fn(&TrialRow) -> &String| {
        let mut names: Vec<String> = rows.iter().map(|row| of(row).clone()).collect();
        names.sort();
        names.dedup();
        names
    };
    let is_normalized = rows.iter().any(|row| row.id.policy == UNIFORM);
    let values = match is_normalized {
        true => Values::new(rows, Metric::Cumulative),
        false => Values::not_normalized(rows),
    };
    let (policies, problems) = (names(|row| &row.id.policy), names(|row| &row.id.problem));
    Story::new(&Standing::new(&values, &policies, &problems, is_normalized), rows)
}

#[track_caller]
fn says(story: &Story, expected: &[&str]) {
    let text = story.paragraphs.join("\n");
    for part in expected {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

const FLAT: [f64; 4] = [40.0; 4];
const HIGH: [f64; 4] = [50.0, 52.0, 48.0, 50.0];

/// The differences are −10, −12, −8, −10: with three degrees of freedom t is 3.1824 and the half width 3.1824 · √(8/3)/2.
#[test]
fn a_winner_has_a_paired_interval_without_zero() {
    let all = [uniform("wheel", 4), rows("wheel", "a", 0, &FLAT), rows("wheel", "b", 0, &HIGH)].concat();
    let story = told(&all);
    assert_eq!(story.title, "Contextual bandit benchmark: 2 policies on wheel");
    says(
        &story,
        &[
            "2 policies ran on `wheel` beside the uniform baseline: 4 trials of 500 steps, random seed 7.",
            "**`a` wins**: its mean normalized regret is 40.00 % (standard error 0.00), against 50.00 % (0.82) for the runner-up, `b`.",
            "The paired difference over the 4 trials that all policies share is −10.00 points (95 % confidence interval −12.60 to −7.40).",
        ],
    );
    assert_eq!(story.paragraphs.len(), 1, "{:?}", story.paragraphs);
}

/// On two problems `a` leads by 10 and 10, on the third `b` does by 5: over all the mean difference is −5. The third has twice the trials.
#[test]
fn others_win_where_they_win() {
    let mut all = Vec::new();
    for problem in ["p", "q"] {
        all.extend(uniform(problem, 4));
        all.extend(rows(problem, "a", 0, &FLAT));
        all.extend(rows(problem, "b", 0, &HIGH));
    }
    all.extend([uniform("r", 4), rows("r", "a", 0, &[55.0; 4]), rows("r", "b", 0, &HIGH)].concat());
    let story = told(&all);
    assert_eq!(story.title, "Contextual bandit benchmark: 2 policies on 3 problems");
    says(
        &story,
        &[
            "**`a` wins**: its mean normalized regret over the problems is 45.00 %",
            "`a` has the lowest mean on 2 of the 3 problems: `p` and `q`.",
            "`b` on `r` (−5.00, −7.60 to −2.40)",
        ],
    );
}

/// The differences −2, 0, −3 and +1 have the mean −1 and the half width 3.1824 · √(10/3)/2 = 2.91.
#[test]
fn an_interval_with_zero_is_called_level() {
    let b = [41.0, 39.0, 42.0, 38.0];
    let all = [uniform("p", 4), rows("p", "a", 0, &[39.0; 4]), rows("p", "b", 0, &b)].concat();
    says(
        &told(&all),
        &[
            "**`a` has the lowest mean normalized regret, but its lead over `b` is not significant**: 39.00 %",
            "−1.00 points (95 % confidence interval −3.91 to +1.91, which includes 0).",
        ],
    );
    let with_c = [all, rows("p", "c", 0, &[42.0, 40.0, 43.0, 39.0])].concat();
    says(&told(&with_c), &["Neither is its lead over `c`."]);
    let elsewhere = [uniform("q", 4), rows("q", "a", 0, &FLAT), rows("q", "b", 0, &HIGH)].concat();
    says(
        &told(&[with_c, elsewhere].concat()),
        &["Its lead over the runner-up is not significant on `p` (`b`: −1.00, −3.91 to +1.91)."],
    );
}

/// Two independent means with standard errors of √(8/3)/2 each: six degrees of freedom, t is 2.4469. `c` shares trials with `a`.
#[test]
fn disjoint_trials_are_compared_by_their_means() {
    let a = [40.0, 42.0, 38.0, 40.0];
    let all = [uniform("p", 20), rows("p", "a", 0, &a), rows("p", "b", 10, &HIGH)].concat();
    let expected = [
        "**`a` wins**",
        "The two share no trial, so no paired comparison is possible; the difference of their means is −10.00 points \
         (95 % confidence interval −12.83 to −7.17).",
        "No trial is common to all policies, so each mean is over the policy's own trials: `a` ran trials 0–3; `b` ran trials 10–13.",
    ];
    says(&told(&all), &expected);
    let with_c = [all, rows("p", "c", 0, &a.map(|value| value + 20.0))].concat();
    says(&told(&with_c), &expected[..2]);
    says(
        &told(&with_c),
        &["`a` and `c` do share trials, 4 trials: there the paired difference is −20.00 points"],
    );
}

#[test]
fn without_uniform_problems_are_told_one_by_one() {
    let one = [rows("p", "a", 0, &FLAT), rows("p", "b", 0, &HIGH)].concat();
    says(
        &told(&one),
        &["its mean cumulative regret is 40.00 (standard error 0.00), against 50.00", "is −10.00 (95 %"],
    );
    let two = [one, rows("q", "a", 0, &[9.0; 4]), rows("q", "b", 0, &[3.0; 4])].concat();
    let story = told(&two);
    says(
        &story,
        &[
            "There is no uniform baseline, so regret is not normalized and there is no winner over all problems.",
            "`a` before `b` on `p` (−10.00, −12.60 to −7.40); `b` before `a` on `q` (−6.00, −6.00 to −6.00).",
        ],
    );
    assert!(!story.paragraphs[0].contains('%'), "{}", story.paragraphs[0]);
}

#[test]
fn one_policy_is_compared_with_nobody() {
    let story = told(&[uniform("p", 4), rows("p", "a", 0, &HIGH)].concat());
    assert_eq!(story.title, "Contextual bandit benchmark: a on p");
    says(&story, &["The mean normalized regret of `a` is 50.00 % (standard error 0.82)."]);
    assert!(!story.paragraphs[0].contains("wins"), "{}", story.paragraphs[0]);
    says(&told(&uniform("p", 4)), &["Only the uniform baseline ran on `p`"]);
    let worse = told(&[uniform("p", 2), rows("p", "a", 0, &[120.0; 2])].concat());
    says(&worse, &["No policy is better than the uniform baseline"]);
}

#[test]
fn one_trial_has_no_interval() {
    let story = told(&[uniform("p", 1), rows("p", "a", 0, &[1.0]), rows("p", "b", 0, &[2.0])].concat());
    says(
        &story,
        &[
            "**`a` has the lowest mean normalized regret**, 1.00 %, against 2.00 % for the runner-up, `b`.",
            "The paired difference over the 1 trial that all policies share is −1.00 points; a single trial has no confidence interval.",
        ],
    );
}

/// A difference is that of the two means beside it, even where the two share more trials than all do.
#[test]
fn means_and_difference_are_of_the_same_trials() {
    let more = |value: f64| [value, value, value, value - 30.0];
    let all = [
        uniform("p", 4),
        rows("p", "a", 0, &[40.0, 42.0, 41.0, 90.0]),
        rows("p", "b", 0, &more(50.0)),
        rows("p", "c", 0, &[60.0, 60.0, 60.0]),
    ];
    says(
        &told(&all.concat()),
        &[
            "is 41.00 % (standard error 0.58), against 50.00 %",
            "over the 3 trials that all policies share is −9.00 points",
        ],
    );
}

#[test]
fn failed_and_missing_trials_are_told() {
    let mut all = [uniform("p", 4), rows("p", "a", 0, &FLAT), rows("p", "b", 0, &HIGH)].concat();
    all[5].outcome = Err("diverged".to_owned());
    says(
        &told(&all),
        &["3 to 4 trials of 500 steps", "1 of 12 trials failed: the failed trial is not counted."],
    );
    // Nobody has all problems.
    let apart =
        [uniform("p", 2), uniform("q", 2), rows("p", "a", 0, &[1.0, 2.0]), rows("q", "b", 0, &[1.0, 2.0])];
    says(&told(&apart.concat()), &["No policy has results on every problem", "`a` on `p`; `b` on `q`"]);
    // One has.
    let more = [apart.concat(), rows("q", "a", 0, &[3.0, 4.0])].concat();
    says(
        &told(&more),
        &[
            "The mean normalized regret over the problems of `a` is 2.50 %",
            "no other policy has results on every problem",
        ],
    );
}

#[test]
fn the_papers_problems_and_marked_policies_are_named() {
    let of = |problem: &&str| {
        let marked = format!("a{WITH_PROPENSITIES}");
        [uniform(problem, 2), rows(problem, "a", 0, &[1.0, 2.0]), rows(problem, &marked, 0, &[2.0, 4.0])]
            .concat()
    };
    let all: Vec<TrialRow> = paper::PROBLEMS.iter().flat_map(of).collect();
    let story = told(&all);
    assert_eq!(story.title, "Contextual bandit benchmark: 2 policies on the paper's eight problems");
    says(
        &story,
        &["2 policies ran on 8 problems", "`(propensities)` marks policies whose actions were sampled"],
    );
}

#[test]
fn numbers_in_ranges() {
    assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0–2, 5 and 7–8");
    assert_eq!(ranges(&[1, 3, 5, 7, 9]), "1 and 4 more ranges");
}
