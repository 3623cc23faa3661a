//! **How does a network score items and learn from ∂loss/∂score?** The table of networks
//! ([`MODELS`]), built from burn modules; a user's own module is trained in the same way.
//!
//! Invariants:
//! - a network is a function of one flat slice of parameters; each shard builds its own leaves from it;
//! - burn types appear only inside this crate and in the interface for users' own modules;
//! - random numbers of dropout and noise come from the stream of the step, never from a process-wide generator.
//!
//! **Speed.** Linear models and perceptrons with the default activation and without normalisation do not build burn's graph:
//! their products are written out (`direct.rs`) and reuse their memory. A step of the other networks allocates and frees large
//! blocks of memory. The command configures glibc to keep them; in your own program set `MALLOC_MMAP_THRESHOLD_=1073741824
//! MALLOC_TRIM_THRESHOLD_=2147483648 MALLOC_TOP_PAD_=67108864` in the environment (bench/training does so for both sides).
//! Matrix products use AVX-512 if the processor has it.
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

mod direct;
mod forward_pass;
mod graphs;
mod init;
mod layers;
mod leaves;
mod network;
pub mod networks;
pub mod onnx;
mod params;
mod squash;
#[cfg(test)]
mod tests;

pub use burn;
pub use forward_pass::ForwardPass;
pub use graphs::{GraphBatch, Messages};
pub use init::{he_uniform, xavier_uniform};
pub use layers::{Activation, BatchNorm};
pub use network::{Network, RankModule};
pub use networks::{MODELS, find, parse};
