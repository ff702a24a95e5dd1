//! Neural Linear: Bayesian linear regressions on the last hidden layer of a net (Riquelme et al., ICLR 2018; appendix C of the paper).
//!
//! A net learns to predict rewards, and its last hidden layer computes features. Every action has a linear regression on these
//! features with its exact posterior, as in LinFullPost but without an intercept, and decisions are sampled from it: the features
//! themselves have no uncertainty. An observation updates its action's posterior immediately, with the features of the current
//! net. A round of training changes all features, so they are recomputed for all observations and every posterior is rebuilt from
//! its prior. That is the only refit.
//!
//! With a replay capacity the rebuilt posteriors include only the last observations: features of the others can no longer
//! be computed, and coefficients of old features do not apply to new ones. So the policy forgets both rewards and certainty.
//! A replay bound keeps the certainty: the sample that is kept counts as all observations.
//!
//! Gradient clipping is part of the method and not counted as an intervention. An observation whose features overflow is: it is
//! omitted from its posterior until the next round of training, which fails with a numerical error if they still overflow.

mod config;
#[cfg(test)]
mod tests;

pub use config::NeuralLinearConfig;

use std::sync::Arc;

use crate::agent::{
    Breakdown, Cache, Decider, FitReport, JointRows, Learner, Plan, Replay, Scratch, WeightDraws,
    check_reward,
};
use crate::math::draw_wins::DrawWins;
use crate::math::nn::Panel;
use crate::model::linear::batch::{BatchWork, Rows};
use crate::model::linear::heads::{LinearHeads, by_action};
use crate::model::linear::joint::draws_of;
use crate::model::net::reward_net::{AllUnits, NetWork, Trainer, Weights};
use crate::registry::Definition;
use crate::registry::save::{Decoder, Encoder};
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

pub(crate) fn definition() -> Definition<NeuralLinearConfig> {
    let summary = "Thompson sampling with Bayesian linear regressions on the last hidden layer of a net";
    Definition::of::<NeuralLinear>("neural-linear", summary)
        .presets([("benchmark", NeuralLinearConfig::default())])
}

buildable!(NeuralLinearConfig => NeuralLinear);

/// Contexts whose features are computed in one pass.
const CHUNK: usize = 512;

/// The net, and a regression for every action.
#[derive(Clone, Debug)]
pub(crate) struct NetHeads {
    weights: Arc<Weights>,
    heads: LinearHeads,
}

/// The decider and its training state.
#[derive(Clone, Debug)]
pub(crate) struct NeuralLinear {
    net_heads: NetHeads,
    trainer: Trainer,
    /// Observations omitted from the posteriors since the last round of training.
    n_left_out: u64,
    /// Buffers for learning; a clone allocates its own.
    work: Cache<Work>,
}

#[derive(Debug, Default)]
struct Work {
    net: NetWork,
    /// The features of the current observation.
    features: Vec<f64>,
}

impl NeuralLinear {
    fn assemble((weights, trainer): (Weights, Trainer), heads: LinearHeads, n_left_out: u64) -> Self {
        let net_heads = NetHeads { weights: Arc::new(weights), heads };
        Self { net_heads, trainer, n_left_out, work: Cache::default() }
    }

    /// The posterior of an action's coefficients on the net's features. Panics if there is no such action.
    #[cfg(test)]
    pub(crate) fn posterior(&self, action: usize) -> &crate::math::linear::LinearPosterior {
        self.net_heads.heads.posterior(action)
    }

    /// Rebuilds the posteriors from all observations in the replay, with the features of the current net.
    fn rebuild(&mut self, replay: &Replay, work: &mut NetWork) -> Result<(), Breakdown> {
        let NetHeads { weights, heads } = &mut self.net_heads;
        let order = by_action(replay);
        let mut rebuild = heads.rebuild();
        let mut contexts = Vec::with_capacity(CHUNK.min(order.len()));
        for chunk in order.chunks(CHUNK) {
            contexts.clear();
            contexts.extend(chunk.iter().map(|&index| replay.get(index).context));
            let features = weights.features(&contexts, work)?;
            for (column, &index) in chunk.iter().enumerate() {
                let observation = replay.get(index);
                let (features, weight) = (column_of(features, column), observation.weight);
                rebuild.push(observation.action, features, observation.reward, weight);
            }
        }
        rebuild.finish();
        Ok(())
    }
}

