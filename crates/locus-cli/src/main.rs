//! The `locus` command.
fn main() {}
