//! A dense layer, forward and backward.

use std::ops::Range;

use super::product::{
    AddReluMask, Bias, BiasRelu, Epilogue, ReluMask, Store, add_outer, product, product_backward,
    product_of_one,
};
use super::{Layout, Lines, LinesMut, sum};
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

/// The target of a layer's input gradient.
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
        let weights = layout.reserve_rows(n_in, n_out);
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
    #[cfg(test)]
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
        if x.is_vector() {
            return self.forward_one(parameters, x.data, y.data);
        }
        let (weights, bias) = (&parameters[self.weights.clone()], &parameters[self.bias.clone()]);
        match self.activation {
            Activation::Linear => product(weights, x, &mut y, &Bias(bias)),
            Activation::Relu => product(weights, x, &mut y, &BiasRelu(bias)),
        }
    }

    /// Computes `Wᵀx + b`, without the activation, for columns that are padded.
    pub fn sums(&self, parameters: &[f32], x: Lines<'_>, mut y: LinesMut<'_>) {
        let (weights, bias) = (&parameters[self.weights.clone()], &parameters[self.bias.clone()]);
        product(weights, x, &mut y, &Bias(bias));
    }

    /// Computes y [out, N] where all columns have their first inputs in common: these are `shared`, the others `own` [rest, N]. `base` is
    /// room.
    pub fn forward_on(
        &self,
        parameters: &[f32],
        shared: &[f32],
        own: Lines<'_>,
        base: &mut Vec<f32>,
        mut y: LinesMut<'_>,
    ) {
        let weights = &parameters[self.weights.clone()];
        let (shared_weights, own_weights) = weights.split_at(shared.len() * self.n_out);
        base.resize(self.n_out, 0.0);
        product_of_one(shared_weights, shared, base);
        base.iter_mut().zip(&parameters[self.bias.clone()]).for_each(|(place, bias)| *place += bias);
        match self.activation {
            Activation::Linear => product(own_weights, own, &mut y, &Bias(base)),
            Activation::Relu => product(own_weights, own, &mut y, &BiasRelu(base)),
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
    ) {
        add_outer(x, dy, &mut gradients[self.weights.clone()]);
        for (gradient, line) in gradients[self.bias.clone()].iter_mut().zip(dy.iter()) {
            *gradient += sum(line);
        }
        self.backward_input(parameters, x, dy, input);
    }

    /// Passes the gradient of the layer's sums on, and nothing else.
    pub fn backward_input(&self, parameters: &[f32], x: Lines<'_>, dy: Lines<'_>, input: InputGradient<'_>) {
        match input {
            InputGradient::None => {}
            InputGradient::Store(from, dx) => self.pass_on(parameters, dy, from, dx, &Store),
            InputGradient::BeforeRelu(dx) => self.pass_on(parameters, dy, 0, dx, &ReluMask(x)),
            InputGradient::AddBeforeRelu(dx) => {
                self.pass_on(parameters, dy, 0, dx, &AddReluMask(x));
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
    ) {
        let n_inputs = dx.n_features();
        let weights = &parameters[self.weights.clone()][from * self.n_out..][..n_inputs * self.n_out];
        product_backward(weights, dy, &mut dx, epilogue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::nn::Panel;
    use crate::math::nn::gradient_check::{
        LAYER_TOLERANCE, before_relu, check_gradient, panel, random, test_rng, values, weighted_sum,
    };

    /// No two alike, and no multiple of a vector or a tile.
    const N_IN: usize = 5;
    const N_OUT: usize = 7;
    const N: usize = 19;

    /// Where the gradient of the input goes, as [`InputGradient`] says.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Target {
        None,
        Store(usize),
        BeforeRelu,
        AddBeforeRelu,
    }

    /// The loss is Σ c·y, and with [`Target::AddBeforeRelu`] another net's Σ d·x beside it. The numbers that are varied
    /// are the parameters, and after them the inputs, before their ReLU where they have one.
    fn check(activation: Activation, target: Target) {
        let what = format!("{activation:?}, {target:?}");
        let mut layout = Layout::default();
        layout.reserve(3);
        let layer = Dense::new(&mut layout, N_IN, N_OUT, activation);
        let n_parameters = layout.size();
        let mut rng = test_rng(1);
        let point = random(n_parameters + N_IN * N, &mut rng);
        let (c, d) = (random(N_OUT * N, &mut rng), random(N_IN * N, &mut rng));
        let is_after_relu = matches!(target, Target::BeforeRelu | Target::AddBeforeRelu);
        let inputs = |point: &[f32]| -> Panel {
            let inputs = &point[n_parameters..];
            let cut = |&value: &f32| if is_after_relu { value.max(0.0) } else { value };
            panel(N_IN, N, &inputs.iter().map(cut).collect::<Vec<_>>())
        };
        let forward = |point: &[f32]| -> Panel {
            let mut y = Panel::new(N_OUT, N);
            layer.forward(point, inputs(point).all(), y.all_mut());
            y
        };
        let loss = |point: &[f32]| {
            let other =
                if target == Target::AddBeforeRelu { weighted_sum(&d, &values(&inputs(point))) } else { 0.0 };
            weighted_sum(&c, &values(&forward(point))) + other
        };

        let (x, y) = (inputs(&point), values(&forward(&point)));
        let dy = if activation == Activation::Relu { before_relu(&c, &y) } else { c.clone() };
        let from = if let Target::Store(from) = target { from } else { 0 };
        let mut dx = match target {
            Target::AddBeforeRelu => panel(N_IN, N, &before_relu(&d, &values(&x))),
            _ => panel(N_IN - from, N, &vec![9.0; (N_IN - from) * N]),
        };
        let mut gradients = vec![0.0; n_parameters];
        let input = match target {
            Target::None => InputGradient::None,
            Target::Store(from) => InputGradient::Store(from, dx.all_mut()),
            Target::BeforeRelu => InputGradient::BeforeRelu(dx.all_mut()),
            Target::AddBeforeRelu => InputGradient::AddBeforeRelu(dx.all_mut()),
        };
        let dy = panel(N_OUT, N, &dy);
        layer.backward(&point, &mut gradients, x.all(), dy.all(), input);

        check_gradient(&what, LAYER_TOLERANCE, &point[..n_parameters], &gradients, |parameters| {
            loss(&[parameters, &point[n_parameters..]].concat())
        });
        if target != Target::None {
            let start = n_parameters + from * N;
            check_gradient(&what, LAYER_TOLERANCE, &point[start..], &values(&dx), |inputs| {
                loss(&[&point[..start], inputs].concat())
            });
        }

        // Gradients are added to what is there.
        let once = gradients.clone();
        layer.backward(&point, &mut gradients, x.all(), dy.all(), InputGradient::None);
        for (twice, once) in gradients.iter().zip(&once) {
            assert!((twice - 2.0 * once).abs() <= 1e-5 * once.abs(), "{what}: {twice}, {once}");
        }
    }

    #[test]
    fn gradients_equal_differences() {
        for activation in [Activation::Linear, Activation::Relu] {
            for target in
                [Target::None, Target::Store(0), Target::Store(2), Target::BeforeRelu, Target::AddBeforeRelu]
            {
                check(activation, target);
            }
        }
    }

    /// A decision is a single column, which has loops of its own.
    #[test]
    fn a_column_alone_gives_what_it_gives_among_others() {
        let mut rng = test_rng(2);
        for activation in [Activation::Linear, Activation::Relu] {
            let mut layout = Layout::default();
            let layer = Dense::new(&mut layout, N_IN, N_OUT, activation);
            let parameters = random(layout.size(), &mut rng);
            let x = random(N_IN * N, &mut rng);
            let mut y = Panel::new(N_OUT, N);
            layer.forward(&parameters, panel(N_IN, N, &x).all(), y.all_mut());
            for column in 0..N {
                let alone: Vec<f32> = (0..N_IN).map(|feature| x[feature * N + column]).collect();
                let mut found = Panel::new(N_OUT, 1);
                layer.forward(&parameters, panel(N_IN, 1, &alone).all(), found.all_mut());
                for output in 0..N_OUT {
                    let (found, expected) = (found.line(output)[0], y.line(output)[column]);
                    assert!((found - expected).abs() < 1e-5, "{activation:?}: {found}, {expected}");
                }
            }
        }
    }
}
