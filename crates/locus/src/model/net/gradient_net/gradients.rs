//! The gradients of all actions' predictions at one context.
//!
//! A weight's gradient is the product of its layer's input and the gradient of the layer's sum. The inputs are the same for all
//! actions, so only the latter are stored, and full gradients are computed on demand.

use crate::math::nn::{InputGradient, Panel};
use crate::model::net::reward_net::{NetWork, RewardNet};

/// The gradients of predictions by the sums of every layer, one column for each action.
#[derive(Debug, Default)]
pub(super) struct Gradients {
    /// [out, A] for every layer, the first layer first.
    by_sums: Vec<Panel>,
    /// What a layer read, in every column.
    repeated: Panel,
    /// The squares of a layer's inputs, weighed, for each of its sums.
    weighed: Vec<f32>,
    /// The same for a batch [out, N], for every layer.
    weighed_batch: Vec<Panel>,
}

impl Gradients {
    /// Computes them after the prediction for one context that is in `work`.
    pub(super) fn find(&mut self, net: &RewardNet, parameters: &[f32], work: &NetWork) {
        let n_actions = net.n_actions();
        self.by_sums.resize_with(net.layers().len(), Panel::default);
        for (layer, by_sums) in net.layers().zip(&mut self.by_sums) {
            by_sums.reshape_padded(layer.n_out(), n_actions);
            by_sums.fill(0.0);
        }
        let last = self.by_sums.len() - 1;
        for action in 0..n_actions {
            self.by_sums[last].line_mut(action)[action] = 1.0;
        }
        let layers = net.layers().zip(work.inputs_of_layers()).enumerate().rev();
        for (index, (layer, input)) in layers {
            let (before, after) = self.by_sums.split_at_mut(index);
            let Some(before) = before.last_mut() else { break };
            self.repeated.reshape_padded(layer.n_in(), n_actions);
            for feature in 0..layer.n_in() {
                self.repeated.line_mut(feature).fill(input.line(feature)[0]);
            }
            let target = InputGradient::BeforeRelu(before.all_mut());
            layer.backward_input(parameters, self.repeated.all(), after[0].all(), target);
        }
    }

    /// Adds `Σ gᵢ²·wᵢ` over all parameters, for every action.
    pub(super) fn weigh(&mut self, net: &RewardNet, work: &NetWork, weights: &[f32], sums: &mut [f64]) {
        let layers = net.layers().zip(work.inputs_of_layers()).zip(&self.by_sums);
        for ((layer, input), by_sums) in layers {
            self.weighed.clear();
            self.weighed.extend_from_slice(&weights[layer.bias()]);
            for (feature, weights) in weights[layer.weights()].chunks_exact(layer.n_out()).enumerate() {
                let value = input.line(feature)[0];
                if value == 0.0 {
                    continue;
                }
                let square = value * value;
                self.weighed.iter_mut().zip(weights).for_each(|(place, weight)| *place += square * weight);
            }
            for (index, &weighed) in self.weighed.iter().enumerate() {
                for (sum, &gradient) in sums.iter_mut().zip(by_sums.line(index)) {
                    *sum += f64::from(gradient * gradient * weighed);
                }
            }
        }
    }

    /// `Σ gᵢ²·wᵢ` over all parameters for every action, after the predictions for a batch of contexts that is in `work`: those of a context
    /// side by side. They do not depend on how many contexts there are.
    pub(super) fn weigh_batch(
        &mut self,
        net: &RewardNet,
        (parameters, weights): (&[f32], &[f32]),
        work: &NetWork,
        sums: &mut [f64],
    ) {
        let (n_actions, n_layers) = (net.n_actions(), net.layers().len());
        // What the weights make of the squares of what each layer read [out, N].
        self.weighed_batch.resize_with(n_layers, Panel::default);
        for ((layer, input), weighed) in
            net.layers().zip(work.inputs_of_layers()).zip(&mut self.weighed_batch)
        {
            self.repeated.reshape_like(layer.n_in(), input.all());
            for (squares, values) in self.repeated.all_mut().iter_mut().zip(input.all().iter()) {
                squares.iter_mut().zip(values).for_each(|(square, value)| *square = value * value);
            }
            weighed.reshape_like(layer.n_out(), input.all());
            layer.sums(weights, self.repeated.all(), weighed.all_mut());
        }
        self.by_sums.resize_with(n_layers, Panel::default);
        for action in 0..n_actions {
            let of_last = self.weighed_batch[n_layers - 1].line(action);
            for (column, weighed) in of_last.iter().enumerate() {
                sums[column * n_actions + action] = f64::from(*weighed);
            }
            for index in (1..n_layers).rev() {
                self.back(net, parameters, work, index, action);
                let (by_sums, weighed) = (&self.by_sums[index - 1], &self.weighed_batch[index - 1]);
                for (gradients, weighed) in by_sums.all().iter().zip(weighed.all().iter()) {
                    for (column, (gradient, weighed)) in gradients.iter().zip(weighed).enumerate() {
                        sums[column * n_actions + action] += f64::from(gradient * gradient * weighed);
                    }
                }
            }
        }
    }

    /// The gradient of an action's predictions by the sums of the layer before layer `index`, given that by the sums of `index` itself.
    fn back(&mut self, net: &RewardNet, parameters: &[f32], work: &NetWork, index: usize, action: usize) {
        let layer = net.layers().nth(index).expect("a layer");
        let input = work.inputs_of_layers().nth(index).expect("what it read");
        let (before, after) = self.by_sums.split_at_mut(index);
        let before = &mut before[index - 1];
        before.reshape_like(layer.n_in(), input.all());
        if index + 1 == net.layers().len() {
            // The output's gradient is 1 for the action: its weights, where units are active.
            let weights = &parameters[layer.weights()];
            for (unit, values) in input.all().iter().enumerate() {
                let weight = weights[unit * layer.n_out() + action];
                let places = before.line_mut(unit).iter_mut().zip(values);
                places.for_each(|(place, value)| *place = if *value > 0.0 { weight } else { 0.0 });
            }
            before.clear_padding();
        } else {
            let target = InputGradient::BeforeRelu(before.all_mut());
            layer.backward_input(parameters, input.all(), after[0].all(), target);
        }
    }

    /// The whole gradient of one action, in the order of the parameters.
    pub(super) fn of_action(&self, net: &RewardNet, work: &NetWork, action: usize, gradient: &mut [f64]) {
        let layers = net.layers().zip(work.inputs_of_layers()).zip(&self.by_sums);
        for ((layer, input), by_sums) in layers {
            let by_sum = |sum: usize| f64::from(by_sums.line(sum)[action]);
            for (sum, place) in gradient[layer.bias()].iter_mut().enumerate() {
                *place = by_sum(sum);
            }
            for (feature, places) in gradient[layer.weights()].chunks_exact_mut(layer.n_out()).enumerate() {
                let value = f64::from(input.line(feature)[0]);
                places.iter_mut().enumerate().for_each(|(sum, place)| *place = value * by_sum(sum));
            }
        }
    }
}
