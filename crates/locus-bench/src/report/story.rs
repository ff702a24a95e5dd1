//! The story of a section in words: what was compared, who wins, by how much, how surely, and where others win.
//!
//! Every sentence is computed from the records. Names stand between backticks; the page makes code of them.

use std::collections::BTreeMap;

use super::standing::{Basis, Difference, Place, Standing, Verdict, Winner};
use crate::experiment::UNIFORM;
use crate::paper;
use crate::record::{TrialRow, WITH_PROPENSITIES};
use crate::summary::{Metric, number, signed};

/// What the page begins with.
pub(super) struct Story {
    pub(super) title: String,
    /// Each a paragraph.
    pub(super) paragraphs: Vec<String>,
}

impl Story {
    pub(super) fn new(standing: &Standing, rows: &[TrialRow]) -> Self {
        let result = [winner(standing), paired_beside(standing)].into_iter().flatten();
        let result: Vec<String> = std::iter::once(compared(standing, rows)).chain(result).collect();
        let others = [by_problem(standing), trial_numbers(standing, rows), caveats(standing, rows)];
        let paragraphs = std::iter::once(result.join(" ")).chain(others.into_iter().flatten()).collect();
        Self { title: title(standing), paragraphs }
    }
}

/// Such as `Contextual bandit benchmark: 7 policies on the paper's eight problems`.
fn title(standing: &Standing) -> String {
    let rivals: Vec<&Place> = standing.rivals().collect();
    let policies = match rivals[..] {
        [] => UNIFORM.to_owned(),
        [only] => only.policy.clone(),
        _ => format!("{} policies", rivals.len()),
    };
    let mut columns: Vec<_> =
        standing.problems.iter().map(|problem| paper::problem_column(problem)).collect();
    columns.sort_unstable();
    let problems = match &standing.problems[..] {
        [only] => only.clone(),
        _ if columns.into_iter().eq((0..paper::PROBLEMS.len()).map(Some)) => {
            "the paper's eight problems".to_owned()
        }
        many => format!("{} problems", many.len()),
    };
    format!("Contextual bandit benchmark: {policies} on {problems}")
}

/// Who ran on what, and what the numbers mean.
fn compared(standing: &Standing, rows: &[TrialRow]) -> String {
    let rivals: Vec<&Place> = standing.rivals().collect();
    let has_uniform = rivals.len() < standing.places.len();
    let problems = match &standing.problems[..] {
        // More would hide the result; they are described below.
        few if few.len() <= 3 => list(few.iter().map(|problem| code(problem))),
        many => format!("{} problems", many.len()),
    };
    let mut by_cell = BTreeMap::<(&str, &str), usize>::new();
    for row in rows.iter().filter(|row| row.outcome.is_ok()) {
        *by_cell.entry((&row.id.policy, &row.id.problem)).or_default() += 1;
    }
    let trials = match (by_cell.values().min(), by_cell.values().max()) {
        (Some(&fewest), Some(&most)) => trials((fewest, most)),
        _ => "no finished trials".to_owned(),
    };
    let (steps, seed) = rows.first().map_or((0, 0), |row| (row.steps, row.seed));
    let per = if standing.problems.len() > 1 { " per problem" } else { "" };
    let setup = format!("{trials} of {steps} steps{per}, random seed {seed}");
    let measure = match standing.is_normalized {
        true => " Regret is in percent of the uniform baseline's: 0 is optimal, 100 is a random choice.",
        false => "",
    };
    let beside = if has_uniform { " beside the uniform baseline" } else { "" };
    let ran = match rivals[..] {
        [] => format!("Only the uniform baseline ran on {problems}"),
        [only] => format!("{} ran on {problems}{beside}", code(&only.policy)),
        _ => format!("{} policies ran on {problems}{beside}", rivals.len()),
    };
    format!("{ran}: {setup}.{measure}")
}

