//! Policies that are linear in the context.

pub(crate) mod heads;
pub mod lin_full_post;
pub mod lin_pool;
pub mod lin_ucb;
pub mod pooled;
