//! Small parts of figures.

use super::*;

#[test]
fn names_are_cut_to_their_room() {
    assert_eq!(cut("uniform", 10.0, 100.0), "uniform");
    let short = cut("lin-full-post[prior_precision=1]", 10.0, 60.0);
    assert!(short.starts_with("lin-f") && short.contains('…') && short.ends_with("on=1]"), "{short}");
    assert_eq!(cut("uniform", 10.0, 0.0), "");
}
