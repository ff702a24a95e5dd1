//! Tables of a few records whose numbers can be worked out by hand.

use super::*;
use crate::record::{Measured, TrialRow};
use crate::trial::TrialId;

const OTHER_SETTINGS: &str = "lin-full-post[prior_precision=1]";

fn row(problem: &str, policy: &str, trial: usize, cumulative: f64) -> TrialRow {
    let id = TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial };
    let outcome = Ok(Measured {
        cumulative_regret: cumulative,
        simple_regret: cumulative / 128.0,
        seconds_choosing: 0.25,
        seconds_learning: cumulative,
        cpu_seconds: None,
        interventions: Some(0),
    });
    TrialRow { id, seed: 0, steps: 2000, outcome, version: "0.1.0".to_owned() }
}

fn failed(problem: &str, policy: &str, trial: usize) -> TrialRow {
    TrialRow { outcome: Err("no".to_owned()), ..row(problem, policy, trial, 0.0) }
}

/// A tie on wheel, where LinFullPost with both settings has 30 and 60, Uniform 100, 200 and 300: over the trials
/// 0 and 1 Uniform's mean is 150, so both are at 30. Trial 5 has no partner; on my_own that leaves nothing.
fn records() -> Vec<TrialRow> {
    vec![
        row("my_own", OTHER_SETTINGS, 5, 1.0),
        row("my_own", "uniform", 0, 10.0),
        row("my_own", "uniform", 1, 10.0),
        row("my_own", "lin-full-post", 0, 5.0),
        failed("my_own", "lin-full-post", 1),
        row("wheel", "lin-full-post", 0, 30.0),
        row("wheel", OTHER_SETTINGS, 1, 60.0),
        row("wheel", OTHER_SETTINGS, 5, 99.0),
        row("wheel", OTHER_SETTINGS, 0, 30.0),
        row("wheel", "lin-full-post", 1, 60.0),
        row("wheel", "uniform", 2, 300.0),
        row("wheel", "uniform", 0, 100.0),
        row("wheel", "uniform", 1, 200.0),
    ]
}

fn render(metric: Metric, format: Format) -> String {
    Table::new(&records(), metric).render(format)
}

#[test]
fn text() {
    let expected = "\
wheel
  policy                              mean     ± sd     se  n   paper        ±  diff/±
  uniform                           100.00  ± 50.00  28.87  3  100.00   ± 5.73   +0.00
  lin-full-post                      30.00  ± 14.14  10.00  2   38.38  ± 13.05   -0.64
  lin-full-post[prior_precision=1]   30.00  ± 14.14  10.00  2       –        –       –

my_own
  policy                              mean    ± sd    se  n
  uniform                           100.00  ± 0.00  0.00  2
  lin-full-post                      50.00       –     –  1
  lin-full-post[prior_precision=1]       –       –     –  0

over all problems
  policy                            mean rank  mean value     se
  uniform                                2.50      100.00  14.43
  lin-full-post                          1.25       40.00      –
  lin-full-post[prior_precision=1]          –           –      –

Normalized cumulative regret, 2000 steps: percent of Uniform's mean on the same problem over the policy's own trials; lower is better.
Mean ± standard deviation (sd) over n trials; se is the standard error, sd/√n; the standard error of a mean value is propagated from the per-problem standard errors.
Mean rank and mean value are over the problems shown, ranks among the policies shown.
The paper calls its ± a standard error, but its size says standard deviation.
diff/± is ours minus the paper's, in units of its ±.
lin-full-post on my_own: 1 trial failed, not counted.
lin-full-post[prior_precision=1] on wheel: 1 trial left out, Uniform has no such trial.
lin-full-post[prior_precision=1] on my_own: 1 trial left out, Uniform has no such trial.
";
    assert_eq!(render(Metric::Cumulative, Format::Text), expected);
}

