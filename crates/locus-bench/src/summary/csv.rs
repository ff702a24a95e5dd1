//! For a program: one row for each policy and problem, in full precision, empty where there is nothing.
//!
//! After the problems come two rows whose `problem` is `mean_rank` and `mean_value`, with the number as `mean` and the error of
//! the latter as `se`. Of seconds, `clock` says whether they are `cpu` or `wall` seconds.

use super::Table;

const COLUMNS: [&str; 17] = [
    "metric",
    "policy",
    "problem",
    "mean",
    "median",
    "sd",
    "se",
    "n",
    "common_mean",
    "common_n",
    "paper_mean",
    "paper_pm",
    "difference_in_paper_pm",
    "difference_in_se",
    "lower_quartile",
    "upper_quartile",
    "clock",
];

pub(super) fn render(table: &Table) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let mut write = |record: [String; COLUMNS.len()]| {
        writer.write_record(record).expect("a Vec takes every write, and all records have one length");
    };
    let exact = |value: Option<f64>| value.map(|value| format!("{value:?}")).unwrap_or_default();
    write(COLUMNS.map(str::to_owned));
    let clock = match (table.metric.is_normalized(), table.is_cpu_time) {
        (true, _) => "",
        (false, true) => "cpu",
        (false, false) => "wall",
    };
    for line in &table.lines {
        let start = |problem: &str| [table.metric.name().to_owned(), line.policy.clone(), problem.to_owned()];
        for ((problem, cell), n_common) in table.problems.iter().zip(&line.cells).zip(&table.n_common) {
            let [metric, policy, problem] = start(problem);
            // Seconds are not compared by common trials.
            let common = cell.common.filter(|_| table.metric.is_normalized());
            write([
                metric,
                policy,
                problem,
                exact(cell.ours.map(|ours| ours.mean)),
                exact(cell.ours.map(|ours| ours.median)),
                exact(cell.ours.and_then(|ours| ours.sd)),
                exact(cell.ours.and_then(|ours| ours.se())),
                cell.ours.map_or(0, |ours| ours.n).to_string(),
                exact(common),
                common.map(|_| n_common.to_string()).unwrap_or_default(),
                exact(cell.paper.map(|paper| paper.mean)),
                exact(cell.paper.and_then(|paper| paper.plus_minus)),
                exact(cell.difference()),
                exact(cell.difference_in_errors()),
                exact(cell.ours.map(|ours| ours.quartiles[0])),
                exact(cell.ours.map(|ours| ours.quartiles[1])),
                clock.to_owned(),
            ]);
        }
        let paper = line.paper.filter(|_| table.has_paper_overall);
        let common_value = line.common_value.filter(|_| table.metric.is_normalized());
        let value_se = line.value_se(table.metric);
        let overall = [
            ("mean_rank", line.mean_rank, None, None, paper.map(|paper| paper.mean_rank)),
            ("mean_value", line.mean_value, value_se, common_value, paper.map(|paper| paper.mean_value)),
        ];
        for (problem, ours, se, common, paper) in overall {
            let [metric, policy, problem] = start(problem);
            let mut record = [const { String::new() }; COLUMNS.len()];
            (record[0], record[1], record[2]) = (metric, policy, problem);
            (record[3], record[8], record[10]) = (exact(ours), exact(common), exact(paper));
            (record[6], record[COLUMNS.len() - 1]) = (exact(se), clock.to_owned());
            write(record);
        }
    }
    let bytes = writer.into_inner().expect("a Vec can be flushed");
    String::from_utf8(bytes).expect("what was written was text")
}
