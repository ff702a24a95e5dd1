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
        prior_precision: f64 = 0.25, Range::above(0.0, 1e12), "benchmark";
        /// a₀, the prior's shape of the noise variance
        prior_shape: f64 = 6.0, Range::above(0.0, 1e12), "benchmark";
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
        context: &[f32],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        let dim = self.features.len();
        let [features, work, deviations] = scratch.doubles([dim, dim, rewards.len()]);
        with_intercept(context, features);
        self.draw_deviations(rng, deviations)?;
        for ((posterior, reward), deviation) in self.actions.iter().zip(rewards).zip(deviations) {
            *reward = posterior.predict(features) + *deviation * posterior.leverage(features, work).sqrt();
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
