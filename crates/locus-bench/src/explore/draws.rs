//! The draws of all looks and their statistics: means, spreads, modes, histograms.

use super::modes::{Mode, humps, modes};
use crate::summary::{Statistics, quantile};
use crate::trial::TrialResult;

/// Which of the two figures of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Many draws for the followed context.
    Single,
    /// One draw for each context of its kind.
    Many,
}

impl View {
    pub(super) const ALL: [Self; 2] = [Self::Single, Self::Many];

    /// The word that names it in files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Many => "many",
        }
    }
}

/// The draws after some steps.
pub(super) struct Look {
    pub(super) step: usize,
    /// [S + M, A]: S draws for the followed context, then one for each of the M contexts of its kind.
    pub(super) rewards: Vec<f64>,
}

/// The draws of one policy in its trial.
pub(super) struct Seen {
    /// In canonical form.
    pub(super) policy: String,
    pub(super) n_draws: usize,
    pub(super) n_actions: usize,
    pub(super) looks: Vec<Look>,
    pub(super) ending: Ending,
    pub(super) result: TrialResult,
}

/// The draws after the last step.
#[derive(Default)]
pub(super) struct Ending {
    /// How much higher the mean of another action is than that of the best one, for each context of the kind.
    pub(super) margins: Vec<f64>,
    /// [W, A], what many draws for one context look like, for some contexts of the kind.
    pub(super) within: Vec<Spread>,
}

/// The draws of one context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) sd: f64,
    pub(super) n_modes: usize,
    pub(super) n_humps: usize,
}

impl Spread {
    /// Of at least one draw.
    pub(super) fn of(draws: &[f64]) -> Self {
        let statistics = Statistics::of(draws);
        Self {
            mean: statistics.map_or(f64::NAN, |statistics| statistics.mean),
            sd: statistics.and_then(|statistics| statistics.sd).unwrap_or(0.0),
            n_modes: modes(draws).len(),
            n_humps: humps(draws).len(),
        }
    }
}

impl Seen {
    /// The draws of a view at a look, `n_actions` rewards for each.
    fn rows(&self, view: View, look: &Look) -> std::ops::Range<usize> {
        let middle = self.n_draws * self.n_actions;
        match view {
            View::Single => 0..middle,
            View::Many => middle..look.rewards.len(),
        }
    }

    /// The draws of one action.
    pub(super) fn draws(&self, view: View, look: &Look, action: usize) -> Vec<f64> {
        look.rewards[self.rows(view, look)].iter().skip(action).step_by(self.n_actions).copied().collect()
    }

    /// The share of draws in which the action is the highest, the first of ties: how often it would be chosen.
    pub(super) fn chosen(&self, view: View, look: &Look, action: usize) -> f64 {
        let rows = look.rewards[self.rows(view, look)].chunks_exact(self.n_actions);
        let n_rows = rows.len().max(1);
        let is_highest = |rewards: &[f64]| {
            let best = (0..rewards.len())
                .fold(0, |best, other| if rewards[other] > rewards[best] { other } else { best });
            best == action
        };
        rows.filter(|rewards| is_highest(rewards)).count() as f64 / n_rows as f64
    }

    /// Statistics of the draws of one action at a look.
    pub(super) fn describe(&self, view: View, look: &Look, action: usize) -> Description {
        let mut draws = self.draws(view, look, action);
        draws.sort_by(f64::total_cmp);
        let statistics = Statistics::of(&draws);
        let at = |part: f64| if draws.is_empty() { f64::NAN } else { quantile(&draws, part) };
        Description {
            n: draws.len(),
            mean: statistics.map_or(f64::NAN, |statistics| statistics.mean),
            sd: statistics.and_then(|statistics| statistics.sd).unwrap_or(0.0),
            quantiles: [0.05, 0.5, 0.95].map(at),
            chosen: self.chosen(view, look, action),
            modes: modes(&draws),
            humps: humps(&draws),
        }
    }
}

/// Statistics of a sample of draws.
pub(super) struct Description {
    pub(super) n: usize,
    pub(super) mean: f64,
    pub(super) sd: f64,
    /// 5 %, 50 %, 95 %.
    pub(super) quantiles: [f64; 3],
    pub(super) chosen: f64,
    pub(super) modes: Vec<Mode>,
    pub(super) humps: Vec<Mode>,
}

/// How many cells a histogram has between its ends.
pub(super) const N_CELLS: usize = 50;
/// The part of each policy's draws that may lie beyond either end of the cells.
const BEYOND: f64 = 0.005;

