//! Adam (Kingma and Ba, 2015).

use multiversion::multiversion;

use super::Layout;

/// The state of an optimizer, for an arena of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    /// The learning rate: roughly the largest change of a parameter per step.
    pub learning_rate: f32,
    /// Steps taken.
    pub n_steps: u64,
    /// Means of the gradients.
    pub means: Vec<f32>,
    /// Means of their squares.
    pub squares: Vec<f32>,
}

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;
/// Smaller numbers are set to 0. Parameters and gradient means with only a pull towards 0 would otherwise shrink to subnormal
/// numbers, which are slow; they are negligible relative to ε long before.
const NEGLIGIBLE: f32 = 1e-30;

impl Adam {
    /// For `n_parameters` parameters.
    pub fn new(n_parameters: usize, learning_rate: f32) -> Self {
        Self { learning_rate, n_steps: 0, means: vec![0.0; n_parameters], squares: vec![0.0; n_parameters] }
    }

    /// Follows the parameters from one layout into another; nothing is known of the gradients of new ones.
    pub fn grow(&mut self, from: &Layout, to: &Layout) {
        for list in [&mut self.means, &mut self.squares] {
            *list = from.carry_over(list, to, vec![0.0; to.size()]);
        }
    }

    /// Moves the parameters against their gradients, and sets the gradients to 0.
    pub fn step(&mut self, parameters: &mut [f32], gradients: &mut [f32]) {
        self.n_steps = self.n_steps.saturating_add(1);
        let power = |beta: f32| 1.0 - libm::pow(f64::from(beta), self.n_steps as f64);
        // Both corrections are put into the rate and ε, so that the loop has none.
        let root = power(BETA_2).sqrt();
        let rate = f64::from(self.learning_rate) * root / power(BETA_1);
        let epsilon = f64::from(EPSILON) * root;
        let Self { means, squares, .. } = self;
        update(parameters, gradients, means, squares, rate as f32, epsilon as f32);
    }
}

#[multiversion(targets = "simd")]
fn update(
    parameters: &mut [f32],
    gradients: &mut [f32],
    means: &mut [f32],
    squares: &mut [f32],
    rate: f32,
    epsilon: f32,
) {
    let n = parameters.len();
    let (gradients, means, squares) = (&mut gradients[..n], &mut means[..n], &mut squares[..n]);
    for i in 0..n {
        let gradient = gradients[i];
        means[i] = flush(means[i] + (1.0 - BETA_1) * (gradient - means[i]));
        squares[i] = flush(squares[i] + (1.0 - BETA_2) * (gradient * gradient - squares[i]));
        parameters[i] = flush(parameters[i] - rate * means[i] / (squares[i].sqrt() + epsilon));
        gradients[i] = 0.0;
    }
}

/// A NaN stays one.
#[inline(always)]
fn flush(value: f32) -> f32 {
    if value.abs() < NEGLIGIBLE { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parameter that is only pulled towards 0 gets there, and so does what is known of its gradients.
    #[test]
    fn what_shrinks_for_ever_becomes_zero() {
        let mut adam = Adam::new(1, 0.1);
        let mut parameters = [1.0_f32];
        adam.step(&mut parameters, &mut [100.0]);
        for _ in 0..200_000 {
            let mut gradients = [if adam.n_steps < 100_000 { 10.0 * parameters[0] } else { 0.0 }];
            adam.step(&mut parameters, &mut gradients);
            for value in [parameters[0], adam.means[0], adam.squares[0]] {
                assert!(value == 0.0 || value.is_normal(), "{value:e} after {} steps", adam.n_steps);
            }
        }
        assert_eq!((adam.means[0], adam.squares[0]), (0.0, 0.0));
    }

    /// Two rows of 2 become rows of 3: what is known of the gradients moves with its parameters, and nothing is known of the new ones'.
    #[test]
    fn state_follows_parameters_that_move() {
        let layout = |row_len| {
            let mut layout = Layout::default();
            layout.reserve_rows(2, row_len);
            layout
        };
        let mut adam = Adam::new(4, 0.1);
        adam.step(&mut [1.0; 4], &mut [1.0, 2.0, 3.0, 4.0]);
        let before = adam.clone();
        adam.grow(&layout(2), &layout(3));
        for (found, expected) in [(&adam.means, &before.means), (&adam.squares, &before.squares)] {
            assert_eq!(**found, [expected[0], expected[1], 0.0, expected[2], expected[3], 0.0]);
        }
        assert_eq!(adam.n_steps, 1);
    }

    /// Against the formulas as published, in f64.
    #[test]
    fn steps_are_as_published() {
        let mut adam = Adam::new(2, 0.01);
        let mut parameters = [1.0_f32, -2.0];
        let (mut expected, mut m, mut v) = ([1.0_f64, -2.0], [0.0; 2], [0.0; 2]);
        for step in 1..=50 {
            let gradient = |i: usize| f64::from(parameters[i]) * (1.0 + i as f64) + (step as f64).sin();
            let exact = [gradient(0), gradient(1)];
            let mut gradients = exact.map(|gradient| gradient as f32);
            for i in 0..2 {
                m[i] = 0.9 * m[i] + 0.1 * exact[i];
                v[i] = 0.999 * v[i] + 0.001 * exact[i] * exact[i];
                let (m_hat, v_hat) = (m[i] / (1.0 - 0.9_f64.powi(step)), v[i] / (1.0 - 0.999_f64.powi(step)));
                expected[i] -= 0.01 * m_hat / (v_hat.sqrt() + 1e-8);
            }
            adam.step(&mut parameters, &mut gradients);
            assert_eq!(gradients, [0.0, 0.0]);
            for i in 0..2 {
                assert!((f64::from(parameters[i]) - expected[i]).abs() < 1e-5, "step {step}");
            }
        }
    }
}
