//! **Score the nodes of graphs by a walk, learn its weights from ∂loss/∂score.** PageRank in its many forms, and supervised
//! PageRank: restarts and transitions weighted by features, with weights that are learned.
//!
//! Invariants:
//! - every distribution comes with an upper bound of its error in the 1-norm;
//! - the bytes do not depend on the number of threads: nodes are computed one by one, sums have fixed blocks;
//! - no label and no objective is known here.
//!
//! Source: Bogolubsky, Dvurechensky, Gasnikov, Gusev, Nesterov, Raigorodskii, Tikhonov, Zhukovskii, "Learning Supervised
//! PageRank with Gradient-Based and Gradient-Free Optimization Methods", NIPS 2016 (equations 2.1 to 4.10, lemmas 1 and
//! 2, numbered as in arXiv 1603.00717).

mod chain;
mod jacobian;
mod peel;
mod rank;
mod seidel;
mod solve;
#[cfg(test)]
mod tests;
mod transition;
mod walk;

pub use chain::Dangling;
pub use jacobian::{Bounds, Lemma2};
pub use rank::{Ranking, Surfer, rank};
pub use solve::{Certificate, Solver, Stop};
pub use walk::{ADJOINT_ERROR, Score, Solved, Walk};
