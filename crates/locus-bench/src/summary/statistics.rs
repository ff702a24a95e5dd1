//! Mean, spread and ranks.

/// Summary statistics of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// The mean.
    pub mean: f64,
    /// Standard deviation, with n − 1; one number has none.
    pub sd: Option<f64>,
    /// The number in the middle.
    pub median: f64,
    /// The lower and the upper quartile: half of the sample lies between them.
    pub quartiles: [f64; 2],
    /// How many numbers.
    pub n: usize,
}

impl Statistics {
    /// `None` for an empty sample.
    pub fn of(sample: &[f64]) -> Option<Self> {
        let n = sample.len();
        if n == 0 {
            return None;
        }
        let mean = mean(sample);
        let squares: f64 = sample.iter().map(|number| (number - mean).powi(2)).sum();
        let sd = (n > 1).then(|| (squares / (n - 1) as f64).sqrt());
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        let [lower, median, upper] = [0.25, 0.5, 0.75].map(|part| quantile(&sorted, part));
        Some(Self { mean, sd, median, quartiles: [lower, upper], n })
    }

    /// Standard error of the mean, sd ÷ √n.
    pub fn se(&self) -> Option<f64> {
        self.sd.map(|sd| sd / (self.n as f64).sqrt())
    }

    /// The statistics of the sample with every number multiplied by `factor`, which is positive.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        let (mean, median) = (self.mean * factor, self.median * factor);
        let quartiles = self.quartiles.map(|quartile| quartile * factor);
        Self { mean, sd: self.sd.map(|sd| sd * factor), median, quartiles, n: self.n }
    }
}

/// Ranks from 1 for the lowest; equals share the mean of their ranks.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let lower = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        lower as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// The number below which `part` of a sorted sample lies, linearly between neighbors. Panics for an empty one.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// Of at least one number.
pub(crate) fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let statistics = Statistics::of(&[4.0, 2.0, 6.0, 4.0]).unwrap();
        assert_eq!((statistics.mean, statistics.n), (4.0, 4));
        assert_eq!(
            [&[9.0, 1.0, 2.0][..], &[9.0, 1.0, 2.0, 3.0]].map(|of| Statistics::of(of).unwrap().median),
            [2.0, 2.5]
        );
        assert_eq!(statistics.sd, Some((8.0_f64 / 3.0).sqrt()));
        assert_eq!(statistics.se(), Some((8.0_f64 / 3.0).sqrt() / 2.0));
        assert_eq!(
            Statistics::of(&[7.0]),
            Some(Statistics { mean: 7.0, sd: None, median: 7.0, quartiles: [7.0; 2], n: 1 })
        );
        let five = Statistics::of(&[5.0, 1.0, 900.0, 2.0, 3.0]).unwrap();
        assert_eq!((five.median, five.quartiles), (3.0, [2.0, 5.0]));
        assert_eq!(five.scaled(2.0).quartiles, [4.0, 10.0]);
        assert_eq!(Statistics::of(&[]), None);
        assert_eq!(ranks(&[10.0, 30.0, 10.0, 20.0, 30.0, 30.0]), [1.5, 5.0, 1.5, 3.0, 5.0, 5.0]);
    }

    proptest! {
        #[test]
        fn ranks_add_up(values in prop::collection::vec((0..5_u8).prop_map(f64::from), 0..20)) {
            let n = values.len() as f64;
            prop_assert_eq!(ranks(&values).iter().sum::<f64>(), n * (n + 1.0) / 2.0);
        }
    }
}