/// Equal cells that hold nearly all draws of an action, the same for every policy and step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cells {
    /// Ascending, one more than there are cells.
    pub(super) edges: Vec<f64>,
}

/// How many draws lie in each cell, and beyond.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Histogram {
    pub(super) below: usize,
    pub(super) counts: Vec<usize>,
    pub(super) above: usize,
}

impl Cells {
    pub(super) fn of(seen: &[Seen], view: View, action: usize) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for seen in seen {
            let mut draws: Vec<f64> =
                seen.looks.iter().flat_map(|look| seen.draws(view, look, action)).collect();
            draws.sort_by(f64::total_cmp);
            if !draws.is_empty() {
                low = low.min(quantile(&draws, BEYOND));
                high = high.max(quantile(&draws, 1.0 - BEYOND));
            }
        }
        Self::between(low, high)
    }

    /// Cells from `low` to `high` and a little beyond; around them where they are one.
    pub(super) fn between(low: f64, high: f64) -> Self {
        let (low, high) = match low <= high {
            // So that differences and sums are numbers still.
            true => (low.clamp(-1e300, 1e300), high.clamp(-1e300, 1e300)),
            false => (0.0, 0.0),
        };
        let size = low.abs().max(high.abs());
        let room = match high - low {
            width if width > 1e-9 * size => 0.03 * width,
            _ => 0.5 * size.max(1.0),
        };
        let (low, high) = (low - room, high + room);
        let edge = |index: usize| {
            let part = index as f64 / N_CELLS as f64;
            low * (1.0 - part) + high * part
        };
        Self { edges: (0..=N_CELLS).map(edge).collect() }
    }

    pub(super) fn count(&self, draws: &[f64]) -> Histogram {
        let mut histogram = Histogram { below: 0, counts: vec![0; N_CELLS], above: 0 };
        for &draw in draws {
            // A draw on an edge lies in the cell above it.
            match self.edges.partition_point(|&edge| edge <= draw) {
                0 => histogram.below += 1,
                place if place > N_CELLS => histogram.above += 1,
                place => histogram.counts[place - 1] += 1,
            }
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(rewards: Vec<f64>, n_draws: usize) -> Seen {
        Seen {
            policy: "p".to_owned(),
            n_draws,
            n_actions: 2,
            looks: vec![Look { step: 0, rewards }],
            ending: Ending::default(),
            result: TrialResult::default(),
        }
    }

    #[test]
    fn views_and_actions_are_told_apart() {
        let seen = seen(vec![0.0, 1.0, 0.5, 0.5, 3.0, 2.0, 9.0, 8.0, 7.0, 7.5], 3);
        let look = &seen.looks[0];
        assert_eq!(seen.draws(View::Single, look, 0), [0.0, 0.5, 3.0]);
        assert_eq!(seen.draws(View::Single, look, 1), [1.0, 0.5, 2.0]);
        assert_eq!(seen.draws(View::Many, look, 1), [8.0, 7.5]);
        // The first of equal rewards wins, as in a decision.
        assert_eq!(seen.chosen(View::Single, look, 0), 2.0 / 3.0);
        assert_eq!(seen.chosen(View::Many, look, 1), 0.5);
        let described = seen.describe(View::Single, look, 0);
        assert_eq!((described.n, described.quantiles[1]), (3, 0.5));
        assert!((described.mean - 3.5 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn every_draw_is_counted_once() {
        let cells = Cells { edges: (0..=N_CELLS).map(|edge| edge as f64).collect() };
        let histogram = cells.count(&[-0.1, 0.0, 0.9, 1.0, 49.9, 50.0, 51.0]);
        assert_eq!((histogram.below, histogram.above), (1, 2));
        assert_eq!((histogram.counts[0], histogram.counts[1], histogram.counts[49]), (2, 1, 1));
        assert_eq!(histogram.counts.iter().sum::<usize>(), 4);
    }

    #[test]
    fn cells_ascend_whatever_lies_in_them() {
        for (low, high) in [
            (-35.0, 5.0),
            (2.0, 2.0),
            (0.0, 0.0),
            (1e12, 1e12),
            (-1e308, f64::MAX),
            (f64::INFINITY, f64::NEG_INFINITY),
        ] {
            let cells = Cells::between(low, high);
            assert!(cells.edges.windows(2).all(|pair| pair[0] < pair[1]), "{low} {high}: {cells:?}");
        }
    }
}
