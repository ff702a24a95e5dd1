//! How often each of several linear functions is the highest, over samples of their shared weights.
//!
//! Given S samples of weights w and candidates with features φ_k and bases m_k, candidate k has the value `m_k + wᵀφ_k`. The
//! values are correlated, because all depend on the same w, so wins are counted, in one product [S, d]·[d, K].

use multiversion::multiversion;

/// Candidates that are computed together: what they have in one feature lies side by side.
const LOT: usize = 32;

/// Candidates, and buffers for the count.
#[derive(Debug, Default)]
pub struct DrawWins {
    dim: usize,
    candidates: Vec<u32>,
    /// [lots, LOT]
    bases: Vec<f64>,
    /// [lots, d, LOT]
    features: Vec<f64>,
    /// By sample: the highest value so far, and whose it is.
    best: Vec<(f64, u32)>,
}

impl DrawWins {
    /// Begins again, without candidates, for `dim` features.
    pub fn clear(&mut self, dim: usize) {
        self.dim = dim;
        self.candidates.clear();
        self.bases.clear();
        self.features.clear();
    }

    /// Adds a candidate. Indices must ascend.
    pub fn enter(&mut self, candidate: usize, base: f64, features: impl ExactSizeIterator<Item = f64>) {
        assert_eq!(features.len(), self.dim, "features of a candidate");
        let lane = self.candidates.len() % LOT;
        if lane == 0 {
            // Places without a candidate never win.
            self.bases.resize(self.bases.len() + LOT, f64::MIN);
            self.features.resize(self.features.len() + self.dim * LOT, 0.0);
        }
        let lot = self.candidates.len() / LOT;
        self.bases[lot * LOT + lane] = base;
        let places = self.features[lot * self.dim * LOT..].chunks_exact_mut(LOT);
        places.zip(features).for_each(|(place, feature)| place[lane] = feature);
        self.candidates.push(candidate as u32);
    }

    /// Writes the share of the samples in which each candidate has the highest value, the first of ties; 0 for those that were not
    /// entered. `weights` [S, d] with d > 0. Fails with a candidate and its value if a value is not finite.
    pub fn count(&mut self, weights: &[f64], shares: &mut [f64]) -> Result<(), (usize, f64)> {
        let n_draws = weights.len() / self.dim;
        self.best.clear();
        self.best.resize(n_draws, (f64::NEG_INFINITY, 0));
        if let Some((place, value)) = find_best(&self.bases, &self.features, weights, &mut self.best) {
            return Err((self.candidates.get(place).map_or(0, |candidate| *candidate as usize), value));
        }
        shares.fill(0.0);
        for (_, place) in &self.best {
            shares[self.candidates[*place as usize] as usize] += 1.0;
        }
        shares.iter_mut().for_each(|share| *share /= n_draws as f64);
        Ok(())
    }
}

/// Finds the highest value of every sample, and its place. Returns a value that is not finite and its place, if there is one.
#[multiversion(targets = "simd")]
fn find_best(
    bases: &[f64],
    features: &[f64],
    weights: &[f64],
    best: &mut [(f64, u32)],
) -> Option<(usize, f64)> {
    let (bases, _) = bases.as_chunks::<LOT>();
    let (features, _) = features.as_chunks::<LOT>();
    let (dim, n_draws) = (features.len() / bases.len().max(1), best.len());
    debug_assert_eq!(weights.len(), dim * n_draws);
    for (lot, (bases, features)) in bases.iter().zip(features.chunks_exact(dim)).enumerate() {
        for (weights, best) in weights.chunks_exact(dim).zip(best.iter_mut()) {
            let mut values = *bases;
            for (weight, features) in weights.iter().zip(features) {
                for lane in 0..LOT {
                    values[lane] += weight * features[lane];
                }
            }
            let (mut highest, mut are_finite) = (f64::NEG_INFINITY, true);
            for value in values {
                highest = if value > highest { value } else { highest };
                are_finite &= value.abs() < f64::INFINITY;
            }
            if !are_finite {
                let lane = values.iter().position(|value| !value.is_finite()).unwrap_or(0);
                return Some((lot * LOT + lane, values[lane]));
            }
            if highest > best.0 {
                let lane = values.iter().position(|value| *value == highest).unwrap_or(0);
                *best = (highest, (lot * LOT + lane) as u32);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn shares_are_those_of_all_values() {
        let mut rng = Seed::new(4).stream("test", 0);
        let mut wins = DrawWins::default();
        for (n, dim, n_draws) in [(1, 1, 3), (31, 4, 50), (32, 5, 50), (33, 3, 50), (100, 7, 200)] {
            let mut normals = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.normal()).collect() };
            let (weights, features, bases) = (normals(n_draws * dim), normals(n * dim), normals(n));
            wins.clear(dim);
            let entered = |candidate: &usize| candidate % 3 != 1;
            for candidate in (0..n).filter(entered) {
                let features = features[candidate * dim..][..dim].iter().copied();
                wins.enter(candidate, bases[candidate], features);
            }
            let mut shares = vec![9.0; n];
            wins.count(&weights, &mut shares).unwrap();
            let mut expected = vec![0.0; n];
            for weights in weights.chunks(dim) {
                let value = |candidate: usize| {
                    let features = &features[candidate * dim..][..dim];
                    weights.iter().zip(features).fold(bases[candidate], |sum, (w, f)| sum + w * f)
                };
                let best = (0..n).filter(entered).max_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap();
                expected[best] += 1.0 / n_draws as f64;
            }
            for (share, expected) in shares.iter().zip(&expected) {
                assert!((share - expected).abs() < 1e-12, "{n}: {shares:?}, {expected:?}");
            }
        }
    }

    #[test]
    fn the_first_of_ties_wins_and_overflow_is_an_error() {
        let mut wins = DrawWins::default();
        wins.clear(1);
        (0..70).for_each(|candidate| wins.enter(candidate, 0.0, [f64::from(candidate > 40)].into_iter()));
        let mut shares = [0.0; 70];
        wins.count(&[1.0, -1.0], &mut shares).unwrap();
        assert_eq!((shares[41], shares[0]), (0.5, 0.5));
        wins.enter(70, 0.0, [f64::MAX].into_iter());
        for (weight, value) in [(10.0, f64::INFINITY), (-10.0, f64::NEG_INFINITY)] {
            assert_eq!(wins.count(&[1.0, weight], &mut [0.0; 71]), Err((70, value)));
        }
    }
}
