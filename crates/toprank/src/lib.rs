//! toprank: train models to rank and judge rankings by the measure you report.
//!
//! This crate is the façade: it re-exports the other crates, so that one dependency is enough.

pub use toprank_core as core;
pub use toprank_data as data;
pub use toprank_embeddings as embeddings;
pub use toprank_metrics as metrics;
#[cfg(feature = "neural")]
pub use toprank_neural as neural;
pub use toprank_objectives as objectives;
pub use toprank_onnx as onnx;
pub use toprank_train as train;
pub use toprank_trees as trees;
pub use toprank_walks as walks;

/// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
