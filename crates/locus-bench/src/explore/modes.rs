//! Counts the modes of a sample.
//!
//! The density is estimated with Gaussian kernels, as wide as Silverman's rule of thumb says (0.9 × the smaller of the standard
//! deviation and the interquartile range ÷ 1.34, × n^(−1/5)) but no narrower than a fiftieth of what lies between the 1st and the
//! 99th percentile, so that a sharp peak does not make its own tail look ragged. A hump of that density counts if the valley to
//! the next one goes down to four fifths of the lower of the two or less, and if at least a twentieth of the sample lies between
//! the valleys around it. It is a *mode* if that valley is three standard errors deep too. Both counts are reported, because
//! neither is exact: [`humps`] counts too many in a long, ragged tail, [`modes`] misses small ones in small samples. The tests
//! measure how often.

use crate::summary::quantile;

/// A valley that is not lower than this part of the lower hump beside it does not part them.
const VALLEY: f64 = 0.8;
/// Nor does one whose difference to the lower hump is less than so many standard errors.
const STANDARD_ERRORS: f64 = 3.0;
/// A hump that holds less than this part of the sample is no mode.
const LEAST_SHARE: f64 = 0.05;
/// Kernels are at least this part of the range between the 1st and the 99th percentile wide.
const RESOLUTION: f64 = 1.0 / 50.0;
/// Cells for each width of a kernel, and the most cells of all.
const CELLS_PER_BANDWIDTH: f64 = 4.0;
const MAX_CELLS: f64 = 4096.0;

/// A hump of a sample's density.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mode {
    /// Where the density is highest.
    pub place: f64,
    /// The part of the sample that lies between the valleys around it.
    pub share: f64,
}

/// The modes of a sample of finite numbers, from the lowest place up; none of an empty one. It has few false positives.
pub(super) fn modes(sample: &[f64]) -> Vec<Mode> {
    find(sample, STANDARD_ERRORS)
}

/// Like [`modes`], without the significance test of the valleys: fewer false negatives.
pub(super) fn humps(sample: &[f64]) -> Vec<Mode> {
    find(sample, 0.0)
}

fn find(sample: &[f64], standard_errors: f64) -> Vec<Mode> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let bandwidth = bandwidth(&sorted);
    // What differs in the last digits only is one number.
    let smallest = f64::EPSILON * 16.0 * low.abs().max(high.abs());
    if !(bandwidth > smallest && high - low > smallest && (high - low).is_finite()) {
        return vec![Mode { place: quantile(&sorted, 0.5), share: 1.0 }];
    }
    let density = Density::of(&sorted, bandwidth);
    density.modes(standard_errors)
}

fn bandwidth(sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / n;
    let sd = (sorted.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / n).sqrt();
    let between = |low, high| quantile(sorted, high) - quantile(sorted, low);
    let quartiles = between(0.25, 0.75) / 1.34;
    let spread = if quartiles > 0.0 { sd.min(quartiles) } else { sd };
    (0.9 * spread * n.powf(-0.2)).max(RESOLUTION * between(0.01, 0.99))
}

/// A density on equal cells.
struct Density {
    first: f64,
    cell: f64,
    /// How much of the sample lies in each cell.
    shares: Vec<f64>,
    /// The sum of all kernels at each cell, each of height 1.
    heights: Vec<f64>,
}

