//! Dense matrices of `f64`: products, Cholesky factors, eigenvectors. Independent of bandits and statistics.
//!
//! A matrix is a slice, row by row, with a stride from one row to the next, so that a factor can grow in place. Factors are upper
//! triangles R with `RᵀR = A`: every loop over them then runs along rows. All cubic work is one product of register tiles,
//! [`add_product`]; it uses fused multiply-adds where available, so results differ in the last bits between machines.

mod cholesky;
mod eigen;
mod loops;
mod product;
#[cfg(test)]
mod tests;

pub use cholesky::{append, factor, solve, solve_transposed, solve_transposed_vector, solve_vector};
pub use eigen::{Eigen, decompose};
pub use loops::{add_scaled, dot};
pub use product::{Weights, add_product, add_product_upper};

/// Rows of a matrix, to read.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// One row after another.
    pub data: &'a [f64],
    /// From one row to the next.
    pub stride: usize,
}

/// Copies what is above the diagonal of an [n, n] matrix below it.
pub fn mirror(matrix: &mut [f64], n: usize) {
    for row in 1..n {
        let (above, below) = matrix.split_at_mut(row * n);
        for column in 0..row {
            below[column] = above[column * n + row];
        }
    }
}
