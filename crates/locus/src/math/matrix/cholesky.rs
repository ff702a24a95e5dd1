//! Cholesky factors and triangular solves.
//!
//! A factor is an upper triangle R [n, n] with `RᵀR = A`; what lies below its diagonal is never read. Blocks of rows are finished
//! one by one, and what they change in all others is one product.

use super::Rows;
use super::loops::{add_scaled, dot};
use super::product::{Weights, add_product, add_product_upper};

/// Rows that are finished before their product goes to the others.
const BLOCK: usize = 32;

/// Overwrites the upper triangle of A [n, n] with R. Squared pivots below `floor` are clamped to it; returns how many were.
///
/// The squared pivots of `B + floor·I` are never below `floor` if B is positive semidefinite, so with that floor only rounding
/// errors are clamped. A NaN stays a NaN.
pub fn factor(a: &mut [f64], stride: usize, n: usize, floor: f64) -> u64 {
    let mut n_held = 0;
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        for i in start..end {
            let (upper, lower) = a.split_at_mut((i + 1) * stride);
            let row = &mut upper[i * stride..][..n];
            n_held += u64::from(row[i] < floor);
            let pivot = hold(row[i], floor).sqrt();
            row[i] = pivot;
            row[i + 1..].iter_mut().for_each(|entry| *entry /= pivot);
            for j in i + 1..end {
                let other = &mut lower[(j - i - 1) * stride..][..n];
                add_scaled(-row[j], &row[j..], &mut other[j..]);
            }
        }
        if end < n {
            let (done, rest) = a.split_at_mut(end * stride);
            let block = Rows { data: &done[start * stride + end..], stride };
            add_product_upper(
                -1.0,
                Weights::ByInput(block),
                end - start,
                block,
                (&mut rest[end..], stride),
                n - end,
            );
        }
    }
    n_held
}

/// Extends the factor of A [n, n] by the last row and column of a larger matrix: `column` holds its entries above the diagonal,
/// and is overwritten with those of R. Returns whether the squared pivot was clamped at `floor`.
pub fn append(r: &mut [f64], stride: usize, n: usize, column: &mut [f64], diagonal: f64, floor: f64) -> bool {
    solve_transposed_vector(r, stride, n, column);
    for (row, &entry) in column[..n].iter().enumerate() {
        r[row * stride + n] = entry;
    }
    let square = diagonal - dot(&column[..n], &column[..n]);
    r[n * stride + n] = hold(square, floor).sqrt();
    square < floor
}

/// A NaN is left as one.
fn hold(square: f64, floor: f64) -> f64 {
    if square < floor { floor } else { square }
}

/// Solves `RᵀV = B` for B [n, m], in its place.
pub fn solve_transposed(r: &[f64], stride: usize, n: usize, b: &mut [f64], m: usize) {
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        for i in start..end {
            let (upper, lower) = b.split_at_mut((i + 1) * m);
            let row = &mut upper[i * m..];
            let pivot = r[i * stride + i];
            row.iter_mut().for_each(|entry| *entry /= pivot);
            for j in i + 1..end {
                add_scaled(-r[i * stride + j], row, &mut lower[(j - i - 1) * m..][..m]);
            }
        }
        if end < n {
            let (done, rest) = b.split_at_mut(end * m);
            let weights = Weights::ByInput(Rows { data: &r[start * stride + end..], stride });
            let solved = Rows { data: &done[start * m..], stride: m };
            add_product(-1.0, weights, end - start, solved, (rest, m), (n - end, m));
        }
    }
}

/// Solves `RV = B` for B [n, m], in its place.
pub fn solve(r: &[f64], stride: usize, n: usize, b: &mut [f64], m: usize) {
    for start in (0..n).step_by(BLOCK).rev() {
        let end = n.min(start + BLOCK);
        for i in (start..end).rev() {
            let (upper, lower) = b.split_at_mut((i + 1) * m);
            let row = &mut upper[i * m..];
            for j in i + 1..end {
                add_scaled(-r[i * stride + j], &lower[(j - i - 1) * m..][..m], row);
            }
            let pivot = r[i * stride + i];
            row.iter_mut().for_each(|entry| *entry /= pivot);
        }
        if start > 0 {
            let (above, done) = b.split_at_mut(start * m);
            let weights = Weights::ByLine(Rows { data: &r[start..], stride });
            let solved = Rows { data: done, stride: m };
            add_product(-1.0, weights, end - start, solved, (above, m), (start, m));
        }
    }
}

/// Solves `Rᵀv = b` for a vector, in its place.
pub fn solve_transposed_vector(r: &[f64], stride: usize, n: usize, b: &mut [f64]) {
    for i in 0..n {
        let row = &r[i * stride..][..n];
        let (known, rest) = b[..n].split_at_mut(i + 1);
        known[i] /= row[i];
        add_scaled(-known[i], &row[i + 1..], rest);
    }
}

/// Solves `Rv = b` for a vector, in its place.
pub fn solve_vector(r: &[f64], stride: usize, n: usize, b: &mut [f64]) {
    for i in (0..n).rev() {
        let row = &r[i * stride..][..n];
        b[i] = (b[i] - dot(&row[i + 1..], &b[i + 1..n])) / row[i];
    }
}
