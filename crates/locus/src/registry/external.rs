//! Policies that the caller builds: a name, and a function that makes the policy.

use std::sync::Arc;

use super::definition::{Entry, PolicyInfo};
use super::save::Decoder;
use super::spec::{PolicySpec, PolicyText};
use crate::agent::Policy;
use crate::error::Kind;
use crate::{Error, Seed, Shape};

/// The one preset of a policy without settings.
const PRESET: &str = "default";

/// The longest name.
const MAX_LENGTH: usize = 100;

/// Makes the policy for a shape and a seed.
type Build = dyn Fn(Shape, Seed) -> Result<Box<dyn Policy>, Error> + Send + Sync;

/// A policy that is known by its name alone.
pub(super) struct External {
    name: String,
    version: Option<String>,
    build: Box<Build>,
}

impl External {
    /// Fails if records could not hold the name or the version.
    pub(super) fn new(name: &str, version: Option<&str>, build: Box<Build>) -> Result<Self, Error> {
        let invalid = |problem: &str| {
            Err(Kind::ExternalName { name: name.to_owned(), problem: problem.to_owned() }.into())
        };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if !name.chars().all(is_plain) || !name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
            return invalid("expected letters, digits and `-_.`, beginning with a letter or digit");
        }
        if name.len() > MAX_LENGTH {
            return invalid("expected at most 100 characters");
        }
        if version
            .is_some_and(|version| version.contains(|letter: char| letter.is_control() || letter == ','))
        {
            return invalid("its version has a comma or a control character, such as a line break");
        }
        Ok(Self { name: name.to_owned(), version: version.map(str::to_owned), build })
    }
}

impl Entry for External {
    fn id(&self) -> &str {
        &self.name
    }

    fn default_preset(&self) -> &'static str {
        PRESET
    }

    fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    fn is_external(&self) -> bool {
        true
    }

    fn info(&self) -> PolicyInfo {
        let summary = "a policy that the caller added".to_owned();
        PolicyInfo { id: self.name.clone(), summary, presets: vec![PRESET], settings: Vec::new() }
    }

    fn resolve(self: Arc<Self>, text: &PolicyText<'_>, _: bool) -> Result<PolicySpec, Error> {
        let id = || self.name.clone();
        if let Some(preset) = text.preset.filter(|preset| *preset != PRESET) {
            let (preset, hint) = (preset.to_owned(), String::new());
            return Err(Kind::UnknownPreset { id: id(), preset, hint, known: PRESET.to_owned() }.into());
        }
        if let Some((key, _)) = text.settings.first() {
            let (key, hint, known) = ((*key).to_owned(), String::new(), "no settings".to_owned());
            return Err(Kind::UnknownKey { id: id(), key, hint, known }.into());
        }
        Ok(PolicySpec::new(self, PRESET, Vec::new(), Arc::new(())))
    }

    fn build(&self, _: &PolicySpec, shape: Shape, seed: Seed) -> Result<Box<dyn Policy>, Error> {
        (self.build)(shape, seed)
    }

    fn load(
        &self,
        _: &PolicySpec,
        _: Shape,
        _: Seed,
        body: &mut Decoder<'_>,
    ) -> Result<Box<dyn Policy>, Error> {
        Err(body.damaged(format!("`{}` is a policy that the caller added, and cannot be loaded", self.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    fn with(name: &str, version: Option<&str>) -> Result<Registry, Error> {
        let build = |shape, seed| "lin-ucb".parse::<PolicySpec>()?.build(shape, seed);
        Registry::standard().with_external(name, version, build)
    }

    #[test]
    fn it_is_named_listed_and_built_like_any_other() {
        let registry = with("MyPolicy_2.0", Some("7")).unwrap();
        let spec = registry.parse("MyPolicy_2.0").unwrap();
        assert_eq!((spec.to_string(), spec.full()), ("MyPolicy_2.0".into(), "MyPolicy_2.0@default".into()));
        assert_eq!(registry.parse(&spec.full()).unwrap(), spec);
        assert_eq!(registry.parse_recorded(&spec.full()).unwrap(), spec);
        assert_eq!(spec.version(), format!("{}+7", crate::BUILD));
        assert!(spec.is_external() && !registry.parse("uniform").unwrap().is_external());
        assert_eq!(registry.policies().last().unwrap().id, "MyPolicy_2.0");
        assert_eq!(spec.build(Shape::new(3, 2), Seed::new(0)).unwrap().name(), "lin-ucb");
        let message = |text: &str| registry.parse(text).unwrap_err().to_string();
        assert_eq!(message("MyPolicy_2.0@x"), "policy `MyPolicy_2.0` has no preset `x`; it has default");
        assert_eq!(
            message("MyPolicy_2.0[x=1]"),
            "policy `MyPolicy_2.0` has no setting `x`; it has no settings"
        );
    }

    #[test]
    fn names_that_records_cannot_hold_are_refused() {
        for name in ["", "-x", "a b", "a,b", "a[b", "a@b", "a=b", "a\nb", "\u{e9}t\u{e9}", &"x".repeat(101)] {
            let error = with(name, None).unwrap_err();
            assert!(error.is_invalid_config(), "{error}");
            assert!(error.to_string().contains("cannot be called"), "{error}");
        }
        assert!(with("uniform", None).unwrap_err().to_string().contains("a policy has this name already"));
        assert!(with("Mine", Some("1,2")).is_err());
        assert!(with("Mine", Some("1.2")).is_ok());
    }
}
