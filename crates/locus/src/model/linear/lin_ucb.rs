//! LinUCB (Li, Chu, Langford and Schapire, 2010): the action with the highest upper confidence bound.
//!
//! Every action has a ridge regression of its rewards on `[x, 1]` ("disjoint" in the paper's words), and is valued at
//!
//! ```text
//! xᵀμ + α·√(xᵀΛ⁻¹x),    Λ = λI + XᵀX,    μ = Λ⁻¹Xᵀy
//! ```
//!
//! The width does not depend on the noise: α is in units of reward. Decisions are deterministic: propensities are 1, the seed has
//! no effect, and [`Decider::draw`] returns the upper bounds.

use crate::agent::{Breakdown, Decider, JointRows, Learner, Plan, Scratch, WeightDraws};
use crate::math::linear::LinearPrior;
use crate::model::linear::heads::ContextHeads;
use crate::model::linear::joint::FeatureMap;
use crate::registry::Definition;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::{AgentConfig, config};
use crate::registry::values::Interactions;
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

config! {
    /// Settings of LinUCB.
    pub struct LinUcbConfig {
        /// α, the number of confidence widths added to a mean reward
        alpha: f64 = 1.0, Range::within(0.0, 1e6), "our choice; Li et al. (2010) tune it";
        /// λ, the ridge penalty on the coefficients
        prior_precision: f64 = 1.0, Range::within(1e-12, 1e12), "Li et al. (2010), algorithm 1";
        /// With features of actions: off regresses on [x, f, 1], all also on the products x_i·f_j, only on [x, 1] ⊗ f alone
        interactions: Interactions = Interactions::Off, Range::ANY, "our choice";
        ..agent: AgentConfig = AgentConfig::default();
    }
}

pub(crate) fn definition() -> Definition<LinUcbConfig> {
    Definition::of::<LinUcb>("lin-ucb", "Upper confidence bounds of a ridge regression for every action")
}

buildable!(LinUcbConfig => LinUcb);

impl LinUcbConfig {
    /// Shape and rate of the noise do not affect means and widths.
    fn prior(&self) -> LinearPrior {
        LinearPrior { precision: self.prior_precision, shape: 1.0, rate: 1.0 }
    }

    fn map(&self, shape: Shape) -> FeatureMap {
        FeatureMap::new(shape, self.interactions)
    }
}

/// A ridge regression for every action, on the features `[x, 1]`.
#[derive(Clone, Debug)]
pub(crate) struct LinUcb {
    alpha: f64,
    context_heads: ContextHeads,
}

impl LinUcb {
    /// The regression of an action, the intercept last. Panics if there is no such action.
    #[cfg(test)]
    pub(crate) fn regression(&self, action: usize) -> &crate::math::linear::LinearPosterior {
        self.context_heads.heads.posterior(action)
    }
}

impl Decider for LinUcb {
    const KNOWS_PROPENSITIES: bool = true;

    /// The upper bounds.
    fn draw(
        &self,
        contexts: &[&[f32]],
        _rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.context_heads.for_each(contexts, scratch, rewards, |features, scratch, rewards| {
            self.context_heads.heads.bound(features, self.alpha, scratch, rewards)
        })
    }

