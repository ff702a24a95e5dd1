//! Pictures as SVG: a canvas, axes, and panels of lines, bands, boxes and heat maps.
//!
//! A small layer of our own, since what a benchmark shows is known: few kinds of marks, many panels, text that must
//! not collide. Positions are pixels from the top left corner. A [`Canvas`] collects marks; a [`Panel`]
//! maps data to pixels. Colors are those on white; a style in each picture replaces them where a reader prefers dark.

mod axis;
mod heat_map;
mod panel;
mod scheme;
mod text;

use std::fmt::Write;

pub(crate) use axis::Axis;
pub(crate) use heat_map::{HeatMap, shade};
pub(crate) use panel::{BoxSummary, Panel};
pub(crate) use scheme::SERIES;
pub(crate) use text::FONTS;
#[cfg(test)]
pub(crate) use text::tests::text_area;
pub(crate) use text::text_width;

/// The color of text and axes.
pub(crate) const INK: &str = "#222222";
/// The color of what stands back: grids, secondary text.
pub(crate) const FAINT: &str = "#767676";
/// The color of lines that guide the eye.
pub(crate) const GRID: &str = "#e3e3e3";
/// The background.
const PAPER: &str = "#ffffff";

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    /// Left edge.
    pub(crate) x: f64,
    /// Upper edge.
    pub(crate) y: f64,
    /// From left to right.
    pub(crate) width: f64,
    /// From top to bottom.
    pub(crate) height: f64,
}

impl Area {
    /// Right edge.
    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    /// Lower edge.
    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// Whether the two share more than an edge.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }

    /// Whether `other` lies within, edges included.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        self.x <= other.x
            && self.y <= other.y
            && other.right() <= self.right()
            && other.bottom() <= self.bottom()
    }
}

/// How a line is drawn. Dashes tell lines apart where colors do not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stroke {
    /// Any color of SVG.
    pub(crate) color: String,
    /// In pixels.
    pub(crate) width: f64,
    /// Lengths of dashes and gaps, such as `6 3`; empty for a solid line.
    pub(crate) dashes: &'static str,
}

impl Stroke {
    /// A solid line.
    pub(crate) fn solid(color: &str, width: f64) -> Self {
        Self { color: color.to_owned(), width, dashes: "" }
    }

    fn attributes(&self) -> String {
        let mut text = format!("stroke=\"{}\" stroke-width=\"{}\"", escaped(&self.color), short(self.width));
        if !self.dashes.is_empty() {
            let _ = write!(text, " stroke-dasharray=\"{}\"", self.dashes);
        }
        text
    }
}

/// Which part of a text lies at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TextStyle {
    /// In pixels.
    pub(crate) size: f64,
    /// Which part lies at the position.
    pub(crate) anchor: Anchor,
    /// Bold or not.
    pub(crate) bold: bool,
    /// Any color of SVG.
    pub(crate) color: &'static str,
    /// Whether it is read from bottom to top.
    pub(crate) upwards: bool,
}

impl TextStyle {
    /// Plain text that begins at its position.
    pub(crate) const fn new(size: f64) -> Self {
        Self { size, anchor: Anchor::Start, bold: false, color: INK, upwards: false }
    }

    /// The same, anchored elsewhere.
    pub(crate) const fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    /// The same in bold.
    pub(crate) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// The same in another color.
    pub(crate) const fn colored(self, color: &'static str) -> Self {
        Self { color, ..self }
    }

    /// The same, turned by a quarter to the left.
    pub(crate) const fn upwards(self) -> Self {
        Self { upwards: true, ..self }
    }
}

/// The shapes that tell points apart where colors do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub(crate) enum Marker {
    Circle,
    Square,
    Diamond,
    TriangleUp,
    TriangleDown,
    Plus,
    Cross,
}

impl Marker {
    /// All of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::Circle,
        Self::Square,
        Self::TriangleUp,
        Self::Diamond,
        Self::Cross,
        Self::TriangleDown,
        Self::Plus,
    ];
}

/// A picture that is being drawn.
#[derive(Clone, Debug)]
pub(crate) struct Canvas {
    id: String,
    width: f64,
    height: f64,
    title: String,
    description: String,
    body: String,
    n_clips: usize,
}

impl Canvas {
    /// An empty picture. `id` keeps its parts apart from those of other pictures on one page: letters, digits, `-`.
    pub(crate) fn new(id: &str, width: f64, height: f64, title: &str) -> Self {
        Self {
            id: id.to_owned(),
            width,
            height,
            title: title.to_owned(),
            description: String::new(),
            body: String::new(),
            n_clips: 0,
        }
    }

    /// Says in words what the picture shows; a report puts them below it.
    pub(crate) fn describe(&mut self, description: &str) {
        self.description = description.to_owned();
    }

