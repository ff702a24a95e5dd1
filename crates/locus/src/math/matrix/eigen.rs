//! Eigenvalues and eigenvectors of a symmetric matrix: Householder's tridiagonal form, then implicit QL steps.
//!
//! Golub and Van Loan, "Matrix Computations", 8.3. Eigenvectors are kept as rows, so that every rotation runs along them.

use multiversion::multiversion;

use super::loops::{add_scaled, dot};

/// Eigenvalues, and room to find them.
#[derive(Clone, Debug, Default)]
pub struct Eigen {
    /// In no order.
    pub values: Vec<f64>,
    /// [n, n]: the eigenvector of value i is row i.
    pub vectors: Vec<f64>,
    off_diagonal: Vec<f64>,
    direction: Vec<f64>,
    products: Vec<f64>,
}

/// More steps than any eigenvalue of finite numbers takes; 2 are usual.
const MOST_STEPS: usize = 60;

/// Decomposes a symmetric matrix [n, n], which is overwritten. Returns false on failure, as with a NaN.
pub fn decompose(matrix: &mut [f64], n: usize, eigen: &mut Eigen) -> bool {
    let Eigen { values, vectors, off_diagonal, direction, products } = eigen;
    for list in [&mut *values, off_diagonal, direction, products] {
        list.clear();
        list.resize(n, 0.0);
    }
    vectors.clear();
    vectors.resize(n * n, 0.0);
    tridiagonalize(matrix, n, values, off_diagonal, direction, products);
    accumulate(matrix, n, vectors, products);
    iterate(values, off_diagonal, vectors, n)
}

/// Reflects until only the diagonal and its neighbors are left. The reflection that clears row k, `I − vvᵀ` with `vᵀv = 2`, is
/// kept there: v is what lies right of the diagonal.
fn tridiagonalize(
    matrix: &mut [f64],
    n: usize,
    values: &mut [f64],
    off_diagonal: &mut [f64],
    direction: &mut [f64],
    products: &mut [f64],
) {
    for k in 0..n {
        values[k] = matrix[k * n + k];
        if k + 1 == n {
            break;
        }
        let (done, rest) = matrix.split_at_mut((k + 1) * n);
        let v = &mut done[k * n + k + 1..];
        let m = v.len();
        let norm = dot(v, v).sqrt();
        if norm == 0.0 {
            off_diagonal[k] = 0.0;
            continue;
        }
        let first = v[0];
        let reflected = if first > 0.0 { -norm } else { norm };
        off_diagonal[k] = reflected;
        v[0] -= reflected;
        // |v|² = 2·norm·(norm + |first|), without cancellation.
        let scale = 1.0 / (norm * (norm + first.abs())).sqrt();
        v.iter_mut().for_each(|entry| *entry *= scale);

        // A ← A − vwᵀ − wvᵀ with w = p − ½(vᵀp)v and p = Av.
        let (direction, products) = (&mut direction[..m], &mut products[..m]);
        direction.copy_from_slice(v);
        for (row, product) in products.iter_mut().enumerate() {
            *product = dot(&rest[row * n + k + 1..][..m], direction);
        }
        let half = 0.5 * dot(direction, products);
        add_scaled(-half, direction, products);
        for row in 0..m {
            let line = &mut rest[row * n + k + 1..][..m];
            add_scaled(-direction[row], products, line);
            add_scaled(-products[row], direction, line);
        }
    }
}

/// The product of all reflections, transposed: its rows are what the rotations that follow act on.
fn accumulate(matrix: &[f64], n: usize, vectors: &mut [f64], products: &mut [f64]) {
    for i in 0..n {
        vectors[i * n + i] = 1.0;
    }
    // With Q = H₀H₁…, the last reflection first: each then meets the identity but for the rows after its own.
    for k in (0..n.saturating_sub(1)).rev() {
        let v = &matrix[k * n + k + 1..(k + 1) * n];
        if dot(v, v) == 0.0 {
            continue;
        }
        // Rows of Qᵀ are the columns of Q, so Q ← HQ is a change of every row by its own product with v.
        for (row, product) in products.iter_mut().enumerate().skip(k + 1) {
            *product = dot(v, &vectors[row * n + k + 1..(row + 1) * n]);
        }
        for row in k + 1..n {
            add_scaled(-products[row], v, &mut vectors[row * n + k + 1..(row + 1) * n]);
        }
    }
}

/// QL steps with implicit shifts until every neighbor of the diagonal is nothing beside it.
fn iterate(values: &mut [f64], off_diagonal: &mut [f64], vectors: &mut [f64], n: usize) -> bool {
    for first in 0..n {
        let mut n_steps = 0;
        loop {
            let is_small = |i: usize| {
                let sum = values[i].abs() + values[i + 1].abs();
                off_diagonal[i].abs() <= f64::EPSILON * sum
            };
            let last = (first..n - 1).find(|&i| is_small(i)).unwrap_or(n - 1);
            if last == first {
                break;
            }
            n_steps += 1;
            if n_steps > MOST_STEPS {
                return false;
            }
            step(values, off_diagonal, vectors, n, first, last);
        }
    }
    values.iter().all(|value| value.is_finite())
}

fn step(
    values: &mut [f64],
    off_diagonal: &mut [f64],
    vectors: &mut [f64],
    n: usize,
    first: usize,
    last: usize,
) {
    let ratio = (values[first + 1] - values[first]) / (2.0 * off_diagonal[first]);
    let root = (1.0 + ratio * ratio).sqrt();
    let shift = values[first] - off_diagonal[first] / (ratio + root.copysign(ratio));
    let mut g = values[last] - shift;
    let (mut sin, mut cos, mut p) = (1.0, 1.0, 0.0);
    for i in (first..last).rev() {
        let f = sin * off_diagonal[i];
        let b = cos * off_diagonal[i];
        let length = (f * f + g * g).sqrt();
        off_diagonal[i + 1] = length;
        if length == 0.0 {
            values[i + 1] -= p;
            off_diagonal[last] = 0.0;
            return;
        }
        (sin, cos) = (f / length, g / length);
        g = values[i + 1] - p;
        let r = (values[i] - g) * sin + 2.0 * cos * b;
        p = sin * r;
        values[i + 1] = g + p;
        g = cos * r - b;
        let (upper, lower) = vectors.split_at_mut((i + 1) * n);
        rotate(&mut upper[i * n..], &mut lower[..n], cos, sin);
    }
    values[first] -= p;
    off_diagonal[first] = g;
    off_diagonal[last] = 0.0;
}

#[multiversion(targets = "simd")]
fn rotate(upper: &mut [f64], lower: &mut [f64], cos: f64, sin: f64) {
    for (upper, lower) in upper.iter_mut().zip(lower) {
        let f = *lower;
        *lower = sin * *upper + cos * f;
        *upper = cos * *upper - sin * f;
    }
}
