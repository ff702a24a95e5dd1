//! Policies whose uncertainty lies in the weights of a net.

policies! {
    bbb,
    pi_ts_dgf,
    fbnn,
}