/// Who has the lowest mean, and by how much.
fn winner(standing: &Standing) -> Option<String> {
    let Some(leader) = standing.leader() else {
        standing.rivals().next()?;
        return Some(match standing.is_normalized || standing.problems.len() == 1 {
            true => "No policy has results on every problem, so there is no winner over all of them.".to_owned(),
            false => "There is no uniform baseline, so regret is not normalized and there is no winner over all problems. \
                      To add it, run the same command with `uniform` among its policies."
                .to_owned(),
        });
    };
    let value = |place: &Place| mean_in_words(standing, place, "");
    let first = mean_in_words(standing, leader, "standard error ");
    let own = code(&leader.policy);
    let measure = match (standing.is_normalized, standing.problems.len()) {
        (true, 1) => "mean normalized regret",
        (true, _) => "mean normalized regret over the problems",
        (false, _) => "mean cumulative regret",
    };
    let Some(second) = standing.runner_up() else {
        let rest = match standing.rivals().count() {
            1 => "",
            _ => "; no other policy has results on every problem",
        };
        let better = not_better(standing, leader);
        return Some(format!("The {measure} of {own} is {first}{rest}.{better}"));
    };
    let (other, difference) = (code(&second.policy), second.difference?.reversed());
    let means = format!("{first}, against {} for the runner-up, {other}", value(second));
    let sure = difference_in_words(standing, &difference);
    let mut sentence = match difference.verdict() {
        Verdict::Lower => format!("**{own} wins**: its {measure} is {means}. {sure}"),
        Verdict::Level => {
            format!(
                "**{own} has the lowest {measure}, but its lead over {other} is not significant**: {means}. {sure}"
            )
        }
        Verdict::Unknown => {
            format!("**{own} has the lowest {measure}**, {means}. {sure}")
        }
        // Their own trials may say the opposite of those that both have.
        Verdict::Higher => format!(
            "**{own} has the lowest {measure}** over its own trials, {means}; but {other} is lower where both ran. {sure}"
        ),
    };
    let is_level = |place: &&Place| {
        let reversed = place.difference.map(|difference| difference.reversed().verdict());
        place.policy != second.policy && reversed == Some(Verdict::Level)
    };
    let level: Vec<String> = standing.rivals().filter(is_level).map(|place| code(&place.policy)).collect();
    if !level.is_empty() {
        sentence.push_str(&format!(" Neither is its lead over {}.", list(level.into_iter())));
    }
    sentence.push_str(&not_better(standing, leader));
    Some(sentence)
}

/// A leader that does not beat Uniform is no winner.
fn not_better(standing: &Standing, leader: &Place) -> String {
    match leader.mean {
        Some(mean) if standing.is_normalized && mean >= 100.0 => {
            format!(
                " No policy is better than the uniform baseline: {} has the lowest regret.",
                code(&leader.policy)
            )
        }
        _ => String::new(),
    }
}

/// The nearest policy that shares trials with the leader, where the runner-up does not.
fn paired_beside(standing: &Standing) -> Option<String> {
    let leader = standing.leader()?;
    if standing.runner_up()?.difference?.paired.is_some() {
        return None;
    }
    let shares = |place: &&Place| place.difference.is_some_and(|difference| difference.paired.is_some());
    let nearest = standing.rivals().find(shares)?;
    let difference = nearest.difference?.reversed();
    let (own, other) = (code(&leader.policy), code(&nearest.policy));
    let counts = difference.paired?;
    Some(format!(
        "{own} and {other} do share trials, {}: there {}.",
        per_problem(standing, counts),
        estimate(standing, &difference, "the paired difference")
    ))
}

