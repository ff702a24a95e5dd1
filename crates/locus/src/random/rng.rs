//! The random draws that the library makes, each defined here to the bit.
//!
//! Distributions are written out rather than taken from a crate, because their numbers are part of every
//! result: an update of a dependency must not change them. Only arithmetic, square roots and `libm`'s
//! logarithm and exponential are used, so the same stream gives the same numbers on every platform.

use rand_chacha::ChaCha8Rng;
use rand_core::Rng as _;

/// A stream of random numbers, made by [`Seed::stream`](crate::Seed::stream).
#[derive(Clone, Debug)]
pub struct Rng {
    generator: ChaCha8Rng,
}

impl Rng {
    pub(crate) fn new(generator: ChaCha8Rng) -> Self {
        Self { generator }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform on the open interval (0, 1): never 0, never 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1_u64 << 52) as f64)
    }

    /// Uniform on `0..n`, without bias. Panics if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "no number lies below 0");
        let n = n as u64;
        // Lemire's method: the high word of a product; the few biased low words are rejected.
        let threshold = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= threshold {
                return (product >> 64) as usize;
            }
        }
    }

    /// Standard normal, by inversion: one uniform gives one normal.
    pub fn normal(&mut self) -> f64 {
        normal_quantile(self.uniform())
    }

    /// Gamma with this shape and rate 1. Panics unless `shape` is positive.
    ///
    /// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        assert!(shape > 0.0, "a gamma distribution of shape {shape} does not exist");
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * libm::exp(libm::log(self.uniform()) / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = 1.0 + c * x;
            if v <= 0.0 {
                continue;
            }
            let v = v * v * v;
            let u = self.uniform();
            let x2 = x * x;
            if u < 1.0 - 0.0331 * x2 * x2 || libm::log(u) < 0.5 * x2 + d * (1.0 - v + libm::log(v)) {
                return d * v;
            }
        }
    }

    /// Fisher–Yates: every order of `items` is equally probable.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// `n_chosen` different numbers of `0..n`, in random order. Panics if `n_chosen > n`.
    pub fn choose_distinct(&mut self, n: usize, n_chosen: usize) -> Vec<usize> {
        assert!(n_chosen <= n, "cannot choose {n_chosen} different numbers of {n}");
        let mut numbers: Vec<usize> = (0..n).collect();
        for first in 0..n_chosen {
            let other = first + self.below(n - first);
            numbers.swap(first, other);
        }
        numbers.truncate(n_chosen);
        numbers
    }
}

/// The quantile of the standard normal distribution, to about 16 digits.
///
/// Wichura, "Algorithm AS 241: The percentage points of the normal distribution" (1988), PPND16.
fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTER_TOP, r) / polynomial(&CENTER_BOTTOM, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-libm::log(tail)).sqrt();
    let magnitude = if r <= 5.0 {
        polynomial(&MIDDLE_TOP, r - 1.6) / polynomial(&MIDDLE_BOTTOM, r - 1.6)
    } else {
        polynomial(&FAR_TOP, r - 5.0) / polynomial(&FAR_BOTTOM, r - 5.0)
    };
    magnitude.copysign(q)
}

/// Horner's rule; the constant comes first.
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, &coefficient| sum * x + coefficient)
}