#[test]
fn markdown() {
    let expected = "\
| policy | mean rank | mean value | wheel | my_own |
| --- | ---: | ---: | ---: | ---: |
| `uniform` | 2.50 | 100.00 | 100.00 ± 50.00 | 100.00 ± 0.00 |
| se (n) |  | 14.43 | 28.87 (3) | 0.00 (2) |
| paper |  |  | 100.00 ± 5.73 (0.00) |  |
| `lin-full-post` | **1.25** | **40.00** | **30.00 ± 14.14** | **50.00** |
| se (n) |  |  | 10.00 (2) | – (1) |
| paper |  |  | 38.38 ± 13.05 (−0.64) |  |
| `lin-full-post[prior_precision=1]` | – | – | **30.00 ± 14.14** | – |
| se (n) |  |  | 10.00 (2) |  |

Normalized cumulative regret, 2000 steps: percent of Uniform's mean on the same problem over the policy's own trials; \
lower is better. Mean ± standard deviation (sd) over n trials; se is the standard error, sd/√n; the standard error of a \
mean value is propagated from the per-problem standard errors. Mean rank and mean value are over the problems shown, ranks among the policies \
shown. The paper calls its ± a standard error, but its \
size says standard deviation. Bold: the best of a column. In brackets: ours minus the paper's, in units of its ±.

- lin-full-post on my_own: 1 trial failed, not counted.
- lin-full-post[prior_precision=1] on wheel: 1 trial left out, Uniform has no such trial.
- lin-full-post[prior_precision=1] on my_own: 1 trial left out, Uniform has no such trial.
";
    assert_eq!(render(Metric::Cumulative, Format::Markdown), expected);
}

#[test]
fn csv() {
    let expected = "\
metric,policy,problem,mean,median,sd,se,n,common_mean,common_n,paper_mean,paper_pm,difference_in_paper_pm,difference_in_se,lower_quartile,upper_quartile,clock
cumulative,uniform,wheel,100.0,100.0,50.0,28.86751345948129,3,100.0,2,100.0,5.73,0.0,0.0,75.0,125.0,
cumulative,uniform,my_own,100.0,100.0,0.0,0.0,2,100.0,1,,,,,100.0,100.0,
cumulative,uniform,mean_rank,2.5,,,,,,,,,,,,,
cumulative,uniform,mean_value,100.0,,,14.433756729740645,,100.0,,,,,,,,
cumulative,lin-full-post,wheel,30.0,30.0,14.142135623730951,10.0,2,30.0,2,38.38,13.05,-0.6421455938697319,-0.8240831689235045,25.0,35.0,
cumulative,lin-full-post,my_own,50.0,50.0,,,1,50.0,1,,,,,50.0,50.0,
cumulative,lin-full-post,mean_rank,1.25,,,,,,,,,,,,,
cumulative,lin-full-post,mean_value,40.0,,,,,40.0,,,,,,,,
cumulative,lin-full-post[prior_precision=1],wheel,30.0,30.0,14.142135623730951,10.0,2,30.0,2,,,,,25.0,35.0,
cumulative,lin-full-post[prior_precision=1],my_own,,,,,0,,,,,,,,,
cumulative,lin-full-post[prior_precision=1],mean_rank,,,,,,,,,,,,,,
cumulative,lin-full-post[prior_precision=1],mean_value,,,,,,,,,,,,,,
";
    assert_eq!(render(Metric::Cumulative, Format::Csv), expected);
    // Simple regrets are the cumulative ones over 128 here: the same shares of Uniform's, another paper's value.
    let simple = render(Metric::Simple, Format::Csv);
    let line = "simple,lin-full-post,wheel,30.0,30.0,14.142135623730951,10.0,2,30.0,2,20.62,13.68,";
    assert!(simple.contains(line), "{simple}");
}

