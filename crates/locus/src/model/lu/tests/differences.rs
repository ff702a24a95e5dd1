//! Gradients of both objectives against finite differences, all dimensions different.

use super::{ablated_gauss, ablated_sivi, parameters, small_gauss, small_sivi, work};
use crate::math::nn::gradient_check::{check_gradient, random};
use crate::math::nn::{Normals, Panel};
use crate::model::lu::config::{LuGaussConfig, LuSharedConfig, LuSiviConfig};
use crate::model::lu::latent::Latent;
use crate::model::lu::model::{LuConfig, Parts, Work};
use crate::model::lu::settings::StdScale;
use crate::registry::values::Layers;
use crate::{Seed, Shape};

const SHAPE: Shape = Shape::new(3, 4);
const N: usize = 21;

/// A whole objective has many kinks, so short steps are needed, which leave fewer digits.
const TOLERANCE: f64 = 1e-2;

/// The loss at these parameters, always with the same noise.
fn loss<Q: Latent>(parts: &Parts<Q>, parameters: &[f32], work: &mut Work<Q::Work>) -> f64 {
    let mut noise = Normals::new(&mut Seed::new(2).stream("noise", 0));
    parts.forward(parameters, &mut noise, work);
    parts.loss(parameters, 0.7, &mut noise, work)
}

fn check<C: LuConfig>(what: &str, config: &C) {
    check_rows(what, config, N);
}

fn check_rows<C: LuConfig>(what: &str, config: &C, n_rows: usize) {
    let parts: Parts<C::Latent> = Parts::new(config, config.resolved(), SHAPE);
    let parameters = parameters(&parts, &mut Seed::new(3).stream("init", 0));
    let mut rng = Seed::new(1).stream("batch", 0);
    let mut work = work(&parts, n_rows, &mut rng, |rng| random(SHAPE.n_features, rng));
    // As in training, where a single row is padded too.
    let mut inputs = Panel::default();
    inputs.reshape_padded(work.batch.inputs.n_features(), n_rows);
    for feature in 0..inputs.n_features() {
        inputs.line_mut(feature).copy_from_slice(work.batch.inputs.line(feature));
    }
    work.batch.inputs = inputs;
    loss(&parts, &parameters, &mut work);
    let gradients = work.gradients.clone();
    check_gradient(what, TOLERANCE, &parameters, &gradients, |parameters| {
        loss(&parts, parameters, &mut work)
    });
}

#[test]
fn gradients_equal_finite_differences() {
    let gauss = small_gauss();
    check("LU-Gauss", &gauss);
    check("the ablation of LU-Gauss", &ablated_gauss(&gauss));
    let gauss = LuGaussConfig {
        head_layers: Layers(vec![]),
        shared: LuSharedConfig { reward_std_scale: StdScale::Log, ..gauss.shared },
        ..gauss
    };
    check("LU-Gauss, logarithmic", &gauss);
    let sivi = small_sivi();
    check("LU-SIVI", &sivi);
    check("the ablation of LU-SIVI", &ablated_sivi(&sivi));
    let sivi = LuSiviConfig {
        psi_layers: Layers(vec![12]),
        shared: LuSharedConfig { reward_std_scale: StdScale::Log, ..sivi.shared },
        ..sivi
    };
    check("LU-SIVI, logarithmic", &sivi);
}

#[test]
fn a_minibatch_of_one_row_has_a_gradient_too() {
    check_rows("LU-Gauss", &small_gauss(), 1);
    check_rows("the ablation of LU-Gauss", &ablated_gauss(&small_gauss()), 1);
    check_rows("LU-SIVI", &small_sivi(), 1);
}
