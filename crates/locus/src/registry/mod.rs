//! Policies by name.
//!
//! A [`Registry`] maps ids to policies: it builds them from text, loads saved ones, and lists their settings. The standard
//! registry has every policy of this crate; [`Registry::with`] adds policies of other crates.

mod definition;
mod external;
mod hint;
pub(crate) mod save;
pub(crate) mod settings;
pub(crate) mod spec;
pub(crate) mod values;

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::agent::Policy;
use crate::error::Kind;
use crate::model;
use crate::{Error, PolicySpec, Seed, Shape};
use external::External;
use save::Encoder;
use settings::Config;
use spec::PolicyText;

pub(crate) use definition::Entry;
pub use definition::{Definition, PolicyInfo, SettingInfo};
pub use hint::did_you_mean;

/// The set of policies that text and saved files can name.
///
/// ```
/// use locus::{Registry, Seed, Shape};
///
/// let registry = Registry::standard();
/// let policy = registry.parse("lin-full-post[prior_precision=1]")?.build(Shape::new(5, 3), Seed::new(0))?;
/// # Ok::<(), locus::Error>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    entries: Vec<Arc<dyn Entry>>,
}

static STANDARD: LazyLock<Registry> = LazyLock::new(|| Registry { entries: model::standard() });

impl Registry {
    /// The registry of every policy in this crate.
    pub fn standard() -> Self {
        STANDARD.clone()
    }

    /// Adds a policy, listed last.
    ///
    /// # Panics
    ///
    /// If its id is taken or the definition is invalid: a malformed name, a preset out of range, or a duplicate preset or setting.
    #[must_use]
    pub fn with<C: Config>(mut self, definition: Definition<C>) -> Self {
        let id = definition.id();
        if let Some(problem) = definition.problem() {
            panic!("policy `{id}`: {problem}");
        }
        assert!(self.entries.iter().all(|entry| entry.id() != id), "the policy id `{id}` is taken");
        self.entries.push(Arc::new(definition));
        self
    }

    /// The same policies and one that the caller builds, listed last: a [`Policy`] that is not made of a learner, such as one of
    /// another language. It has no settings and cannot be loaded; `version` is recorded with its trials.
    ///
    /// Fails if its name is taken, or has other characters than letters, digits and `-_.`.
    pub fn with_external(
        mut self,
        name: &str,
        version: Option<&str>,
        build: impl Fn(Shape, Seed) -> Result<Box<dyn Policy>, Error> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let entry = External::new(name, version, Box::new(build))?;
        if self.entries.iter().any(|entry| entry.id() == name) {
            let problem = "a policy has this name already".to_owned();
            return Err(Kind::ExternalName { name: name.to_owned(), problem }.into());
        }
        self.entries.push(Arc::new(entry));
        Ok(self)
    }

    /// Every policy with its presets and settings, in the order of registration.
    pub fn policies(&self) -> Vec<PolicyInfo> {
        self.entries.iter().map(|entry| entry.info()).collect()
    }

    /// Parses a policy's text, `id[@preset][key=value,…]`.
    pub fn parse(&self, text: &str) -> Result<PolicySpec, Error> {
        let text = PolicyText::parse(text)?;
        self.entry(text.id)?.resolve(&text, false)
    }

    /// Parses a comma-separated list of policies; commas in brackets do not separate.
    pub fn parse_list(&self, text: &str) -> Result<Vec<PolicySpec>, Error> {
        PolicyText::split_list(text).into_iter().map(|text| self.parse(text)).collect()
    }

    /// Parses the policy of a record, which an earlier version may have written.
    ///
    /// A setting that no longer exists is skipped if it has its old default; any other value is an error. A setting that did not
    /// exist yet gets the value that leaves the policy as it was, which may not be its default.
    pub fn parse_recorded(&self, text: &str) -> Result<PolicySpec, Error> {
        let text = PolicyText::parse(text)?;
        self.entry(text.id)?.resolve(&text, true)
    }

    /// Loads a policy from the bytes of [`Policy::save`]; it continues exactly where it stopped.
    pub fn load(&self, file: &[u8]) -> Result<Box<dyn Policy>, Error> {
        let mut body = save::unseal(file)?;
        let text = body.text()?;
        let spec = self.parse_recorded(text).map_err(|cause| match cause.is_removed() {
            true => Kind::RemovedInFile { cause },
            false => Kind::UnknownSavedPolicy { policy: text.to_owned(), cause },
        })?;
        let shape = Shape {
            n_features: body.usize()?,
            n_actions: body.usize()?,
            n_action_features: if body.format() > 3 { body.usize()? } else { 0 },
        };
        let seed = Seed::new(body.u64()?);
        shape.check().map_err(|error| body.damaged(error.to_string()))?;
        let policy = spec.entry().load(&spec, shape, seed, &mut body)?;
        body.finish()?;
        Ok(policy)
    }

