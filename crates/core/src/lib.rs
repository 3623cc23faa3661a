//! **What do all crates share?** Lists of scored and labelled items, the policy that defines metrics in edge cases, the grammar and
//! entries of every catalog, the traits of models, graphs as items, the matrix product, random streams, sums in a fixed order, and text made safe to show.
//!
//! Invariants:
//! - nothing here reads a file or names a metric;
//! - scores, losses and gradients are `f64` in every interface, labels and weights are `f32`;
//! - a result depends on the numbers given, never on the number of threads.

pub mod catalog;
pub mod choices;
pub mod collective;
pub mod graphs;
pub mod list;
pub mod matrix;
pub mod model;
pub mod policy;
mod simd;
pub mod stream;
pub mod sum;
pub mod text;

pub use catalog::{Args, Entry, Param, ParamError, Spec};
pub use choices::Choices;
pub use collective::Collective;
pub use graphs::{GraphFeature, GraphShape, Graphs};
pub use list::{List, Lists, ListsError, Preference, Preferences, Ragged};
pub use model::{
    Architecture, Block, Differentiable, Features, LabelDefaults, ModelError, ModelInput, Role, Tape,
    TrainingDefaults, take_f32s,
};
pub use policy::{Divisor, Empty, Gain, Ideal, Policy, Relevant, ScoreBits, Short, Ties};
pub use stream::Stream;
pub use sum::ordered_sum;
