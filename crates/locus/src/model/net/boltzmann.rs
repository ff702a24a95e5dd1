//! Boltzmann exploration: action probabilities are proportional to exp(predicted reward ÷ temperature).
//!
//! A temperature is a difference of rewards, and rewards range from 0 and 1 in one problem to −35 and 50 in another. So the unit
//! of the temperature is the standard deviation of the rewards so far (`temperature_unit`), and one setting suits all problems.
//! It decreases with the logarithm of the observations: the probability of an action that is worse by Δ then decreases as
//! t^(−Δ/temperature). If it decreases faster, a good action may be abandoned forever; if it does not decrease, exploration never
//! ends (Singh et al., 2000; Cesa-Bianchi et al., "Boltzmann exploration done right", 2017).

use crate::model::net::randomized::{Randomize, Randomized};
use crate::model::net::reward_net::RewardNetConfig;
use crate::registry::Definition;
use crate::registry::settings::words;
use crate::registry::settings::{AgentConfig, config};

words! {
    /// The unit of the temperature.
    pub enum TemperatureUnit {
        /// The standard deviation of all rewards seen so far; 1 while they are all the same.
        RewardStd = "reward-std",
        /// A reward of 1.
        Reward = "reward",
    }
}

words! {
    /// How the temperature decreases with the observations.
    pub enum Cooling {
        /// Divided by ln(e + t) after t observations.
        Logarithmic = "logarithmic",
        /// Not at all.
        None = "none",
    }
}

config! {
    /// Settings of Boltzmann exploration.
    ///
    /// Those of the net are the benchmark's (Riquelme et al., ICLR 2018).
    pub struct BoltzmannConfig {
        /// Initial temperature
        temperature: f64 = 0.25, Range::within(1e-9, 1e9), "our choice";
        /// Unit of the temperature: the standard deviation of rewards so far (reward-std), or a reward of 1
        temperature_unit: TemperatureUnit = TemperatureUnit::RewardStd, Range::ANY, "our choice";
        /// Decrease of the temperature: divided by ln(e + t) after t observations (logarithmic), or none
        cooling: Cooling = Cooling::Logarithmic, Range::ANY, "Singh et al. (2000)";
        ..net: RewardNetConfig = RewardNetConfig::default();
        ..agent: AgentConfig = AgentConfig::default();
    }
}

pub(crate) fn definition() -> Definition<BoltzmannConfig> {
    let summary = "Boltzmann (softmax) exploration on a neural reward model, with decreasing temperature";
    Definition::of::<Boltzmann>("boltzmann", summary)
}

buildable!(BoltzmannConfig => Boltzmann);

/// A reward net with softmax exploration.
pub(crate) type Boltzmann = Randomized<BoltzmannConfig>;

impl BoltzmannConfig {
    /// The temperature after so many observations, as a difference of rewards.
    fn temperature_after(&self, n_observed: f64, reward_std: f64) -> f64 {
        let unit = match self.temperature_unit {
            TemperatureUnit::RewardStd => reward_std,
            TemperatureUnit::Reward => 1.0,
        };
        let cooling = match self.cooling {
            Cooling::Logarithmic => libm::log(std::f64::consts::E + n_observed),
            Cooling::None => 1.0,
        };
        self.temperature * unit / cooling
    }
}

impl Randomize for BoltzmannConfig {
    fn net(&self) -> &RewardNetConfig {
        &self.net
    }

    fn agent(&self) -> &AgentConfig {
        &self.agent
    }

