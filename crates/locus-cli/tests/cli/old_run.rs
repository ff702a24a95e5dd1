//! A folder of an earlier version, which counted no interventions and did not record what each session asked for.
//!
//! `old_run` holds what Locus 0.1.0 wrote before it did, cut short: two trials of Uniform, one of two of LinFullPost.

use crate::harness::Desk;

const BENCH: &str = "--problems linear --policies lin-full-post";

fn old_run(desk: &Desk) {
    desk.write("old/trials.csv", include_str!("old_run/trials.csv"));
    desk.write("old/run.json", include_str!("old_run/run.json"));
}

#[test]
fn it_is_read_as_it_is() {
    let desk = Desk::new();
    old_run(&desk);
    let table = desk.locus(["table", "old"]).ok();
    assert!(table.stdout.contains("lin-full-post"), "{}", table.stdout);
    let status = desk.locus(["status", "old"]).ok();
    assert!(status.stdout.contains("\n3 of 4 trials done; "), "{}", status.stdout);
    assert!(status.stdout.contains("  1/2  102.35"), "{}", status.stdout);
    assert_eq!(status.stderr, "");
    let report = desk.locus(["report", "old"]).ok();
    assert!(
        report.stderr.starts_with("warning: `old` holds no folder curves: its trials are missing from"),
        "{}",
        report.stderr
    );
    assert_eq!(desk.read("old/trials.csv"), include_str!("old_run/trials.csv"));
}

#[test]
fn it_goes_on_with_the_same_results() {
    let desk = Desk::new();
    old_run(&desk);
    let said = desk.tiny_bench(&format!("{BENCH} --out old")).ok();
    assert!(said.stdout.contains("1 trial ran, 3 done before, 0 failed\n"), "{}", said.stdout);
    desk.tiny_bench(&format!("{BENCH} --out new")).ok();
    let regrets = |out: &str| {
        let mut rows = desk.rows(out);
        rows.sort_by(|one, other| one.id.cmp(&other.id));
        rows.into_iter().map(|row| (row.id, row.outcome.unwrap().cumulative_regret)).collect::<Vec<_>>()
    };
    assert_eq!(regrets("old"), regrets("new"));
    // The file has the columns of today, and what nobody counted stays unknown.
    let counted: Vec<Option<u64>> =
        desk.rows("old").iter().map(|row| row.outcome.as_ref().unwrap().interventions).collect();
    assert_eq!(counted, [None, None, None, Some(0)]);
    let header = |out: &str| desk.read(&format!("{out}/trials.csv")).lines().next().unwrap().to_owned();
    assert_eq!(header("old"), header("new"));
    let said = desk.tiny_bench(&format!("{BENCH} --out old")).ok();
    assert!(said.stdout.contains("nothing left to run: 4 trials done before\n"), "{}", said.stdout);
}
