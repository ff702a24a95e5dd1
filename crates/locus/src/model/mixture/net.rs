//! Nets whose last hidden layer gives features: a plain one, or that of an LU policy with its latent variable held still.
//!
//! The plain net predicts every action's reward, with a Gaussian likelihood. It learns as the LU nets do: per observation the loss is
//! −A·log N(y; μ(x)[a], σ[a]²), σ is learned on the log scale, one for each action, and Adam keeps its state as long as the policy lives.

use super::config::{LocusConfig, NetKind};
use crate::agent::FitReport;
use crate::agent::replay::Replay;
use crate::agent::wrapper::{Breakdown, RewardModel};
use crate::math::nn::{Adam, Panel};
use crate::model::lu::config::{LuGaussConfig, LuSiviConfig};
use crate::model::lu::model::{Lu, LuWork};
use crate::model::net::reward_net::{AllUnits, NetWork, RewardNet};
use crate::model::training::minibatch::Gathering;
use crate::model::training::optimized;
use crate::model::training::reward_scaling::RewardScale;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::values::Layers;
use crate::{Error, Rng, Seed, Shape};

/// A net that gives features.
#[derive(Clone, Debug)]
pub(super) enum FeatureNet {
    Plain(Box<GaussNet>),
    LuGauss(Box<Lu<LuGaussConfig>>),
    LuSivi(Box<Lu<LuSiviConfig>>),
}

/// Room for what a net computes.
#[derive(Debug, Default)]
pub(super) struct FeatureWork {
    plain: NetWork,
    gauss: LuWork<LuGaussConfig>,
    sivi: LuWork<LuSiviConfig>,
}

impl FeatureNet {
    /// An untrained net. **Samples.**
    pub(super) fn new(config: &LocusConfig, shape: Shape, seed: Seed) -> Self {
        match config.feature_net {
            NetKind::Plain => {
                Self::Plain(Box::new(GaussNet::new(config.net(), shape, &mut seed.stream("init", 0))))
            }
            NetKind::LuGauss => Self::LuGauss(Box::new(Lu::new(&config.lu_gauss(), shape, seed))),
            NetKind::LuSivi => Self::LuSivi(Box::new(Lu::new(&config.lu_sivi(), shape, seed))),
        }
    }

    /// How many features it gives.
    pub(super) fn dim(&self) -> usize {
        match self {
            Self::Plain(net) => net.dim(),
            Self::LuGauss(net) => net.n_features(),
            Self::LuSivi(net) => net.n_features(),
        }
    }

    /// The features [dim, N] of contexts. Fails if one is not finite.
    pub(super) fn features<'a>(
        &self,
        contexts: &[&[f32]],
        work: &'a mut FeatureWork,
    ) -> Result<&'a Panel, Breakdown> {
        match self {
            Self::Plain(net) => net.features(contexts, &mut work.plain),
            Self::LuGauss(net) => net.features(contexts, &mut work.gauss),
            Self::LuSivi(net) => net.features(contexts, &mut work.sivi),
        }
    }

    /// A round of training on all observations that are kept, with rewards on `scale`. **Samples.**
    pub(super) fn train(
        &mut self,
        replay: &Replay,
        scale: RewardScale,
        rng: &mut Rng,
        work: &mut FeatureWork,
    ) -> Result<FitReport, Breakdown> {
        match self {
            Self::Plain(net) => net.train(replay, scale, rng, &mut work.plain),
            Self::LuGauss(net) => net.train(replay, scale, rng),
            Self::LuSivi(net) => net.train(replay, scale, rng),
        }
    }

    pub(super) fn encode(&self, encoder: &mut Encoder) {
        match self {
            Self::Plain(net) => net.encode(encoder),
            Self::LuGauss(net) => net.encode(encoder),
            Self::LuSivi(net) => net.encode(encoder),
        }
    }

    pub(super) fn decode(
        config: &LocusConfig,
        shape: Shape,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        Ok(match config.feature_net {
            NetKind::Plain => Self::Plain(Box::new(GaussNet::decode(config.net(), shape, decoder)?)),
            NetKind::LuGauss => Self::LuGauss(Box::new(Lu::decode(&config.lu_gauss(), shape, decoder)?)),
            NetKind::LuSivi => Self::LuSivi(Box::new(Lu::decode(&config.lu_sivi(), shape, decoder)?)),
        })
    }
}

/// What the plain net is, and how it learns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NetSettings {
    pub(super) hidden_layers: Layers,
    pub(super) learning_rate: f32,
    pub(super) reward_std: f64,
    /// N, rows of a minibatch.
    pub(super) batch_size: usize,
    /// Minibatches of a round of training.
    pub(super) minibatches: u32,
}

/// The net, its parameters and their optimizer.
#[derive(Clone, Debug)]
pub(super) struct GaussNet {
    pub(super) settings: NetSettings,
    net: RewardNet,
    n_actions: usize,
    /// Those of the net, then log σ [A].
    parameters: Vec<f32>,
    optimizer: Adam,
    /// Room for σ [A] and the gradient of its logarithm.
    stds: Vec<f32>,
    std_gradients: Vec<f32>,
}

