//! Standard normals, sixteen at a time.
//!
//! Sixteen xoshiro128++ generators side by side (Blackman and Vigna, 2021), each seeded from a named stream, feed Box and
//! Muller's transform with polynomials for logarithm, sine and cosine. Only additions, multiplications and square roots
//! are used, never fused, so the numbers are the same on every instruction set.

use multiversion::multiversion;

use super::panel::{LANES, Panel};
use crate::Rng;

/// A source of standard normals.
#[derive(Clone, Debug)]
pub struct Normals {
    state: [[u32; LANES]; 4],
}

impl Normals {
    /// Seeded by the next numbers of a stream.
    pub fn new(rng: &mut Rng) -> Self {
        let mut state = [[0; LANES]; 4];
        for words in &mut state {
            for pair in words.chunks_exact_mut(2) {
                let bits = rng.next_u64();
                pair[0] = bits as u32;
                pair[1] = (bits >> 32) as u32;
            }
        }
        // A generator of all zeros would stay there; it comes once in 2¹²⁴ streams.
        state[0].iter_mut().for_each(|word| *word |= u32::from(*word == 0));
        Self { state }
    }

    /// Fills `values` with normals of this standard deviation.
    pub fn fill(&mut self, values: &mut [f32], std: f32) {
        fill(&mut self.state, values, std);
    }
}

/// Where a forward pass takes its normals from.
pub trait NormalSource {
    /// Fills a panel with normals of this standard deviation.
    fn fill_panel(&mut self, panel: &mut Panel, std: f32);
}

impl NormalSource for Normals {
    /// Line by line, or a single column at once.
    fn fill_panel(&mut self, panel: &mut Panel, std: f32) {
        panel.runs_mut().for_each(|run| self.fill(run, std));
    }
}

/// A source of its own for every column: each gets the numbers that it would get as a single one.
#[derive(Debug, Default)]
pub struct ColumnNormals {
    sources: Vec<Normals>,
    /// The numbers of up to [`LANES`] columns, one column after another.
    columns: Vec<f32>,
}

impl ColumnNormals {
    /// Restarts with a source for the stream of each column.
    pub fn seed(&mut self, rngs: &mut [Rng]) {
        self.sources.clear();
        self.sources.extend(rngs.iter_mut().map(Normals::new));
    }
}

impl NormalSource for ColumnNormals {
    fn fill_panel(&mut self, panel: &mut Panel, std: f32) {
        let n_features = panel.n_features();
        assert_eq!(panel.n_columns(), self.sources.len(), "a source for every column");
        self.columns.resize(n_features * LANES, 0.0);
        for (lot, sources) in self.sources.chunks_mut(LANES).enumerate() {
            let columns = self.columns.chunks_exact_mut(n_features);
            sources.iter_mut().zip(columns).for_each(|(source, column)| source.fill(column, std));
            let mut rows: [&[f32]; LANES] = [&[]; LANES];
            rows.iter_mut()
                .zip(self.columns.chunks_exact(n_features))
                .for_each(|(row, column)| *row = column);
            panel.put_rows(lot * LANES, &rows[..sources.len()]);
        }
    }
}

#[multiversion(targets = "simd")]
fn fill(state: &mut [[u32; LANES]; 4], values: &mut [f32], std: f32) {
    fill_plain(state, values, std);
}

/// What [`fill`] is compiled from, for each instruction set.
#[inline(always)]
fn fill_plain(state: &mut [[u32; LANES]; 4], values: &mut [f32], std: f32) {
    let mut local = *state;
    let (blocks, rest) = values.as_chunks_mut::<{ 2 * LANES }>();
    for block in blocks {
        *block = draw(&mut local, std);
    }
    if !rest.is_empty() {
        let block = draw(&mut local, std);
        rest.copy_from_slice(&block[..rest.len()]);
    }
    *state = local;
}

#[inline(always)]
fn draw(state: &mut [[u32; LANES]; 4], std: f32) -> [f32; 2 * LANES] {
    let radius_bits = next(state);
    let angle_bits = next(state);
    let mut normals = [0.0; 2 * LANES];
    for lane in 0..LANES {
        // Uniform on (0, 1], down to 2⁻³²: normals reach 6.6 standard deviations.
        let uniform = ((radius_bits[lane] >> 1) as i32 as f32 + 0.5) * (1.0 / 2_147_483_648.0);
        let radius = std * (-2.0 * ln(uniform)).sqrt();
        let (cos, sin) = cos_sin(angle_bits[lane]);
        normals[lane] = radius * cos;
        normals[LANES + lane] = radius * sin;
    }
    normals
}

