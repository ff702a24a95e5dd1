//! Many nets that read the same input, as one computation.
//!
//! M nets C→H→A with a ReLU in between, a group of G side by side: their first layers are one product with weights `[C + 1, G·H]`, and so
//! are the gradients of these. Of the second layers only the output that a row asks for is computed, so their cost does not grow
//! with A. Activations lie row by row here, `[N, G·H]`, other than elsewhere in [`nn`](super): both large products then run
//! along G·H, where there is no remainder and no sum across a vector. All nets at once would not fit into the cache.

use std::ops::Range;

use multiversion::multiversion;

use super::product::{Add, Bias, BiasRelu, Relu, product, product_backward, product_of_one};
use super::{LANES, Layout, Lines, LinesMut, Panel};
use crate::Rng;

/// The sizes of the nets.
///
/// The parameters of a net are the first layer `[C + 1, H]`, its biases last, the second layer `[A, H]`, and the A biases of the outputs.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// M
    pub n_nets: usize,
    /// C
    pub n_in: usize,
    /// H
    pub n_hidden: usize,
    /// A
    pub n_out: usize,
}

/// All nets in stacked form, and what a minibatch needs.
#[derive(Clone, Debug, Default)]
pub struct StackWork {
    groups: Vec<Group>,
    tiles: Vec<Tile>,
    /// `[rows of a tile, nets of a group · H]`: activations, then the gradients of their sums.
    hidden: Panel,
    /// The outputs asked for, one of each net of a group, and then their slopes.
    outputs: Vec<f32>,
}

/// Some nets side by side; G is how many.
#[derive(Clone, Debug, Default)]
struct Group {
    nets: Range<usize>,
    /// `[C + 1, G·H and a few zeros]`, and its gradients.
    first: Panel,
    first_gradients: Panel,
    /// `[A, as wide]`, and its gradients.
    second: Panel,
    second_gradients: Panel,
    /// `[A, G]`, and its gradients.
    output_bias: Vec<f32>,
    output_bias_gradients: Vec<f32>,
}

/// The inputs of some rows, and a 1 for the biases: `[C + 1, rows]` and `[rows, C + 1]`.
#[derive(Clone, Debug, Default)]
struct Tile {
    columns: Vec<f32>,
    rows: Vec<f32>,
}

/// Rows that are taken through the nets at once, and about how many hidden units side by side, so that what is between the products
/// stays in the cache.
const TILE: usize = 96;
const WIDTH: usize = 256;

impl Stack {
    /// Parameters of one net.
    pub fn n_parameters(&self) -> usize {
        (self.n_in + 1) * self.n_hidden + self.n_out * (self.n_hidden + 1)
    }

    /// Where the parameters of a net are.
    pub fn layout(&self) -> Layout {
        let mut layout = Layout::default();
        layout.reserve((self.n_in + 1) * self.n_hidden);
        layout.reserve(self.n_out * self.n_hidden);
        layout.reserve(self.n_out);
        layout
    }

    /// Draws a net: weights N(0, 1/(inputs + 1)) for a layer with so many inputs, zero biases. **Samples.**
    pub fn initialize(&self, net: &mut [f32], rng: &mut Rng) {
        let (first, second, output_bias) = self.split_mut(net);
        let (weights, bias) = first.split_at_mut(self.n_in * self.n_hidden);
        for (weights, n_in) in [(weights, self.n_in), (second, self.n_hidden)] {
            let std = 1.0 / (n_in as f64 + 1.0).sqrt();
            weights.iter_mut().for_each(|weight| *weight = (std * rng.normal()) as f32);
        }
        bias.fill(0.0);
        output_bias.fill(0.0);
    }

    /// All outputs `[A]` of one net for one input `[C]`; `hidden` is room for H numbers.
    pub fn forward_one(&self, net: &[f32], x: &[f32], hidden: &mut [f32], outputs: &mut [f32]) {
        let (first, second, output_bias) = self.split(net);
        let (weights, bias) = first.split_at(self.n_in * self.n_hidden);
        product_of_one(weights, x, hidden);
        for (place, bias) in hidden.iter_mut().zip(bias) {
            let sum = *place + bias;
            // Written so that a NaN stays one.
            *place = if sum < 0.0 { 0.0 } else { sum };
        }
        outputs.copy_from_slice(output_bias);
        add_dots_of_one(hidden, second, outputs);
    }

    /// All outputs `[A, N]` of one net for inputs `[C, N]`; `hidden` is room.
    pub fn forward(&self, net: &[f32], x: Lines<'_>, hidden: &mut Panel, outputs: &mut Panel) {
        let (first, second, output_bias) = self.split(net);
        let (weights, bias) = first.split_at(self.n_in * self.n_hidden);
        hidden.reshape_like(self.n_hidden, x);
        product(weights, x, &mut hidden.all_mut(), &BiasRelu(bias));
        outputs.reshape_like(self.n_out, x);
        product_backward(second, hidden.all(), &mut outputs.all_mut(), &Bias(output_bias));
    }

