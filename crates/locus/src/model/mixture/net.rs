//! The net whose last hidden layer computes the features.
//!
//! It predicts every action's reward, with a Gaussian likelihood, and learns as the LU nets do: per observation the loss is
//! −A·log N(y; μ(x)[a], σ[a]²), σ is learned on the log scale, one for each action, and Adam keeps its state as long as the policy lives.

use super::config::LocusConfig;
use crate::agent::{Breakdown, FitReport, Replay};
use crate::math::nn::{Adam, Layout};
use crate::model::net::reward_net::{AllUnits, NetWork, RewardNet, Weights};
use crate::model::training::minibatch::Gathering;
use crate::model::training::optimized;
use crate::model::training::reward_scaling::RewardScale;
use crate::registry::save::{Decoder, Encoder};
use crate::{Error, Rng, Shape};

/// The training state of the net. The parameters are those of the net, then log σ [A].
#[derive(Clone, Debug)]
pub(super) struct GaussTrainer {
    /// N, rows of a minibatch.
    batch_size: usize,
    minibatches: u32,
    optimizer: Adam,
    /// Room for σ [A] and the gradient of its logarithm.
    stds: Vec<f32>,
    std_gradients: Vec<f32>,
}

impl GaussTrainer {
    /// An untrained net and its training state. **Samples.**
    pub(super) fn new(config: &LocusConfig, shape: Shape, rng: &mut Rng) -> (Weights, Self) {
        let net = RewardNet::new(&config.hidden_layers, shape);
        let mut parameters = vec![0.0; net.n_parameters + shape.n_actions];
        net.initialize_as_glorot(&mut parameters, rng);
        parameters[net.n_parameters..].fill(libm::log(config.reward_std) as f32);
        let optimizer = Adam::new(parameters.len(), config.learning_rate as f32);
        (Weights { net, parameters }, Self::assemble(config, optimizer))
    }

    /// Adds an action, the last of `shape`: an output and its σ, which begin as in an untrained net. **Samples.**
    pub(super) fn add_action(
        &mut self,
        config: &LocusConfig,
        weights: &mut Weights,
        shape: Shape,
        rng: &mut Rng,
    ) {
        let (untrained, _) = Self::new(config, shape, rng);
        let (from, to) = (layout(&weights.net), layout(&untrained.net));
        self.optimizer.grow(&from, &to);
        let parameters = from.carry_over(&weights.parameters, &to, untrained.parameters);
        *weights = Weights { net: untrained.net, parameters };
    }

    fn assemble(config: &LocusConfig, optimizer: Adam) -> Self {
        Self {
            batch_size: config.batch_size as usize,
            minibatches: config.minibatches,
            optimizer,
            stds: Vec::new(),
            std_gradients: Vec::new(),
        }
    }

    /// Runs a round of training on the replay, with rewards on `scale`. **Samples.**
    pub(super) fn train(
        &mut self,
        weights: &mut Weights,
        replay: &Replay,
        scale: RewardScale,
        rng: &mut Rng,
        work: &mut NetWork,
    ) -> Result<FitReport, Breakdown> {
        work.gradients.clear();
        work.gradients.resize(weights.parameters.len(), 0.0);
        let (n_rows, n_features) = (self.batch_size, weights.net.n_features);
        let gathering = Gathering { n_rows, n_features, n_more_lines: 0, scale };
        let mut total = 0.0;
        for _ in 0..self.minibatches {
            work.batch.gather(replay, rng, gathering);
            let loss = self.loss(weights, rng, work);
            if !loss.is_finite() {
                return Err(weights.net.find_breakdown(work, "the loss"));
            }
            total += loss;
            self.optimizer.step(&mut weights.parameters, &mut work.gradients);
        }
        optimized::check("", &weights.parameters, &self.optimizer)?;
        Ok(FitReport::new(self.minibatches, total / f64::from(self.minibatches)))
    }

