//! What each policy looks like in all figures: color, dashes and marker, so that gray tells them apart too.

use super::figures::cut;
use super::svg::{Anchor, Canvas, Marker, SERIES, Stroke, TextStyle, text_width};
use crate::experiment::UNIFORM;
use crate::paper;

/// A policy's look.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Look {
    pub(super) color: &'static str,
    pub(super) dashes: &'static str,
    pub(super) marker: Marker,
}

/// The last color is Uniform's.
const N_COLORS: usize = SERIES.len() - 1;
/// Our own policy, and the place of the policy of the paper whose look it takes.
const OURS: &str = "locus";
const OURS_LIKE: usize = 7;
const DASHES: [&str; 5] = ["", "7 3", "2 2.5", "9 3 2 3", "12 3 2 3 2 3"];

impl Look {
    pub(super) fn stroke(&self, width: f64) -> Stroke {
        Stroke { color: self.color.to_owned(), width, dashes: self.dashes }
    }
}

/// The looks of these policies. Those of the paper look the same in every report, the others as there is room; no two of the first
/// 36 have the same dashes and marker, nor the same color and dashes, and no two of eight beside Uniform the same color.
pub(super) fn looks(policies: &[String]) -> Vec<Look> {
    // Others look like those of the paper that are not there, the ablations first, as long as there are such.
    let is_absent = |place: &usize| !policies.iter().any(|policy| policy == paper::POLICIES[*place]);
    // Our own has the purple of an ablation wherever that is absent, so that it looks the same in most reports.
    let ours = policies.iter().any(|policy| policy == OURS).then_some(OURS_LIKE).filter(is_absent);
    let mut free = (1..paper::POLICIES.len())
        .rev()
        .filter(|place| is_absent(place) && Some(*place) != ours)
        .chain(paper::POLICIES.len()..);
    let look = |policy: &String| {
        if policy == UNIFORM {
            return Look { color: SERIES[N_COLORS].0, dashes: "1 3", marker: Marker::Circle };
        }
        let own = paper::POLICIES.iter().position(|name| name == policy);
        let own = own.or(ours.filter(|_| policy == OURS));
        let place = own.or_else(|| free.next()).expect("there is always one more");
        // Five kinds of dashes share no factor with seven markers or eight colors, so that they come together again only
        // after 35 or 40 policies.
        let place = place - 1;
        Look {
            color: SERIES[place % N_COLORS].0,
            dashes: DASHES[place % DASHES.len()],
            // Uniform has the first.
            marker: Marker::ALL[(place + 1) % Marker::ALL.len()],
        }
    };
    policies.iter().map(look).collect()
}

const TEXT: TextStyle = TextStyle::new(12.0);
const SAMPLE: f64 = 34.0;
const LINE: f64 = 19.0;

/// How high a legend of these policies is, if it may be `width` wide.
pub(super) fn legend_height(policies: &[String], width: f64) -> f64 {
    LINE * places(policies, width).last().map_or(0.0, |&(_, line)| line as f64 + 1.0)
}

/// Draws the legend below `top`.
pub(super) fn legend(
    canvas: &mut Canvas,
    policies: &[String],
    looks: &[Look],
    (left, top): (f64, f64),
    width: f64,
) {
    for ((policy, look), (x, line)) in policies.iter().zip(looks).zip(places(policies, width)) {
        let (x, y) = (left + x, top + LINE * (line as f64 + 0.5));
        canvas.line((x, y), (x + SAMPLE, y), &look.stroke(2.0));
        canvas.marker((x + SAMPLE / 2.0, y), look.marker, 7.0, look.color);
        canvas.text((x + SAMPLE + 6.0, y + 4.2), &entry(policy), TEXT.anchored(Anchor::Start));
    }
}

/// A name that does not take a whole line.
fn entry(policy: &str) -> String {
    cut(policy, TEXT.size, 420.0)
}

/// Where each entry begins: its distance from the left, and its line.
fn places(policies: &[String], width: f64) -> Vec<(f64, usize)> {
    let (mut x, mut line) = (0.0, 0);
    let place = |policy: &String| {
        let needed = SAMPLE + 6.0 + text_width(&entry(policy), TEXT.size, false);
        if x > 0.0 && x + needed > width {
            (x, line) = (0.0, line + 1);
        }
        let here = (x, line);
        x += needed + 22.0;
        here
    };
    policies.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn gray_tells_policies_apart() {
        let others = (0..27).map(|index| format!("lu-gauss[latent_dim={index}]"));
        let policies: Vec<String> = paper::POLICIES.map(str::to_owned).into_iter().chain(others).collect();
        assert_eq!(policies.len(), 36);
        let looks = looks(&policies);
        let told_apart: HashSet<String> =
            looks.iter().map(|look| format!("{}{:?}", look.dashes, look.marker)).collect();
        assert_eq!(told_apart.len(), policies.len());
        let in_color: HashSet<String> =
            looks.iter().map(|look| look.color.to_owned() + look.dashes).collect();
        assert_eq!(in_color.len(), policies.len());
    }

    #[test]
    fn eight_policies_have_eight_colors_and_those_of_the_paper_their_own() {
        let mixed =
            ["uniform", "bbb", "lu-gauss", "lu-sivi", "locus", "lin-pool", "dropout", "boltzmann", "lin-ucb"];
        let others = ["a", "b", "c", "d", "e", "f", "g", "h"];
        for policies in [&mixed[..], &others[..]] {
            let looks = looks(&policies.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
            let colors: HashSet<&str> = looks.iter().map(|look| look.color).collect();
            assert_eq!(colors.len(), policies.len(), "{policies:?}");
        }
        let alone = |policy: &str, beside: &str| looks(&[beside.to_owned(), policy.to_owned()])[1].clone();
        assert_eq!(alone("lu-sivi", "locus"), alone("lu-sivi", "bbb"));
        assert_eq!(alone("locus", "lin-pool"), alone("locus", "lu-sivi"));
        assert_ne!(alone("locus", "lu-gauss-ablation"), alone("lu-gauss-ablation", "locus"));
    }
}
