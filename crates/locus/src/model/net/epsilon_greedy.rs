//! ε-greedy: the action with the highest predicted reward, or with probability ε a uniformly random action.
//!
//! ε decays as 1/t: a constant ε causes linear regret, and 1/t is the slowest decay with which the number of random actions grows
//! only logarithmically (Auer, Cesa-Bianchi and Fischer, 2002).

use crate::model::net::randomized::{Randomize, Randomized};
use crate::model::net::reward_net::RewardNetConfig;
use crate::registry::Definition;
use crate::registry::settings::{AgentConfig, config};

config! {
    /// Settings of ε-greedy. Those of the net are the benchmark's (Riquelme et al., ICLR 2018).
    pub struct EpsilonGreedyConfig {
        /// Initial ε, the probability of a random action
        epsilon: f64 = 0.1, Range::within(0.0, 1.0), "Sutton and Barto (2018), section 2.3";
        /// Decay d of ε: after t observations it is divided by 1 + t·d; 0 keeps it constant
        epsilon_decay: f64 = 0.005, Range::within(0.0, 1e3), "our choice; 1/t as in Auer et al. (2002)";
        ..net: RewardNetConfig = RewardNetConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

pub(crate) fn definition() -> Definition<EpsilonGreedyConfig> {
    let summary = "ε-greedy on a neural reward model, with decaying ε";
    Definition::of::<EpsilonGreedy>("epsilon-greedy", summary)
}

buildable!(EpsilonGreedyConfig => EpsilonGreedy);

/// A reward net with ε-greedy exploration.
pub(crate) type EpsilonGreedy = Randomized<EpsilonGreedyConfig>;

impl EpsilonGreedyConfig {
    /// ε after so many observations.
    fn epsilon_after(&self, n_observed: f64) -> f64 {
        self.epsilon / (1.0 + self.epsilon_decay * n_observed)
    }
}

impl Randomize for EpsilonGreedyConfig {
    fn net(&self) -> &RewardNetConfig {
        &self.net
    }

    fn agent(&self) -> &AgentConfig {
        &self.agent
    }

    fn probabilities(&self, n_observed: f64, _reward_std: f64, rewards: &mut [f64]) {
        let epsilon = self.epsilon_after(n_observed);
        let higher = |best, action| if rewards[action] > rewards[best] { action } else { best };
        let best = (0..rewards.len()).fold(0, higher);
        rewards.fill(epsilon / rewards.len() as f64);
        rewards[best] += 1.0 - epsilon;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::contract::assert_settings;
    use crate::agent::{Agent, highest};
    use crate::agent::{Choose, Policy};
    use crate::{Outcome, Propensity, Request, Seed, Shape};

    const N_ACTIONS: usize = 4;

    fn trained(config: EpsilonGreedyConfig) -> Agent<EpsilonGreedy> {
        let config =
            EpsilonGreedyConfig { net: RewardNetConfig::default().batch_size(32).minibatches(5), ..config };
        let mut policy = config.build_agent(Shape::new(2, N_ACTIONS), Seed::new(1)).unwrap();
        for round in 0..100 {
            let (context, action) = ([1.0, (round % 3) as f32], round as usize % N_ACTIONS);
            policy.learn(Outcome::new(round, &context, action, action as f64)).unwrap();
        }
        policy
    }

    /// Counts of 20 000 decisions lie within five standard deviations; false alarms for one seed in 400 000 for all four.
    #[test]
    fn the_greedy_action_is_taken_but_for_epsilon_and_all_propensities_are_exact() {
        const N: u64 = 20_000;
        let config = EpsilonGreedyConfig { epsilon: 0.3, epsilon_decay: 0.0, ..Default::default() };
        let policy = trained(config);
        let context = [1.0, 0.5];
        let best = highest(&policy.sample_rewards(0, &[&context]).unwrap()).unwrap();
        let mut counts = [0.0; N_ACTIONS];
        let expected = |action: usize| 0.3 / 4.0 + if action == best { 1.0 - 0.3 } else { 0.0 };
        for round in 100..100 + N {
            let choice = policy.choose(Request::new(round, &context)).unwrap();
            let Propensity::Exact(propensity) = choice.propensity else { panic!("{choice:?}") };
            assert!((propensity - expected(choice.action)).abs() < 1e-15, "{choice:?}");
            counts[choice.action] += 1.0;
        }
        for (action, count) in counts.into_iter().enumerate() {
            let (p, n) = (expected(action), N as f64);
            let bound = 5.0 * (n * p * (1.0 - p)).sqrt();
            assert!((count - n * p).abs() < bound, "action {action}: {count}, {}", n * p);
        }
    }

    /// ε depends on the observations, not on the round of the request: a policy that learned from a log does not restart.
    #[test]
    fn epsilon_falls_with_the_observations() {
        let config = EpsilonGreedyConfig { epsilon: 0.4, epsilon_decay: 0.01, ..Default::default() };
        assert_eq!([0.0, 100.0, 300.0, 900.0].map(|n| config.epsilon_after(n)), [0.4, 0.2, 0.1, 0.04]);
        let policy = trained(config);
        let context = [1.0, 0.5];
        for round in [900, 8, u64::MAX] {
            let choice = policy.choose(Request::new(round, &context)).unwrap();
            let best = highest(&policy.sample_rewards(0, &[&context]).unwrap()).unwrap();
            let expected = 0.2 / 4.0 + if choice.action == best { 0.8 } else { 0.0 };
            let Propensity::Exact(propensity) = choice.propensity else { panic!("{choice:?}") };
            assert!((propensity - expected).abs() < 1e-15, "round {round}: {choice:?}");
        }
    }

    #[test]
    fn without_epsilon_there_is_no_chance() {
        let config = EpsilonGreedyConfig { epsilon: 0.0, ..Default::default() };
        let policy = trained(config);
        let context = [1.0, 2.0];
        let best = highest(&policy.sample_rewards(0, &[&context]).unwrap()).unwrap();
        for round in 100..300 {
            let choice = policy.choose(Request::new(round, &context)).unwrap();
            assert_eq!((choice.action, choice.propensity), (best, Propensity::Exact(1.0)));
        }
    }

    #[test]
    fn defaults_are_the_benchmarks_net_and_a_falling_epsilon() {
        let expected = "hidden_layers=50 initial_weights=0.3 learning_rate=0.1 learning_rate_decay=0.5 \
            max_gradient_norm=5 batch_size=512 train_every=50 minibatches=100 replay_capacity=all epsilon=0.1 \
            epsilon_decay=0.005 initial_pulls=2";
        assert_settings("epsilon-greedy", expected);
    }
}