/// Where the leader wins, and where others do.
fn by_problem(standing: &Standing) -> Option<String> {
    let n_problems = standing.problems.len();
    if n_problems < 2 || standing.rivals().count() < 2 {
        return None;
    }
    let winners = standing.winners();
    let Some(leader) = standing.leader() else {
        let items = winners.iter().map(|winner| won(winner, true));
        return Some(format!(
            "Lowest mean regret by problem, with the difference from the next policy and its 95 % confidence interval: {}.",
            items.collect::<Vec<_>>().join("; ")
        ));
    };
    let (own, others): (Vec<&Winner<'_>>, Vec<&Winner<'_>>) =
        winners.iter().partition(|winner| winner.policy == leader.policy);
    let name = code(&leader.policy);
    let names = list(own.iter().map(|winner| code(winner.problem)));
    let mut text = match own.len() {
        0 => format!("{name} has the lowest mean on none of the {n_problems} problems."),
        n if n == n_problems => format!("{name} has the lowest mean on all {n_problems} problems."),
        n => format!("{name} has the lowest mean on {n} of the {n_problems} problems: {names}."),
    };
    let is_level = |winner: &&&Winner<'_>| {
        winner.against.is_some_and(|(_, difference)| difference.verdict() == Verdict::Level)
    };
    let level = own.iter().filter(is_level).filter_map(|winner| Some((winner.problem, winner.against?)));
    let level = level.map(|(problem, (other, difference))| {
        format!("{} ({}: {})", code(problem), code(other), in_brackets(&difference))
    });
    let level = list(level);
    if !level.is_empty() {
        text.push_str(&format!(" Its lead over the runner-up is not significant on {level}."));
    }
    if !others.is_empty() {
        let rest = if own.is_empty() { "" } else { " elsewhere" };
        let items = others.iter().map(|winner| won(winner, false));
        text.push_str(&format!(
            " Lowest{rest}, with the difference from {name} and its 95 % confidence interval: {}.",
            items.collect::<Vec<_>>().join("; ")
        ));
    }
    Some(text)
}

/// Such as `` `bbb` on `wheel` (−1.20, −2.00 to −0.40) ``; `is_told` says that the other policy is named.
fn won(winner: &Winner<'_>, is_told: bool) -> String {
    let (policy, problem) = (code(winner.policy), code(winner.problem));
    let Some((other, difference)) = &winner.against else { return format!("{policy} on {problem}") };
    let level = if difference.verdict() == Verdict::Level { "not significant: " } else { "" };
    let before = if is_told { format!(" before {}", code(other)) } else { String::new() };
    format!("{policy}{before} on {problem} ({level}{})", in_brackets(difference))
}

/// Such as `−1.20, −2.00 to −0.40`.
fn in_brackets(difference: &Difference) -> String {
    let value = signed(difference.value);
    difference
        .interval
        .map_or(value.clone(), |(low, high)| format!("{value}, {} to {}", signed(low), signed(high)))
}

/// Which trials each policy ran, where no trial is common to all.
fn trial_numbers(standing: &Standing, rows: &[TrialRow]) -> Option<String> {
    if standing.basis != Basis::Own || standing.rivals().count() < 2 {
        return None;
    }
    let mut by_policy = BTreeMap::<&str, Vec<usize>>::new();
    for row in rows.iter().filter(|row| row.outcome.is_ok() && row.id.policy != UNIFORM) {
        by_policy.entry(&row.id.policy).or_default().push(row.id.trial);
    }
    let mut by_numbers = BTreeMap::<Vec<usize>, Vec<String>>::new();
    for (policy, mut numbers) in by_policy {
        numbers.sort_unstable();
        numbers.dedup();
        by_numbers.entry(numbers).or_default().push(code(policy));
    }
    if by_numbers.len() < 2 {
        return Some("No trial is common to all policies on every problem, so each mean is over the policy's own trials.".to_owned());
    }
    let items = by_numbers.iter().map(|(numbers, policies)| {
        format!("{} ran trials {}", list(policies.iter().cloned()), ranges(numbers))
    });
    Some(format!(
        "No trial is common to all policies, so each mean is over the policy's own trials: {}.",
        items.collect::<Vec<_>>().join("; ")
    ))
}

