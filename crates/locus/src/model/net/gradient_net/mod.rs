//! A reward net with confidence widths from its gradient, shared by NeuralUCB and NeuralTS.
//!
//! Near where it stands, a net is linear in its parameters, and its features are the gradient g of a prediction by all of them.
//! So it is as sure of a prediction as a linear regression on these features would be: the square of the width is `gᵀZ⁻¹g` with
//! `Z = λI + Σ w·ggᵀ` over the actions taken, each with the gradient of its own time and its weight, which decays with a half-life. Both papers use one output,
//! and a context that is placed into a different block for each action; here the net has an output for each action and shared
//! hidden layers, like every net of this library. Like the authors' programs, it omits the papers' factor √m on the output.
//!
//! The net is trained as the benchmark's nets are, with a penalty of precision λ towards its initial parameters. So a linear net
//! is the ridge regression that its width belongs to, as long as the replay keeps all observations: the width counts dropped
//! observations, but the net is not trained on them.

mod gradients;
mod precision;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::agent::{
    Breakdown, Cache, Decider, FitReport, Learner, Plan, Replay, Scratch, check_reward, choose_one_by_one,
    distribute_one_by_one,
};
use crate::math::decay::DecayBlocks;
use crate::math::wins::Race;
use crate::model::net::reward_net::{AllUnits, NetWork, RewardNet, RewardNetConfig, Trainer, Weights};
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::{AgentConfig, Config};
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

use gradients::Gradients;
pub use precision::PrecisionMatrix;
use precision::{Diagonal, MAX_FULL, Precision};

/// The decision rule for predictions and their widths; the policy's settings implement it.
pub(crate) trait Widen: Config {
    /// The standard deviation of what [`Widen::deviate`] draws; `None` if it draws nothing.
    const SPREAD: Option<fn(&Self) -> f64>;

    /// Settings of the net.
    fn net(&self) -> &RewardNetConfig;

    /// Settings of the policy around it.
    fn agent(&self) -> &AgentConfig;

    /// λ, and how much of the matrix is kept.
    fn precision(&self) -> (f64, PrecisionMatrix);

    /// The number of widths added to every action's prediction. **Samples** if the policy does.
    fn deviate(&self, rng: &mut Rng, deviations: &mut [f64]);
}

/// A reward net, and the precision of its parameters.
#[derive(Clone, Debug)]
pub(crate) struct WidenedNet<W> {
    rule: Arc<W>,
    weights: Arc<Weights>,
    precision: Arc<Precision>,
}

/// The decider and its training state.
#[derive(Clone, Debug)]
pub(crate) struct GradientNet<W> {
    widened: WidenedNet<W>,
    trainer: Trainer,
    /// The decay of the precision.
    blocks: Option<DecayBlocks>,
    /// Outcomes since the last training whose gradient was not finite.
    n_left_out: u64,
    /// Buffers for learning; a clone allocates its own.
    work: Cache<Work>,
}

/// Intermediate results of a decision.
#[derive(Debug, Default)]
struct Work {
    net: NetWork,
    gradients: Gradients,
    /// The gradient of one action, where it is needed whole.
    gradient: Vec<f64>,
    solved: Vec<f64>,
    leverages: Vec<f64>,
    deviations: Vec<f64>,
}

impl<W: Widen> WidenedNet<W> {
    /// The predicted reward of every action, and the squares of the widths into `work.leverages`.
    fn predict(&self, context: &[f32], work: &mut Work, rewards: &mut [f64]) -> Result<(), Breakdown> {
        let Work { net, gradients, gradient, solved, leverages, .. } = work;
        let Weights { net: layers, parameters } = &*self.weights;
        layers.predict_surely(parameters, context, net, rewards)?;
        gradients.find(layers, parameters, net);
        leverages.clear();
        leverages.resize(rewards.len(), 0.0);
        match &*self.precision {
            Precision::Diagonal(diagonal) => {
                gradients.weigh(layers, net, diagonal.inverses(), leverages);
            }
            Precision::Full(full) => {
                gradient.resize(layers.n_parameters, 0.0);
                solved.resize(layers.n_parameters, 0.0);
                for (action, leverage) in leverages.iter_mut().enumerate() {
                    gradients.of_action(layers, net, action, gradient);
                    *leverage = full.leverage(gradient, solved);
                }
            }
        }
        Ok(())
    }

