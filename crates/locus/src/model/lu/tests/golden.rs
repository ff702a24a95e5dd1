//! Loss, mean rewards and gradients against cases that another framework computed in f64.
//!
//! The cases are in `crates/locus/tests/golden`; `LOCUS_GOLDEN` may name a further folder of the same format. Per tensor, the
//! largest difference may be 1e-4 of the largest number.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Shape;
use crate::math::nn::{LANES, Mlp, Panel};
use crate::model::lu::config::{LuGaussConfig, LuSharedConfig, LuSiviConfig};
use crate::model::lu::gauss::Gauss;
use crate::model::lu::latent::{Latent, Noise};
use crate::model::lu::model::{LuConfig, Parts, Work};
use crate::model::lu::settings::{LatentInput, StdScale};
use crate::model::lu::sivi::Sivi;
use crate::model::training::minibatch::Minibatch;
use crate::registry::values::Layers;

const TOLERANCE: f64 = 1e-4;

#[test]
fn golden() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    assert!(check_folder(&own) >= 11, "cases are missing");
    if let Some(further) = std::env::var_os("LOCUS_GOLDEN") {
        let n_cases = check_folder(&PathBuf::from(&further));
        assert!(n_cases > 0, "{} holds no cases", further.display());
    }
}

#[test]
fn one_wrong_number_fails() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/lu-sivi-paper-0.json");
    let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(check(&case), Ok(()));
    for place in [
        "/loss",
        "/mean_rewards/2/1",
        "/gradients/psi/0/weight/4/3",
        "/gradients/psi/1/bias/2",
        "/gradients/latent_scale/0/weight/1/1",
        "/gradients/decoder/1/weight/0/2",
        "/gradients/log_reward_std/1",
        "/gradients/log_prior_std",
    ] {
        let mut wrong = case.clone();
        let number = wrong.pointer_mut(place).unwrap();
        *number = Value::from(number.as_f64().unwrap() + 10.0);
        assert!(check(&wrong).is_err(), "{place} may be wrong");
    }
}

fn check_folder(folder: &Path) -> usize {
    let mut n_cases = 0;
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let case: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            if let Err(problem) = check(&case) {
                panic!("{}: {problem}", path.display());
            }
            n_cases += 1;
        }
    }
    n_cases
}

fn check(case: &Value) -> Result<(), String> {
    let is_paper = text(case, "preset") == "paper";
    let sizes = |net: &str| -> Layers {
        let layers = case["parameters"][net].as_array().unwrap();
        Layers(layers[..layers.len() - 1].iter().map(|layer| list(&layer["bias"]).len()).collect())
    };
    let latent_input = if case["ablation"] == true { LatentInput::Ones } else { LatentInput::Context };
    let latent_dim = case["dims"]["latent"].as_u64().unwrap() as u32;
    match text(case, "model") {
        "lu-gauss" => {
            let preset = if is_paper { LuGaussConfig::paper() } else { LuGaussConfig::authors() };
            let encoder = case["parameters"]["encoder"].as_array().unwrap();
            let config = LuGaussConfig {
                latent_dim,
                encoder_layers: Layers(encoder.iter().map(|layer| list(&layer["bias"]).len()).collect()),
                head_layers: sizes("latent_mean"),
                decoder_layers: sizes("decoder"),
                shared: LuSharedConfig { latent_input, reward_std_scale: StdScale::Log, ..preset.shared },
                ..preset
            };
            compare(case, &config, |latent: &Gauss| {
                vec![
                    ("encoder", places(&latent.encoder)),
                    ("latent_mean", places(&latent.mean)),
                    ("latent_scale", places(&latent.scale)),
                ]
            })
        }
        "lu-sivi" => {
            let preset = if is_paper { LuSiviConfig::paper() } else { LuSiviConfig::authors() };
            let config = LuSiviConfig {
                latent_dim,
                psi_layers: sizes("psi"),
                scale_layers: sizes("latent_scale"),
                decoder_layers: sizes("decoder"),
                extra_draws: case["dims"]["extra_draws"].as_u64().unwrap() as u32,
                shared: LuSharedConfig { latent_input, reward_std_scale: StdScale::Log, ..preset.shared },
                ..preset
            };
            compare(case, &config, |latent: &Sivi| {
                let mut psi = vec![(latent.first.weights(), latent.first.bias())];
                psi.extend(places(&latent.rest));
                vec![("psi", psi), ("latent_scale", places(&latent.scale))]
            })
        }
        other => Err(format!("unknown model {other}")),
    }
}

/// Where the weights and biases of a net's layers are.
type Places = Vec<(Range<usize>, Range<usize>)>;

fn places(net: &Mlp) -> Places {
    net.layers().iter().map(|layer| (layer.weights(), layer.bias())).collect()
}

