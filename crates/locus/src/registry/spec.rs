//! Policies as text: `id[@preset][key=value,…]`, the same on the command line, in suites and in records.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use super::settings::{ADDED, Config};
use super::{Entry, STANDARD};
use crate::agent::Policy;
use crate::error::Kind;
use crate::{Error, Seed, Shape};

/// A policy with checked settings, ready to build.
///
/// Its text is canonical: keys are sorted, and the default preset and settings equal to the preset's are omitted. So two texts of
/// one preset are equal if and only if they mean the same. `str::parse` knows the policies of this crate;
/// [`Registry::parse`](crate::Registry::parse) knows those of a registry.
///
/// ```
/// use locus::{PolicySpec, Seed, Shape};
///
/// let spec: PolicySpec = "lin-full-post[prior_shape=6, prior_precision=1.0]".parse()?;
/// assert_eq!(spec.to_string(), "lin-full-post[prior_precision=1]");
/// let policy = spec.build(Shape::new(5, 3), Seed::new(0))?;
/// # Ok::<(), locus::Error>(())
/// ```
#[derive(Clone)]
pub struct PolicySpec {
    entry: Arc<dyn Entry>,
    preset: &'static str,
    /// Every setting, in the order of the policy's table.
    settings: Vec<Setting>,
    /// The same, typed.
    config: Arc<dyn Any + Send + Sync>,
}

/// One setting of a [`PolicySpec`].
#[derive(Clone, Debug)]
struct Setting {
    key: &'static str,
    value: String,
    /// Whether it has the preset's value.
    is_preset: bool,
}

impl PolicySpec {
    /// The id, without preset and settings.
    pub fn id(&self) -> &str {
        self.entry.id()
    }

    /// The name of its preset.
    pub fn preset(&self) -> &'static str {
        self.preset
    }

    /// The text with the preset and every setting; its meaning does not change with the defaults.
    pub fn full(&self) -> String {
        let settings: Vec<&Setting> = self.settings.iter().collect();
        render(self.id(), Some(self.preset), settings)
    }

    /// Builds the policy, untrained.
    pub fn build(&self, shape: Shape, seed: Seed) -> Result<Box<dyn Policy>, Error> {
        shape.check()?;
        self.entry.build(self, shape, seed)
    }

    /// Whether the caller builds it: see [`Registry::with_external`](crate::Registry::with_external).
    pub fn is_external(&self) -> bool {
        self.entry.is_external()
    }

    /// The version for records: [`BUILD`](crate::BUILD), and the policy's own version if it has one.
    pub fn version(&self) -> String {
        self.entry.version().map_or(crate::BUILD.to_owned(), |version| format!("{}+{version}", crate::BUILD))
    }

    /// Whether a record is of this policy: equal in all settings but those that did not exist yet, which keep their old meaning.
    ///
    /// `record` comes from [`Registry::parse_recorded`](crate::Registry::parse_recorded).
    pub fn is_recorded_as(&self, record: &Self) -> bool {
        let are_compatible = |(now, then): (&Setting, &Setting)| {
            now.value == then.value || ADDED.contains(&(now.key, then.value.as_str()))
        };
        self.id() == record.id()
            && self.preset == record.preset
            && self.settings.iter().zip(&record.settings).all(are_compatible)
    }

    /// Key and value of every setting.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.settings.iter().map(|setting| (setting.key, setting.value.as_str()))
    }

    /// Settings are key, whether the value is the preset's, and value.
    pub(super) fn new(
        entry: Arc<dyn Entry>,
        preset: &'static str,
        settings: Vec<(&'static str, bool, String)>,
        config: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let setting = |(key, is_preset, value)| Setting { key, value, is_preset };
        Self { entry, preset, settings: settings.into_iter().map(setting).collect(), config }
    }

    pub(super) fn entry(&self) -> &dyn Entry {
        &*self.entry
    }

    /// The typed settings of a spec of the policy whose settings are a `C`.
    pub(crate) fn config<C: Config>(&self) -> &C {
        self.config.downcast_ref().expect("a spec has the settings of its entry")
    }
}

