//! Listwise losses: distributions over orders, smooth ranks, relaxed sorts.
//!
//! If only some items of a list are drawn, they are treated as a shorter list: ranked among themselves, with their
//! own ideal DCG. Objectives that estimate ranks in the whole list are in [`crate::compositional`].

pub mod approx_mrr;
pub mod approx_ndcg;
pub mod gumbel_ndcg;
pub mod listmle;
pub mod listnet;
mod measure;
pub mod neural_ndcg;
pub mod neural_ndcg_stochastic;
mod noise;
pub mod p_listmle;
pub mod pirank;
mod plackett_luce;
pub mod rankcosine;
pub mod smoothi;
pub mod softrank;
pub mod xe_ndcg;
pub mod yetirank;

use crate::catalog::family;

family! { "listwise":
    listnet = "listnet": "cross-entropy between the top-one probabilities of labels and scores";
    listmle = "listmle": "likelihood of the order of the labels under the Plackett–Luce model";
    p_listmle = "p-listmle": "ListMLE with weights that halve from position to position";
    rankcosine = "rankcosine": "cosine of the angle between labels and scores";
    xe_ndcg = "xe-ndcg": "cross-entropy with perturbed gains, a convex bound on NDCG";
    approx_ndcg = "approx-ndcg": "NDCG with smooth ranks";
    gumbel_ndcg = "gumbel-ndcg": "ApproxNDCG averaged over perturbed scores";
    approx_mrr = "approx-mrr": "reciprocal rank with smooth ranks";
    neural_ndcg = "neural-ndcg": "NDCG of a relaxed sort with Sinkhorn scaling";
    neural_ndcg_stochastic = "neural-ndcg-stochastic": "NeuralNDCG averaged over perturbed scores";
    pirank = "pirank": "NDCG@K of a relaxed sort, of which only K rows are computed";
    smoothi = "smoothi": "NDCG@K by smooth rank indicators";
    smoothi::precision = "smoothi-p": "precision at K by smooth rank indicators";
    softrank = "softrank": "expected NDCG if scores are normally distributed";
    yetirank = "yetirank": "logistic loss over adjacent items in random orders";
}
