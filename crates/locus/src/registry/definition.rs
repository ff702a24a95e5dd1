//! Definition of a policy for the registry: id, presets, settings, and how to build and load it.

use std::sync::Arc;

use super::save::Decoder;
use super::settings::{ADDED, Config, Field};
use super::spec::{PolicySpec, PolicyText};
use super::{Identity, did_you_mean};
use crate::agent::{Agent, Decider, Learner, Policy};
use crate::error::Kind;
use crate::{Error, Seed, Shape};

/// The result of building a policy.
type Built = Result<Box<dyn Policy>, Error>;

/// The definition of a policy with settings of type `C`, for [`Registry::with`](crate::Registry::with).
#[derive(Clone, Debug)]
pub struct Definition<C: Config> {
    id: &'static str,
    summary: &'static str,
    /// The first is the default.
    presets: Vec<(&'static str, C)>,
    version: Option<&'static str>,
    removed: Removed,
    heeds_candidates: bool,
    build: fn(&C, Identity) -> Built,
    load: fn(&C, Identity, &mut Decoder<'_>) -> Built,
}

/// Settings and presets of earlier versions, which saved files and records may still name.
#[derive(Clone, Copy, Debug, Default)]
struct Removed {
    /// Key and old default.
    settings: &'static [(&'static str, &'static str)],
    presets: &'static [&'static str],
    /// Old key and new key.
    renamed: &'static [(&'static str, &'static str)],
}

impl<C: Config> Definition<C> {
    /// Defines a policy from a learner, an id and a one-line summary.
    ///
    /// Its only preset is called `default`; [`Definition::presets`] replaces it.
    pub fn of<L: Learner<Config = C>>(id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            summary,
            presets: vec![("default", C::default())],
            version: None,
            removed: Removed::default(),
            heeds_candidates: L::Decider::HEEDS_CANDIDATES,
            build: Agent::<L>::boxed,
            load: Agent::<L>::load,
        }
    }

    /// Replaces the presets, each a name with its settings; the first is the default.
    ///
    /// # Panics
    ///
    /// If `presets` is empty.
    #[must_use]
    pub fn presets(mut self, presets: impl IntoIterator<Item = (&'static str, C)>) -> Self {
        self.presets = presets.into_iter().collect();
        assert!(!self.presets.is_empty(), "policy `{}` needs a preset", self.id);
        self
    }

    /// Sets the version of the policy, such as `env!("CARGO_PKG_VERSION")`.
    ///
    /// Records of the benchmark store it, and resuming a run with another version prints a warning. Without it, changes to your
    /// policy go unnoticed.
    #[must_use]
    pub fn version(mut self, version: &'static str) -> Self {
        self.version = Some(version);
        self
    }

    /// Builds the policy with these settings, untrained.
    pub fn build(&self, config: &C, shape: Shape, seed: Seed) -> Result<Box<dyn Policy>, Error> {
        self.clone().spec(config)?.build(shape, seed)
    }

    /// Why the definition is invalid, if it is: its policies could not be named, or saved ones could not be loaded.
    pub(super) fn problem(&self) -> Option<String> {
        let is_name = |name: &str| super::is_name(name, b"-_.");
        if self
            .version
            .is_some_and(|version| version.contains(|letter: char| letter.is_control() || letter == ','))
        {
            return Some("its version has a comma or a control character, such as a line break".to_owned());
        }
        if !super::is_name(self.id, b"-") {
            return Some("its id has other characters than lower-case letters, digits and hyphens, or begins with a hyphen".to_owned());
        }
        for (place, (name, config)) in self.presets.iter().enumerate() {
            if !is_name(name) {
                return Some(format!(
                    "its preset `{name}` has other characters than lower-case letters, digits and `-_.`, or begins with one of the latter"
                ));
            }
            if self.presets[..place].iter().any(|(earlier, _)| earlier == name) {
                return Some(format!("its preset `{name}` is defined twice"));
            }
            if let Some(error) = self.out_of_range(config) {
                return Some(format!("in its preset `{name}`: {error}"));
            }
        }
        let keys: Vec<&str> = texts(&self.presets[0].1).into_iter().map(|(key, _)| key).collect();
        let twice = (1..keys.len()).find(|&place| keys[..place].contains(&keys[place]))?;
        Some(format!("its setting `{}` is defined twice", keys[twice]))
    }

    /// The error of the first setting that is out of range, or whose text does not parse back.
    fn out_of_range(&self, config: &C) -> Option<Error> {
        let mut wrong = None;
        config.clone().for_each_mut(&mut |field, value| {
            let text = value.format();
            let is_plain = !text.contains([',', '[', ']']) && text.trim() == text;
            let is_valid = is_plain && value.parse(&text) && field.range.contains(value.magnitude());
            if wrong.is_none() && !is_valid {
                wrong = Some(self.invalid(field, text, field.expected(value)));
            }
        });
        wrong
    }

    /// Declares settings, with their defaults, and presets that only earlier versions had.
    #[must_use]
    pub(crate) fn removed(
        mut self,
        settings: &'static [(&'static str, &'static str)],
        presets: &'static [&'static str],
    ) -> Self {
        self.removed = Removed { settings, presets, ..self.removed };
        self
    }

