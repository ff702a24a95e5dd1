//! RMSProp (Tieleman and Hinton, 2012), as in TensorFlow 1.

use multiversion::multiversion;

/// The state of an optimizer, for an arena of parameters.
///
/// A step of rate η with gradient g is `s ← decay·s + (1 − decay)·g²`, then `θ ← θ − η·g/√(s + ε)`: ε stands inside the root.
#[derive(Clone, Debug, PartialEq)]
pub struct RmsProp {
    /// How much of the mean square is kept from one step to the next.
    pub decay: f32,
    /// ε
    pub epsilon: f32,
    /// Steps taken.
    pub n_steps: u64,
    /// s, the means of the gradients' squares.
    pub squares: Vec<f32>,
}

/// Means of squares below this are set to 0. They are negligible relative to any reasonable ε, but would decay to subnormal
/// numbers, which are much slower.
const NEGLIGIBLE: f32 = 1e-30;

impl RmsProp {
    /// For `n_parameters` parameters whose means of squares begin at `start`.
    pub fn new(n_parameters: usize, decay: f32, epsilon: f32, start: f32) -> Self {
        Self { decay, epsilon, n_steps: 0, squares: vec![start; n_parameters] }
    }

    /// With TensorFlow's constants. Its means of squares begin at 1, so that the first steps are short.
    pub fn as_in_tensorflow(n_parameters: usize) -> Self {
        Self::new(n_parameters, 0.9, 1e-10, 1.0)
    }

    /// Moves the parameters against their gradients, and sets the gradients to 0.
    pub fn step(&mut self, parameters: &mut [f32], gradients: &mut [f32], learning_rate: f32) {
        self.n_steps = self.n_steps.saturating_add(1);
        update(parameters, gradients, &mut self.squares, learning_rate, self.decay, self.epsilon);
    }
}

#[multiversion(targets = "simd")]
fn update(
    parameters: &mut [f32],
    gradients: &mut [f32],
    squares: &mut [f32],
    rate: f32,
    decay: f32,
    epsilon: f32,
) {
    let n = parameters.len();
    let (gradients, squares) = (&mut gradients[..n], &mut squares[..n]);
    for i in 0..n {
        let gradient = gradients[i];
        let square = squares[i] + (1.0 - decay) * (gradient * gradient - squares[i]);
        squares[i] = if square < NEGLIGIBLE { 0.0 } else { square };
        parameters[i] -= rate * gradient / (square + epsilon).sqrt();
        gradients[i] = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the formulas, in f64, with rates that fall and constants of every kind.
    #[test]
    fn steps_are_as_the_formulas_say() {
        for (decay, epsilon, start) in [(0.9_f32, 1e-10_f32, 1.0_f32), (0.7, 0.1, 0.0)] {
            let mut optimizer = RmsProp::new(2, decay, epsilon, start);
            let mut parameters = [1.0_f32, -2.0];
            let (mut expected, mut squares) = ([1.0_f64, -2.0], [f64::from(start); 2]);
            for step in 0..50 {
                let gradient = |i: usize| f64::from(parameters[i]) * (1.0 + i as f64) + f64::from(step).sin();
                let exact = [gradient(0), gradient(1)];
                let mut gradients = exact.map(|gradient| gradient as f32);
                let rate = 0.1 / (1.0 + 0.5 * f64::from(step));
                for i in 0..2 {
                    squares[i] =
                        f64::from(decay) * squares[i] + (1.0 - f64::from(decay)) * exact[i] * exact[i];
                    expected[i] -= rate * exact[i] / (squares[i] + f64::from(epsilon)).sqrt();
                }
                optimizer.step(&mut parameters, &mut gradients, rate as f32);
                assert_eq!(gradients, [0.0, 0.0]);
                for i in 0..2 {
                    assert!((f64::from(parameters[i]) - expected[i]).abs() < 1e-5, "step {step}");
                }
            }
            assert_eq!(optimizer.n_steps, 50);
        }
    }

    /// A parameter that has no gradient any more: its mean of squares ends at 0, and never is subnormal.
    #[test]
    fn means_of_squares_do_not_become_subnormal() {
        let mut optimizer = RmsProp::as_in_tensorflow(1);
        for _ in 0..2000 {
            optimizer.step(&mut [1.0], &mut [0.0], 0.1);
            assert!(
                optimizer.squares[0] == 0.0 || optimizer.squares[0].is_normal(),
                "{}",
                optimizer.squares[0]
            );
        }
        assert_eq!(optimizer.squares, [0.0]);
        let mut parameters = [1.0];
        optimizer.step(&mut parameters, &mut [3.0], 0.1);
        // g/√(0.1·g²) = √10.
        assert!((parameters[0] - (1.0 - 0.1 * 10_f32.sqrt())).abs() < 1e-6, "{parameters:?}");
    }
}
