//! What a result depends on, and what not.

use crate::harness::{Desk, id};

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    let desk = Desk::new();
    for jobs in ["1", "2", "5"] {
        let words = format!("--problems linear,wheel,sparse-linear --jobs {jobs} --out jobs-{jobs}");
        desk.tiny_bench(&words).ok();
    }
    let one = desk.results("jobs-1");
    assert_eq!(one.len(), 12);
    assert_eq!(one, desk.results("jobs-2"));
    assert_eq!(one, desk.results("jobs-5"));
}

#[test]
fn a_trial_depends_on_its_seed_problem_policy_and_number_alone() {
    let desk = Desk::new();
    let many = "--problems wheel,linear --policies lin-full-post,lin-full-post[prior_shape=2] --out many";
    desk.tiny_bench(many).ok();
    let one =
        "bench --problems linear --policies lin-full-post[prior_shape=2] --trials 1 --steps 60 --out one";
    desk.locus(one.split_whitespace()).ok();
    let (many, one) = (desk.results("many"), desk.results("one"));
    // Uniform always runs.
    let ids: Vec<_> = one.keys().collect();
    assert_eq!(ids, [&id("lin-full-post[prior_shape=2]", "linear", 0), &id("uniform", "linear", 0)]);
    for (id, found) in &one {
        assert_eq!(many[id], *found);
    }
    for (one, other) in [
        (id("uniform", "linear", 0), id("uniform", "linear", 1)),
        (id("uniform", "linear", 0), id("lin-full-post", "linear", 0)),
    ] {
        assert_ne!(many[&one], many[&other]);
    }
}

#[test]
fn another_seed_gives_other_results() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out seed-0").ok();
    desk.tiny_bench("--problems linear --out seed-1 --seed 1").ok();
    let (zero, one) = (desk.results("seed-0"), desk.results("seed-1"));
    assert!(zero.keys().eq(one.keys()));
    assert!(zero.iter().all(|(id, found)| one[id] != *found));
}

#[test]
fn a_policy_is_recorded_in_its_one_form() {
    let desk = Desk::new();
    let policies = "--policies lin-full-post@benchmark[prior_shape=6.0,prior_rate=2.50],lin-full-post";
    desk.tiny_bench(&format!("--problems linear,linear {policies} --out out")).ok();
    let mut policies: Vec<String> = desk.rows("out").into_iter().map(|row| row.id.policy).collect();
    policies.sort();
    policies.dedup();
    assert_eq!(policies, ["lin-full-post", "lin-full-post[prior_rate=2.5]", "uniform"]);
}
