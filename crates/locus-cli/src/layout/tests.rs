//! Lists and grids for terminals of all widths, and the texts of the live view.

use super::*;
use console::strip_ansi_codes;
use locus_bench::record::{Measured, TrialRow};
use locus_bench::trial::TrialId;

const POLICIES: [&str; 9] = [
    "uniform",
    "lin-full-post",
    "neural-linear",
    "bbb",
    "pi-ts-dgf",
    "lu-gauss",
    "lu-sivi",
    "lu-gauss-ablation",
    "lu-sivi-ablation",
];
const PROBLEMS: [&str; 8] =
    ["mushroom", "financial", "statlog", "jester", "wheel", "covertype", "adult", "census-10k"];

fn id(standing: &Standing, policy: usize, problem: usize, trial: usize) -> TrialId {
    let (problems, policies) = (standing.problems(), standing.policies());
    TrialId { problem: problems[problem].clone(), policy: policies[policy].clone(), trial }
}

fn measured(policy: usize) -> Measured {
    Measured {
        cumulative_regret: 100.0 / (1.0 + policy as f64),
        simple_regret: 0.0,
        seconds_choosing: 0.0,
        seconds_learning: 4.0 * policy as f64,
        cpu_seconds: None,
        interventions: None,
    }
}

fn end(standing: &mut Standing, policy: usize, problem: usize, trial: usize) {
    let measured = measured(policy);
    let id = id(standing, policy, problem, trial);
    standing.record(&TrialRow { id, seed: 0, steps: 10, outcome: Ok(measured), version: String::new() });
}

/// `ended(policy, problem)` of `asked` trials have ended.
fn standing(
    policies: &[&str],
    problems: &[&str],
    asked: usize,
    ended: impl Fn(usize, usize) -> usize,
) -> Standing {
    let names = policies.iter().map(|name| (*name).to_owned()).collect();
    let sizes = problems.iter().map(|name| ((*name).to_owned(), 10)).collect();
    let mut standing = Standing::new(names, sizes, 10, 2, |_, _| std::iter::once(0..asked).collect());
    for policy in 0..policies.len() {
        for problem in 0..problems.len() {
            (0..ended(policy, problem)).for_each(|trial| end(&mut standing, policy, problem, trial));
        }
    }
    standing
}

fn paper() -> Standing {
    let mut standing = standing(&POLICIES, &PROBLEMS, 50, |policy, _| 23 - policy / 2);
    for (policy, problem) in [(6, 7), (8, 7)] {
        let id = id(&standing, policy, problem, 30);
        standing.start(&id, 0.0);
        standing.step(&id, 4, 0.0);
    }
    standing
}

/// Without colors, which a test that runs on a terminal would have.
fn plain(lines: Option<Vec<String>>) -> Vec<String> {
    lines.unwrap_or_default().iter().map(|line| strip_ansi_codes(line).trim_end().to_owned()).collect()
}

