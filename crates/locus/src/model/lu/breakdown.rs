//! Finds where a numerical error of an LU model arose.
//!
//! Every minibatch checks the loss and all standard deviations: a NaN, an overflow, or a standard deviation of 0 that is divided
//! by ends the round of training. Only then does it search for the place where it arose, in the order of computation: the
//! optimizer before the minibatch, q's nets, σ_z, z, the decoder, σ_r, the prior.

use std::ops::Range;

use super::latent::Latent;
use super::model::{Parts, Work};
use super::settings::StdScale;
use crate::agent::Breakdown;
use crate::math::nn::{Adam, Mlp, MlpWork, Panel};
use crate::model::training::breakdown::find_breakdown;

impl<Q: Latent> Parts<Q> {
    /// Fails if the loss just computed, or a standard deviation that it was computed from, is invalid.
    pub(super) fn check_minibatch(
        &self,
        parameters: &[f32],
        optimizer: &Adam,
        loss: f64,
        work: &Work<Q::Work>,
    ) -> Result<(), Breakdown> {
        let is_sound = loss.is_finite()
            && self.latent.bad_std(&work.latent).is_none()
            && self.bad_parameter(parameters).is_none();
        if is_sound {
            return Ok(());
        }
        self.check_optimizer(parameters, optimizer)?;
        self.check_forward(work)?;
        Err(self.bad_parameter(parameters).unwrap_or(Breakdown { place: "the loss".to_owned(), found: loss }))
    }

    /// Fails if a forward pass computed a number that is not finite.
    pub(super) fn check_forward(&self, work: &Work<Q::Work>) -> Result<(), Breakdown> {
        find_in(self.latent.panels(&work.latent))?;
        if let Some(found) = self.latent.bad_std(&work.latent) {
            return Err(Breakdown {
                place: "the latent standard deviation".to_owned(),
                found: f64::from(found),
            });
        }
        find_in(vec![("the latent variable".to_owned(), &work.batch.inputs)])?;
        find_in(panels_of("decoder", 1, &work.decoder))
    }

    /// Fails if the optimizer's steps overflowed: parameters could then never move again.
    pub(super) fn check_optimizer(&self, parameters: &[f32], optimizer: &Adam) -> Result<(), Breakdown> {
        for numbers in [&optimizer.squares, &optimizer.means, parameters] {
            if let Some(index) = numbers.iter().position(|number| !number.is_finite()) {
                let place = format!("the gradient of {}", self.layer_of(index));
                return Err(Breakdown { place, found: f64::from(numbers[index]) });
            }
        }
        Ok(())
    }

    /// A standard deviation that is a parameter, and became 0 or overflowed.
    fn bad_parameter(&self, parameters: &[f32]) -> Option<Breakdown> {
        let breakdown = |place: String, found: f32| Breakdown { place, found: f64::from(found) };
        for (action, &parameter) in parameters[self.reward_std.clone()].iter().enumerate() {
            let std = match self.shared.reward_std_scale {
                StdScale::Log => libm::expf(parameter),
                StdScale::Linear => parameter,
            };
            if !is_positive(std) {
                return Some(breakdown(format!("the reward standard deviation of action {action}"), std));
            }
        }
        // The loss needs the inverse of its square.
        let log_std = parameters[self.log_prior_std.start];
        let is_sound = is_positive(libm::expf(-2.0 * log_std));
        (!is_sound).then(|| breakdown("the prior standard deviation".to_owned(), libm::expf(log_std)))
    }

    /// Which layer a parameter belongs to.
    fn layer_of(&self, index: usize) -> String {
        let mut layers = self.latent.layers();
        layers.extend(layers_of("decoder", 1, &self.decoder));
        if let Some((name, _)) = layers.into_iter().find(|(_, places)| places.contains(&index)) {
            return name;
        }
        if self.reward_std.contains(&index) {
            return format!("the reward standard deviation of action {}", index - self.reward_std.start);
        }
        "the prior standard deviation".to_owned()
    }
}

/// Whether a standard deviation can be divided by, and its square too.
fn is_positive(std: f32) -> bool {
    std.is_normal() && std > 0.0
}

/// Fails with the first number that is not finite.
fn find_in(panels: Vec<(String, &Panel)>) -> Result<(), Breakdown> {
    find_breakdown(panels).map_or(Ok(()), Err)
}

/// The outputs of a net, named; its layers are counted from `first`.
pub(super) fn panels_of<'a>(name: &str, first: usize, net: &'a MlpWork) -> Vec<(String, &'a Panel)> {
    let named = |(layer, panel)| (format!("{name} layer {}", first + layer), panel);
    net.outputs().iter().enumerate().map(named).collect()
}

/// Where the parameters of a net are, named; its layers are counted from `first`.
pub(super) fn layers_of(name: &str, first: usize, net: &Mlp) -> Vec<(String, Range<usize>)> {
    net.layers()
        .iter()
        .enumerate()
        .map(|(index, layer)| {
            (format!("{name} layer {}", first + index), layer.weights().start..layer.bias().end)
        })
        .collect()
}
