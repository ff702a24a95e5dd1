//! The curves of all trials, read once and condensed to what the figures show.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::collect::Group;
use crate::Error;
use crate::data::npy::{read_npy, read_npy_u32};
use crate::error::ErrorKind;
use crate::record::{Measured, curve_paths};
use crate::summary::Statistics;
use crate::trial::TrialId;

/// As many places along a curve are shown at most.
const PLACES: usize = 125;
/// Choices are counted over as many windows of a trial at most.
const WINDOWS: usize = 25;

/// What the curves of one policy on one problem say.
#[derive(Clone, Debug, Default)]
pub(super) struct Condensed {
    /// Cumulative regret of each trial at the places of [`Curves::steps`].
    trials: Vec<Vec<f64>>,
    /// How often each action was chosen in each window, over all trials.
    pub(super) choices: Vec<BTreeMap<u32, usize>>,
}

/// The curves of a group.
pub(super) struct Curves {
    /// The numbers of steps after which regret is shown, ascending, the last step among them.
    pub(super) steps: Vec<usize>,
    /// By policy and problem.
    pub(super) of: BTreeMap<(String, String), Condensed>,
    /// How many trials should have curves.
    pub(super) n_expected: usize,
    /// Trials whose curves could not be read.
    pub(super) unreadable: Vec<Unreadable>,
}

/// A trial whose curves could not be read.
pub(super) struct Unreadable {
    pub(super) id: TrialId,
    /// The place of its folder in the group.
    pub(super) folder: usize,
    pub(super) error: String,
}

impl Condensed {
    /// Mean and standard error after each of the steps.
    pub(super) fn regret(&self) -> Vec<Statistics> {
        let n_places = self.trials.first().map_or(0, Vec::len);
        let column = |place: usize| self.trials.iter().map(|trial| trial[place]).collect::<Vec<_>>();
        (0..n_places).filter_map(|place| Statistics::of(&column(place))).collect()
    }
}

impl Curves {
    /// Reads the curves of every trial that ended well.
    pub(super) fn read(group: &Group) -> Self {
        let steps = group.rows.first().map_or(0, |row| row.steps);
        let n_places = steps.min(PLACES);
        let places = (1..=n_places).map(|place| place * steps / n_places).collect();
        let mut curves = Self { steps: places, of: BTreeMap::new(), n_expected: 0, unreadable: Vec::new() };
        for (row, (folder, id)) in group.rows.iter().zip(&group.sources) {
            let Ok(measured) = &row.outcome else { continue };
            curves.n_expected += 1;
            match read_trial(&group.folders[*folder].out, id, steps, measured) {
                Ok((regrets, actions)) => {
                    let key = (row.id.policy.clone(), row.id.problem.clone());
                    curves.of.entry(key).or_default().add(&curves.steps, &regrets, &actions);
                }
                Err(error) => {
                    let (id, error) = (row.id.clone(), error.to_string());
                    curves.unreadable.push(Unreadable { id, folder: *folder, error });
                }
            }
        }
        curves
    }
}

impl Condensed {
    fn add(&mut self, steps: &[usize], regrets: &[f64], actions: &[u32]) {
        let mut sum = 0.0;
        let mut done = 0;
        let at = steps.iter().map(|&step| {
            sum += regrets[done..step].iter().sum::<f64>();
            done = step;
            sum
        });
        self.trials.push(at.collect());
        let n_windows = actions.len().min(WINDOWS);
        self.choices.resize(n_windows, BTreeMap::new());
        for (step, action) in actions.iter().enumerate() {
            *self.choices[step * n_windows / actions.len()].entry(*action).or_default() += 1;
        }
    }
}

/// Both arrays of a trial, if they are whole and say what its row says.
fn read_trial(
    out: &Path,
    id: &TrialId,
    steps: usize,
    measured: &Measured,
) -> Result<(Vec<f64>, Vec<u32>), Error> {
    let paths = curve_paths(out, id);
    let bytes = |path: &Path| {
        fs::read(path)
            .map_err(|cause| Error::from(ErrorKind::OutFile { doing: "read", path: path.to_owned(), cause }))
    };
    let name = |path: &Path| path.display().to_string();
    let invalid =
        |path: &Path, problem: String| Error::from(ErrorKind::InvalidFile { file: name(path), problem });
    let regrets = read_npy(&bytes(&paths.regret)?[..], &name(&paths.regret))?.into_f64();
    let actions = read_npy_u32(&bytes(&paths.action)?[..], &name(&paths.action))?;
    for (path, length) in [(&paths.regret, regrets.len()), (&paths.action, actions.len())] {
        if length != steps {
            return Err(invalid(path, format!("holds {length} steps, expected {steps}")));
        }
    }
    let sum: f64 = regrets.iter().sum();
    let size: f64 = regrets.iter().map(|regret| regret.abs()).sum();
    let recorded = measured.cumulative_regret;
    // The order of summation may differ, so the last digits may.
    if (sum - recorded).abs() > 1e-9 * (size + recorded.abs()) || !sum.is_finite() {
        return Err(invalid(&paths.regret, format!("adds up to {sum}, but trials.csv says {recorded}")));
    }
    Ok((regrets, actions))
}
