//! Settings of Locus. All that the search in docs/locus-policy.md varied is a setting.

use super::net::NetSettings;
use crate::agent::wrapper::{Plan, Planned};
use crate::model::linear::pooled::{PrecisionKind, Tempering, pooled_config};
use crate::model::lu::config::{LuGaussConfig, LuSiviConfig};
use crate::registry::settings::{Setting, words};
use crate::registry::values::{Capacity, Layers};

/// Sizes: `0.3x1`. Ranges are of their number.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes(pub Vec<f64>);

impl Setting for Sizes {
    const TYPE: &'static str = "sizes such as 0.3x1, each above 0 and up to 1e6, their number";

    fn parse(text: &str) -> Option<Self> {
        let size = |text: &str| f64::parse(text).filter(|size| *size > 0.0 && *size <= 1e6);
        text.split('x').map(size).collect::<Option<Vec<f64>>>().map(Self)
    }

    fn format(&self) -> String {
        self.0.iter().map(Setting::format).collect::<Vec<_>>().join("x")
    }

    fn magnitude(&self) -> f64 {
        self.0.len() as f64
    }
}

words! {
    /// What the prior of the net's coefficients goes with.
    pub enum NetPrior {
        /// With nothing: what the net adds to a reward has a size of its own.
        Fixed = "fixed",
        /// With the noise, as that of all other coefficients does.
        Noise = "noise",
    }
}

words! {
    /// Where the features of the experts that are not linear come from.
    pub enum NetKind {
        /// A net that predicts rewards from the context.
        Plain = "plain",
        /// The decoder of LU-Gauss, preset `authors`, with its latent variable at its mean.
        LuGauss = "lu-gauss",
        /// The decoder of LU-SIVI, preset `authors`, with its latent variable drawn without noise.
        LuSivi = "lu-sivi",
    }
}

words! {
    /// Whose leverage and noise a draw deviates by.
    pub enum Deviation {
        /// Those of the linear expert.
        Linear = "linear",
        /// Those of the expert that was drawn; where experts are averaged, those of the one that counts for more than half, or else of the linear one.
        Drawn = "drawn",
    }
}

words! {
    /// Whose noise an expert's prediction has when it is judged.
    pub enum EvidenceNoise {
        /// That of all actions together.
        Pooled = "pooled",
        /// That of the action.
        Own = "own",
    }
}

words! {
    /// Which expert gives the means.
    pub enum ExpertChoice {
        /// One that is drawn for every decision, by its probability.
        Drawn = "drawn",
        /// The most probable one.
        Likelier = "likelier",
        /// All, weighted by their probabilities.
        Averaged = "averaged",
    }
}

pooled_config! {
    /// Settings of Locus.
    pub struct LocusConfig {
        precision: Fitted, noise_prior: 3.0, tempering: Coefficients, tempering_steps: 10.0, tempering_rarity: 0.35;
        /// Whose leverage and noise a draw deviates by
        deviation: Deviation = Deviation::Linear, Range::ANY, "our choice";
        /// Which expert gives the means
        expert_choice: ExpertChoice = ExpertChoice::Averaged, Range::ANY, "our choice";
        /// What is left of the evidence for the experts after each observation
        evidence_discount: f64 = 0.99, Range::from(0.0, 1.0), "our choice";
        /// Whose noise an expert's prediction has when it is judged
        evidence_noise: EvidenceNoise = EvidenceNoise::Own, Range::ANY, "our choice";
        /// One expert on the net's features for each of these sizes: with net_prior=fixed the standard deviation of what they add to a reward
        /// before anything is known, with net_prior=noise their root mean square length, where that of contexts is 1
        net_sizes: Sizes = Sizes(vec![0.35]), Range::from(1.0, 4.0), "our choice";
        /// What the prior of the net's coefficients goes with
        net_prior: NetPrior = NetPrior::Fixed, Range::ANY, "our choice";
        /// Where the features of the experts that are not linear come from; hidden_layers, learning_rate and reward_std are those of a plain net, others have their policy's
        feature_net: NetKind = NetKind::Plain, Range::ANY, "our choice";
        /// Hidden layers of the net; the last one gives the features
        hidden_layers: Layers = Layers(vec![50]), Range::from(1.0, 9.0), "our choice";
        /// Learning rate of Adam
        learning_rate: f64 = 1e-3, Range::above(0.0, 10.0), "our choice";
        /// The standard deviations of rewards at the start, on the policy's scale
        reward_std: f64 = 0.5, Range::above(0.0, 1e6), "authors' program of LU-Gauss";
        /// N, rows of a minibatch
        batch_size: u32 = 512, Range::from(2.0, 1e6), "as the LU nets";
        /// Observations from one round of training, and of taking the scale anew, to the next
        train_every: u32 = 20, Range::from(1.0, 1e6), "as the LU nets";
        /// Minibatches of a round of training
        minibatches: u32 = 40, Range::from(1.0, 1e6), "as the LU nets";
    }
}

impl Planned for LocusConfig {
    fn plan(&self) -> Plan {
        Plan::trained(self.initial_pulls, self.train_every, self.replay_capacity.0)
    }
}

impl LocusConfig {
    /// With a precision that is given, and experts that are drawn: where the search was when the prior of the net's part had become a fixed one.
    pub fn given() -> Self {
        Self {
            precision: PrecisionKind::Given,
            tempering_steps: 20.0,
            tempering_coefficients: 50.0,
            tempering_rarity: 1e12,
            expert_choice: ExpertChoice::Drawn,
            evidence_noise: EvidenceNoise::Pooled,
            ..Self::default()
        }
    }

    /// The mixture of two experts that the search began with.
    pub fn mixture() -> Self {
        Self {
            prior_shape: 1.0,
            prior_rate: 1.0,
            tempering: Tempering::Root,
            tempering_steps: 100.0,
            net_sizes: Sizes(vec![1.0]),
            net_prior: NetPrior::Noise,
            ..Self::given()
        }
    }

    /// The features of LU-Gauss in place of a plain net's.
    pub fn with_lu_gauss() -> Self {
        Self { feature_net: NetKind::LuGauss, ..Self::default() }
    }

    /// The features of LU-SIVI in place of a plain net's.
    pub fn with_lu_sivi() -> Self {
        Self { feature_net: NetKind::LuSivi, ..Self::default() }
    }

    /// Of every expert the size of what the net adds, and how many features it sees.
    pub(super) fn experts(&self, n_linear: usize, n_net: usize) -> impl Iterator<Item = (f64, usize)> {
        let deep = self.net_sizes.0.iter().map(move |&net_size| (net_size, n_linear + n_net));
        [(0.0, n_linear)].into_iter().chain(deep)
    }

    pub(super) fn lu_gauss(&self) -> LuGaussConfig {
        let Self { batch_size, minibatches, .. } = *self;
        LuGaussConfig { batch_size, minibatches, ..LuGaussConfig::authors() }
    }

    pub(super) fn lu_sivi(&self) -> LuSiviConfig {
        let Self { batch_size, minibatches, .. } = *self;
        LuSiviConfig { batch_size, minibatches, ..LuSiviConfig::authors() }
    }

    pub(super) fn net(&self) -> NetSettings {
        NetSettings {
            hidden_layers: self.hidden_layers.clone(),
            learning_rate: self.learning_rate as f32,
            reward_std: self.reward_std,
            batch_size: self.batch_size as usize,
            minibatches: self.minibatches,
        }
    }
}
