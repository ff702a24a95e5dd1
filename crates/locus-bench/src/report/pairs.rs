//! Policies against one of them, trial by trial: the numbers, and as text to be copied or printed.

use super::compare::{CONFIDENCE, Paired, PairedOverall, Values, overall};
use crate::experiment::UNIFORM;
use crate::record::TrialRow;
use crate::summary::{Format, Metric, Table, aligned, latex_escaped, markdown_escaped, signed};

/// All others against one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// What is compared.
    pub metric: Metric,
    /// The policy that the others are compared with.
    pub reference: String,
    /// The problems, in the order of [`PairedLine::pairs`].
    pub problems: Vec<String>,
    /// The others.
    pub lines: Vec<PairedLine>,
    /// Which trials are missing, and why.
    pub notes: Vec<String>,
}

/// A policy against another, problem by problem.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedLine {
    /// The first of the two.
    pub policy: String,
    /// `None` where they share no trial.
    pub pairs: Vec<Option<Paired>>,
    /// Needs common trials on every problem.
    pub overall: Option<PairedOverall>,
}

/// What stands in the rows of a table for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down {
    /// A row for each policy.
    Policies,
    /// A row for each problem.
    Problems,
}

impl Pairs {
    /// All policies of `rows` against `reference`; but Uniform, by whose regret all are measured.
    pub fn new(rows: &[TrialRow], metric: Metric, reference: &str) -> Self {
        let Table { lines, problems, notes, .. } = Table::new(rows, metric);
        let policies = lines.into_iter().map(|line| line.policy).filter(|policy| policy != UNIFORM);
        let policies: Vec<String> = policies.collect();
        let pairs = Self::of(&Values::new(rows, metric), metric, reference, &policies, &problems);
        Self { notes, ..pairs }
    }

    /// Whether any two share a trial.
    pub fn has_any(&self) -> bool {
        self.lines.iter().any(|line| line.pairs.iter().any(Option::is_some))
    }

    /// Whether there is anything to put together: one problem alone is all problems.
    pub(super) fn has_overall(&self) -> bool {
        self.problems.len() > 1
    }

    /// These policies against `reference`, which may be one of them.
    pub(super) fn of(
        values: &Values,
        metric: Metric,
        reference: &str,
        policies: &[String],
        problems: &[String],
    ) -> Self {
        let line = |policy: &String| {
            let paired = |problem: &String| values.paired(policy, reference, problem);
            let pairs: Vec<Option<Paired>> = problems.iter().map(paired).collect();
            let complete: Option<Vec<Paired>> = pairs.iter().copied().collect();
            PairedLine { policy: policy.clone(), pairs, overall: complete.as_deref().and_then(overall) }
        };
        let lines = policies.iter().filter(|policy| *policy != reference).map(line).collect();
        Self {
            metric,
            reference: reference.to_owned(),
            problems: problems.to_vec(),
            lines,
            notes: Vec::new(),
        }
    }

    /// For people the difference, its interval and the wins; for programs in columns, a row for each pair. `down` is how tables
    /// for pages and papers stand; a terminal has a block for each problem.
    pub fn render(&self, format: Format, down: Down) -> String {
        let rows = || match down {
            Down::Policies => self.rows(),
            Down::Problems => transposed(&self.rows()),
        };
        match format {
            Format::Csv => self.csv(),
            Format::Text => self.text(),
            Format::Markdown => markdown(&rows(), &self.words(), &self.notes),
            Format::Latex => latex(&rows(), &[vec![self.words()], self.notes.clone()].concat().join(" ")),
        }
    }

    /// Problem by problem, one line for each policy, so that any number of both stays readable.
    fn text(&self) -> String {
        let header =
            [&*format!("against {}", self.reference), "difference", "from", "to", "wins", "ties", "trials"];
        let header = header.map(str::to_owned).to_vec();
        let ends = |interval: Option<(f64, f64)>| match interval {
            Some((low, high)) => [signed(low), signed(high)],
            None => [dash(), dash()],
        };
        let mut out = String::new();
        for (place, problem) in self.problems.iter().enumerate() {
            let mut block = vec![header.clone()];
            for PairedLine { policy, pairs, .. } in &self.lines {
                let mut row = vec![policy.clone()];
                match &pairs[place] {
                    Some(paired) => {
                        row.push(signed(paired.difference.mean));
                        row.extend(ends(paired.interval()));
                        row.extend([paired.wins, paired.ties, paired.n].map(|count| count.to_string()));
                    }
                    None => row.extend(std::iter::repeat_with(dash).take(header.len() - 1)),
                }
                block.push(row);
            }
            out.push_str(&format!("{problem}\n{}\n", aligned(&block)));
        }
        if self.has_overall() {
            let mut block = vec![header[..4].to_vec()];
            for PairedLine { policy, overall, .. } in &self.lines {
                let mut row =
                    vec![policy.clone(), overall.map_or_else(dash, |overall| signed(overall.difference))];
                row.extend(ends(overall.and_then(|overall| overall.interval)));
                block.push(row);
            }
            out.push_str(&format!("all problems\n{}\n", aligned(&block)));
        }
        out + &[vec![self.words()], self.notes.clone()].concat().join("\n") + "\n"
    }

