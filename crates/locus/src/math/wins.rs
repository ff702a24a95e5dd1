//! The probability that each of several independent normal numbers is the highest.
//!
//! ```text
//! P(a) = ∫ φ((t − m_a)/s_a)/s_a · Π_{b≠a} Φ((t − m_b)/s_b) dt
//! ```
//!
//! All integrals share their nodes: a sweep upward from where the maximum can begin to lie, in panels that are as wide as the
//! narrowest distribution allows that has not ended yet, with Gauss–Legendre nodes in each. So widths may differ by any factor, and
//! a few equal ones take about 30 nodes.

use pulp::{Arch, Simd, WithSimd};

/// Normal numbers beyond this many standard deviations are ignored; their probability is 4e-8.
const REACH: f64 = 5.5;

/// The width of a panel, in standard deviations of the narrowest distribution in it; with n distributions, at most the second number over √(2·log n).
const PANEL: f64 = 1.8;
const MANY_PANEL: f64 = 3.2;

/// Gauss–Legendre nodes and weights on (0, 1).
const NODES: [(f64, f64); 5] = [
    (0.046_910_077_030_668_004, 0.118_463_442_528_094_54),
    (0.230_765_344_947_158_45, 0.239_314_335_249_683_23),
    (0.5, 0.284_444_444_444_444_44),
    (0.769_234_655_052_841_5, 0.239_314_335_249_683_23),
    (0.953_089_922_969_332, 0.118_463_442_528_094_54),
];

/// One of the numbers, with what the sweep asks for.
#[derive(Clone, Copy, Debug)]
struct Contender {
    index: usize,
    mean: f64,
    precision: f64,
    std: f64,
    /// Beyond this it does not lie.
    end: f64,
}

/// The candidates for the highest number, and buffers for their probabilities.
#[derive(Debug, Default)]
pub struct Race {
    contenders: Vec<Contender>,
    /// The contenders side by side, and what they are at one node.
    lots: Vec<Lot>,
    at_node: Vec<AtNode>,
    /// No number below this can be the highest.
    start: f64,
    /// The highest number that is certain, and whose it is.
    certain: Option<(f64, usize)>,
}

impl Race {
    /// Removes all numbers.
    pub fn clear(&mut self) {
        self.contenders.clear();
        (self.start, self.certain) = (f64::NEG_INFINITY, None);
    }

    /// No number below this can be the highest, by those that entered.
    pub fn start(&self) -> f64 {
        self.start
    }

    /// How far a number can lie from its mean.
    pub fn reach(std: f64) -> f64 {
        REACH * std
    }

    /// Number `index` enters, with its mean and its standard deviation; both are finite. Of equal certain numbers the lowest index is taken
    /// as the highest.
    pub fn enter(&mut self, index: usize, mean: f64, std: f64) {
        self.start = self.start.max(mean - REACH * std);
        let precision = 1.0 / std;
        // Rounding of the mean swallows what is narrower.
        if precision.is_finite() && std > 1e-12 * mean.abs() {
            self.contenders.push(Contender { index, mean, precision, std, end: mean + REACH * std });
        } else if self
            .certain
            .is_none_or(|(highest, whose)| mean > highest || (mean == highest && index < whose))
        {
            self.certain = Some((mean, index));
        }
    }

    /// Writes the probability that each number is the highest; 0 for those that did not enter. The sum is 1.
    ///
    /// # Panics
    ///
    /// If none entered.
    pub fn finish(&mut self, probabilities: &mut [f64]) {
        probabilities.fill(0.0);
        let start = self.start;
        self.contenders.retain(|contender| contender.end > start);
        if let Some((mean, index)) = self.certain {
            let below = |contender: &Contender| normal_below((mean - contender.mean) * contender.precision);
            probabilities[index] = self.contenders.iter().map(below).product();
        } else if let [only] = self.contenders[..] {
            probabilities[only.index] = 1.0;
            return;
        } else if let [one, other] = self.contenders[..] {
            let std = (one.std * one.std + other.std * other.std).sqrt();
            let below = normal_below((one.mean - other.mean) / std);
            probabilities[one.index] = below;
            probabilities[other.index] = 1.0 - below;
            return;
        }
        self.sweep(probabilities);
        let total: f64 = probabilities.iter().sum();
        assert!(total > 0.0, "a race without numbers");
        probabilities.iter_mut().for_each(|probability| *probability /= total);
    }

