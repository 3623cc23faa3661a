//! **Which words do all rooms share?** Lists of scored and labelled items, the policy that decides what a
//! measure means at its edges, the grammar and tables of every catalog, what a model is, graphs as items, the matrix product, random streams, ordered
//! sums.
//!
//! Invariants:
//! - nothing here reads a file or names a metric;
//! - scores, losses and gradients are `f64` at every seam, labels and weights are `f32`;
//! - a result depends on the numbers given, never on the number of threads.

pub mod catalog;
pub mod choices;
pub mod graphs;
pub mod list;
pub mod matrix;
pub mod model;
pub mod policy;
mod simd;
pub mod stream;
pub mod sum;

pub use catalog::{Args, Entry, Param, ParamError, Spec};
pub use choices::Choices;
pub use graphs::{GraphFeature, GraphShape, Graphs};
pub use list::{List, Lists, ListsError, Ragged};
pub use model::{
    Architecture, Backward, Block, Differentiable, Features, LabelDefaults, ModelError, ModelInput, Role,
    TrainingDefaults,
};
pub use policy::{Divisor, Empty, Gain, Ideal, Policy, Relevant, ScoreBits, Short, Ties};
pub use stream::Stream;
pub use sum::ordered_sum;
