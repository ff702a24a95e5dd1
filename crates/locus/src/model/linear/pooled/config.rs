//! The settings that policies with pooled noise have.

/// Declares the settings of a policy with pooled noise: where λ comes from, a₀ = b₀ of the noise's prior, and tempering as they are by default, then
/// the policy's own. The module must have `Capacity` in scope. The settings get `prior`, `precision_rule` and `exploration`.
macro_rules! pooled_config {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            precision: $precision:ident, noise_prior: $noise_prior:literal, tempering: $tempering:ident, tempering_steps: $steps:literal, tempering_rarity: $rarity:expr;
            $($own:tt)*
        }
    ) => {
        $crate::registry::settings::config! {
            $(#[$meta])*
            pub struct $name {
                /// λ₀, how strongly the prior holds the coefficients to 0
                prior_precision: f64 = 0.25, Range::from(1e-12, 1e12), "benchmark";
                /// Whether λ is the given one or fitted to the observations
                precision: $crate::model::linear::pooled::PrecisionKind = $crate::model::linear::pooled::PrecisionKind::$precision, Range::ANY, "our choice";
                /// ν, how many coefficients the given λ₀ counts as where λ is fitted
                precision_strength: f64 = 50.0, Range::from(0.0, 1e12), "our choice";
                /// a₀, the prior's shape of the noise variance
                prior_shape: f64 = $noise_prior, Range::from(0.1, 1e12), "our choice";
                /// b₀, the prior's rate of the noise variance
                prior_rate: f64 = $noise_prior, Range::above(0.0, 1e12), "our choice";
                /// The least that the unit of rewards is; above it, it is the standard deviation of all rewards kept
                reward_unit_floor: f64 = 1.0, Range::above(0.0, 1e12), "our choice";
                /// Whose noise a draw deviates by: the larger of pooled and own, pooled, or own
                noise: $crate::model::linear::pooled::NoiseKind = $crate::model::linear::pooled::NoiseKind::Larger, Range::ANY, "our choice";
                /// How draws are tempered as observations come: root, coefficients, tails, log, pulls, information or off
                tempering: $crate::model::linear::pooled::Tempering = $crate::model::linear::pooled::Tempering::$tempering, Range::ANY, "our choice";
                /// τ, the number of observations, or the information, after which tempering matters
                tempering_steps: f64 = $steps, Range::above(0.0, 1e12), "our choice";
                /// D₀, with tempering=coefficients: with fewer coefficients than this, tempering comes later
                tempering_coefficients: f64 = 70.0, Range::from(0.0, 1e12), "our choice";
                /// With tempering by t: t counts for an action as at most this many times A²·max(n_a, 1), where n_a are its observations that are kept: what was hardly tried is not yet tempered
                tempering_rarity: f64 = $rarity, Range::from(0.0, 1e12), "our choice";
                /// What every deviation is multiplied by
                exploration: f64 = 1.0, Range::from(0.0, 1e6), "our choice";
                $($own)*
                /// How many of the last observations scale and posteriors are rebuilt from, and nets trained on
                replay_capacity: Capacity = Capacity(None), Range::ANY, "our choice";
                /// How often every action is played, round robin, before the model decides
                initial_pulls: u32 = 2, Range::from(0.0, 1000.0), "benchmark";
            }
        }

        impl $name {
            pub(crate) fn prior(&self) -> $crate::math::linear::LinearPrior {
                $crate::math::linear::LinearPrior {
                    precision: self.prior_precision,
                    shape: self.prior_shape,
                    rate: self.prior_rate,
                }
            }

            pub(crate) fn precision_rule(&self) -> $crate::model::linear::pooled::Precision {
                $crate::model::linear::pooled::Precision::new(self.precision, self.prior_precision, self.precision_strength)
            }

            pub(crate) fn exploration(&self) -> $crate::model::linear::pooled::Exploration {
                $crate::model::linear::pooled::Exploration {
                    noise: self.noise,
                    tempering: self.tempering,
                    tempering_steps: self.tempering_steps,
                    tempering_coefficients: self.tempering_coefficients,
                    tempering_rarity: self.tempering_rarity,
                    width: self.exploration,
                }
            }
        }
    };
}
pub(crate) use pooled_config;
