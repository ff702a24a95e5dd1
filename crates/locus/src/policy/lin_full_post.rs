//! LinFullPost: for every action a Bayesian linear regression of its rewards, with its exact posterior.

use std::sync::Arc;

use super::registry::{Identity, Registered};
use super::thompson::{Breakdown, Plan, RewardModel, Thompson, highest};
use crate::config::config;
use crate::linear::{LinearPosterior, LinearPrior};
use crate::save::{Decoder, Encoder};
use crate::scratch::Scratch;
use crate::{Error, Outcome, Rng, Seed, Shape};

config! {
    /// Settings of LinFullPost. The defaults are those of the benchmark (Riquelme et al., ICLR 2018).
    pub struct LinFullPostConfig {
        /// λ, how strongly the prior holds the coefficients to 0
        prior_precision: f64 = 0.25, Range::from(1e-12, 1e12), "benchmark";
        /// a₀, the prior's shape of the noise variance
        prior_shape: f64 = 6.0, Range::from(0.1, 1e12), "benchmark";
        /// b₀, the prior's rate of the noise variance
        prior_rate: f64 = 6.0, Range::above(0.0, 1e12), "benchmark";
        /// How often every action is played, round robin, before the model decides
        initial_pulls: u32 = 2, Range::from(0.0, 1000.0), "benchmark";
    }
}

pub(super) static REGISTERED: Registered<LinFullPostConfig> = Registered {
    id: "lin-full-post",
    summary: "Thompson sampling with an exact Bayesian linear regression for every action",
    presets: &[("benchmark", LinFullPostConfig::default)],
    build: Thompson::<LinFullPost>::boxed,
    load: Thompson::<LinFullPost>::load,
};

impl LinFullPostConfig {
    /// Builds the policy.
    pub fn build(&self, shape: Shape, seed: Seed) -> Result<Thompson<LinFullPost>, Error> {
        Thompson::new(self, Identity { spec: REGISTERED.spec(self)?, shape, seed })
    }

    fn prior(&self) -> LinearPrior {
        LinearPrior { precision: self.prior_precision, shape: self.prior_shape, rate: self.prior_rate }
    }
}

/// A linear posterior for every action, on the features `[x, 1]`.
#[derive(Clone, Debug)]
pub struct LinFullPost {
    /// Shared with snapshots; observing copies only the posterior of the action observed.
    actions: Vec<Arc<LinearPosterior>>,
    /// The features of the observation that is taken in.
    features: Vec<f64>,
}

impl LinFullPost {
    /// The posterior of an action's coefficients, the intercept last. Panics if there is no such action.
    pub fn posterior(&self, action: usize) -> &LinearPosterior {
        &self.actions[action]
    }

    fn with_actions(actions: Vec<Arc<LinearPosterior>>, shape: Shape) -> Self {
        Self { actions, features: vec![0.0; shape.n_features + 1] }
    }

    /// Draws what of the rewards does not depend on the context.
    ///
    /// A drawn reward is `xᵀβ` with `β ~ N(μ, σ²Λ⁻¹)`. Nothing else of β matters, and given σ² that is one Gaussian
    /// number, `xᵀμ + σξ·√(xᵀΛ⁻¹x)` with ξ standard normal: this fills in σξ for every action.
    fn draw_deviations(&self, rng: &mut Rng, deviations: &mut [f64]) -> Result<(), Breakdown> {
        for (action, (posterior, deviation)) in self.actions.iter().zip(deviations).enumerate() {
            let noise_variance = posterior.sample_noise_variance(rng);
            if !noise_variance.is_finite() {
                let place = format!("the drawn noise variance of action {action}");
                return Err(Breakdown { place, found: noise_variance });
            }
            *deviation = noise_variance.sqrt() * rng.normal();
        }
        Ok(())
    }
}

impl RewardModel for LinFullPost {
    type Config = LinFullPostConfig;

    fn new(config: &LinFullPostConfig, shape: Shape, _seed: Seed) -> Self {
        let posterior = Arc::new(LinearPosterior::new(shape.n_features + 1, config.prior()));
        Self::with_actions(vec![posterior; shape.n_actions], shape)
    }

