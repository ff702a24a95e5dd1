//! Do samples follow their distribution? What the statistical tests share.

/// Φ(x), the standard normal distribution function.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// Kolmogorov's statistic, of one sample or of two, exceeds this for one seed in 10 000.
pub(crate) const KOLMOGOROV_ONE_IN_10_000: f64 = 2.225;

/// The largest distance between the empirical distribution of `sample` and `cdf`, times √n.
pub(crate) fn kolmogorov(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = |(rank, &x): (usize, &f64)| {
        let p = cdf(x);
        (p - rank as f64 / n).abs().max((p - (rank as f64 + 1.0) / n).abs())
    };
    sample.iter().enumerate().map(distance).fold(0.0, f64::max) * n.sqrt()
}

/// The largest distance between the empirical distributions of two samples of n, times √(n/2).
pub(crate) fn kolmogorov_of_two(mut first: Vec<f64>, mut second: Vec<f64>) -> f64 {
    assert_eq!(first.len(), second.len());
    first.sort_by(f64::total_cmp);
    second.sort_by(f64::total_cmp);
    let n = first.len() as f64;
    let distance = |(rank, x): (usize, &f64)| {
        let below = second.partition_point(|other| other <= x) as f64;
        (below - rank as f64 - 1.0).abs().max((below - rank as f64).abs())
    };
    first.iter().enumerate().map(distance).fold(0.0, f64::max) / n * (n / 2.0).sqrt()
}
