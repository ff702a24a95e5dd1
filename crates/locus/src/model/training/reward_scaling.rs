//! Mean and standard deviation of all rewards, for models that standardize them.

use crate::math::decay::Decay;
use crate::math::nn::Panel;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::values::HalfLife;
use crate::{Error, Outcome};

/// Number, mean and sum of squared deviations of all rewards seen; a reward of weight w counts as w of them. With a half-life,
/// earlier rewards count less and less.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RewardScaling {
    pub(crate) n: f64,
    mean: f64,
    deviations: f64,
    decay: Decay,
}

impl RewardScaling {
    /// Before the first reward.
    pub(crate) fn forgetting(half_life: HalfLife) -> Self {
        Self { decay: Decay::new(half_life.0), ..Self::default() }
    }

    /// Adds the reward of an outcome.
    pub(crate) fn observe(&mut self, outcome: &Outcome<'_>) {
        let Outcome { reward, weight, .. } = *outcome;
        self.decay.pass(&mut self.n);
        self.decay.pass(&mut self.deviations);
        self.n += weight;
        let deviation = reward - self.mean;
        self.mean += weight * deviation / self.n;
        self.deviations += weight * deviation * (reward - self.mean);
    }

    /// The scale of all rewards, or the identity if scaling is off.
    pub(crate) fn scale(self, is_scaled: bool) -> RewardScale {
        if !is_scaled {
            return RewardScale::AS_GIVEN;
        }
        // Before the first reward it is not a number. Weights may well add up to less than 1.
        let variance = self.deviations / self.n;
        RewardScale { mean: self.mean, std: if variance > 0.0 { variance.sqrt() } else { 1.0 } }
    }

    pub(crate) fn encode(self, encoder: &mut Encoder) {
        encoder.f64(self.n);
        encoder.f64(self.mean);
        encoder.f64(self.deviations);
    }

    pub(crate) fn decode(half_life: HalfLife, decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let (n, mean, deviations) = (decoder.weight_sum()?, decoder.f64()?, decoder.f64()?);
        Ok(Self { n, mean, deviations, ..Self::forgetting(half_life) })
    }
}

/// The offset and unit of a model's rewards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RewardScale {
    pub(crate) mean: f64,
    pub(crate) std: f64,
}

impl RewardScale {
    /// No scaling.
    pub(crate) const AS_GIVEN: Self = Self { mean: 0.0, std: 1.0 };

    /// A reward on the model's scale.
    pub(crate) fn standardize(self, reward: f64) -> f32 {
        ((reward - self.mean) / self.std) as f32
    }

