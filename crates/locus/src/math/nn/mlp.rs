//! Dense layers one after another.

use super::dense::{Activation, Dense, InputGradient};
use super::{Layout, Lines, Panel};
use crate::Rng;

/// Layers with ReLUs in between.
#[derive(Clone, Debug)]
pub struct Mlp {
    layers: Vec<Dense>,
}

/// Intermediate results for the backward pass.
#[derive(Clone, Debug, Default)]
pub struct MlpWork {
    /// The output of every layer.
    outputs: Vec<Panel>,
    /// The gradient of every layer's sums.
    gradients: Vec<Panel>,
    /// What the first layer makes of inputs that all columns share.
    base: Vec<f32>,
}

impl Mlp {
    /// `sizes[0]` inputs, layers of the other sizes; `last` follows the last one.
    pub fn new(layout: &mut Layout, sizes: &[usize], last: Activation) -> Self {
        let n_layers = sizes.len() - 1;
        let layers = sizes.windows(2).enumerate().map(|(index, pair)| {
            let activation = if index + 1 == n_layers { last } else { Activation::Relu };
            Dense::new(layout, pair[0], pair[1], activation)
        });
        Self { layers: layers.collect() }
    }

    /// The layers.
    pub fn layers(&self) -> &[Dense] {
        &self.layers
    }

    /// Inputs of the first layer.
    pub fn n_in(&self) -> usize {
        self.layers[0].n_in()
    }

    /// Outputs of the last layer.
    pub fn n_out(&self) -> usize {
        self.layers[self.layers.len() - 1].n_out()
    }

    /// Glorot-uniform weights, zero biases.
    pub fn initialize(&self, parameters: &mut [f32], rng: &mut Rng) {
        self.layers.iter().for_each(|layer| layer.initialize(parameters, rng));
    }

    /// Weights that `weight` draws, each given its layer; zero biases.
    pub fn initialize_with(
        &self,
        parameters: &mut [f32],
        rng: &mut Rng,
        mut weight: impl FnMut(&mut Rng, &Dense) -> f64,
    ) {
        self.layers.iter().for_each(|layer| layer.initialize_with(parameters, rng, &mut weight));
    }

    /// Computes all outputs.
    pub fn forward(&self, parameters: &[f32], x: Lines<'_>, work: &mut MlpWork) {
        self.forward_with(parameters, x, work, |_| {});
    }

    /// The same, with outputs of every layer that `change` may change before the next layer reads them.
    pub fn forward_with(
        &self,
        parameters: &[f32],
        x: Lines<'_>,
        work: &mut MlpWork,
        mut change: impl FnMut(&mut Panel),
    ) {
        work.outputs.resize_with(self.layers.len(), Panel::default);
        for (index, layer) in self.layers.iter().enumerate() {
            let (before, after) = work.outputs.split_at_mut(index);
            let input = before.last().map_or(x, Panel::all);
            after[0].reshape_like(layer.n_out(), x);
            layer.forward(parameters, input, after[0].all_mut());
            change(&mut after[0]);
        }
    }

    /// Computes all outputs where all columns have their first inputs in common: these are `shared`, the others `own` [rest, N].
    pub fn forward_on(&self, parameters: &[f32], shared: &[f32], own: Lines<'_>, work: &mut MlpWork) {
        work.outputs.resize_with(self.layers.len(), Panel::default);
        let (first, rest) = work.outputs.split_at_mut(1);
        first[0].reshape_like(self.layers[0].n_out(), own);
        self.layers[0].forward_on(parameters, shared, own, &mut work.base, first[0].all_mut());
        let mut input = &first[0];
        for (layer, output) in self.layers[1..].iter().zip(rest) {
            output.reshape_like(layer.n_out(), own);
            layer.forward(parameters, input.all(), output.all_mut());
            input = output;
        }
    }

    /// Adds the gradients of all layers, given that of the output ([`MlpWork::output_and_gradient`]); passes the gradient of the input on.
    ///
    /// If the last layer has a ReLU, the output gradient must be that of its sums, as [`InputGradient::BeforeRelu`] of
    /// the nets that follow gives it.
    pub fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        x: Lines<'_>,
        work: &mut MlpWork,
        input: InputGradient<'_>,
    ) {
        self.backward_with(parameters, gradients, x, work, input, |_| {});
    }

    /// The same after [`Mlp::forward_with`]: `change` turns the gradient of every layer's changed outputs into that of the outputs
    /// before the change. Where a changed output is not above 0, its gradient is 0 already.
    pub fn backward_with(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        x: Lines<'_>,
        work: &mut MlpWork,
        input: InputGradient<'_>,
        mut change: impl FnMut(&mut Panel),
    ) {
        let MlpWork { outputs, gradients: panels, .. } = work;
        let mut input = Some(input);
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let (before, after) = panels.split_at_mut(index);
            change(&mut after[0]);
            let (x, target) = match before.last_mut() {
                Some(panel) => (outputs[index - 1].all(), InputGradient::BeforeRelu(panel.all_mut())),
                None => (x, input.take().expect("the first layer comes once")),
            };
            layer.backward(parameters, gradients, x, after[0].all(), target);
        }
    }
}

