//! Pairwise losses: every pair whose labels differ should be in the right order.
//!
//! One mechanism (`mechanism.rs`) covers every pair of different grades once; a loss (`logistic.rs` or `hinge.rs`) gives the sums
//! over all pairs of better and worse items.

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