/// The next word of every generator.
#[inline(always)]
fn next(state: &mut [[u32; LANES]; 4]) -> [u32; LANES] {
    let [s0, s1, s2, s3] = state;
    let mut words = [0; LANES];
    for lane in 0..LANES {
        words[lane] = s0[lane].wrapping_add(s3[lane]).rotate_left(7).wrapping_add(s0[lane]);
        let shifted = s1[lane] << 9;
        s2[lane] ^= s0[lane];
        s3[lane] ^= s1[lane];
        s1[lane] ^= s2[lane];
        s0[lane] ^= s3[lane];
        s2[lane] ^= shifted;
        s3[lane] = s3[lane].rotate_left(11);
    }
    words
}

/// Natural logarithm of a positive, normal number; the polynomials here are those of the Cephes library.
#[inline(always)]
fn ln(x: f32) -> f32 {
    // x = m·2ᵉ with m from √½ to √2.
    let shifted = x.to_bits().wrapping_sub(0x3F35_04F3);
    let exponent = (shifted as i32 >> 23) as f32;
    let m = f32::from_bits((shifted & 0x007F_FFFF).wrapping_add(0x3F35_04F3)) - 1.0;
    let mut p = 7.037_683_6e-2;
    p = p * m - 1.151_461e-1;
    p = p * m + 1.167_699_9e-1;
    p = p * m - 1.242_014_1e-1;
    p = p * m + 1.424_932_3e-1;
    p = p * m - 1.666_805_7e-1;
    p = p * m + 2.000_071_4e-1;
    p = p * m - 2.499_999_4e-1;
    p = p * m + 3.333_333e-1;
    let square = m * m;
    let small = p * m * square + exponent * -2.121_944_4e-4 - 0.5 * square;
    small + m + exponent * 0.693_359_4
}