    /// A straight line.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &Stroke) {
        self.polyline(&[from, to], stroke);
    }

    /// A line through points. Nothing is drawn of fewer than two.
    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], stroke: &Stroke) {
        if points.len() > 1 {
            let _ =
                writeln!(self.body, "<path d=\"{}\" fill=\"none\" {}/>", path(points), stroke.attributes());
        }
    }

    /// A filled shape without an outline.
    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], fill: &str, opacity: f64) {
        if points.len() > 2 {
            let (path, fill, opacity) = (path(points), escaped(fill), short(opacity));
            let _ = writeln!(self.body, "<path d=\"{path}z\" fill=\"{fill}\" fill-opacity=\"{opacity}\"/>");
        }
    }

    /// A rectangle, filled or not (`none`), outlined or not.
    pub(crate) fn rect(&mut self, area: Area, fill: &str, outline: Option<&Stroke>) {
        let outline = outline.map(|stroke| format!(" {}", stroke.attributes())).unwrap_or_default();
        let [x, y, width, height] = [area.x, area.y, area.width, area.height].map(short);
        let fill = escaped(fill);
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"{outline}/>"
        );
    }

    /// A point.
    pub(crate) fn marker(&mut self, (x, y): (f64, f64), marker: Marker, size: f64, color: &str) {
        let r = size / 2.0;
        let polygon = |points: &[(f64, f64)]| {
            path(&points.iter().map(|(dx, dy)| (x + dx * r, y + dy * r)).collect::<Vec<_>>())
        };
        let color = escaped(color);
        let fill = format!("fill=\"{color}\" stroke=\"{PAPER}\" stroke-width=\"0.6\"");
        let shape = match marker {
            Marker::Circle => {
                format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {fill}/>", short(x), short(y), short(r))
            }
            Marker::Plus | Marker::Cross => {
                let arms = match marker {
                    Marker::Plus => [[(-1.1, 0.0), (1.1, 0.0)], [(0.0, -1.1), (0.0, 1.1)]],
                    _ => [[(-0.85, -0.85), (0.85, 0.85)], [(-0.85, 0.85), (0.85, -0.85)]],
                };
                let [one, other] = arms.map(|arm| polygon(&arm));
                format!("<path d=\"{one}{other}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\"/>")
            }
            _ => {
                let corners: &[(f64, f64)] = match marker {
                    Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
                    Marker::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
                    Marker::TriangleDown => &[(-1.1, -0.9), (1.1, -0.9), (0.0, 1.1)],
                    _ => &[(-1.1, 0.9), (1.1, 0.9), (0.0, -1.1)],
                };
                format!("<path d=\"{}z\" {fill}/>", polygon(corners))
            }
        };
        self.body.push_str(&shape);
        self.body.push('\n');
    }

    /// A text whose base line goes through the position.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), text: &str, style: TextStyle) {
        if text.is_empty() {
            return;
        }
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if style.bold { " font-weight=\"700\"" } else { "" };
        let (x, y) = (short(x), short(y));
        let turn = if style.upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{}\"{anchor}{weight}{turn}>{}</text>",
            short(style.size),
            style.color,
            escaped(text)
        );
    }

    /// What `draw` draws, cut off at the edges of `area`.
    pub(crate) fn clipped(&mut self, area: Area, draw: impl FnOnce(&mut Self)) {
        let name = format!("{}-clip-{}", self.id, self.n_clips);
        self.n_clips += 1;
        let _ = write!(self.body, "<clipPath id=\"{name}\">");
        self.rect(area, "#000000", None);
        let _ = writeln!(self.body, "</clipPath>\n<g clip-path=\"url(#{name})\">");
        draw(self);
        self.body.push_str("</g>\n");
    }

    /// Marks that this layer does not know, as SVG. They must be well-formed.
    pub(crate) fn raw(&mut self, marks: &str) {
        self.body.push_str(marks);
    }

    /// The SVG document.
    pub(crate) fn finish(self) -> String {
        let [width, height] = [self.width, self.height].map(short);
        let (id, title) = (escaped(&self.id), escaped(&self.title));
        let (description, named_by) = match self.description.as_str() {
            "" => (String::new(), format!("{id}-title")),
            description => (
                format!("<desc id=\"{id}-desc\">{}</desc>\n", escaped(description)),
                format!("{id}-title {id}-desc"),
            ),
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"locus\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"Roboto, Helvetica, Arial, sans-serif\" role=\"img\" \
             aria-labelledby=\"{named_by}\">\n<title id=\"{id}-title\">{title}</title>\n{description}{}\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{PAPER}\"/>\n{}</svg>\n",
            scheme::style(),
            self.body
        )
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let mut text = String::with_capacity(points.len() * 12);
    for (index, &(x, y)) in points.iter().enumerate() {
        text.push(if index == 0 { 'M' } else { 'L' });
        let _ = write!(text, "{} {}", short(x), short(y));
    }
    text
}

/// A number with at most two decimals; what is not finite would make the picture unreadable, so it becomes 0.
fn short(number: f64) -> String {
    let rounded = (number * 100.0).round() / 100.0;
    if rounded.is_finite() { format!("{}", rounded + 0.0) } else { "0".to_owned() }
}

/// Text as the content or an attribute of SVG and HTML. Control characters, which neither allows, are left out.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(letter),
            _ if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {}
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests;