    fn sweep(&mut self, probabilities: &mut [f64]) {
        let Self { contenders, lots, at_node, start, .. } = self;
        // Those that end last come first, so that those that have not ended are always the first ones.
        contenders
            .sort_unstable_by(|one, other| other.end.total_cmp(&one.end).then(one.index.cmp(&other.index)));
        lots.clear();
        lots.extend(contenders.chunks(LANES).map(Lot::new));
        let (mut left, mut n) = (*start, contenders.len());
        while n > 0 {
            let active = &contenders[..n];
            let narrowest =
                active.iter().fold(f64::INFINITY, |narrowest, contender| narrowest.min(contender.std));
            // The highest of many numbers varies less than one of them.
            let panel = (MANY_PANEL / (2.0 * libm::log(n as f64)).sqrt()).min(PANEL);
            let width = (panel * narrowest).min(active[0].end - left);
            let lots = &mut lots[..n.div_ceil(LANES)];
            at_node.resize(lots.len(), AtNode::default());
            Arch::new().dispatch(Panel { left, width, lots, at_node });
            left += width;
            while n > 0 && contenders[n - 1].end <= left {
                n -= 1;
            }
        }
        let wins = lots.iter().flat_map(|lot| lot.wins);
        contenders.iter().zip(wins).for_each(|(contender, wins)| probabilities[contender.index] += wins);
    }
}

/// Contenders side by side.
const LANES: usize = 8;

/// Up to [`LANES`] contenders, and their integrals so far.
#[derive(Clone, Debug)]
struct Lot {
    means: [f64; LANES],
    precisions: [f64; LANES],
    wins: [f64; LANES],
}

impl Lot {
    fn new(contenders: &[Contender]) -> Self {
        // Lanes without a contender stand for numbers far below all others.
        let mut lot = Self { means: [f64::MIN; LANES], precisions: [1.0; LANES], wins: [0.0; LANES] };
        for (lane, contender) in contenders.iter().enumerate() {
            (lot.means[lane], lot.precisions[lane]) = (contender.mean, contender.precision);
        }
        lot
    }
}

/// Φ of a block of contenders at one node, and their densities.
#[derive(Clone, Debug, Default)]
struct AtNode {
    below: [f64; LANES],
    density: [f64; LANES],
}

/// A part of the integrals. No product is fused and no sum reordered, so every instruction set gives the same bits.
struct Panel<'a> {
    left: f64,
    width: f64,
    lots: &'a mut [Lot],
    at_node: &'a mut [AtNode],
}

impl WithSimd for Panel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (node, weight) in NODES {
            let t = self.left + self.width * node;
            let mut all_below = self.width * weight;
            for (lot, at_node) in self.lots.iter().zip(&mut *self.at_node) {
                at_node.evaluate(simd, t, lot);
                let [b0, b1, b2, b3, b4, b5, b6, b7] = at_node.below;
                all_below *= ((b0 * b4) * (b2 * b6)) * ((b1 * b5) * (b3 * b7));
            }
            let all_below = simd.splat_f64s(all_below);
            for (lot, at_node) in self.lots.iter_mut().zip(&*self.at_node) {
                let parts = S::as_simd_f64s(&at_node.density).0.iter().zip(S::as_simd_f64s(&at_node.below).0);
                for (wins, (density, below)) in S::as_mut_simd_f64s(&mut lot.wins).0.iter_mut().zip(parts) {
                    *wins = simd.add_f64s(*wins, simd.div_f64s(simd.mul_f64s(all_below, *density), *below));
                }
            }
        }
    }
}

impl AtNode {
    #[inline(always)]
    fn evaluate<S: Simd>(&mut self, simd: S, t: f64, lot: &Lot) {
        let t = simd.splat_f64s(t);
        let lot = S::as_simd_f64s(&lot.means).0.iter().zip(S::as_simd_f64s(&lot.precisions).0);
        let places =
            S::as_mut_simd_f64s(&mut self.below).0.iter_mut().zip(S::as_mut_simd_f64s(&mut self.density).0);
        for ((mean, precision), (below, density)) in lot.zip(places) {
            let z = simd.mul_f64s(simd.sub_f64s(t, *mean), *precision);
            let (phi, height) = standard_normal(simd, z);
            (*below, *density) = (phi, simd.mul_f64s(height, *precision));
        }
    }
}

