//! Every policy that can be named.
//!
//! To add one, write its file or folder with a `REGISTERED` in it, and add that to `REGISTRY`: it can then be
//! built from text, saved and loaded, is listed by `locus policies`, and is tried by the policy contract.

pub(crate) mod save;
pub(crate) mod settings;
pub mod spec;
pub mod values;

use crate::agent::Policy;
use crate::agent::wrapper::{RewardModel, Thompson};
use crate::model::linear::{lin_full_post, lin_pool, lin_ucb};
use crate::model::net::{
    boltzmann, bootstrap, dropout, epsilon_greedy, neural_linear, neural_ts, neural_ucb, param_noise,
};
use crate::model::weights::{bbb, fbnn, pi_ts_dgf};
use crate::model::{gp as multitask_gp, lu, mixture as locus, uniform};
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::{Config, Field};
use crate::registry::spec::PolicySpec;
use crate::{Error, Seed, Shape};

/// Every policy, in the order in which they are listed.
static REGISTRY: &[&dyn Entry] = &[
    &uniform::REGISTERED,
    &lin_full_post::REGISTERED,
    &neural_linear::REGISTERED,
    &bbb::REGISTERED,
    &pi_ts_dgf::REGISTERED,
    &lu::LU_GAUSS,
    &lu::LU_GAUSS_ABLATION,
    &lu::LU_SIVI,
    &lu::LU_SIVI_ABLATION,
    &epsilon_greedy::REGISTERED,
    &boltzmann::REGISTERED,
    &lin_ucb::REGISTERED,
    &lin_pool::REGISTERED,
    &locus::REGISTERED,
    &param_noise::REGISTERED,
    &dropout::REGISTERED,
    &bootstrap::REGISTERED,
    &neural_ucb::REGISTERED,
    &neural_ts::REGISTERED,
    &multitask_gp::REGISTERED,
    &fbnn::REGISTERED,
];

/// The policies that there are.
pub fn policies() -> Vec<PolicyInfo> {
    REGISTRY.iter().map(|entry| entry.info()).collect()
}

/// What there is to know about a policy before it is built.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PolicyInfo {
    /// Its name in `id[@preset][key=value,…]`.
    pub id: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Its presets; the first is the default.
    pub presets: Vec<&'static str>,
    /// Its settings.
    pub settings: Vec<SettingInfo>,
}

/// What there is to know about a setting.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SettingInfo {
    /// Its name in `key=value`.
    pub key: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Type and range, in words.
    pub expected: String,
    /// Its value in each preset, in the order of [`PolicyInfo::presets`].
    pub defaults: Vec<String>,
    /// Where the default comes from.
    pub source: &'static str,
}

/// Loads a policy that [`Policy::save`] saved; it carries on as if it had never stopped.
pub fn load(file: &[u8]) -> Result<Box<dyn Policy>, Error> {
    let mut body = save::unseal(file)?;
    let text = body.text()?;
    let spec: PolicySpec = text
        .parse()
        .map_err(|cause| Error::UnknownSavedPolicy { policy: text.to_owned(), cause: Box::new(cause) })?;
    let shape = Shape::new(body.usize()?, body.usize()?);
    let seed = Seed::new(body.u64()?);
    shape.check().map_err(|error| body.damaged(error.to_string()))?;
    let policy = spec.entry().load(&spec, shape, seed, &mut body)?;
    body.finish()?;
    Ok(policy)
}

/// Begins the body of a saved policy with what [`load`] reads first.
pub(crate) fn begin_save(spec: &PolicySpec, shape: Shape, seed: Seed) -> Encoder {
    let mut body = Encoder::default();
    body.text(&spec.full());
    body.usize(shape.n_features);
    body.usize(shape.n_actions);
    body.u64(seed.number());
    body
}

pub(crate) fn entry(id: &str) -> Result<&'static dyn Entry, Error> {
    REGISTRY.iter().copied().find(|entry| entry.id() == id).ok_or_else(|| {
        let known: Vec<&str> = REGISTRY.iter().map(|entry| entry.id()).collect();
        Error::UnknownPolicy { id: id.to_owned(), known: known.join(", ") }
    })
}

/// A policy in the registry, whatever the type of its settings.
pub(crate) trait Entry: Sync {
    fn id(&self) -> &'static str;

    fn presets(&self) -> Vec<&'static str>;

    fn info(&self) -> PolicyInfo;

