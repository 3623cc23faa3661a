//! **Which way should each score move?** Scores and labels in, loss, ∂loss/∂score and curvature out.
//!
//! ```
//! use toprank_core::{List, Policy};
//! use toprank_objectives::Goal;
//! let goal = Goal::parse("listnet", &Policy::default()).unwrap();
//! let (loss, gradient) = goal.of_list(&List::new(&[0.3, 0.1, 0.2], &[1.0, 0.0, 2.0])).unwrap();
//! assert!(loss > 0.0);
//! assert!(gradient[2] < 0.0 && gradient[1] > 0.0); // the best item should rise, the worst should fall
//! ```
//!
//! Invariants:
//! - no feature, file or model is known here, so every objective trains every model;
//! - the loss of a data set is the mean over its lists; a list that cannot contribute (one item, nothing
//!   relevant …) gives loss 0 and gradient 0 and is counted, never NaN;
//! - unjudged items (label NaN) take no part: their gradient is 0 and they are not counted;
//! - state (trackers, ideal DCG) lives in [`State`], one block per list, so lists run in parallel and the bytes do
//!   not depend on the number of threads;
//! - nothing allocates per list once [`Work`] has grown.

#[macro_use(vectorised)]
extern crate toprank_core;

mod simd;

pub mod bilevel;
pub mod catalog;
pub mod compositional;
pub mod contrastive;
mod gather;
mod goal;
pub mod kernels;
pub mod lambda;
pub mod listwise;
pub mod minmax;
mod objective;
pub mod pairwise;
mod params;
pub mod pointwise;
mod state;
mod walk;
mod work;

pub use catalog::{ALIASES, Listing, OBJECTIVES, find, nearest};
pub use goal::{Goal, GoalError};
pub use objective::{Curvature, Input, Needs, Objective, Out};
pub use state::{Column, ListState, Per, State, StateError};
pub use walk::{Batch, Draws, Gradients, ListCounts, Reduction};
pub use work::{Buffer, Work};
