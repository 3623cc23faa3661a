//! Listwise losses: distributions over orders, smooth ranks, relaxed sorts.
//!
//! If only some items of a list are drawn, they are treated as a shorter list: ranked among themselves, with their
//! own ideal DCG. Objectives that estimate ranks in the whole list are in [`crate::compositional`].

pub mod approx_mrr;
pub mod approx_ndcg;
pub mod gumbel_ndcg;
pub mod listmle;
pub mod listnet;
mod measure;
pub mod neural_ndcg;
pub mod neural_ndcg_stochastic;
mod noise;
pub mod p_listmle;
pub mod pirank;
mod plackett_luce;
pub mod rankcosine;
pub mod smoothi;
pub mod softrank;
pub mod xe_ndcg;
pub mod yetirank;
