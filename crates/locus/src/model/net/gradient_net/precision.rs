//! The precision matrix of the parameters: `Z = λI + Σ w·ggᵀ`, or its diagonal.

use crate::Error;
use crate::math::decay::Remainder;
use crate::math::linear::{Block, LinearPosterior, LinearPrior};
use crate::math::nn::Layout;
use crate::registry::save::{Decoder, Encoder};
use crate::registry::settings::words;

/// The largest number of parameters with a full matrix: its triangle then takes 100 MB, and every observation updates all of it.
pub(super) const MAX_FULL: usize = 5000;

words! {
    /// How much of the precision matrix is kept.
    pub enum PrecisionMatrix {
        /// Its diagonal.
        Diagonal = "diagonal",
        /// All of it.
        Full = "full",
    }
}

/// The precision of the parameters.
#[derive(Clone, Debug)]
pub(super) enum Precision {
    Diagonal(Diagonal),
    /// The regression on the gradients, of which only the matrix is used.
    Full(Box<LinearPosterior>),
}

/// The diagonal, and one over it.
#[derive(Clone, Debug)]
pub(super) struct Diagonal {
    prior: f64,
    precisions: Vec<f64>,
    inverses: Vec<f32>,
}

impl Diagonal {
    fn new(prior: f64, precisions: Vec<f64>) -> Self {
        let inverses = precisions.iter().map(|precision| (1.0 / precision) as f32).collect();
        Self { prior, precisions, inverses }
    }

    fn forget(&mut self, Remainder { kept, .. }: Remainder) {
        let prior = self.prior;
        // In this form rounding never leads below the prior.
        self.precisions.iter_mut().for_each(|precision| *precision = prior + kept * (*precision - prior));
        let places = self.inverses.iter_mut().zip(&self.precisions);
        places.for_each(|(inverse, precision)| *inverse = (1.0 / precision) as f32);
    }

    pub(super) fn inverses(&self) -> &[f32] {
        &self.inverses
    }

    fn observe(&mut self, gradient: &[f64], weight: f64) {
        let places = self.precisions.iter_mut().zip(&mut self.inverses);
        for ((precision, inverse), value) in places.zip(gradient) {
            if *value != 0.0 {
                *precision += weight * (value * value);
                *inverse = (1.0 / *precision) as f32;
            }
        }
    }
}

impl Precision {
    /// `λI`
    pub(super) fn new(matrix: PrecisionMatrix, prior: f64, n_parameters: usize) -> Self {
        match matrix {
            PrecisionMatrix::Diagonal => Self::Diagonal(Diagonal::new(prior, vec![prior; n_parameters])),
            PrecisionMatrix::Full => {
                Self::Full(Box::new(LinearPosterior::new(n_parameters, linear_prior(prior))))
            }
        }
    }

    /// Adds the gradient of a prediction whose reward has become known, as often as its weight says; it is finite.
    pub(super) fn observe(&mut self, gradient: &[f64], weight: f64) {
        match self {
            Self::Diagonal(diagonal) => diagonal.observe(gradient, weight),
            Self::Full(full) => full.observe_weighted(gradient, 0.0, weight),
        }
    }

    /// Follows the parameters into another layout; new ones are at the prior.
    pub(super) fn grow(&mut self, from: &Layout, to: &Layout) {
        match self {
            Self::Diagonal(diagonal) => {
                let start = vec![diagonal.prior; to.size()];
                *diagonal = Diagonal::new(diagonal.prior, from.carry_over(&diagonal.precisions, to, start));
            }
            Self::Full(full) => **full = full.with_features_at(from.places_in(to), to.size()),
        }
    }

    /// Lets all gradients count γ times what they did, and restores the prior by as much: `Z ← γZ + (1−γ)λI`.
    pub(super) fn forget(&mut self, remainder: Remainder) {
        match self {
            Self::Diagonal(diagonal) => diagonal.forget(remainder),
            Self::Full(full) if full.is_prior() => {}
            Self::Full(full) => full.forget(remainder, &mut Block::new(full.dim())),
        }
    }

    pub(super) fn encode(&self, encoder: &mut Encoder) {
        match self {
            Self::Diagonal(diagonal) => encoder.f64s(&diagonal.precisions),
            Self::Full(full) => full.encode(encoder),
        }
    }

    pub(super) fn decode(
        matrix: PrecisionMatrix,
        prior: f64,
        n_parameters: usize,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Error> {
        if matrix == PrecisionMatrix::Full {
            let full = LinearPosterior::decode(n_parameters, linear_prior(prior), decoder)?;
            return Ok(Self::Full(Box::new(full)));
        }
        let mut precisions = vec![0.0; n_parameters];
        decoder.f64s(&mut precisions)?;
        match precisions.iter().find(|precision| !(**precision >= prior && precision.is_finite())) {
            None => Ok(Self::Diagonal(Diagonal::new(prior, precisions))),
            Some(found) => Err(decoder.damaged(format!("a precision is {found}, below that of the prior"))),
        }
    }
}

/// Only its precision matters: no noise is estimated.
fn linear_prior(precision: f64) -> LinearPrior {
    LinearPrior { precision, shape: 1.0, rate: 1.0 }
}