    /// The rewards that a net's outputs [A, N] mean: those of a context side by side.
    pub(crate) fn read_rewards(self, outputs: &Panel, rewards: &mut [f64]) {
        for (column, rewards) in rewards.chunks_exact_mut(outputs.n_features()).enumerate() {
            for (action, reward) in rewards.iter_mut().enumerate() {
                *reward = self.mean + self.std * f64::from(outputs.line(action)[column]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::registry::values::HalfLife;
    use crate::{Outcome, Policy, PolicySpec, Registry, Seed, Shape, load};

    const SHAPE: Shape = Shape::new(3, 2);

    /// Rewards 2, 5 and 11, of weights 1 to 2 to 1: mean 5.75, variance 10.6875. It does not matter what the weights add up to.
    #[test]
    fn the_scale_is_that_of_so_many_equal_rewards() {
        for unit in [1.0, 3.0, 0.01] {
            let mut scaling = super::RewardScaling::default();
            for (reward, weight) in [(2.0, 1.0), (5.0, 2.0), (11.0, 1.0)] {
                scaling.observe(&Outcome::new(0, &[], 0, reward).with_weight(unit * weight));
            }
            let scale = scaling.scale(true);
            assert!((scale.mean - 5.75).abs() < 1e-12, "{unit}: {scale:?}");
            assert!((scale.std * scale.std - 10.6875).abs() < 1e-12, "{unit}: {scale:?}");
        }
        assert_eq!(super::RewardScaling::default().scale(true), super::RewardScale::AS_GIVEN);
    }

    /// Rewards 2, 5 and 11, of weights 4, 2 and 3, with a half-life of one observation: weights of 1, 1 and 3.
    #[test]
    fn the_scale_forgets() {
        let mut scaling = super::RewardScaling::forgetting(HalfLife(Some(1.0)));
        for (reward, weight) in [(2.0, 4.0), (5.0, 2.0), (11.0, 3.0)] {
            scaling.observe(&Outcome::new(0, &[], 0, reward).with_weight(weight));
        }
        let scale = scaling.scale(true);
        assert!((scaling.n - 5.0).abs() < 1e-12 && (scale.mean - 8.0).abs() < 1e-12, "{scaling:?}");
        assert!((scale.std * scale.std - 14.4).abs() < 1e-12, "{scale:?}");
    }

    /// Every policy that can scale rewards, doing so, with small nets that learn quickly.
    fn scaled_policies() -> Vec<PolicySpec> {
        let small = [
            ("reward_scaling", "on"),
            ("latent_dim", "4"),
            ("extra_draws", "4"),
            ("layers", "10"),
            ("learning_rate", "0.005"),
            ("batch_size", "64"),
            ("train_every", "25"),
            ("minibatches", "40"),
        ];
        let mut specs = Vec::new();
        for info in Registry::standard().policies() {
            let has = |key: &str| info.settings.iter().any(|setting| setting.key == key);
            let settings: Vec<String> = small
                .iter()
                .filter(|(key, _)| has(key))
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            if has("reward_scaling") {
                specs.push(format!("{}[{}]", info.id, settings.join(",")).parse().unwrap());
            }
        }
        assert!(specs.len() >= 5, "{specs:?}");
        specs
    }

    fn context(round: u64) -> Vec<f32> {
        let mut rng = Seed::new(1).stream("context", round);
        (0..SHAPE.n_features).map(|_| rng.normal() as f32).collect()
    }

    /// Action 0 gives 5000 and action 1 gives 6000, each give or take 50.
    fn learn(policy: &mut dyn Policy, rounds: std::ops::Range<u64>) {
        for round in rounds {
            let mut rng = Seed::new(2).stream("problem", round);
            let action = rng.below(2);
            let reward = 5000.0 + 1000.0 * action as f64 + 50.0 * rng.normal();
            policy.learn(Outcome::new(round, &context(round), action, reward)).unwrap();
        }
    }

    #[test]
    fn drawn_rewards_are_on_the_scale_of_those_given() {
        for spec in scaled_policies() {
            let mut policy = spec.build(SHAPE, Seed::new(3)).unwrap();
            learn(&mut *policy, 0..400);
            let contexts: Vec<Vec<f32>> = (1000..1100).map(context).collect();
            let contexts: Vec<&[f32]> = contexts.iter().map(Vec::as_slice).collect();
            let rewards = policy.sample_rewards(500, &contexts).unwrap();
            for (action, expected) in [5000.0, 6000.0].into_iter().enumerate() {
                let mean = rewards.iter().skip(action).step_by(2).sum::<f64>() / contexts.len() as f64;
                assert!((mean - expected).abs() < 200.0, "{spec}: action {action} is drawn around {mean}");
            }
        }
    }

    /// The scale is saved with all else: a loaded policy learns what it would have learned, to the bit.
    #[test]
    fn a_loaded_policy_learns_on_the_same_scale() {
        for spec in scaled_policies() {
            let mut policy = spec.build(SHAPE, Seed::new(3)).unwrap();
            learn(&mut *policy, 0..30);
            let mut loaded = load(&policy.save()).unwrap();
            learn(&mut *policy, 30..60);
            learn(&mut *loaded, 30..60);
            assert!(policy.save() == loaded.save(), "{spec}");
        }
    }
}
