//! The net, and the loss that it is trained by.
//!
//! It predicts every action's reward, linearly from its last hidden layer. The loss is the squared error of the prediction for
//! the action taken, averaged over the minibatch.

use crate::agent::{Breakdown, JointRows};
use crate::math::nn::{Activation, Dense, InputGradient, Layout, Mlp, MlpWork, Panel};
use crate::model::training::minibatch::Minibatch;
use crate::model::training::reward_scaling::RewardScale;
use crate::registry::values::Layers;
use crate::{Rng, Shape};

/// Where each part of the net is.
#[derive(Clone, Debug)]
pub(crate) struct RewardNet {
    pub(crate) n_features: usize,
    /// The context to the features.
    hidden: Mlp,
    /// The features to the rewards of all actions.
    output: Dense,
    pub(crate) n_parameters: usize,
    /// Where all of them are.
    pub(crate) layout: Layout,
}

/// Intermediate results of the net.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetWork {
    pub(crate) batch: Minibatch,
    hidden: MlpWork,
    /// The predicted rewards [A, N], and their gradient.
    predictions: Panel,
    prediction_gradients: Panel,
    pub(crate) gradients: Vec<f32>,
}

impl NetWork {
    /// What every layer read, from the contexts on.
    pub(crate) fn inputs_of_layers(&self) -> impl ExactSizeIterator<Item = &Panel> + DoubleEndedIterator {
        let before = |layer: usize| {
            layer.checked_sub(1).map_or(&self.batch.inputs, |before| &self.hidden.outputs()[before])
        };
        (0..self.hidden.outputs().len() + 1).map(before)
    }

    /// What the last layer reads: the outputs of the last hidden layer, or the contexts where there is none.
    fn features(&self) -> &Panel {
        self.hidden.outputs().last().unwrap_or(&self.batch.inputs)
    }
}

/// A transformation of a hidden layer's outputs before the next layer, such as dropout.
pub(crate) trait Units {
    /// Changes the outputs; what is 0 stays 0. **Samples.**
    fn pass(&self, outputs: &mut Panel, rng: &mut Rng);

    /// Turns the gradient of changed outputs into that of the outputs. Where a changed output is 0, its gradient is 0 already.
    fn pass_back(&self, gradients: &mut Panel);
}

/// They stay as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllUnits;

impl Units for AllUnits {
    fn pass(&self, _outputs: &mut Panel, _rng: &mut Rng) {}

    fn pass_back(&self, _gradients: &mut Panel) {}
}

impl RewardNet {
    pub(crate) fn new(hidden_layers: &Layers, shape: Shape) -> Self {
        let mut layout = Layout::default();
        let sizes: Vec<usize> =
            [shape.n_features].into_iter().chain(hidden_layers.0.iter().copied()).collect();
        let hidden = Mlp::new(&mut layout, &sizes, Activation::Relu);
        let n_in = sizes[sizes.len() - 1];
        let output = Dense::new(&mut layout, n_in, shape.n_actions, Activation::Linear);
        Self { n_features: shape.n_features, hidden, output, n_parameters: layout.size(), layout }
    }

    /// Size of the last hidden layer, or of the context where there is none.
    pub(crate) fn dim(&self) -> usize {
        self.output.n_in()
    }

    /// How many rewards it predicts.
    pub(crate) fn n_actions(&self) -> usize {
        self.output.n_out()
    }

    /// All layers, that of the outputs last.
    pub(crate) fn layers(&self) -> impl ExactSizeIterator<Item = &Dense> + DoubleEndedIterator {
        let n_hidden = self.hidden.layers().len();
        (0..n_hidden + 1).map(move |layer| self.hidden.layers().get(layer).unwrap_or(&self.output))
    }

    /// Weights uniform within `limit` of 0, zero biases.
    pub(crate) fn initialize(&self, limit: f64, rng: &mut Rng) -> Vec<f32> {
        let mut parameters = vec![0.0; self.n_parameters];
        let weight = |rng: &mut Rng, _: &Dense| limit * (2.0 * rng.uniform() - 1.0);
        self.hidden.initialize_with(&mut parameters, rng, weight);
        self.output.initialize_with(&mut parameters, rng, weight);
        parameters
    }