    /// The same for a batch of requests, where a diagonal is kept: predictions and squares of widths of a request side by side.
    fn predict_batch(
        &self,
        requests: &[Request<'_>],
        diagonal: &Diagonal,
        work: &mut Work,
        rewards: &mut [f64],
    ) -> Result<(), (usize, Breakdown)> {
        let Work { net, gradients, leverages, .. } = work;
        let Weights { net: layers, parameters } = &*self.weights;
        let contexts: Vec<&[f32]> = requests.iter().map(|request| request.context).collect();
        layers.predict_batch(parameters, &contexts, net, rewards, |_| {}).map_err(|breakdown| {
            let place = rewards.iter().position(|reward| !reward.is_finite());
            (place.unwrap_or(0) / layers.n_actions(), breakdown)
        })?;
        leverages.resize(rewards.len(), 0.0);
        gradients.weigh_batch(layers, (parameters, diagonal.inverses()), net, leverages);
        Ok(())
    }

    /// How probable it is that each allowed action is valued highest, by predictions and squares of widths.
    fn race(
        &self,
        request: &Request<'_>,
        spread: f64,
        (rewards, leverages): (&[f64], &[f64]),
        race: &mut Race,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        race.clear();
        for (action, &mean) in rewards.iter().enumerate().filter(|(action, _)| request.allows(*action)) {
            let std = spread * leverages[action].sqrt();
            check_reward(action, mean + std)?;
            race.enter(action, mean, std);
        }
        race.finish(probabilities);
        Ok(())
    }

    /// What every action is valued at for a context. **Samples** if the policy does.
    fn value(
        &self,
        context: &[f32],
        rng: &mut Rng,
        work: &mut Work,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.predict(context, work, rewards)?;
        let Work { leverages, deviations, .. } = work;
        deviations.resize(rewards.len(), 0.0);
        self.rule.deviate(rng, deviations);
        for (action, reward) in rewards.iter_mut().enumerate() {
            *reward += deviations[action] * leverages[action].sqrt();
            check_reward(action, *reward)?;
        }
        Ok(())
    }
}

impl<W: Widen> Decider for WidenedNet<W> {
    const KNOWS_PROPENSITIES: bool = W::SPREAD.is_none();

    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let n_actions = rewards.len() / contexts.len();
        for (context, rewards) in contexts.iter().zip(rewards.chunks_exact_mut(n_actions)) {
            self.value(context, rng, scratch.work(), rewards)?;
        }
        Ok(())
    }