    /// Copies the parameters of all nets, `nets` `[M, parameters]`, and resets the gradients.
    pub fn read(&self, nets: Lines<'_>, work: &mut StackWork) {
        let Self { n_nets, n_in, n_hidden, n_out } = *self;
        let group_size = (WIDTH / n_hidden).max(1);
        work.groups.resize_with(n_nets.div_ceil(group_size), Group::default);
        for (index, group) in work.groups.iter_mut().enumerate() {
            let start = index * group_size;
            group.nets = start..n_nets.min(start + group_size);
            let size = group.nets.len();
            // Units that do not exist, with weights of 0, make pairs of vectors of what there is: the products are slow on single ones.
            let width = (size * n_hidden).next_multiple_of(2 * LANES);
            for panel in [&mut group.first, &mut group.first_gradients] {
                panel.reshape(n_in + 1, width);
            }
            for panel in [&mut group.second, &mut group.second_gradients] {
                panel.reshape(n_out, width);
            }
            group.first.clear_padding();
            group.first.all_mut().iter_mut().for_each(|line| line[size * n_hidden..].fill(0.0));
            group.first_gradients.fill(0.0);
            group.second_gradients.fill(0.0);
            for bias in [&mut group.output_bias, &mut group.output_bias_gradients] {
                bias.clear();
                bias.resize(n_out * size, 0.0);
            }
        }
        for (index, net) in nets.iter().enumerate() {
            let group = &mut work.groups[index / group_size];
            let (index, size) = (index % group_size, group.nets.len());
            let (first, second, output_bias) = self.split(net);
            for (panel, weights) in [(&mut group.first, first), (&mut group.second, second)] {
                for (line, weights) in weights.chunks_exact(n_hidden).enumerate() {
                    panel.line_mut(line)[index * n_hidden..][..n_hidden].copy_from_slice(weights);
                }
            }
            for (line, bias) in output_bias.iter().enumerate() {
                group.output_bias[line * size + index] = *bias;
            }
        }
    }

    /// Runs a minibatch through all nets, forward and backward. Row n uses output `asked[n]` only; `slopes` receives n and that
    /// output of some of the nets, and replaces it by the derivative of the loss. The gradients are accumulated in `work`.
    ///
    /// x has C lines or more; those after the first C are not looked at.
    pub fn add_gradients(
        &self,
        x: &Panel,
        asked: &[usize],
        work: &mut StackWork,
        mut slopes: impl FnMut(usize, &mut [f32]),
    ) {
        assert_eq!(asked.len(), x.n_columns());
        let StackWork { groups, tiles, hidden, outputs } = work;
        tiles.resize_with(asked.len().div_ceil(TILE), Tile::default);
        for (tile, start) in tiles.iter_mut().zip((0..).step_by(TILE)) {
            tile.load(x, self.n_in, start..asked.len().min(start + TILE));
        }
        for group in groups {
            for ((tile, asked), start) in tiles.iter().zip(asked.chunks(TILE)).zip((0..).step_by(TILE)) {
                hidden.reshape(asked.len(), group.first.n_columns());
                product(&tile.columns, group.first.all(), &mut hidden.all_mut(), &Relu);
                for (row, &asked) in asked.iter().enumerate() {
                    group.second_layer(hidden.line_mut(row), asked, self.n_hidden, outputs, |outputs| {
                        slopes(start + row, outputs);
                    });
                }
                product(&tile.rows, hidden.all(), &mut group.first_gradients.all_mut(), &Add);
            }
        }
    }

    /// Writes the gradients of all nets into `gradients` `[M, parameters]`.
    pub fn write_gradients(&self, work: &StackWork, mut gradients: LinesMut<'_>) {
        let n_hidden = self.n_hidden;
        let places =
            work.groups.iter().flat_map(|group| (0..group.nets.len()).map(move |index| (group, index)));
        for ((group, index), net) in places.zip(gradients.iter_mut()) {
            let (first, second, output_bias) = self.split_mut(net);
            for (panel, gradients) in [(&group.first_gradients, first), (&group.second_gradients, second)] {
                for (line, gradients) in gradients.chunks_exact_mut(n_hidden).enumerate() {
                    gradients.copy_from_slice(&panel.line(line)[index * n_hidden..][..n_hidden]);
                }
            }
            for (line, gradient) in output_bias.iter_mut().enumerate() {
                *gradient = group.output_bias_gradients[line * group.nets.len() + index];
            }
        }
    }

