//! **How good is this order?** Metrics of one list, evaluation of many, presets that speak as other tools do,
//! significance tests, rank fusion.
//!
//! Invariants:
//! - a metric sees scores, labels and weights of one list and a [`toprank_core::Policy`]; no feature, no file, no model;
//! - the fast kernel equals the plain definition in its tests;
//! - results do not depend on the number of threads, to the bit.

// Expected values are spelled out as the formula's sum over its count.
#![allow(clippy::manual_midpoint)]

mod at_cut;
mod average_precision;
pub mod bootstrap;
mod catalog;
pub mod compare;
mod dcg;
mod evaluate;
pub mod fusion;
mod gain;
mod measure;
mod metric;
mod presets;
mod rank;
mod reciprocal_rank;
pub mod significance;
#[cfg(test)]
mod testing;

pub use at_cut::{F1, Judged, Precision, Recall, Success};
pub use average_precision::AveragePrecision;
pub use catalog::{ALIASES, METRICS, find, nearest};
pub use dcg::{Dcg, Ndcg};
pub use evaluate::{
    Counts, EvaluateError, Evaluation, ItemWeights, MeasureResult, evaluate, pool, weighted_mean,
};
pub use gain::{Discounts, MAX_EXP2_LABEL, gain_of};
pub use measure::Measure;
pub use metric::{Better, Labels, Metric, TieRule};
pub use presets::{PRESETS, Preset};
pub use rank::{Groups, NotANumber, Ranked, Work};
pub use reciprocal_rank::ReciprocalRank;
