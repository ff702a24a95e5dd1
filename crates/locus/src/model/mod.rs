//! The policies, one folder per family.
//!
//! A policy is a module with a `definition()`: its id, summary, presets and learner. To register a policy, add it to the list of
//! its family; `Registry::standard` contains all lists.

use std::sync::Arc;

use crate::registry::Entry;

/// Declares policies, each a module with a `definition()`, in the order in which they are listed.
macro_rules! policies {
    ($($name:ident),+ $(,)?) => {
        $(pub(crate) mod $name;)+

        /// Every policy of this list.
        pub(crate) fn all() -> Vec<std::sync::Arc<dyn $crate::registry::Entry>> {
            vec![$(std::sync::Arc::new($name::definition())),+]
        }
    };
}

/// Lets settings build the policy of the module's `definition()`.
macro_rules! buildable {
    ($config:ty => $learner:ty) => {
        impl $config {
            /// Builds the policy, untrained.
            pub fn build(
                &self,
                shape: $crate::Shape,
                seed: $crate::Seed,
            ) -> Result<Box<dyn $crate::Policy>, $crate::Error> {
                definition().spec(self)?.build(shape, seed)
            }

            #[cfg(test)]
            #[allow(dead_code, reason = "tests do not use it for every policy")]
            pub(crate) fn build_agent(
                &self,
                shape: $crate::Shape,
                seed: $crate::Seed,
            ) -> Result<$crate::agent::Agent<$learner>, $crate::Error> {
                let spec = definition().spec(self)?;
                $crate::agent::Agent::new(self, $crate::registry::Identity { spec, shape, seed })
            }
        }
    };
}

// Policies that belong to no family.
policies! {
    uniform,
}

mod ensemble;
pub(crate) mod gp;
pub(crate) mod linear;
pub(crate) mod lu;
pub(crate) mod mixture;
pub(crate) mod net;
mod training;
pub(crate) mod weights;

/// Every policy of this crate.
pub(crate) fn standard() -> Vec<Arc<dyn Entry>> {
    [all(), linear::all(), net::all(), weights::all(), gp::all(), lu::all(), mixture::all()].concat()
}