/// Φ(z) and φ(z), each within 2e-7, by additions and products alone but for one division.
///
/// Φ is the approximation 7.1.26 of Abramowitz and Stegun; the exponential is that of a 256th of its argument, squared eight times. Beyond 6 standard
/// deviations both are what they are there.
#[inline(always)]
fn standard_normal<S: Simd>(simd: S, z: S::f64s) -> (S::f64s, S::f64s) {
    let number = |x: f64| simd.splat_f64s(x);
    let z = simd.max_f64s(simd.min_f64s(z, number(6.0)), number(-6.0));
    let mut polynomial = number(1.0);
    let small = simd.mul_f64s(simd.mul_f64s(z, z), number(-1.0 / 512.0));
    for n in [5.0, 4.0, 3.0, 2.0, 1.0] {
        let term = simd.mul_f64s(simd.mul_f64s(small, number(1.0 / n)), polynomial);
        polynomial = simd.add_f64s(number(1.0), term);
    }
    let mut exponential = polynomial;
    for _ in 0..8 {
        exponential = simd.mul_f64s(exponential, exponential);
    }
    // 0.3275911/√2
    let scaled = simd.mul_f64s(simd.abs_f64s(z), number(0.231_641_888));
    let ratio = simd.div_f64s(number(1.0), simd.add_f64s(number(1.0), scaled));
    // Halves of 0.254829592, −0.284496736, 1.421413741, −1.453152027 and 1.061405429.
    let mut tail = number(0.530_702_714_5);
    for coefficient in [-0.726_576_013_5, 0.710_706_870_5, -0.142_248_368, 0.127_414_796] {
        tail = simd.add_f64s(simd.mul_f64s(tail, ratio), number(coefficient));
    }
    let tail = simd.mul_f64s(simd.mul_f64s(tail, ratio), exponential);
    let is_below = simd.less_than_f64s(z, number(0.0));
    let phi = simd.select_f64s(is_below, tail, simd.sub_f64s(number(1.0), tail));
    // 1/√2π
    (phi, simd.mul_f64s(exponential, number(0.398_942_280_401_432_7)))
}