    /// The loss of the minibatch in `work`; its gradients are added to `work.gradients`.
    fn loss(&mut self, Weights { net, parameters }: &Weights, rng: &mut Rng, work: &mut NetWork) -> f64 {
        let weight = net.n_actions() as f32 / work.batch.actions.len() as f32;
        let Self { stds, std_gradients, .. } = self;
        let log_stds = &parameters[net.n_parameters..];
        stds.clear();
        stds.extend(log_stds.iter().map(|&log_std| libm::expf(log_std)));
        std_gradients.clear();
        std_gradients.resize(log_stds.len(), 0.0);
        let of_error = |action: usize, error: f32| {
            let deviation = error / stds[action];
            std_gradients[action] += weight * (1.0 - deviation * deviation);
            let loss = 0.5 * deviation * deviation + log_stds[action];
            (f64::from(loss), weight * deviation / stds[action])
        };
        let sum = net.loss_of_errors(parameters, &AllUnits, rng, work, of_error);
        for (place, gradient) in work.gradients[net.n_parameters..].iter_mut().zip(std_gradients) {
            *place += *gradient;
        }
        sum * f64::from(weight)
    }

    pub(super) fn encode(&self, weights: &Weights, encoder: &mut Encoder) {
        optimized::encode(&weights.parameters, &self.optimizer, encoder);
    }

    pub(super) fn decode(
        config: &LocusConfig,
        shape: Shape,
        decoder: &mut Decoder<'_>,
    ) -> Result<(Weights, Self), Error> {
        decoder.check_room(shape)?;
        let net = RewardNet::new(&config.hidden_layers, shape);
        let n_parameters = net.n_parameters + shape.n_actions;
        let (parameters, optimizer) = optimized::decode(n_parameters, config.learning_rate as f32, decoder)?;
        Ok((Weights { net, parameters }, Self::assemble(config, optimizer)))
    }
}

/// Where the parameters are: those of the net, then log σ of every action.
fn layout(net: &RewardNet) -> Layout {
    let mut layout = net.layout.clone();
    layout.reserve(net.n_actions());
    layout
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::math::nn::gradient_check::check_gradient;
    use crate::registry::values::Layers;

    /// −A·mean log N(y; μ[a], σ[a]²) without its constant, in double precision from the net's own predictions; the gradient against finite
    /// differences, those in log σ among them.
    #[test]
    fn the_loss_is_the_likelihood_and_its_gradient_the_difference() {
        let (shape, n_rows) = (Shape::new(3, 4), 21);
        let config = LocusConfig::default().hidden_layers(Layers(vec![6])).batch_size(21).minibatches(1);
        let mut rng = Seed::new(2).stream("test", 0);
        let (mut net, mut trainer) = GaussTrainer::new(&config, shape, &mut rng);
        net.parameters.iter_mut().for_each(|parameter| *parameter += 0.2 * rng.normal() as f32);
        let contexts: Vec<Vec<f32>> =
            (0..n_rows).map(|_| (0..3).map(|_| rng.normal() as f32).collect()).collect();
        let actions: Vec<usize> = (0..n_rows).map(|row| (row * row) % 3).collect();
        let targets: Vec<f32> = (0..n_rows).map(|_| rng.normal() as f32).collect();
        let mut loss = |net: &Weights, work: &mut NetWork, rng: &mut Rng| {
            work.gradients = vec![0.0; net.parameters.len()];
            work.batch.inputs.reshape_padded(3, n_rows);
            work.batch.inputs.put_rows(0, &contexts.iter().map(Vec::as_slice).collect::<Vec<_>>());
            (work.batch.actions, work.batch.rewards) = (actions.clone(), targets.clone());
            trainer.loss(net, rng, work)
        };
        let mut work = NetWork::default();
        let found = loss(&net, &mut work, &mut rng);
        let gradients = work.gradients.clone();

        let by_hand: f64 = (0..n_rows)
            .map(|row| {
                let mut predictions = [0.0; 4];
                let context = [contexts[row].as_slice()];
                let net_work = &mut NetWork::default();
                net.net
                    .predict(&net.parameters, &context, &AllUnits, &mut rng, net_work, &mut predictions)
                    .unwrap();
                let log_std = f64::from(net.parameters[net.net.n_parameters + actions[row]]);
                let deviation = (f64::from(targets[row]) - predictions[actions[row]]) / log_std.exp();
                4.0 / n_rows as f64 * (0.5 * deviation * deviation + log_std)
            })
            .sum();
        assert!((found - by_hand).abs() < 1e-5 * by_hand.abs().max(1.0), "{found}, {by_hand}");
        let point = net.parameters.clone();
        check_gradient("locus", 2e-3, &point, &gradients, |moved| {
            net.parameters.copy_from_slice(moved);
            loss(&net, &mut work, &mut rng)
        });
    }
}