impl FromStr for PolicySpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        STANDARD.parse(text)
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_default_preset = self.preset == self.entry.default_preset();
        let mut settings: Vec<&Setting> = self.settings.iter().filter(|setting| !setting.is_preset).collect();
        settings.sort_unstable_by_key(|setting| setting.key);
        f.write_str(&render(self.id(), (!is_default_preset).then_some(self.preset), settings))
    }
}

impl fmt::Debug for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicySpec({self})")
    }
}

impl PartialEq for PolicySpec {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PolicySpec {}

impl PartialOrd for PolicySpec {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PolicySpec {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl Hash for PolicySpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_string().hash(state);
    }
}

fn render(id: &str, preset: Option<&str>, settings: Vec<&Setting>) -> String {
    let mut text = id.to_owned();
    if let Some(preset) = preset {
        text.push('@');
        text.push_str(preset);
    }
    if !settings.is_empty() {
        let settings: Vec<String> =
            settings.iter().map(|setting| format!("{}={}", setting.key, setting.value)).collect();
        text.push('[');
        text.push_str(&settings.join(","));
        text.push(']');
    }
    text
}

/// The parts of a policy's text, `id[@preset][key=value,…]`.
///
/// Does not check that the policy exists.
///
/// ```
/// let text = locus::PolicyText::parse("lu-gauss@paper[latent_dim=20]")?;
/// assert_eq!((text.id, text.preset, &*text.settings), ("lu-gauss", Some("paper"), &[("latent_dim", "20")][..]));
/// # Ok::<(), locus::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyText<'a> {
    /// The id.
    pub id: &'a str,
    /// The preset, if the text names one.
    pub preset: Option<&'a str>,
    /// Key and value of the settings, in the order of the text.
    pub settings: Vec<(&'a str, &'a str)>,
}

impl<'a> PolicyText<'a> {
    /// Parses a text into its parts.
    pub fn parse(text: &'a str) -> Result<Self, Error> {
        Self::take_apart(text).map_err(|problem| Kind::PolicySyntax { text: text.to_owned(), problem }.into())
    }

    /// Parses a comma-separated list of policies; commas in brackets do not separate.
    pub fn split_list(list: &'a str) -> Vec<&'a str> {
        split_list(list)
    }

    fn take_apart(text: &'a str) -> Result<Self, String> {
        let text = text.trim();
        let (name, settings) = match text.split_once('[') {
            None => (text, ""),
            Some((name, rest)) => match rest.strip_suffix(']') {
                Some(settings) => (name, settings),
                None => return Err("the bracket `[` is not closed at the end".to_owned()),
            },
        };
        let (id, preset) = match name.split_once('@') {
            None => (name, None),
            Some((id, preset)) => (id, Some(preset.trim())),
        };
        if id.trim().is_empty() {
            return Err("the id is missing".to_owned());
        }
        let mut parsed: Vec<(&str, &str)> = Vec::new();
        for setting in settings.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
            let Some((key, value)) = setting.split_once('=') else {
                return Err(format!("`{setting}` is not of the form key=value"));
            };
            let (key, value) = (key.trim(), value.trim());
            if parsed.iter().any(|(earlier, _)| *earlier == key) {
                return Err(format!("`{key}` is given twice"));
            }
            parsed.push((key, value));
        }
        Ok(Self { id: id.trim(), preset, settings: parsed })
    }
}

