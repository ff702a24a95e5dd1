//! Which actions are chosen over time: a strip of stacked shares for each policy and problem.

use super::{Figure, Scene, WIDTH, cut};
use crate::report::svg::{Anchor, Area, FAINT, Stroke, TextStyle, shade};

const NAME_WIDTH: f64 = 160.0;
const STRIP: f64 = 44.0;

pub(super) fn draw(scene: &Scene<'_>) -> Option<Figure> {
    let problems = scene.problems_with_curves();
    if problems.is_empty() {
        return None;
    }
    let width = ((WIDTH - NAME_WIDTH - 10.0) / problems.len() as f64 - 10.0).min(260.0);
    let (top, row) = (46.0, STRIP + 8.0);
    let title = "Shares of the actions over time";
    let height = top + row * scene.policies.len() as f64 + 66.0;
    let description = "A strip for each policy and problem shows which share of the choices each action has over the steps.";
    let mut canvas = scene.canvas("actions", height, title, description);
    let last_step = scene.curves.steps.last().copied().unwrap_or(1);
    for (column, problem) in problems.iter().enumerate() {
        let x = NAME_WIDTH + (width + 10.0) * column as f64;
        let n_actions = n_actions(scene, problem);
        canvas.text((x, top - 22.0), &cut(problem, 12.0, width * 0.94), TextStyle::new(12.0).bold());
        let count = format!("{n_actions} actions");
        canvas.text((x, top - 8.0), &count, TextStyle::new(10.5).colored(FAINT));
        for (line, policy) in scene.policies.iter().enumerate() {
            let area = Area { x, y: top + row * line as f64, width, height: STRIP };
            let Some(condensed) = scene.curves.of.get(&((*policy).clone(), (*problem).clone())) else {
                canvas.text((x + 4.0, area.y + 26.0), "no curves", TextStyle::new(10.5).colored(FAINT));
                continue;
            };
            let windows = &condensed.choices;
            let step = area.width / windows.len() as f64;
            let mut below = vec![0.0; windows.len()];
            for action in 0..n_actions {
                let share = |window: usize| {
                    let all: usize = windows[window].values().sum();
                    windows[window].get(&(action as u32)).copied().unwrap_or(0) as f64 / all.max(1) as f64
                };
                let above: Vec<f64> =
                    (0..windows.len()).map(|window| below[window] + share(window)).collect();
                let edge = |heights: &[f64]| -> Vec<(f64, f64)> {
                    let corners = heights.iter().enumerate().flat_map(|(window, height)| {
                        let y = area.bottom() - height * area.height;
                        [(area.x + step * window as f64, y), (area.x + step * (window + 1) as f64, y)]
                    });
                    corners.collect()
                };
                let outline: Vec<_> =
                    edge(&above).into_iter().chain(edge(&below).into_iter().rev()).collect();
                canvas.polygon(&outline, &action_shade(action, n_actions), 1.0);
                below = above;
            }
            canvas.rect(area, "none", Some(&Stroke::solid(FAINT, 0.8)));
        }
        let y = top + row * scene.policies.len() as f64 + 6.0;
        canvas.text((x, y), "0", TextStyle::new(10.5));
        let last = last_step.to_string();
        canvas.text((x + width, y), &last, TextStyle::new(10.5).anchored(Anchor::End));
        canvas.text((x + width / 2.0, y), "step", TextStyle::new(10.5).anchored(Anchor::Middle));
    }
    for (line, policy) in scene.policies.iter().enumerate() {
        let y = top + row * line as f64 + STRIP / 2.0 + 4.0;
        let name = cut(policy, 12.0, NAME_WIDTH - 14.0);
        canvas.text((NAME_WIDTH - 10.0, y), &name, TextStyle::new(12.0).anchored(Anchor::End));
    }
    let bar = Area { x: NAME_WIDTH + 100.0, y: height - 26.0, width: 220.0, height: 12.0 };
    canvas.text((bar.x - 8.0, bar.y + 10.5), "first action", TextStyle::new(11.0).anchored(Anchor::End));
    canvas.text((bar.right() + 8.0, bar.y + 10.5), "last action", TextStyle::new(11.0));
    canvas.text(
        (bar.right() + 110.0, bar.y + 10.5),
        "height of a shade: its share of the choices, 0 to 100 %",
        TextStyle::new(11.0),
    );
    for index in 0..40 {
        let cell = Area { x: bar.x + 5.5 * f64::from(index), width: 5.6, ..bar };
        canvas.rect(cell, &shade(0.05 + 0.95 * f64::from(index) / 39.0), None);
    }
    let caption = "The height of a shade is the share of its action among all choices in a window of steps, over all trials of \
                   the policy; the first action lies at the bottom and is the lightest. On linear, sparse-linear, folded, Financial and Jester the actions \
                   differ from trial to trial, so only abrupt changes are meaningful there."
        .to_owned();
    Some(Figure { id: scene.id("actions"), title: title.to_owned(), caption, svg: canvas.finish() })
}

/// As `run.json` says, or as many as were ever chosen.
fn n_actions(scene: &Scene<'_>, problem: &str) -> usize {
    let runs = scene.group.folders.iter().filter_map(|folder| folder.run.as_ref());
    let recorded = runs.flat_map(|run| &run.problems).find(|record| record.name == problem);
    let of_problem = scene.curves.of.iter().filter(|((_, of), _)| of == problem);
    let chosen = of_problem.flat_map(|(_, condensed)| &condensed.choices).flat_map(|window| window.keys());
    let most = chosen.max().map_or(1, |&action| action as usize + 1);
    // More shades than this cannot be told apart, nor drawn in reasonable time.
    recorded.map_or(0, |record| record.n_actions).max(most).min(256)
}

fn action_shade(action: usize, n_actions: usize) -> String {
    shade(0.05 + 0.95 * action as f64 / (n_actions.max(2) - 1) as f64)
}
