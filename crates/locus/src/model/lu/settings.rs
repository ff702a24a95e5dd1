//! Types of settings that only the LU policies have.

use crate::registry::settings::words;

words! {
    /// The input of q, the distribution of the latent variable.
    pub enum LatentInput {
        /// The context: uncertainty is local.
        Context = "context",
        /// A vector of ones, the same for every context: uncertainty is global.
        Ones = "ones",
    }
}

words! {
    /// How the KL term of an observation is weighted.
    pub enum KlWeight {
        /// Each observation has its own latent variable: 1, after the warm-up.
        One = "one",
        /// All observations share one latent variable: one over their number.
        PerObservation = "per-observation",
    }
}

words! {
    /// How a net's output becomes the standard deviation of the latent variable.
    pub enum StdLink {
        /// exp(output)
        Exp = "exp",
        /// exp(output / 2): the output is a log variance.
        ExpHalf = "exp-half",
    }
}

words! {
    /// The scale on which the standard deviation of rewards is learned.
    pub enum StdScale {
        /// Its logarithm.
        Log = "log",
        /// The standard deviation itself, clamped at a small floor.
        Linear = "linear",
    }
}
