//! Numbers as people read them.

use super::Metric;

/// What stands where there is no number.
pub(super) const DASH: &str = "–";

/// Smaller numbers of seconds are not shown as a number.
const SHORTEST: f64 = 0.000_1;

/// Two decimals; seconds span six orders of magnitude, so they get three digits.
pub(crate) fn number(metric: Metric, value: f64) -> String {
    let decimals = if metric.is_normalized() || value == 0.0 {
        2
    } else if value.abs() < SHORTEST {
        return format!("<{SHORTEST}");
    } else {
        let magnitude = value.abs().log10().floor() as i32;
        (2 - magnitude).clamp(0, 4) as usize
    };
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if !digits.contains(|digit| ('1'..='9').contains(&digit)) => digits.to_owned(),
        _ => text,
    }
}

pub(crate) fn optional(metric: Metric, value: Option<f64>) -> String {
    value.map_or_else(|| DASH.to_owned(), |value| number(metric, value))
}

/// From one number to another, e.g. `44.1–52.0`.
pub(crate) fn range(metric: Metric, [low, high]: [f64; 2]) -> String {
    format!("{}–{}", number(metric, low), number(metric, high))
}

/// A difference: a sign and two decimals.
pub(crate) fn signed(value: f64) -> String {
    let text = format!("{:.2}", value.abs());
    match value {
        _ if !text.contains(|digit| ('1'..='9').contains(&digit)) => text,
        value if value < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_matter() {
        let percent = |value| number(Metric::Cumulative, value);
        assert_eq!([percent(100.0), percent(0.005_1), percent(-0.001)], ["100.00", "0.01", "0.00"]);
        let seconds = |value| number(Metric::Runtime, value);
        assert_eq!(
            [712.4, 71.24, 1.0, 0.0421, 0.000_42, 0.000_042, 0.0].map(seconds),
            ["712", "71.2", "1.00", "0.0421", "0.0004", "<0.0001", "0.00"]
        );
        assert_eq!(optional(Metric::Simple, None), "–");
        assert_eq!(range(Metric::Runtime, [44.12, 152.3]), "44.1–152");
        assert_eq!([-1.234, 0.5, -0.004].map(signed), ["−1.23", "+0.50", "0.00"]);
    }
}