    fn split<'a>(&self, net: &'a [f32]) -> (&'a [f32], &'a [f32], &'a [f32]) {
        let (first, rest) = net.split_at((self.n_in + 1) * self.n_hidden);
        let (second, output_bias) = rest.split_at(self.n_out * self.n_hidden);
        (first, second, output_bias)
    }

    fn split_mut<'a>(&self, net: &'a mut [f32]) -> (&'a mut [f32], &'a mut [f32], &'a mut [f32]) {
        let (first, rest) = net.split_at_mut((self.n_in + 1) * self.n_hidden);
        let (second, output_bias) = rest.split_at_mut(self.n_out * self.n_hidden);
        (first, second, output_bias)
    }
}

impl Group {
    /// One row through the second layers and back: its activations become the gradients of the first layers' sums.
    fn second_layer(
        &mut self,
        hidden: &mut [f32],
        asked: usize,
        n_hidden: usize,
        outputs: &mut Vec<f32>,
        slopes: impl FnOnce(&mut [f32]),
    ) {
        let bias = asked * self.nets.len()..(asked + 1) * self.nets.len();
        outputs.clear();
        outputs.extend_from_slice(&self.output_bias[bias.clone()]);
        let weights = self.second.line(asked);
        add_dots(hidden, weights, n_hidden, outputs);
        slopes(outputs);
        for (gradient, slope) in self.output_bias_gradients[bias].iter_mut().zip(&*outputs) {
            *gradient += slope;
        }
        back(hidden, weights, self.second_gradients.line_mut(asked), n_hidden, outputs);
    }
}

impl Tile {
    fn load(&mut self, x: &Panel, n_in: usize, columns: Range<usize>) {
        for inputs in [&mut self.columns, &mut self.rows] {
            inputs.clear();
            inputs.resize((n_in + 1) * columns.len(), 1.0);
        }
        for feature in 0..n_in {
            let line = &x.line(feature)[columns.clone()];
            self.columns[feature * columns.len()..][..columns.len()].copy_from_slice(line);
            for (row, value) in self.rows.chunks_exact_mut(n_in + 1).zip(line) {
                row[feature] = *value;
            }
        }
    }
}

/// Adds to every sum the product of its `len` values a and b.
#[multiversion(targets = "simd")]
fn add_dots(a: &[f32], b: &[f32], len: usize, sums: &mut [f32]) {
    for ((a, b), sum) in a.chunks_exact(len).zip(b.chunks_exact(len)).zip(sums) {
        *sum += dot(a, b);
    }
}

/// The same, with one `a` for all.
#[multiversion(targets = "simd")]
fn add_dots_of_one(a: &[f32], b: &[f32], sums: &mut [f32]) {
    for (b, sum) in b.chunks_exact(a.len()).zip(sums) {
        *sum += dot(a, b);
    }
}

#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a_blocks, a_rest), (b_blocks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0] + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

