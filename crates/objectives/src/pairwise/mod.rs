//! Losses of pairs: every pair whose labels differ should stand in order.
//!
//! One mechanism (`mechanism.rs`) meets every pair of different grades once; an instance gives the sums over all pairs of
//! better and worse items, `logistic.rs` or `hinge.rs`.

pub mod bpr;
mod hinge;
mod logistic;
pub mod margin;
mod mechanism;
pub mod ranknet;
pub mod ranksvm;
pub mod squared_hinge;
#[cfg(test)]
mod tests;
