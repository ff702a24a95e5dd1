//! The distributions behind intervals and critical differences: Student's t, F, and the studentized range.
//!
//! Found by bisection of their distribution functions, which is exact to all digits that a report shows.

use libm::{erfc, lgamma};

/// The number that Student's t with `freedom` degrees of freedom stays below with this probability, above ½.
pub(super) fn t_quantile(probability: f64, freedom: f64) -> f64 {
    // P(|T| > t) = I(freedom / (freedom + t²); freedom/2, ½).
    let above = |t: f64| 0.5 * incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t));
    falling_to(1.0 - probability, above)
}

/// The probability that F with these degrees of freedom is above `value`.
pub(super) fn f_tail(value: f64, numerator: f64, denominator: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    incomplete_beta(denominator / 2.0, numerator / 2.0, denominator / (denominator + numerator * value))
}

/// The number that the range of `k` standard normals stays below with this probability: the studentized range with
/// infinite degrees of freedom.
pub(super) fn range_quantile(probability: f64, k: usize) -> f64 {
    let above = |q: f64| 1.0 - range_probability(q, k);
    falling_to(1.0 - probability, above)
}

/// P(range ≤ q) = k ∫ φ(z) (Φ(z) − Φ(z − q))^(k−1) dz, by Simpson's rule.
fn range_probability(q: f64, k: usize) -> f64 {
    const HALF_STEPS: usize = 800;
    const REACH: f64 = 8.5;
    let step = 2.0 * REACH / HALF_STEPS as f64;
    let below = |z: f64| 0.5 * erfc(-z / std::f64::consts::SQRT_2);
    let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let integrand = |z: f64| density(z) * (below(z) - below(z - q)).powi(k as i32 - 1);
    let weighted = (0..=HALF_STEPS).map(|index| {
        let weight = match index {
            0 | HALF_STEPS => 1.0,
            _ if index % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * integrand(-REACH + step * index as f64)
    });
    k as f64 * weighted.sum::<f64>() * step / 3.0
}

/// Where a function that falls from ½ or more at 0 reaches `target`.
fn falling_to(target: f64, falling: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while falling(high) > target && high < 1e12 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if falling(middle) > target {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The regularized incomplete beta function I(x; a, b), by its continued fraction.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = (lgamma(a + b) - lgamma(a) - lgamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast on this side of the mean; the other side is its mirror image.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut numerator = 1.0;
    let mut denominator = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = denominator;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            denominator = 1.0 / away_from_zero(1.0 + coefficient * denominator);
            numerator = away_from_zero(1.0 + coefficient / numerator);
            change = denominator * numerator;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With one and two degrees of freedom t has closed forms; with many it is a normal.
    #[test]
    fn t_against_closed_forms() {
        for probability in [0.6, 0.9, 0.975, 0.9995] {
            let cauchy = (std::f64::consts::PI * (probability - 0.5)).tan();
            assert!((t_quantile(probability, 1.0) / cauchy - 1.0).abs() < 1e-9, "{probability}");
            let spread: f64 = 4.0 * probability * (1.0 - probability);
            let two = 2.0 * (probability - 0.5) * (2.0 / spread).sqrt();
            assert!((t_quantile(probability, 2.0) / two - 1.0).abs() < 1e-9, "{probability}");
        }
        assert!((t_quantile(0.975, 1e7) - 1.959_964).abs() < 1e-5);
        // As printed in tables.
        assert!(
            (t_quantile(0.975, 9.0) - 2.262).abs() < 5e-4 && (t_quantile(0.975, 49.0) - 2.010).abs() < 5e-4
        );
    }

    /// F with 2 and d degrees of freedom has the tail (1 + 2f/d)^(−d/2).
    #[test]
    fn f_against_a_closed_form() {
        for (value, d) in [(0.5, 4.0_f64), (3.0, 10.0), (8.0, 56.0)] {
            let expected = (1.0 + 2.0 * value / d).powf(-d / 2.0);
            assert!((f_tail(value, 2.0, d) / expected - 1.0).abs() < 1e-10, "{value} {d}");
        }
    }

    /// The critical values q ÷ √2 of the Nemenyi test at 5 %, as Demšar (JMLR 2006, table 5) prints them, cut
    /// after three decimals.
    #[test]
    fn ranges_against_the_printed_table() {
        let printed = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164];
        for (index, value) in printed.into_iter().enumerate() {
            let ours = range_quantile(0.95, index + 2) / std::f64::consts::SQRT_2;
            assert!((ours - value).abs() < 1e-3, "k = {}: {ours} is not {value}", index + 2);
        }
    }
}
