//! One plot: data mapped to an area of the canvas.

use super::{Anchor, Area, Axis, Canvas, FAINT, GRID, HeatMap, INK, Marker, Stroke, TextStyle, text_width};
use crate::summary::quantile;

/// A plot on a canvas. Draw its data first and its frame last, or the frame first where a grid should lie below.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Panel {
    /// Where the data lie; titles, ticks and labels stand around it.
    pub(crate) area: Area,
    /// Stands above, in bold.
    pub(crate) title: String,
    /// From left to right.
    pub(crate) x: Axis,
    /// From bottom to top.
    pub(crate) y: Axis,
}

/// What a box plot shows of a sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BoxSummary {
    /// Lower quartile, median, upper quartile.
    pub(crate) quartiles: [f64; 3],
    /// The farthest numbers within 1.5 × the box's length of it.
    pub(crate) whiskers: [f64; 2],
    /// The numbers beyond.
    pub(crate) outliers: Vec<f64>,
    /// The mean.
    pub(crate) mean: f64,
}

impl BoxSummary {
    /// `None` for an empty sample. Quartiles lie between order statistics, linearly.
    pub(crate) fn of(sample: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        if sorted.is_empty() {
            return None;
        }
        let quartiles = [0.25, 0.5, 0.75].map(|part| quantile(&sorted, part));
        let reach = 1.5 * (quartiles[2] - quartiles[0]);
        let is_near = |value: &f64| (quartiles[0] - reach..=quartiles[2] + reach).contains(value);
        let near: Vec<f64> = sorted.iter().copied().filter(is_near).collect();
        let whiskers = [near.first().copied(), near.last().copied()].map(|end| end.unwrap_or(quartiles[1]));
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        let outliers = sorted.into_iter().filter(|value| !is_near(value)).collect();
        Some(Self { quartiles, whiskers, outliers, mean })
    }
}

const TICK_TEXT: TextStyle = TextStyle::new(10.5);
const LABEL_TEXT: TextStyle = TextStyle::new(11.5);
const TITLE_TEXT: TextStyle = TextStyle::new(13.0).bold();

impl Panel {
    /// Where a point of the data lies on the canvas.
    pub(crate) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.area.x + self.area.width * self.x.place(x),
            self.area.bottom() - self.area.height * self.y.place(y),
        )
    }

    /// Lines across at the ticks of the vertical axis, and down at those of the horizontal one.
    pub(crate) fn grid(&self, canvas: &mut Canvas) {
        let faint = Stroke::solid(GRID, 1.0);
        for (value, _) in &self.y.ticks {
            let (_, y) = self.at(self.x.low, *value);
            canvas.line((self.area.x, y), (self.area.right(), y), &faint);
        }
        for (value, _) in &self.x.ticks {
            let (x, _) = self.at(*value, self.y.low);
            canvas.line((x, self.area.y), (x, self.area.bottom()), &faint);
        }
    }

    /// Frame, title, ticks and the names of the axes. A tick whose text would touch the one before it has none.
    pub(crate) fn frame(&self, canvas: &mut Canvas) {
        let Area { x: left, y: top, width, height } = self.area;
        let bottom = self.area.bottom();
        canvas.rect(self.area, "none", Some(&Stroke::solid(FAINT, 1.0)));
        canvas.text((left, top - 7.0), &self.title, TITLE_TEXT);
        let tick = Stroke::solid(FAINT, 1.0);
        let mut last_end = f64::NEG_INFINITY;
        for (value, text) in &self.x.ticks {
            let (x, _) = self.at(*value, self.y.low);
            canvas.line((x, bottom), (x, bottom + 4.0), &tick);
            let half = text_width(text, TICK_TEXT.size, false) / 2.0;
            if x - half > last_end + 3.0 {
                canvas.text((x, bottom + 15.0), text, TICK_TEXT.anchored(Anchor::Middle));
                last_end = x + half;
            }
        }
        let mut widest: f64 = 0.0;
        let mut last_y = f64::INFINITY;
        for (value, text) in &self.y.ticks {
            let (_, y) = self.at(self.x.low, *value);
            canvas.line((left - 4.0, y), (left, y), &tick);
            if last_y - y >= TICK_TEXT.size {
                canvas.text((left - 7.0, y + 3.7), text, TICK_TEXT.anchored(Anchor::End));
                widest = widest.max(text_width(text, TICK_TEXT.size, false));
                last_y = y;
            }
        }
        canvas.text((left + width / 2.0, bottom + 31.0), &self.x.label, LABEL_TEXT.anchored(Anchor::Middle));
        let style = LABEL_TEXT.anchored(Anchor::Middle).upwards();
        canvas.text((left - 13.0 - widest, top + height / 2.0), &self.y.label, style);
    }

    /// A line through data, cut off at the frame.
    pub(crate) fn line(&self, canvas: &mut Canvas, points: &[(f64, f64)], stroke: &Stroke) {
        let places: Vec<_> = points.iter().map(|&(x, y)| self.at(x, y)).collect();
        canvas.clipped(self.area, |canvas| canvas.polyline(&places, stroke));
    }

    /// The room between two lines over the same places: (x, low, high).
    pub(crate) fn band(&self, canvas: &mut Canvas, points: &[(f64, f64, f64)], color: &str, opacity: f64) {
        let upper = points.iter().map(|&(x, _, high)| self.at(x, high));
        let lower = points.iter().rev().map(|&(x, low, _)| self.at(x, low));
        let outline: Vec<_> = upper.chain(lower).collect();
        canvas.clipped(self.area, |canvas| canvas.polygon(&outline, color, opacity));
    }

    /// A lying box plot at height `y` of the vertical axis; `thickness` in pixels. The mean is a diamond.
    pub(crate) fn lying_box(
        &self,
        canvas: &mut Canvas,
        y: f64,
        summary: &BoxSummary,
        thickness: f64,
        fill: &str,
    ) {
        let at = |value: f64| self.at(value, y);
        let (_, middle) = at(summary.mean);
        let ink = Stroke::solid(INK, 1.0);
        let half = thickness / 2.0;
        for (whisker, quartile) in [(0, 0), (1, 2)] {
            let (end, _) = at(summary.whiskers[whisker]);
            let (start, _) = at(summary.quartiles[quartile]);
            canvas.line((start, middle), (end, middle), &ink);
            canvas.line((end, middle - half * 0.5), (end, middle + half * 0.5), &ink);
        }
        let [(low, _), (median, _), (high, _)] = summary.quartiles.map(at);
        let body = Area { x: low, y: middle - half, width: (high - low).max(0.5), height: thickness };
        // Half transparent, so that the lines on it are seen in both schemes.
        let corners = [
            (body.x, body.y),
            (body.right(), body.y),
            (body.right(), body.bottom()),
            (body.x, body.bottom()),
        ];
        canvas.polygon(&corners, fill, 0.5);
        canvas.rect(body, "none", Some(&ink));
        canvas.line((median, middle - half), (median, middle + half), &Stroke::solid(INK, 2.0));
        for &outlier in &summary.outliers {
            canvas.marker(at(outlier), Marker::Circle, 3.6, FAINT);
        }
        canvas.marker(at(summary.mean), Marker::Diamond, 5.0, INK);
    }

    /// The cells of a heat map, cut off at the frame. Its shades stand on a light ground in both schemes: dark is many.
    pub(crate) fn heat_map(&self, canvas: &mut Canvas, map: &HeatMap) {
        canvas.rect(self.area, "#fefefe", None);
        canvas.clipped(self.area, |canvas| map.draw(canvas, |x, y| self.at(x, y)));
    }
}
