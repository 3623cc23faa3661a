//! Pairwise losses: every pair whose labels differ should be in the right order.
//!
//! One mechanism (`mechanism.rs`) covers every pair of different grades once; a loss (`logistic.rs` or `hinge.rs`) gives the sums
//! over all pairs of better and worse items. Where the data give preference pairs, `given.rs` takes these instead.

pub mod bpr;
mod given;
mod hinge;
mod logistic;
pub mod margin;
mod mechanism;
pub mod ranknet;
pub mod ranksvm;
pub mod squared_hinge;

use crate::catalog::family;

family! { "pairwise":
    ranknet = "ranknet": "logistic loss over pairs with different labels";
    ranksvm = "ranksvm": "hinge loss over pairs that are less than a margin apart";
    squared_hinge = "squared-hinge": "squared hinge loss over pairs that are less than a margin apart";
    margin = "margin": "squared hinge summed over pairs: the loss of supervised PageRank";
    bpr = "bpr": "Bayesian personalised ranking: logistic loss over pairs of a relevant and another item";
}

#[cfg(test)]
mod tests;
