//! The critical-difference picture: mean ranks along a line, bars over policies that cannot be told apart.

use super::{Figure, Scene, WIDTH, cut};
use crate::report::svg::{Anchor, FAINT, INK, Stroke, TextStyle};

pub(super) fn draw(scene: &Scene<'_>) -> Option<Figure> {
    let ranking = scene.ranking?;
    let k = ranking.policies.len();
    let cliques = ranking.cliques();
    let n_left = k.div_ceil(2);
    let axis_y = 64.0;
    let first_label = axis_y + 26.0 + 9.0 * cliques.len() as f64;
    let height = first_label + 20.0 * n_left as f64 + 6.0;
    let title = "Mean ranks and their critical difference";
    let (best, rank) = &ranking.policies[0];
    let description = format!("The best mean rank is {rank:.2} of {k}, that of {best}.");
    let mut canvas = scene.canvas("ranks", height, title, &description);
    // Names stand left and right of the line, so it takes the middle.
    let (left, right) = (330.0, WIDTH - 330.0);
    let at = |rank: f64| left + (rank - 1.0) / (k as f64 - 1.0) * (right - left);
    let ink = Stroke::solid(INK, 1.4);
    canvas.line((left, axis_y), (right, axis_y), &ink);
    for rank in 1..=k {
        let x = at(rank as f64);
        canvas.line((x, axis_y - 6.0), (x, axis_y), &ink);
        canvas.text((x, axis_y - 10.0), &rank.to_string(), TextStyle::new(11.0).anchored(Anchor::Middle));
    }
    let length = ranking.critical_difference / (k as f64 - 1.0) * (right - left);
    let fits = length <= WIDTH - left - 20.0;
    if fits {
        let end = left + length;
        canvas.line((left, 26.0), (end, 26.0), &Stroke::solid(INK, 2.0));
        for x in [left, end] {
            canvas.line((x, 21.0), (x, 31.0), &ink);
        }
    }
    let label = format!("critical difference {:.2}", ranking.critical_difference);
    canvas.text((left, 15.0), &label, TextStyle::new(11.5));
    canvas.text(
        (left - 12.0, axis_y + 4.0),
        "best",
        TextStyle::new(11.0).anchored(Anchor::End).colored(FAINT),
    );
    canvas.text((right + 12.0, axis_y + 4.0), "mean rank", TextStyle::new(11.0).colored(FAINT));
    for (place, (policy, rank)) in ranking.policies.iter().enumerate() {
        let is_left = place < n_left;
        // The outermost is the highest on either side, so that no two lines cross.
        let row = if is_left { place } else { k - 1 - place };
        let y = first_label + 20.0 * row as f64 + 10.0;
        let (edge, anchor) = if is_left { (left - 24.0, Anchor::End) } else { (right + 24.0, Anchor::Start) };
        let faint = Stroke::solid(FAINT, 1.0);
        canvas.line((at(*rank), axis_y), (at(*rank), y), &faint);
        canvas.line((at(*rank), y), (edge, y), &faint);
        let look = scene.policies.iter().position(|name| name == policy).map(|index| &scene.looks[index]);
        if let Some(look) = look {
            canvas.marker((at(*rank), axis_y), look.marker, 7.5, look.color);
        }
        let text = format!("{}  {rank:.2}", cut(policy, 12.0, 250.0));
        let gap = if is_left { -5.0 } else { 5.0 };
        canvas.text((edge + gap, y + 4.0), &text, TextStyle::new(12.0).anchored(anchor));
    }
    for (row, (start, end)) in cliques.iter().enumerate() {
        let y = axis_y + 14.0 + 9.0 * row as f64;
        let [from, to] = [start, end].map(|place| at(ranking.policies[*place].1));
        canvas.line((from - 5.0, y), (to + 5.0, y), &Stroke::solid(INK, 4.0));
    }
    Some(Figure {
        id: scene.id("ranks"),
        title: title.to_owned(),
        caption: caption(scene)?,
        svg: canvas.finish(),
    })
}

fn caption(scene: &Scene<'_>) -> Option<String> {
    let ranking = scene.ranking?;
    let trials = match ranking.n_trials {
        (1, 1) => "the one trial".to_owned(),
        (fewest, most) if fewest == most => format!("the {fewest} trials"),
        (fewest, most) => format!("the {fewest} to {most} trials"),
    };
    let mut text = format!(
        "Ranks of the mean cumulative regret over {trials} that all {} policies share, averaged over {} problems. A bar joins \
         policies whose mean ranks differ by less than the critical difference of Nemenyi's test at 5 %. ",
        ranking.policies.len(),
        ranking.n_problems
    );
    text.push_str(&match ranking.p_value {
        Some(p) if p < 0.0001 => {
            "Friedman's test over all of them (Iman and Davenport's F): p < 0.0001.".to_owned()
        }
        Some(p) if p < 0.05 => {
            format!("Friedman's test over all of them (Iman and Davenport's F): p = {p:.4}.")
        }
        Some(p) => format!(
            "Friedman's test over all of them (Iman and Davenport's F) finds no difference: p = {p:.2}."
        ),
        None => "All ranks are equal.".to_owned(),
    });
    text.push_str(" Method: Demšar, JMLR 7 (2006); few problems make it cautious.");
    if !ranking.left_out.is_empty() {
        text.push_str(&format!(" Not on every problem, so not ranked: {}.", ranking.left_out.join(", ")));
    }
    Some(text)
}
