//! Box plots of normalized cumulative regret: one panel a problem, policies down.

use super::{Figure, Grid, Scene, WIDTH, cut};
use crate::experiment::UNIFORM;
use crate::report::svg::{Axis, BoxSummary, Panel};
use crate::summary::mean;

const NAME_WIDTH: f64 = 172.0;

pub(super) fn draw(scene: &Scene<'_>) -> Option<Figure> {
    let policies: Vec<usize> =
        (0..scene.policies.len()).filter(|&policy| scene.policies[policy] != UNIFORM).collect();
    let problems = scene.problems();
    // Without Uniform nothing is normalized.
    let has_any = |policy: &usize| {
        problems.iter().any(|problem| !sample(scene, &scene.policies[*policy], problem).is_empty())
    };
    if !policies.iter().any(has_any) {
        return None;
    }
    let columns = problems.len().clamp(1, 4);
    let width = (WIDTH - NAME_WIDTH - 20.0) / columns as f64 - 20.0;
    let panel_height = 21.0 * policies.len() as f64 + 10.0;
    let grid = Grid {
        columns,
        left: NAME_WIDTH + 10.0,
        gap: 20.0,
        panel: (width, panel_height),
        top: 34.0,
        row_gap: 66.0,
    };
    let title = "Normalized cumulative regret of every trial";
    let description =
        format!("A panel for each problem, a box for each of {} policies.{}", policies.len(), scene.lowest());
    let mut canvas = scene.canvas("boxes", grid.bottom(problems.len()) + 44.0, title, &description);
    let names: Vec<String> =
        policies.iter().rev().map(|&policy| cut(&scene.labels[policy], 10.5, NAME_WIDTH - 10.0)).collect();
    for (index, problem) in problems.iter().enumerate() {
        let boxes: Vec<(usize, BoxSummary)> = policies
            .iter()
            .rev()
            .enumerate()
            .filter_map(|(place, &policy)| {
                Some((place, BoxSummary::of(&sample(scene, &scene.policies[policy], problem))?))
            })
            .collect();
        let ends = boxes.iter().flat_map(|(_, summary)| {
            summary.outliers.iter().copied().chain(summary.whiskers).chain([summary.mean])
        });
        let (low, high) =
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)));
        let names = Axis::names("", &names);
        let is_last = index + columns >= problems.len();
        let margin = 0.04 * (high - low).max(1e-9);
        let panel = Panel {
            area: grid.area(index),
            title: cut(problem, 14.0, width),
            x: Axis::linear(
                if is_last { "regret (% of Uniform's)" } else { "" },
                low - margin,
                high + margin,
            ),
            y: if index % columns == 0 { names } else { names.unlabeled() },
        };
        panel.grid(&mut canvas);
        for (place, summary) in &boxes {
            let policy = policies[policies.len() - 1 - place];
            panel.lying_box(&mut canvas, *place as f64, summary, 12.0, scene.looks[policy].color);
        }
        panel.frame(&mut canvas);
    }
    let caption = "Each policy over its own trials (number of trials in parentheses where it differs), in percent of \
                   Uniform's mean over them; pairwise comparisons use common trials. Box: quartiles and median; \
                   whiskers: the farthest trials within 1.5 × the box's length; circles: trials beyond; diamond: the mean. \
                   Uniform, 100 on average, is left out. Every panel has its own scale."
        .to_owned();
    Some(Figure { id: scene.id("boxes"), title: title.to_owned(), caption, svg: canvas.finish() })
}

/// The normalized regret of every trial.
fn sample(scene: &Scene<'_>, policy: &str, problem: &str) -> Vec<f64> {
    let Some(trials) = scene.values.of(policy, problem) else { return Vec::new() };
    let uniform = mean(&trials.values().map(|(_, uniform)| *uniform).collect::<Vec<_>>());
    if uniform <= 0.0 {
        return Vec::new();
    }
    trials.values().map(|(own, _)| 100.0 * own / uniform).collect()
}
