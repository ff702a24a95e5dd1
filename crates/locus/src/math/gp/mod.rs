//! Gaussian processes over contexts and actions: kernel, evidence and posterior. Independent of bandits.
//!
//! [`Kernel`] is the covariance of rewards; [`evidence`] is their marginal likelihood with its gradient in the kernel's
//! parameters; [`Posterior`] is the posterior of rewards given observations. All of it is exact, and computed in `f64`.

mod evidence;
mod kernel;
mod posterior;
#[cfg(test)]
mod tests;

pub use evidence::{EvidenceWork, evidence};
pub use kernel::{CovarianceWork, Kernel, KernelParameters, sigmoid, softplus};
pub use posterior::Posterior;

/// Points: contexts [n, C], row-major, and the action of each.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// [n, C]
    pub contexts: Vec<f32>,
    /// n of them.
    pub actions: Vec<usize>,
}

impl Points {
    /// n
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// Removes all points.
    pub fn clear(&mut self) {
        self.contexts.clear();
        self.actions.clear();
    }

    /// Adds one.
    pub fn push(&mut self, context: &[f32], action: usize) {
        self.contexts.extend_from_slice(context);
        self.actions.push(action);
    }
}
