//! What was run, with what, where, and how to run it again.

use std::time::{SystemTime, UNIX_EPOCH};

use super::scrolling;
use crate::record::{PartRecord, RunFile, Session, TrialRow};
use crate::report::Section;
use crate::report::collect::RunFolder;
use crate::report::svg::escaped;
use crate::summary::{interventions, seconds_in_words};

pub(super) fn render(section: &Section, level: usize) -> String {
    section.folders.iter().map(|one| folder(one, section, level)).collect()
}

fn folder(folder: &RunFolder, section: &Section, level: usize) -> String {
    let mut facts: Vec<(&str, String)> = Vec::new();
    let first = &folder.rows[0];
    facts.push(("seed", first.seed.to_string()));
    facts.push(("steps", first.steps.to_string()));
    if folder.has_propensities() {
        facts.push(("propensities", "exact; actions are sampled from the reported probabilities".to_owned()));
    }
    facts.push(("trials", trials(&folder.rows)));
    facts.push(("seconds, all trials", seconds_in_words(&folder.rows)));
    let mut versions: Vec<&str> = folder.rows.iter().map(|row| row.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    facts.push(("versions of Locus", escaped(&versions.join(", "))));
    if let Some(written) = folder.written.and_then(date) {
        facts.push(("last trial recorded", format!("{written} (date of trials.csv)")));
    }
    let mut html = format!(
        "<h{level}>{}</h{level}>\n<p>Folder <code>{}</code></p>\n",
        escaped(&folder.name),
        escaped(&folder.out.display().to_string())
    );
    html.push_str("<dl class=\"facts\">\n");
    for (name, value) in facts {
        html.push_str(&format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    }
    if let Some(run) = &folder.run {
        for session in &run.sessions {
            html.push_str(&format!("<dt>run</dt><dd>{}</dd>\n", session_html(session)));
        }
    }
    html.push_str("</dl>\n");
    if let Some(run) = &folder.run {
        html.push_str(&data(run));
        html.push_str(&settings(run));
    }
    let shown = shown_rows(&folder.rows, section);
    html.push_str(&guarded(&shown, level + 1));
    html.push_str(&failures(&shown, level + 1));
    html
}

/// The rows of policies and problems that the report shows. Names of shown policies may have a mark after them.
fn shown_rows(rows: &[TrialRow], section: &Section) -> Vec<TrialRow> {
    let is_shown = |row: &&TrialRow| {
        let marked = format!("{} ", row.id.policy);
        section.problems.contains(&row.id.problem)
            && section.policies.iter().any(|shown| *shown == row.id.policy || shown.starts_with(&marked))
    };
    rows.iter().filter(is_shown).cloned().collect()
}

fn guarded(rows: &[TrialRow], level: usize) -> String {
    let sentences = interventions(rows);
    if sentences.is_empty() {
        return String::new();
    }
    let items: String =
        sentences.iter().map(|sentence| format!("<li>{}</li>\n", escaped(sentence))).collect();
    format!("<h{level}>Numerical guards</h{level}>\n<ul>\n{items}</ul>\n")
}

fn trials(rows: &[TrialRow]) -> String {
    let failed = rows.iter().filter(|row| row.outcome.is_err()).count();
    match failed {
        0 => rows.len().to_string(),
        _ => format!("{}, of which {failed} failed", rows.len()),
    }
}

fn session_html(session: &Session) -> String {
    let machine = &session.machine;
    let processor =
        machine.cpu_model.as_ref().map(|model| format!(", {}", escaped(model))).unwrap_or_default();
    let instructions =
        machine.instructions.as_ref().map(|name| format!(" with {}", escaped(name))).unwrap_or_default();
    format!(
        "<code class=\"command\">{}</code><br>suite {}, {} trials{}{}, {} jobs, Locus {}; {} {}{instructions}, {} threads{processor}",
        escaped(&command(&session.command)),
        escaped(&session.suite),
        session.trials,
        numbers(session),
        part(session),
        session.jobs,
        escaped(&session.version),
        escaped(&machine.os),
        escaped(&machine.arch),
        machine.cpus
    )
}

/// Which trials were asked for, where they are not the first ones.
fn numbers(session: &Session) -> String {
    match session.first_trial {
        0 => String::new(),
        first => format!(" (numbers {first} to {})", first.saturating_add(session.trials) - 1),
    }
}

/// Which part of the trials was asked for, where it was not all of them.
fn part(session: &Session) -> String {
    match &session.part {
        None => String::new(),
        Some(PartRecord { shard: Some(shard), .. }) => format!(", shard {}", escaped(shard)),
        Some(_) => ", only some of them".to_owned(),
    }
}

/// The command as one would type it: whatever path the program had, it is `locus`.
fn command(words: &[String]) -> String {
    let quoted = |word: &String| {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=,:@+".contains(letter);
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let rest = words.iter().skip(1).map(quoted);
    std::iter::once("locus".to_owned()).chain(rest).collect::<Vec<_>>().join(" ")
}

fn data(run: &RunFile) -> String {
    let mut html = String::from(
        "<table><caption>Problems and data</caption>\n<thead><tr><th scope=\"col\">problem</th><th scope=\"col\">features</th>\
         <th scope=\"col\">actions</th><th scope=\"col\" class=\"left\">files, SHA-256</th>\
         <th scope=\"col\" class=\"left\">rounds of trial 0, SHA-256</th></tr></thead>\n<tbody>\n",
    );
    for problem in &run.problems {
        let files: Vec<String> = problem
            .files
            .iter()
            .map(|file| format!("{}<br><code>{}</code>", escaped(&file.name), escaped(&file.sha256)))
            .collect();
        let files = if files.is_empty() { "generated".to_owned() } else { files.join("<br>") };
        html.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"left\">{files}</td><td class=\"left\"><code>{}</code></td></tr>\n",
            escaped(&problem.name),
            problem.n_features,
            match problem.n_action_features {
                0 => problem.n_actions.to_string(),
                n => format!("{} of {n} features", problem.n_actions),
            },
            escaped(&problem.first_trial_sha256)
        ));
    }
    html.push_str("</tbody></table>\n");
    scrolling("Problems and data", &html)
}

fn settings(run: &RunFile) -> String {
    let mut html =
        String::from("<details><summary>Every setting of each policy</summary><dl class=\"facts\">\n");
    for policy in &run.policies {
        // A place to break the line after each setting.
        let settings = escaped(&policy.settings).replace(',', ",<wbr>");
        html.push_str(&format!(
            "<dt><code>{}</code></dt><dd><code>{settings}</code></dd>\n",
            escaped(&policy.policy)
        ));
    }
    html.push_str("</dl></details>\n");
    html
}

fn failures(rows: &[TrialRow], level: usize) -> String {
    /// More would hide what follows; `trials.csv` has them all.
    const SHOWN: usize = 50;
    let failed: Vec<(&TrialRow, &String)> =
        rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().err()?))).collect();
    if failed.is_empty() {
        return String::new();
    }
    let mut html = format!("<h{level}>Failed trials</h{level}>\n<ul>\n");
    for (row, error) in failed.iter().take(SHOWN) {
        html.push_str(&format!("<li>{}: {}</li>\n", escaped(&row.id.to_string()), escaped(error)));
    }
    if failed.len() > SHOWN {
        html.push_str(&format!("<li>and {} more: see trials.csv</li>\n", failed.len() - SHOWN));
    }
    html.push_str("</ul>\n");
    html
}

/// `2026-11-16 01:30 UTC`.
fn date(time: SystemTime) -> Option<String> {
    let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    // Days are counted from 1 March of the year 0, so that leap days come last (Hinnant, "chrono-compatible
    // low-level date algorithms").
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    Some(format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_by_hand() {
        let at = |seconds: u64| date(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(at(1_735_689_599), "2024-12-31 23:59 UTC");
        assert_eq!(at(4_107_542_400), "2100-03-01 00:00 UTC");
    }

    #[test]
    fn commands_can_be_typed_again() {
        let words = ["/tmp/x/locus", "bench", "--policies", "lu-gauss[latent_dim=3]", "--out", "it's"]
            .map(str::to_owned);
        assert_eq!(command(&words), "locus bench --policies 'lu-gauss[latent_dim=3]' --out 'it'\\''s'");
    }
}
