//! Regret against compute time: one point a policy.

use super::{Figure, Scene, WIDTH, cut};
use crate::experiment::UNIFORM;
use crate::report::svg::{Anchor, Area, Axis, FAINT, Panel, Stroke, TextStyle, text_width};

const TEXT: TextStyle = TextStyle::new(12.0);

pub(super) fn draw(scene: &Scene<'_>) -> Option<Figure> {
    let is_by_common = !scene.cumulative.n_common.contains(&0);
    let points: Vec<(usize, f64, f64)> = (0..scene.policies.len())
        .filter(|&policy| scene.policies[policy] != UNIFORM)
        .filter_map(|policy| {
            let seconds = scene.runtime.lines[policy].mean_value.filter(|seconds| *seconds > 0.0)?;
            let line = &scene.cumulative.lines[policy];
            let regret = if is_by_common { line.common_value } else { line.mean_value };
            Some((policy, seconds, regret?))
        })
        .collect();
    if points.is_empty() {
        return None;
    }
    let range = |values: Vec<f64>| {
        values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)))
    };
    let (fast, slow) = range(points.iter().map(|point| point.1).collect());
    let (low, high) = range(points.iter().map(|point| point.2).collect());
    let margin = (0.15 * (high - low)).max(1.0);
    let title = "Regret against compute time";
    let name = |of: fn(&(usize, f64, f64)) -> f64| {
        let lowest = points.iter().min_by(|one, other| of(one).total_cmp(&of(other)));
        lowest.map_or("", |point| scene.policies[point.0].as_str())
    };
    let description = format!(
        "The lowest regret is that of {}, the fastest policy is {}.",
        name(|point| point.2),
        name(|point| point.1)
    );
    let mut canvas = scene.canvas("cost", 400.0, title, &description);
    let panel = Panel {
        area: Area { x: 76.0, y: 20.0, width: WIDTH - 110.0, height: 325.0 },
        title: String::new(),
        // Room on the right for names.
        x: Axis::log(
            match scene.runtime.is_cpu_time {
                true => "CPU seconds per trial: median, mean over problems",
                false => "wall-clock seconds per trial: median, mean over problems",
            },
            fast / 2.0,
            slow * 4.0,
        ),
        y: Axis::linear("mean normalized regret (% of Uniform's)", low - margin, high + margin),
    };
    panel.grid(&mut canvas);
    let marks: Vec<Area> = points
        .iter()
        .map(|&(_, x, y)| {
            let (x, y) = panel.at(x, y);
            Area { x: x - 6.0, y: y - 6.0, width: 12.0, height: 12.0 }
        })
        .collect();
    let mut taken = marks.clone();
    for (&(policy, _, _), mark) in points.iter().zip(&marks) {
        let look = &scene.looks[policy];
        let center = (mark.x + 6.0, mark.y + 6.0);
        canvas.marker(center, look.marker, 11.0, look.color);
        let name = cut(&scene.policies[policy], TEXT.size, 360.0);
        let (place, area) = free_place(&name, center, &panel.area, &taken);
        // A name that stands farther off, or beside another point, is led to its own.
        let near = Area { x: center.0 - 14.0, y: center.1 - 14.0, width: 28.0, height: 28.0 };
        let has_neighbor = marks.iter().filter(|other| other.overlaps(&near)).count() > 1;
        if has_neighbor || !area.overlaps(&near) {
            let end = (center.0.clamp(area.x, area.right()), center.1.clamp(area.y, area.bottom()));
            canvas.line(center, end, &Stroke::solid(FAINT, 0.8));
        }
        taken.push(area);
        canvas.text(place, &name, TEXT.anchored(Anchor::Start));
    }
    panel.frame(&mut canvas);
    let trials = match is_by_common {
        true => {
            format!("the trials that all policies have in common, {}", scene.cumulative.common_in_words())
        }
        false => "each policy's own trials, since none is common to all".to_owned(),
    };
    let clock = if scene.runtime.is_cpu_time { "CPU" } else { "wall-clock" };
    let caption = format!(
        "Down and to the left is better. Mean normalized regret over all problems, by {trials}, against the median {clock} seconds of a \
         trial, averaged over all problems. Policies without results on every problem are not shown, nor is Uniform (100 at almost no \
         time). Seconds depend on the machine{}.",
        if scene.runtime.is_cpu_time { "" } else { " and on what else ran on it" }
    );
    Some(Figure { id: scene.id("cost"), title: title.to_owned(), caption, svg: canvas.finish() })
}

/// Where a name stands beside its point without covering others: the first free place around it.
fn free_place(name: &str, (x, y): (f64, f64), frame: &Area, taken: &[Area]) -> ((f64, f64), Area) {
    let width = text_width(name, TEXT.size, false);
    let (right, left, middle) = (x + 10.0, x - 10.0 - width, x - width / 2.0);
    let around = [(right, 4.0), (left, 4.0), (middle, -11.0), (middle, 19.0)];
    let farther = (1..12).flat_map(|step| {
        let shift = 7.0 * f64::from(step);
        [(right, 4.0 - shift), (right, 4.0 + shift), (left, 4.0 - shift), (left, 4.0 + shift)]
    });
    let candidate = |(x, shift): (f64, f64)| {
        let area = Area { x, y: y + shift - 10.0, width, height: 13.0 };
        ((x, y + shift), area)
    };
    let is_free = |(_, area): &((f64, f64), Area)| {
        frame.contains(area) && !taken.iter().any(|other| other.overlaps(area))
    };
    around.into_iter().chain(farther).map(candidate).find(is_free).unwrap_or_else(|| candidate((right, 4.0)))
}
