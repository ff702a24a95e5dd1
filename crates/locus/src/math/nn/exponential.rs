//! `exp` in vectors, without branches.

use multiversion::multiversion;

/// Replaces every x by eˣ, to within two units in the last place. Results below 1.2e-38 are 0, because subnormal numbers are a
/// hundred times slower. Overflow gives infinity, NaN stays NaN.
#[multiversion(targets = "simd")]
pub fn exp_slice(values: &mut [f32]) {
    for value in values {
        *value = exp(*value);
    }
}

/// 1.5 · 2²³: added to a number, it leaves the nearest whole number in the lowest bits.
const ROUND: f32 = 12_582_912.0;
/// ln 2, its first digits and the rest: products of the first with small whole numbers are exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// The polynomial is that of the Cephes library.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // The comparisons let a NaN pass through to the polynomial.
    let clamped = if x > 88.8 { 88.8 } else { x };
    let clamped = if clamped < -88.0 { -88.0 } else { clamped };
    let rounded = clamped * std::f32::consts::LOG2_E + ROUND;
    let whole = rounded - ROUND;
    let r = (clamped - whole * LN_2_HIGH) - whole * LN_2_LOW;
    let mut p = 1.987_569_1e-4;
    p = p * r + 1.398_2e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_6e-2;
    p = p * r + 1.666_666_5e-1;
    p = p * r + 0.5;
    let mantissa = p * r * r + r + 1.0;
    // Two factors, since 2¹²⁸ is beyond what one can hold.
    let exponent = rounded.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    let half = exponent >> 1;
    let power = |n: i32| f32::from_bits(((n + 127) << 23) as u32);
    let y = mantissa * power(half) * power(exponent - half);
    if x < -87.336_54 { 0.0 } else { y }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_library_function() {
        let mut x = -87.3_f32;
        while x < 88.7 {
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) / expected - 1.0).abs();
            assert!(error < 2.5e-7, "exp({x}): {}, {expected}", exp(x));
            x += 0.003_7;
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-87.4), 0.0);
        assert_eq!(exp(-1e30), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(88.75), f32::INFINITY);
        assert_eq!(exp(f32::INFINITY), f32::INFINITY);
        assert!(exp(f32::NAN).is_nan());
    }
}
