//! **How good is this order?** Metrics of one list, evaluation of many, presets that match other tools' conventions,
//! significance tests, rank fusion; thresholds on scores and the quality of probabilities.
//!
//! Invariants:
//! - a metric sees scores, labels and weights of one list and a [`toprank_core::Policy`]; no feature, no file, no model;
//! - the fast kernel equals the plain definition in its tests;
//! - results do not depend on the number of threads, to the bit.

// Expected values are spelled out as the formula's sum over its count.
#![allow(clippy::manual_midpoint)]

pub mod bootstrap;
mod catalog;
mod classes;
pub mod compare;
mod evaluate;
pub mod fusion;
mod gain;
pub mod judging;
mod measure;
mod metric;
mod names;
mod own;
mod presets;
pub mod probability;
mod rank;
pub mod reconcile;
pub mod rows;
pub mod significance;
#[cfg(test)]
mod testing;
pub mod threshold;

pub use catalog::*;
pub use evaluate::{
    Counts, EvaluateError, Evaluation, ItemWeights, MeasureResult, evaluate, intervals_over_lists, pool,
    weighted_mean,
};
pub use gain::{Discounts, MAX_EXP2_LABEL, best_dcg, gain_of};
pub use measure::Measure;
pub use metric::{Average, Better, Labels, Metric, TieRule};
pub use own::{OWN_PREFIX, check_name, register};
pub use presets::{PRESETS, Preset};
pub use rank::{Groups, NotANumber, Ranked, Work};