/// The parts of a comma-separated list, trimmed, without empty ones; commas in brackets do not separate.
fn split_list(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|character| {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Registry;

    fn canonical(text: &str) -> String {
        text.parse::<PolicySpec>().unwrap().to_string()
    }

    fn message(text: &str) -> String {
        text.parse::<PolicySpec>().unwrap_err().to_string()
    }

    #[test]
    fn one_meaning_has_one_text() {
        assert_eq!(canonical("lin-full-post"), "lin-full-post");
        assert_eq!(canonical(" lin-full-post[ ] "), "lin-full-post");
        assert_eq!(canonical("lin-full-post@benchmark"), "lin-full-post");
        assert_eq!(canonical("lin-full-post[prior_precision=0.250]"), "lin-full-post");
        let expected = "lin-full-post[initial_pulls=3,prior_precision=1e-8]";
        assert_eq!(canonical("lin-full-post[prior_precision=0.00000001,initial_pulls=3]"), expected);
        assert_eq!(
            canonical(" lin-full-post @ benchmark [initial_pulls = 3 , prior_precision = 1E-8,]"),
            expected
        );
    }

    #[test]
    fn the_full_text_spells_everything_out_and_means_the_same() {
        let spec: PolicySpec = "lin-full-post[prior_rate=2]".parse().unwrap();
        let full = "lin-full-post@benchmark[prior_precision=0.25,prior_shape=6,prior_rate=2,interactions=off,propensity_draws=128,initial_pulls=2,initial=round-robin,floor=0,half_life=off]";
        assert_eq!(spec.full(), full);
        assert_eq!(spec.full().parse::<PolicySpec>().unwrap(), spec);
    }

    #[test]
    fn lists_split_on_commas_outside_brackets() {
        let specs = Registry::standard()
            .parse_list("uniform,lin-full-post[prior_shape=1,prior_rate=1], uniform,")
            .unwrap();
        let texts: Vec<String> = specs.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["uniform", "lin-full-post[prior_rate=1,prior_shape=1]", "uniform"]);
    }

    #[test]
    fn errors_name_key_value_and_range() {
        assert_eq!(
            message("lin-full-post[prior_precision=-1]"),
            "policy `lin-full-post`: `prior_precision` is `-1`, expected a number from 1e-12 to 1e12"
        );
        assert_eq!(
            message("lin-full-post[initial_pulls=1.5]"),
            "policy `lin-full-post`: `initial_pulls` is `1.5`, expected a whole number from 0 to 1000"
        );
        assert_eq!(
            message("lin-full-post[lambda=1]"),
            "policy `lin-full-post` has no setting `lambda`; it has prior_precision, prior_shape, prior_rate, interactions, propensity_draws, initial_pulls, initial, floor, half_life"
        );
        assert_eq!(
            message("uniform[a=1]"),
            "policy `uniform` has no setting `a`; it has initial_pulls, initial, floor, half_life"
        );
        assert_eq!(
            message("lin-full-post@best"),
            "policy `lin-full-post` has no preset `best`; it has benchmark"
        );
        assert!(message("linfullpost").starts_with(
            "no policy is called `linfullpost` (did you mean `lin-full-post`?); there are uniform, "
        ));
        assert!(message("some-policy").starts_with("no policy is called `some-policy`; there are uniform, "));
        assert!(
            message("lu-gauss@papr")
                .starts_with("policy `lu-gauss` has no preset `papr` (did you mean `paper`?); it has ")
        );
        assert!(message("lin-full-post[prior_precison=1]").starts_with(
            "policy `lin-full-post` has no setting `prior_precison` (did you mean `prior_precision`?); it has "
        ));
        for text in
            ["", "[a=1]", "@x", "uniform[", "uniform[a=1]]x", "uniform[a]", "uniform]", "uniform[a=1,a=1]"]
        {
            assert!(text.parse::<PolicySpec>().unwrap_err().is_invalid_config(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = Registry::standard().parse_list(&text);
        }

        #[test]
        fn no_almost_right_text_panics(text in "(lin-full-post|uniform)?[@\\[\\],=a-z_0-9. -]{0,40}") {
            for spec in Registry::standard().parse_list(&text).into_iter().flatten() {
                prop_assert_eq!(canonical(&spec.to_string()), spec.to_string());
                prop_assert_eq!(spec.full().parse::<PolicySpec>().unwrap(), spec);
            }
        }
    }
}
