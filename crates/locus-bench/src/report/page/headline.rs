//! The headline table: every policy with its mean regret, its difference from the leader, and its mean on each problem.

use super::scrolling;
use crate::experiment::UNIFORM;
use crate::report::Section;
use crate::report::standing::{Basis, Difference, Place, Standing, Verdict};
use crate::report::svg::escaped;
use crate::summary::{Metric, number, signed};

pub(super) fn render(section: &Section) -> String {
    let standing = &section.standing;
    let leader = standing.leader();
    let has_several = standing.problems.len() > 1;
    let mut titles = vec!["policy".to_owned()];
    if let Some(leader) = leader {
        let what = if has_several { "mean" } else { "regret" };
        titles.push(format!("{what} ± standard error"));
        if standing.rivals().nth(1).is_some() {
            titles.push(format!("minus {}", leader.policy));
        }
    }
    if has_several || leader.is_none() {
        titles.extend(standing.problems.iter().cloned());
    }
    let mut html = format!(
        "<table class=\"sortable headline\" id=\"{}table-result\">\n<caption>{}</caption>\n<thead><tr>",
        section.prefix,
        escaped(&caption(standing))
    );
    for title in &titles {
        html.push_str(&format!("<th scope=\"col\"><button type=\"button\">{}</button></th>", escaped(title)));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for place in &standing.places {
        html.push_str(&row(standing, place));
    }
    html.push_str("</tbody></table>\n");
    scrolling("Mean regret of every policy", &html)
}

fn row(standing: &Standing, place: &Place) -> String {
    let class = if place.policy == UNIFORM { " class=\"baseline\"" } else { "" };
    let mut html = format!(
        "<tr{class}><th scope=\"row\" data-sort=\"{0}\"><code>{0}</code></th>",
        escaped(&place.policy)
    );
    let shown = |value: f64| escaped(&number(Metric::Cumulative, value));
    if let Some(leader) = standing.leader() {
        let is_leader = place.policy == leader.policy;
        html.push_str(&match place.mean {
            Some(mean) => {
                let se = place
                    .se
                    .map(|se| format!("<span class=\"se\"> ± {}</span>", shown(se)))
                    .unwrap_or_default();
                let class = if is_leader { " class=\"best\"" } else { "" };
                format!("<td data-sort=\"{mean}\"{class}><b>{}</b>{se}</td>", shown(mean))
            }
            None => "<td>–</td>".to_owned(),
        });
        if standing.rivals().nth(1).is_some() {
            html.push_str(&match &place.difference {
                Some(difference) if place.policy != UNIFORM => difference_cell(difference),
                _ => "<td>–</td>".to_owned(),
            });
        }
        if standing.problems.len() == 1 {
            return html + "</tr>\n";
        }
    }
    for (problem, cell) in place.cells.iter().enumerate() {
        let class = if standing.is_lowest(place, problem) { " class=\"best\"" } else { "" };
        html.push_str(&match cell {
            Some(cell) => format!("<td data-sort=\"{}\"{class}>{}</td>", cell.mean, shown(cell.mean)),
            None => "<td>–</td>".to_owned(),
        });
    }
    html + "</tr>\n"
}

fn difference_cell(difference: &Difference) -> String {
    let interval = difference
        .interval
        .map(|(low, high)| format!(" <span class=\"se\">[{}, {}]</span>", signed(low), signed(high)))
        .unwrap_or_default();
    let level = if difference.verdict() == Verdict::Level { " n.s." } else { "" };
    let paired = if difference.paired.is_none() { "*" } else { "" };
    format!(
        "<td data-sort=\"{0}\">{1}{paired}{interval}{level}</td>",
        difference.value,
        signed(difference.value)
    )
}

fn caption(standing: &Standing) -> String {
    let measure = match standing.is_normalized {
        true => "Mean cumulative regret in percent of the uniform baseline's; lower is better.",
        false => "Mean cumulative regret in the unit of the rewards; lower is better.",
    };
    let trials = match standing.basis {
        _ if standing.places.len() < 2 => String::new(),
        Basis::Common(1, 1) => {
            " Means are over the one trial that all policies share on a problem.".to_owned()
        }
        Basis::Common(fewest, most) if fewest == most => {
            format!(" Means are over the {most} trials that all policies share on each problem.")
        }
        Basis::Common(fewest, most) => {
            format!(" Means are over the {fewest} to {most} trials that all policies share on a problem.")
        }
        Basis::Own => " Means are over each policy's own trials.".to_owned(),
    };
    let is_compared = standing.leader().is_some() && standing.rivals().nth(1).is_some();
    let difference = match is_compared {
        true => {
            " Differences have 95 % confidence intervals and are paired, trial by trial; n.s.: not significant, the interval includes 0."
        }
        false => "",
    };
    let is_unpaired = |place: &Place| place.difference.is_some_and(|difference| difference.paired.is_none());
    let unpaired = match standing.rivals().any(is_unpaired) {
        true => " *: no common trials on every problem, so this is the difference of two independent means.",
        false => "",
    };
    let baseline = match standing.places.iter().any(|place| place.policy == UNIFORM) {
        true => ", the baseline not counted",
        false => "",
    };
    format!("{measure}{trials}{difference}{unpaired} Highlighted: the lowest of a column{baseline}.")
}