const CENTER_TOP: [f64; 8] = [
    3.3871328727963665,
    133.14166789178438,
    1971.5909503065513,
    13731.69376550946,
    45921.95393154987,
    67265.7709270087,
    33430.57558358813,
    2509.0809287301227,
];
const CENTER_BOTTOM: [f64; 8] = [
    1.0,
    42.31333070160091,
    687.1870074920579,
    5394.196021424751,
    21213.794301586597,
    39307.89580009271,
    28729.085735721943,
    5226.495278852854,
];
const MIDDLE_TOP: [f64; 8] = [
    1.4234371107496835,
    4.630337846156546,
    5.769497221460691,
    3.6478483247632045,
    1.2704582524523684,
    0.2417807251774506,
    0.022723844989269184,
    0.0007745450142783414,
];
const MIDDLE_BOTTOM: [f64; 8] = [
    1.0,
    2.053191626637759,
    1.6763848301838038,
    0.6897673349851,
    0.14810397642748008,
    0.015198666563616457,
    0.0005475938084995345,
    1.0507500716444169e-09,
];
const FAR_TOP: [f64; 8] = [
    6.657904643501103,
    5.463784911164114,
    1.7848265399172913,
    0.29656057182850487,
    0.026532189526576124,
    0.0012426609473880784,
    2.7115555687434876e-05,
    2.0103343992922881e-07,
];
const FAR_BOTTOM: [f64; 8] = [
    1.0,
    0.599832206555888,
    0.1369298809227358,
    0.014875361290850615,
    0.0007868691311456133,
    1.8463183175100548e-05,
    1.421511758316446e-07,
    2.0442631033899397e-15,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::random::kolmogorov::{KOLMOGOROV_ONE_IN_10_000, kolmogorov, normal_cdf};

    #[test]
    fn quantile_inverts_the_distribution_function() {
        for exponent in 1..50 {
            for p in [0.5_f64.powi(exponent), 0.7 * 0.5_f64.powi(exponent)] {
                let x = normal_quantile(p);
                assert!((normal_cdf(x) / p - 1.0).abs() < 1e-13, "p = {p}: {x}");
                if exponent < 20 {
                    assert!((normal_quantile(1.0 - p) + x).abs() < 1e-9, "not symmetric at {p}");
                }
            }
        }
    }

    #[test]
    fn normals_and_uniforms_follow_their_distributions() {
        let mut rng = Seed::new(1).stream("test", 0);
        let normals = (0..100_000).map(|_| rng.normal()).collect();
        assert!(kolmogorov(normals, normal_cdf) < KOLMOGOROV_ONE_IN_10_000);
        let uniforms = (0..100_000).map(|_| rng.uniform()).collect();
        assert!(kolmogorov(uniforms, |x| x) < KOLMOGOROV_ONE_IN_10_000);
    }

    #[test]
    fn gammas_follow_their_distribution() {
        let mut rng = Seed::new(2).stream("test", 0);
        // Shapes whose distribution functions are elementary: 1/2 (χ² with one degree), 1, 3.
        let halves = (0..100_000).map(|_| rng.gamma(0.5)).collect();
        assert!(kolmogorov(halves, |x| libm::erf(x.sqrt())) < KOLMOGOROV_ONE_IN_10_000);
        let ones = (0..100_000).map(|_| rng.gamma(1.0)).collect();
        assert!(kolmogorov(ones, |x| 1.0 - (-x).exp()) < KOLMOGOROV_ONE_IN_10_000);
        let threes = (0..100_000).map(|_| rng.gamma(3.0)).collect();
        let cdf = |x: f64| 1.0 - (-x).exp() * (1.0 + x + 0.5 * x * x);
        assert!(kolmogorov(threes, cdf) < KOLMOGOROV_ONE_IN_10_000);
    }

    #[test]
    fn below_is_unbiased_and_choices_are_distinct() {
        let mut rng = Seed::new(3).stream("test", 0);
        let mut counts = [0_i64; 7];
        for _ in 0..70_000 {
            counts[rng.below(7)] += 1;
        }
        // Each count has a standard deviation of 93; five of them occur once in 250 000 seeds.
        assert!(counts.iter().all(|count| (count - 10_000).abs() < 470), "{counts:?}");

        let mut chosen = rng.choose_distinct(50, 50);
        assert_ne!(chosen, (0..50).collect::<Vec<_>>());
        chosen.sort_unstable();
        assert_eq!(chosen, (0..50).collect::<Vec<_>>());
        let mut items: Vec<usize> = (0..50).collect();
        rng.shuffle(&mut items);
        assert_ne!(items, chosen);
    }
}
