//! Guards that step in are counted, and told where there were any.

use crate::harness::Desk;

/// Steps so large that standard deviations leave their bounds.
const GUARDED: &str = "bbb[batch_size=32,layers=4,learning_rate=10,minibatches=20]";

#[test]
fn they_are_in_the_rows_the_summary_and_the_report() {
    let desk = Desk::new();
    desk.tiny_bench(&format!("--problems linear --policies {GUARDED} --out out")).ok();
    let mut total = 0;
    for row in desk.rows("out") {
        let n = row.outcome.unwrap().interventions.expect("every trial counts");
        assert_eq!(n > 0, row.id.policy != "uniform", "{}: {n}", row.id);
        total += n;
    }
    let sentence = format!(": values clamped {total} times on linear (in 2 of the 2 trials with a count).");
    assert!(desk.read("out/summary.md").contains("\n## Interventions\n\n- bbb["));
    for file in ["out/summary.md", "out/report.html"] {
        assert!(desk.read(file).contains(&sentence), "{file} lacks {sentence}");
    }
}

#[test]
fn nothing_is_said_where_there_were_none() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    for file in ["out/summary.md", "out/report.html"] {
        assert!(!desk.read(file).contains("Interventions"), "{file}");
    }
}