    fn choose(
        &self,
        request: Request<'_>,
        _n_actions: usize,
        _rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Result<Choice, Breakdown> {
        self.context_heads.with_context(request.context, scratch, |features, scratch| {
            let heads = &self.context_heads.heads;
            heads.choose_by_bound(&request, features, self.alpha, scratch).map(Choice::certain)
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
        probabilities.fill(0.0);
        probabilities[self.choose(request, probabilities.len(), rng, scratch)?.action] = 1.0;
        Ok(())
    }

    fn choose_many(
        &self,
        requests: &[Request<'_>],
        _n_actions: usize,
        rngs: &mut [Rng],
        scratch: &mut Scratch,
        choices: &mut [Choice],
    ) -> Result<(), (usize, Breakdown)> {
        let heads = &self.context_heads.heads;
        heads.with_rows(requests, scratch, self.context_heads.fill(), |rows, work| {
            let widen = |_: &mut Rng, deviations: &mut [f64]| {
                deviations.fill(self.alpha);
                Ok(())
            };
            heads.find_best_many(rows, work, rngs, choices, heads.predict_rows(rows), widen)
        })?;
        choices.iter_mut().for_each(|choice| *choice = Choice::certain(choice.action));
        Ok(())
    }

    const HEEDS_CANDIDATES: bool = true;

    fn draw_joint(
        &self,
        rows: JointRows<'_>,
        _rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.context_heads.bound_joint(self.alpha, rows, scratch, rewards);
        Ok(())
    }

    fn distribution_of_candidates(
        &self,
        request: Request<'_>,
        rows: JointRows<'_>,
        _draws: &WeightDraws,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        scratch.with_rewards(rows.len(), |bounds, scratch| {
            self.draw_joint(rows, rng, scratch, bounds)?;
            probabilities.fill(0.0);
            probabilities[request.highest(bounds)?] = 1.0;
            Ok(())
        })
    }
}

impl Learner for LinUcb {
    type Config = LinUcbConfig;
    type Decider = Self;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn check(config: &LinUcbConfig, shape: Shape) -> Result<(), Error> {
        config.interactions.check(shape)
    }

    fn plan(config: &LinUcbConfig) -> Plan {
        Plan::untrained(&config.agent)
    }

    fn new(config: &LinUcbConfig, shape: Shape, _seed: Seed) -> Self {
        let context_heads =
            ContextHeads::new(config.map(shape), shape.n_actions, config.prior(), config.agent.half_life);
        Self { alpha: config.alpha, context_heads }
    }

    fn decider(&self) -> &Self {
        self
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        self.context_heads.observe(outcome);
    }

    fn observe_many(&mut self, outcomes: &[Outcome<'_>]) {
        self.context_heads.observe_many(outcomes);
    }

    fn add_action(&mut self, _config: &LinUcbConfig, _shape: Shape, _rng: &mut Rng) -> Result<(), Error> {
        self.context_heads.heads.add_action();
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.context_heads.heads.encode(encoder);
    }

    fn decode(config: &LinUcbConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let context_heads = ContextHeads::decode(
            config.map(shape),
            shape.n_actions,
            config.prior(),
            config.agent.half_life,
            decoder,
        )?;
        Ok(Self { alpha: config.alpha, context_heads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Propensity;
    use crate::agent::contract::assert_settings;
    use crate::agent::highest;
    use crate::agent::{Choose, Policy};
    use crate::model::linear::heads::comparison::{assert_close, rounds, teach_both};

    fn config(alpha: f64) -> LinUcbConfig {
        LinUcbConfig::default().alpha(alpha).agent(AgentConfig::default().initial_pulls(0))
    }

    /// Seen n times, `s = |[x, 1]|²`, the direction has the width √(s/(1 + n·s)): as 1/√n from there on.
    #[test]
    fn the_width_along_a_repeated_direction_shrinks_as_one_over_the_root_of_n() {
        let (context, s) = ([0.75, -1.0], 0.75 * 0.75 + 1.0 + 1.0);
        let mut policy = config(2.0).build_agent(Shape::new(2, 2), Seed::new(0)).unwrap();
        let mut widths = Vec::new();
        for round in 0..=4000 {
            let mean = policy.learner().regression(1).predict(&[0.75, -1.0, 1.0]);
            let width = policy.sample_rewards(round, &[&context]).unwrap()[1] - mean;
            let expected = 2.0 * (s / (1.0 + round as f64 * s)).sqrt();
            assert!((width / expected - 1.0).abs() < 1e-9, "round {round}: {width} {expected}");
            widths.push(width);
            policy.learn(Outcome::new(round, &context, 1, 0.5)).unwrap();
        }
        for n in [100, 1000] {
            assert!((widths[n] / widths[4 * n] - 2.0).abs() < 3e-3, "{n}: {} {}", widths[n], widths[4 * n]);
        }
    }

    /// Action 0 was played twice at x = 1 and paid 1: Λ = [3 2; 2 3], μ = (2/5, 2/5). At x = 2, [2, 1]Λ⁻¹[2, 1]ᵀ = 7/5 and the mean is
    /// 6/5. Action 1 was never played: mean 0, square of the width 5. So α = 1 prefers action 0, 2.383 against 2.236, and α = 2 action 1.
    #[test]
    fn the_choice_is_the_one_computed_by_hand() {
        for (alpha, best) in [(0.0, 0), (1.0, 0), (2.0, 1)] {
            let mut policy = config(alpha).build_agent(Shape::new(1, 2), Seed::new(0)).unwrap();
            for round in 0..2 {
                policy.learn(Outcome::new(round, &[1.0], 0, 1.0)).unwrap();
            }
            let bounds = policy.sample_rewards(2, &[&[2.0]]).unwrap();
            for (found, expected) in bounds.iter().zip([1.2 + alpha * 1.4_f64.sqrt(), alpha * 5_f64.sqrt()]) {
                assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            }
            let choice = policy.choose(Request::new(2, &[2.0])).unwrap();
            assert_eq!((choice.action, choice.propensity), (best, Propensity::Exact(1.0)), "alpha {alpha}");
        }
    }

    /// Decisions skip the widths of actions that cannot win; draws compute all.
    #[test]
    fn the_choice_is_the_highest_of_all_bounds() {
        let shape = Shape::new(6, 7);
        let mut policy = config(0.7).build_agent(shape, Seed::new(0)).unwrap();
        for round in 0..400 {
            let mut rng = Seed::new(3).stream("problem", round);
            let context: Vec<f32> = (0..6).map(|_| rng.normal() as f32).collect();
            let choice = policy.choose(Request::new(round, &context)).unwrap();
            let bounds = policy.sample_rewards(round + 1000, &[&context]).unwrap();
            assert_eq!(choice, Choice::certain(highest(&bounds).unwrap()));
            let reward = f64::from(context[choice.action % 6]) + 0.1 * rng.normal();
            policy.learn(Outcome::new(round, &context, choice.action, reward)).unwrap();
        }
    }

    #[test]
    fn defaults_are_documented_ones() {
        assert_settings("lin-ucb", "alpha=1 prior_precision=1 initial_pulls=2");
    }

    #[test]
    fn many_at_once_are_learned_as_one_by_one() {
        for (shape, n) in [(Shape::new(54, 7), 600), (Shape::new(3, 2), 90), (Shape::new(5, 4), 3)] {
            for is_weighted in [false, true] {
                let mut policies =
                    [(); 2].map(|()| LinUcbConfig::default().build_agent(shape, Seed::new(1)).unwrap());
                let [one_by_one, many] = &mut policies;
                teach_both(one_by_one, many, &rounds(shape, n, is_weighted));
                for action in 0..shape.n_actions {
                    let [found, expected] =
                        [&*many, one_by_one].map(|policy| policy.learner().regression(action));
                    assert_close(&format!("{shape:?}, action {action}"), found, expected, 1e-9);
                }
            }
        }
    }

    /// An outcome of weight 3 is that outcome three times.
    #[test]
    fn a_weight_is_so_many_equal_outcomes() {
        let shape = Shape::new(4, 3);
        let [mut weighted, mut repeated] =
            [(); 2].map(|()| LinUcbConfig::default().build_agent(shape, Seed::new(1)).unwrap());
        for (context, action, reward, _) in rounds(shape, 50, false) {
            let (outcome, n) = (Outcome::new(0, &context, action, reward), 1 + action);
            weighted.learn(outcome.with_weight(n as f64)).unwrap();
            (0..n).for_each(|_| assert!(repeated.learn(outcome).is_ok()));
        }
        for action in 0..3 {
            let [found, expected] = [&weighted, &repeated].map(|policy| policy.learner().regression(action));
            assert_close(&format!("action {action}"), found, expected, 1e-12);
        }
    }
}