    fn plan(config: &LinFullPostConfig) -> Plan {
        Plan { initial_pulls: config.initial_pulls, training: None }
    }

    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let (dim, n_actions) = (self.features.len(), self.actions.len());
        let [features, work, deviations] = scratch.doubles([dim, dim, n_actions]);
        for (context, rewards) in contexts.iter().zip(rewards.chunks_exact_mut(n_actions)) {
            with_intercept(context, features);
            self.draw_deviations(rng, deviations)?;
            for ((posterior, reward), deviation) in self.actions.iter().zip(rewards).zip(&*deviations) {
                *reward = posterior.predict(features) + deviation * posterior.leverage(features, work).sqrt();
            }
        }
        Ok(())
    }

    /// Finds the highest reward without computing all.
    ///
    /// An action's leverage costs a pass over its factor, O(d²); its mean, and a bound on the leverage, O(d). So
    /// actions are taken in the order of what they could reach at best, until none left can win.
    fn choose(
        &self,
        context: &[f32],
        rng: &mut Rng,
        scratch: &mut Scratch,
        n_actions: usize,
    ) -> Result<usize, Breakdown> {
        let dim = self.features.len();
        let [features, work, deviations, means, ceilings] =
            scratch.doubles([dim, dim, n_actions, n_actions, n_actions]);
        with_intercept(context, features);
        self.draw_deviations(rng, deviations)?;
        let widest = self.actions[0].leverage_bound(features).sqrt();
        for (action, posterior) in self.actions.iter().enumerate() {
            means[action] = posterior.predict(features);
            ceilings[action] = means[action] + deviations[action].max(0.0) * widest;
            if ceilings[action].is_nan() {
                let place = format!("the drawn reward of action {action}");
                return Err(Breakdown { place, found: ceilings[action] });
            }
        }
        let (mut best, mut best_reward) = (usize::MAX, f64::NEG_INFINITY);
        for _ in 0..n_actions {
            let next = highest(ceilings)?;
            if ceilings[next] < best_reward {
                break;
            }
            let reward = means[next] + deviations[next] * self.actions[next].leverage(features, work).sqrt();
            if reward > best_reward || (reward == best_reward && next < best) {
                (best, best_reward) = (next, reward);
            }
            ceilings[next] = f64::NEG_INFINITY;
        }
        Ok(best)
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        with_intercept(outcome.context, &mut self.features);
        Arc::make_mut(&mut self.actions[outcome.action]).observe(&self.features, outcome.reward);
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.actions.iter().for_each(|posterior| posterior.encode(encoder));
    }

    fn decode(config: &LinFullPostConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let dim = shape.n_features + 1;
        let mut actions = Vec::new();
        for _ in 0..shape.n_actions {
            actions.push(Arc::new(LinearPosterior::decode(dim, config.prior(), decoder)?));
        }
        Ok(Self::with_actions(actions, shape))
    }
}

