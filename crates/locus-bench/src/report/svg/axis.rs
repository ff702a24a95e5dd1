//! From data to a place along an edge, and the ticks that tell the way back.

/// How distances along an axis grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Equal differences are equally far.
    Linear,
    /// Equal factors are equally far; for positive numbers.
    Log,
}

/// One edge of a panel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    /// What is measured, with its unit.
    pub(crate) label: String,
    /// Where the axis begins.
    pub(crate) low: f64,
    /// Where it ends.
    pub(crate) high: f64,
    /// What lies between.
    pub(crate) scale: Scale,
    /// Places and what is written there.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From `low` to `high`, with about five ticks. An empty or unordered range is widened.
    pub(crate) fn linear(label: &str, low: f64, high: f64) -> Self {
        let (low, high) = ordered(low, high);
        let step = nice_step((high - low) / 5.0);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let first = (low / step).ceil() as i64;
        let last = (high / step * (1.0 + 1e-12)).floor() as i64;
        let ticks = (first..=last.min(first + 20)).map(|index| {
            let value = index as f64 * step;
            (value, tick_text(value, decimals))
        });
        Self { label: label.to_owned(), low, high, scale: Scale::Linear, ticks: ticks.collect() }
    }

    /// From `low` to `high`, both positive, with ticks at powers of ten, and between them where there would be fewer than three.
    pub(crate) fn log(label: &str, low: f64, high: f64) -> Self {
        let [low, high] = [low, high].map(|end| end.clamp(1.0 / FARTHEST, FARTHEST));
        let low = if low.is_nan() { 1.0 } else { low };
        let high = if high > low * (1.0 + 1e-12) { high } else { low * 10.0 };
        let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
        let ticks_at = |digits: &[f64]| -> Vec<(f64, String)> {
            let values = decades.clone().flat_map(|decade| {
                digits.iter().map(move |digit| (digit * 10f64.powi(decade), decade - (*digit < 1.0) as i32))
            });
            let within = values.filter(|(value, _)| (low * 0.999..=high * 1.001).contains(value));
            within.map(|(value, decade)| (value, tick_text(value, (-decade).max(0) as usize))).collect()
        };
        let mut ticks = ticks_at(&[1.0]);
        if ticks.len() < 3 {
            ticks = ticks_at(&[1.0, 2.0, 5.0]);
        }
        Self { label: label.to_owned(), low, high, scale: Scale::Log, ticks }
    }

    /// One place for each name, at 0, 1, 2, … with half a place on either side.
    pub(crate) fn names<S: AsRef<str>>(label: &str, names: &[S]) -> Self {
        let ticks = names.iter().enumerate().map(|(place, name)| (place as f64, name.as_ref().to_owned()));
        let high = names.len().max(1) as f64 - 0.5;
        Self { label: label.to_owned(), low: -0.5, high, scale: Scale::Linear, ticks: ticks.collect() }
    }

    /// The same without what is written at the ticks.
    pub(crate) fn unlabeled(mut self) -> Self {
        self.label.clear();
        self.ticks.iter_mut().for_each(|(_, text)| text.clear());
        self
    }

    /// Where a value lies, 0 at the beginning of the axis and 1 at its end; outside of it below 0 or above 1.
    pub(crate) fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value > 0.0 => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            Scale::Log => -1.0,
        }
    }
}

/// No axis reaches farther, so that ten times its end and the difference of its ends are numbers still.
const FARTHEST: f64 = 1e300;

/// The ends of a range in their order, leaving out what is not finite; a range without room for ticks is widened.
fn ordered(low: f64, high: f64) -> (f64, f64) {
    let ends =
        || [low, high].into_iter().filter(|end| end.is_finite()).map(|end| end.clamp(-FARTHEST, FARTHEST));
    let Some((low, high)) = ends().reduce(f64::min).zip(ends().reduce(f64::max)) else {
        return (0.0, 1.0);
    };
    let size = low.abs().max(high.abs());
    if high - low > (1e-12 * size).max(1.0 / FARTHEST) {
        return (low, high);
    }
    (low - 0.5 * size.max(1.0), low + 0.5 * size.max(1.0))
}

/// The next of 1, 2, 5, 10, …, whatever the power of ten.
fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| step <= digit * power * (1.0 + 1e-9));
    digit.unwrap_or(10.0) * power
}

/// A number at a tick: thousands as `12k`, so that labels stay short.
fn tick_text(value: f64, decimals: usize) -> String {
    let text = match value.abs() {
        size if size >= 1e6 => format!("{:.1e}", value),
        size if size >= 1e4 || (size >= 1e3 && value % 100.0 == 0.0) => {
            let thousands = format!("{:.1}", value / 1e3);
            format!("{}k", thousands.trim_end_matches(".0"))
        }
        _ => format!("{value:.decimals$}"),
    };
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|digit| digit == '0' || digit == '.') => digits.to_owned(),
        Some(digits) => format!("−{digits}"),
        None => text,
    }
}