    fn entry(&self, id: &str) -> Result<Arc<dyn Entry>, Error> {
        self.entries.iter().find(|entry| entry.id() == id).cloned().ok_or_else(|| {
            let known: Vec<&str> = self.entries.iter().map(|entry| entry.id()).collect();
            let hint = did_you_mean(id, known.iter().copied());
            Kind::UnknownPolicy { id: id.to_owned(), hint, known: known.join(", ") }.into()
        })
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| entry.id())).finish()
    }
}

/// Loads a policy of this crate from the bytes of [`Policy::save`]; it continues exactly.
///
/// [`Registry::load`] does the same for a registry with more policies.
pub fn load(file: &[u8]) -> Result<Box<dyn Policy>, Error> {
    STANDARD.load(file)
}

/// The policies of this crate that support actions with features, for a message.
pub(crate) fn described_policies() -> String {
    let known = STANDARD.entries.iter().filter(|entry| entry.heeds_candidates());
    known.map(|entry| format!("`{}`", entry.id())).collect::<Vec<_>>().join(", ")
}

/// The arguments that every policy is built from.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The policy with every setting.
    pub(crate) spec: PolicySpec,
    /// The features and actions.
    pub(crate) shape: Shape,
    /// The random seed.
    pub(crate) seed: Seed,
}

/// Begins the body of a saved policy with what [`Registry::load`] reads first.
pub(crate) fn begin_save(Identity { spec, shape, seed }: &Identity) -> Encoder {
    let mut body = Encoder::default();
    body.text(&spec.full());
    body.usize(shape.n_features);
    body.usize(shape.n_actions);
    body.usize(shape.n_action_features);
    body.u64(seed.number());
    body
}

/// Whether the name consists of lower-case letters, digits and these marks, and does not begin with a mark.
fn is_name(name: &str, marks: &[u8]) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || marks.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configs::LinFullPostConfig;
    use crate::model::linear::lin_full_post::LinFullPost;

    fn refusal(definition: Definition<LinFullPostConfig>) -> String {
        let with = std::panic::AssertUnwindSafe(|| Registry::standard().with(definition));
        let panic = std::panic::catch_unwind(with).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    }

    #[test]
    fn definitions_that_contradict_themselves_are_refused() {
        let named = |id| Definition::of::<LinFullPost>(id, "a test");
        let config = LinFullPostConfig::default;
        assert_eq!(refusal(named("uniform")), "the policy id `uniform` is taken");
        let id = "its id has other characters than lower-case letters, digits and hyphens, or begins with a hyphen";
        for bad in ["", "two words", "Big", "-", "x[y"] {
            assert_eq!(refusal(named(bad)), format!("policy `{bad}`: {id}"));
        }
        let refused = refusal(named("mine").presets([("a", config()), ("a", config())]));
        assert_eq!(refused, "policy `mine`: its preset `a` is defined twice");
        assert!(
            refusal(named("mine").presets([("x[y", config())]))
                .contains("its preset `x[y` has other characters than")
        );
        let refused = refusal(named("mine").presets([("a", config().prior_rate(-1.0))]));
        assert!(refused.starts_with("policy `mine`: in its preset `a`: "), "{refused}");
        assert!(refused.contains("`prior_rate` is `-1`, expected a number above 0"), "{refused}");
    }

    /// A policy that could be saved but not loaded is not built.
    #[test]
    fn typed_settings_that_have_no_text_are_refused() {
        use crate::configs::{Capacity, Layers, LuGaussConfig, NeuralLinearConfig, RewardNetConfig};
        let (shape, seed) = (Shape::new(3, 2), Seed::new(0));
        let net = RewardNetConfig::default;
        for (net, key) in [
            (net().replay_capacity(Capacity(Some(0))), "replay_capacity"),
            (net().hidden_layers(Layers(vec![0])), "hidden_layers"),
            (net().hidden_layers(Layers(vec![20_000])), "hidden_layers"),
        ] {
            let error = NeuralLinearConfig::default().net(net).build(shape, seed).err().unwrap();
            assert!(error.is_invalid_config() && error.to_string().contains(key), "{error}");
        }
        // Settings of a preset are called by its name, so that they are the same policy as its text.
        assert_eq!(LuGaussConfig::paper().build(shape, seed).unwrap().name(), "lu-gauss@paper");
    }

    #[test]
    fn every_policy_of_ours_could_be_added_by_another_crate() {
        // The checks of `with` also hold for the standard policies: presets in range, no duplicate keys, valid names.
        for info in Registry::standard().policies() {
            assert!(is_name(&info.id, b"-"), "{}", info.id);
            for preset in &info.presets {
                let spec = STANDARD.parse(&format!("{}@{preset}", info.id)).unwrap();
                assert_eq!(STANDARD.parse(&spec.full()).unwrap(), spec);
            }
        }
    }
}