    fn probabilities(&self, n_observed: f64, reward_std: f64, rewards: &mut [f64]) {
        let temperature = self.temperature_after(n_observed, reward_std);
        // Relative to the highest reward, so that no exponential overflows and one of them is 1.
        let highest = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        for reward in rewards.iter_mut() {
            *reward = libm::exp((*reward - highest) / temperature);
            total += *reward;
        }
        rewards.iter_mut().for_each(|weight| *weight /= total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Agent;
    use crate::agent::contract::assert_settings;
    use crate::agent::{Choose, Policy};
    use crate::{Outcome, Propensity, Request, Seed, Shape};

    const N_ACTIONS: usize = 4;

    fn trained(config: &BoltzmannConfig, scale: f64) -> Agent<Boltzmann> {
        let mut policy = config.build_agent(Shape::new(2, N_ACTIONS), Seed::new(1)).unwrap();
        for round in 0..100 {
            let (context, action) = ([1.0, (round % 3) as f32], round as usize % N_ACTIONS);
            let reward = scale * action as f64;
            policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
        }
        policy
    }

    fn small() -> BoltzmannConfig {
        BoltzmannConfig {
            net: crate::configs::RewardNetConfig {
                batch_size: 32,
                minibatches: 5,
                ..BoltzmannConfig::default().net
            },
            ..BoltzmannConfig::default()
        }
    }

    /// Counts of 20 000 decisions lie within five standard deviations of the softmax of the predicted rewards, by hand; false alarms
    /// for one seed in 400 000 for all four.
    #[test]
    fn frequencies_and_propensities_are_those_of_the_softmax() {
        const N: u64 = 20_000;
        let config = BoltzmannConfig { temperature: 1.5, cooling: Cooling::None, ..small() };
        let policy = trained(&config, 1.0);
        let context = [1.0, 0.5];
        // 25 rewards each of 0, 1, 2 and 3.
        let reward_std = 1.25_f64.sqrt();
        assert!((policy.learner().reward_std() - reward_std).abs() < 1e-12);
        let rewards = policy.sample_rewards(0, &[&context]).unwrap();
        let weights: Vec<f64> = rewards.iter().map(|reward| (reward / (1.5 * reward_std)).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mut counts = [0.0; N_ACTIONS];
        for round in 100..100 + N {
            let choice = policy.choose(Request::new(round, &context)).unwrap();
            let Propensity::Exact(propensity) = choice.propensity else { panic!("{choice:?}") };
            assert!((propensity - weights[choice.action] / total).abs() < 1e-12, "{choice:?}");
            counts[choice.action] += 1.0;
        }
        for (action, count) in counts.into_iter().enumerate() {
            let (p, n) = (weights[action] / total, N as f64);
            assert!(p > 0.01 && p < 0.9, "action {action} has {p}, which tells little");
            let bound = 5.0 * (n * p * (1.0 - p)).sqrt();
            assert!((count - n * p).abs() < bound, "action {action}: {count}, {}", n * p);
        }
    }

    #[test]
    fn the_temperature_falls_and_follows_the_scale_of_rewards() {
        let config = BoltzmannConfig { temperature: 0.5, ..BoltzmannConfig::default() };
        assert_eq!(config.temperature_after(0.0, 4.0), 2.0);
        // ln(e + t) is 5 where t = e⁵ − e, nearly 146.
        assert!((config.temperature_after(146.0, 1.0) - 0.1).abs() < 1e-3);
        let constant = BoltzmannConfig { cooling: Cooling::None, ..config.clone() };
        assert_eq!(constant.temperature_after(1e6, 4.0), 2.0);
        let absolute = BoltzmannConfig { temperature_unit: TemperatureUnit::Reward, ..config };
        assert_eq!(absolute.temperature_after(0.0, 4.0), 0.5);
    }

    /// Predictions that are exactly twice as large, in units that are, give the same probabilities.
    #[test]
    fn probabilities_do_not_depend_on_the_unit_of_rewards() {
        let config = BoltzmannConfig::default();
        let (mut once, mut twice) = ([0.3, -1.0, 2.5], [0.6, -2.0, 5.0]);
        config.probabilities(70.0, 1.7, &mut once);
        config.probabilities(70.0, 3.4, &mut twice);
        assert_eq!(once, twice);
        assert!((once.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }

    /// Differences far beyond what an exponential holds leave certainty, never a NaN.
    #[test]
    fn extreme_rewards_give_probabilities() {
        let config = BoltzmannConfig { temperature: 1e-9, ..BoltzmannConfig::default() };
        for (mut rewards, expected) in
            [([3e38, -3e38, 0.0], [1.0, 0.0, 0.0]), ([-3e38, -3e38, -3e38], [1.0 / 3.0; 3])]
        {
            config.probabilities(u64::MAX as f64, 1e-160, &mut rewards);
            assert_eq!(rewards, expected);
        }
    }

    #[test]
    fn defaults_are_the_benchmarks_net_and_a_falling_temperature() {
        let expected = "hidden_layers=50 initial_weights=0.3 learning_rate=0.1 learning_rate_decay=0.5 \
            max_gradient_norm=5 batch_size=512 train_every=50 minibatches=100 replay_capacity=all temperature=0.25 \
            temperature_unit=reward-std cooling=logarithmic initial_pulls=2";
        assert_settings("boltzmann", expected);
    }
}
