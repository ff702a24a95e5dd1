//! A dense layer, forward and backward.

use std::ops::Range;

use super::product::{
    AddReluMask, Bias, BiasRelu, Epilogue, ReluMask, Store, add_outer, product, product_of_one,
};
use super::{Layout, Lines, LinesMut};
use crate::Rng;

/// What follows the sums of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    Linear,
    /// `max(0, sum)`.
    Relu,
}

/// `y = activation(Wᵀx + b)`: x [in, N], W [in, out], y [out, N].
#[derive(Clone, Debug)]
pub struct Dense {
    weights: Range<usize>,
    bias: Range<usize>,
    n_in: usize,
    n_out: usize,
    activation: Activation,
}

/// Where a layer's gradient goes on to.
#[derive(Debug)]
pub enum InputGradient<'a> {
    /// Nowhere: the input is data.
    None,
    /// To inputs `from..` of the layer, replacing what is there.
    Store(usize, LinesMut<'a>),
    /// To all inputs, which came out of a ReLU: before that ReLU.
    BeforeRelu(LinesMut<'a>),
    /// The same, added to what is there.
    AddBeforeRelu(LinesMut<'a>),
}

impl Dense {
    /// A layer with places of its own.
    pub fn new(layout: &mut Layout, n_in: usize, n_out: usize, activation: Activation) -> Self {
        let weights = layout.reserve(n_in * n_out);
        let bias = layout.reserve(n_out);
        Self { weights, bias, n_in, n_out, activation }
    }

    /// in
    pub fn n_in(&self) -> usize {
        self.n_in
    }

    /// out
    pub fn n_out(&self) -> usize {
        self.n_out
    }

    /// What follows the sums.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Where the weights are, `[in, out]`.
    pub fn weights(&self) -> Range<usize> {
        self.weights.clone()
    }

    /// Where the biases are.
    pub fn bias(&self) -> Range<usize> {
        self.bias.clone()
    }

    /// Glorot-uniform weights, zero biases.
    pub fn initialize(&self, parameters: &mut [f32], rng: &mut Rng) {
        self.initialize_with(parameters, rng, |rng, layer| {
            let limit = (6.0 / (layer.n_in + layer.n_out) as f64).sqrt();
            limit * (2.0 * rng.uniform() - 1.0)
        });
    }

    /// Weights that `weight` draws, each given this layer; zero biases.
    pub fn initialize_with(
        &self,
        parameters: &mut [f32],
        rng: &mut Rng,
        mut weight: impl FnMut(&mut Rng, &Self) -> f64,
    ) {
        parameters[self.weights.clone()].iter_mut().for_each(|place| *place = weight(rng, self) as f32);
        parameters[self.bias.clone()].fill(0.0);
    }

    /// Computes y from x.
    pub fn forward(&self, parameters: &[f32], x: Lines<'_>, mut y: LinesMut<'_>) {
        if x.n_columns == 1 {
            return self.forward_one(parameters, x.data, y.data);
        }
        let (weights, bias) = (&parameters[self.weights.clone()], &parameters[self.bias.clone()]);
        match self.activation {
            Activation::Linear => product(weights, x, &mut y, &Bias(bias)),
            Activation::Relu => product(weights, x, &mut y, &BiasRelu(bias)),
        }
    }

    /// The same for a single column, where the product is one of a matrix and a vector.
    fn forward_one(&self, parameters: &[f32], x: &[f32], y: &mut [f32]) {
        product_of_one(&parameters[self.weights.clone()], x, y);
        for (place, bias) in y.iter_mut().zip(&parameters[self.bias.clone()]) {
            *place += bias;
            if self.activation == Activation::Relu && *place < 0.0 {
                *place = 0.0;
            }
        }
    }

    /// Adds the layer's gradients, given that of its sums, `dy`: before the activation. Passes the gradient on.
    pub fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        x: Lines<'_>,
        dy: Lines<'_>,
        input: InputGradient<'_>,
        transposed: &mut Vec<f32>,
    ) {
        add_outer(x, dy, &mut gradients[self.weights.clone()]);
        for (gradient, line) in gradients[self.bias.clone()].iter_mut().zip(dy.iter()) {
            *gradient += sum(line);
        }
        match input {
            InputGradient::None => {}
            InputGradient::Store(from, dx) => self.pass_on(parameters, dy, from, dx, &Store, transposed),
            InputGradient::BeforeRelu(dx) => self.pass_on(parameters, dy, 0, dx, &ReluMask(x), transposed),
            InputGradient::AddBeforeRelu(dx) => {
                self.pass_on(parameters, dy, 0, dx, &AddReluMask(x), transposed);
            }
        }
    }

    /// `dx = W·dy` for inputs `from..`.
    fn pass_on(
        &self,
        parameters: &[f32],
        dy: Lines<'_>,
        from: usize,
        mut dx: LinesMut<'_>,
        epilogue: &impl Epilogue,
        transposed: &mut Vec<f32>,
    ) {
        let n_inputs = dx.n_features();
        let weights = &parameters[self.weights.clone()][from * self.n_out..][..n_inputs * self.n_out];
        transposed.clear();
        transposed.resize(weights.len(), 0.0);
        for (input, line) in weights.chunks_exact(self.n_out).enumerate() {
            for (output, weight) in line.iter().enumerate() {
                transposed[output * n_inputs + input] = *weight;
            }
        }
        product(transposed, dy, &mut dx, epilogue);
    }
}

/// Σ over eight lanes, as vectors would.
pub(super) fn sum(line: &[f32]) -> f32 {
    let (chunks, rest) = line.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for chunk in chunks {
        for lane in 0..8 {
            lanes[lane] += chunk[lane];
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}