fn texts(standing: &Standing) -> Vec<String> {
    bars(standing, 75.0).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn no_line_is_too_wide_or_moves_the_cursor() {
    let odd = ["a\x1b[2Jb", "a table whose name is longer than any terminal is wide, 表 and all\n", ""];
    let long =
        ["uniform", "lin-full-post[initial_pulls=7,prior_precision=1.25,prior_rate=3.125,prior_shape=12]"];
    let all = [
        paper(),
        standing(&POLICIES[..4], &PROBLEMS[..3], 3, |_, _| 0),
        standing(&long, &odd, 1_000_000, |_, _| 2),
        standing(&["a\x1b[2Jb\n"], &odd, 2, |_, _| 1),
        standing(&[], &[], 0, |_, _| 0),
    ];
    for standing in &all {
        for width in (0..130).step_by(3).chain([80, 200, 400]) {
            for line in plain(list(standing, width)).iter().chain(&plain(grid(standing, width))) {
                assert!(measure_text_width(line) <= width, "{width}: {line:?}");
                assert!(!line.contains(char::is_control), "{line:?}");
            }
        }
        assert!(texts(standing).iter().all(|text| !text.contains(char::is_control)), "{standing:?}");
    }
}

#[test]
fn a_list_has_a_line_for_each_policy_on_each_problem() {
    let standing = standing(&POLICIES[..3], &PROBLEMS[..2], 4, |policy, problem| 4 - policy - problem);
    assert_eq!(
        plain(list(&standing, 70)),
        [
            "mushroom",
            "  uniform        ━━━━━━━━━━━━━━━━━━━━━━━━━━━  4/4  100.00  ended",
            "  lin-full-post  ━━━━━━━━━━━━━━━━━━━━───────  3/4   50.00  2 s left",
            "  neural-linear  ━━━━━━━━━━━━━╸─────────────  2/4   33.33  8 s left",
            "financial",
            "  uniform        ━━━━━━━━━━━━━━━━━━━━───────  3/4  100.00  0 s left",
            "  lin-full-post  ━━━━━━━━━━━━━╸─────────────  2/4   50.00  4 s left",
            "  neural-linear  ━━━━━━╸────────────────────  1/4   33.33  12 s left",
        ]
    );
}

/// 72 kinds and the time left, in three blocks of nine policies and a title.
#[test]
fn a_grid_has_as_many_blocks_as_the_width_needs() {
    let lines = plain(grid(&paper(), 80));
    assert_eq!(lines.len(), 30);
    let text = lines.join("\n");
    assert_eq!(text.matches("/50").count(), 72, "{text}");
    assert!(lines[0].contains("mushroom") && lines[0].contains("jester") && !lines[0].contains("wheel"));
    assert!(lines[2].starts_with("lin-full-post      23/50  50.00  23/50  50.00  "), "{}", lines[2]);
    assert!(lines[29].ends_with(" left"), "{}", lines[29]);
}

#[test]
fn the_live_view_has_a_bar_for_the_run_and_one_for_each_policy() {
    let standing = standing(&POLICIES[..3], &PROBLEMS[..2], 4, |policy, problem| 4 - policy - problem);
    let fractions: Vec<f64> = bars(&standing, 75.0).into_iter().map(|(fraction, _)| fraction).collect();
    assert_eq!(fractions, [standing.fraction(), 0.875, 0.625, 0.375]);
    assert_eq!(
        texts(&standing),
        [
            "15 of 24 trials, 26 s left, 75 s elapsed",
            "uniform        7/8  100.00 %  0 s left",
            "lin-full-post  5/8   50.00 %  6 s left",
            "neural-linear  3/8   33.33 %  20 s left",
        ]
    );
}

#[test]
fn before_anything_has_ended_no_time_is_made_up() {
    let lines = texts(&standing(&POLICIES[..2], &PROBLEMS[..1], 5, |_, _| 0));
    assert_eq!(lines[0], "0 of 10 trials, ? left, 75 s elapsed");
    assert_eq!(lines[1].trim_end(), "uniform        0/5         –");
}

/// The time left of a policy is a guess until one of its trials has ended.
#[test]
fn a_guess_says_so() {
    let mut standing = standing(&POLICIES[..2], &PROBLEMS[..1], 5, |_, _| 0);
    let (id, seconds_learning) = (id(&standing, 0, 0, 0), 4.0);
    let measured = Measured { seconds_learning, ..measured(0) };
    standing.record(&TrialRow { id, seed: 0, steps: 10, outcome: Ok(measured), version: String::new() });
    let lines = texts(&standing);
    assert!(lines[0].contains(" trials, ~") && lines[2].contains("  –  ~"), "{lines:#?}");
    assert!(lines[1].ends_with("  8 s left"), "{lines:#?}");
    let lines = texts(&super::tests::standing(&POLICIES[..2], &PROBLEMS[..1], 5, |_, _| 1));
    assert!(!lines.join("").contains('~'), "{lines:#?}");
}

#[test]
fn failures_are_counted() {
    let mut standing = standing(&POLICIES[..2], &PROBLEMS[..1], 2, |policy, _| 2 - policy);
    let id = id(&standing, 1, 0, 1);
    let outcome = Err("no".to_owned());
    standing.record(&TrialRow { id, seed: 0, steps: 10, outcome, version: String::new() });
    let lines = texts(&standing);
    assert!(lines[0].starts_with("4 of 4 trials (1 failed), "), "{}", lines[0]);
    assert!(lines[2].ends_with("  1/2   50.00 %  ended, 1 failed"), "{}", lines[2]);
    let lines = plain(list(&standing, 90));
    assert!(lines[2].ends_with("  1/2   50.00  ended, 1 failed"), "{}", lines[2]);
}

/// The best mean on a problem is bold, the rest of a bar is dim, and neither changes a width.
#[test]
fn colors_change_no_width() {
    console::set_colors_enabled(true);
    let colored = grid(&paper(), 200).unwrap();
    assert_eq!(colored[9].matches("\x1b[1m11.11\x1b[0m").count(), 8, "{:?}", colored[9]);
    assert!(!colored[1].contains("\x1b[1m"), "{:?}", colored[1]);
    let widths = |lines: &[String]| lines.iter().map(|line| measure_text_width(line)).collect::<Vec<_>>();
    assert_eq!(widths(&colored), widths(&plain(Some(colored.clone()))));
    let bar = bar(0.5, 4);
    assert!(bar.contains("\x1b[2m──") && measure_text_width(&bar) == 4, "{bar:?}");
}

#[test]
fn a_bar_is_full_only_at_the_end() {
    let drawn = |part| strip_ansi_codes(&bar(part, 5)).into_owned();
    assert_eq!([0.0, 0.1, 0.5, 0.999, 1.0].map(drawn), ["─────", "╸────", "━━╸──", "━━━━╸", "━━━━━"]);
    assert_eq!([drawn(-1.0), drawn(2.0), drawn(f64::NAN)], ["─────", "━━━━━", "─────"]);
}
