//! **Score by a network, learn from ∂loss/∂score.** Linear models, multi-layer perceptrons, the context-aware ranker and a network
//! for graphs, built from burn modules; a user's own module trains the same way.
//!
//! Invariants:
//! - a network is a function of one flat slice of parameters; each shard builds its own leaves from it;
//! - burn types stay inside this room, but for those who bring their own module;
//! - random numbers of dropout and noise come from the stream of the step, never from a process-wide generator.
//!
//! **Fast.** Linear models and perceptrons with the default bend and no norm do not build burn's graph: their products
//! and sweeps are written out (`direct.rs`) and keep their memory. A step of the other networks takes and gives back large blocks of memory. So that glibc keeps them instead of asking
//! the system again and again (the command does so by itself), start your program with `MALLOC_MMAP_THRESHOLD_=1073741824
//! MALLOC_TRIM_THRESHOLD_=2147483648 MALLOC_TOP_PAD_=67108864` in its environment (bench/training does so for both
//! sides). Matrix products use AVX-512 where the processor has it.
//!
//! ```
//! use toprank_core::{Features, ModelInput, Stream};
//!
//! struct Table;
//! impl Features for Table {
//!     fn rows(&self) -> usize {
//!         3
//!     }
//!     fn width(&self) -> usize {
//!         2
//!     }
//!     fn gather(&self, rows: &[u32], out: &mut [f32]) {
//!         for (row, out) in rows.iter().zip(out.chunks_mut(2)) {
//!             out.copy_from_slice(&[*row as f32, 1.0]);
//!         }
//!     }
//! }
//!
//! let network = toprank_neural::parse("mlp:hidden=8-4:activation=tanh")?.build(2, 1)?;
//! let mut parameters = vec![0.0; network.parameters()];
//! network.init(Stream::new(1, "init"), &mut parameters);
//! let input = ModelInput { features: &Table, rows: &[0, 1, 2], offsets: &[0, 3] };
//! let mut scores = [0.0; 3];
//! network.score(&parameters, &input, &mut scores)?;
//! assert!(scores.iter().all(|s| s.is_finite()) && scores[0] != scores[1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalog;
pub mod context;
mod direct;
pub mod gin;
mod graphs;
mod init;
mod layers;
mod leaves;
pub mod linear;
pub mod mlp;
mod network;
pub mod onnx;
mod params;
mod pass;
mod squash;
#[cfg(test)]
mod tests;

pub use burn;
pub use catalog::{MODELS, find, parse};
pub use graphs::{GraphBatch, Messages};
pub use init::{he_uniform, xavier_uniform};
pub use layers::{Activation, BatchNorm};
pub use network::{Network, RankModule};
pub use pass::Pass;
