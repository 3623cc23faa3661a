/*!
Contrastive and retrieval objectives: a list is a query, its scores are similarities (cosines) with candidates.

| objective | state | source |
| --- | --- | --- |
| [`nca`], [`log_nca`], [`sup_con`], [`global`] | two or three numbers per query | Yang, "Algorithmic foundation of deep X-risk optimization", arXiv 2206.00439, 2022, eq. 31–35 |
| [`smooth_ap`], [`fast_ap`], [`dir`], [`blackbox`] | none: the batch is the list | their pages |
| [`pairs`], [`triplet`], [`multi_similarity`] | none | their pages |

Every other objective of the catalog accepts cosines, too; the first four keep their state per query, not per relevant pair, so
that it stays small if a class has many rows.
*/

pub mod blackbox;
pub mod dir;
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

use crate::catalog::family;

family! { "contrastive and retrieval":
    global = "global-contrastive": "one relevant item against the tracked mean of all others (SogCLR)";
    nca = "nca": "fraction of the softmax mass on relevant items, tracked";
    log_nca = "log-nca": "logarithm of the fraction of the softmax mass on relevant items, tracked";
    sup_con = "sup-con": "supervised contrastive loss with one tracked normaliser per list";
    smooth_ap = "smooth-ap": "average precision of the batch with sigmoid ranks";
    fast_ap = "fast-ap": "average precision of the batch from soft histograms";
    dir = "dir": "average precision of the batch from soft histograms of similarities in a given range";
    blackbox = "blackbox": "average precision or recall of the batch, differentiated through its sort";
    pairs = "contrastive": "similarity of relevant items above one margin, of others below another";
    triplet = "triplet": "relevant items more similar than others by a margin, with mining";
    multi_similarity = "multi-similarity": "soft maxima over hard relevant items and hard others";
}

/// The parameter `temperature` of exponentials of similarities.
pub(crate) const TEMPERATURE: Param = Param {
    name: "temperature",
    default: "0.1",
    range: "in (0, ∞)",
    about: "τ: similarities are divided by it",
};

/// Which terms a mean of hinges is over.
pub(crate) const OVER: Param = Param {
    name: "over",
    default: "violating",
    range: "violating or all",
    about: "whether the mean is over the terms that violate the margin, or over all",
};
