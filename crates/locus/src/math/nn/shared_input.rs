//! A dense layer with two inputs, one of which many columns share.
//!
//! `y = relu(W_xᵀx + W_oᵀo + b)` for N shared inputs x and many own inputs o of each: the first product and the bias, called
//! the base here, are computed once for all columns that share them.

use std::ops::Range;

use pulp::Simd;

use super::panel::LANES;
use super::product::{BiasRelu, Epilogue, add_outer, product, product_of_one, product_upper, relu, vector};
use super::sums::add_blocks;
use super::{Layout, Lines, LinesMut, Panel, sum};
use crate::Rng;

/// The layer: weights [shared + own, out], so that it is a dense layer on both inputs, one after the other.
#[derive(Clone, Debug)]
pub struct SharedInput {
    shared_weights: Range<usize>,
    own_weights: Range<usize>,
    bias: Range<usize>,
    n_out: usize,
    n_inputs: usize,
}

/// Which shared column belongs to a column: `first + column % period`; both are multiples of [`LANES`].
#[derive(Clone, Copy, Debug)]
pub struct Sharing {
    /// The first shared column.
    pub first: usize,
    /// After how many columns it begins again.
    pub period: usize,
}

impl Sharing {
    /// Column by column, nothing is shared.
    pub const ONE_TO_ONE: Self = Self { first: 0, period: usize::MAX };
}

/// The weights [own, out] of the own inputs.
#[derive(Clone, Copy, Debug)]
pub enum OwnWeights<'a> {
    /// Any.
    Full(&'a [f32]),
    /// As many inputs as outputs, and zeros below the diagonal.
    Upper(&'a [f32]),
}

/// Adds the base and cuts off below 0.
struct BaseRelu<'a> {
    base: Lines<'a>,
    sharing: Sharing,
}

impl Epilogue for BaseRelu<'_> {
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, line: usize, column: usize, sums: S::f32s, place: &mut S::f32s) {
        let column = self.sharing.first + column % self.sharing.period;
        *place = relu(simd, simd.add_f32s(sums, vector::<S>(self.base, line, column)));
    }
}

impl SharedInput {
    /// A layer with places of its own.
    pub fn new(layout: &mut Layout, n_shared: usize, n_own: usize, n_out: usize) -> Self {
        let shared_weights = layout.reserve_rows(n_shared, n_out);
        let own_weights = layout.reserve_rows(n_own, n_out);
        let bias = layout.reserve(n_out);
        Self { shared_weights, own_weights, bias, n_out, n_inputs: n_shared + n_own }
    }

    /// out
    pub fn n_out(&self) -> usize {
        self.n_out
    }

    /// Where the weights [shared + own, out] are.
    pub fn weights(&self) -> Range<usize> {
        self.shared_weights.start..self.own_weights.end
    }

    /// Where the biases are.
    pub fn bias(&self) -> Range<usize> {
        self.bias.clone()
    }

    /// Glorot-uniform weights, zero biases.
    pub fn initialize(&self, parameters: &mut [f32], rng: &mut Rng) {
        let limit = (6.0 / (self.n_inputs + self.n_out) as f64).sqrt();
        for weight in &mut parameters[self.weights()] {
            *weight = (limit * (2.0 * rng.uniform() - 1.0)) as f32;
        }
        parameters[self.bias.clone()].fill(0.0);
    }

    /// The base [out, N] of shared inputs x [shared, N].
    pub fn base(&self, parameters: &[f32], x: Lines<'_>, mut base: LinesMut<'_>) {
        let weights = &parameters[self.shared_weights.clone()];
        let bias = &parameters[self.bias.clone()];
        if x.is_vector() {
            product_of_one(weights, x.data, base.data);
            base.data.iter_mut().zip(bias).for_each(|(place, bias)| *place += bias);
        } else {
            product(weights, x, &mut base, &super::product::Bias(bias));
        }
    }

    /// Where the weights of the own inputs are.
    pub fn own_weights(&self) -> Range<usize> {
        self.own_weights.clone()
    }

    /// y [out, columns] of own inputs o [own, columns] on a base, given the weights of the own inputs.
    pub fn forward(
        &self,
        weights: OwnWeights<'_>,
        own: Lines<'_>,
        base: Lines<'_>,
        sharing: Sharing,
        mut y: LinesMut<'_>,
    ) {
        if own.is_vector() {
            let (OwnWeights::Full(weights) | OwnWeights::Upper(weights)) = weights;
            product_of_one(weights, own.data, y.data);
            for (place, base) in y.data.iter_mut().zip(base.data) {
                let sum = *place + base;
                *place = if sum < 0.0 { 0.0 } else { sum };
            }
        } else {
            let epilogue = BaseRelu { base, sharing };
            match weights {
                OwnWeights::Full(weights) => product(weights, own, &mut y, &epilogue),
                OwnWeights::Upper(weights) => product_upper(weights, own, &mut y, &epilogue),
            }
        }
    }