/// What a reader must know before trusting the numbers.
fn caveats(standing: &Standing, rows: &[TrialRow]) -> Option<String> {
    let mut sentences = Vec::new();
    let n_failed = rows.iter().filter(|row| row.outcome.is_err()).count();
    if n_failed > 0 {
        let (trials, are) = if n_failed == 1 { ("trial", "is") } else { ("trials", "are") };
        sentences.push(format!(
            "{n_failed} of {} trials failed: the failed {trials} {are} not counted.",
            rows.len()
        ));
    }
    if standing.places.iter().any(|place| place.policy.contains(WITH_PROPENSITIES)) {
        sentences.push(format!(
            "`{}` marks policies whose actions were sampled from reported probabilities.",
            WITH_PROPENSITIES.trim()
        ));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn difference_in_words(standing: &Standing, difference: &Difference) -> String {
    let what = match difference.paired {
        Some(counts) => format!("The paired difference over {}", shared(standing, counts)),
        None => match standing.problems.len() {
            1 => "The two share no trial, so no paired comparison is possible; the difference of their means".to_owned(),
            _ => "The two do not share trials on every problem, so no paired comparison is possible; the difference of their means"
                .to_owned(),
        },
    };
    format!("{}.", estimate(standing, difference, &what))
}

/// Such as `the paired difference is −4.40 points (95 % confidence interval −5.10 to −3.70)`.
fn estimate(standing: &Standing, difference: &Difference, what: &str) -> String {
    let value = signed(difference.value);
    let unit = if standing.is_normalized { " points" } else { "" };
    let zero = if difference.verdict() == Verdict::Level { ", which includes 0" } else { "" };
    match difference.interval {
        Some((low, high)) => format!(
            "{what} is {value}{unit} (95 % confidence interval {} to {}{zero})",
            signed(low),
            signed(high)
        ),
        None => format!("{what} is {value}{unit}; a single trial has no confidence interval"),
    }
}

/// Such as `35.82 % (standard error 0.19)`.
fn mean_in_words(standing: &Standing, place: &Place, label: &str) -> String {
    let value = place.mean.map_or_else(String::new, |mean| number(Metric::Cumulative, mean));
    let unit = if standing.is_normalized { " %" } else { "" };
    let error = place.se.map(|se| format!(" ({label}{})", number(Metric::Cumulative, se)));
    format!("{value}{unit}{}", error.unwrap_or_default())
}

/// `the 10 trials per problem that all policies share`.
fn shared(standing: &Standing, counts: (usize, usize)) -> String {
    let who = if standing.basis == Basis::Own { "both" } else { "all policies" };
    format!("the {} that {who} share", per_problem(standing, counts))
}

fn per_problem(standing: &Standing, counts: (usize, usize)) -> String {
    let per = if standing.problems.len() > 1 { " per problem" } else { "" };
    format!("{}{per}", trials(counts))
}

fn trials(counts: (usize, usize)) -> String {
    match counts {
        (1, 1) => "1 trial".to_owned(),
        (fewest, most) if fewest == most => format!("{most} trials"),
        (fewest, most) => format!("{fewest} to {most} trials"),
    }
}

/// `0–49 and 200–249`.
fn ranges(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(start, end): &(usize, usize)| match start == end {
        true => start.to_string(),
        false => format!("{start}–{end}"),
    };
    // More would hide the rest.
    match ranges.len() {
        0..=4 => list(ranges.iter().map(text)),
        n => format!("{} and {} more ranges", text(&ranges[0]), n - 1),
    }
}

/// `a, b and c`.
fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match &items[..] {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn code(text: &str) -> String {
    format!("`{}`", name(text))
}

/// A name must not end its own code.
fn name(text: &str) -> String {
    text.replace('`', "'").replace("**", "* *")
}

#[cfg(test)]
mod tests;
