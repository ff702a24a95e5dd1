//! Frames for terminals of all sizes.

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

fn plain() -> Paint {
    Paint { bold: Style::new().force_styling(false), dim: Style::new().force_styling(false) }
}

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
        standing.start(&id);
        standing.step(&id, 4);
    }
    standing
}

fn drawn(standing: &Standing, width: usize, height: usize) -> Vec<String> {
    frame(standing, 75.0, Size { width, height }, &plain())
}

#[test]
fn a_frame_fits_any_terminal() {
    let odd = ["a\x1b[2Jb", "a table whose name is longer than any terminal is wide, 表 and all\n", ""];
    let long =
        ["uniform", "lin-full-post[initial_pulls=7,prior_precision=1.25,prior_rate=3.125,prior_shape=12]"];
    let all = [
        paper(),
        standing(&POLICIES, &PROBLEMS, 50, |_, problem| if problem < 5 { 50 } else { 0 }),
        standing(&POLICIES[..4], &PROBLEMS[..3], 3, |_, _| 0),
        standing(&long, &odd, 1_000_000, |_, _| 2),
        standing(&[], &[], 0, |_, _| 0),
    ];
    for standing in &all {
        for width in (0..130).step_by(3).chain([80, 200, 400]) {
            for height in [0, 1, 2, 3, 5, 10, 12, 16, 24, 40, 100] {
                let lines = drawn(standing, width, height);
                assert!(
                    (1..=height.saturating_sub(1).max(1)).contains(&lines.len()),
                    "{width} × {height}: {lines:#?}"
                );
                for line in &lines {
                    assert!(measure_text_width(line) <= width, "{width} × {height}: {line:?}");
                    assert!(!line.contains(char::is_control), "{line:?}");
                }
            }
        }
    }
}

