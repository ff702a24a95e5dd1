//! What linear policies regress on, and decisions among candidates by one regression.
//!
//! Without features of actions the features are `[x, 1]`. With them they are those of the row `[x, f_a]`:
//!
//! | `interactions` | features | dimension |
//! |---|---|---|
//! | `off` | [x, f_a, 1] | C + F + 1 |
//! | `all` | [x, f_a, x ⊗ f_a, 1] | C + F + C·F + 1 |
//! | `only` | [x ⊗ f_a, f_a], which is [x, 1] ⊗ f_a | (C + 1)·F |
//!
//! For one context all of them are linear in f_a. So the context is combined with the weights once, which leaves an intercept and
//! F weights for all candidates ([`FeatureMap::reduce`]).

use multiversion::multiversion;

use crate::agent::{Breakdown, JointRows, Scratch, WeightDraws, check_reward};
use crate::math::draw_wins::DrawWins;
use crate::registry::values::Interactions;
use crate::{Error, Request, Shape};

/// The features of a linear policy, all but the intercept multiplied by a factor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeatureMap {
    /// C
    n_context: usize,
    /// F, or 0
    n_action: usize,
    interactions: Interactions,
}

/// The most features of a policy with products: a posterior holds half of its square.
const MAX_WITH_PRODUCTS: usize = 10_000;

impl Interactions {
    /// Fails unless a policy of this shape can have them.
    pub(crate) fn check(self, shape: Shape) -> Result<(), Error> {
        let refuse = |expected: String| {
            let value = crate::Setting::format(&self);
            Err(Error::invalid_setting("interactions", value, expected))
        };
        if self != Self::Off && !shape.is_described() {
            return refuse("`off` for actions without features".to_owned());
        }
        let dim = FeatureMap::new(shape, self).dim();
        if self != Self::Off && dim > MAX_WITH_PRODUCTS {
            return refuse(format!(
                "at most {MAX_WITH_PRODUCTS} features with their products, whose posterior takes half a gigabyte; found {dim}"
            ));
        }
        Ok(())
    }
}

impl FeatureMap {
    /// Those of a learner's shape.
    pub(crate) const fn new(shape: Shape, interactions: Interactions) -> Self {
        let n_action = shape.n_action_features;
        Self { n_context: shape.n_features - n_action, n_action, interactions }
    }

    /// How many there are.
    pub(crate) fn dim(&self) -> usize {
        let Self { n_context, n_action, .. } = *self;
        match self.interactions {
            Interactions::Off => n_context + n_action + 1,
            Interactions::All => n_context + n_action + n_context * n_action + 1,
            Interactions::Only => (n_context + 1) * n_action,
        }
    }

    /// How many of them an action's features make once the context is given: F.
    pub(crate) fn n_action(&self) -> usize {
        self.n_action
    }

    /// Writes the features of a context, or of a row `[x, f_a]`.
    pub(crate) fn fill(&self, row: &[f32], factor: f64, features: &mut [f64]) {
        let (x, f) = row.split_at(self.n_context);
        self.fill_parts(x, f, factor, features);
    }

    /// [`Self::fill`], given x and f_a.
    pub(crate) fn fill_parts(&self, x: &[f32], f: &[f32], factor: f64, features: &mut [f64]) {
        let put = |places: &mut [f64], factor: f64, values: &[f32]| {
            places.iter_mut().zip(values).for_each(|(place, &value)| *place = factor * f64::from(value));
        };
        let Places { context, action, products, intercept } = self.places();
        if let Some(context) = context {
            put(&mut features[context..], factor, x);
        }
        put(&mut features[action..], factor, f);
        if let Some(products) = products {
            let places = features[products..].chunks_exact_mut(self.n_action);
            places.zip(x).for_each(|(places, &x)| put(places, factor * f64::from(x), f));
        }
        if let Some(intercept) = intercept {
            features[intercept] = 1.0;
        }
    }

    /// [`Self::fill`] with one of many rows.
    pub(crate) fn fill_row(&self, rows: JointRows<'_>, row: usize, factor: f64, features: &mut [f64]) {
        let (x, f) = rows.parts(row, self.n_context);
        self.fill_parts(x, f, factor, features);
    }

    /// The square length of a row's features but for the intercept, before the factor.
    pub(crate) fn square_length(&self, row: &[f32]) -> f64 {
        let squares =
            |values: &[f32]| -> f64 { values.iter().map(|&value| f64::from(value) * f64::from(value)).sum() };
        let (x, f) = row.split_at(self.n_context);
        match self.interactions {
            Interactions::Off => squares(row),
            Interactions::All => squares(x) + squares(f) + squares(x) * squares(f),
            Interactions::Only => (squares(x) + 1.0) * squares(f),
        }
    }

    /// Combines weights with a context. What remains is a weight for each feature of an action, and an intercept, which is
    /// returned.
    pub(crate) fn reduce(&self, weights: &[f64], factor: f64, x: &[f32], reduced: &mut [f64]) -> f64 {
        let Places { context, action, products, intercept } = self.places();
        reduced.copy_from_slice(&weights[action..][..self.n_action]);
        if let Some(products) = products {
            add_products(&weights[products..], x, reduced);
        }
        reduced.iter_mut().for_each(|weight| *weight *= factor);
        let by_context = context.map_or(0.0, |context| dot(&weights[context..][..x.len()], x));
        factor * by_context + intercept.map_or(0.0, |intercept| weights[intercept])
    }

