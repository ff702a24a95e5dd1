//! The heat maps: histograms of drawn mean rewards over the steps of a trial, a panel for each policy and action.

use super::Findings;
use super::draws::{Cells, Histogram, Seen, View};
use crate::report::cut;
use crate::report::svg::{Area, Axis, Canvas, FAINT, HeatMap, Panel, Stroke, TextStyle};
use crate::summary::quantile;

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 64.0;
/// Between the panels of a row, for the ticks of the next one.
const GAP: f64 = 56.0;
/// Right of the panels, for the bar of shades.
const RIGHT: f64 = 84.0;
/// Four pixels for each cell.
const PANEL_HEIGHT: f64 = 200.0;
const ROW: f64 = PANEL_HEIGHT + 46.0;
/// More columns could not be seen, and would make large files; looks are then shown several in one.
const MAX_COLUMNS: usize = 200;

/// The figure of a view.
pub(super) fn draw(findings: &Findings<'_>, view: View) -> Canvas {
    let Findings { seen, actions, .. } = findings;
    let height = TOP + ROW * seen.len() as f64 + 4.0;
    let mut canvas = Canvas::new(view.name(), WIDTH, height, &title(findings, view));
    let columns = Columns::new(&seen[0]);
    let panel_width = columns.panel_width(actions.len());
    let cells: Vec<Cells> = actions.iter().map(|action| Cells::of(seen, view, action.index)).collect();
    let mut shares: Vec<Vec<Vec<f64>>> = Vec::new();
    let (mut n_beyond, mut n_draws) = (0, 0);
    for seen in seen {
        let mut row = Vec::new();
        for (action, cells) in actions.iter().zip(&cells) {
            let counted = seen.looks.iter().map(|look| cells.count(&seen.draws(view, look, action.index)));
            let histograms: Vec<Histogram> = counted.collect();
            for histogram in &histograms {
                let beyond = histogram.below + histogram.above;
                n_beyond += beyond;
                n_draws += beyond + histogram.counts.iter().sum::<usize>();
            }
            row.push(columns.shares(&histograms));
        }
        shares.push(row);
    }
    let darkest = darkest(shares.iter().flatten().flatten().copied());

    canvas.text((14.0, 24.0), &cut(&title(findings, view), 15.0, WIDTH - 40.0), TextStyle::new(15.0).bold());
    let mut bar = None;
    for (line, (seen, row)) in seen.iter().zip(shares).enumerate() {
        for (column, ((action, cells), shares)) in actions.iter().zip(&cells).zip(row).enumerate() {
            let area = Area {
                x: LEFT + (panel_width + GAP) * column as f64,
                y: TOP + ROW * line as f64,
                width: panel_width,
                height: PANEL_HEIGHT,
            };
            let is_last = line + 1 == findings.seen.len();
            let (low, high) = (columns.edges[0], columns.edges[columns.edges.len() - 1]);
            let panel = Panel {
                area,
                title: cut(&format!("{}: {}", seen.policy, action.name), 13.8, panel_width),
                x: Axis::linear(if is_last { "step" } else { "" }, low, high),
                y: Axis::linear(
                    if column == 0 { "drawn mean reward" } else { "" },
                    cells.edges[0],
                    cells.edges[cells.edges.len() - 1],
                ),
            };
            let map = HeatMap::new(columns.edges.clone(), cells.edges.clone(), shares).with_max(darkest);
            panel.heat_map(&mut canvas, &map);
            let zero = Stroke { color: FAINT.to_owned(), width: 1.0, dashes: "5 4" };
            panel.line(&mut canvas, &[(low, 0.0), (high, 0.0)], &zero);
            panel.frame(&mut canvas);
            bar = Some(map);
        }
    }
    if let Some(map) = bar {
        let area = Area { x: WIDTH - RIGHT + 30.0, y: TOP, width: 14.0, height: PANEL_HEIGHT };
        map.color_bar(&mut canvas, area, "% of draws");
        canvas.text((area.x - 12.0, area.bottom() + 18.0), "darkest:", TextStyle::new(10.5));
        canvas.text(
            (area.x - 12.0, area.bottom() + 31.0),
            &format!("{darkest} or more"),
            TextStyle::new(10.5),
        );
    }
    canvas.describe(&caption(findings, view, n_beyond as f64 / (n_draws as f64).max(1.0)));
    canvas
}