#[test]
fn a_few_policies_are_a_list_that_says_everything() {
    let standing = standing(&POLICIES[..3], &PROBLEMS[..2], 4, |policy, problem| 4 - policy - problem);
    assert_eq!(
        drawn(&standing, 70, 24),
        [
            "━━━━━━━╸─────────   45 %  15 of 24 trials  75 s gone, 26 s left",
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

/// 72 kinds on 24 lines of 80 columns: each is there.
#[test]
fn the_papers_kinds_fit_a_usual_terminal() {
    let lines = drawn(&paper(), 80, 24);
    assert!(lines.len() <= 23, "{}", lines.len());
    let text = lines.join("\n");
    assert_eq!(text.matches("/50").count(), 72, "{text}");
    assert!(lines[0].contains(" of 3600 trials") && lines[0].ends_with(" left"), "{}", lines[0]);
    assert_eq!(lines[1], "now: lu-sivi on census-10k, trial 30 (40 %); lu-sivi-ablation on census-10k, tr…");
    assert!(lines[2].contains("mushroom") && lines[2].contains("jester") && !lines[2].contains("wheel"));
    assert!(lines[4].starts_with("lin-full-post      23/50  50.00  23/50  50.00  "), "{}", lines[4]);
}

#[test]
fn a_large_terminal_has_bars_and_time() {
    let lines = drawn(&paper(), 200, 60);
    let text = lines.join("\n");
    assert_eq!((lines.len(), text.matches("/50").count()), (12, 72), "{text}");
    let last = lines.last().unwrap();
    assert!(last.starts_with("lu-sivi-ablation   ━━──── 19/50  11.11  "), "{last}");
    assert!(last.ends_with(" left"), "{last}");
}

#[test]
fn problems_that_have_ended_make_room() {
    let standing = standing(&POLICIES, &PROBLEMS, 50, |_, problem| if problem < 6 { 50 } else { 7 });
    let lines = drawn(&standing, 80, 24);
    assert_eq!(lines.last().unwrap(), "ended: mushroom, financial, statlog, jester, wheel, covertype");
    assert_eq!(lines.join("\n").matches("/50").count(), 18, "{lines:#?}");
    // Each kind has a line of its own again.
    assert!(lines[1] == "adult" && lines[2].starts_with("  uniform "), "{lines:#?}");
}

#[test]
fn a_short_terminal_has_a_line_for_each_problem_and_then_one_for_all() {
    let lines = drawn(&paper(), 80, 12);
    assert_eq!(lines.len(), 10, "{lines:#?}");
    assert!(lines[2].starts_with("mushroom    ━") && lines[2].contains("  191/450  "), "{}", lines[2]);
    let lines = drawn(&paper(), 40, 4);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert_eq!(drawn(&paper(), 6, 2), ["40 %"]);
}

#[test]
fn before_anything_has_ended_no_time_is_made_up() {
    let lines = drawn(&standing(&POLICIES[..2], &PROBLEMS[..1], 5, |_, _| 0), 80, 24);
    assert!(lines[0].ends_with("  0 %  0 of 10 trials  75 s gone, ? left"), "{}", lines[0]);
    assert!(lines[2].ends_with("  0/5       –"), "{}", lines[2]);
}

/// A policy none of whose trials has ended has a guess for its time.
#[test]
fn a_guess_says_so() {
    let mut standing = standing(&POLICIES[..2], &PROBLEMS[..1], 5, |_, _| 0);
    let (id, seconds_learning) = (id(&standing, 0, 0, 0), 4.0);
    let measured = Measured { seconds_learning, ..measured(0) };
    standing.record(&TrialRow { id, seed: 0, steps: 10, outcome: Ok(measured), version: String::new() });
    let lines = drawn(&standing, 80, 24);
    assert!(lines[0].contains(" gone, ~") && lines[3].contains("  –  ~"), "{lines:#?}");
    assert!(lines[2].ends_with("  8 s left"), "{lines:#?}");
    let lines = drawn(&super::tests::standing(&POLICIES[..2], &PROBLEMS[..1], 5, |_, _| 1), 80, 24);
    assert!(!lines.join("").contains('~'), "{lines:#?}");
}

#[test]
fn failures_are_counted() {
    let mut standing = standing(&POLICIES[..2], &PROBLEMS[..1], 2, |policy, _| 2 - policy);
    let id = id(&standing, 1, 0, 1);
    let outcome = Err("no".to_owned());
    standing.record(&TrialRow { id, seed: 0, steps: 10, outcome, version: String::new() });
    let lines = drawn(&standing, 90, 24);
    assert!(lines[0].contains("100 %  4 of 4 trials (1 failed)"), "{}", lines[0]);
    assert!(lines[3].ends_with("  1/2   50.00  ended, 1 failed"), "{}", lines[3]);
}

/// The best of a problem is bold, the rest of a bar dim, and both take no room.
#[test]
fn colors_change_no_width() {
    let forced = |style: Style| style.force_styling(true);
    let paint = Paint { bold: forced(Style::new().bold()), dim: forced(Style::new().dim()) };
    let colored = frame(&paper(), 75.0, Size { width: 200, height: 60 }, &paint);
    let stripped: Vec<String> =
        colored.iter().map(|line| strip_ansi_codes(line).trim_end().to_owned()).collect();
    assert_eq!(stripped, drawn(&paper(), 200, 60));
    let last = colored.last().unwrap();
    assert_eq!(last.matches("\x1b[1m11.11\x1b[0m").count(), 8, "{last:?}");
    assert!(!colored[3].contains("\x1b[1m"), "{:?}", colored[3]);
}

#[test]
fn a_bar_is_full_only_at_the_end() {
    let drawn = |part| bar(part, 5, &plain());
    assert_eq!([0.0, 0.1, 0.5, 0.999, 1.0].map(drawn), ["─────", "╸────", "━━╸──", "━━━━╸", "━━━━━"]);
    assert_eq!([drawn(-1.0), drawn(2.0), drawn(f64::NAN)], ["─────", "━━━━━", "─────"]);
}