    /// The value of each row by these weights.
    pub(crate) fn values(
        &self,
        weights: &[f64],
        factor: f64,
        rows: JointRows<'_>,
        reduced: &mut [f64],
        values: &mut [f64],
    ) {
        if rows.shared().is_empty() {
            for (row, value) in values.iter_mut().enumerate() {
                let (x, f) = rows.parts(row, self.n_context);
                let intercept = self.reduce(weights, factor, x, reduced);
                *value = intercept + dot(reduced, f);
            }
        } else {
            let intercept = self.reduce(weights, factor, rows.shared(), reduced);
            dots(reduced, rows.own(), intercept, values);
        }
    }

    /// The share of samples in which each allowed candidate has the highest value. `draws` [S, d] has samples of all weights, and
    /// `bases` what is added to the value of each candidate; none is 0.
    pub(crate) fn win_shares(
        &self,
        draws: &[f64],
        factor: f64,
        bases: Option<&[f64]>,
        (request, rows): (Request<'_>, JointRows<'_>),
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Breakdown> {
        let WinsWork { wins, reduced } = scratch.work();
        let n_draws = draws.len() / self.dim();
        reduced.resize(n_draws * self.n_action, 0.0);
        let both = draws.chunks_exact(self.dim()).zip(reduced.chunks_exact_mut(self.n_action));
        for (weights, reduced) in both {
            // The intercept is the same for all candidates.
            let intercept = self.reduce(weights, factor, rows.shared(), reduced);
            check_reward(0, intercept)?;
        }
        wins.clear(self.n_action);
        for candidate in (0..rows.len()).filter(|&candidate| request.allows(candidate)) {
            let features = rows.own_of(candidate).iter().map(|&feature| f64::from(feature));
            wins.enter(candidate, bases.map_or(0.0, |bases| bases[candidate]), features);
        }
        wins.count(reduced, probabilities).or_else(|(candidate, value)| check_reward(candidate, value))
    }

    /// Where each part of the features begins.
    fn places(&self) -> Places {
        let Self { n_context, n_action, .. } = *self;
        let n_products = n_context * n_action;
        match self.interactions {
            Interactions::Off => Places {
                context: Some(0),
                action: n_context,
                products: None,
                intercept: Some(n_context + n_action),
            },
            Interactions::All => Places {
                context: Some(0),
                action: n_context,
                products: Some(n_context + n_action),
                intercept: Some(n_context + n_action + n_products),
            },
            Interactions::Only => {
                Places { context: None, action: n_products, products: Some(0), intercept: None }
            }
        }
    }
}

/// Where each part of the features begins, if it is there.
struct Places {
    context: Option<usize>,
    action: usize,
    products: Option<usize>,
    intercept: Option<usize>,
}

/// Buffers for the count of wins.
#[derive(Debug, Default)]
struct WinsWork {
    wins: DrawWins,
    /// [S, F]
    reduced: Vec<f64>,
}

/// Samples of weights [S, d]; `draw` writes one.
pub(crate) fn draws_of(
    draws: &WeightDraws,
    dim: usize,
    mut draw: impl FnMut(&mut crate::Rng, &mut [f64]) -> Result<(), Breakdown>,
) -> Result<&[f64], Breakdown> {
    draws.get(|rng, room| {
        room.resize(draws.n_draws() * dim, 0.0);
        room.chunks_exact_mut(dim).try_for_each(|weights| draw(rng, weights))
    })
}

/// Adds `Σ_i x_i·w_i` for rows w_i of weights.
#[multiversion(targets = "simd")]
fn add_products(weights: &[f64], x: &[f32], sums: &mut [f64]) {
    for (weights, &x) in weights.chunks_exact(sums.len()).zip(x) {
        let x = f64::from(x);
        sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += x * weight);
    }
}

/// `Σ w_i·f_i`
#[multiversion(targets = "simd")]
fn dot(weights: &[f64], features: &[f32]) -> f64 {
    lane_dot(weights, features)
}

/// `intercept + Σ w_i·f_i` for rows f of features.
#[multiversion(targets = "simd")]
fn dots(weights: &[f64], rows: &[f32], intercept: f64, values: &mut [f64]) {
    for (features, value) in rows.chunks_exact(weights.len()).zip(values) {
        *value = intercept + lane_dot(weights, features);
    }
}

/// Over eight fixed lanes, so that the order of the sum does not depend on the vector width.
#[inline(always)]
fn lane_dot(weights: &[f64], features: &[f32]) -> f64 {
    let mut lanes = [0.0; 8];
    let (weight_chunks, weight_rest) = weights.as_chunks::<8>();
    let (feature_chunks, feature_rest) = features.as_chunks::<8>();
    for (weights, features) in weight_chunks.iter().zip(feature_chunks) {
        for lane in 0..8 {
            lanes[lane] += weights[lane] * f64::from(features[lane]);
        }
    }
    for (lane, (weight, &feature)) in lanes.iter_mut().zip(weight_rest.iter().zip(feature_rest)) {
        *lane += weight * f64::from(feature);
    }
    let [s0, s1, s2, s3, s4, s5, s6, s7] = lanes;
    ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

#[cfg(test)]
mod tests;