fn compare<C: LuConfig>(
    case: &Value,
    config: &C,
    nets: impl Fn(&C::Latent) -> Vec<(&'static str, Places)>,
) -> Result<(), String> {
    let dim = |name: &str| case["dims"][name].as_u64().unwrap() as usize;
    let (n_features, n_actions, batch) = (dim("context"), dim("actions"), dim("batch"));
    let parts: Parts<C::Latent> = Parts::new(config, config.resolved(), Shape::new(n_features, n_actions));
    let mut tensors: Vec<(String, Range<usize>)> = Vec::new();
    for (net, layers) in nets(&parts.latent).into_iter().chain([("decoder", places(&parts.decoder))]) {
        for (index, (weights, bias)) in layers.into_iter().enumerate() {
            tensors.push((format!("/{net}/{index}/weight"), weights));
            tensors.push((format!("/{net}/{index}/bias"), bias));
        }
    }
    tensors.push(("/log_reward_std".to_owned(), parts.reward_std.clone()));
    tensors.push(("/log_prior_std".to_owned(), parts.log_prior_std.clone()));
    let n_named: usize = tensors.iter().map(|(_, places)| places.len()).sum();
    assert_eq!(n_named, parts.n_parameters, "every parameter is compared");

    let mut parameters = vec![0.0; parts.n_parameters];
    for (name, places) in &tensors {
        let values = list(case["parameters"].pointer(name).unwrap());
        parameters[places.clone()]
            .copy_from_slice(&values.iter().map(|&value| value as f32).collect::<Vec<_>>());
    }
    let mut inputs = Panel::default();
    inputs.reshape_padded(n_features + dim("latent"), batch);
    let mut work = Work::<<C::Latent as Latent>::Work> {
        batch: Minibatch {
            inputs,
            actions: list(&case["actions"]).iter().map(|&action| action as usize).collect(),
            rewards: list(&case["rewards"]).iter().map(|&reward| reward as f32).collect(),
        },
        gradients: vec![0.0; parts.n_parameters],
        ..Work::default()
    };
    for (row, context) in case["contexts"].as_array().unwrap().iter().enumerate() {
        for (feature, value) in list(context).into_iter().enumerate() {
            work.batch.inputs.line_mut(feature)[row] = value as f32;
        }
    }
    let mut noise = Known(case);
    parts.forward(&parameters, &mut noise, &mut work);
    let found: Vec<f64> = (0..batch)
        .flat_map(|row| (0..n_actions).map(move |action| (row, action)))
        .map(|(row, action)| f64::from(work.decoder.output().line(action)[row]))
        .collect();
    agree("mean_rewards", &found, &list(&case["mean_rewards"]))?;
    let loss = parts.loss(&parameters, case["kl_weight"].as_f64().unwrap() as f32, &mut noise, &mut work);
    agree("loss", &[loss], &list(&case["loss"]))?;
    for (name, places) in tensors {
        let found: Vec<f64> = work.gradients[places].iter().map(|&gradient| f64::from(gradient)).collect();
        agree(&format!("gradients{name}"), &found, &list(case["gradients"].pointer(&name).unwrap()))?;
    }
    Ok(())
}

fn agree(what: &str, found: &[f64], expected: &[f64]) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{what} has {} numbers, expected {}", found.len(), expected.len()));
    }
    let largest = expected.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let differences = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
    let difference = differences.fold(0.0_f64, |a, b| if b > a || b.is_nan() { b } else { a });
    // A tensor of zeros must be zero but for rounding.
    if difference <= TOLERANCE * largest.max(1e-6) {
        return Ok(());
    }
    Err(format!("{what} differs by {difference} where the largest number is {largest}"))
}

/// The noise of a case.
struct Known<'a>(&'a Value);

impl Noise for Known<'_> {
    fn latent(&mut self, noise: &mut Panel) {
        for (row, values) in self.0["latent_noise"].as_array().unwrap().iter().enumerate() {
            for (h, value) in list(values).into_iter().enumerate() {
                noise.line_mut(h)[row] = value as f32;
            }
        }
    }

    fn own_draw(&mut self, noise: &mut Panel, _std: f32) {
        for (row, draws) in self.0["psi_noise"].as_array().unwrap().iter().enumerate() {
            for (feature, value) in list(&draws[0]).into_iter().enumerate() {
                noise.line_mut(feature)[row] = value as f32;
            }
        }
    }

    fn extra_draws(&mut self, first_row: usize, n_rows: usize, noise: &mut Panel, _std: f32) {
        for row in 0..n_rows {
            let draws = self.0["psi_noise"][first_row + row].as_array().unwrap();
            for (k, values) in draws[1..].iter().enumerate() {
                for (feature, value) in list(values).into_iter().enumerate() {
                    noise.line_mut(feature)[k * LANES + row] = value as f32;
                }
            }
        }
    }
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap()
}

/// All numbers of an array of any depth, in order.
fn list(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(list).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}