impl Density {
    fn of(sorted: &[f64], bandwidth: f64) -> Self {
        let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
        let cell = (bandwidth / CELLS_PER_BANDWIDTH).max((high - low) / MAX_CELLS);
        // Room for the kernels of the outermost numbers.
        let reach = (4.0 * bandwidth / cell).ceil() as usize;
        let first = low - cell * reach as f64;
        let n_cells = ((high - low) / cell).ceil() as usize + 2 * reach + 1;
        let mut shares = vec![0.0; n_cells];
        for number in sorted {
            let place = ((number - first) / cell).round() as usize;
            shares[place.min(n_cells - 1)] += 1.0;
        }
        let kernel: Vec<f64> =
            (0..=reach).map(|far| (-0.5 * (far as f64 * cell / bandwidth).powi(2)).exp()).collect();
        let mut heights = vec![0.0; n_cells];
        for (place, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            for other in place.saturating_sub(reach)..=(place + reach).min(n_cells - 1) {
                heights[other] += share * kernel[place.abs_diff(other)];
            }
        }
        shares.iter_mut().for_each(|share| *share /= sorted.len() as f64);
        Self { first, cell, shares, heights }
    }

    /// The humps that valleys of so many standard errors part.
    fn modes(&self, standard_errors: f64) -> Vec<Mode> {
        let mut peaks = self.peaks();
        // The least marked pair goes first, so that a ragged hump ends as one.
        while let Some((left, _)) = (1..peaks.len())
            .map(|right| (right - 1, self.valley_depth(peaks[right - 1], peaks[right], standard_errors)))
            .filter(|(_, depth)| *depth < 1.0)
            .min_by(|one, other| one.1.total_cmp(&other.1))
        {
            let lower = self.heights[peaks[left]] < self.heights[peaks[left + 1]];
            peaks.remove(if lower { left } else { left + 1 });
        }
        loop {
            let shares = self.shares_of(&peaks);
            let least = (0..peaks.len()).min_by(|&one, &other| shares[one].total_cmp(&shares[other]));
            match least {
                Some(least) if peaks.len() > 1 && shares[least] < LEAST_SHARE => {
                    peaks.remove(least);
                }
                _ => {
                    let place = |peak: usize| self.first + self.cell * peak as f64;
                    return peaks
                        .iter()
                        .zip(shares)
                        .map(|(&peak, share)| Mode { place: place(peak), share })
                        .collect();
                }
            }
        }
    }

    /// Cells that are higher than the one before and not lower than the one after.
    fn peaks(&self) -> Vec<usize> {
        let heights = &self.heights;
        let height = |place: usize| heights.get(place).copied().unwrap_or(0.0);
        (0..heights.len())
            .filter(|&place| {
                let before = if place > 0 { height(place - 1) } else { 0.0 };
                height(place) > before && height(place) >= height(place + 1)
            })
            .collect()
    }

    /// The lowest cell between two peaks.
    fn valley(&self, left: usize, right: usize) -> usize {
        let lowest = (left..=right).min_by(|&one, &other| self.heights[one].total_cmp(&self.heights[other]));
        lowest.unwrap_or(left)
    }

    /// How deep the valley between two peaks is: 1 or more is enough to part them.
    fn valley_depth(&self, left: usize, right: usize, standard_errors: f64) -> f64 {
        let valley = self.heights[self.valley(left, right)];
        let lower = self.heights[left].min(self.heights[right]);
        // A sum of Gaussian kernels of height 1 has a variance of its mean ÷ √2, as the count of a Poisson process.
        let standard_error = ((lower + valley) / std::f64::consts::SQRT_2).sqrt();
        // Of no standard errors any difference is more: infinitely many times.
        ((1.0 - valley / lower) / (1.0 - VALLEY)).min((lower - valley) / (standard_errors * standard_error))
    }