    /// Checks preset and settings.
    fn resolve(&'static self, preset: Option<&str>, settings: &[(&str, &str)]) -> Result<PolicySpec, Error>;

    fn build(&self, spec: &PolicySpec, shape: Shape, seed: Seed) -> Built;

    fn load(&self, spec: &PolicySpec, shape: Shape, seed: Seed, body: &mut Decoder<'_>) -> Built;
}

/// A policy in the registry whose settings are a `C`.
pub(crate) struct Registered<C: Config> {
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// The first is the default.
    pub(crate) presets: &'static [Preset<C>],
    pub(crate) build: fn(&C, Identity) -> Built,
    pub(crate) load: fn(&C, Identity, &mut Decoder<'_>) -> Built,
}

/// Registers the policy around a model as `REGISTERED`, and lets its settings build it.
macro_rules! registered {
    ($config:ident => $model:ty, $id:literal, $summary:literal, $presets:expr) => {
        pub(crate) static REGISTERED: $crate::registry::Registered<$config> =
            $crate::registry::Registered::of::<$model>($id, $summary, $presets);

        impl $config {
            /// Builds the policy.
            pub fn build(
                &self,
                shape: $crate::Shape,
                seed: $crate::Seed,
            ) -> Result<$crate::agent::wrapper::Thompson<$model>, $crate::Error> {
                let spec = REGISTERED.spec(self)?;
                $crate::agent::wrapper::Thompson::new(self, $crate::registry::Identity { spec, shape, seed })
            }
        }
    };
}
pub(crate) use registered;

/// The name of a preset, and its settings.
pub(crate) type Preset<C> = (&'static str, fn() -> C);

/// A policy, or why there is none.
pub(crate) type Built = Result<Box<dyn Policy>, Error>;

/// What every policy is told about itself.
#[derive(Clone, Debug)]
pub struct Identity {
    /// What it is, with every setting.
    pub spec: PolicySpec,
    /// What it decides on.
    pub shape: Shape,
    /// Where its chance comes from.
    pub seed: Seed,
}

impl<C: Config> Registered<C> {
    /// A policy around a model.
    pub(crate) const fn of<M: RewardModel<Config = C>>(
        id: &'static str,
        summary: &'static str,
        presets: &'static [Preset<C>],
    ) -> Self {
        Self { id, summary, presets, build: Thompson::<M>::boxed, load: Thompson::<M>::load }
    }

    fn preset(&self, name: Option<&str>) -> Result<(&'static str, C), Error> {
        let Some(name) = name else {
            let (name, config) = self.presets[0];
            return Ok((name, config()));
        };
        match self.presets.iter().find(|(preset, _)| *preset == name) {
            Some((name, config)) => Ok((name, config())),
            None => Err(Error::UnknownPreset {
                id: self.id.to_owned(),
                preset: name.to_owned(),
                known: self.presets().join(", "),
            }),
        }
    }

    /// Sets one setting from text.
    fn set(&self, config: &mut C, key: &str, value: &str) -> Result<(), Error> {
        let Some(field) = C::fields().iter().find(|field| field.key == key) else {
            let keys: Vec<&str> = C::fields().iter().map(|field| field.key).collect();
            let known = if keys.is_empty() { "no settings".to_owned() } else { keys.join(", ") };
            return Err(Error::UnknownKey { id: self.id.to_owned(), key: key.to_owned(), known });
        };
        if (field.set)(config, value) && (field.is_in_range)(config) {
            return Ok(());
        }
        Err(self.invalid(field, value.to_owned()))
    }

    /// The spec of these settings.
    pub(crate) fn spec(&'static self, config: &C) -> Result<PolicySpec, Error> {
        if let Err(field) = config.check() {
            return Err(self.invalid(field, (field.get)(config)));
        }
        let (preset, base) = self.preset(None)?;
        Ok(self.describe(preset, &base, config))
    }

    fn describe(&'static self, preset: &'static str, base: &C, config: &C) -> PolicySpec {
        let settings = C::fields().iter().map(|field| {
            let value = (field.get)(config);
            let is_preset = value == (field.get)(base);
            (field.key, value, is_preset)
        });
        PolicySpec::new(self, preset, settings)
    }

    fn invalid(&self, field: &Field<C>, value: String) -> Error {
        let expected = (field.expected)();
        Error::InvalidSetting { id: self.id.to_owned(), key: field.key.to_owned(), value, expected }
    }

    /// The settings of a spec of this policy.
    fn config(&self, spec: &PolicySpec) -> Result<C, Error> {
        let mut config = C::default();
        for (key, value) in spec.settings() {
            self.set(&mut config, key, value)?;
        }
        Ok(config)
    }
}

impl<C: Config> Entry for Registered<C> {
    fn id(&self) -> &'static str {
        self.id
    }

    fn presets(&self) -> Vec<&'static str> {
        self.presets.iter().map(|(name, _)| *name).collect()
    }

    fn info(&self) -> PolicyInfo {
        let presets: Vec<C> = self.presets.iter().map(|(_, config)| config()).collect();
        let settings = C::fields().iter().map(|field| SettingInfo {
            key: field.key,
            doc: field.doc.trim(),
            expected: (field.expected)(),
            defaults: presets.iter().map(field.get).collect(),
            source: field.source,
        });
        PolicyInfo {
            id: self.id,
            summary: self.summary,
            presets: self.presets(),
            settings: settings.collect(),
        }
    }

    fn resolve(&'static self, preset: Option<&str>, settings: &[(&str, &str)]) -> Result<PolicySpec, Error> {
        let (preset, base) = self.preset(preset)?;
        let mut config = base.clone();
        for (key, value) in settings {
            self.set(&mut config, key, value)?;
        }
        Ok(self.describe(preset, &base, &config))
    }

    fn build(&self, spec: &PolicySpec, shape: Shape, seed: Seed) -> Built {
        (self.build)(&self.config(spec)?, Identity { spec: spec.clone(), shape, seed })
    }

    fn load(&self, spec: &PolicySpec, shape: Shape, seed: Seed, body: &mut Decoder<'_>) -> Built {
        (self.load)(&self.config(spec)?, Identity { spec: spec.clone(), shape, seed }, body)
    }
}
