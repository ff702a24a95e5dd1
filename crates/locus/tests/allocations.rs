//! Deciding and learning do not allocate once they are warm.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use locus::{Outcome, PolicySpec, Request, Seed, Shape, policies};

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

#[test]
fn decisions_do_not_allocate() {
    let shape = Shape::new(20, 5);
    for id in policies().iter().map(|info| info.id) {
        let mut policy = id.parse::<PolicySpec>().unwrap().build(shape, Seed::new(1)).unwrap();
        let context = [0.5_f32; 20];
        let mut decide = |rounds: std::ops::Range<u64>| {
            let before = N_ALLOCATIONS.get();
            for round in rounds {
                let action = policy.choose(Request { round, context: &context }).unwrap().action;
                policy.learn(Outcome { round, context: &context, action, reward: 1.0 }).unwrap();
            }
            N_ALLOCATIONS.get() - before
        };
        decide(0..50);
        assert_eq!(decide(50..100), 0, "{id}");
    }
}