impl MlpWork {
    /// The output of the last layer.
    pub fn output(&self) -> &Panel {
        &self.outputs[self.outputs.len() - 1]
    }

    /// The output of every layer.
    pub fn outputs(&self) -> &[Panel] {
        &self.outputs
    }

    /// The output, to read, and its gradient, to be filled in before [`Mlp::backward`].
    pub fn output_and_gradient(&mut self) -> (&Panel, &mut Panel) {
        self.gradients.resize_with(self.outputs.len(), Panel::default);
        for (gradient, output) in self.gradients.iter_mut().zip(&self.outputs) {
            gradient.reshape_like(output.n_features(), output.all());
        }
        let last = self.outputs.len() - 1;
        (&self.outputs[last], &mut self.gradients[last])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::math::nn::gradient_check::{
        LAYER_TOLERANCE, before_relu, check_gradient, panel, random, test_rng, values, weighted_sum,
    };

    const N: usize = 21;

    /// Each weight is drawn once, in order, by a closure that knows its layer; biases are 0.
    #[test]
    fn weights_start_as_they_are_drawn() {
        let mut layout = Layout::default();
        let net = Mlp::new(&mut layout, &[3, 2, 4], Activation::Linear);
        let mut parameters = vec![9.0; layout.size()];
        let mut n_drawn = 0;
        net.initialize_with(&mut parameters, &mut Seed::new(0).stream("test", 0), |_, layer| {
            n_drawn += 1;
            (100 * layer.n_in() + 10 * layer.n_out() + n_drawn) as f64
        });
        let expected = [321.0, 322.0, 323.0, 324.0, 325.0, 326.0, 0.0, 0.0];
        assert_eq!(parameters[..8], expected);
        assert_eq!(
            parameters[8..],
            [247.0, 248.0, 249.0, 250.0, 251.0, 252.0, 253.0, 254.0, 0.0, 0.0, 0.0, 0.0]
        );
    }

    /// The limit is √(6/5) for 3 inputs and 2 outputs, and is nearly reached.
    #[test]
    fn glorot_weights_fill_their_range() {
        let mut layout = Layout::default();
        let layer = Dense::new(&mut layout, 3, 2, Activation::Linear);
        let mut parameters = vec![9.0; layout.size()];
        let mut rng = Seed::new(1).stream("test", 0);
        let mut largest = 0.0_f32;
        for _ in 0..1000 {
            layer.initialize(&mut parameters, &mut rng);
            largest =
                parameters[layer.weights()].iter().fold(largest, |largest, weight| largest.max(weight.abs()));
            assert_eq!(parameters[layer.bias()], [0.0, 0.0]);
        }
        let limit = 1.2_f32.sqrt();
        assert!(largest <= limit && largest > 0.99 * limit, "{largest}");
    }

    /// The loss is Σ c·y; all parameters are varied, and after them the inputs.
    fn check(sizes: &[usize], last: Activation) {
        let what = format!("{sizes:?}, {last:?}");
        let mut layout = Layout::default();
        let net = Mlp::new(&mut layout, sizes, last);
        let (n_parameters, n_in, n_out) = (layout.size(), net.n_in(), net.n_out());
        let mut rng = test_rng(3);
        let point = random(n_parameters + n_in * N, &mut rng);
        let c = random(n_out * N, &mut rng);
        let mut work = MlpWork::default();
        let inputs = |point: &[f32]| panel(n_in, N, &point[n_parameters..]);
        let mut loss = |point: &[f32]| {
            net.forward(point, inputs(point).all(), &mut work);
            weighted_sum(&c, &values(work.output()))
        };

        let mut work = MlpWork::default();
        let x = inputs(&point);
        net.forward(&point, x.all(), &mut work);
        let y = values(work.output());
        let (_, gradient) = work.output_and_gradient();
        *gradient = panel(n_out, N, &if last == Activation::Relu { before_relu(&c, &y) } else { c.clone() });
        let (mut gradients, mut dx) = (vec![0.0; n_parameters], Panel::new(n_in, N));
        net.backward(&point, &mut gradients, x.all(), &mut work, InputGradient::Store(0, dx.all_mut()));
        gradients.extend(values(&dx));
        check_gradient(&what, LAYER_TOLERANCE, &point, &gradients, &mut loss);
    }

    #[test]
    fn gradients_equal_differences() {
        for last in [Activation::Linear, Activation::Relu] {
            check(&[5, 3], last);
            check(&[4, 7, 3], last);
            check(&[3, 6, 5, 2], last);
        }
    }
}
