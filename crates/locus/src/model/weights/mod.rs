//! Policies with uncertainty about the weights of a net.

policies! {
    bbb,
    pi_ts_dgf,
    fbnn,
}