#[test]
fn latex() {
    let expected = r"\begin{table}
\centering
\caption{Normalized cumulative regret, 2000 steps: percent of Uniform's mean on the same problem over the policy's own trials; lower is better. Mean $\pm$ standard deviation (sd) over n trials; se is the standard error, sd/$\surd$n; the standard error of a mean value is propagated from the per-problem standard errors. Mean rank and mean value are over the problems shown, ranks among the policies shown. The paper calls its $\pm$ a standard error, but its size says standard deviation. Bold: the best of a column. In brackets: ours minus the paper's, in units of its $\pm$. lin-full-post on my\_own: 1 trial failed, not counted. lin-full-post{[}prior\_precision=1{]} on wheel: 1 trial left out, Uniform has no such trial. lin-full-post{[}prior\_precision=1{]} on my\_own: 1 trial left out, Uniform has no such trial.}
\begin{tabular}{lrrrr}
\toprule
Policy & Mean rank & Mean value & wheel & my\_own \\
\midrule
\texttt{uniform} & 2.50 & 100.00 & 100.00 $\pm$ 50.00 & 100.00 $\pm$ 0.00 \\
\quad se ($n$) &  & 14.43 & 28.87 (3) & 0.00 (2) \\
\quad paper &  &  & 100.00 $\pm$ 5.73 (0.00) &  \\
\texttt{lin-full-post} & \textbf{1.25} & \textbf{40.00} & \textbf{30.00 $\pm$ 14.14} & \textbf{50.00} \\
\quad se ($n$) &  &  & 10.00 (2) & -- (1) \\
\quad paper &  &  & 38.38 $\pm$ 13.05 ($-$0.64) &  \\
\texttt{lin-full-post{[}prior\_precision=1{]}} & -- & -- & \textbf{30.00 $\pm$ 14.14} & -- \\
\quad se ($n$) &  &  & 10.00 (2) &  \\
\bottomrule
\end{tabular}
\end{table}
";
    assert_eq!(render(Metric::Cumulative, Format::Latex), expected);
}

#[test]
fn runtime_is_in_seconds_by_medians() {
    let expected = "\
wheel
  policy                            median  quartiles  n   paper
  uniform                              200    150–250  3  0.0400
  lin-full-post                       45.2  37.8–52.8  2    3.00
  lin-full-post[prior_precision=1]    60.2  45.2–79.8  3       –

my_own
  policy                            median  quartiles  n
  uniform                             10.2  10.2–10.2  2
  lin-full-post                       5.25          –  1
  lin-full-post[prior_precision=1]    1.25          –  1

over all problems
  policy                            mean rank  mean value
  uniform                                3.00         105
  lin-full-post                          1.50        25.2
  lin-full-post[prior_precision=1]       1.50        30.8

Seconds per trial of 2000 steps: wall-clock seconds, since not all of these trials have CPU seconds.
Median (lower–upper quartile) over n trials. Other work on the machine makes wall-clock seconds longer. Uniform is ranked, but not marked as best.
Mean rank and mean value are over the problems shown, ranks among the policies shown.
The paper's seconds are of one run on an Nvidia 1080-TI.
lin-full-post on my_own: 1 trial failed, not counted.
";
    assert_eq!(render(Metric::Runtime, Format::Text), expected);
    let markdown = render(Metric::Runtime, Format::Markdown);
    let lines = "\n| `uniform` | 3.00 | 105 | 200 (150–250) | 10.2 (10.2–10.2) |\n| n |  |  | 3 | 2 |\n";
    assert!(markdown.contains(lines), "{markdown}");
    assert!(markdown.contains("| **25.2** | **45.2 (37.8–52.8)** | 5.25 |\n"), "{markdown}");
    let latex = render(Metric::Runtime, Format::Latex);
    let lines = "\\texttt{uniform} & 3.00 & 105 & 200 (150--250) & 10.2 (10.2--10.2) \\\\\n\\quad $n$ &  &  & 3 & 2 \\\\\n";
    assert!(latex.contains(lines), "{latex}");
    // Of three trials with 30.25, 60.25 and 99.25 seconds.
    let row = "runtime,lin-full-post[prior_precision=1],wheel,63.25,60.25,";
    let csv = render(Metric::Runtime, Format::Csv);
    let line = csv.lines().find(|line| line.starts_with(row)).unwrap();
    assert!(line.ends_with(",45.25,79.75,wall"), "{line}");
}

/// CPU seconds are shown once every trial has them: seconds of two clocks do not compare.
#[test]
fn runtime_is_in_cpu_seconds_where_all_trials_have_them() {
    let mut rows = records();
    let measured = |row: &mut TrialRow, cpu_seconds: Option<f64>| {
        row.outcome.iter_mut().for_each(|measured| measured.cpu_seconds = cpu_seconds);
    };
    rows.iter_mut().enumerate().for_each(|(place, row)| measured(row, Some(place as f64)));
    let table = Table::new(&rows, Metric::Runtime);
    assert_eq!(
        table.caption[..2],
        [
            "Seconds per trial of 2000 steps: CPU seconds.",
            "Median (lower–upper quartile) over n trials. Uniform is ranked, but not marked as best."
        ]
    );
    // Uniform's rows on wheel are the last three.
    assert!(
        table
            .render(Format::Text)
            .contains("\n  uniform                             11.0  10.5–11.5  3  0.0400\n")
    );
    assert!(table.render(Format::Csv).contains(",10.5,11.5,cpu\n"));
    measured(&mut rows[0], None);
    let table = Table::new(&rows, Metric::Runtime);
    assert!(
        !table.is_cpu_time
            && table
                .render(Format::Text)
                .contains("  uniform                              200    150–250  3")
    );
    assert!(!Table::new(&[failed("wheel", "uniform", 0)], Metric::Runtime).is_cpu_time);
}

/// One trial that took long because the machine did other work does not make a policy the slower one.
#[test]
fn one_long_trial_ranks_nobody() {
    let of = |policy: &'static str, values: [f64; 3]| {
        values.into_iter().enumerate().map(move |(trial, value)| row("wheel", policy, trial, value))
    };
    let rows: Vec<TrialRow> =
        of("uniform", [0.0; 3]).chain(of("bbb", [1.0, 2.0, 900.0])).chain(of("lu-gauss", [5.0; 3])).collect();
    let table = Table::new(&rows, Metric::Runtime);
    let best: Vec<bool> = table.lines.iter().map(|line| table.has_best_value(line)).collect();
    assert_eq!(best, [false, true, false]);
    assert_eq!(table.lines[1].mean_value, Some(2.25));
}

