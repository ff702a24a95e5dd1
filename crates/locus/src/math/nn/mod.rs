//! Small neural nets: products, dense layers, optimizers, vectorized normals; independent of bandits.
//!
//! Dimension letters, here and in the policies: **N** rows of a minibatch, **C** context features, **A** actions,
//! **H** latent size, **K** extra draws, **S** samples.
//!
//! Activations are stored feature by feature: a [`Panel`] of shape [features, N] keeps the N values of one feature side
//! by side. A bias is then one number for a whole line, elementwise loops run over N without remainders, and N can be
//! anything from one decision to a minibatch. Weights are [in, out], out side by side.
//!
//! All parameters of a model live in one arena (places in it come from a [`Layout`]), so that the optimizer is one loop,
//! and a saved model is one list of numbers. Backward passes are written out by hand, each beside its forward pass; to
//! add a layer, follow [`Dense`] and its gradient check.

mod adam;
mod aligned;
mod bayes_dense;
mod bayes_mlp;
mod clip;
mod dense;
mod exponential;
#[cfg(test)]
pub(crate) mod gradient_check;
mod layout;
mod low_rank;
mod mlp;
mod normals;
mod panel;
mod product;
mod rmsprop;
mod shared_input;
mod sparse_product;
mod sparse_rows;
mod stack;
mod sums;
mod vectors;

pub use adam::Adam;
pub use bayes_dense::BayesStart;
pub use bayes_mlp::{BayesMlp, BayesMlpWork};
pub use clip::clip_by_global_norm;
pub use dense::{Activation, Dense, InputGradient};
pub use exponential::exp_slice;
pub use layout::Layout;
pub use low_rank::LowRank;
pub use mlp::{Mlp, MlpWork};
pub use normals::{ColumnNormals, NormalSource, Normals};
pub use panel::{LANES, Lines, LinesMut, Panel};
pub use rmsprop::RmsProp;
pub use shared_input::{OwnWeights, SharedInput, Sharing};
pub use sparse_rows::{Input, SparseRows};
pub use stack::{Stack, StackWork};
pub use sums::{sum, sum_of_squares};
pub use vectors::{add_combined, combine, squared_distances};
