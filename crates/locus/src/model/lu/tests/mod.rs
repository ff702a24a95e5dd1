//! The LU policies against known answers, finite differences, known distributions and hard inputs.

mod breakdown;
mod convergence;
mod differences;
mod distribution;
mod golden;
mod hardships;
mod settings;

use crate::agent::Policy;
use crate::math::nn::{Mlp, Panel};
use crate::model::lu::config::{LuGaussConfig, LuSiviConfig};
use crate::model::lu::latent::Latent;
use crate::model::lu::model::{Parts, Work};
use crate::model::training::minibatch::Minibatch;
use crate::registry::values::Layers;
use crate::{PolicySpec, Rng, Seed, Shape};

/// LU-Gauss with small nets whose sizes all differ.
fn small_gauss() -> LuGaussConfig {
    LuGaussConfig {
        latent_dim: 5,
        encoder_layers: Layers(vec![7, 6]),
        head_layers: Layers(vec![8]),
        decoder_layers: Layers(vec![9, 10]),
        ..LuGaussConfig::authors()
    }
}

/// LU-SIVI with small nets whose sizes all differ.
fn small_sivi() -> LuSiviConfig {
    LuSiviConfig {
        latent_dim: 5,
        psi_layers: Layers(vec![7, 6]),
        scale_layers: Layers(vec![8]),
        decoder_layers: Layers(vec![9]),
        extra_draws: 11,
        ..LuSiviConfig::authors()
    }
}

/// The settings of LU-Gauss's ablation.
fn ablated_gauss(config: &LuGaussConfig) -> LuGaussConfig {
    LuGaussConfig { shared: config.shared.ablated(), ..config.clone() }
}

/// The settings of LU-SIVI's ablation.
fn ablated_sivi(config: &LuSiviConfig) -> LuSiviConfig {
    LuSiviConfig { shared: config.shared.ablated(), ..config.clone() }
}

/// Initial parameters, all of them moved a little: biases of 0 would leave units whose inputs are all dead on the kink
/// of their ReLU.
fn parameters<Q: Latent>(parts: &Parts<Q>, rng: &mut Rng) -> Vec<f32> {
    let mut parameters = vec![0.0; parts.n_parameters];
    parts.initialize(&mut parameters, rng);
    parameters.iter_mut().for_each(|parameter| *parameter += 0.1 * rng.normal() as f32);
    parameters
}

/// A minibatch of `n` rows with these contexts, all actions in turn, and random rewards.
fn work<Q: Latent>(
    parts: &Parts<Q>,
    n: usize,
    rng: &mut Rng,
    context: impl Fn(&mut Rng) -> Vec<f32>,
) -> Work<Q::Work> {
    let Shape { n_features, n_actions, .. } = parts.shape;
    let mut inputs = Panel::new(n_features + parts.shared.latent_dim, n);
    for row in 0..n {
        for (feature, value) in context(rng).into_iter().enumerate() {
            inputs.line_mut(feature)[row] = value;
        }
    }
    Work {
        batch: Minibatch {
            inputs,
            actions: (0..n).map(|row| row % n_actions).collect(),
            rewards: (0..n).map(|_| rng.normal() as f32).collect(),
        },
        gradients: vec![0.0; parts.n_parameters],
        ..Work::default()
    }
}

/// What a net computes, in f64.
fn exact(net: &Mlp, parameters: &[f32], x: &[f64]) -> Vec<f64> {
    net.layers().iter().fold(x.to_vec(), |x, layer| {
        let (weights, bias) = (&parameters[layer.weights()], &parameters[layer.bias()]);
        let sum = |output: usize| -> f64 {
            let inputs = x.iter().zip(weights.chunks_exact(layer.n_out()));
            f64::from(bias[output]) + inputs.map(|(x, weights)| x * f64::from(weights[output])).sum::<f64>()
        };
        let cut = |sum: f64| {
            if layer.activation() == crate::math::nn::Activation::Relu { sum.max(0.0) } else { sum }
        };
        (0..layer.n_out()).map(|output| cut(sum(output))).collect()
    })
}

const POLICIES: [&str; 4] = ["lu-gauss", "lu-sivi", "lu-gauss-ablation", "lu-sivi-ablation"];

/// A policy of that id (and preset) with small nets that learn quickly; further settings take the place of these.
fn quick(id: &str, further: &[(&str, &str)], shape: Shape, seed: u64) -> Box<dyn Policy> {
    let own: &[(&str, &str)] = if id.starts_with("lu-gauss") {
        &[("encoder_layers", "20x10")]
    } else {
        &[("psi_layers", "20"), ("scale_layers", "10"), ("extra_draws", "10")]
    };
    let shared =
        [("latent_dim", "5"), ("decoder_layers", "20"), ("batch_size", "64"), ("learning_rate", "0.005")];
    let kept = own.iter().chain(&shared).filter(|(key, _)| further.iter().all(|(other, _)| other != key));
    let settings: Vec<String> = kept.chain(further).map(|(key, value)| format!("{key}={value}")).collect();
    let spec: PolicySpec = format!("{id}[{}]", settings.join(",")).parse().unwrap();
    spec.build(shape, Seed::new(seed)).unwrap()
}
