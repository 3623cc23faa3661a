/*!
Contrastive and retrieval objectives: a list is a query, its scores are similarities (cosines) with candidates.

| objective | keeps | source |
| --- | --- | --- |
| [`nca`], [`log_nca`], [`sup_con`], [`global`] | two or three numbers per query | XR (paper 003), eq. 31–35 |
| [`smooth_ap`], [`fast_ap`] | nothing: the batch is the list | their papers |
| [`pairs`], [`triplet`], [`multi_similarity`] | nothing | their papers |

Every other objective of the catalog takes cosines, too; the first four keep their state per query, not per relevant pair, so
that it stays small where a class has many rows.
*/

pub mod fast_ap;
pub mod global;
pub mod log_nca;
mod means;
pub mod multi_similarity;
pub mod nca;
pub mod pairs;
pub mod smooth_ap;
pub mod sup_con;
pub mod triplet;

use toprank_core::Param;

/// The parameter `temperature` of exponentials of similarities.
pub(crate) const TEMPERATURE: Param = Param {
    name: "temperature",
    default: "0.1",
    range: "in (0, ∞)",
    about: "τ: similarities are divided by it",
};

/// Which violations a mean of hinges goes over.
pub(crate) const OVER: Param = Param {
    name: "over",
    default: "violating",
    range: "violating or all",
    about: "the mean goes over what violates its margin, or over everything",
};
