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

use super::registry::Registered;
use super::thompson::{Plan, Thompson};

pub(super) static LU_GAUSS: Registered<LuGaussConfig> = Registered {
    id: "lu-gauss",
    summary: "Thompson sampling via local uncertainty with a Gaussian latent variable",
    presets: &[("authors", LuGaussConfig::authors), ("paper", LuGaussConfig::paper)],
    build: Thompson::<Lu<LuGaussConfig>>::boxed,
    load: Thompson::<Lu<LuGaussConfig>>::load,
};

pub(super) static LU_GAUSS_ABLATION: Registered<LuGaussConfig> = Registered {
    id: "lu-gauss-ablation",
    summary: "LU-Gauss with a latent variable that is the same for all contexts",
    presets: &[
        ("authors", || LuGaussConfig::authors().ablated()),
        ("paper", || LuGaussConfig::paper().ablated()),
    ],
    build: Thompson::<Lu<LuGaussConfig>>::boxed,
    load: Thompson::<Lu<LuGaussConfig>>::load,
};

impl LuConfig for LuGaussConfig {
    type Latent = Gauss;

    #[expect(private_interfaces, reason = "the policies of this crate are all there are")]
    fn shared(&self) -> Shared {
        self.shared()
    }

    fn plan(&self) -> Plan {
        self.plan()
    }
}

pub(super) static LU_SIVI: Registered<LuSiviConfig> = Registered {
    id: "lu-sivi",
    summary: "Thompson sampling via local uncertainty with a semi-implicit latent variable",
    presets: &[("authors", LuSiviConfig::authors), ("paper", LuSiviConfig::paper)],
    build: Thompson::<Lu<LuSiviConfig>>::boxed,
    load: Thompson::<Lu<LuSiviConfig>>::load,
};

pub(super) static LU_SIVI_ABLATION: Registered<LuSiviConfig> = Registered {
    id: "lu-sivi-ablation",
    summary: "LU-SIVI with a latent variable that is the same for all contexts",
    presets: &[
        ("authors", || LuSiviConfig::authors().ablated()),
        ("paper", || LuSiviConfig::paper().ablated()),
    ],
    build: Thompson::<Lu<LuSiviConfig>>::boxed,
    load: Thompson::<Lu<LuSiviConfig>>::load,
};

impl LuConfig for LuSiviConfig {
    type Latent = Sivi;

    #[expect(private_interfaces, reason = "the policies of this crate are all there are")]
    fn shared(&self) -> Shared {
        self.shared()
    }

    fn plan(&self) -> Plan {
        self.plan()
    }
}
