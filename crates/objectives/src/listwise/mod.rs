//! Losses of whole lists: distributions over orders, smooth ranks, relaxed sorts.

pub mod listmle;
pub mod listnet;
pub mod p_listmle;
mod plackett_luce;
pub mod rankcosine;
pub mod xe_ndcg;
