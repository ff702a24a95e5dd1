//! Policies that are linear in the context: a Bayesian linear regression for every action.

pub(crate) mod batch;
pub(crate) mod heads;
pub(crate) mod joint;
pub(crate) mod pooled;

policies! {
    lin_full_post,
    lin_ucb,
    lin_pool,
}
