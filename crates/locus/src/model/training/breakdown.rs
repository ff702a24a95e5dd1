//! Finds where a numerical error of a net arose.

use crate::agent::Breakdown;
use crate::math::nn::Panel;

/// The first number that is not finite in named panels, given in the order of computation.
pub(crate) fn find_breakdown<'a, N: Into<String>>(
    panels: impl IntoIterator<Item = (N, &'a Panel)>,
) -> Option<Breakdown> {
    panels.into_iter().find_map(|(place, panel)| {
        panel.find_non_finite().map(|found| Breakdown { place: place.into(), found: f64::from(found) })
    })
}