    /// Declares other keys that earlier versions had for these settings.
    #[must_use]
    pub(crate) fn renamed(mut self, keys: &'static [(&'static str, &'static str)]) -> Self {
        self.removed.renamed = keys;
        self
    }

    pub(crate) fn id(&self) -> &'static str {
        self.id
    }

    /// The spec of these settings. Fails at the first that is out of range.
    pub(crate) fn spec(self, config: &C) -> Result<PolicySpec, Error> {
        match self.out_of_range(config) {
            Some(error) => Err(error),
            None => {
                // The preset with the same settings, if there is one.
                let preset = self.presets.iter().position(|(_, preset)| preset == config).unwrap_or(0);
                Ok(Arc::new(self).describe(preset, config.clone()))
            }
        }
    }

    fn preset(&self, name: Option<&str>) -> Result<usize, Error> {
        let Some(name) = name else { return Ok(0) };
        self.presets.iter().position(|(preset, _)| *preset == name).ok_or_else(|| {
            if self.removed.presets.contains(&name) {
                return self.was_removed(format!("the preset `{name}`"));
            }
            let known: Vec<&str> = self.presets.iter().map(|(name, _)| *name).collect();
            let hint = did_you_mean(name, known.iter().copied());
            let (id, preset) = (self.id.to_owned(), name.to_owned());
            Kind::UnknownPreset { id, preset, hint, known: known.join(", ") }.into()
        })
    }

    /// Sets one setting from text; `is_recorded` says that an earlier version may have written it.
    fn set(&self, config: &mut C, key: &str, text: &str, is_recorded: bool) -> Result<(), Error> {
        let mut result = None;
        let mut keys = Vec::new();
        config.for_each_mut(&mut |field, value| {
            keys.push(field.key);
            if field.key == key {
                let is_valid = value.parse(text) && field.range.contains(value.magnitude());
                result = Some(match is_valid {
                    true => Ok(()),
                    false => Err(self.invalid(field, text.to_owned(), field.expected(value))),
                });
            }
        });
        if let Some(result) = result {
            return result;
        }
        if let Some((_, new)) = self.removed.renamed.iter().find(|(old, _)| *old == key) {
            let is_taken = is_recorded && self.set(config, new, text, false).is_ok();
            return if is_taken {
                Ok(())
            } else {
                Err(self.was_removed(format!("the setting `{key}={text}`")))
            };
        }
        match self.removed.settings.iter().find(|(removed, _)| *removed == key) {
            Some((_, old_default)) if is_recorded && text == *old_default => Ok(()),
            Some(_) => Err(self.was_removed(format!("the setting `{key}={text}`"))),
            None => {
                let known = if keys.is_empty() { "no settings".to_owned() } else { keys.join(", ") };
                let hint = did_you_mean(key, keys.iter().copied());
                Err(Kind::UnknownKey { id: self.id.to_owned(), key: key.to_owned(), hint, known }.into())
            }
        }
    }

    fn describe(self: Arc<Self>, preset: usize, config: C) -> PolicySpec {
        let (name, base) = &self.presets[preset];
        let settings = texts(&config).into_iter().zip(texts(base));
        let settings = settings.map(|((key, value), (_, base))| (key, value == base, value)).collect();
        PolicySpec::new(Arc::clone(&self) as Arc<dyn Entry>, name, settings, Arc::new(config))
    }

    fn invalid(&self, field: &Field, value: String, expected: String) -> Error {
        Kind::InvalidSetting { id: self.id.to_owned(), key: field.key.to_owned(), value, expected }.into()
    }

    fn was_removed(&self, what: String) -> Error {
        Kind::Removed { id: self.id.to_owned(), what }.into()
    }
}

