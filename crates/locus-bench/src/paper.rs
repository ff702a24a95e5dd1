//! The paper's printed results, for comparison.
//!
//! From "Thompson Sampling via Local Uncertainty" (ICML 2020): its tables of normalized cumulative regret (main text and
//! ablation), normalized simple regret, and runtime. The paper calls its ± a standard error, but its size is that of a standard
//! deviation. Its values are of 2000 steps and 50 trials; the runtimes are of one run.

use locus::PolicyText;

use crate::summary::Metric;

/// The eight problems, in the paper's order.
pub const PROBLEMS: [&str; 8] =
    ["mushroom", "financial", "statlog", "jester", "wheel", "covertype", "adult", "census"];
/// The policies as we name them, in the paper's order.
pub const POLICIES: [&str; 9] = [
    "uniform",
    "bbb",
    "neural-linear",
    "lin-full-post",
    "pi-ts-dgf",
    "lu-gauss",
    "lu-sivi",
    "lu-gauss-ablation",
    "lu-sivi-ablation",
];
/// T of all its trials.
pub const STEPS: usize = 2000;
/// How many trials its means are of.
pub const TRIALS: usize = 50;

/// One cell of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperValue {
    /// The mean.
    pub mean: f64,
    /// What is printed after ±; runtimes have none.
    pub plus_minus: Option<f64>,
}

/// The first two columns of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperOverall {
    /// Mean over the problems of the rank among the rows of the table.
    pub mean_rank: f64,
    /// How many rows the table has.
    pub ranked: usize,
    /// Mean over the problems.
    pub mean_value: f64,
}

/// What the paper prints for a policy, in canonical form, on a problem.
pub fn value(metric: Metric, policy: &str, problem: &str) -> Option<PaperValue> {
    let id = policy_id(policy)?;
    let column = problem_column(problem)?;
    if metric == Metric::Runtime {
        let (_, seconds) = RUNTIME.iter().find(|(row, _)| *row == id)?;
        return Some(PaperValue { mean: seconds[column], plus_minus: None });
    }
    let (mean, plus_minus) = regret_row(metric, id)?.cells[column];
    Some(PaperValue { mean, plus_minus: Some(plus_minus) })
}

/// What the paper prints for a policy, in canonical form, over all eight problems.
pub fn overall(metric: Metric, policy: &str) -> Option<PaperOverall> {
    let row = regret_row(metric, policy_id(policy)?)?;
    Some(PaperOverall { mean_rank: row.mean_rank, ranked: row.ranked, mean_value: row.mean_value })
}

/// The same in the ablation's table, which ranks Uniform, both LU policies and both ablations.
pub fn ablation_overall(policy: &str) -> Option<PaperOverall> {
    let mean_rank = match policy_id(policy)? {
        "uniform" => 5.0,
        "lu-gauss" => 2.375,
        "lu-sivi" => 2.5,
        "lu-gauss-ablation" => 2.5,
        "lu-sivi-ablation" => 2.625,
        _ => return None,
    };
    Some(PaperOverall { mean_rank, ranked: 5, ..overall(Metric::Cumulative, policy)? })
}

/// The id whose row a policy is compared with. A preset is compared too; other settings are another policy.
fn policy_id(policy: &str) -> Option<&str> {
    let text = text_of(policy)?;
    text.settings.is_empty().then_some(text.id)
}

/// The id of a policy with whatever preset and settings, in whatever run.
pub(crate) fn base_id(policy: &str) -> &str {
    text_of(policy).map_or(policy, |text| text.id)
}

/// The policy's text, without what follows a blank, which tells runs apart.
fn text_of(policy: &str) -> Option<PolicyText<'_>> {
    PolicyText::parse(policy.split(' ').next()?).ok()
}

/// The place of a problem among [`PROBLEMS`]; the part of the census counts as the census.
pub fn problem_column(problem: &str) -> Option<usize> {
    let problem = if problem == "census-10k" { "census" } else { problem };
    PROBLEMS.iter().position(|name| *name == problem)
}

fn regret_row(metric: Metric, id: &str) -> Option<&'static Row> {
    let rows: &[Row] = match metric {
        Metric::Cumulative => &CUMULATIVE,
        Metric::Simple => &SIMPLE,
        Metric::Runtime => &[],
    };
    rows.iter().find(|row| row.id == id)
}

struct Row {
    id: &'static str,
    mean_rank: f64,
    ranked: usize,
    mean_value: f64,
    /// Mean and ± on each of [`PROBLEMS`].
    cells: [(f64, f64); 8],
}

