//! Policies by name.
//!
//! A [`Registry`] knows policies by id: it builds them from text, loads saved ones, and lists their settings. The standard one has
//! every policy of this crate; [`Registry::with`] adds those of others, with the same rights.

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

/// The policies that can be named.
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
    /// Every policy of this crate.
    pub fn standard() -> Self {
        STANDARD.clone()
    }

    /// The same policies and one more, listed last.
    ///
    /// # Panics
    ///
    /// If its id is taken, or the definition contradicts itself: a name that cannot be written, a preset out of range, a setting twice.
    #[must_use]
    pub fn with<C: Config>(mut self, definition: Definition<C>) -> Self {
        let id = definition.id();
        if let Some(problem) = definition.problem() {
            panic!("policy `{id}`: {problem}");
        }
        assert!(self.entries.iter().all(|entry| entry.id() != id), "a policy is called `{id}` already");
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

    /// Every policy with its presets and settings, in the order in which they are listed.
    pub fn policies(&self) -> Vec<PolicyInfo> {
        self.entries.iter().map(|entry| entry.info()).collect()
    }

    /// The policy that a text names: `id[@preset][key=value,…]`.
    pub fn parse(&self, text: &str) -> Result<PolicySpec, Error> {
        let text = PolicyText::parse(text)?;
        self.entry(text.id)?.resolve(&text, false)
    }

    /// The policies of a comma-separated list; commas in brackets do not separate.
    pub fn parse_list(&self, text: &str) -> Result<Vec<PolicySpec>, Error> {
        PolicyText::split_list(text).into_iter().map(|text| self.parse(text)).collect()
    }

    /// The policy that a record names, which an earlier version may have written.
    ///
    /// A setting that no longer exists is skipped if it has its old default; any other value is an error.
    pub fn parse_recorded(&self, text: &str) -> Result<PolicySpec, Error> {
        let text = PolicyText::parse(text)?;
        self.entry(text.id)?.resolve(&text, true)
    }

    /// Loads a policy that [`Policy::save`] saved; it continues as if it had never stopped.
    pub fn load(&self, file: &[u8]) -> Result<Box<dyn Policy>, Error> {
        let mut body = save::unseal(file)?;
        let text = body.text()?;
        let spec = self.parse_recorded(text).map_err(|cause| match cause.is_removed() {
            true => Kind::RemovedInFile { cause },
            false => Kind::UnknownSavedPolicy { policy: text.to_owned(), cause },
        })?;
        let shape = Shape::new(body.usize()?, body.usize()?);
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

/// Loads a policy of this crate that [`Policy::save`] saved; it continues as if it had never stopped.
///
/// [`Registry::load`] does the same for a registry with more policies.
pub fn load(file: &[u8]) -> Result<Box<dyn Policy>, Error> {
    STANDARD.load(file)
}

/// What every policy is told about itself.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// What it is, with every setting.
    pub(crate) spec: PolicySpec,
    /// What it decides on.
    pub(crate) shape: Shape,
    /// Where its randomness comes from.
    pub(crate) seed: Seed,
}

/// Begins the body of a saved policy with what [`Registry::load`] reads first.
pub(crate) fn begin_save(Identity { spec, shape, seed }: &Identity) -> Encoder {
    let mut body = Encoder::default();
    body.text(&spec.full());
    body.usize(shape.n_features);
    body.usize(shape.n_actions);
    body.u64(seed.number());
    body
}

/// Whether it is made of lower-case letters, digits and these marks, and begins with none of them.
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
        assert_eq!(refusal(named("uniform")), "a policy is called `uniform` already");
        let id = "its id is not made of lower-case letters, digits and hyphens";
        for bad in ["", "two words", "Big", "-", "x[y"] {
            assert_eq!(refusal(named(bad)), format!("policy `{bad}`: {id}"));
        }
        let refused = refusal(named("mine").presets([("a", config()), ("a", config())]));
        assert_eq!(refused, "policy `mine`: its preset `a` is there twice");
        assert!(
            refusal(named("mine").presets([("x[y", config())])).contains("its preset `x[y` is not made of")
        );
        let refused = refusal(named("mine").presets([("a", config().prior_rate(-1.0))]));
        assert!(refused.starts_with("policy `mine`: in its preset `a`: "), "{refused}");
        assert!(refused.contains("`prior_rate` is `-1`, expected a number above 0"), "{refused}");
    }

    /// What could be saved and not be loaded is not built.
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
        // What `with` checks of others holds for ours, too: presets in range, no key twice, names that can be written.
        for info in Registry::standard().policies() {
            assert!(is_name(&info.id, b"-"), "{}", info.id);
            for preset in &info.presets {
                let spec = STANDARD.parse(&format!("{}@{preset}", info.id)).unwrap();
                assert_eq!(STANDARD.parse(&spec.full()).unwrap(), spec);
            }
        }
    }
}