    /// The part of the sample between the valleys around each peak.
    fn shares_of(&self, peaks: &[usize]) -> Vec<f64> {
        let mut ends: Vec<usize> = peaks.windows(2).map(|pair| self.valley(pair[0], pair[1])).collect();
        ends.push(self.shares.len());
        let mut begin = 0;
        let share = |end: usize| {
            let share = self.shares[begin..end].iter().sum();
            begin = end;
            share
        };
        ends.into_iter().map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locus::{Rng, Seed};
    use proptest::prelude::*;

    fn places(sample: &[f64]) -> Vec<f64> {
        modes(sample).iter().map(|mode| mode.place).collect()
    }

    #[test]
    fn humps_of_a_mixture_are_found_where_they_are() {
        let mut rng = Seed::new(1).stream("test", 0);
        let sample: Vec<f64> = (0..2000)
            .map(|index| if index % 4 == 0 { -30.0 + rng.normal() } else { 5.0 + 0.5 * rng.normal() })
            .collect();
        let found = modes(&sample);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!((found[0].place + 30.0).abs() < 0.7 && (found[1].place - 5.0).abs() < 0.7, "{found:?}");
        assert!((found[0].share - 0.25).abs() < 1e-9 && (found[1].share - 0.75).abs() < 1e-9, "{found:?}");
    }

    /// How many of `n_samples` samples of `n` numbers have several modes, and how many several humps.
    fn several(n_samples: u64, n: u64, draw: impl Fn(&mut Rng) -> f64) -> [usize; 2] {
        let samples = (0..n_samples).map(|seed| {
            let mut rng = Seed::new(seed).stream("test", n);
            (0..n).map(|_| draw(&mut rng)).collect::<Vec<f64>>()
        });
        samples.fold([0, 0], |[n_modes, n_humps], sample| {
            [n_modes + usize::from(modes(&sample).len() > 1), n_humps + usize::from(humps(&sample).len() > 1)]
        })
    }

    /// False alarms where there is one hump: normal, and with the long tail of a policy that is nearly sure.
    #[test]
    fn one_hump_is_seldom_taken_for_two() {
        for n in [2000, 884, 400] {
            let normal = several(1000, n, |rng| rng.normal());
            let tail = several(200, n, |rng| 5.0 - rng.gamma(1.0).powi(2));
            // Found: none at all of 1000 normal samples; of 200 with a long tail no modes, but 26, 86 and 136 with humps.
            assert!(normal[0] <= 2 && normal[1] <= 2, "{n}: {normal:?} of 1000");
            assert!(tail[0] <= 2, "{n}: {tail:?} of 200");
        }
    }

    /// Two normals that lie `apart` standard deviations from each other, with `share` of the sample in the lower one.
    #[test]
    fn two_humps_are_found_where_they_are_clear() {
        // The last two columns: how many were found of 200, as modes and as humps.
        for (n, share, apart, n_modes, n_humps) in [
            (2000, 0.5, 4.0, 200, 200),
            (2000, 0.15, 4.0, 128, 199),
            (884, 0.15, 4.0, 40, 181),
            (884, 0.15, 6.0, 200, 200),
            (400, 0.5, 4.0, 199, 200),
            (400, 0.15, 4.0, 14, 176),
            (400, 0.15, 6.0, 200, 200),
        ] {
            let found =
                several(
                    200,
                    n,
                    |rng| {
                        if rng.uniform() < share { rng.normal() - apart } else { rng.normal() }
                    },
                );
            assert_eq!(found, [n_modes, n_humps], "{n} numbers, {share}, {apart}");
        }
    }

    #[test]
    fn what_is_tiny_or_constant_has_one_mode() {
        assert_eq!(places(&[]), [] as [f64; 0]);
        assert_eq!(modes(&[3.0]), [Mode { place: 3.0, share: 1.0 }]);
        assert_eq!(places(&[-2.0; 50]), [-2.0]);
        assert_eq!(places(&[1e300, 1e300, -1e300]).len(), 1);
        let mut far_off = vec![0.0; 99];
        far_off.push(1e9);
        assert_eq!(modes(&far_off).len(), 1);
    }

    proptest! {
        #[test]
        fn shares_add_up_and_places_ascend(sample in prop::collection::vec(-1e6..1e6_f64, 1..300)) {
            let found = modes(&sample);
            prop_assert!((found.iter().map(|mode| mode.share).sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(found.windows(2).all(|pair| pair[0].place < pair[1].place));
            prop_assert!(found.len() == 1 || found.iter().all(|mode| mode.share >= LEAST_SHARE));
        }
    }
}
