//! **How good is this order?** Metrics of one list, evaluation of many, presets that speak as other tools do,
//! significance tests, rank fusion.
//!
//! Invariants:
//! - a metric sees scores, labels and weights of one list and a [`toprank_core::Policy`]; no feature, no file, no model;
//! - the fast kernel equals the plain definition in its tests;
//! - results do not depend on the number of threads, to the bit.