    /// y [out, N] of own inputs o [own, N] on the base of a single shared input.
    pub fn forward_on(&self, parameters: &[f32], own: Lines<'_>, base: Lines<'_>, mut y: LinesMut<'_>) {
        assert!(base.is_vector());
        product(&parameters[self.own_weights.clone()], own, &mut y, &BiasRelu(base.data));
    }

    /// Adds the gradient of the own weights, and that of the base to `base_gradient` [out, N], given that of the sums.
    pub fn backward(
        &self,
        weight_gradient: &mut [f32],
        own: Lines<'_>,
        dy: Lines<'_>,
        sharing: Sharing,
        base_gradient: &mut Panel,
    ) {
        add_outer(own, dy, weight_gradient);
        let stride = base_gradient.stride();
        let lines = base_gradient.all_mut().data.chunks_exact_mut(stride);
        for (line, dy) in lines.zip(dy.data.chunks_exact(dy.stride)) {
            let n_padded = own.n_columns.next_multiple_of(LANES);
            let period = sharing.period.min(n_padded);
            add_blocks(&mut line[sharing.first..sharing.first + period], &dy[..n_padded]);
        }
    }

    /// Adds the gradients of the shared weights and the bias, given that of the base.
    pub fn backward_base(&self, gradients: &mut [f32], x: Lines<'_>, base_gradient: Lines<'_>) {
        add_outer(x, base_gradient, &mut gradients[self.shared_weights.clone()]);
        for (gradient, line) in gradients[self.bias.clone()].iter_mut().zip(base_gradient.iter()) {
            *gradient += sum(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::nn::gradient_check::{
        LAYER_TOLERANCE, before_relu, check_gradient, panel, random, test_rng, values, weighted_sum,
    };

    const N_SHARED: usize = 3;
    const N_OWN: usize = 5;
    const N_OUT: usize = 7;
    /// Two full vectors, and a third of which 5 columns exist.
    const N: usize = 37;

    /// Which shared column each of `n_columns` columns has, and whether it exists.
    fn shared_columns(sharing: Sharing, n_columns: usize) -> Vec<Option<usize>> {
        (0..n_columns)
            .map(|column| sharing.first + column % sharing.period)
            .map(|shared| (shared < N).then_some(shared))
            .collect()
    }

    /// The loss is Σ c·y over the columns that exist. The numbers that are varied are the parameters.
    fn check(sharing: Sharing, n_columns: usize) {
        let what = format!("{sharing:?}");
        let mut layout = Layout::default();
        layout.reserve(2);
        let layer = SharedInput::new(&mut layout, N_SHARED, N_OWN, N_OUT);
        let mut rng = test_rng(4);
        let point = random(layout.size(), &mut rng);
        let x = panel(N_SHARED, N, &random(N_SHARED * N, &mut rng));
        let own = panel(N_OWN, n_columns, &random(N_OWN * n_columns, &mut rng));
        let shared = shared_columns(sharing, n_columns);
        let mut c = random(N_OUT * n_columns, &mut rng);
        for (c, shared) in c.iter_mut().zip(shared.iter().cycle()) {
            *c *= f32::from(shared.is_some());
        }
        let forward = |parameters: &[f32]| {
            let (mut base, mut y) = (Panel::new(N_OUT, N), Panel::new(N_OUT, n_columns));
            layer.base(parameters, x.all(), base.all_mut());
            let weights = OwnWeights::Full(&parameters[layer.own_weights()]);
            layer.forward(weights, own.all(), base.all(), sharing, y.all_mut());
            y
        };

        let y = values(&forward(&point));
        // It is a dense layer on both inputs, one after the other.
        let dense = |parameters: &[f32], output: usize, column: usize, shared: usize| {
            let inputs =
                x.all().iter().map(|line| line[shared]).chain(own.all().iter().map(|line| line[column]));
            let weights = parameters[layer.weights()].chunks_exact(N_OUT).map(|weights| weights[output]);
            let sum: f32 = inputs.zip(weights).map(|(input, weight)| input * weight).sum();
            (sum + parameters[layer.bias()][output]).max(0.0)
        };
        for (column, shared) in shared.iter().enumerate() {
            for output in 0..N_OUT {
                let Some(shared) = *shared else { continue };
                let (found, expected) =
                    (y[output * n_columns + column], dense(&point, output, column, shared));
                assert!((found - expected).abs() < 1e-5, "{what}: {found}, {expected}");
            }
        }

        let dy = panel(N_OUT, n_columns, &before_relu(&c, &y));
        let (mut gradients, mut base_gradient) = (vec![0.0; point.len()], Panel::new(N_OUT, N));
        let own_gradients = &mut gradients[layer.own_weights()];
        layer.backward(own_gradients, own.all(), dy.all(), sharing, &mut base_gradient);
        layer.backward_base(&mut gradients, x.all(), base_gradient.all());
        check_gradient(&what, LAYER_TOLERANCE, &point, &gradients, |point| {
            weighted_sum(&c, &values(&forward(point)))
        });

        // A second call adds to what is there, as tile after tile does.
        let once = gradients.clone();
        layer.backward(&mut gradients[layer.own_weights()], own.all(), dy.all(), sharing, &mut base_gradient);
        layer.backward_base(&mut gradients, x.all(), base_gradient.all());
        for place in layer.own_weights() {
            assert!((gradients[place] - 2.0 * once[place]).abs() <= 1e-4, "{what}");
        }
        for place in layer.bias() {
            assert!((gradients[place] - 3.0 * once[place]).abs() <= 1e-4, "{what}");
        }
    }

    #[test]
    fn gradients_equal_differences_column_by_column() {
        check(Sharing::ONE_TO_ONE, N);
    }

    #[test]
    fn gradients_equal_differences_where_columns_are_shared() {
        for first in [0, LANES, 2 * LANES] {
            check(Sharing { first, period: LANES }, 4 * LANES);
        }
    }

    /// A decision is a single column, which has loops of its own.
    #[test]
    fn a_column_alone_gives_what_it_gives_among_others() {
        let mut layout = Layout::default();
        let layer = SharedInput::new(&mut layout, N_SHARED, N_OWN, N_OUT);
        let mut rng = test_rng(5);
        let parameters = random(layout.size(), &mut rng);
        let (x, own) = (random(N_SHARED * N, &mut rng), random(N_OWN * N, &mut rng));
        let run = |x: &[f32], own: &[f32], n: usize| {
            let (mut base, mut y) = (Panel::new(N_OUT, n), Panel::new(N_OUT, n));
            layer.base(&parameters, panel(N_SHARED, n, x).all(), base.all_mut());
            let (weights, own) = (OwnWeights::Full(&parameters[layer.own_weights()]), panel(N_OWN, n, own));
            layer.forward(weights, own.all(), base.all(), Sharing::ONE_TO_ONE, y.all_mut());
            values(&y)
        };
        let among = run(&x, &own, N);
        let column = |values: &[f32], column: usize| -> Vec<f32> {
            values.chunks_exact(N).map(|line| line[column]).collect()
        };
        for c in 0..N {
            let alone = run(&column(&x, c), &column(&own, c), 1);
            for (found, expected) in alone.iter().zip(column(&among, c)) {
                assert!((found - expected).abs() < 1e-5, "{found}, {expected}");
            }
        }
    }

    /// Sizes around those of the tiles: what is left out of the sums is zeros only.
    #[test]
    fn weights_without_a_lower_triangle_give_the_same_in_less_work() {
        for n_out in [1, 2, 7, 12, 13, 31, 100] {
            let mut layout = Layout::default();
            let layer = SharedInput::new(&mut layout, N_SHARED, n_out, n_out);
            let mut rng = test_rng(6);
            let mut weights = random(n_out * n_out, &mut rng);
            for (row, weights) in weights.chunks_exact_mut(n_out).enumerate() {
                weights[..row].fill(0.0);
            }
            for n in [1, N] {
                let own = panel(n_out, n, &random(n_out * n, &mut rng));
                let base = panel(n_out, n, &random(n_out * n, &mut rng));
                let run = |weights: OwnWeights<'_>| {
                    let mut y = Panel::new(n_out, n);
                    layer.forward(weights, own.all(), base.all(), Sharing::ONE_TO_ONE, y.all_mut());
                    values(&y)
                };
                assert_eq!(run(OwnWeights::Upper(&weights)), run(OwnWeights::Full(&weights)), "{n_out}, {n}");
            }
        }
    }
}