    /// Glorot-uniform weights, zero biases.
    pub(crate) fn initialize_as_glorot(&self, parameters: &mut [f32], rng: &mut Rng) {
        self.hidden.initialize(parameters, rng);
        self.output.initialize(parameters, rng);
    }

    /// The features [dim, N] of contexts. Fails if one is not finite.
    pub(crate) fn features<'a>(
        &self,
        parameters: &[f32],
        contexts: &[&[f32]],
        work: &'a mut NetWork,
    ) -> Result<&'a Panel, Breakdown> {
        work.batch.set_contexts(contexts, self.n_features, 0);
        self.hidden.forward(parameters, work.batch.inputs.all(), &mut work.hidden);
        match work.features().find_non_finite() {
            None => Ok(work.features()),
            Some(_) => Err(self.find_breakdown(work, "a feature")),
        }
    }

    /// The predicted rewards of contexts, those of a context side by side. Fails if one is not finite. **Samples** if `units` do.
    pub(crate) fn predict(
        &self,
        parameters: &[f32],
        contexts: &[&[f32]],
        units: &impl Units,
        rng: &mut Rng,
        work: &mut NetWork,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        work.batch.set_contexts(contexts, self.n_features, 0);
        self.forward(parameters, work, |outputs| units.pass(outputs, rng));
        self.read_predictions(work, rewards)
    }

    /// The predicted rewards of one context, with all units as they are. Fails if one is not finite.
    pub(crate) fn predict_surely(
        &self,
        parameters: &[f32],
        context: &[f32],
        work: &mut NetWork,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        work.batch.set_contexts(&[context], self.n_features, 0);
        self.forward(parameters, work, |_| {});
        self.read_predictions(work, rewards)
    }

    /// The predicted rewards of a batch of contexts, those of a context side by side: they do not depend on how many there are. `pass` may
    /// change what a hidden layer gives. Fails if one is not finite.
    pub(crate) fn predict_batch(
        &self,
        parameters: &[f32],
        contexts: &[&[f32]],
        work: &mut NetWork,
        rewards: &mut [f64],
        pass: impl FnMut(&mut Panel),
    ) -> Result<(), Breakdown> {
        work.batch.set_batch(contexts, self.n_features, 0);
        self.forward(parameters, work, pass);
        self.read_predictions(work, rewards)
    }

    /// The predicted reward of every row `[x, f_a]`, by a net for a single action. `pass` may change what a hidden layer gives. Fails if
    /// one is not finite.
    pub(crate) fn predict_joint(
        &self,
        parameters: &[f32],
        rows: JointRows<'_>,
        work: &mut NetWork,
        rewards: &mut [f64],
        pass: impl FnMut(&mut Panel),
    ) -> Result<(), Breakdown> {
        work.batch.set_joint(rows, self.n_features, 0);
        self.forward(parameters, work, pass);
        self.read_predictions(work, rewards)
    }

    /// The features [dim, N] of rows `[x, f_a]`. Fails if one is not finite.
    pub(crate) fn features_of_joint<'a>(
        &self,
        parameters: &[f32],
        rows: JointRows<'_>,
        work: &'a mut NetWork,
    ) -> Result<&'a Panel, Breakdown> {
        work.batch.set_joint(rows, self.n_features, 0);
        self.hidden.forward(parameters, work.batch.inputs.all(), &mut work.hidden);
        let not_finite = |line: &[f32]| line.iter().any(|value| !value.is_finite());
        match work.features().all().iter().any(not_finite) {
            false => Ok(work.features()),
            true => Err(self.find_breakdown(work, "a feature")),
        }
    }

    /// The features [dim, N] of a batch of contexts: they do not depend on how many there are. If one is not finite, fails with the column
    /// that it is in.
    pub(crate) fn features_of_batch<'a>(
        &self,
        parameters: &[f32],
        contexts: &[&[f32]],
        work: &'a mut NetWork,
    ) -> Result<&'a Panel, (usize, Breakdown)> {
        work.batch.set_batch(contexts, self.n_features, 0);
        self.hidden.forward(parameters, work.batch.inputs.all(), &mut work.hidden);
        let not_finite = |line: &[f32]| line.iter().position(|value| !value.is_finite());
        match work.features().all().iter().find_map(not_finite) {
            None => Ok(work.features()),
            Some(column) => Err((column, self.find_breakdown(work, "a feature"))),
        }
    }

    fn read_predictions(&self, work: &NetWork, rewards: &mut [f64]) -> Result<(), Breakdown> {
        RewardScale::AS_GIVEN.read_rewards(&work.predictions, rewards);
        match work.predictions.find_non_finite() {
            Some(_) => Err(self.find_breakdown(work, "a predicted reward")),
            None => Ok(()),
        }
    }

    /// The loss of the minibatch in `work`; its gradients are added to `work.gradients`. **Samples** if `units` do.
    pub(crate) fn loss(
        &self,
        parameters: &[f32],
        units: &impl Units,
        rng: &mut Rng,
        work: &mut NetWork,
    ) -> f64 {
        let weight = 2.0 / work.batch.actions.len() as f32;
        let of_error = |_: usize, error: f32| (f64::from(error) * f64::from(error), weight * error);
        self.loss_of_errors(parameters, units, rng, work, of_error) / work.batch.actions.len() as f64
    }

    /// The sum of what `of_error` makes of the error for every action taken: its part of the loss, and the gradient of that in the
    /// prediction. The net's gradients are added to `work.gradients`. **Samples** if `units` do.
    pub(crate) fn loss_of_errors(
        &self,
        parameters: &[f32],
        units: &impl Units,
        rng: &mut Rng,
        work: &mut NetWork,
        mut of_error: impl FnMut(usize, f32) -> (f64, f32),
    ) -> f64 {
        self.forward(parameters, work, |outputs| units.pass(outputs, rng));
        let NetWork { batch, hidden, predictions, prediction_gradients, gradients } = work;
        let Minibatch { inputs, actions, rewards } = batch;
        prediction_gradients.reshape_like(self.output.n_out(), inputs.all());
        prediction_gradients.fill(0.0);
        let mut loss = 0.0;
        for (column, (&action, &reward)) in actions.iter().zip(&*rewards).enumerate() {
            let error = predictions.line(action)[column] - reward;
            let (part, gradient) = of_error(action, error);
            loss += part;
            prediction_gradients.line_mut(action)[column] = gradient;
        }

        let (features, to_features) = if hidden.outputs().is_empty() {
            (&*inputs, InputGradient::None)
        } else {
            let (features, feature_gradients) = hidden.output_and_gradient();
            (features, InputGradient::BeforeRelu(feature_gradients.all_mut()))
        };
        self.output.backward(parameters, gradients, features.all(), prediction_gradients.all(), to_features);
        let pass_back = |gradients: &mut Panel| units.pass_back(gradients);
        self.hidden.backward_with(
            parameters,
            gradients,
            inputs.all(),
            hidden,
            InputGradient::None,
            pass_back,
        );
        loss
    }

    /// Computes the predictions for the contexts in `work`; `pass` may change what a hidden layer gives.
    fn forward(&self, parameters: &[f32], work: &mut NetWork, pass: impl FnMut(&mut Panel)) {
        let NetWork { batch: Minibatch { inputs, .. }, hidden, predictions, .. } = work;
        self.hidden.forward_with(parameters, inputs.all(), hidden, pass);
        predictions.reshape_like(self.output.n_out(), inputs.all());
        let features = hidden.outputs().last().unwrap_or(inputs);
        self.output.forward(parameters, features.all(), predictions.all_mut());
    }

    /// Where the first number that is not finite arose; `otherwise` if the layers have none.
    pub(crate) fn find_breakdown(&self, work: &NetWork, otherwise: &str) -> Breakdown {
        let hidden = work.hidden.outputs().iter().enumerate();
        let hidden = hidden.map(|(layer, panel)| (format!("hidden layer {}", layer + 1), panel));
        let output = ("the predicted rewards".to_owned(), &work.predictions);
        for (place, panel) in hidden.chain([output]) {
            if let Some(found) = panel.find_non_finite() {
                return Breakdown { place, found: f64::from(found) };
            }
        }
        Breakdown { place: otherwise.to_owned(), found: f64::NAN }
    }
}
