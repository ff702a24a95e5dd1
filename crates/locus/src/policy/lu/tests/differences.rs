//! Gradients of both objectives against finite differences, all dimensions different.

use crate::nn::gradient_check::check_gradient;
use crate::nn::{Normals, Panel};
use crate::policy::lu::config::{LuGaussConfig, LuSiviConfig};
use crate::policy::lu::latent::Latent;
use crate::policy::lu::model::{LuConfig, Parts, Work};
use crate::policy::lu::settings::StdScale;
use crate::policy::minibatch::Minibatch;
use crate::policy::settings::Layers;
use crate::{Seed, Shape};

const SHAPE: Shape = Shape::new(3, 4);
const N: usize = 21;

/// A whole objective has many kinks, so short steps are needed, which leave fewer digits.
const TOLERANCE: f64 = 1e-2;

fn work<Q: Latent>(parts: &Parts<Q>) -> Work<Q::Work> {
    let mut rng = Seed::new(1).stream("batch", 0);
    let mut inputs = Panel::new(SHAPE.n_features + parts.shared.latent_dim, N);
    for feature in 0..SHAPE.n_features {
        inputs.line_mut(feature).iter_mut().for_each(|value| *value = rng.normal() as f32);
    }
    Work {
        batch: Minibatch {
            inputs,
            actions: (0..N).map(|row| row % SHAPE.n_actions).collect(),
            rewards: (0..N).map(|_| rng.normal() as f32).collect(),
        },
        gradients: vec![0.0; parts.n_parameters],
        ..Work::default()
    }
}

/// The loss at these parameters, always with the same noise.
fn loss<Q: Latent>(parts: &Parts<Q>, parameters: &[f32], work: &mut Work<Q::Work>) -> f64 {
    let mut noise = Normals::new(&mut Seed::new(2).stream("noise", 0));
    parts.forward(parameters, &mut noise, work);
    parts.loss(parameters, 0.7, &mut noise, work)
}

fn check<C: LuConfig>(what: &str, config: &C) {
    let parts: Parts<C::Latent> = Parts::new(config, config.shared(), SHAPE);
    let mut parameters = vec![0.0; parts.n_parameters];
    let mut rng = Seed::new(3).stream("init", 0);
    parts.initialize(&mut parameters, &mut rng);
    // Biases of 0 would leave units whose inputs are all dead on the kink of their ReLU.
    parameters.iter_mut().for_each(|parameter| *parameter += 0.1 * rng.normal() as f32);
    let mut work = work(&parts);
    loss(&parts, &parameters, &mut work);
    let gradients = work.gradients.clone();
    check_gradient(what, TOLERANCE, &parameters, &gradients, |parameters| {
        loss(&parts, parameters, &mut work)
    });
}

#[test]
fn gradients_equal_finite_differences() {
    let gauss = LuGaussConfig {
        latent_dim: 5,
        encoder_layers: Layers(vec![7, 6]),
        head_layers: Layers(vec![8]),
        decoder_layers: Layers(vec![9, 10]),
        ..LuGaussConfig::authors()
    };
    check("LU-Gauss", &gauss);
    check("the ablation of LU-Gauss", &gauss.clone().ablated());
    check(
        "LU-Gauss, logarithmic",
        &LuGaussConfig { reward_std_scale: StdScale::Log, head_layers: Layers(vec![]), ..gauss },
    );
    let sivi = LuSiviConfig {
        latent_dim: 5,
        psi_layers: Layers(vec![7, 6]),
        scale_layers: Layers(vec![8]),
        decoder_layers: Layers(vec![9]),
        extra_draws: 11,
        ..LuSiviConfig::authors()
    };
    check("LU-SIVI", &sivi);
    check("the ablation of LU-SIVI", &sivi.clone().ablated());
    check(
        "LU-SIVI, logarithmic",
        &LuSiviConfig { psi_layers: Layers(vec![12]), reward_std_scale: StdScale::Log, ..sivi },
    );
}