const fn row(id: &'static str, rank: (f64, usize), mean_value: f64, cells: [(f64, f64); 8]) -> Row {
    Row { id, mean_rank: rank.0, ranked: rank.1, mean_value, cells }
}

#[rustfmt::skip] // A table, to be read beside the paper.
static CUMULATIVE: [Row; 9] = [
    row("uniform", (7.0, 7), 100.00,
        [(100.0, 4.95), (100.0, 11.63), (100.0, 1.04), (100.0, 7.67),
         (100.0, 5.73), (100.0, 0.88), (100.0, 0.50), (100.0, 0.63)]),
    row("bbb", (4.75, 7), 56.53,
        [(26.08, 7.34), (34.31, 9.72), (25.93, 4.62), (75.58, 4.06),
         (71.12, 18.51), (60.37, 3.91), (95.64, 1.29), (63.15, 4.29)]),
    row("neural-linear", (4.75, 7), 52.17,
        [(15.77, 6.84), (17.15, 0.71), (14.00, 1.28), (81.89, 3.32),
         (46.51, 10.80), (65.37, 1.92), (97.06, 1.01), (79.57, 1.99)]),
    row("lin-full-post", (3.75, 7), 51.15,
        [(13.66, 3.77), (10.16, 0.65), (18.77, 0.79), (78.03, 3.18),
         (38.38, 13.05), (58.83, 1.62), (96.05, 0.97), (95.26, 0.77)]),
    row("pi-ts-dgf", (2.5, 7), 46.63,
        [(15.24, 2.87), (8.00, 3.32), (6.10, 2.75), (75.98, 3.71),
         (81.16, 22.20), (46.81, 2.31), (90.77, 2.00), (49.02, 1.96)]),
    row("lu-gauss", (2.75, 7), 46.03,
        [(31.40, 6.74), (13.10, 3.51), (8.73, 2.80), (70.19, 4.38),
         (52.90, 15.54), (47.33, 2.56), (89.30, 2.04), (55.28, 2.83)]),
    row("lu-sivi", (2.5, 7), 45.42,
        [(14.84, 2.87), (8.28, 3.16), (7.62, 4.08), (71.64, 4.52),
         (63.06, 21.84), (49.86, 2.25), (89.88, 1.96), (58.18, 5.45)]),
    row("lu-gauss-ablation", (2.5, 5), 46.55,
        [(21.28, 10.57), (12.35, 5.09), (7.45, 2.83), (69.98, 4.63),
         (64.03, 14.14), (49.85, 3.12), (91.10, 2.11), (56.37, 2.71)]),
    row("lu-sivi-ablation", (2.625, 5), 47.81,
        [(20.32, 11.35), (9.01, 2.71), (6.34, 3.53), (71.10, 4.44),
         (79.33, 23.50), (49.90, 2.18), (92.40, 2.17), (54.07, 3.68)]),
];

#[rustfmt::skip] // A table, to be read beside the paper.
static SIMPLE: [Row; 7] = [
    row("uniform", (7.0, 7), 100.00,
        [(100.0, 9.70), (100.0, 12.62), (100.0, 1.76), (100.0, 8.66),
         (100.0, 13.20), (100.0, 1.88), (100.0, 1.38), (100.0, 1.48)]),
    row("bbb", (5.125, 7), 52.77,
        [(19.36, 8.58), (30.25, 19.04), (30.91, 8.80), (71.54, 5.28),
         (60.62, 25.12), (62.32, 7.74), (95.73, 2.63), (51.41, 6.31)]),
    row("neural-linear", (4.0, 7), 41.30,
        [(7.10, 7.51), (2.60, 0.54), (3.03, 0.91), (74.88, 4.85),
         (33.05, 16.12), (48.99, 2.96), (93.93, 2.07), (66.84, 3.65)]),
    row("lin-full-post", (3.125, 7), 41.06,
        [(4.14, 3.06), (0.67, 0.24), (11.28, 1.90), (69.64, 4.87),
         (20.62, 13.68), (44.26, 3.13), (91.56, 2.10), (86.32, 2.12)]),
    row("pi-ts-dgf", (3.125, 7), 42.15,
        [(6.37, 2.91), (2.73, 3.31), (1.01, 1.79), (74.93, 4.11),
         (78.00, 27.72), (40.75, 3.20), (89.27, 2.80), (44.16, 2.65)]),
    row("lu-gauss", (2.625, 7), 38.83,
        [(27.79, 11.04), (3.73, 2.96), (1.99, 3.13), (67.91, 5.38),
         (38.33, 22.76), (38.51, 3.25), (85.85, 3.33), (46.51, 3.20)]),
    row("lu-sivi", (3.0, 7), 40.08,
        [(7.07, 4.06), (1.96, 3.09), (3.70, 7.07), (68.43, 5.27),
         (55.64, 25.79), (42.76, 3.60), (87.08, 2.74), (54.02, 11.00)]),
];

