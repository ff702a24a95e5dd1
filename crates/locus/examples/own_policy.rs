//! Your own policy: Thompson sampling over each action's mean reward, without contexts.
//!
//! The library adds initial pulls, snapshots, saving, settings with ranges and the text form. `examples/outside` at the root of
//! the repository is a complete package with its own command.
//!
//! Run with `cargo run --release -p locus-bandits --example own_policy`.

use std::sync::Arc;

use locus::{
    AgentConfig, Breakdown, Decider, Decoder, Definition, Encoder, Error, Learner, Outcome, Plan, Registry,
    Request, Rng, Scratch, Seed, Shape,
};

locus::config! {
    /// Settings of blind-gauss.
    pub struct BlindGaussConfig {
        /// Standard deviation of a reward around its action's mean
        noise_std: f64 = 1.0, Range::above(0.0, 1e6), "our choice";
        ..agent: AgentConfig = AgentConfig::default();
    }
}

/// Sum and number of every action's rewards. Snapshots share them until the next outcome.
#[derive(Clone)]
struct BlindGauss {
    noise_std: f64,
    actions: Arc<Vec<(f64, f64)>>,
}

impl Decider for BlindGauss {
    /// With a standard normal prior on mean ÷ noise_std, the posterior is N(Σr/(n+1), noise_std²/(n+1)).
    fn draw(
        &self,
        _contexts: &[&[f32]],
        rng: &mut Rng,
        _scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        for (reward, (sum, n)) in rewards.iter_mut().zip(self.actions.iter().cycle()) {
            *reward = sum / (n + 1.0) + self.noise_std / (n + 1.0).sqrt() * rng.normal();
        }
        Ok(())
    }
}

impl Learner for BlindGauss {
    type Config = BlindGaussConfig;
    type Decider = Self;
    const HEEDS_WEIGHTS: bool = true;

    fn plan(config: &BlindGaussConfig) -> Plan {
        Plan::untrained(&config.agent)
    }

    fn new(config: &BlindGaussConfig, shape: Shape, _seed: Seed) -> Self {
        Self { noise_std: config.noise_std, actions: Arc::new(vec![(0.0, 0.0); shape.n_actions]) }
    }

    fn decider(&self) -> &Self {
        self
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        let (sum, n) = &mut Arc::make_mut(&mut self.actions)[outcome.action];
        *sum += outcome.weight * outcome.reward;
        *n += outcome.weight;
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.actions.iter().for_each(|(sum, n)| encoder.f64s(&[*sum, *n]));
    }

    fn decode(config: &BlindGaussConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let mut actions = Vec::new();
        for _ in 0..shape.n_actions {
            actions.push((decoder.f64()?, decoder.f64()?));
        }
        Ok(Self { noise_std: config.noise_std, actions: Arc::new(actions) })
    }
}

fn main() -> Result<(), Error> {
    let summary = "Thompson sampling over each action's mean reward, without contexts";
    let registry = Registry::standard().with(Definition::of::<BlindGauss>("blind-gauss", summary));

    let spec = registry.parse("blind-gauss[noise_std=0.5]")?;
    let mut policy = spec.build(Shape::new(1, 3), Seed::new(7))?;
    let mut counts = [0; 3];
    for round in 0..1000 {
        let action = policy.choose(Request::new(round, &[1.0]))?.action;
        let reward = 0.3 * action as f64 + 0.5 * Seed::new(1).stream("world", round).normal();
        policy.learn(Outcome::new(round, &[1.0], action, reward))?;
        counts[action] += 1;
    }
    println!("{}: actions taken {counts:?}", policy.name());
    assert!(counts[2] > 800);
    let resumed = registry.load(&policy.save())?;
    assert_eq!(resumed.name(), "blind-gauss[noise_std=0.5]");
    println!("{}", registry.parse("blind-gauss[noise_std=0]").expect_err("0 is out of range"));
    Ok(())
}