/// LU-Gauss has four trials, two of which were hard for all; LU-SIVI has the two easy ones alone. Its mean is lower, but where both
/// ran LU-Gauss is better.
#[test]
fn policies_are_compared_by_common_trials() {
    let of = |policy: &str, values: &[f64]| -> Vec<TrialRow> {
        values.iter().enumerate().map(|(trial, value)| row("wheel", policy, trial, *value)).collect()
    };
    let mut rows = of("uniform", &[100.0; 4]);
    rows.extend(of("lu-gauss", &[10.0, 10.0, 90.0, 90.0]));
    rows.extend(of("lu-sivi", &[20.0, 20.0]));
    let table = Table::new(&rows, Metric::Cumulative);
    let line = |policy: &str| table.lines.iter().find(|line| line.policy == policy).unwrap();
    let (gauss, sivi) = (line("lu-gauss"), line("lu-sivi"));
    assert_eq!([gauss.mean_value, sivi.mean_value], [Some(50.0), Some(20.0)]);
    assert_eq!([gauss.common_value, sivi.common_value], [Some(10.0), Some(20.0)]);
    assert_eq!([gauss.mean_rank, sivi.mean_rank], [Some(1.0), Some(2.0)]);
    assert!(table.is_best(gauss, 0) && table.has_best_value(gauss) && table.has_best_rank(gauss));
    assert!(!table.is_best(sivi, 0) && !table.has_best_value(sivi));
    let words = "Ranks and the best of a column are computed from the trials that all policies have in common, 2 on a problem;";
    assert!(table.caption.iter().any(|sentence| sentence.starts_with(words)), "{:?}", table.caption);
    // What it is compared by stands below its own mean, and bears the mark.
    let rows_of_gauss = "\
| `lu-gauss` | **1.00** | 50.00 | 50.00 ± 46.19 |
| se (n) |  | 23.09 | 23.09 (4) |
| in common (n) |  | **10.00** | **10.00 (2)** |
| paper |  |  | 52.90 ± 15.54 (−0.19) |
| `lu-sivi` | 2.00 | 20.00 | 20.00 ± 0.00 |
";
    assert!(table.render(Format::Markdown).contains(rows_of_gauss), "{}", table.render(Format::Markdown));
    let text = table.render(Format::Text);
    assert!(text.contains("n  in common (2)   paper"), "{text}");
    assert!(text.contains("  lu-gauss       1.00       50.00  23.09      10.00\n"), "{text}");
    // Without a common trial nobody is better.
    rows.retain(|row| row.id.policy != "lu-gauss" || row.id.trial > 1);
    let table = Table::new(&rows, Metric::Cumulative);
    assert!(table.lines.iter().all(|line| line.mean_rank.is_none() && !table.is_best(line, 0)));
    assert_eq!(table.notes, ["wheel: no trial is common to all policies, so none is ranked there."]);
    assert!(!table.render(Format::Markdown).contains("in common"));
}

