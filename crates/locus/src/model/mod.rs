//! The policies, one folder a family: what each learns and decides by.
//!
//! A policy is a module with a `definition()`: its id, summary, presets and learner. The list of its family names it, and that is
//! all; `Registry::standard` has what the lists have.

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
            #[allow(dead_code, reason = "not every policy is looked into by tests")]
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
