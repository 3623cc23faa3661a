//! **Score by trees, learn from gradient and curvature.** Features are cut into at most 255 bins, trees are grown from
//! histograms of gradients, many trees added up are a model.
//!
//! ```
//! use toprank_data::Matrix;
//! use toprank_trees::{Bins, BinSettings};
//! let rows = Matrix::Dense { width: 1, values: vec![1.0, 2.0, f32::NAN, 8.0] };
//! let bins = Bins::fit(&rows, &[], &BinSettings { least: 1, ..BinSettings::default() }).unwrap();
//! assert_eq!(bins.of(0).bin(2.0), 1); // the middle of three bins
//! assert_eq!(bins.of(0).bin(f32::NAN), bins.of(0).missing());
//! ```
//!
//! Invariants:
//! - no label and no objective is known here: whoever boosts brings gradient and curvature;
//! - a row goes left where its value is at most the threshold (or in the set of categories), right where it is above, and
//!   where the node says when the value is missing;
//! - the bytes do not depend on the number of threads: sums over rows are sums of whole numbers.

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
mod walk;

pub use binning::{BinSettings, Binned, Bins, FeatureBins};
pub use booster::{Booster, Boosting, Method};
pub use catalog::{Forest, MODELS};
pub use columns::Columns;
pub use ensemble::Ensemble;
pub use growth::{Category, Growth, Order, Part, Spent};
pub use sampling::Sampling;
pub use scorer::Scorer;
pub use tree::{Categories, Next, Node, Test, Tree};