/// Seconds for a trial, on an Nvidia 1080-TI.
static RUNTIME: [(&str, [f64; 8]); 7] = [
    ("uniform", [0.04, 0.04, 0.04, 0.04, 0.04, 0.04, 0.04, 0.04]),
    ("bbb", [13.0, 13.0, 12.0, 13.0, 12.0, 13.0, 13.0, 15.0]),
    ("neural-linear", [22.0, 35.0, 33.0, 35.0, 28.0, 33.0, 50.0, 40.0]),
    ("lin-full-post", [14.0, 7.0, 4.0, 9.0, 3.0, 13.0, 48.0, 710.0]),
    ("pi-ts-dgf", [270.0, 107.0, 82.0, 128.0, 62.0, 168.0, 246.0, 750.0]),
    ("lu-gauss", [18.0, 18.0, 18.0, 18.0, 18.0, 18.0, 19.0, 21.0]),
    ("lu-sivi", [32.0, 30.0, 30.0, 30.0, 30.0, 31.0, 31.0, 40.0]),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The printed Mean Values are the means of the printed cells, up to rounding, so a slip of a digit would show.
    #[test]
    fn cells_agree_with_the_printed_mean_values() {
        for row in CUMULATIVE.iter().chain(&SIMPLE) {
            let mean = row.cells.iter().map(|(mean, _)| mean).sum::<f64>() / 8.0;
            assert!((mean - row.mean_value).abs() < 0.01, "{}: {mean} is not {}", row.id, row.mean_value);
            assert!(row.cells.iter().all(|&(_, plus_minus)| plus_minus > 0.0));
        }
    }

    /// The printed Mean Ranks follow from the printed means.
    #[test]
    fn cells_agree_with_the_printed_mean_ranks() {
        let mean_rank = |rows: &[&Row], row: &Row| {
            let rank = |column: usize| {
                let mine = row.cells[column].0;
                1 + rows.iter().filter(|other| other.cells[column].0 < mine).count()
            };
            (0..8).map(rank).sum::<usize>() as f64 / 8.0
        };
        for rows in [&CUMULATIVE[..7], &SIMPLE[..]] {
            let rows: Vec<&Row> = rows.iter().collect();
            for row in &rows {
                assert_eq!(mean_rank(&rows, row), row.mean_rank, "{}", row.id);
            }
        }
        let rows: Vec<&Row> = CUMULATIVE.iter().filter(|row| ablation_overall(row.id).is_some()).collect();
        assert_eq!(rows.len(), 5);
        for row in &rows {
            let printed = ablation_overall(row.id).unwrap();
            assert_eq!((mean_rank(&rows, row), row.mean_value), (printed.mean_rank, printed.mean_value));
        }
    }

    #[test]
    fn presets_are_compared_and_other_settings_are_not() {
        let gauss = Some(PaperValue { mean: 52.90, plus_minus: Some(15.54) });
        assert_eq!(value(Metric::Cumulative, "lu-gauss", "wheel"), gauss);
        assert_eq!(value(Metric::Cumulative, "lu-gauss@paper", "wheel"), gauss);
        assert_eq!(value(Metric::Cumulative, "lu-gauss[latent_dim=3]", "wheel"), None);
        assert_eq!(value(Metric::Cumulative, "lu-gauss@paper[latent_dim=3]", "wheel"), None);
        assert_eq!(value(Metric::Cumulative, "lu-gauss", "linear"), None);
        assert_eq!(value(Metric::Simple, "lu-sivi-ablation", "wheel"), None);
        assert_eq!(
            value(Metric::Simple, "lin-full-post", "census-10k"),
            Some(PaperValue { mean: 86.32, plus_minus: Some(2.12) })
        );
        assert_eq!(
            value(Metric::Runtime, "lin-full-post", "census"),
            Some(PaperValue { mean: 710.0, plus_minus: None })
        );
        let overall = overall(Metric::Cumulative, "lu-sivi-ablation@paper").unwrap();
        assert_eq!((overall.mean_rank, overall.ranked, overall.mean_value), (2.625, 5, 47.81));
    }

    #[test]
    fn every_policy_of_the_paper_has_its_row() {
        for policy in POLICIES {
            assert!(value(Metric::Cumulative, policy, "adult").is_some(), "{policy}");
        }
    }
}
