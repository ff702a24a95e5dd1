//! Where numbers broke down in a net that is trained.

use crate::agent::Breakdown;
use crate::math::nn::Panel;

/// The first number that is not finite in named panels, which come in the order in which they are computed.
pub(crate) fn find_breakdown<'a, N: Into<String>>(
    panels: impl IntoIterator<Item = (N, &'a Panel)>,
) -> Option<Breakdown> {
    panels.into_iter().find_map(|(place, panel)| {
        panel.find_non_finite().map(|found| Breakdown { place: place.into(), found: f64::from(found) })
    })
}