    /// The header, and a row for each policy.
    fn rows(&self) -> Vec<Vec<String>> {
        let titles = self.has_overall().then(|| "all problems".to_owned()).into_iter();
        let titles = titles.chain(self.problems.iter().cloned());
        let mut rows =
            vec![std::iter::once(format!("against {}", self.reference)).chain(titles).collect::<Vec<_>>()];
        for PairedLine { policy, pairs, overall } in &self.lines {
            let overall = overall.map_or_else(dash, |overall| estimate(overall.difference, overall.interval));
            let pairs = pairs.iter().map(|paired| {
                paired.as_ref().map_or_else(dash, |paired| {
                    let difference = estimate(paired.difference.mean, paired.interval());
                    format!("{difference}, {} of {}", paired.wins, paired.n)
                })
            });
            let overall = self.has_overall().then_some(overall);
            rows.push(std::iter::once(policy.clone()).chain(overall).chain(pairs).collect());
        }
        rows
    }

    fn words(&self) -> String {
        let mut words = format!(
            "Difference of {}, its {:.0} % interval, and in how many common trials the policy wins against {} (a tie is no win); \
             negative is better. Intervals are not corrected for multiple comparisons.",
            self.metric.title().to_lowercase(),
            CONFIDENCE * 100.0,
            self.reference
        );
        let is_missing = |line: &PairedLine| line.pairs.iter().any(Option::is_none);
        if self.lines.iter().any(is_missing) {
            words.push_str(" –: the two have no trial in common; over all problems, not on each.");
        }
        words
    }

    fn csv(&self) -> String {
        let mut writer = ::csv::Writer::from_writer(Vec::new());
        let mut write = |record: [String; 9]| {
            writer.write_record(record).expect("a Vec takes every write, and all records have one length");
        };
        let exact = |value: f64| format!("{value:?}");
        let ends = |interval: Option<(f64, f64)>| match interval {
            Some((low, high)) => [exact(low), exact(high)],
            None => [String::new(), String::new()],
        };
        let header = ["policy", "against", "problem", "difference", "low", "high", "wins", "ties", "n"];
        write(header.map(str::to_owned));
        for line in &self.lines {
            let named = |problem: &str| [line.policy.clone(), self.reference.clone(), problem.to_owned()];
            for (problem, paired) in self.problems.iter().zip(&line.pairs) {
                let Some(paired) = paired else { continue };
                let ([policy, against, problem], [low, high]) = (named(problem), ends(paired.interval()));
                let counts = [paired.wins, paired.ties, paired.n].map(|count| count.to_string());
                let [wins, ties, n] = counts;
                write([policy, against, problem, exact(paired.difference.mean), low, high, wins, ties, n]);
            }
            if let Some(overall) = line.overall.as_ref().filter(|_| self.has_overall()) {
                let ([policy, against, problem], [low, high]) =
                    (named("all problems"), ends(overall.interval));
                let none = String::new;
                write([
                    policy,
                    against,
                    problem,
                    exact(overall.difference),
                    low,
                    high,
                    none(),
                    none(),
                    none(),
                ]);
            }
        }
        let bytes = writer.into_inner().expect("a Vec can be flushed");
        String::from_utf8(bytes).expect("what was written was text")
    }
}

fn transposed(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let n_columns = rows.first().map_or(0, Vec::len);
    (0..n_columns).map(|column| rows.iter().map(|row| row[column].clone()).collect()).collect()
}

fn joined(row: &[String], escaped: fn(&str) -> String, between: &str) -> String {
    row.iter().map(|cell| escaped(cell)).collect::<Vec<_>>().join(between)
}