/// `[x, 1]`
fn with_intercept(context: &[f32], features: &mut [f64]) {
    features[context.len()] = 1.0;
    for (feature, &value) in features.iter_mut().zip(context) {
        *feature = f64::from(value);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kolmogorov::{KOLMOGOROV_ONE_IN_10_000, kolmogorov_of_two};
    use crate::policy::{Choose, Policy};
    use crate::{Request, Rng};

    fn trained(shape: Shape, n_observed: usize, scale: f64, rng: &mut Rng) -> Thompson<LinFullPost> {
        let mut policy = LinFullPostConfig::default().build(shape, Seed::new(1)).unwrap();
        for round in 0..n_observed {
            let context: Vec<f32> = (0..shape.n_features).map(|_| (scale * rng.normal()) as f32).collect();
            let action = rng.below(shape.n_actions);
            let reward = f64::from(context[action % shape.n_features]) + rng.normal();
            policy.learn(Outcome { round: round as u64, context: &context, action, reward }).unwrap();
        }
        policy
    }

    proptest! {
        #[test]
        fn the_winner_is_that_of_the_full_draw(
            n_features in 1_usize..20,
            n_actions in 1_usize..9,
            n_observed in 0_usize..60,
            magnitude in -6_i32..7,
            seed: u64,
        ) {
            let mut rng = Seed::new(seed).stream("test", 0);
            let scale = 10_f64.powi(magnitude);
            let policy = trained(Shape::new(n_features, n_actions), n_observed, scale, &mut rng);
            let mut rewards = vec![0.0; n_actions];
            for round in 0..20 {
                let context: Vec<f32> = (0..n_features).map(|_| (scale * rng.normal()) as f32).collect();
                let stream = Seed::new(seed).stream("choose", round);
                let (chosen, drawn) = Scratch::with(|scratch| {
                    let chosen = policy.model().choose(&context, &mut stream.clone(), scratch, n_actions);
                    policy.model().draw(&[&context], &mut stream.clone(), scratch, &mut rewards).unwrap();
                    (chosen, highest(&rewards))
                });
                prop_assert_eq!(chosen, drawn);
            }
        }
    }

    /// A drawn reward is distributed as xᵀβ for drawn coefficients β. The two-sample Kolmogorov–Smirnov statistic of
    /// 50 000 draws each exceeds the bound by chance once in 10 000 seeds.
    #[test]
    fn rewards_are_distributed_as_drawn_coefficients_say() {
        const N_DRAWS: usize = 50_000;
        let mut rng = Seed::new(8).stream("test", 0);
        let policy = trained(Shape::new(4, 3), 40, 1.0, &mut rng);
        let context = [0.5, -1.0, 2.0, 0.3];
        let mut features = [0.0; 5];
        with_intercept(&context, &mut features);
        for action in 0..3 {
            let posterior = policy.model().posterior(action);
            let mut coefficients = [0.0; 5];
            let by_coefficients: Vec<f64> = (0..N_DRAWS)
                .map(|_| {
                    let noise_variance = posterior.sample_noise_variance(&mut rng);
                    posterior.sample_coefficients(noise_variance, &mut rng, &mut coefficients);
                    coefficients.iter().zip(&features).map(|(beta, x)| beta * x).sum()
                })
                .collect();
            let mut rewards = [0.0; 3];
            let by_rewards: Vec<f64> = (0..N_DRAWS)
                .map(|_| {
                    Scratch::with(|scratch| {
                        policy.model().draw(&[&context], &mut rng, scratch, &mut rewards)
                    })
                    .unwrap();
                    rewards[action]
                })
                .collect();
            let statistic = kolmogorov_of_two(by_rewards, by_coefficients);
            assert!(statistic < KOLMOGOROV_ONE_IN_10_000, "action {action}: {statistic}");
        }
    }

    #[test]
    fn an_unchecked_config_builds_nothing() {
        let config = LinFullPostConfig { prior_rate: 0.0, ..LinFullPostConfig::default() };
        let error = config.build(Shape::new(2, 2), Seed::new(0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "policy `lin-full-post`: `prior_rate` is `0`, expected a number above 0, up to 1e12"
        );
    }

    /// The posterior is that of the features [x, 1], also where x is 0 and only the intercept can tell actions apart.
    #[test]
    fn learns_an_intercept() {
        let mut policy = LinFullPostConfig::default().build(Shape::new(1, 2), Seed::new(0)).unwrap();
        let mut direct = LinearPosterior::new(2, LinFullPostConfig::default().prior());
        for round in 0..40 {
            let context = [round as f32 % 3.0];
            let reward = 7.0 + 0.5 * f64::from(context[0]);
            policy.learn(Outcome { round, context: &context, action: 1, reward }).unwrap();
            direct.observe(&[f64::from(context[0]), 1.0], reward);
        }
        assert_eq!(policy.model().posterior(1).mean(), direct.mean());
        assert!((direct.mean()[1] - 7.0).abs() < 0.2, "{:?}", direct.mean());
        let n_right = (100..200)
            .filter(|&round| policy.choose(Request { round, context: &[0.0] }).unwrap().action == 1)
            .count();
        assert!(n_right >= 90, "{n_right} of 100");
    }

    #[test]
    fn finds_the_better_action_of_a_linear_problem() {
        let mut policy = LinFullPostConfig::default().build(Shape::new(2, 2), Seed::new(0)).unwrap();
        let mut rng = Seed::new(9).stream("test", 0);
        let mut n_right = 0;
        for round in 0..500 {
            let context = [rng.normal() as f32, rng.normal() as f32];
            let rewards = [f64::from(context[0]), f64::from(context[1])];
            let action = policy.choose(Request { round, context: &context }).unwrap().action;
            let reward = rewards[action] + 0.1 * rng.normal();
            policy.learn(Outcome { round, context: &context, action, reward }).unwrap();
            n_right += usize::from(round >= 400 && rewards[action] >= rewards[1 - action]);
        }
        assert!(n_right >= 95, "{n_right} of 100");
    }
}