/// Adds the gradients of the weights, and turns activations into the gradients of the sums before their ReLU.
#[multiversion(targets = "simd")]
fn back(hidden: &mut [f32], weights: &[f32], gradients: &mut [f32], len: usize, slopes: &[f32]) {
    let hidden = hidden.chunks_exact_mut(len);
    let (weights, gradients) = (weights.chunks_exact(len), gradients.chunks_exact_mut(len));
    for (((hidden, weights), gradients), slope) in hidden.zip(weights).zip(gradients).zip(slopes) {
        for ((hidden, weight), gradient) in hidden.iter_mut().zip(weights).zip(gradients) {
            *gradient += slope * *hidden;
            *hidden = if *hidden > 0.0 { slope * weight } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    const STACK: Stack = Stack { n_nets: 3, n_in: 5, n_hidden: 7, n_out: 4 };
    /// Two tiles, the second of an odd size.
    const N: usize = TILE + 13;

    struct Batch {
        x: Panel,
        asked: Vec<usize>,
        targets: Vec<f32>,
    }

    fn batch() -> Batch {
        let mut rng = Seed::new(1).stream("test", 0);
        // One line too many, which must not matter.
        let mut x = Panel::new(STACK.n_in + 1, N);
        for feature in 0..=STACK.n_in {
            x.line_mut(feature).iter_mut().for_each(|value| *value = rng.normal() as f32);
        }
        let asked = (0..N).map(|_| rng.below(STACK.n_out)).collect();
        Batch { x, asked, targets: (0..N).map(|_| rng.normal() as f32).collect() }
    }

    fn nets() -> Panel {
        let mut rng = Seed::new(2).stream("init", 0);
        let mut nets = Panel::new(STACK.n_nets, STACK.n_parameters());
        for net in 0..STACK.n_nets {
            nets.line_mut(net).iter_mut().for_each(|value| *value = 0.5 * rng.normal() as f32);
        }
        nets
    }

    /// Σ over the rows of (output − target)² of a net, written plainly.
    fn squared_errors(net: &[f64], batch: &Batch) -> f64 {
        let Stack { n_in, n_hidden, n_out, .. } = STACK;
        let at = |place: usize| net[place];
        let row = |row: usize| {
            let output = batch.asked[row];
            let hidden = |h: usize| {
                let sum = (0..n_in).map(|c| f64::from(batch.x.line(c)[row]) * at(c * n_hidden + h));
                (sum.sum::<f64>() + at(n_in * n_hidden + h)).max(0.0)
            };
            let second = (n_in + 1) * n_hidden;
            let sum: f64 = (0..n_hidden).map(|h| hidden(h) * at(second + output * n_hidden + h)).sum();
            let output = sum + at(second + n_out * n_hidden + output);
            (output - f64::from(batch.targets[row])).powi(2)
        };
        (0..N).map(row).sum()
    }

    #[test]
    fn gradients_equal_finite_differences() {
        let (batch, nets) = (batch(), nets());
        let mut work = StackWork::default();
        let mut gradients = Panel::new(STACK.n_nets, STACK.n_parameters());
        // Twice, so that a second minibatch finds the first one's leavings.
        for _ in 0..2 {
            STACK.read(nets.all(), &mut work);
            STACK.add_gradients(&batch.x, &batch.asked, &mut work, |row, outputs| {
                outputs.iter_mut().for_each(|output| *output = 2.0 * (*output - batch.targets[row]));
            });
        }
        STACK.write_gradients(&work, gradients.all_mut());
        for index in 0..STACK.n_nets {
            for place in 0..STACK.n_parameters() {
                // So small a step, in f64, that none of the ReLUs has its kink within.
                let at = |offset: f64| {
                    let mut net: Vec<f64> = nets.line(index).iter().map(|&value| f64::from(value)).collect();
                    net[place] += offset;
                    squared_errors(&net, &batch)
                };
                let difference = (at(1e-7) - at(-1e-7)) / 2e-7;
                let found = f64::from(gradients.line(index)[place]);
                assert!(
                    (found - difference).abs() < 1e-4 * (10.0 + difference.abs()),
                    "net {index}, parameter {place}: {found}, {difference}"
                );
            }
        }
    }

    #[test]
    fn a_decision_sees_the_outputs_of_its_net() {
        let (batch, nets) = (batch(), nets());
        let mut work = StackWork::default();
        STACK.read(nets.all(), &mut work);
        let mut asked_outputs = Vec::new();
        STACK.add_gradients(&batch.x, &batch.asked, &mut work, |_, outputs| {
            asked_outputs.extend_from_slice(outputs);
        });
        let (mut hidden, mut outputs) = ([0.0; STACK.n_hidden], [0.0; STACK.n_out]);
        for (row, asked_outputs) in asked_outputs.chunks_exact(STACK.n_nets).enumerate() {
            let x: Vec<f32> = (0..STACK.n_in).map(|feature| batch.x.line(feature)[row]).collect();
            for (net, &asked_output) in asked_outputs.iter().enumerate() {
                STACK.forward_one(nets.line(net), &x, &mut hidden, &mut outputs);
                let found = outputs[batch.asked[row]];
                assert!((found - asked_output).abs() < 1e-4, "row {row}: {found}, {asked_output}");
            }
        }
    }

    /// Few inputs, so that it shows whether their number has a 1 added. Bounds are five standard errors of a variance of n normals; false alarms
    /// for one seed in 400 000.
    #[test]
    fn weights_start_with_the_variance_that_their_inputs_ask_for() {
        for (n_in, n_hidden, n_out) in [(3, 999, 5), (999, 3, 998)] {
            let stack = Stack { n_nets: 1, n_in, n_hidden, n_out };
            let mut net = vec![1.0; stack.n_parameters()];
            stack.initialize(&mut net, &mut Seed::new(3).stream("init", 0));
            let (first, second, output_bias) = stack.split(&net);
            let (weights, bias) = first.split_at(n_in * n_hidden);
            assert!(bias.iter().chain(output_bias).all(|&bias| bias == 0.0));
            for (weights, n_in) in [(weights, n_in), (second, n_hidden)] {
                let n = weights.len() as f64;
                let found = weights.iter().map(|&weight| f64::from(weight).powi(2)).sum::<f64>() / n;
                let ratio = found * (n_in as f64 + 1.0);
                assert!((ratio - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{n_in} inputs: {found}");
            }
        }
    }
}
