//! Exponential forgetting: an observation counts half after a half-life, which is counted in observations.
//!
//! Sums decay with every observation ([`Decay`]). What costs more than a sum decays in blocks ([`DecayBlocks`]): within a block
//! nothing decays, but later observations count for more, and at its end everything decays at once.

use crate::Error;
use crate::registry::save::{Decoder, Encoder};

/// The decay of a sum from one observation to the next; the default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decay(Option<f64>);

impl Decay {
    /// Halves after `half_life` observations; never with `None`.
    pub fn new(half_life: Option<f64>) -> Self {
        Self(half_life.map(|half_life| libm::exp2(-1.0 / half_life)))
    }

    /// Whether anything decays.
    pub fn is_on(self) -> bool {
        self.0.is_some()
    }

    /// Lets a sum decay by one observation. Without decay it is left alone, to the bit.
    pub fn pass(self, sum: &mut f64) {
        if let Some(factor) = self.0 {
            *sum *= factor;
        }
    }
}

/// Decay in blocks of observations.
///
/// In a block of n, observation j of 1 … n enters with the factor 2^(j/h). At the end of the block all that was observed is
/// multiplied by 2^(−n/h), so that the last observation counts 1, the one before it 2^(−1/h), and so on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecayBlocks {
    half_life: f64,
    /// n
    length: u32,
    /// How many observations of the block there are; fewer than n.
    position: u32,
}

/// What the end of a block leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remainder {
    /// γ, the factor of all that was observed.
    pub kept: f64,
    /// 1 − γ
    pub lost: f64,
}

impl DecayBlocks {
    /// Blocks of at most `longest` observations, and short against the half-life: within one, factors stay below 2^¼, or the
    /// block is a single observation.
    pub fn new(half_life: f64, longest: usize) -> Self {
        let length = (longest as f64).min(half_life / 4.0).clamp(1.0, f64::from(u32::MAX)) as u32;
        Self { half_life, length, position: 0 }
    }

    /// How many observations are left until the end of the block.
    pub fn n_left(&self) -> usize {
        (self.length - self.position) as usize
    }

    /// The factor of the observation that comes after `n_between` others; not beyond the end of the block.
    pub fn factor(&self, n_between: usize) -> f64 {
        debug_assert!(n_between < self.n_left());
        libm::exp2((f64::from(self.position) + n_between as f64 + 1.0) / self.half_life)
    }

    /// Counts observations, which must not lead beyond the end of the block. At its end a new block begins, and everything must
    /// be multiplied by what this returns.
    #[must_use]
    pub fn count(&mut self, n: usize) -> Option<Remainder> {
        debug_assert!(n <= self.n_left());
        self.position += n as u32;
        if self.position < self.length {
            return None;
        }
        self.position = 0;
        let exponent = -f64::from(self.length) / self.half_life;
        // Without cancellation where the half-life is long.
        let lost = -libm::expm1(exponent * std::f64::consts::LN_2);
        Some(Remainder { kept: libm::exp2(exponent), lost })
    }

    /// Blocks of the same decay, of which the first begins now.
    pub fn anew(self, longest: usize) -> Self {
        Self::new(self.half_life, longest)
    }

    /// At the position of shorter blocks with the same half-life.
    pub fn at_position_of(self, shorter: Self) -> Self {
        debug_assert!(shorter.length <= self.length);
        Self { position: shorter.position, ..self }
    }

    /// Begins a new block, for weights relative to the present.
    pub fn restart(&mut self) {
        self.position = 0;
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.u64(u64::from(self.position));
    }

    /// The same blocks, at the position that was saved.
    pub(crate) fn decode(self, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let read = decoder.u64()?;
        match u32::try_from(read) {
            Ok(position) if position < self.length => Ok(Self { position, ..self }),
            _ => Err(decoder.damaged(format!("{read} observations are in a block of {}", self.length))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_no_longer_than_asked_for_and_short_against_the_half_life() {
        for (half_life, longest, expected) in [(250.0, 55, 55), (100.0, 55, 25), (1.0, 55, 1), (1e12, 1, 1)] {
            let blocks = DecayBlocks::new(half_life, longest);
            assert_eq!(blocks.n_left(), expected, "{half_life}");
            assert!(expected == 1 || blocks.factor(expected - 1) <= 2_f64.powf(0.25) + 1e-12);
        }
    }

    /// At the end of a block, the factors are those of ages.
    #[test]
    fn an_observation_counts_half_after_a_half_life() {
        let half_life = 12.0;
        let mut blocks = DecayBlocks::new(half_life, 3);
        let (mut sums, mut direct, decay) = (0.0, 0.0, Decay::new(Some(half_life)));
        for round in 0..30 {
            let seen = f64::from(round) + 1.0;
            sums += seen * blocks.factor(0);
            decay.pass(&mut direct);
            direct += seen;
            if let Some(Remainder { kept, lost }) = blocks.count(1) {
                sums *= kept;
                assert!((sums / direct - 1.0).abs() < 1e-12, "round {round}: {sums}, {direct}");
                assert!((kept + lost - 1.0).abs() < 1e-15);
            }
        }
        let mut one = 1.0;
        (0..12).for_each(|_| decay.pass(&mut one));
        assert!((one - 0.5).abs() < 1e-12);
        let mut number = 0.1;
        Decay::default().pass(&mut number);
        assert_eq!(number, 0.1);
    }

    #[test]
    fn the_position_is_saved_and_checked() {
        let mut blocks = DecayBlocks::new(100.0, 20);
        assert_eq!(blocks.count(7), None);
        let mut encoder = Encoder::default();
        blocks.encode(&mut encoder);
        let bytes = encoder.into_bytes();
        let decode = |length| DecayBlocks::new(100.0, length).decode(&mut Decoder::new(&bytes));
        assert_eq!(decode(20).unwrap(), blocks);
        assert!(decode(7).is_err());
    }
}
