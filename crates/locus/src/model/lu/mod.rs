//! Thompson sampling via local uncertainty: LU-Gauss, LU-SIVI and their ablations (Wang and Zhou, ICML 2020).
//!
//! A latent variable z carries the uncertainty. It is drawn from q(z | x), and a net decodes the mean rewards of all actions from
//! context and z: one draw for one decision. The two policies differ only in q ([`gauss`], [`sivi`]); everything else is in
//! [`model`]. The ablations are the same policies with other settings: the input of q is ones instead of the context.

mod breakdown;
pub(crate) mod config;
mod gauss;
mod latent;
mod mixture;
pub(crate) mod model;
pub(crate) mod settings;
mod sivi;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use config::{LuGaussConfig, LuSiviConfig, Shared};
use gauss::Gauss;
use model::{Lu, LuConfig};
use sivi::Sivi;

use crate::Plan;
use crate::registry::{Definition, Entry};

/// The policies of this family.
pub(crate) fn all() -> Vec<Arc<dyn Entry>> {
    vec![
        Arc::new(lu_gauss()),
        Arc::new(lu_gauss_ablation()),
        Arc::new(lu_sivi()),
        Arc::new(lu_sivi_ablation()),
    ]
}

fn lu_gauss() -> Definition<LuGaussConfig> {
    let summary = "Thompson sampling via local uncertainty with a Gaussian latent variable";
    Definition::of::<Lu<LuGaussConfig>>("lu-gauss", summary)
        .presets([("authors", LuGaussConfig::authors()), ("paper", LuGaussConfig::paper())])
}

fn lu_gauss_ablation() -> Definition<LuGaussConfig> {
    let summary = "LU-Gauss with a latent variable that is the same for all contexts";
    let ablated = |config: LuGaussConfig| LuGaussConfig { shared: config.shared.ablated(), ..config };
    Definition::of::<Lu<LuGaussConfig>>("lu-gauss-ablation", summary)
        .presets([("authors", ablated(LuGaussConfig::authors())), ("paper", ablated(LuGaussConfig::paper()))])
}

fn lu_sivi() -> Definition<LuSiviConfig> {
    let summary = "Thompson sampling via local uncertainty with a semi-implicit latent variable";
    Definition::of::<Lu<LuSiviConfig>>("lu-sivi", summary)
        .presets([("authors", LuSiviConfig::authors()), ("paper", LuSiviConfig::paper())])
}

fn lu_sivi_ablation() -> Definition<LuSiviConfig> {
    let summary = "LU-SIVI with a latent variable that is the same for all contexts";
    let ablated = |config: LuSiviConfig| LuSiviConfig { shared: config.shared.ablated(), ..config };
    Definition::of::<Lu<LuSiviConfig>>("lu-sivi-ablation", summary)
        .presets([("authors", ablated(LuSiviConfig::authors())), ("paper", ablated(LuSiviConfig::paper()))])
}

/// The settings that both LU policies pass to the model, and their constructors.
macro_rules! lu_policy {
    ($config:ident, $latent:ident, $definition:ident) => {
        impl LuConfig for $config {
            type Latent = $latent;

            fn resolved(&self) -> Shared {
                let $config { latent_dim, decoder_layers, learning_rate, prior_std, .. } = self;
                self.shared.resolved(*latent_dim, decoder_layers, *learning_rate, *prior_std)
            }

            fn plan(&self) -> Plan {
                let $config { agent, shared, .. } = self;
                let plan = Plan::trained(agent, shared.train_every, shared.replay_capacity.0)
                    .on_replay(&shared.replay);
                plan.with_propensity_draws(shared.propensity_draws as usize)
            }
        }

        impl $config {
            /// Builds the policy, untrained.
            pub fn build(
                &self,
                shape: crate::Shape,
                seed: crate::Seed,
            ) -> Result<Box<dyn crate::Policy>, crate::Error> {
                $definition().spec(self)?.build(shape, seed)
            }
        }
    };
}
lu_policy!(LuGaussConfig, Gauss, lu_gauss);
lu_policy!(LuSiviConfig, Sivi, lu_sivi);
