//! Thompson sampling via local uncertainty: LU-Gauss, LU-SIVI and their ablations (Wang and Zhou, ICML 2020).
//!
//! A latent variable z carries the uncertainty. It is drawn from q(z | x), and a net decodes the mean rewards of all actions
//! from context and z: one draw, one decision. The two policies differ in q alone ([`gauss`], [`sivi`]); all else is in
//! [`model`]. The ablations are the same with other settings: q sees ones instead of the context.

mod breakdown;
pub mod config;
pub mod gauss;
mod latent;
mod mixture;
pub mod model;
pub mod settings;
pub mod sivi;
#[cfg(test)]
mod tests;

use config::{LuGaussConfig, LuSiviConfig, Shared};
use gauss::Gauss;
use model::{Lu, LuConfig};
use sivi::Sivi;

use crate::registry::Registered;

pub(crate) static LU_GAUSS: Registered<LuGaussConfig> = Registered::of::<Lu<LuGaussConfig>>(
    "lu-gauss",
    "Thompson sampling via local uncertainty with a Gaussian latent variable",
    &[("authors", LuGaussConfig::authors), ("paper", LuGaussConfig::paper)],
);

pub(crate) static LU_GAUSS_ABLATION: Registered<LuGaussConfig> = Registered::of::<Lu<LuGaussConfig>>(
    "lu-gauss-ablation",
    "LU-Gauss with a latent variable that is the same for all contexts",
    &[("authors", || LuGaussConfig::authors().ablated()), ("paper", || LuGaussConfig::paper().ablated())],
);

impl LuConfig for LuGaussConfig {
    type Latent = Gauss;

    #[expect(private_interfaces, reason = "the policies of this crate are all there are")]
    fn shared(&self) -> Shared {
        self.shared()
    }
}

pub(crate) static LU_SIVI: Registered<LuSiviConfig> = Registered::of::<Lu<LuSiviConfig>>(
    "lu-sivi",
    "Thompson sampling via local uncertainty with a semi-implicit latent variable",
    &[("authors", LuSiviConfig::authors), ("paper", LuSiviConfig::paper)],
);

pub(crate) static LU_SIVI_ABLATION: Registered<LuSiviConfig> = Registered::of::<Lu<LuSiviConfig>>(
    "lu-sivi-ablation",
    "LU-SIVI with a latent variable that is the same for all contexts",
    &[("authors", || LuSiviConfig::authors().ablated()), ("paper", || LuSiviConfig::paper().ablated())],
);

impl LuConfig for LuSiviConfig {
    type Latent = Sivi;

    #[expect(private_interfaces, reason = "the policies of this crate are all there are")]
    fn shared(&self) -> Shared {
        self.shared()
    }
}
