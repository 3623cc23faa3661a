/*!
burn modules of your own as networks: implement [`RankModule`] for a module, and [`ModuleNetwork`] makes it trainable by every
objective. Only with the feature `burn`; the networks of the catalog do not need it.

Dropout, noise and batch norm come from [`ForwardPass`] and [`BatchNorm`], whose random numbers and statistics belong to the step.
*/

mod batch_norm;
mod forward_pass;
mod leaves;
mod network;
#[cfg(test)]
mod tests;

/// The burn that modules are written with. Its derive macros expect the name `burn` to be in scope.
pub use burn;

pub use batch_norm::BatchNorm;
pub use forward_pass::ForwardPass;
pub use network::{ModuleNetwork, RankModule};
