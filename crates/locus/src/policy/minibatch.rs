//! Rows drawn from the replay, side by side for a net.

use crate::Rng;
use crate::nn::{LANES, Panel};
use crate::policy::reward_scaling::RewardScale;
use crate::replay::{Observation, Replay};

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
    /// What rewards are standardized by.
    pub(crate) scale: RewardScale,
}

impl Minibatch {
    /// Sets the contexts, and room for as many lines more; actions and rewards stay.
    pub(crate) fn set_contexts(&mut self, contexts: &[&[f32]], n_features: usize, n_more_lines: usize) {
        self.inputs.reshape(n_features + n_more_lines, contexts.len());
        self.inputs.put_rows(0, contexts);
    }

    /// Draws the rows from all observations that are kept. **Samples.**
    pub(crate) fn gather(&mut self, replay: &Replay, rng: &mut Rng, gathering: Gathering) {
        self.gather_from(gathering, || replay.sample(rng));
    }

    /// Takes rows as `next` gives them.
    pub(crate) fn gather_from<'a>(
        &mut self,
        gathering: Gathering,
        mut next: impl FnMut() -> Observation<'a>,
    ) {
        let Gathering { n_rows, n_features, n_more_lines, scale } = gathering;
        self.inputs.reshape_padded(n_features + n_more_lines, n_rows);
        self.actions.clear();
        self.rewards.clear();
        let mut contexts = [[0.0_f32; 0].as_slice(); LANES];
        for first in (0..n_rows).step_by(LANES) {
            let n_rows = LANES.min(n_rows - first);
            for context in &mut contexts[..n_rows] {
                let observation = next();
                *context = observation.context;
                self.actions.push(observation.action);
                self.rewards.push(scale.standardize(observation.reward));
            }
            self.inputs.put_rows(first, &contexts[..n_rows]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, Seed};

    /// Every row of a minibatch is an observation: context, action and standardized reward belong together.
    #[test]
    fn rows_are_observations() {
        for (n_features, n_rows) in [(3, 5), (16, 16), (37, 50), (40, 64)] {
            let mut replay = Replay::new(n_features, None);
            for observation in 0..7_u64 {
                let context: Vec<f32> =
                    (0..n_features).map(|i| (100 * observation) as f32 + i as f32).collect();
                let (action, reward) = (observation as usize, 10.0 * observation as f64);
                replay.push(&Outcome { round: observation, context: &context, action, reward });
            }
            let mut batch = Minibatch::default();
            let scale = RewardScale { mean: 20.0, std: 10.0 };
            let gathering = Gathering { n_rows, n_features, n_more_lines: 2, scale };
            batch.gather(&replay, &mut Seed::new(1).stream("test", 0), gathering);
            assert_eq!((batch.inputs.n_features(), batch.inputs.n_columns()), (n_features + 2, n_rows));
            assert_eq!((batch.actions.len(), batch.rewards.len()), (n_rows, n_rows));
            for row in 0..n_rows {
                let observation = batch.actions[row];
                assert_eq!(batch.rewards[row], observation as f32 - 2.0);
                for feature in 0..n_features {
                    assert_eq!(batch.inputs.line(feature)[row], (100 * observation + feature) as f32);
                }
            }
        }
    }
}
