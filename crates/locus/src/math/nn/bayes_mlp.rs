//! Dense layers of Gaussian weights, one after another.

use super::bayes_dense::{BayesDense, BayesDenseWork, BayesStart};
use super::dense::Activation;
use super::{Input, Layout, NormalSource, Panel};
use crate::Rng;

/// Layers with ReLUs in between, and none after the last.
#[derive(Clone, Debug)]
pub struct BayesMlp {
    layers: Vec<BayesDense>,
}

/// Intermediate results for the backward pass.
#[derive(Clone, Debug, Default)]
pub struct BayesMlpWork {
    layers: Vec<BayesDenseWork>,
}

impl BayesMlp {
    /// `sizes[0]` inputs, layers of the other sizes.
    pub fn new(layout: &mut Layout, sizes: &[usize]) -> Self {
        let last = sizes.len() - 2;
        let layers = sizes.windows(2).enumerate().map(|(index, pair)| {
            let activation = if index == last { Activation::Linear } else { Activation::Relu };
            BayesDense::new(layout, pair[0], pair[1], activation)
        });
        Self { layers: layers.collect() }
    }

    /// The layers.
    pub fn layers(&self) -> &[BayesDense] {
        &self.layers
    }

    /// Draws every parameter.
    pub fn initialize(&self, parameters: &mut [f32], start: BayesStart, rng: &mut Rng) {
        self.layers.iter().for_each(|layer| layer.initialize(parameters, start, rng));
    }

    /// The variances of every layer's weights, which the other functions ask for.
    pub fn variances(&self, parameters: &[f32], variances: &mut Vec<Vec<f32>>) {
        variances.resize_with(self.layers.len(), Vec::new);
        for (layer, variances) in self.layers.iter().zip(variances) {
            layer.variances(parameters, variances);
        }
    }

    /// Draws the outputs of all layers, independently for every column of x. **Samples.**
    ///
    /// Given the output of a layer, the sums of the next depend on weights of their own. So with a floor of 0 the outputs for a
    /// column are exactly what one draw of all weights of the net would give for it.
    pub fn forward(
        &self,
        parameters: &[f32],
        variances: &[Vec<f32>],
        x: Input<'_>,
        floor: f32,
        normals: &mut impl NormalSource,
        work: &mut BayesMlpWork,
    ) {
        work.layers.resize_with(self.layers.len(), BayesDenseWork::default);
        for (index, layer) in self.layers.iter().enumerate() {
            let (before, after) = work.layers.split_at_mut(index);
            let input = before.last().map_or(x, |work| Input::Dense(work.output.all()));
            layer.forward(parameters, &variances[index], input, floor, normals, &mut after[0]);
        }
    }

    /// Adds the gradients of all layers, given that of the output ([`BayesMlpWork::output_and_gradient`]).
    pub fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        variances: &[Vec<f32>],
        x: Input<'_>,
        work: &mut BayesMlpWork,
    ) {
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let (before, after) = work.layers.split_at_mut(index);
            let (x, dx) = match before.last_mut() {
                Some(BayesDenseWork { output, gradient, .. }) => {
                    (Input::Dense(output.all()), Some(gradient.all_mut()))
                }
                None => (x, None),
            };
            layer.backward(parameters, gradients, &variances[index], x, &mut after[0], dx);
        }
    }

    /// KL(q ‖ p) of all weights, where p is N(0, gain ÷ inputs of the layer) for each; adds `weight` times its gradients.
    pub fn add_kl(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        variances: &[Vec<f32>],
        gain: f64,
        weight: f32,
    ) -> f64 {
        let kl = |(layer, variances): (&BayesDense, &Vec<f32>)| {
            let prior_variance = gain / layer.n_in() as f64;
            layer.add_kl(parameters, gradients, variances, prior_variance, weight)
        };
        self.layers.iter().zip(variances).map(kl).sum()
    }
}

impl BayesMlpWork {
    /// The output of the last layer.
    pub fn output(&self) -> &Panel {
        &self.layers[self.layers.len() - 1].output
    }

    /// The standard deviations of every layer's sums, and its output.
    pub fn stds_and_outputs(&self) -> impl Iterator<Item = (&Panel, &Panel)> {
        self.layers.iter().map(|work| (&work.std, &work.output))
    }

    /// The output, to read, and its gradient, to be filled in before [`BayesMlp::backward`].
    pub fn output_and_gradient(&mut self) -> (&Panel, &mut Panel) {
        for BayesDenseWork { output, gradient, .. } in &mut self.layers {
            gradient.reshape_like(output.n_features(), output.all());
        }
        let last = self.layers.len() - 1;
        let BayesDenseWork { output, gradient, .. } = &mut self.layers[last];
        (output, gradient)
    }
}

#[cfg(test)]
mod tests;
