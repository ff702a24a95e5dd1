//! Cumulative regret over steps: one panel a problem, a line with a band for each policy.

use super::{Figure, Grid, Scene, WIDTH, cut};
use crate::experiment::UNIFORM;
use crate::report::look::{legend, legend_height};
use crate::report::svg::{Anchor, Axis, FAINT, Panel, TextStyle};
use crate::summary::Statistics;

pub(super) fn draw(scene: &Scene<'_>) -> Option<Figure> {
    let problems = scene.problems_with_curves();
    let columns = problems.len().clamp(1, 4);
    let width = (WIDTH - 76.0) / columns as f64 - 46.0;
    let grid = Grid { columns, left: 76.0, gap: 46.0, panel: (width, 190.0), top: 34.0, row_gap: 66.0 };
    let bottom = grid.bottom(problems.len()) + 52.0;
    let height = bottom + legend_height(&scene.labels, WIDTH - 96.0) + 8.0;
    let title = "Cumulative regret over steps";
    let description = format!(
        "A panel for each problem, a line for each of {} policies.{}",
        scene.policies.len(),
        scene.lowest()
    );
    let mut canvas = scene.canvas("regret", height, title, &description);
    let mut is_cut = false;
    for (index, problem) in problems.iter().enumerate() {
        let curves: Vec<(usize, Vec<Statistics>)> = (0..scene.policies.len())
            .filter_map(|policy| {
                let key = (scene.policies[policy].clone(), (*problem).clone());
                Some((policy, scene.curves.of.get(&key)?.regret()))
            })
            .collect();
        let (high, cut_at) = top_of(scene, &curves);
        is_cut |= cut_at.is_some();
        let low = curves.iter().flat_map(|(_, curve)| curve).map(|at| at.mean).fold(0.0, f64::min);
        let last_step = scene.curves.steps.last().copied().unwrap_or(1) as f64;
        let is_first = index % columns == 0;
        let is_last = index + columns >= problems.len();
        let panel = Panel {
            area: grid.area(index),
            title: cut(problem, 14.0, width - if cut_at.is_some() { 120.0 } else { 10.0 }),
            x: Axis::linear(if is_last { "step" } else { "" }, 0.0, last_step),
            y: Axis::linear(if is_first { "cumulative regret (reward)" } else { "" }, low, high),
        };
        panel.grid(&mut canvas);
        for (policy, curve) in &curves {
            let at = || std::iter::once((0.0, 0.0, 0.0)).chain(points(&scene.curves.steps, curve));
            let look = &scene.looks[*policy];
            let band: Vec<_> = at().map(|(x, mean, se)| (x, mean - se, mean + se)).collect();
            panel.band(&mut canvas, &band, look.color, 0.2);
        }
        for (place, (policy, curve)) in curves.iter().enumerate() {
            let at = || std::iter::once((0.0, 0.0, 0.0)).chain(points(&scene.curves.steps, curve));
            let look = &scene.looks[*policy];
            let line: Vec<_> = at().map(|(x, mean, _)| (x, mean)).collect();
            panel.line(&mut canvas, &line, &look.stroke(1.8));
            // Markers stand at other places for each policy, so that they do not cover each other.
            let every = (line.len() / 4).max(1);
            let first = every * (place + 1) / (curves.len() + 1);
            canvas.clipped(panel.area, |canvas| {
                for &(x, y) in line.iter().skip(first.max(1)).step_by(every) {
                    canvas.marker(panel.at(x, y), look.marker, 6.0, look.color);
                }
            });
        }
        panel.frame(&mut canvas);
        if let Some(end) = cut_at {
            let place = (panel.area.right(), panel.area.y - 7.0);
            let text = format!("{UNIFORM} ends at {end:.0}");
            canvas.text(place, &text, TextStyle::new(10.5).anchored(Anchor::End).colored(FAINT));
        }
    }
    if problems.is_empty() {
        return None;
    }
    legend(&mut canvas, &scene.labels, &scene.looks, (76.0, bottom), WIDTH - 96.0);
    let mut caption =
        "Mean over each policy's own trials (number of trials in parentheses where it differs); the band is ± one standard error. Lower is better.".to_owned();
    if is_cut {
        caption.push_str(" Uniform's line is cut off where it would press the others together; the panel says where it ends.");
    }
    Some(Figure { id: scene.id("regret"), title: title.to_owned(), caption, svg: canvas.finish() })
}

fn points(steps: &[usize], curve: &[Statistics]) -> impl Iterator<Item = (f64, f64, f64)> {
    steps.iter().zip(curve).map(|(&step, at)| (step as f64, at.mean, at.se().unwrap_or(0.0)))
}

/// The upper end of a panel, and where Uniform ends if it leaves the panel: if it is twice as high as all others.
fn top_of(scene: &Scene<'_>, curves: &[(usize, Vec<Statistics>)]) -> (f64, Option<f64>) {
    let highest = |curve: &[Statistics]| {
        curve.iter().map(|at| at.mean + at.se().unwrap_or(0.0)).fold(f64::NEG_INFINITY, f64::max)
    };
    let is_uniform = |policy: usize| scene.policies[policy] == UNIFORM;
    let others = curves.iter().filter(|(policy, _)| !is_uniform(*policy)).map(|(_, curve)| highest(curve));
    let others = others.fold(f64::NEG_INFINITY, f64::max);
    let uniform = curves.iter().find(|(policy, _)| is_uniform(*policy));
    let Some((_, uniform)) = uniform else { return (others * 1.06, None) };
    if others.is_finite() && others > 0.0 && highest(uniform) > 2.0 * others {
        (others * 1.12, uniform.last().map(|at| at.mean))
    } else {
        (highest(uniform).max(others) * 1.06, None)
    }
}
