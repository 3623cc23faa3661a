//! **How good is this order?** Metrics of one list, evaluation of many, presets that match other tools' conventions,
//! significance tests, rank fusion; thresholds on scores and the quality of probabilities.
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
mod bpref;
mod cascade;
mod catalog;
mod classes;
pub mod compare;
mod dcg;
mod evaluate;
pub mod fusion;
mod gain;
mod geometric;
mod measure;
mod metric;
mod names;
mod pairwise;
mod precision_recall;
mod presets;
pub mod probability;
mod push;
mod rank;
mod reciprocal_rank;
mod roc;
pub mod rows;
pub mod significance;
#[cfg(test)]
mod testing;
pub mod threshold;

pub use at_cut::{F1, Judged, Precision, RPrecision, Recall, Success};
pub use average_precision::AveragePrecision;
pub use bpref::Bpref;
pub use cascade::{ExpectedReciprocalRank, Rbp, RbpResidual, Stop};
pub use catalog::{ALIASES, METRICS, find, known, nearest};
pub use dcg::{Dcg, Ndcg};
pub use evaluate::{
    Counts, EvaluateError, Evaluation, ItemWeights, MeasureResult, evaluate, intervals_over_lists, pool,
    weighted_mean,
};
pub use gain::{Discounts, MAX_EXP2_LABEL, best_dcg, gain_of};
pub use geometric::GeometricMap;
pub use measure::Measure;
pub use metric::{Average, Better, Labels, Metric, TieRule};
pub use pairwise::{Kendall, Pairs, Spearman};
pub use precision_recall::{
    Auprc, ElevenPoint, Form, InterpolatedPrecision, PrecisionAtRecall, RecallAtPrecision,
};
pub use presets::{PRESETS, Preset};
pub use push::{Anchor, PNormPush, PapAtK, TopPush};
pub use rank::{Groups, NotANumber, Ranked, Work};
pub use reciprocal_rank::ReciprocalRank;
pub use roc::{Auroc, PartialAuroc, Scale};
