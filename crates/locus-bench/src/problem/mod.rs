//! The problems on which policies are compared.
//!
//! A [`Problem`] is loaded once per run and shared by all trials; it generates a [`Sequence`] for each trial, in which the
//! rewards of all actions are known. Thirteen are built in ([`INFOS`] lists them), eight of which need a data file; [`load_csv`]
//! and [`load_npz`] create a problem from the user's own data.
//!
//! The random streams of a trial are derived from its seed, one per purpose: `rows` (which rows of a file), `columns` (which of
//! them are rewards), `contexts` (generated ones), `model` (hidden coefficients) and `rewards` (noise).

mod registry;
mod sequence;

mod adult;
mod bilinear;
mod census;
mod classification;
mod covertype;
mod financial;
mod jester;
mod linear;
mod mushroom;
mod one_hot;
mod own;
mod statlog;
mod wheel;

use locus::{Seed, Shape};

use crate::Error;
use crate::error::ErrorKind;

pub use own::{
    Column, CsvOptions, Inspected, MissingValues, Reason, RoundsSummary, Schema, Usage, from_labels,
    from_rounds, inspect_csv, inspect_npz, is_npz, load_csv, load_npz, parse_delimiter,
};
pub use registry::{FileUsed, INFOS, Loaded, ProblemInfo, info, is_available, load};
pub use sequence::{Round, Sequence};

/// A source of trials: a data file, or a rule that generates rounds.
pub trait Problem: Send + Sync {
    /// Stable short name for records, tables and files, e.g. `mushroom`.
    fn name(&self) -> &str;

    /// Width of the contexts and number of actions, the same in every trial.
    fn shape(&self) -> Shape;

    /// What an action is called in figures and summaries.
    fn action_name(&self, action: usize) -> String {
        format!("action {action}")
    }

    /// The best action of contexts with deceptive rewards, for which another action sometimes pays more but on average pays less.
    ///
    /// `None` if there are no such contexts; by default `locus explore` follows one of them.
    fn deceptive_best_action(&self) -> Option<usize> {
        None
    }

    /// The largest number of steps of a trial; `None` if rounds are generated or drawn with replacement.
    fn max_steps(&self) -> Option<usize>;

    /// The rounds of the trial with this seed: the same seed and number of steps give the same rounds.
    ///
    /// **Samples**, and allocates all rounds at once. Fails for 0 steps and for more than
    /// [`max_steps`](Self::max_steps).
    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error>;
}

/// Fails unless `problem` can have a trial of `steps` steps.
fn check_steps(problem: &dyn Problem, steps: usize) -> Result<(), Error> {
    let name = || problem.name().to_owned();
    if steps == 0 {
        return Err(ErrorKind::NoSteps { problem: name() }.into());
    }
    match problem.max_steps() {
        Some(rows) if steps > rows => Err(ErrorKind::TooManySteps { problem: name(), rows, steps }.into()),
        _ => Ok(()),
    }
}