/// How looks become columns.
struct Columns {
    /// Looks in each column, but for the last.
    n_looks: usize,
    edges: Vec<f64>,
}

impl Columns {
    /// Every look reaches half the way to its neighbors.
    fn new(seen: &Seen) -> Self {
        let steps: Vec<f64> = seen.looks.iter().map(|look| look.step as f64).collect();
        let n_looks = steps.len().div_ceil(MAX_COLUMNS);
        let middle = |index: usize| (steps[index - 1] + steps[index]) / 2.0;
        let last = steps.len() - 1;
        let (first_half, last_half) = match last {
            0 => (0.5, 0.5),
            _ => ((steps[1] - steps[0]) / 2.0, (steps[last] - steps[last - 1]) / 2.0),
        };
        let mut edges = vec![steps[0] - first_half];
        edges.extend((n_looks..steps.len()).step_by(n_looks).map(middle));
        edges.push(steps[last] + last_half);
        Self { n_looks, edges }
    }

    /// The width of a panel, if possible such that columns lie on whole or half pixels, which keeps files small.
    fn panel_width(&self, n_panels: usize) -> f64 {
        let room = (WIDTH - LEFT - RIGHT - GAP * (n_panels - 1) as f64) / n_panels as f64;
        let n_columns = (self.edges.len() - 1) as f64;
        let halves = (2.0 * room / n_columns).floor();
        if halves * n_columns / 2.0 > 0.8 * room { halves * n_columns / 2.0 } else { room.floor() }
    }

    /// Percent of the draws of a column in each cell, column after column.
    fn shares(&self, histograms: &[Histogram]) -> Vec<f64> {
        let mut shares = Vec::new();
        for histograms in histograms.chunks(self.n_looks) {
            let all = |histogram: &Histogram| {
                histogram.below + histogram.above + histogram.counts.iter().sum::<usize>()
            };
            let n_draws = histograms.iter().map(all).sum::<usize>().max(1) as f64;
            let n_cells = histograms[0].counts.len();
            shares.extend((0..n_cells).map(|cell| {
                let count: usize = histograms.iter().map(|histogram| histogram.counts[cell]).sum();
                100.0 * count as f64 / n_draws
            }));
        }
        shares
    }
}

/// A round number above nearly all shares, so that one sharp peak does not make the rest pale.
fn darkest(shares: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = shares.filter(|share| *share > 0.0).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(&highest) = sorted.last() else { return 1.0 };
    let nearly_all = quantile(&sorted, 0.95);
    let round = [1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0].into_iter();
    round.into_iter().find(|round| *round >= nearly_all.min(highest)).unwrap_or(100.0)
}

pub(super) fn title(findings: &Findings<'_>, view: View) -> String {
    let Findings { problem, kind, followed, .. } = findings;
    let best = problem.action_name(kind.best_action);
    match view {
        View::Single => format!(
            "{}: posterior samples for one context (round {followed}), for which {best} is best",
            problem.name()
        ),
        View::Many => format!(
            "{}: posterior samples for all {} contexts for which {best} is best",
            problem.name(),
            kind.contexts.len()
        ),
    }
}

fn caption(findings: &Findings<'_>, view: View, beyond: f64) -> String {
    let Findings { seen, actions, n_actions, .. } = findings;
    let draws = match view {
        View::Single => format!("{} draws of the context's mean rewards", seen[0].n_draws),
        View::Many => "one draw of the mean rewards of each context".to_owned(),
    };
    let shown = match actions.len() < *n_actions {
        true => format!(
            " Of {n_actions} actions the best is shown, and the {} others that were chosen most often.",
            actions.len() - 1
        ),
        false => String::new(),
    };
    format!(
        "Histograms over the steps of one trial: each column of cells shows {draws}, after the policy had learned up to that \
         step. Dashed: 0. {:.1} % of the draws lie beyond the frames.{shown} {}",
        100.0 * beyond,
        findings.identity()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_darkest_shade_is_round_and_not_led_by_one_peak() {
        assert_eq!(darkest([].into_iter()), 1.0);
        assert_eq!(darkest([0.0, 0.3].into_iter()), 1.0);
        assert_eq!(darkest((0..1000).map(|index| if index == 7 { 100.0 } else { 12.0 })), 15.0);
        assert_eq!(darkest([100.0; 5].into_iter()), 100.0);
    }
}
