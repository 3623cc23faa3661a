//! **Which way should each score move?** Scores and labels in, loss, gradient ∂loss/∂score and Hessian diagonal out.
//!
//! ```
//! use toprank_core::{List, Policy};
//! use toprank_objectives::Goal;
//! let goal = Goal::parse("listnet", &Policy::default()).unwrap();
//! let (loss, gradient) = goal.of_list(&List::new(&[0.3, 0.1, 0.2], &[1.0, 0.0, 2.0])).unwrap();
//! assert!(loss > 0.0);
//! assert!(gradient[2] < 0.0 && gradient[1] > 0.0); // raise the score of the best item, lower that of the worst
//! ```
//!
//! Invariants:
//! - no feature, file or model is known here, so every objective trains every model;
//! - the loss of a data set is the mean over its lists; a list without gradient (for example one item, or no relevant
//!   item) has loss 0 and gradient 0 and is counted, never NaN;
//! - unlabelled items (label NaN) take no part: their gradient is 0 and they are not counted;
//! - state (trackers, ideal DCG) lives in [`State`], one block per list, so lists run in parallel and the bytes do
//!   not depend on the number of threads;
//! - nothing is allocated per list once the scratch memory ([`Work`]) has grown.

#[macro_use(vectorised)]
extern crate toprank_core;

mod simd;

pub mod bilevel;
pub mod catalog;
pub mod check;
pub mod compositional;
pub mod contrastive;
mod driver;
mod gather;
mod goal;
pub mod kernels;
pub mod lambda;
pub mod listwise;
pub mod minmax;
mod objective;
mod own;
pub mod pairwise;
mod params;
pub mod pointwise;
mod state;
mod work;

pub use catalog::{ALIASES, Listing, OBJECTIVES, find, names};
pub use driver::{Among, Batch, Draws, Gradients, ListCounts, Reduction};
pub use goal::{DrawRates, Goal, GoalError};
pub use objective::{Hessian, Input, Needs, Objective, Out};
pub use own::register;
pub use state::{Column, ListState, Per, State, StateError};
pub use work::{Buffer, Work};