impl GaussNet {
    /// An untrained net. **Samples.**
    pub(super) fn new(settings: NetSettings, shape: Shape, rng: &mut Rng) -> Self {
        let net = RewardNet::new(&settings.hidden_layers, shape);
        let mut parameters = vec![0.0; net.n_parameters + shape.n_actions];
        net.initialize_as_glorot(&mut parameters, rng);
        parameters[net.n_parameters..].fill(libm::log(settings.reward_std) as f32);
        let optimizer = Adam::new(parameters.len(), settings.learning_rate);
        Self::assemble(settings, net, shape, parameters, optimizer)
    }

    fn assemble(
        settings: NetSettings,
        net: RewardNet,
        shape: Shape,
        parameters: Vec<f32>,
        optimizer: Adam,
    ) -> Self {
        let n_actions = shape.n_actions;
        Self { settings, net, n_actions, parameters, optimizer, stds: Vec::new(), std_gradients: Vec::new() }
    }

    /// How many features it gives.
    pub(super) fn dim(&self) -> usize {
        self.net.dim()
    }

    /// The features [dim, N] of contexts. Fails if one is not finite.
    pub(super) fn features<'a>(
        &self,
        contexts: &[&[f32]],
        work: &'a mut NetWork,
    ) -> Result<&'a Panel, Breakdown> {
        self.net.features(&self.parameters, contexts, work)
    }

    /// A round of training on all observations that are kept, with rewards on `scale`; the mean loss. **Samples.**
    pub(super) fn train(
        &mut self,
        replay: &Replay,
        scale: RewardScale,
        rng: &mut Rng,
        work: &mut NetWork,
    ) -> Result<FitReport, Breakdown> {
        work.gradients.clear();
        work.gradients.resize(self.parameters.len(), 0.0);
        let (n_rows, n_features) = (self.settings.batch_size, self.net.n_features);
        let gathering = Gathering { n_rows, n_features, n_more_lines: 0, scale };
        let mut total = 0.0;
        for _ in 0..self.settings.minibatches {
            work.batch.gather(replay, rng, gathering);
            let loss = self.loss(rng, work);
            if !loss.is_finite() {
                return Err(self.net.find_breakdown(work, "the loss"));
            }
            total += loss;
            self.optimizer.step(&mut self.parameters, &mut work.gradients);
        }
        optimized::check("", &self.parameters, &self.optimizer)?;
        let minibatches = self.settings.minibatches;
        let mean_loss = Some(total / f64::from(minibatches));
        Ok(FitReport { minibatches, mean_loss, ..FitReport::default() })
    }

    /// The loss of the minibatch in `work`; its gradients are added to `work.gradients`.
    fn loss(&mut self, rng: &mut Rng, work: &mut NetWork) -> f64 {
        let weight = self.n_actions as f32 / work.batch.actions.len() as f32;
        let Self { net, parameters, stds, std_gradients, .. } = self;
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

    pub(super) fn encode(&self, encoder: &mut Encoder) {
        optimized::encode(&self.parameters, &self.optimizer, encoder);
    }

    pub(super) fn decode(
        settings: NetSettings,
        shape: Shape,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        decoder.check_room(shape)?;
        let net = RewardNet::new(&settings.hidden_layers, shape);
        let n_parameters = net.n_parameters + shape.n_actions;
        let (parameters, optimizer) = optimized::decode(n_parameters, settings.learning_rate, decoder)?;
        Ok(Self::assemble(settings, net, shape, parameters, optimizer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::nn::gradient_check::check_gradient;

    /// −A·mean log N(y; μ[a], σ[a]²) without its constant, in double precision from the net's own predictions; the gradient against finite
    /// differences, those in log σ among them.
    #[test]
    fn the_loss_is_the_likelihood_and_its_gradient_the_difference() {
        let (shape, n_rows) = (Shape::new(3, 4), 21);
        let settings = NetSettings {
            hidden_layers: Layers(vec![6]),
            learning_rate: 1e-3,
            reward_std: 0.5,
            batch_size: n_rows,
            minibatches: 1,
        };
        let mut rng = Seed::new(2).stream("test", 0);
        let mut net = GaussNet::new(settings, shape, &mut rng);
        net.parameters.iter_mut().for_each(|parameter| *parameter += 0.2 * rng.normal() as f32);
        let contexts: Vec<Vec<f32>> =
            (0..n_rows).map(|_| (0..3).map(|_| rng.normal() as f32).collect()).collect();
        let actions: Vec<usize> = (0..n_rows).map(|row| (row * row) % 3).collect();
        let targets: Vec<f32> = (0..n_rows).map(|_| rng.normal() as f32).collect();
        let loss = |net: &mut GaussNet, work: &mut NetWork, rng: &mut Rng| {
            work.gradients = vec![0.0; net.parameters.len()];
            work.batch.inputs.reshape_padded(3, n_rows);
            work.batch.inputs.put_rows(0, &contexts.iter().map(Vec::as_slice).collect::<Vec<_>>());
            (work.batch.actions, work.batch.rewards) = (actions.clone(), targets.clone());
            net.loss(rng, work)
        };
        let mut work = NetWork::default();
        let found = loss(&mut net, &mut work, &mut rng);
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
            loss(&mut net, &mut work, &mut rng)
        });
    }
}