fn markdown(rows: &[Vec<String>], words: &str, notes: &[String]) -> String {
    let mut out = String::new();
    for (place, row) in rows.iter().enumerate() {
        out.push_str(&format!("| {} |\n", joined(row, markdown_escaped, " | ")));
        if place == 0 {
            out.push_str(&format!("| --- |{}\n", " ---: |".repeat(row.len() - 1)));
        }
    }
    out.push_str(&format!("\n{words}\n"));
    if !notes.is_empty() {
        out.push('\n');
        out.extend(notes.iter().map(|note| format!("- {note}\n")));
    }
    out
}

fn latex(rows: &[Vec<String>], words: &str) -> String {
    let n_numbers = rows.first().map_or(0, |row| row.len() - 1);
    let mut out = format!(
        "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\begin{{tabular}}{{l{}}}\n\\toprule\n",
        latex_escaped(words),
        "r".repeat(n_numbers)
    );
    for (place, row) in rows.iter().enumerate() {
        out.push_str(&format!("{} \\\\\n", joined(row, latex_escaped, " & ")));
        if place == 0 {
            out.push_str("\\midrule\n");
        }
    }
    out + "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
}

fn estimate(difference: f64, interval: Option<(f64, f64)>) -> String {
    match interval {
        Some((low, high)) => format!("{} [{}, {}]", signed(difference), signed(low), signed(high)),
        None => signed(difference),
    }
}

fn dash() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Statistics;

    #[test]
    fn one_pair_in_every_format() {
        let difference = Statistics::of(&[-1.0, -2.0, -3.0]).unwrap();
        let paired = Paired { difference, wins: 3, ties: 0, n: 3 };
        let (low, high) = paired.interval().unwrap();
        let line = PairedLine { policy: "a|b_c".to_owned(), pairs: vec![Some(paired), None], overall: None };
        let pairs = Pairs {
            metric: Metric::Simple,
            reference: "bbb".to_owned(),
            problems: ["wheel", "my_own"].map(str::to_owned).to_vec(),
            lines: vec![line],
            notes: vec!["a note.".to_owned()],
        };
        let text = |format| pairs.render(format, Down::Policies);
        let expected = format!("−2.00 [{}, {}], 3 of 3", signed(low), signed(high));
        assert_eq!(
            text(Format::Markdown).lines().take(3).collect::<Vec<_>>(),
            [
                "| against bbb | all problems | wheel | my_own |".to_owned(),
                "| --- | ---: | ---: | ---: |".to_owned(),
                format!("| a\\|b_c | – | {expected} | – |")
            ]
        );
        let csv = text(Format::Csv);
        assert_eq!(
            csv.lines().nth(1),
            Some(&*format!("a|b_c,bbb,wheel,-2.0,{low:?},{high:?},3,0,3")),
            "{csv}"
        );
        assert_eq!(csv.lines().count(), 2);
        let latex = text(Format::Latex);
        assert!(latex.contains("{lrrr}") && latex.contains("a|b\\_c & -- & $-$2.00 {[}"), "{latex}");
        let down = pairs.render(Format::Markdown, Down::Problems);
        let lines = ["| against bbb | a\\|b_c |", "| --- | ---: |", "| all problems | – |"];
        assert_eq!(down.lines().take(3).collect::<Vec<_>>(), lines);
        assert!(
            down.contains(&format!(
                "| wheel | {expected} |\n| my_own | – |\n\nDifference of normalized simple"
            )),
            "{down}"
        );
        assert!(down.contains("no trial in common") && down.ends_with("\n\n- a note.\n"), "{down}");
        let [low, high] = [low, high].map(signed);
        let text = pairs.render(Format::Text, Down::Problems);
        let lines = [
            "wheel".to_owned(),
            format!(
                "  against bbb  difference  {:>2$}  {:>3$}  wins  ties  trials",
                "from",
                "to",
                low.chars().count(),
                high.chars().count()
            ),
            format!("  a|b_c             −2.00  {low}  {high}     3     0       3"),
        ];
        assert_eq!(text.lines().take(3).collect::<Vec<_>>(), lines);
        assert!(text.contains("\nall problems\n") && text.ends_with("\na note.\n"), "{text}");
        let mut of_one = pairs.clone();
        of_one.problems.pop();
        of_one.lines[0].pairs.pop();
        assert!(!of_one.render(Format::Text, Down::Problems).contains("all problems"));
    }
}
