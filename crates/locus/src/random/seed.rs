//! All randomness comes from one [`Seed`] through named streams.
//!
//! A stream is keyed by a purpose (`"init"`, `"choose"`, `"fit"`) and a round, so the numbers of round 700 do
//! not depend on what was drawn in rounds 0 to 699, on the number of threads, or on restarts. That is why no
//! generator state is ever saved.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::Rng;

/// The random seed of a policy or a trial; all its random numbers follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(u64);

impl Seed {
    /// The seed with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number of this seed, as passed to [`Seed::new`].
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Derives a seed from this one and a label.
    pub fn derive(self, label: &str) -> Self {
        Self(mix(mix(self.0 ^ LABEL) ^ hash(label)))
    }

    /// Derives a seed from this one and an index.
    pub fn derive_index(self, index: u64) -> Self {
        Self(mix(mix(self.0 ^ INDEX) ^ mix(index)))
    }

    /// The stream of random numbers for `purpose` in `round`.
    ///
    /// ```
    /// use locus::Seed;
    /// let seed = Seed::new(7);
    /// let first = seed.stream("choose", 3).normal();
    /// assert_eq!(first, seed.stream("choose", 3).normal());
    /// assert_ne!(first, seed.stream("choose", 4).normal());
    /// assert_ne!(first, seed.stream("fit", 3).normal());
    /// ```
    pub fn stream(self, purpose: &str, round: u64) -> Rng {
        let mut state = self.derive(purpose).0;
        let mut key = [0; 32];
        for word in key.chunks_exact_mut(8) {
            state = state.wrapping_add(GOLDEN);
            word.copy_from_slice(&mix(state).to_le_bytes());
        }
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(round);
        Rng::new(generator)
    }
}

/// 2⁶⁴ over the golden ratio, the step of SplitMix64.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// Separate labels from indices. The mixing is a bijection, so for every label there is one index in 2⁶⁴ with the same seed;
/// small indices do not collide with any label in use.
const LABEL: u64 = 0x6C61_6265_6C00_0000;
const INDEX: u64 = 0x696E_6465_7800_0000;

/// The finalizer of SplitMix64: a bijection of `u64` in which every input bit affects all output bits.
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// FNV-1a, mixed.
fn hash(label: &str) -> u64 {
    let fnv = label
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    mix(fnv)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn labels_indices_and_purposes_give_different_streams() {
        let root = Seed::new(0);
        let mut seen = HashSet::new();
        for label in ["", "a", "b", "ab", "ba", "choose", "fit"] {
            assert!(seen.insert(root.derive(label)), "{label:?} collides");
        }
        for index in 0..10_000 {
            assert!(seen.insert(root.derive_index(index)), "{index} collides");
        }
        assert_ne!(root.derive("a").derive("b"), root.derive("b").derive("a"));
    }

    /// A recorded number: if this changes, every published result changes with it.
    #[test]
    fn streams_are_the_same_for_ever() {
        assert_eq!(Seed::new(2020).derive("wheel").derive_index(3).number(), 6240656499557346615);
        let mut rng = Seed::new(2020).stream("choose", 41);
        assert_eq!([rng.next_u64(), rng.next_u64()], [543694901616957606, 15762222616617724715]);
    }
}