/// Cosine and sine of an angle whose turn is `bits`/2³².
#[inline(always)]
fn cos_sin(bits: u32) -> (f32, f32) {
    // The lower 30 bits are an angle from −45° to 45°, the upper two say how many right angles to add.
    let fraction = ((bits & 0x3FFF_FFFF) as i32 as f32 + 0.5) * (1.0 / 1_073_741_824.0) - 0.5;
    let angle = fraction * std::f32::consts::FRAC_PI_2;
    let square = angle * angle;
    let mut sin = -1.951_529_6e-4;
    sin = sin * square + 8.332_161e-3;
    sin = sin * square - 1.666_665_5e-1;
    let sin = sin * square * angle + angle;
    let mut cos = 2.443_315_7e-5;
    cos = cos * square - 1.388_731_6e-3;
    cos = cos * square + 4.166_664_6e-2;
    let cos = cos * square * square - 0.5 * square + 1.0;
    let is_odd = bits & 0x4000_0000 != 0;
    let (x, y) = if is_odd { (sin, cos) } else { (cos, sin) };
    let flip = |value: f32, sign: u32| f32::from_bits(value.to_bits() ^ (sign & 0x8000_0000));
    (flip(x, bits ^ (bits << 1)), flip(y, bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::random::kolmogorov::{KOLMOGOROV_ONE_IN_10_000, kolmogorov, normal_cdf};

    const N: usize = 2_000_000;

    fn sample(seed: u64) -> Vec<f32> {
        let mut values = vec![0.0; N];
        Normals::new(&mut Seed::new(seed).stream("test", 0)).fill(&mut values, 1.0);
        values
    }

    #[test]
    fn functions_agree_with_the_library() {
        let mut rng = Seed::new(1).stream("test", 0);
        for _ in 0..100_000 {
            let x = rng.uniform() as f32;
            assert!(
                (f64::from(ln(x)) - f64::from(x).ln()).abs() < 2e-7 * (1.0 + f64::from(x).ln().abs()),
                "ln({x})"
            );
            let bits = rng.next_u64() as u32;
            let angle = (f64::from(bits) + 0.5) / 2_f64.powi(32) * std::f64::consts::TAU;
            // The middle of the quarter turn is where the polynomial's angle is 0.
            let angle = angle - std::f64::consts::FRAC_PI_4;
            let (cos, sin) = cos_sin(bits);
            assert!((f64::from(cos) - angle.cos()).abs() < 3e-7, "cos of {bits:x}");
            assert!((f64::from(sin) - angle.sin()).abs() < 3e-7, "sin of {bits:x}");
        }
    }

    /// Bounds are five standard errors each; false alarms for one seed in 400 000 for all four together.
    #[test]
    fn moments_are_those_of_a_normal() {
        let n = N as f64;
        let values = sample(2);
        for (power, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let moment = values.iter().map(|&x| f64::from(x).powi(power)).sum::<f64>() / n;
            let bound = 5.0 * (variance / n).sqrt();
            assert!((moment - expected).abs() < bound, "moment {power}: {moment}");
        }
    }

    /// The statistic exceeds the bound for one seed in 10 000.
    #[test]
    fn the_distribution_is_normal() {
        let values = sample(3).into_iter().map(f64::from).collect();
        let statistic = kolmogorov(values, normal_cdf);
        assert!(statistic < KOLMOGOROV_ONE_IN_10_000, "{statistic}");
    }

    /// Counts beyond 3, 4 and 5 standard deviations are Poisson; bounds are five of their standard deviations.
    #[test]
    fn tails_are_as_heavy_as_they_should_be() {
        let values = sample(4);
        for bound in [3.0_f32, 4.0, 4.75] {
            let expected = N as f64 * libm::erfc(f64::from(bound) / std::f64::consts::SQRT_2);
            let found = values.iter().filter(|x| x.abs() > bound).count() as f64;
            assert!(
                (found - expected).abs() < 5.0 * expected.sqrt() + 1.0,
                "beyond {bound}: {found}, {expected}"
            );
        }
    }

    #[test]
    fn neighbors_are_uncorrelated() {
        let values = sample(5);
        for lag in [1, 2, 15, 16, 17, 31, 32, 64] {
            let products = values.iter().zip(&values[lag..]).map(|(a, b)| f64::from(a * b));
            let correlation = products.sum::<f64>() / (N - lag) as f64;
            assert!(correlation.abs() < 5.0 / (N as f64).sqrt(), "lag {lag}: {correlation}");
        }
    }

    /// Every instruction set gives the bits of the plain loop: the same functions, called one lane at a time.
    #[test]
    fn vectors_do_not_change_a_bit() {
        let mut normals = Normals::new(&mut Seed::new(6).stream("test", 0));
        let mut state = normals.state;
        let mut values = vec![0.0; 10 * LANES];
        normals.fill(&mut values, 2.0);
        for block in values.chunks(2 * LANES) {
            let (radius_bits, angle_bits) = (next(&mut state), next(&mut state));
            for lane in 0..LANES {
                let bits = std::hint::black_box((radius_bits[lane], angle_bits[lane]));
                let uniform = ((bits.0 >> 1) as i32 as f32 + 0.5) * (1.0 / 2_147_483_648.0);
                let radius = 2.0 * (-2.0 * ln(std::hint::black_box(uniform))).sqrt();
                let (cos, sin) = cos_sin(bits.1);
                assert_eq!(block[lane].to_bits(), (radius * cos).to_bits());
                assert_eq!(block[LANES + lane].to_bits(), (radius * sin).to_bits());
            }
        }
    }

    /// [`fill`] for one instruction set, where the machine has it, and otherwise as for any machine.
    macro_rules! fill_for {
        ($name:ident, $($target:literal),+) => {
            #[multiversion(targets($($target),+))]
            fn $name(state: &mut [[u32; LANES]; 4], values: &mut [f32], std: f32) {
                fill_plain(state, values, std);
            }
        };
    }

    fill_for!(fill_sse42, "x86_64+sse4.2+popcnt");
    fill_for!(fill_avx2, "x86_64+avx2");
    fill_for!(fill_avx2_fma, "x86_64+avx2+fma+bmi1+bmi2");
    fill_for!(fill_avx512, "x86_64+avx2+fma+avx512f+avx512bw+avx512dq+avx512vl", "aarch64+sve");

    /// What [`Normals::fill`] picks at run time, one instruction set after another, and no vectors at all: the same bits.
    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        type Fill = fn(&mut [[u32; LANES]; 4], &mut [f32], f32);
        let versions: [(&str, Fill); 6] = [
            ("picked", fill),
            ("plain", fill_plain),
            ("sse4.2", fill_sse42),
            ("avx2", fill_avx2),
            ("avx2 and fma", fill_avx2_fma),
            ("avx512", fill_avx512),
        ];
        let start = Normals::new(&mut Seed::new(7).stream("test", 0)).state;
        let mut expected: Option<(Vec<u32>, [[u32; LANES]; 4])> = None;
        for (name, version) in versions {
            // A rest that is no whole block, too.
            let (mut state, mut values) = (start, vec![0.0; 100_007]);
            version(&mut state, &mut values, 1.7);
            let found = (values.iter().map(|value| value.to_bits()).collect(), state);
            assert!(found == *expected.get_or_insert_with(|| found.clone()), "{name} differs");
        }
    }
}
