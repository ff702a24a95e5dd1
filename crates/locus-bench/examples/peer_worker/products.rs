//! The products of a training minibatch, each timed alone: the time of the faster of two libraries is a lower bound.
//!
//! A dense layer with W [in, out] on N columns has three products of 2·in·out·N operations: forward `Y = WᵀX`, to its weights `dW
//! = X·dYᵀ`, and to its input `dX = W·dY`, the last only for inputs that have a gradient. Only the products of the nets are
//! counted: no biases, random numbers, mixture, Adam, or factor of low-rank noise. LU-SIVI's extra draws are counted in our tiles
//! of 16 rows, which stay in the cache: as a single product they would be slower.
//!
//! It times our own layers, and `gemm` with activations stored feature by feature, as in our layers, and row by row.

use std::hint::black_box;

use locus::Shape;
use locus::internals::nn::{Activation, Dense, InputGradient, LANES, Layout, Panel};
use serde_json::{Value, json};

use crate::seconds_a_call;

/// Sizes of preset `paper`.
const BATCH: usize = 512;
const EXTRA_DRAWS: usize = 50;
const LATENT: usize = 50;

#[derive(Clone, Copy, PartialEq)]
enum Pass {
    Forward,
    ToWeights,
    ToInput,
}

#[derive(Clone, Copy)]
struct Product {
    pass: Pass,
    n_in: usize,
    n_out: usize,
    n_columns: usize,
    /// How often a minibatch needs it.
    count: usize,
}

/// Times every product `reps` times with every library in turn, in microseconds.
pub(crate) fn measure(policy: char, shape: Shape, reps: usize) -> Value {
    minibatch(policy, shape).into_iter().map(|product| product.measure(reps)).collect()
}

fn minibatch(policy: char, Shape { n_features, n_actions, .. }: Shape) -> Vec<Product> {
    let mut products = Vec::new();
    // The number of inputs with a gradient.
    let mut layer = |n_in, n_out, n_columns, count, passed_on| {
        for (pass, n_in) in [(Pass::Forward, n_in), (Pass::ToWeights, n_in), (Pass::ToInput, passed_on)] {
            if n_in > 0 {
                products.push(Product { pass, n_in, n_out, n_columns, count });
            }
        }
    };
    if policy == 'G' {
        layer(n_features, 100, BATCH, 1, 0);
        layer(100, 50, BATCH, 1, 100);
        // Two heads of two layers each.
        layer(50, 50, BATCH, 4, 50);
    } else {
        let n_noise = if policy == 'S' { n_features.min(100) } else { n_features };
        let (tile, n_tiles) = (LANES * EXTRA_DRAWS, BATCH / LANES);
        layer(n_features, 100, BATCH, 1, 0);
        for (n_columns, count) in [(BATCH, 1), (tile, n_tiles)] {
            layer(n_noise, 100, n_columns, count, 0);
            layer(100, LATENT, n_columns, count, 100);
        }
        layer(n_features, 50, BATCH, 1, 0);
        layer(50, LATENT, BATCH, 1, 50);
    }
    layer(n_features + LATENT, 50, BATCH, 1, LATENT);
    layer(50, n_actions, BATCH, 1, 50);
    products
}

impl Product {
    fn measure(self, reps: usize) -> Value {
        let Self { pass, n_in, n_out, n_columns, count } = self;
        let flops = 2 * n_in * n_out * n_columns;
        // About a tenth of a millisecond.
        let calls = 10_000_000_usize.div_ceil(flops);
        let mut libraries =
            [("locus", self.ours()), ("gemm", self.rival(true)), ("gemm by row", self.rival(false))];
        let mut times = vec![Vec::new(); libraries.len()];
        for _ in 0..reps {
            for (times, (_, run)) in times.iter_mut().zip(&mut libraries) {
                run();
                times.push(seconds_a_call(calls, run) * 1e6);
            }
        }
        let times: Vec<Value> =
            libraries.iter().zip(times).map(|((name, _), times)| json!([name, times])).collect();
        let pass = match pass {
            Pass::Forward => "forward",
            Pass::ToWeights => "to weights",
            Pass::ToInput => "to input",
        };
        json!({
            "pass": pass, "in": n_in, "out": n_out, "columns": n_columns, "count": count, "flops": flops, "times": times,
        })
    }