/// Φ(z)
fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn wins(numbers: &[(f64, f64)]) -> Vec<f64> {
        let mut race = Race::default();
        race.clear();
        numbers.iter().enumerate().for_each(|(index, &(mean, std))| race.enter(index, mean, std));
        let mut probabilities = vec![0.0; numbers.len()];
        race.finish(&mut probabilities);
        probabilities
    }

    /// By a trapezoid rule with a fine step.
    fn exact(numbers: &[(f64, f64)]) -> Vec<f64> {
        let narrowest = numbers.iter().fold(f64::INFINITY, |narrowest, &(_, std)| narrowest.min(std));
        let low = numbers.iter().fold(f64::NEG_INFINITY, |low, &(mean, std)| low.max(mean - 9.0 * std));
        let high = numbers.iter().fold(f64::NEG_INFINITY, |high, &(mean, std)| high.max(mean + 9.0 * std));
        let step = 0.25 * narrowest;
        let mut probabilities = vec![0.0; numbers.len()];
        for node in 0..=((high - low) / step) as usize {
            let t = low + step * node as f64;
            let below: Vec<f64> = numbers.iter().map(|&(mean, std)| normal_below((t - mean) / std)).collect();
            // What is below t of those after each, and then of those before.
            let mut after = vec![1.0; numbers.len() + 1];
            (0..numbers.len()).rev().for_each(|index| after[index] = after[index + 1] * below[index]);
            let mut before = 1.0;
            for (index, &(mean, std)) in numbers.iter().enumerate() {
                let z = (t - mean) / std;
                let density = libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt() / std;
                probabilities[index] += step * density * before * after[index + 1];
                before *= below[index];
            }
        }
        probabilities
    }

    /// Φ and φ at a node, of numbers with mean 0 and standard deviation 1.
    fn at(z: f64) -> (f64, f64) {
        struct Evaluate(f64, Lot);
        impl WithSimd for Evaluate {
            type Output = AtNode;
            fn with_simd<S: Simd>(self, simd: S) -> AtNode {
                let mut at_node = AtNode::default();
                at_node.evaluate(simd, self.0, &self.1);
                at_node
            }
        }
        let lot = Lot { means: [0.0; LANES], precisions: [1.0; LANES], wins: [0.0; LANES] };
        let AtNode { below, density } = Arch::new().dispatch(Evaluate(z, lot));
        assert!(
            below.iter().all(|value| *value == below[0]) && density.iter().all(|value| *value == density[0])
        );
        (below[0], density[0])
    }

    #[test]
    fn the_normal_distribution_is_known() {
        for step in -600..=600 {
            let z = f64::from(step) * 0.01 + 0.001;
            let (below, density) = at(z);
            assert!((below - normal_below(z)).abs() < 1e-7, "{z}: {below}");
            let expected = libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt();
            assert!((density - expected).abs() < 1e-7, "{z}: {density}");
        }
        assert!((at(f64::INFINITY).0 - 1.0).abs() < 1e-8 && at(-1e300).0 > 0.0 && at(-1e300).0 < 1e-8);
    }

    /// Φ of the difference over the root of both variances.
    #[test]
    fn two_numbers_have_a_closed_form() {
        for (difference, std) in [(0.0, 1.0), (0.3, 1.0), (2.0, 0.01), (-4.0, 3.0), (0.5, 100.0), (1.0, 1e-6)]
        {
            let std: f64 = std;
            let scale = (2.0 * (1.0 + std * std)).sqrt();
            let expected = 0.5 * libm::erfc(-difference / scale);
            let found = wins(&[(7.0 + difference, 1.0), (7.0, std)]);
            assert!((found[0] - expected).abs() < 1e-6, "{difference} {std}: {} {expected}", found[0]);
            assert!((found[0] + found[1] - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn agrees_with_a_fine_integral_whatever_the_widths() {
        let mut rng = Seed::new(4).stream("test", 0);
        let mut worst = [0_f64; 3];
        for case in 0..66 {
            let n = if case < 60 { 2 + rng.below(9) } else { 50 + 50 * (case - 60) };
            let spread = [0.0, 0.7, if case < 60 { 1.5 } else { 0.3 }][case % 3];
            let numbers: Vec<(f64, f64)> =
                (0..n).map(|_| (rng.normal(), libm::exp(spread * rng.normal()))).collect();
            let (found, expected) = (wins(&numbers), exact(&numbers));
            for (found, expected) in found.iter().zip(&expected) {
                worst[case % 3] = worst[case % 3].max((found - expected).abs());
            }
        }
        assert!(worst.iter().all(|worst| *worst < 1e-5), "{worst:?}");
    }

    #[test]
    fn certain_numbers_are_beaten_or_not() {
        assert_eq!(wins(&[(1.0, 0.0), (1.0, 0.0), (0.0, 0.0)]), [1.0, 0.0, 0.0]);
        let found = wins(&[(0.0, 0.0), (0.5, 1.0), (-1.0, 0.0)]);
        let expected = 0.5 * libm::erfc(0.5 * std::f64::consts::FRAC_1_SQRT_2);
        assert!((found[0] - expected).abs() < 1e-7 && found[2] == 0.0, "{found:?}");
        assert_eq!(wins(&[(0.0, 1.0)]), [1.0]);
        assert_eq!(wins(&[(0.0, 1.0), (100.0, 1.0)]), [0.0, 1.0]);
        // Widths that rounding swallows.
        assert_eq!(wins(&[(1e12, 1e-9), (1e12 + 1.0, 1e-9)]), [0.0, 1.0]);
        assert_eq!(wins(&[(1e12, 1e-9), (1e12, 1e-9)]), [1.0, 0.0]);
        let narrow = wins(&[(1e12, 1e12 * 2e-12), (1e12, 1e12 * 2e-12)]);
        assert!((narrow[0] - 0.5).abs() < 1e-3, "{narrow:?}");
    }
}
