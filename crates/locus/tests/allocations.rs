//! Deciding, learning and training do not allocate once they are warm.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use locus::{Outcome, PolicySpec, Request, Seed, Shape};

struct Counting;

thread_local! {
    static N_ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // While a thread ends its counter is gone, and nobody reads it any more.
    let _ = N_ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MASK: [bool; 5] = [true, false, true, true, false];

/// Allocations of 60 decisions, each also with a mask and its propensity, half of them without a retired action, of 60 lessons without training, and of all rounds of training among them, with contexts of which so many
/// numbers are not 0.
fn allocations(spec: &PolicySpec, n_nonzero: usize) -> [usize; 3] {
    let mut policy = spec.build(Shape::new(100, 5), Seed::new(1)).expect("a policy");
    let (mut counts, mut probabilities) = ([0; 3], [0.0; 5]);
    for round in 0..100 {
        let mut context = [0.0_f32; 100];
        (0..n_nonzero).for_each(|i| context[(round as usize + i) % 100] = 0.1 + 0.001 * round as f32);
        // In some rounds with a retired action, which restricts masks further.
        match round {
            20 => policy.retire_action(3).expect("an action"),
            70 => policy.restore_action(3).expect("an action"),
            _ => {}
        }
        let before = N_ALLOCATIONS.get();
        let request = Request::new(round, &context);
        let action = policy.choose(request).expect("a choice").action;
        policy.choose(request.allowing(&MASK).with_propensity()).expect("a choice");
        policy.distribution(request, &mut probabilities).expect("probabilities");
        let chosen = N_ALLOCATIONS.get();
        let outcome = Outcome::new(round, &context, action, 1.0);
        let is_training = policy.learn(outcome).expect("a lesson").minibatches > 0;
        let learned = N_ALLOCATIONS.get();
        if round >= 40 {
            counts[0] += chosen - before;
            counts[if is_training { 2 } else { 1 }] += learned - chosen;
        }
    }
    counts
}

/// Allocations of 60 decisions among 7 candidates, each also with a mask and its propensity, and of 60 lessons without training.
fn allocations_with_candidates(spec: &PolicySpec) -> Option<usize> {
    let mut policy = spec.build(Shape::described(6, 4), Seed::new(1)).ok()?;
    let (mut n_allocations, mut probabilities) = (0, [0.0; 7]);
    let mask = [true, false, true, true, false, true, true];
    for round in 0..100_u64 {
        let number = |i: usize| ((round as usize * 31 + i * 17) % 23) as f32 / 11.0 - 1.0;
        let context: [f32; 6] = std::array::from_fn(number);
        let candidates: [f32; 28] = std::array::from_fn(|i| number(i + 6));
        let before = N_ALLOCATIONS.get();
        let request = Request::new(round, &context).with_candidates(&candidates);
        let action = policy.choose(request).expect("a choice").action;
        policy.choose(request.allowing(&mask).with_propensity()).expect("a choice");
        policy.distribution(request, &mut probabilities).expect("probabilities");
        let taken = &candidates[4 * action..][..4];
        let outcome = Outcome::new(round, &context, action, 1.0).with_action_features(taken);
        let is_training = policy.learn(outcome).expect("a lesson").minibatches > 0;
        if round >= 40 && !is_training {
            n_allocations += N_ALLOCATIONS.get() - before;
        }
    }
    Some(n_allocations)
}

#[test]
fn decisions_among_candidates_do_not_allocate() {
    let policies = common::small_policies(&[("minibatches", "2"), ("replay_capacity", "30")]);
    let found: Vec<(String, usize)> = policies
        .iter()
        .filter_map(|spec| Some((spec.to_string(), allocations_with_candidates(spec)?)))
        .collect();
    assert!(found.len() >= 10, "{found:?}");
    assert!(found.iter().all(|(_, n)| *n == 0), "{found:?}");
}

#[test]
fn decisions_and_minibatches_do_not_allocate() {
    // ψ layers narrower than the context, so that LU-SIVI trains with low-rank noise.
    let settings = |n| [("minibatches", n), ("replay_capacity", "30"), ("psi_layers", "4")];
    let [few, many] = ["2", "20"].map(|n| common::small_policies(&settings(n)));
    for n_nonzero in [100, 2] {
        for (few, many) in few.iter().zip(&many) {
            let (few_counts, many_counts) = (allocations(few, n_nonzero), allocations(many, n_nonzero));
            assert_eq!(few_counts[..2], [0, 0], "{few}");
            // A round of training may allocate, but no more for more minibatches.
            assert_eq!(few_counts[2], many_counts[2], "{many}");
        }
    }
}