    /// A dense layer's forward pass, or its backward pass without an input gradient. `W·dY` is the forward pass of the
    /// transposed layer.
    fn ours(self) -> Box<dyn FnMut()> {
        let (n_in, n_out) = match self.pass {
            Pass::ToInput => (self.n_out, self.n_in),
            _ => (self.n_in, self.n_out),
        };
        let mut layout = Layout::default();
        let layer = Dense::new(&mut layout, n_in, n_out, Activation::Linear);
        let parameters = numbers(layout.size());
        let panel = |n_features| {
            let mut panel = Panel::new(n_features, self.n_columns);
            (0..n_features).for_each(|line| panel.line_mut(line).copy_from_slice(&numbers(self.n_columns)));
            panel
        };
        let (x, mut y) = (panel(n_in), panel(n_out));
        let mut gradients = numbers(layout.size());
        match self.pass {
            Pass::ToWeights => Box::new(move || {
                let to = InputGradient::None;
                layer.backward(&parameters, &mut gradients, x.all(), y.all(), to);
                black_box(&gradients);
            }),
            _ => Box::new(move || {
                layer.forward(&parameters, x.all(), y.all_mut());
                black_box(&y);
            }),
        }
    }

    fn rival(self, is_by_feature: bool) -> Box<dyn FnMut()> {
        let Self { pass, n_in, n_out, n_columns, .. } = self;
        let activations = |n_features| Matrix::new(n_features, n_columns, is_by_feature);
        let weights = Matrix::new(n_in, n_out, true);
        let (mut product, left, right) = match pass {
            Pass::Forward => (activations(n_out), weights.transposed(), activations(n_in)),
            Pass::ToInput => (activations(n_in), weights, activations(n_out)),
            Pass::ToWeights => (weights, activations(n_in), activations(n_out).transposed()),
        };
        Box::new(move || {
            product.multiply(&left, &right);
            black_box(&product.data);
        })
    }
}

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|index| (index * 37 % 101) as f32 / 101.0 - 0.5).collect()
}

struct Matrix {
    data: Vec<f32>,
    n_rows: usize,
    n_columns: usize,
    /// From one line to the next; padded as a [`Panel`] is.
    stride: usize,
    /// Whether rows, not columns, lie side by side.
    is_by_row: bool,
}

impl Matrix {
    fn new(n_rows: usize, n_columns: usize, is_by_row: bool) -> Self {
        let (n_lines, line) = if is_by_row { (n_rows, n_columns) } else { (n_columns, n_rows) };
        let padded = line.next_multiple_of(LANES);
        let stride = if padded.is_multiple_of(4 * LANES) { padded + LANES } else { padded };
        Self { data: numbers(n_lines * stride), n_rows, n_columns, stride, is_by_row }
    }

    fn transposed(self) -> Self {
        Self { n_rows: self.n_columns, n_columns: self.n_rows, is_by_row: !self.is_by_row, ..self }
    }

    /// From column to column, and from row to row.
    fn strides(&self) -> (isize, isize) {
        if self.is_by_row { (1, self.stride as isize) } else { (self.stride as isize, 1) }
    }

    /// Stores the product of two other matrices.
    #[expect(unsafe_code, reason = "gemm's API takes pointers")]
    fn multiply(&mut self, left: &Self, right: &Self) {
        let (m, n, k) = (self.n_rows, self.n_columns, left.n_columns);
        assert_eq!((m, n, k), (left.n_rows, right.n_columns, right.n_rows));
        let ((to_column, to_row), (left_column, left_row), (right_column, right_row)) =
            (self.strides(), left.strides(), right.strides());
        let (to, left, right) = (self.data.as_mut_ptr(), left.data.as_ptr(), right.data.as_ptr());
        // No accumulation and no conjugation.
        let (is_added, old_factor, new_factor, conjugated) = (false, 0.0, 1.0, false);
        // SAFETY: a `Matrix` has room for all its lines at its stride, and the sizes agree.
        unsafe {
            #[rustfmt::skip]
            gemm::gemm(
                m, n, k,
                to, to_column, to_row, is_added,
                left, left_column, left_row,
                right, right_column, right_row,
                old_factor, new_factor, conjugated, conjugated, conjugated,
                gemm::Parallelism::None,
            );
        }
    }
}
