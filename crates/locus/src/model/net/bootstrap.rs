//! Bootstrap: an ensemble of reward nets, each trained on a random subset of the observations (Osband et al., 2016), as in the benchmark.
//!
//! Every net includes an observation with the same probability, independently of the other nets, and the nets have different
//! initial weights. A decision draws one net uniformly and takes the action with its highest predicted reward; [`Decider::draw`]
//! draws a net for every context.
//!
//! Whether a net includes an observation follows from the seed, the net and the number of earlier observations. So it needs no
//! storage, also holds with a bounded replay, and a loaded policy continues exactly. All nets include the first observation, as
//! in the benchmark. A net without observations in a bounded replay is not trained in that round, which counts as an
//! intervention.
//!
//! An outcome of weight w is included as a whole or not at all. A net samples its training rows in proportion to their weights.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::agent::{
    Breakdown, Cache, Decider, FitReport, JointRows, Learner, Plan, Replay, Scratch, WeightDraws,
    choose_by_draws, win_shares,
};
use crate::model::ensemble::DrawnNets;
use crate::model::net::reward_net::{AllUnits, Extent, NetWork, RewardNetConfig, Trainer, Weights};
use crate::registry::Definition;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::{AgentConfig, config};
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

config! {
    /// Settings of bootstrap. The defaults are those of the benchmark (Riquelme et al., ICLR 2018).
    pub struct BootstrapConfig {
        /// q, the number of nets
        nets: u32 = 3, Range::within(1.0, 1000.0), "benchmark";
        /// p, the probability that a net includes an observation
        inclusion_probability: f64 = 0.95, Range::above(0.0, 1.0), "benchmark";
        ..net: RewardNetConfig = RewardNetConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

pub(crate) fn definition() -> Definition<BootstrapConfig> {
    let summary =
        "Thompson sampling with an ensemble of nets, each trained on a random subset of the observations";
    Definition::of::<Bootstrap>("bootstrap", summary).presets([("benchmark", BootstrapConfig::default())])
}

buildable!(BootstrapConfig => Bootstrap);

/// The nets, one of which is drawn for every decision.
#[derive(Clone, Debug)]
pub(crate) struct NetDraw {
    nets: Arc<Vec<Weights>>,
}

/// The nets, their training states, and the observations that each includes.
#[derive(Clone, Debug)]
pub(crate) struct Bootstrap {
    draw: NetDraw,
    trainers: Vec<Trainer>,
    inclusion: Inclusion,
    /// Observations so far, kept or not.
    n_observed: u64,
    /// Buffers for learning; a clone allocates its own.
    work: Cache<Work>,
}

#[derive(Debug, Default)]
struct Work {
    net: NetWork,
    /// The indices of the current net's observations in the replay.
    taken_in: Vec<usize>,
    /// The sums of their weights up to and including each; empty if all weights are 1.
    cumulative: Vec<f64>,
}

/// Which nets include which observations.
#[derive(Clone, Copy, Debug)]
struct Inclusion {
    seed: Seed,
    probability: f64,
}

impl Inclusion {
    /// Whether a net includes observation `index`, counted from 0 since the policy was built.
    fn takes_in(&self, net: usize, index: u64) -> bool {
        let number = self.seed.derive_index(net as u64).derive_index(index).number();
        // Its upper 53 bits, as a number from 0 up to 1.
        let number = (number >> 11) as f64 / (1_u64 << 53) as f64;
        index == 0 || number < self.probability
    }
}

impl Bootstrap {
    fn assemble(
        (nets, trainers): (Vec<Weights>, Vec<Trainer>),
        inclusion: Inclusion,
        n_observed: u64,
    ) -> Self {
        let draw = NetDraw { nets: Arc::new(nets) };
        Self { draw, trainers, inclusion, n_observed, work: Cache::default() }
    }

    /// The indices of a net's observations in the replay.
    fn find_taken_in(&self, net: usize, replay: &Replay, places: &mut Vec<usize>) {
        places.clear();
        places.extend((0..replay.len()).filter(|&place| self.inclusion.takes_in(net, replay.arrival(place))));
    }
}

impl Decider for NetDraw {
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let n_actions = rewards.len() / contexts.len();
        for (context, rewards) in contexts.iter().zip(rewards.chunks_exact_mut(n_actions)) {
            let net = &self.nets[rng.below(self.nets.len())];
            net.predict(&[*context], &AllUnits, rng, scratch.work(), rewards)?;
        }
        Ok(())
    }

    /// For each action, the share of nets that predict the highest reward for it.
    fn distribution(
        &self,
        request: Request<'_>,
        _n_draws: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        let n_actions = probabilities.len();
        scratch.with_rewards(self.nets.len() * n_actions, |rewards, scratch| {
            for (net, rewards) in self.nets.iter().zip(rewards.chunks_exact_mut(n_actions)) {
                net.predict(&[request.context], &AllUnits, rng, scratch.work(), rewards)?;
            }
            win_shares(&request, rewards, probabilities)
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
        choose_by_draws(requests, n_actions, scratch, choices, |contexts, scratch, rewards| {
            let drawn = rngs.iter_mut().map(|rng| rng.below(self.nets.len())).collect();
            let drawn = DrawnNets::new(drawn, self.nets.len());
            drawn.for_each(contexts, n_actions, rewards, |net, contexts, rewards| {
                let Weights { net, parameters } = &self.nets[net];
                net.predict_batch(parameters, contexts, scratch.work(), rewards, |_| {})
            })
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
        let Weights { net, parameters } = &self.nets[rng.below(self.nets.len())];
        net.predict_joint(parameters, rows, scratch.work(), rewards, |_| {})
    }

    fn distribution_of_candidates(
        &self,
        request: Request<'_>,
        rows: JointRows<'_>,
        _draws: &WeightDraws,
        _rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        scratch.with_rewards(self.nets.len() * rows.len(), |rewards, scratch| {
            for (weights, rewards) in self.nets.iter().zip(rewards.chunks_exact_mut(rows.len())) {
                let Weights { net, parameters } = weights;
                net.predict_joint(parameters, rows, scratch.work(), rewards, |_| {})?;
            }
            win_shares(&request, rewards, probabilities)
        })
    }
}

impl Learner for Bootstrap {
    type Config = BootstrapConfig;
    type Decider = NetDraw;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn plan(config: &BootstrapConfig) -> Plan {
        config.net.plan(&config.agent)
    }

    fn new(config: &BootstrapConfig, shape: Shape, seed: Seed) -> Self {
        let net = |net| Trainer::new(&config.net, shape, &mut seed.stream("init", net));
        let inclusion = Inclusion { seed: seed.derive("include"), probability: config.inclusion_probability };
        Self::assemble((0..u64::from(config.nets)).map(net).unzip(), inclusion, 0)
    }

    fn decider(&self) -> &NetDraw {
        &self.draw
    }

    fn observe(&mut self, _outcome: &Outcome<'_>) {
        self.n_observed = self.n_observed.saturating_add(1);
    }

    fn fit(&mut self, replay: &Replay, rng: &mut Rng) -> Result<FitReport, Breakdown> {
        let mut work = self.work.0.take().unwrap_or_default();
        let (mut total, mut n_trained, mut report) = (0.0, 0, FitReport::default());
        for net in 0..self.trainers.len() {
            self.find_taken_in(net, replay, &mut work.taken_in);
            let Work { net: room, taken_in, cumulative } = &mut *work;
            if taken_in.is_empty() {
                report.interventions += 1;
                continue;
            }
            let trainer = &mut self.trainers[net];
            let weights = &mut Arc::make_mut(&mut self.draw.nets)[net];
            let n_taken_in = add_up_weights(replay, taken_in, cumulative);
            let extent = Extent { n_observed: n_taken_in, ..Extent::of(replay) };
            total += trainer.train(weights, extent, &AllUnits, rng, room, |batch, rng, gathering| {
                batch
                    .gather_from(replay, gathering, || taken_in[draw_place(taken_in.len(), cumulative, rng)]);
            })?;
            n_trained += 1;
            report.minibatches += trainer.config.minibatches;
        }
        self.work = Cache(Some(work));
        report.mean_loss = (n_trained > 0).then(|| total / f64::from(n_trained));
        Ok(report)
    }

    fn add_action(&mut self, _config: &BootstrapConfig, shape: Shape, rng: &mut Rng) -> Result<(), Error> {
        let nets = Arc::make_mut(&mut self.draw.nets);
        for (trainer, net) in self.trainers.iter_mut().zip(nets) {
            trainer.add_action(net, shape, rng);
        }
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.u64(self.inclusion.seed.number());
        encoder.u64(self.n_observed);
        self.trainers.iter().zip(&*self.draw.nets).for_each(|(trainer, net)| trainer.encode(net, encoder));
    }

    fn decode(config: &BootstrapConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let (seed, n_observed) = (Seed::new(decoder.u64()?), decoder.u64()?);
        let (mut nets, mut trainers) = (Vec::new(), Vec::new());
        for _ in 0..config.nets {
            let (weights, trainer) = Trainer::decode(&config.net, shape, decoder)?;
            nets.push(weights);
            trainers.push(trainer);
        }
        let inclusion = Inclusion { seed, probability: config.inclusion_probability };
        Ok(Self::assemble((nets, trainers), inclusion, n_observed))
    }
}

/// The sum of the weights of these observations, and all sums on the way unless every weight is 1.
fn add_up_weights(replay: &Replay, places: &[usize], cumulative: &mut Vec<f64>) -> f64 {
    cumulative.clear();
    if !replay.is_weighted() {
        return places.len() as f64;
    }
    let mut total = 0.0;
    cumulative.extend(places.iter().map(|&place| {
        total += replay.get(place).weight;
        total
    }));
    total
}

/// Draws one of `n` places in proportion to their weights, with replacement. **Samples.**
fn draw_place(n: usize, cumulative: &[f64], rng: &mut Rng) -> usize {
    let Some(total) = cumulative.last() else { return rng.below(n) };
    let number = rng.uniform() * total;
    // Rounding may reach the total itself.
    cumulative.partition_point(|&sum| sum <= number).min(n - 1)
}
