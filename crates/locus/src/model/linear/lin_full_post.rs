//! LinFullPost: for every action a Bayesian linear regression of its rewards, with its exact posterior.

use crate::agent::{Breakdown, Decider, JointRows, Learner, Plan, Scratch, WeightDraws};
use crate::math::linear::LinearPrior;
use crate::model::linear::heads::ContextHeads;
use crate::model::linear::joint::{FeatureMap, draws_of};
use crate::registry::Definition;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::{AgentConfig, config};
use crate::registry::values::Interactions;
use crate::{Choice, Error, Outcome, Request, Rng, Seed, Shape};

config! {
    /// Settings of LinFullPost. The defaults are those of the benchmark (Riquelme et al., ICLR 2018).
    pub struct LinFullPostConfig {
        /// λ, prior precision of the coefficients relative to the noise: their prior variance is σ²/λ
        prior_precision: f64 = 0.25, Range::within(1e-12, 1e12), "benchmark";
        /// a₀, shape of the inverse-gamma prior of the noise variance
        prior_shape: f64 = 6.0, Range::within(0.1, 1e12), "benchmark";
        /// b₀, rate of the inverse-gamma prior of the noise variance
        prior_rate: f64 = 6.0, Range::above(0.0, 1e12), "benchmark";
        /// With features of actions: off regresses on [x, f, 1], all also on the products x_i·f_j, only on [x, 1] ⊗ f alone
        interactions: Interactions = Interactions::Off, Range::ANY, "our choice";
        /// With features of actions: S, samples of the coefficients that give the probabilities of decisions, if they are requested
        /// or a floor is set
        propensity_draws: u32 = 128, Range::within(1.0, 1e5), "our choice";
        ..agent: AgentConfig = AgentConfig::default();
    }
}

pub(crate) fn definition() -> Definition<LinFullPostConfig> {
    let summary = "Thompson sampling with an exact Bayesian linear regression for every action";
    Definition::of::<LinFullPost>("lin-full-post", summary)
        .presets([("benchmark", LinFullPostConfig::default())])
}

buildable!(LinFullPostConfig => LinFullPost);

impl LinFullPostConfig {
    fn prior(&self) -> LinearPrior {
        LinearPrior { precision: self.prior_precision, shape: self.prior_shape, rate: self.prior_rate }
    }

    fn map(&self, shape: Shape) -> FeatureMap {
        FeatureMap::new(shape, self.interactions)
    }
}

/// A linear posterior for every action on the features `[x, 1]`, or one for all actions with features of their own.
#[derive(Clone, Debug)]
pub(crate) struct LinFullPost(ContextHeads);

impl LinFullPost {
    /// The posterior of an action's coefficients, the intercept last. Panics if there is no such action.
    #[cfg(test)]
    pub(crate) fn posterior(&self, action: usize) -> &crate::math::linear::LinearPosterior {
        self.0.heads.posterior(action)
    }
}

impl Decider for LinFullPost {
    fn draw(
        &self,
        contexts: &[&[f32]],
        rng: &mut Rng,
        scratch: &mut Scratch,
        rewards: &mut [f64],
    ) -> Result<(), Breakdown> {
        self.0.for_each(contexts, scratch, rewards, |features, scratch, rewards| {
            self.0.heads.draw(features, rng, scratch, rewards)
        })
    }