impl Decider for NetHeads {
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let (dim, n_actions) = (self.heads.dim(), rewards.len() / contexts.len());
        scratch.with_features(dim * contexts.len(), |features, scratch| {
            let panel = self.weights.features(contexts, scratch.work())?;
            for (column, features) in features.chunks_exact_mut(dim).enumerate() {
                fill(features, column_of(panel, column));
            }
            for (features, rewards) in features.chunks_exact(dim).zip(rewards.chunks_exact_mut(n_actions)) {
                self.heads.draw(features, rng, scratch, rewards)?;
            }
            Ok(())
        })
    }

    fn choose(
        &self,
        request: Request<'_>,
        _n_actions: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Result<Choice, Breakdown> {
        scratch.with_features(self.heads.dim(), |features, scratch| {
            let panel = self.weights.features(&[request.context], scratch.work())?;
            fill(features, column_of(panel, 0));
            self.heads.choose(&request, features, rng, scratch).map(Choice::new)
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
        scratch.with_features(self.heads.dim(), |features, scratch| {
            let panel = self.weights.features(&[request.context], scratch.work())?;
            fill(features, column_of(panel, 0));
            self.heads.win_probabilities(&request, features, rng, scratch, probabilities)
        })
    }

    fn choose_many(
        &self,
        requests: &[Request<'_>],
        _n_actions: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        choices: &mut [Choice],
    ) -> Result<(), (usize, Breakdown)> {
        self.with_rows(requests, scratch, |rows, work| {
            let deviate = |rng: &mut Rng, deviations: &mut [f64]| self.heads.draw_deviations(rng, deviations);
            self.heads.find_best_many(rows, work, rngs, choices, self.heads.predict_rows(rows), deviate)
        })
    }

    fn distribution_many(
        &self,
        requests: &[Request<'_>],
        _n_draws: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), (usize, Breakdown)> {
        self.with_rows(requests, scratch, |rows, work| {
            let spread = |rng: &mut Rng, spreads: &mut [f64]| self.heads.draw_spreads(rng, spreads);
            self.heads.find_wins_many(rows, work, rngs, probabilities, self.heads.predict_rows(rows), spread)
        })
    }

    const HEEDS_CANDIDATES: bool = true;

    fn draw_joint(
        &self,
        rows: JointRows<'_>,
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        scratch.with_features(self.heads.dim(), |coefficients, scratch| {
            self.heads.draw_coefficients(rng, coefficients)?;
            let Weights { net, parameters } = &*self.weights;
            let features = net.features_of_joint(parameters, rows, scratch.work())?;
            rewards.fill(0.0);
            features.add_lines(coefficients, rewards);
            Ok(())
        })
    }

    fn distribution_of_candidates(
        &self,
        request: Request<'_>,
        rows: JointRows<'_>,
        draws: &WeightDraws,
        _rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        let draw = |rng: &mut Rng, weights: &mut [f64]| self.heads.draw_coefficients(rng, weights);
        let draws = draws_of(draws, self.heads.dim(), draw)?;
        let mut wins = std::mem::take::<DrawWins>(scratch.work());
        wins.clear(self.heads.dim());
        let Weights { net, parameters } = &*self.weights;
        let features = net.features_of_joint(parameters, rows, scratch.work())?;
        for candidate in (0..rows.len()).filter(|&candidate| request.allows(candidate)) {
            wins.enter(candidate, 0.0, column_of(features, candidate));
        }
        let counted = wins.count(draws, probabilities);
        *scratch.work() = wins;
        counted.or_else(|(candidate, value)| check_reward(candidate, value))
    }
}

impl NetHeads {
    /// Calls `decide` with the features of many requests, and with room for the batch.
    fn with_rows(
        &self,
        requests: &[Request<'_>],
        scratch: &mut Scratch,
        decide: impl FnOnce(Rows<'_>, &mut BatchWork) -> Result<(), (usize, Breakdown)>,
    ) -> Result<(), (usize, Breakdown)> {
        let dim = self.heads.dim();
        scratch.with_features(dim * requests.len(), |features, scratch| {
            let contexts: Vec<&[f32]> = requests.iter().map(|request| request.context).collect();
            let Weights { net, parameters } = &*self.weights;
            let panel = net.features_of_batch(parameters, &contexts, scratch.work())?;
            for (column, features) in features.chunks_exact_mut(dim).enumerate() {
                fill(features, column_of(panel, column));
            }
            decide(Rows { requests, features }, scratch.work())
        })
    }
}

impl Learner for NeuralLinear {
    type Config = NeuralLinearConfig;
    type Decider = NetHeads;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn plan(config: &NeuralLinearConfig) -> Plan {
        config.net.plan(&config.agent).with_propensity_draws(config.propensity_draws as usize)
    }

    fn new(config: &NeuralLinearConfig, shape: Shape, seed: Seed) -> Self {
        let net = Trainer::new(&config.net, shape, &mut seed.stream("init", 0));
        let heads = LinearHeads::new(net.0.net.dim(), shape.n_actions, config.prior());
        let heads = heads.forgetting(config.agent.half_life.0);
        Self::assemble(net, heads, 0)
    }

    fn decider(&self) -> &NetHeads {
        &self.net_heads
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        let Work { net, features } = &mut **self.work.0.get_or_insert_default();
        let NetHeads { weights, heads } = &mut self.net_heads;
        match weights.features(&[outcome.context], net) {
            Ok(panel) => {
                features.resize(panel.n_features(), 0.0);
                fill(features, column_of(panel, 0));
                heads.observe(outcome.action, features, outcome.reward, outcome.weight);
            }
            Err(_) => {
                heads.skip();
                self.n_left_out += 1;
            }
        }
    }

    /// Features of many contexts in one pass, and posteriors by blocks.
    fn observe_many(&mut self, outcomes: &[Outcome<'_>]) {
        let Work { net, features } = &mut **self.work.0.get_or_insert_default();
        let NetHeads { weights, heads } = &mut self.net_heads;
        let mut contexts = Vec::with_capacity(CHUNK.min(outcomes.len()));
        heads.observe_many(outcomes, |heads, outcomes| {
            for chunk in outcomes.chunks(CHUNK) {
                contexts.clear();
                contexts.extend(chunk.iter().map(|outcome| outcome.context));
                if chunk.len() > 1
                    && let Ok(panel) = weights.features(&contexts, net)
                {
                    let mut blocks = heads.in_blocks();
                    for (column, outcome) in chunk.iter().enumerate() {
                        let features = column_of(panel, column);
                        blocks.push(outcome.action, features, outcome.reward, outcome.weight);
                    }
                    blocks.finish();
                    continue;
                }
                // One of them overflows: only that one is omitted.
                for outcome in chunk {
                    match weights.features(&[outcome.context], net) {
                        Ok(panel) => {
                            features.resize(panel.n_features(), 0.0);
                            fill(features, column_of(panel, 0));
                            heads.take_in(outcome.action, features, outcome.reward, outcome.weight);
                        }
                        Err(_) => self.n_left_out += 1,
                    }
                }
            }
        });
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let mut work = self.work.0.take().unwrap_or_default();
        let weights = Arc::make_mut(&mut self.net_heads.weights);
        let mean_loss = self.trainer.train_on(weights, replay, &AllUnits, rng, &mut work.net)?;
        self.rebuild(replay, &mut work.net)?;
        self.work = Cache(Some(work));
        let interventions = std::mem::take(&mut self.n_left_out);
        Ok(FitReport { interventions, ..FitReport::new(self.trainer.config.minibatches, mean_loss) })
    }

    fn add_action(&mut self, _config: &NeuralLinearConfig, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        let NetHeads { weights, heads } = &mut self.net_heads;
        self.trainer.add_action(Arc::make_mut(weights), shape, rng);
        heads.add_action();
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.u64(self.n_left_out);
        self.trainer.encode(&self.net_heads.weights, encoder);
        self.net_heads.heads.encode(encoder);
    }

    fn decode(config: &NeuralLinearConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let n_left_out = decoder.u64()?;
        let net = Trainer::decode(&config.net, shape, decoder)?;
        let (dim, half_life) = (net.0.net.dim(), config.agent.half_life.0);
        let heads = LinearHeads::decode(dim, shape.n_actions, config.prior(), half_life, decoder)?;
        Ok(Self::assemble(net, heads, n_left_out))
    }
}

/// The numbers of one column.
fn column_of(panel: &Panel, column: usize) -> impl ExactSizeIterator<Item = f64> + '_ {
    (0..panel.n_features()).map(move |feature| f64::from(panel.line(feature)[column]))
}

fn fill(features: &mut [f64], values: impl Iterator<Item = f64>) {
    features.iter_mut().zip(values).for_each(|(place, value)| *place = value);
}
