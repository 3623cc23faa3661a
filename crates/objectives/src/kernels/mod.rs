//! Sums over a list, exact and fast, which several objectives share. Each kernel has a reference implementation in its tests.

mod expansion;
pub mod hinge;
pub mod neural_sort;
pub mod order;
pub mod scalar;
pub mod sigmoid;
pub mod smooth_ranks;
pub mod vector;

/// Scratch memory of the kernels.
#[derive(Clone, Debug, Default)]
pub struct KernelWork {
    /// Of [`toprank_metrics::best_dcg`].
    pub gains: Vec<f64>,
    /// Of [`hinge::Hinge`].
    pub hinge: hinge::HingeWork,
    /// Of the relaxed sort.
    pub neural_sort: neural_sort::NeuralSort,
    /// Of [`order::descending`].
    pub order: order::OrderWork,
    /// An order that an objective keeps while kernels run.
    pub places: Vec<u32>,
    /// A second one.
    pub more_places: Vec<u32>,
    /// Of callers of [`sigmoid::SigmoidSums`].
    pub smooth: crate::work::Buffer<f64>,
    /// Of [`sigmoid::SigmoidSums`].
    pub sigmoid: sigmoid::SigmoidWork,
    /// Of smooth ranks.
    pub smooth_ranks: smooth_ranks::SmoothRanks,
}
