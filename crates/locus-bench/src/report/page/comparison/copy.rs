//! Policies against each other as text, to be copied.

use super::Line;
use crate::report::compare::CONFIDENCE;
use crate::summary::{Format, latex_escaped, markdown_escaped, signed};

/// What can be copied, in the order of the buttons.
pub(super) const FORMATS: [Format; 3] = [Format::Markdown, Format::Csv, Format::Latex];

/// The comparison with `reference`: for people the difference, its interval and the wins in one cell; for programs in columns.
pub(super) fn render(lines: &[Line<'_>], reference: &str, problems: &[String], format: Format) -> String {
    if format == Format::Csv {
        return csv(lines, reference, problems);
    }
    let mut rows = vec![vec![format!("against {reference}"), "all problems".to_owned()]];
    rows[0].extend(problems.iter().cloned());
    for line in lines {
        let overall = line.overall.as_ref();
        let mut row = vec![line.policy.to_owned()];
        row.push(overall.map_or_else(dash, |overall| estimate(overall.difference, overall.interval)));
        row.extend(line.pairs.iter().map(|paired| {
            paired.as_ref().map_or_else(dash, |paired| {
                let difference = estimate(paired.difference.mean, paired.interval());
                format!("{difference}, {} of {}", paired.wins, paired.n)
            })
        }));
        rows.push(row);
    }
    let n_numbers = problems.len() + 1;
    let words = &format!(
        "Difference of normalized cumulative regret, its {:.0} % interval, and in how many trials the row wins.",
        CONFIDENCE * 100.0
    );
    let join = |row: &[String], escaped: fn(&str) -> String, between: &str| -> String {
        row.iter().map(|cell| escaped(cell)).collect::<Vec<_>>().join(between)
    };
    if format == Format::Markdown {
        let mut out = String::new();
        for (place, row) in rows.iter().enumerate() {
            out.push_str(&format!("| {} |\n", join(row, markdown_escaped, " | ")));
            if place == 0 {
                out.push_str(&format!("| --- |{}\n", " ---: |".repeat(n_numbers)));
            }
        }
        return format!("{out}\n{words}\n");
    }
    let mut out = format!(
        "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\begin{{tabular}}{{l{}}}\n\\toprule\n",
        latex_escaped(words),
        "r".repeat(n_numbers)
    );
    for (place, row) in rows.iter().enumerate() {
        out.push_str(&format!("{} \\\\\n", join(row, latex_escaped, " & ")));
        if place == 0 {
            out.push_str("\\midrule\n");
        }
    }
    out + "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
}

fn csv(lines: &[Line<'_>], reference: &str, problems: &[String]) -> String {
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
    for line in lines {
        let named = |problem: &str| [line.policy.to_owned(), reference.to_owned(), problem.to_owned()];
        for (problem, paired) in problems.iter().zip(&line.pairs) {
            let Some(paired) = paired else { continue };
            let ([policy, against, problem], [low, high]) = (named(problem), ends(paired.interval()));
            let counts = [paired.wins, paired.ties, paired.n].map(|count| count.to_string());
            let [wins, ties, n] = counts;
            write([policy, against, problem, exact(paired.difference.mean), low, high, wins, ties, n]);
        }
        if let Some(overall) = &line.overall {
            let ([policy, against, problem], [low, high]) = (named("all problems"), ends(overall.interval));
            let none = String::new;
            write([policy, against, problem, exact(overall.difference), low, high, none(), none(), none()]);
        }
    }
    let bytes = writer.into_inner().expect("a Vec can be flushed");
    String::from_utf8(bytes).expect("what was written was text")
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
    use crate::report::compare::Paired;
    use crate::summary::Statistics;

    #[test]
    fn one_pair_in_every_format() {
        let difference = Statistics::of(&[-1.0, -2.0, -3.0]).unwrap();
        let paired = Paired { difference, wins: 3, ties: 0, n: 3 };
        let (low, high) = paired.interval().unwrap();
        let line = Line { policy: "a|b_c", pairs: vec![Some(paired), None], overall: None };
        let problems = ["wheel".to_owned(), "my_own".to_owned()];
        let text = |format| render(std::slice::from_ref(&line), "bbb", &problems, format);
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
    }
}
