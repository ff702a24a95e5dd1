//! The net that makes the features, and the loss that it is trained by.
//!
//! It predicts every action's reward, linearly from its last hidden layer. The loss is the squared error of the prediction for
//! the action taken, averaged over the minibatch.

use super::config::NeuralLinearConfig;
use crate::nn::{Activation, Dense, InputGradient, Layout, Mlp, MlpWork, Panel};
use crate::policy::minibatch::Minibatch;
use crate::policy::thompson::Breakdown;
use crate::{Rng, Shape};

/// Where each part of the net is.
#[derive(Clone, Debug)]
pub(super) struct Net {
    n_features: usize,
    /// The context to the features.
    hidden: Mlp,
    /// The features to the rewards of all actions.
    output: Dense,
    pub(super) n_parameters: usize,
}

/// What the net computes on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct NetWork {
    pub(super) batch: Minibatch,
    hidden: MlpWork,
    /// The predicted rewards [A, N], and their gradient.
    predictions: Panel,
    prediction_gradients: Panel,
    pub(super) gradients: Vec<f32>,
}

impl Net {
    pub(super) fn new(config: &NeuralLinearConfig, shape: Shape) -> Self {
        let mut layout = Layout::default();
        let sizes: Vec<usize> =
            [shape.n_features].into_iter().chain(config.hidden_layers.0.iter().copied()).collect();
        let hidden = Mlp::new(&mut layout, &sizes, Activation::Relu);
        let output = Dense::new(&mut layout, hidden.n_out(), shape.n_actions, Activation::Linear);
        Self { n_features: shape.n_features, hidden, output, n_parameters: layout.len() }
    }

    /// Size of the last hidden layer.
    pub(super) fn dim(&self) -> usize {
        self.hidden.n_out()
    }

    /// Weights uniform within `limit` of 0, zero biases.
    pub(super) fn initialize(&self, limit: f64, rng: &mut Rng) -> Vec<f32> {
        let mut parameters = vec![0.0; self.n_parameters];
        let weight = |rng: &mut Rng, _: &Dense| limit * (2.0 * rng.uniform() - 1.0);
        self.hidden.initialize_with(&mut parameters, rng, weight);
        self.output.initialize_with(&mut parameters, rng, weight);
        parameters
    }

    /// The features [dim, N] of contexts. Fails if one is not finite.
    pub(super) fn features<'a>(
        &self,
        parameters: &[f32],
        contexts: &[&[f32]],
        work: &'a mut NetWork,
    ) -> Result<&'a Panel, Breakdown> {
        let inputs = &mut work.batch.inputs;
        inputs.reshape(self.n_features, contexts.len());
        inputs.put_rows(0, contexts);
        self.hidden.forward(parameters, inputs.all(), &mut work.hidden);
        match work.hidden.output().find_non_finite() {
            None => Ok(work.hidden.output()),
            Some(_) => Err(self.find_breakdown(work, "a feature")),
        }
    }

    /// The loss of the minibatch in `work`; its gradients are added to `work.gradients`.
    pub(super) fn loss(&self, parameters: &[f32], work: &mut NetWork) -> f64 {
        let NetWork { batch, hidden, predictions, prediction_gradients, gradients } = work;
        let Minibatch { inputs, actions, rewards } = batch;
        let n_rows = inputs.n_columns();
        self.hidden.forward(parameters, inputs.all(), hidden);
        predictions.reshape_like(self.output.n_out(), inputs.all());
        self.output.forward(parameters, hidden.output().all(), predictions.all_mut());

        prediction_gradients.reshape_like(self.output.n_out(), inputs.all());
        prediction_gradients.fill(0.0);
        let weight = 2.0 / n_rows as f32;
        let mut squares = 0.0;
        for (column, (&action, &reward)) in actions.iter().zip(&*rewards).enumerate() {
            let error = predictions.line(action)[column] - reward;
            squares += f64::from(error) * f64::from(error);
            prediction_gradients.line_mut(action)[column] = weight * error;
        }

        let (features, feature_gradients) = hidden.output_and_gradient();
        let to_features = InputGradient::BeforeRelu(feature_gradients.all_mut());
        self.output.backward(parameters, gradients, features.all(), prediction_gradients.all(), to_features);
        self.hidden.backward(parameters, gradients, inputs.all(), hidden, InputGradient::None);
        squares / n_rows as f64
    }

    /// Where the first number that is not finite arose; `otherwise` if the layers have none.
    pub(super) fn find_breakdown(&self, work: &NetWork, otherwise: &str) -> Breakdown {
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
