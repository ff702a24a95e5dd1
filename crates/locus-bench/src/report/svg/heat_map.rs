//! Counts over two axes as shades: light for few, dark for many, so that gray tells the same as color.

use std::fmt::Write;

use super::{Anchor, Area, Axis, Canvas, FAINT, Stroke, TextStyle, short};

/// How many shades are told apart. Cells of one shade are one mark, which keeps large maps small.
const SHADES: usize = 40;

/// Cells between edges, with a number each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeatMap {
    x_edges: Vec<f64>,
    y_edges: Vec<f64>,
    /// Column by column, from the lowest row up.
    values: Vec<f64>,
    max: f64,
}

impl HeatMap {
    /// A map of `x_edges.len() - 1` columns and `y_edges.len() - 1` rows. `values` holds the columns one after
    /// another, each from its lowest row up; what is not above 0 stays white.
    ///
    /// # Panics
    ///
    /// Where there are not as many values as cells, or edges do not ascend.
    pub(crate) fn new(x_edges: Vec<f64>, y_edges: Vec<f64>, values: Vec<f64>) -> Self {
        let cells = |edges: &[f64]| edges.len().saturating_sub(1);
        assert_eq!(values.len(), cells(&x_edges) * cells(&y_edges), "as many values as cells");
        for edges in [&x_edges, &y_edges] {
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "edges ascend");
        }
        let max = values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
        Self { x_edges, y_edges, values, max }
    }

    /// The same with the darkest shade at `max`, so that several maps share one bar.
    pub(crate) fn with_max(self, max: f64) -> Self {
        Self { max, ..self }
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, at: impl Fn(f64, f64) -> (f64, f64)) {
        let rows = self.y_edges.len().saturating_sub(1);
        let mut marks = vec![String::new(); SHADES + 1];
        for (column, edges) in self.x_edges.windows(2).enumerate() {
            let mut row = 0;
            while row < rows {
                let level = self.level(self.values[column * rows + row]);
                // Equal cells above each other are drawn as one.
                let same = |next: &usize| self.level(self.values[column * rows + next]) == level;
                let end = (row + 1..rows).take_while(same).count() + row + 1;
                if level > 0 {
                    let (left, bottom) = at(edges[0], self.y_edges[row]);
                    let (right, top) = at(edges[1], self.y_edges[end]);
                    let _ = write!(
                        marks[level],
                        "M{} {}h{}v{}h{}z",
                        short(left),
                        short(top),
                        short(right - left),
                        short(bottom - top),
                        short(left - right)
                    );
                }
                row = end;
            }
        }
        canvas.raw("<g shape-rendering=\"crispEdges\">\n");
        for (level, marks) in marks.iter().enumerate().filter(|(_, marks)| !marks.is_empty()) {
            let color = shade(level as f64 / SHADES as f64);
            canvas.raw(&format!("<path d=\"{marks}\" fill=\"{color}\"/>\n"));
        }
        canvas.raw("</g>\n");
    }

    /// What the shades stand for: a bar with ticks on its right and `label` above it.
    pub(crate) fn color_bar(&self, canvas: &mut Canvas, area: Area, label: &str) {
        let step = area.height / SHADES as f64;
        canvas.raw("<g shape-rendering=\"crispEdges\">\n");
        for level in 1..=SHADES {
            let y = area.bottom() - step * level as f64;
            let cell = Area { y, height: step + 0.3, ..area };
            canvas.rect(cell, &shade(level as f64 / SHADES as f64), None);
        }
        canvas.raw("</g>\n");
        canvas.rect(area, "none", Some(&Stroke::solid(FAINT, 1.0)));
        let axis = Axis::linear(label, 0.0, self.max);
        let mut last = f64::INFINITY;
        for (value, text) in &axis.ticks {
            let y = area.bottom() - area.height * axis.place(*value);
            canvas.line((area.right(), y), (area.right() + 4.0, y), &Stroke::solid(FAINT, 1.0));
            if last - y >= 11.0 {
                canvas.text((area.right() + 6.0, y + 3.7), text, TextStyle::new(10.5));
                last = y;
            }
        }
        let middle = area.x + area.width / 2.0;
        canvas.text((middle, area.y - 10.0), label, TextStyle::new(10.5).anchored(Anchor::Middle));
    }

    fn level(&self, value: f64) -> usize {
        if value > 0.0 && self.max > 0.0 {
            ((value / self.max * SHADES as f64).ceil() as usize).clamp(1, SHADES)
        } else {
            0
        }
    }
}

/// A shade from light (0) to dark (1), its lightness falling all the way.
pub(crate) fn shade(part: f64) -> String {
    const STOPS: [(u8, u8, u8); 6] =
        [(247, 246, 210), (199, 226, 174), (110, 190, 175), (40, 136, 172), (32, 78, 140), (12, 22, 70)];
    let place = part.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let (below, above) = (STOPS[place.floor() as usize], STOPS[place.ceil() as usize]);
    let mix =
        |from: u8, to: u8| (f64::from(from) + (f64::from(to) - f64::from(from)) * place.fract()).round();
    let [red, green, blue] = [mix(below.0, above.0), mix(below.1, above.1), mix(below.2, above.2)];
    format!("#{:02x}{:02x}{:02x}", red as u8, green as u8, blue as u8)
}
