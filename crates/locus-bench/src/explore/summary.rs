//! The summary that `locus explore` prints and writes to `summary.txt`.

use super::Findings;
use super::draws::{Look, Seen, Spread, View};
use super::modes::Mode;
use super::subject::JUDGING_DRAWS;
use crate::summary::{Statistics, aligned};

/// The whole text.
pub(super) fn render(findings: &Findings<'_>) -> String {
    let Findings { problem, kind, first, followed, seen, .. } = findings;
    let best = problem.action_name(kind.best_action);
    let n_contexts = kind.contexts.len();
    let steps = seen[0].looks.last().map_or(0, |look| look.step);
    let mut text = format!("{}\n", findings.identity());
    text.push_str(&format!("followed: the context of round {followed}, for which {best} is best"));
    if let Some(clearest) = first.clearest {
        let is_clearest = kind.rounds[clearest] == *followed;
        text.push_str(&format!(
            "{}\nat first: after step {} every policy expected more reward of another action for {} of the {n_contexts} \
             contexts of this kind",
            if is_clearest { ", the one that all policies first misjudged the most" } else { "" },
            first.step,
            first.places.len(),
        ));
    }
    text.push_str(&format!(
        "\n\nthe followed context after step {steps}, {} draws\n{}",
        seen[0].n_draws,
        aligned(&described(findings, View::Single))
    ));
    text.push_str(&format!(
        "\nall {n_contexts} contexts for which {best} is best after step {steps}, one draw each\n{}",
        aligned(&described(findings, View::Many))
    ));
    let n_within = seen[0].ending.within.len() / findings.n_actions.max(1);
    text.push_str(&format!(
        "\nsingle contexts after step {steps}: {} of these contexts with {} draws each\n{}",
        n_within,
        super::WITHIN_DRAWS,
        aligned(&within(findings))
    ));
    text.push_str(&format!(
        "\nmisjudged contexts: the mean of {JUDGING_DRAWS} draws is higher for another action than for {best}\n{}",
        aligned(&misjudged(findings))
    ));
    text.push_str(
        "\nchosen: the share of draws in which the action is the highest. humps: of the density, with a valley of a fifth\n\
         between them and a twentieth of the draws each; modes: those whose valley is also three standard errors deep. Modes\n\
         miss small humps, and humps count ragged tails, so both are shown: \"0 to 7 of 101\". Several over all contexts but\n\
         one within each means that contexts differ, not that a posterior has several modes.\n",
    );
    text
}

fn header(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|&column| column.to_owned()).collect()
}

/// Mean, spread and modes after the last step, of every policy and action that is shown.
fn described(findings: &Findings<'_>, view: View) -> Vec<Vec<String>> {
    let mut lines =
        vec![header(&["policy", "action", "mean", "sd", "chosen", "modes", "humps", "looks with several"])];
    for seen in &findings.seen {
        let Some(last) = seen.looks.last() else { continue };
        for action in &findings.actions {
            let described = seen.describe(view, last, action.index);
            let several = |found: fn(&[f64]) -> Vec<Mode>| {
                let is_several = |look: &&Look| found(&seen.draws(view, look, action.index)).len() > 1;
                seen.looks.iter().filter(is_several).count()
            };
            let (n_modes, n_humps) = (several(super::modes::modes), several(super::modes::humps));
            lines.push(vec![
                seen.policy.clone(),
                action.name.clone(),
                number(described.mean),
                number(described.sd),
                percent(described.chosen),
                modes(&described.modes),
                modes(&described.humps),
                format!("{n_modes} to {n_humps} of {}", seen.looks.len()),
            ]);
        }
    }
    lines
}

/// Is it single contexts whose draws have several modes, or do contexts differ?
fn within(findings: &Findings<'_>) -> Vec<Vec<String>> {
    let columns = ["policy", "action", "sd within", "sd between", "contexts with several"];
    let mut lines = vec![header(&columns)];
    for seen in &findings.seen {
        for action in &findings.actions {
            let spreads: Vec<Spread> =
                seen.ending.within.iter().skip(action.index).step_by(findings.n_actions).copied().collect();
            let n = spreads.len().max(1) as f64;
            let variance = spreads.iter().map(|spread| spread.sd.powi(2)).sum::<f64>() / n;
            let means: Vec<f64> = spreads.iter().map(|spread| spread.mean).collect();
            let between = Statistics::of(&means).and_then(|statistics| statistics.sd).unwrap_or(0.0);
            let n_modes = spreads.iter().filter(|spread| spread.n_modes > 1).count();
            let n_humps = spreads.iter().filter(|spread| spread.n_humps > 1).count();
            lines.push(vec![
                seen.policy.clone(),
                action.name.clone(),
                number(variance.sqrt()),
                number(between),
                format!("{} to {}", percent(n_modes as f64 / n), percent(n_humps as f64 / n)),
            ]);
        }
    }
    lines
}

fn misjudged(findings: &Findings<'_>) -> Vec<Vec<String>> {
    let n_first = findings.first.places.len();
    let mut columns = header(&["policy", "at the end", "regret of the trial"]);
    if n_first > 0 {
        columns.insert(2, format!("of the {n_first} that all misjudged at first"));
    }
    let mut lines = vec![columns];
    let counted = |n: usize, all: usize| format!("{n} ({})", percent(n as f64 / all.max(1) as f64));
    for seen in &findings.seen {
        let is_missed = |place: &&usize| seen.ending.margins[**place] > 0.0;
        let n_missed = n_misjudged(seen);
        let mut cells = vec![
            seen.policy.clone(),
            counted(n_missed, findings.kind.contexts.len()),
            number(seen.result.cumulative_regret()),
        ];
        if n_first > 0 {
            let n_still = findings.first.places.iter().filter(is_missed).count();
            cells.insert(2, counted(n_still, n_first));
        }
        lines.push(cells);
    }
    lines
}

/// Contexts of the kind of which the policy expects more of another action at the end.
pub(super) fn n_misjudged(seen: &Seen) -> usize {
    seen.ending.margins.iter().filter(|margin| **margin > 0.0).count()
}

fn modes(modes: &[Mode]) -> String {
    match modes {
        [only] => format!("1: {}", number(only.place)),
        several => {
            let each = several.iter().map(|mode| format!("{} ({})", number(mode.place), percent(mode.share)));
            format!("{}: {}", several.len(), each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// About three digits.
fn number(value: f64) -> String {
    let text = match value.abs() {
        size if size >= 1e6 || (size > 0.0 && size < 1e-3) => format!("{value:.2e}"),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    };
    text.replace('-', "−")
}

fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    if percent > 0.0 && percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_tell_something() {
        assert_eq!(
            [4.912, -30.06, 3485.0, 0.0, 0.0123, 0.00001, 2.5e9].map(number),
            ["4.91", "−30.1", "3485", "0.00", "0.012", "1.00e−5", "2.50e9"]
        );
        assert_eq!([0.0, 0.004, 0.5, 1.0].map(percent), ["0 %", "0.4 %", "50 %", "100 %"]);
        let two = [Mode { place: -30.0, share: 0.25 }, Mode { place: 5.0, share: 0.75 }];
        assert_eq!(modes(&two), "2: −30.0 (25 %), 5.00 (75 %)");
        assert_eq!(modes(&two[1..]), "1: 5.00");
    }
}
