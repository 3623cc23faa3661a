//! Sums over a list, exact and fast: what several objectives share. Each kernel has a plain twin in its tests.

pub mod hinge;
pub mod order;
pub mod scalar;

/// Memory of the kernels.
#[derive(Clone, Debug, Default)]
pub struct KernelWork {
    /// Of [`hinge::Hinge`].
    pub hinge: hinge::HingeWork,
    /// Of [`order::descending`].
    pub order: order::OrderWork,
}
