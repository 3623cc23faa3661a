//! **How does a network score items and learn from ∂loss/∂score?** By layers that compute their own gradients ([`layers`]), composed
//! into networks ([`MODELS`]); yours are composed and trained in the same way.
//!
//! Invariants:
//! - a network is a function of one flat slice of parameters;
//! - a shard is computed by one thread, in one order: its bytes depend on nothing but its rows, parameters and random stream;
//! - random numbers of dropout and noise come from the stream of the step, never from a process-wide generator;
//! - after the first steps layers allocate nothing: buffers are used again ([`Pass`]). Only the matrix product takes memory to pack
//!   its operands.
//!
//! Matrix products use AVX-512 if the processor has it. There is no GPU back end; one would implement the functions of
//! `toprank_core::matrix` and `kernels.rs` for its buffers, since layers touch numbers in no other way.
//!
//! ```
//! use toprank_core::{Features, ModelInput, Stream, Tape};
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
//! network.score(&parameters, &input, &mut Tape::default(), &mut scores)?;
//! assert!(scores.iter().all(|s| s.is_finite()) && scores[0] != scores[1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checks;
mod graphs;
mod init;
mod kernels;
pub mod layers;
mod network;
pub mod networks;
pub mod onnx;
#[cfg(feature = "burn")]
pub mod own_module;
mod params;
mod pass;
mod squash;
#[cfg(test)]
mod tests;

pub use init::{he_uniform, xavier_uniform};
pub use kernels::{exp, sum};
pub use network::Network;
pub use networks::{MODELS, find, parse};
pub use pass::Pass;
