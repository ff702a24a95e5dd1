//! How probable it is that each of several independent normal numbers is the highest.
//!
//! ```text
//! P(a) = ∫ φ((t − m_a)/s_a)/s_a · Π_{b≠a} Φ((t − m_b)/s_b) dt
//! ```
//!
//! All integrals share their nodes: a sweep upward from where the maximum can begin to lie, in panels that are as wide as the
//! narrowest distribution allows that has not ended yet, with Gauss–Legendre nodes in each. So widths may differ by any factor, and
//! equal ones take about 30 nodes.

use std::sync::LazyLock;

/// Beyond so many standard deviations a normal number is taken not to lie; it does so with a probability of 6e-7.
const REACH: f64 = 5.0;

/// The width of a panel, in standard deviations of the narrowest distribution in it.
const PANEL: f64 = 1.8;

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
    /// The integral so far.
    wins: f64,
}

/// Numbers that may be the highest, and room to find out how probably each is.
#[derive(Debug, Default)]
pub struct Race {
    contenders: Vec<Contender>,
    /// Φ and φ of every contender at one node.
    at_node: Vec<(f64, f64)>,
    /// No number below this can be the highest.
    start: f64,
    /// The highest number that is certain, and whose it is.
    certain: Option<(f64, usize)>,
}

impl Race {
    /// Begins anew, without numbers.
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
            self.contenders.push(Contender {
                index,
                mean,
                precision,
                std,
                end: mean + REACH * std,
                wins: 0.0,
            });
        } else if self
            .certain
            .is_none_or(|(highest, whose)| mean > highest || (mean == highest && index < whose))
        {
            self.certain = Some((mean, index));
        }
    }

    /// Fills in how probable it is that each number is the highest; 0 for those that did not enter. They add up to 1.
    ///
    /// # Panics
    ///
    /// If none entered.
    pub fn finish(&mut self, probabilities: &mut [f64]) {
        probabilities.fill(0.0);
        let start = self.start;
        self.contenders.retain(|contender| contender.end > start);
        if let Some((mean, index)) = self.certain {
            let below = |contender: &Contender| TABLE.at((mean - contender.mean) * contender.precision).0;
            probabilities[index] = self.contenders.iter().map(below).product();
        } else if let [only] = self.contenders[..] {
            probabilities[only.index] = 1.0;
            return;
        } else if let [one, other] = self.contenders[..] {
            let std = (one.std * one.std + other.std * other.std).sqrt();
            let (below, _) = TABLE.at((one.mean - other.mean) / std);
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
        let table = &*TABLE;
        let Self { contenders, at_node, start, .. } = self;
        // Those that end last come first, so that those that have not ended are always the first ones.
        contenders.sort_unstable_by(|one, other| other.end.total_cmp(&one.end));
        let (mut left, mut n) = (*start, contenders.len());
        while n > 0 {
            let active = &mut contenders[..n];
            let narrowest =
                active.iter().fold(f64::INFINITY, |narrowest, contender| narrowest.min(contender.std));
            let width = (PANEL * narrowest).min(active[0].end - left);
            for (node, weight) in NODES {
                let t = left + width * node;
                at_node.clear();
                let mut all_below = width * weight;
                at_node.extend(active.iter().map(|contender| {
                    let (below, density) = table.at((t - contender.mean) * contender.precision);
                    all_below *= below;
                    (below, density * contender.precision)
                }));
                for (contender, (below, density)) in active.iter_mut().zip(&*at_node) {
                    contender.wins += all_below * density / below;
                }
            }
            left += width;
            while n > 0 && contenders[n - 1].end <= left {
                n -= 1;
            }
        }
        contenders.iter().for_each(|contender| probabilities[contender.index] += contender.wins);
    }
}

/// Φ and φ of the standard normal distribution at steps of 1/STEPS.
struct Table(Vec<[f64; 2]>);

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

const STEPS: f64 = 64.0;
/// The table begins at minus this, and ends at this.
const LIMIT: f64 = 6.0;

impl Table {
    fn new() -> Self {
        let entry = |place: usize| {
            let z = place as f64 / STEPS - LIMIT;
            let below = 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
            let density = libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt();
            [below, density]
        };
        Self((0..=(2.0 * LIMIT * STEPS) as usize).map(entry).collect())
    }

    /// Φ(z) and φ(z), within 1e-7: by their Taylor series from the nearest entry.
    #[inline(always)]
    fn at(&self, z: f64) -> (f64, f64) {
        let z = z.clamp(-LIMIT, LIMIT);
        let index = ((z + LIMIT) * STEPS + 0.5) as usize;
        let [below, density] = self.0[index.min(self.0.len() - 1)];
        let nearest = index as f64 * (1.0 / STEPS) - LIMIT;
        let step = z - nearest;
        let bend = nearest * step;
        let slope = density * step;
        (
            below + slope * (1.0 - 0.5 * bend),
            density - slope * (nearest + 0.5 * step * (1.0 - nearest * nearest)),
        )
    }
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
            for (index, &(mean, std)) in numbers.iter().enumerate() {
                let z = (t - mean) / std;
                let density = libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt() / std;
                let others = numbers.iter().enumerate().filter(|(other, _)| *other != index);
                let below = |(_, &(mean, std)): (usize, &(f64, f64))| {
                    0.5 * libm::erfc(-(t - mean) / std * std::f64::consts::FRAC_1_SQRT_2)
                };
                probabilities[index] += step * density * others.map(below).product::<f64>();
            }
        }
        probabilities
    }

    #[test]
    fn the_table_is_the_normal_distribution() {
        for place in 0..16_000 {
            let z = place as f64 / 1000.0 - 8.0;
            let (below, density) = TABLE.at(z);
            assert!((below - 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)).abs() < 5e-8, "{z}");
            let expected = libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt();
            assert!((density - expected).abs() < 6e-8, "{z}");
        }
        assert!((TABLE.at(f64::INFINITY).0 - 1.0).abs() < 1e-8 && TABLE.at(-1e300).0 < 1e-8);
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
        for case in 0..60 {
            let n = 2 + rng.below(9);
            let spread = [0.0, 0.7, 1.5][case % 3];
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
