//! Parameters that Adam trains: how they are saved, read again, and checked after a round of training.

use crate::Error;
use crate::agent::Breakdown;
use crate::math::nn::Adam;
use crate::registry::save::{Decoder, Encoder};

pub(crate) fn encode(parameters: &[f32], optimizer: &Adam, encoder: &mut Encoder) {
    encoder.u64(optimizer.n_steps);
    encoder.f32s(parameters);
    encoder.f32s(&optimizer.means);
    encoder.f32s(&optimizer.squares);
}

/// What [`encode`] wrote of `n_parameters` parameters.
pub(crate) fn decode(
    n_parameters: usize,
    learning_rate: f32,
    decoder: &mut Decoder<'_>,
) -> Result<(Vec<f32>, Adam), Error> {
    let n_steps = decoder.u64()?;
    let [parameters, means, squares] = decoder.parameters(n_parameters)?;
    Ok((parameters, Adam { learning_rate, n_steps, means, squares }))
}

/// Fails if a number is not finite; `whose` follows its name.
pub(crate) fn check(whose: &str, parameters: &[f32], optimizer: &Adam) -> Result<(), Breakdown> {
    let lists = [
        ("a parameter", parameters),
        ("a mean of gradients", &optimizer.means),
        ("a mean of squared gradients", &optimizer.squares),
    ];
    for (name, list) in lists {
        if let Some(found) = list.iter().find(|value| !value.is_finite()) {
            let place = format!("{name}{whose} after training");
            return Err(Breakdown { place, found: f64::from(*found) });
        }
    }
    Ok(())
}
