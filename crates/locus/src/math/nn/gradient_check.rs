//! Gradients against central differences: what the tests of every layer and every objective use.
//!
//! Losses are computed by f32 layers but added up in f64, so a difference over a step of 1/64 keeps four digits. Where
//! a ReLU has its kink within the step, shorter ones are tried, down to where rounding would drown the difference.

use super::Panel;
use crate::{Rng, Seed};

/// The differences are taken over the first of these steps at which they agree with the gradient.
const STEPS: [f32; 7] =
    [1.0 / 64.0, 1.0 / 128.0, 1.0 / 256.0, 1.0 / 512.0, 1.0 / 1024.0, 1.0 / 2048.0, 1.0 / 4096.0];

/// What may be wrong with the gradient of a layer.
pub(crate) const LAYER_TOLERANCE: f64 = 2e-3;

/// Fails unless `gradient` is that of `loss` at `point`.
///
/// Each number is checked on its own, relative to its own size and a tenth of the root mean square of all: a wrong sign
/// or a missing term of a single one fails.
pub(crate) fn check_gradient(
    what: &str,
    tolerance: f64,
    point: &[f32],
    gradient: &[f32],
    mut loss: impl FnMut(&[f32]) -> f64,
) {
    assert_eq!(point.len(), gradient.len(), "{what}");
    let squares: f64 = gradient.iter().map(|&gradient| f64::from(gradient).powi(2)).sum();
    let scale = (squares / gradient.len() as f64).sqrt();
    assert!(scale > 0.0, "{what}: a gradient of zeros shows nothing");
    let mut moved = point.to_vec();
    for (place, &gradient) in gradient.iter().enumerate() {
        let mut difference = |step: f32| {
            let mut at = |value: f32| {
                moved[place] = value;
                (f64::from(value), loss(&moved))
            };
            let ((upper, above), (lower, below)) = (at(point[place] + step), at(point[place] - step));
            moved[place] = point[place];
            (above - below) / (upper - lower)
        };
        let gradient = f64::from(gradient);
        let agrees =
            |difference: f64| (difference - gradient).abs() <= tolerance * (difference.abs() + 0.1 * scale);
        if !STEPS.iter().any(|&step| agrees(difference(step))) {
            let found = STEPS.map(difference);
            panic!("{what}: the gradient in number {place} is {gradient}, but differences are {found:?}");
        }
    }
}

/// The random numbers of a test.
pub(crate) fn test_rng(seed: u64) -> Rng {
    Seed::new(seed).stream("test", 0)
}

/// Standard normals.
pub(crate) fn random(n: usize, rng: &mut Rng) -> Vec<f32> {
    (0..n).map(|_| rng.normal() as f32).collect()
}

/// A panel [n_features, n_columns] of these numbers, feature by feature.
pub(crate) fn panel(n_features: usize, n_columns: usize, values: &[f32]) -> Panel {
    assert_eq!(values.len(), n_features * n_columns);
    let mut panel = Panel::new(n_features, n_columns);
    for (feature, values) in values.chunks_exact(n_columns).enumerate() {
        panel.line_mut(feature).copy_from_slice(values);
    }
    panel
}

/// The numbers of a panel, feature by feature.
pub(crate) fn values(panel: &Panel) -> Vec<f32> {
    panel.all().iter().flatten().copied().collect()
}

/// Σ cᵢyᵢ, a loss whose gradient in y is c.
pub(crate) fn weighted_sum(c: &[f32], y: &[f32]) -> f64 {
    assert_eq!(c.len(), y.len());
    c.iter().zip(y).map(|(&c, &y)| f64::from(c) * f64::from(y)).sum()
}

/// c where y came out of a ReLU alive, 0 elsewhere: the gradient before that ReLU.
pub(crate) fn before_relu(c: &[f32], y: &[f32]) -> Vec<f32> {
    c.iter().zip(y).map(|(&c, &y)| if y > 0.0 { c } else { 0.0 }).collect()
}

#[test]
fn a_wrong_number_is_found() {
    let point = [0.3, -0.7, 1.1];
    // ½x² + 2·max(0, y) + 3z, with a kink at 1/100 from where it is looked at.
    let loss = |at: &[f32]| {
        let [x, y, z] = [at[0], at[1], at[2]].map(f64::from);
        0.5 * x * x + 2.0 * (y + 0.71).max(0.0) + 3.0 * z
    };
    let right = [0.3, 2.0, 3.0];
    check_gradient("right", LAYER_TOLERANCE, &point, &right, loss);
    for (place, wrong) in [(0, -0.3), (0, 0.302), (1, 1.0), (2, 3.01), (2, 0.0)] {
        let mut gradient = right;
        gradient[place] = wrong;
        let check = std::panic::AssertUnwindSafe(|| {
            check_gradient("wrong", LAYER_TOLERANCE, &point, &gradient, loss)
        });
        assert!(std::panic::catch_unwind(check).is_err(), "number {place} may be {wrong}");
    }
}