#[test]
fn a_uniform_without_regret_divides_nothing() {
    let rows = [row("easy", "uniform", 0, 0.0), row("easy", "lin-full-post", 0, 1.0)];
    for format in [Format::Text, Format::Markdown, Format::Csv, Format::Latex] {
        let text = Table::new(&rows, Metric::Cumulative).render(format);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
    let table = Table::new(&rows, Metric::Cumulative);
    assert!(table.lines.iter().all(|line| line.cells[0].ours.is_none() && line.mean_rank.is_none()));
    assert_eq!(
        table.notes[1],
        "lin-full-post on easy: Uniform's mean is 0, so nothing can be normalized by it."
    );
}

#[test]
fn the_papers_values_are_of_2000_steps_only() {
    let mut rows = records();
    rows.iter_mut().for_each(|row| row.steps = 500);
    let table = Table::new(&rows, Metric::Cumulative);
    assert!(!table.has_paper());
    assert_eq!(table.caption[3], "The paper's values are of 2000 steps, so they are not shown.");
}

#[test]
fn all_eight_problems_have_the_papers_overall_beside_ours() {
    let problems =
        ["census-10k", "adult", "covertype", "wheel", "jester", "statlog", "financial", "mushroom"];
    let mut rows = Vec::new();
    for problem in problems {
        rows.push(row(problem, "lu-sivi-ablation", 0, 50.0));
        rows.push(row(problem, "lin-full-post", 0, 25.0));
        rows.push(row(problem, "uniform", 0, 100.0));
    }
    let table = Table::new(&rows, Metric::Cumulative);
    assert!(table.problems.iter().eq(problems.iter().rev()), "{:?}", table.problems);
    let text = table.render(Format::Text);
    let overall = "\
over all problems
  policy            mean rank  mean value  paper rank  paper value
  uniform                3.00      100.00      7 of 7       100.00
  lin-full-post          1.00       25.00   3.75 of 7        51.15
  lu-sivi-ablation       2.00       50.00  2.625 of 5        47.81
";
    assert!(text.contains(overall), "{text}");
    assert!(text.lines().take(50).all(|line| line.chars().count() <= 80), "{text}");
    assert!(
        table
            .render(Format::Csv)
            .contains("cumulative,lin-full-post,mean_value,25.0,,,,,25.0,,51.15,,,,,,\n")
    );
    rows.push(row("linear", "uniform", 0, 1.0));
    assert!(!Table::new(&rows, Metric::Cumulative).has_paper_overall);
}

#[test]
fn words_name_metrics_and_formats() {
    assert_eq!("simple".parse::<Metric>().unwrap(), Metric::Simple);
    assert_eq!("latex".parse::<Format>().unwrap(), Format::Latex);
    let message = "regret".parse::<Metric>().unwrap_err().to_string();
    assert_eq!(message, "no metric is called `regret`; there are cumulative, simple, runtime");
    let message = "html".parse::<Format>().unwrap_err().to_string();
    assert_eq!(message, "no format is called `html`; there are text, markdown, csv, latex");
}

#[test]
fn nothing_at_all_is_a_table_too() {
    for metric in Metric::ALL {
        for format in [Format::Text, Format::Markdown, Format::Csv, Format::Latex] {
            assert!(Table::new(&[], metric).render(format).ends_with('\n'));
        }
    }
}

/// The paper ranks the policies of its ablation among themselves, in cumulative regret only.
#[test]
fn ranks_of_the_paper_are_those_of_the_table_that_is_shown() {
    let ranks = |policies: &[&str], metric| -> Vec<Option<(f64, usize)>> {
        let rows: Vec<TrialRow> = policies.iter().map(|policy| row("wheel", policy, 0, 10.0)).collect();
        let lines = Table::new(&rows, metric).lines;
        lines.iter().map(|line| line.paper.map(|paper| (paper.mean_rank, paper.ranked))).collect()
    };
    let ablation =
        ["uniform", "lu-gauss", "lu-gauss@paper", "lu-gauss-ablation", "lu-gauss-ablation[latent_dim=3]"];
    let of_five = [Some((5.0, 5)), Some((2.375, 5)), Some((2.375, 5)), Some((2.5, 5)), None];
    assert_eq!(ranks(&ablation, Metric::Cumulative), of_five);
    let of_seven = [Some((7.0, 7)), Some((2.625, 7)), Some((2.625, 7)), None, None];
    assert_eq!(ranks(&ablation, Metric::Simple), of_seven);
    let with_others = [Some((4.75, 7)), Some((2.75, 7)), Some((2.5, 5))];
    assert_eq!(ranks(&["bbb", "lu-gauss", "lu-gauss-ablation"], Metric::Cumulative), with_others);
    assert_eq!(ranks(&["lu-gauss"], Metric::Cumulative), [Some((2.75, 7))]);
}