    fn choose(
        &self,
        request: Request<'_>,
        n_actions: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Result<Choice, Breakdown> {
        scratch.with_rewards(n_actions, |rewards, scratch| {
            self.value(request.context, rng, scratch.work(), rewards)?;
            request.highest(rewards).map(choice::<W>)
        })
    }

    fn distribution(
        &self,
        request: Request<'_>,
        _n_draws: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        let Some(spread) = W::SPREAD else {
            let best = self.choose(request, probabilities.len(), rng, scratch)?.action;
            probabilities.fill(0.0);
            probabilities[best] = 1.0;
            return Ok(());
        };
        scratch.with_rewards(probabilities.len(), |rewards, scratch| {
            let mut race = std::mem::take::<Race>(scratch.work());
            let work: &mut Work = scratch.work();
            self.predict(request.context, work, rewards)?;
            let raced =
                self.race(&request, spread(&self.rule), (rewards, &work.leverages), &mut race, probabilities);
            *scratch.work() = race;
            raced
        })
    }

    fn choose_many(
        &self,
        requests: &[Request<'_>],
        n_actions: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        choices: &mut [Choice],
    ) -> Result<(), (usize, Breakdown)> {
        let Precision::Diagonal(diagonal) = &*self.precision else {
            return choose_one_by_one(self, requests, n_actions, rngs, scratch, choices);
        };
        scratch.with_rewards(requests.len() * n_actions, |rewards, scratch| {
            let work: &mut Work = scratch.work();
            self.predict_batch(requests, diagonal, work, rewards)?;
            let Work { leverages, deviations, .. } = work;
            deviations.resize(n_actions, 0.0);
            for (index, rewards) in rewards.chunks_exact_mut(n_actions).enumerate() {
                self.rule.deviate(&mut rngs[index], deviations);
                for (action, reward) in rewards.iter_mut().enumerate() {
                    *reward += deviations[action] * leverages[index * n_actions + action].sqrt();
                    check_reward(action, *reward).map_err(|breakdown| (index, breakdown))?;
                }
                let action = requests[index].highest(rewards).map_err(|breakdown| (index, breakdown))?;
                choices[index] = choice::<W>(action);
            }
            Ok(())
        })
    }

    fn distribution_many(
        &self,
        requests: &[Request<'_>],
        n_draws: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), (usize, Breakdown)> {
        let (Precision::Diagonal(diagonal), Some(spread)) = (&*self.precision, W::SPREAD) else {
            return distribute_one_by_one(self, requests, n_draws, rngs, scratch, probabilities);
        };
        let n_actions = self.weights.net.n_actions();
        scratch.with_rewards(requests.len() * n_actions, |rewards, scratch| {
            let mut race = std::mem::take::<Race>(scratch.work());
            let work: &mut Work = scratch.work();
            self.predict_batch(requests, diagonal, work, rewards)?;
            let spread = spread(&self.rule);
            let parts = rewards.chunks_exact(n_actions).zip(work.leverages.chunks_exact(n_actions));
            let parts = parts.zip(requests).zip(probabilities.chunks_exact_mut(n_actions));
            for (index, ((parts, request), probabilities)) in parts.enumerate() {
                self.race(request, spread, parts, &mut race, probabilities)
                    .map_err(|breakdown| (index, breakdown))?;
            }
            *scratch.work() = race;
            Ok(())
        })
    }
}

/// The choice of the action with the highest value: propensity 1 if the policy is deterministic.
fn choice<W: Widen>(action: usize) -> Choice {
    if W::SPREAD.is_none() { Choice::certain(action) } else { Choice::new(action) }
}

/// The blocks in which the precision decays: an observation costs O(P), or O(P²) for the full matrix, as does its share of the
/// end of a block.
fn blocks(config: &impl Widen, n_parameters: usize) -> Option<DecayBlocks> {
    let longest = match config.precision().1 {
        PrecisionMatrix::Diagonal => 16,
        PrecisionMatrix::Full => n_parameters,
    };
    config.agent().half_life.0.map(|half_life| DecayBlocks::new(half_life, longest))
}

impl<W: Widen> GradientNet<W> {
    /// Counts an observation, and forgets at the end of a block.
    fn age(&mut self) {
        if let Some(remainder) = self.blocks.as_mut().and_then(|blocks| blocks.count(1)) {
            Arc::make_mut(&mut self.widened.precision).forget(remainder);
        }
    }

    fn assemble(
        rule: &W,
        (weights, trainer): (Weights, Trainer),
        precision: Precision,
        blocks: Option<DecayBlocks>,
        n_left_out: u64,
    ) -> Self {
        let (rule, weights, precision) = (Arc::new(rule.clone()), Arc::new(weights), Arc::new(precision));
        let widened = WidenedNet { rule, weights, precision };
        Self { widened, trainer, blocks, n_left_out, work: Cache::default() }
    }
}

impl<W: Widen> Learner for GradientNet<W> {
    type Config = W;
    type Decider = WidenedNet<W>;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn check(config: &W, shape: Shape) -> Result<(), Error> {
        let (_, matrix) = config.precision();
        let n_parameters = RewardNet::new(&config.net().hidden_layers, shape).n_parameters;
        if matrix == PrecisionMatrix::Diagonal || n_parameters <= MAX_FULL {
            return Ok(());
        }
        let expected = format!(
            "diagonal for a net of {n_parameters} parameters: the full matrix is for at most {MAX_FULL}; \
             fewer hidden units make them fewer"
        );
        Err(Error::invalid_setting("precision_matrix", "full", expected))
    }

    fn plan(config: &W) -> Plan {
        config.net().plan(config.agent())
    }

    fn new(config: &W, shape: Shape, seed: Seed) -> Self {
        let (prior, matrix) = config.precision();
        let (weights, trainer) = Trainer::new(config.net(), shape, &mut seed.stream("init", 0));
        let trainer = trainer.anchored(&weights, prior);
        let precision = Precision::new(matrix, prior, weights.net.n_parameters);
        let blocks = blocks(config, weights.net.n_parameters);
        Self::assemble(config, (weights, trainer), precision, blocks, 0)
    }

    fn decider(&self) -> &WidenedNet<W> {
        &self.widened
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        let Work { net, gradients, gradient, leverages, .. } = &mut **self.work.0.get_or_insert_default();
        let Weights { net: layers, parameters } = &*self.widened.weights;
        leverages.resize(layers.n_actions(), 0.0);
        if layers.predict_surely(parameters, outcome.context, net, leverages).is_ok() {
            gradients.find(layers, parameters, net);
            gradient.resize(layers.n_parameters, 0.0);
            gradients.of_action(layers, net, outcome.action, gradient);
            if gradient.iter().all(|value| value.is_finite()) {
                let weight = self.blocks.map_or(outcome.weight, |blocks| outcome.weight * blocks.factor(0));
                Arc::make_mut(&mut self.widened.precision).observe(gradient, weight);
                return self.age();
            }
        }
        self.n_left_out += 1;
        self.age();
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let mut work = self.work.0.take().unwrap_or_default();
        let weights = Arc::make_mut(&mut self.widened.weights);
        let mean_loss = self.trainer.train_on(weights, replay, &AllUnits, rng, &mut work.net)?;
        self.work = Cache(Some(work));
        let interventions = std::mem::take(&mut self.n_left_out);
        Ok(FitReport { interventions, ..FitReport::new(self.trainer.config.minibatches, mean_loss) })
    }

    fn add_action(&mut self, rule: &W, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        let WidenedNet { weights, precision, .. } = &mut self.widened;
        let weights = Arc::make_mut(weights);
        let before = weights.net.layout.clone();
        self.trainer.add_action(weights, shape, rng);
        Arc::make_mut(precision).grow(&before, &weights.net.layout);
        let longer = blocks(rule, weights.net.n_parameters);
        self.blocks = self.blocks.zip(longer).map(|(blocks, longer)| longer.at_position_of(blocks));
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.u64(self.n_left_out);
        self.trainer.encode(&self.widened.weights, encoder);
        self.widened.precision.encode(encoder);
        if let Some(blocks) = &self.blocks {
            blocks.encode(encoder);
        }
    }

    fn decode(config: &W, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let (prior, matrix) = config.precision();
        let n_left_out = decoder.u64()?;
        let (weights, trainer) = Trainer::decode_anchored(config.net(), shape, prior, decoder)?;
        let precision = Precision::decode(matrix, prior, weights.net.n_parameters, decoder)?;
        let blocks = blocks(config, weights.net.n_parameters);
        let blocks = blocks.map(|blocks| blocks.decode(decoder)).transpose()?;
        Ok(Self::assemble(config, (weights, trainer), precision, blocks, n_left_out))
    }
}
