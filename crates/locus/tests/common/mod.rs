//! What several test binaries share.

use locus::{PolicySpec, Registry};

/// Nets that are small, so that tests of behavior stay quick.
const SMALL: [(&str, &str); 4] =
    [("latent_dim", "8"), ("extra_draws", "5"), ("batch_size", "32"), ("minibatches", "3")];

/// Every policy with its default preset, small, with further settings where it has them.
pub(crate) fn small_policies(further: &[(&str, &str)]) -> Vec<PolicySpec> {
    let spec = |info: &locus::PolicyInfo| {
        let has = |key: &str| info.settings.iter().any(|setting| setting.key == key);
        let is_further = |key: &str| further.iter().any(|(other, _)| *other == key);
        let settings = SMALL.iter().filter(|(key, _)| !is_further(key)).chain(further);
        let settings: Vec<String> =
            settings.filter(|(key, _)| has(key)).map(|(key, value)| format!("{key}={value}")).collect();
        format!("{}[{}]", info.id, settings.join(",")).parse().expect("a registered policy")
    };
    Registry::standard().policies().iter().map(spec).collect()
}