    fn choose(
        &self,
        request: Request<'_>,
        _n_actions: usize,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Result<Choice, Breakdown> {
        self.0.with_context(request.context, scratch, |features, scratch| {
            self.0.heads.choose(&request, features, rng, scratch).map(Choice::new)
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
        self.0.with_context(request.context, scratch, |features, scratch| {
            self.0.heads.win_probabilities(&request, features, rng, scratch, probabilities)
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
        let heads = &self.0.heads;
        heads.with_rows(requests, scratch, self.0.fill(), |rows, work| {
            let deviate = |rng: &mut Rng, deviations: &mut [f64]| heads.draw_deviations(rng, deviations);
            heads.find_best_many(rows, work, rngs, choices, heads.predict_rows(rows), deviate)
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
        let heads = &self.0.heads;
        heads.with_rows(requests, scratch, self.0.fill(), |rows, work| {
            let spread = |rng: &mut Rng, spreads: &mut [f64]| heads.draw_spreads(rng, spreads);
            heads.find_wins_many(rows, work, rngs, probabilities, heads.predict_rows(rows), spread)
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
        self.0.draw_joint(rows, rng, scratch, rewards)
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
        let ContextHeads { heads, map } = &self.0;
        let draw = |rng: &mut Rng, weights: &mut [f64]| heads.draw_coefficients(rng, weights);
        let draws = draws_of(draws, map.dim(), draw)?;
        map.win_shares(draws, 1.0, None, (request, rows), scratch, probabilities)
    }
}

impl Learner for LinFullPost {
    type Config = LinFullPostConfig;
    type Decider = Self;

    const HEEDS_WEIGHTS: bool = true;
    const FORGETS: bool = true;

    fn check(config: &LinFullPostConfig, shape: Shape) -> Result<(), Error> {
        config.interactions.check(shape)
    }

    fn plan(config: &LinFullPostConfig) -> Plan {
        Plan::untrained(&config.agent).with_propensity_draws(config.propensity_draws as usize)
    }

    fn new(config: &LinFullPostConfig, shape: Shape, _seed: Seed) -> Self {
        Self(ContextHeads::new(config.map(shape), shape.n_actions, config.prior(), config.agent.half_life))
    }

    fn decider(&self) -> &Self {
        self
    }

    fn observe(&mut self, outcome: &Outcome<'_>) {
        self.0.observe(outcome);
    }

    fn observe_many(&mut self, outcomes: &[Outcome<'_>]) {
        self.0.observe_many(outcomes);
    }

    fn add_action(
        &mut self,
        _config: &LinFullPostConfig,
        _shape: Shape,
        _rng: &mut Rng,
    ) -> Result<(), Error> {
        self.0.heads.add_action();
        Ok(())
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.0.heads.encode(encoder);
    }

    fn decode(config: &LinFullPostConfig, shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Self(ContextHeads::decode(
            config.map(shape),
            shape.n_actions,
            config.prior(),
            config.agent.half_life,
            decoder,
        )?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Rng;
    use crate::agent::{Agent, highest};
    use crate::agent::{Choose, Policy};
    use crate::math::linear::LinearPosterior;
    use crate::model::linear::heads::comparison::{assert_close, rounds, teach_both};
    use crate::random::kolmogorov::{KOLMOGOROV_ONE_IN_10_000, kolmogorov_of_two};

    fn trained(shape: Shape, n_observed: usize, scale: f64, rng: &mut Rng) -> Agent<LinFullPost> {
        let mut policy = LinFullPostConfig::default().build_agent(shape, Seed::new(1)).unwrap();
        for round in 0..n_observed {
            let context: Vec<f32> = (0..shape.n_features).map(|_| (scale * rng.normal()) as f32).collect();
            let action = rng.below(shape.n_actions);
            let reward = f64::from(context[action % shape.n_features]) + rng.normal();
            policy.learn(Outcome::new(round as u64, &context, action, reward)).unwrap();
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
                    let request = Request::new(round, &context);
                    let chosen = policy.learner().choose(request, n_actions, &mut stream.clone(), scratch);
                    policy.learner().draw(&[&context], &mut stream.clone(), scratch, &mut rewards).unwrap();
                    (chosen, highest(&rewards).map(Choice::new))
                });
                prop_assert_eq!(chosen, drawn);
            }
        }
    }

    /// A drawn reward is distributed as xᵀβ for drawn coefficients β. The two-sample Kolmogorov–Smirnov statistic of
    /// 50 000 draws each exceeds the bound for one seed in 10 000.
    #[test]
    fn rewards_are_distributed_as_drawn_coefficients_say() {
        const N_DRAWS: usize = 50_000;
        let mut rng = Seed::new(8).stream("test", 0);
        let policy = trained(Shape::new(4, 3), 40, 1.0, &mut rng);
        let context = [0.5, -1.0, 2.0, 0.3];
        let mut features = [0.0; 5];
        policy.learner().0.map.fill(&context, 1.0, &mut features);
        for action in 0..3 {
            let posterior = policy.learner().posterior(action);
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
                        policy.learner().draw(&[&context], &mut rng, scratch, &mut rewards)
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
        let error = config.build_agent(Shape::new(2, 2), Seed::new(0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "policy `lin-full-post`: `prior_rate` is `0`, expected a number above 0, up to 1e12"
        );
    }

    /// The posterior is that of the features [x, 1], also where x is 0 and only the intercept can tell actions apart.
    #[test]
    fn learns_an_intercept() {
        let mut policy = LinFullPostConfig::default().build_agent(Shape::new(1, 2), Seed::new(0)).unwrap();
        let mut direct = LinearPosterior::new(2, LinFullPostConfig::default().prior());
        for round in 0..40 {
            let context = [round as f32 % 3.0];
            let reward = 7.0 + 0.5 * f64::from(context[0]);
            policy.learn(Outcome::new(round, &context, 1, reward)).unwrap();
            direct.observe(&[f64::from(context[0]), 1.0], reward);
        }
        assert_eq!(policy.learner().posterior(1).mean(), direct.mean());
        assert!((direct.mean()[1] - 7.0).abs() < 0.2, "{:?}", direct.mean());
        let n_right = (100..200)
            .filter(|&round| policy.choose(Request::new(round, &[0.0])).unwrap().action == 1)
            .count();
        assert!(n_right >= 90, "{n_right} of 100");
    }

    #[test]
    fn finds_the_better_action_of_a_linear_problem() {
        let mut policy = LinFullPostConfig::default().build_agent(Shape::new(2, 2), Seed::new(0)).unwrap();
        let mut rng = Seed::new(9).stream("test", 0);
        let mut n_right = 0;
        for round in 0..500 {
            let context = [rng.normal() as f32, rng.normal() as f32];
            let rewards = [f64::from(context[0]), f64::from(context[1])];
            let action = policy.choose(Request::new(round, &context)).unwrap().action;
            let reward = rewards[action] + 0.1 * rng.normal();
            policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
            n_right += usize::from(round >= 400 && rewards[action] >= rewards[1 - action]);
        }
        assert!(n_right >= 95, "{n_right} of 100");
    }

    #[test]
    fn many_at_once_are_learned_as_one_by_one() {
        for (shape, n) in [(Shape::new(54, 7), 600), (Shape::new(3, 2), 90), (Shape::new(5, 4), 3)] {
            for is_weighted in [false, true] {
                let mut policies =
                    [(); 2].map(|()| LinFullPostConfig::default().build_agent(shape, Seed::new(1)).unwrap());
                let [one_by_one, many] = &mut policies;
                teach_both(one_by_one, many, &rounds(shape, n, is_weighted));
                for action in 0..shape.n_actions {
                    let [found, expected] =
                        [&*many, one_by_one].map(|policy| policy.learner().posterior(action));
                    assert_close(&format!("{shape:?}, action {action}"), found, expected, 1e-9);
                }
            }
        }
    }

    /// Actions that are played only once they are there: it makes no difference when they were added.
    #[test]
    fn added_actions_are_those_of_a_policy_that_had_them_from_the_start() {
        let config = LinFullPostConfig::default();
        let build = |n_actions| config.build_agent(Shape::new(4, n_actions), Seed::new(1)).unwrap();
        let (mut grown, mut whole) = (build(2), build(5));
        for (number, (context, action, reward, weight)) in
            rounds(Shape::new(4, 5), 300, true).into_iter().enumerate()
        {
            if number > 0 && number % 80 == 0 {
                assert_eq!(grown.add_action().unwrap(), 1 + number / 80);
            }
            let action = action % grown.shape().n_actions;
            let outcome = Outcome::new(number as u64, &context, action, reward).with_weight(weight);
            [&mut grown, &mut whole].into_iter().for_each(|policy| assert!(policy.learn(outcome).is_ok()));
        }
        for action in 0..5 {
            let [found, expected] = [&grown, &whole].map(|policy| policy.learner().posterior(action));
            assert_close(&format!("action {action}"), found, expected, 0.0);
        }
        let context = [0.5, -1.0, 2.0, 0.0];
        let [found, expected] =
            [&grown, &whole].map(|policy| policy.sample_rewards(400, &[&context]).unwrap());
        assert_eq!(found, expected);
    }

    /// An outcome of weight 3 is that outcome three times.
    #[test]
    fn a_weight_is_so_many_equal_outcomes() {
        let shape = Shape::new(4, 3);
        let [mut weighted, mut repeated] =
            [(); 2].map(|()| LinFullPostConfig::default().build_agent(shape, Seed::new(1)).unwrap());
        for (context, action, reward, _) in rounds(shape, 50, false) {
            let (outcome, n) = (Outcome::new(0, &context, action, reward), 1 + action);
            weighted.learn(outcome.with_weight(n as f64)).unwrap();
            (0..n).for_each(|_| assert!(repeated.learn(outcome).is_ok()));
        }
        for action in 0..3 {
            let [found, expected] = [&weighted, &repeated].map(|policy| policy.learner().posterior(action));
            assert_close(&format!("action {action}"), found, expected, 1e-12);
        }
    }
}
