//! Rows drawn from the replay, side by side for a net.

use crate::Rng;
use crate::nn::{LANES, Panel};
use crate::replay::Replay;

/// N observations, drawn with replacement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Minibatch {
    /// The contexts [C, N], and after them as many lines more as the model asked for.
    pub(crate) inputs: Panel,
    pub(crate) actions: Vec<usize>,
    pub(crate) rewards: Vec<f32>,
}

/// How large a minibatch is, and what becomes of its rewards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gathering {
    /// N
    pub(crate) n_rows: usize,
    /// C
    pub(crate) n_features: usize,
    /// Lines of `inputs` after the contexts; they hold whatever was there.
    pub(crate) n_more_lines: usize,
    /// Mean and standard deviation by which rewards are standardized.
    pub(crate) mean_and_std: (f64, f64),
}

impl Minibatch {
    /// Sets the contexts, and room for as many lines more; actions and rewards stay.
    pub(crate) fn set_contexts(&mut self, contexts: &[&[f32]], n_features: usize, n_more_lines: usize) {
        self.inputs.reshape(n_features + n_more_lines, contexts.len());
        for feature in 0..n_features {
            for (place, context) in self.inputs.line_mut(feature).iter_mut().zip(contexts) {
                *place = context[feature];
            }
        }
    }

    /// Draws the rows. **Samples.**
    pub(crate) fn gather(&mut self, replay: &Replay, rng: &mut Rng, gathering: Gathering) {
        let Gathering { n_rows, n_features, n_more_lines, mean_and_std: (mean, std) } = gathering;
        self.inputs.reshape(n_features + n_more_lines, n_rows);
        self.actions.clear();
        self.rewards.clear();
        let mut contexts = [[0.0_f32; 0].as_slice(); LANES];
        for first in (0..n_rows).step_by(LANES) {
            let n_rows = LANES.min(n_rows - first);
            for context in &mut contexts[..n_rows] {
                let observation = replay.sample(rng);
                *context = observation.context;
                self.actions.push(observation.action);
                self.rewards.push(((observation.reward - mean) / std) as f32);
            }
            for feature in 0..n_features {
                let line = &mut self.inputs.line_mut(feature)[first..first + n_rows];
                for (place, context) in line.iter_mut().zip(&contexts) {
                    *place = context[feature];
                }
            }
        }
    }
}
