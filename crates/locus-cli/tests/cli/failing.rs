//! A trial that fails: this policy learns in steps so large that its numbers overflow in the first round of training.

use crate::harness::{Desk, id};

pub(crate) const FAILING: &str = "lu-gauss[batch_size=8,latent_dim=2,learning_rate=10,train_every=1]";
pub(crate) const REASON: &str = "the latent standard deviation gave ";

fn bench(desk: &Desk) -> crate::harness::Said {
    desk.tiny_bench(&format!("--problems linear,wheel --policies {FAILING},lin-full-post --out out"))
}

#[test]
fn the_others_go_on_and_it_is_tried_again() {
    let desk = Desk::new();
    let said = bench(&desk);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("8 trials ran, 0 done before, 4 failed\n"), "{}", said.stdout);
    let expected = format!("failed: {FAILING} on wheel, trial 1: round 0: {REASON}");
    assert!(said.stdout.contains(&expected), "{}", said.stdout);
    assert!(said.stderr.contains(&format!("{FAILING} on linear, trial 0: failed: ")), "{}", said.stderr);
    assert!(said.stdout.contains(&format!("{FAILING} on linear: 2 trials failed, not counted.")));

    let results = desk.results("out");
    assert_eq!(results.len(), 12);
    let reason = results[&id(FAILING, "linear", 1)].as_ref().unwrap_err();
    assert!(reason.contains(REASON), "{reason}");
    assert_eq!(results.values().filter(|found| found.is_err()).count(), 4);
    let row = desk.read("out/trials.csv");
    let row = row.lines().find(|line| line.starts_with(&format!("linear,\"{FAILING}\",0,"))).unwrap();
    assert!(row.contains(&format!(",0,0,60,,,,,,,{},round 0: ", locus::BUILD)), "{row}");

    let dry =
        desk.tiny_bench(&format!("--problems linear --policies {FAILING} --out out --jobs 2 --dry-run"));
    assert!(dry.ok().stdout.contains("\n2 done, 2 to run (2 failed before), "));

    let said = bench(&desk);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("0 trials ran, 8 done before, 4 failed\n"), "{}", said.stdout);
    assert_eq!(said.stderr.lines().filter(|line| line.starts_with("[")).count(), 4, "{}", said.stderr);
    assert_eq!(desk.results("out"), results);
}

#[test]
fn a_failure_of_old_is_no_failure_of_today() {
    let desk = Desk::new();
    bench(&desk);
    let said = desk.tiny_bench("--problems linear,wheel --policies lin-full-post --out out").ok();
    assert!(said.stdout.contains("nothing left to run: 8 trials done before"), "{}", said.stdout);
    assert!(!said.stdout.contains("not counted."), "{}", said.stdout);
    let all = desk.locus(["table", "out"]).ok();
    assert!(all.stdout.contains("2 trials failed, not counted."), "{}", all.stdout);
}

#[test]
fn many_failures_do_not_hide_the_table() {
    let desk = Desk::new();
    let words = format!("bench --problems linear --policies {FAILING} --trials 12 --steps 5 --out out");
    let said = desk.locus(words.split_whitespace());
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.stdout.matches("\nfailed: ").count(), 10, "{}", said.stdout);
    assert!(said.stdout.contains("\nand 2 more: see trials.csv\n"), "{}", said.stdout);
}