/// Key and value of every setting.
fn texts(config: &impl Config) -> Vec<(&'static str, String)> {
    let mut texts = Vec::new();
    config.for_each(&mut |field, value| texts.push((field.key, value.format())));
    texts
}

/// A policy in a registry, independent of the type of its settings.
pub(crate) trait Entry: Send + Sync {
    fn id(&self) -> &str;

    fn default_preset(&self) -> &'static str;

    fn version(&self) -> Option<&str>;

    /// Whether the caller builds it.
    fn is_external(&self) -> bool {
        false
    }

    /// Whether it supports actions with features.
    fn heeds_candidates(&self) -> bool {
        false
    }

    fn info(&self) -> PolicyInfo;

    /// Checks preset and settings; `is_recorded` says that an earlier version may have written them.
    fn resolve(self: Arc<Self>, text: &PolicyText<'_>, is_recorded: bool) -> Result<PolicySpec, Error>;

    fn build(&self, spec: &PolicySpec, shape: Shape, seed: Seed) -> Built;

    fn load(&self, spec: &PolicySpec, shape: Shape, seed: Seed, body: &mut Decoder<'_>) -> Built;
}

impl<C: Config> Entry for Definition<C> {
    fn id(&self) -> &str {
        self.id
    }

    fn default_preset(&self) -> &'static str {
        self.presets[0].0
    }

    fn version(&self) -> Option<&str> {
        self.version
    }

    fn heeds_candidates(&self) -> bool {
        self.heeds_candidates
    }

    fn info(&self) -> PolicyInfo {
        let mut settings = Vec::new();
        self.presets[0].1.for_each(&mut |field, value| {
            settings.push(SettingInfo {
                key: field.key,
                doc: field.doc.trim(),
                expected: field.expected(value),
                defaults: Vec::new(),
                source: field.source,
            });
        });
        for (_, config) in &self.presets {
            for (setting, (_, text)) in settings.iter_mut().zip(texts(config)) {
                setting.defaults.push(text);
            }
        }
        let presets = self.presets.iter().map(|(name, _)| *name).collect();
        PolicyInfo { id: self.id.to_owned(), summary: self.summary.to_owned(), presets, settings }
    }

    fn resolve(self: Arc<Self>, text: &PolicyText<'_>, is_recorded: bool) -> Result<PolicySpec, Error> {
        let preset = self.preset(text.preset)?;
        let mut config = self.presets[preset].1.clone();
        if is_recorded {
            config.for_each_mut(&mut |field, value| {
                if let Some((_, before)) = ADDED.iter().find(|(key, _)| *key == field.key) {
                    value.parse(before);
                }
            });
        }
        for (key, value) in &text.settings {
            self.set(&mut config, key, value, is_recorded)?;
        }
        Ok(self.describe(preset, config))
    }

    fn build(&self, spec: &PolicySpec, shape: Shape, seed: Seed) -> Built {
        (self.build)(spec.config(), Identity { spec: spec.clone(), shape, seed })
    }

    fn load(&self, spec: &PolicySpec, shape: Shape, seed: Seed, body: &mut Decoder<'_>) -> Built {
        (self.load)(spec.config(), Identity { spec: spec.clone(), shape, seed }, body)
    }
}

/// Description of a policy: id, summary, presets and settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PolicyInfo {
    /// Its name in `id[@preset][key=value,…]`.
    pub id: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// Its presets; the first is the default.
    pub presets: Vec<&'static str>,
    /// Its settings.
    pub settings: Vec<SettingInfo>,
}

/// Description of a setting: meaning, range, defaults and source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SettingInfo {
    /// Its key in `key=value`.
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
