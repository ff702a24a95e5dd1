//! Whole experiments in temporary folders, with a problem and policies that exist only here.

mod added;
mod failures;
mod fakes;
mod resume;
mod threads;
