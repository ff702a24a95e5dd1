//! For a program: one row for each policy and problem, in full precision, empty where there is nothing.
//!
//! After the problems come two rows whose `problem` is `mean_rank` and `mean_value`, with the number as `mean`.

use super::Table;

const COLUMNS: [&str; 9] = ["metric", "policy", "problem", "mean", "sd", "se", "n", "paper_mean", "paper_pm"];

pub(super) fn render(table: &Table) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let mut write = |record: [String; 9]| {
        writer.write_record(record).expect("a Vec takes every write, and all records have one length");
    };
    let exact = |value: Option<f64>| value.map(|value| format!("{value:?}")).unwrap_or_default();
    write(COLUMNS.map(str::to_owned));
    for line in &table.lines {
        let start = |problem: &str| [table.metric.name().to_owned(), line.policy.clone(), problem.to_owned()];
        for (problem, cell) in table.problems.iter().zip(&line.cells) {
            let [metric, policy, problem] = start(problem);
            write([
                metric,
                policy,
                problem,
                exact(cell.ours.map(|ours| ours.mean)),
                exact(cell.ours.and_then(|ours| ours.sd)),
                exact(cell.ours.and_then(|ours| ours.se())),
                cell.ours.map_or(0, |ours| ours.n).to_string(),
                exact(cell.paper.map(|paper| paper.mean)),
                exact(cell.paper.and_then(|paper| paper.plus_minus)),
            ]);
        }
        if !table.metric.is_normalized() {
            continue;
        }
        let paper = line.paper.filter(|_| table.has_paper_overall);
        let overall = [
            ("mean_rank", line.mean_rank, paper.map(|paper| paper.mean_rank)),
            ("mean_value", line.mean_value, paper.map(|paper| paper.mean_value)),
        ];
        for (problem, ours, paper) in overall {
            let [metric, policy, problem] = start(problem);
            let none = String::new;
            write([metric, policy, problem, exact(ours), none(), none(), none(), exact(paper), none()]);
        }
    }
    let bytes = writer.into_inner().expect("a Vec can be flushed");
    String::from_utf8(bytes).expect("what was written was text")
}
