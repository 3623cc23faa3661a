//! **Score by trees, learn from gradient and Hessian.** Features are cut into at most 255 bins, trees are grown from
//! histograms of gradients, and a model is the sum of many trees.
//!
//! ```
//! use toprank_data::Matrix;
//! use toprank_trees::{BinSettings, Bins};
//! let rows = Matrix::Dense { width: 1, values: vec![1.0, 2.0, f32::NAN, 8.0] };
//! let bins = Bins::fit(&rows, &[], &BinSettings { min_rows: 1, ..BinSettings::default() }).unwrap();
//! assert_eq!(bins.of(0).bin(2.0), 1); // the middle of three bins
//! assert_eq!(bins.of(0).bin(f32::NAN), bins.of(0).missing());
//! ```
//!
//! Invariants:
//! - no label and no objective is known here: the caller brings the gradient and the Hessian diagonal, or an upper bound
//!   of it;
//! - a row goes left if its value is at most the threshold (or in the set of categories), right if it is above; every node
//!   states where missing values go;
//! - the bytes do not depend on the number of threads: sums over rows are sums of integers.

mod binned_tree;
mod binning;
mod booster;
mod catalog;
mod columns;
mod ensemble;
pub mod explain;
mod growth;
pub mod interop;
mod ranks;
mod sampling;
mod scorer;
mod tree;

pub use binning::{BinSettings, Binned, Bins, FeatureBins};
pub use booster::{Booster, Boosting, Method};
pub use catalog::{Forest, MODELS};
pub use columns::Columns;
pub use ensemble::Ensemble;
pub use growth::{Category, Growth, Order, Part, Spent};
pub use sampling::Sampling;
pub use scorer::Scorer;
pub use tree::{Categories, Next, Node, Test, Tree};
#[cfg(test)]
mod workers_tests;
