//! The catalog of objectives. A new objective is one file, one page and one entry here; the command's listing, its help
//! and the contract tests read only this.

use toprank_core::Entry;

use crate::objective::Objective;
use crate::{bilevel, compositional, contrastive, lambda, listwise, minmax, pairwise, pointwise};

/// One entry of the catalog.
pub struct Listing {
    /// Name, family, page, parameters, constructor.
    pub entry: Entry<dyn Objective>,
    /// The objective with parameters other than the defaults, as a user writes it. Each example changes the result (a test
    /// checks it), and together they set every parameter.
    pub examples: &'static [&'static str],
}

const COMPOSITIONAL: &str = "compositional (X-risk)";
const BILEVEL: &str = "bilevel (thresholds)";
const MINMAX: &str = "min-max (duals)";
const POINTWISE: &str = "pointwise";
const PAIRWISE: &str = "pairwise";
const LAMBDA: &str = "lambda";
const LISTWISE: &str = "listwise";
const CONTRASTIVE: &str = "contrastive and retrieval";

/// An entry whose page is `pages/NAME.md` and whose module has `PARAMS`, `EXAMPLES` and `make`.
macro_rules! line {
    ($name:literal, $family:expr, $($module:ident)::+, $about:literal) => {
        Listing {
            entry: Entry {
                name: $name,
                family: $family,
                about: $about,
                page: include_str!(concat!("pages/", $name, ".md")),
                params: $($module)::+::PARAMS,
                make: $($module)::+::make,
            },
            examples: $($module)::+::EXAMPLES,
        }
    };
}

/// Every objective.
#[rustfmt::skip]
pub static OBJECTIVES: &[Listing] = &[
    line!("song", COMPOSITIONAL, compositional::song, "NDCG by tracked smooth ranks"),
    line!("song-v1", COMPOSITIONAL, compositional::song::v1, "Faster SONG: NDCG with the MSVR tracker"),
    line!("song-v2", COMPOSITIONAL, compositional::song::v2, "Faster SONG: NDCG with the quadratic tracker"),
    line!("song-minibatch", COMPOSITIONAL, compositional::song::mini_batch, "SONG without a tracker (ablation)"),
    line!("song-storm", COMPOSITIONAL, compositional::song::storm, "SONG with a STORM tracker (ablation)"),
    line!("ap", COMPOSITIONAL, compositional::ap, "average precision by tracked smooth ranks"),
    line!("soprc", COMPOSITIONAL, compositional::soprc, "AUPRC from biased batches, by the true fraction of relevant items"),
    line!("listwise-ce", COMPOSITIONAL, compositional::listwise_ce, "softmax cross-entropy with a tracked normaliser"),
    line!("precision", COMPOSITIONAL, compositional::precision, "precision at K by tracked smooth ranks"),
    line!("recall", COMPOSITIONAL, compositional::precision::recall, "recall at K by tracked smooth ranks"),
    line!("p-norm-push", COMPOSITIONAL, compositional::p_norm_push, "p-th power of how far other items are above"),
    line!("auroc", COMPOSITIONAL, compositional::auroc, "AUROC: a surrogate over all pairs of a relevant and another item"),
    line!("pauc-kl", COMPOSITIONAL, compositional::pauc_kl, "one-way partial AUC, KL form"),
    line!("tpauc-kl", COMPOSITIONAL, compositional::tpauc_kl, "two-way partial AUC, KL form with three levels"),
    line!("top-push-kl", COMPOSITIONAL, compositional::top_push_kl, "top push, KL form"),
    line!("k-song", BILEVEL, bilevel::k_song, "NDCG at K by a threshold and tracked smooth ranks"),
    line!("k-song-v1", BILEVEL, bilevel::k_song::v1, "Faster K-SONG: NDCG at K with MSVR trackers"),
    line!("k-song-v2", BILEVEL, bilevel::k_song::v2, "Faster K-SONG: NDCG at K with quadratic trackers"),
    line!("k-song-rank", BILEVEL, bilevel::k_song::by_rank, "NDCG at K with a gate by rank instead of a threshold"),
    line!("top-ap", BILEVEL, bilevel::top_ap, "average precision at K by a threshold and tracked smooth ranks"),
    line!("precision-threshold", BILEVEL, bilevel::threshold_precision, "precision at K by a threshold"),
    line!("recall-threshold", BILEVEL, bilevel::threshold_precision::recall, "recall at K by a threshold"),
    line!("precision-at-recall", BILEVEL, bilevel::precision_at_recall, "precision at a recall by a threshold"),
    line!("pauc-bilevel", BILEVEL, bilevel::pauc, "one-way partial AUC over a range of false positive rates, by thresholds"),
    line!("tpauc-bilevel", BILEVEL, bilevel::tpauc, "two-way partial AUC by thresholds"),
    line!("pap", BILEVEL, bilevel::pap, "the K highest relevant items against the K highest others, by thresholds"),
    line!("top-push-bilevel", BILEVEL, bilevel::top_push, "top push by a threshold"),
    line!("auroc-minmax", MINMAX, minmax::auroc, "AUROC with the square loss, by the means of the classes"),
    line!("auroc-margin", MINMAX, minmax::auroc::margin, "AUROC, margin form: no gradient beyond the margin"),
    line!("pauc-cvar", MINMAX, minmax::pauc_cvar, "one-way partial AUC, CVaR form: the mean over the highest others"),
    line!("tpauc-minmax", MINMAX, minmax::tpauc, "two-way partial AUC: the lowest relevant items against the highest others"),
    line!("top-push", MINMAX, minmax::top_push, "relevant items against the highest other"),
    line!("p-norm-push-minmax", MINMAX, minmax::p_norm_push, "p-norm push by its conjugate, without trackers"),
    line!("squared", POINTWISE, pointwise::squared, "squared difference between score and label"),
    line!("logistic", POINTWISE, pointwise::logistic, "the score as log-odds of being relevant"),
    line!("cross-entropy", POINTWISE, pointwise::cross_entropy, "cross-entropy with a weight for relevant items"),
    line!("focal", POINTWISE, pointwise::focal, "cross-entropy that down-weights easy items"),
    line!("ordinal", POINTWISE, pointwise::ordinal, "ordinal regression: a logistic loss per grade threshold"),
    line!("ranknet", PAIRWISE, pairwise::ranknet, "logistic loss over pairs with different labels"),
    line!("ranksvm", PAIRWISE, pairwise::ranksvm, "hinge loss over pairs that are less than a margin apart"),
    line!("squared-hinge", PAIRWISE, pairwise::squared_hinge, "squared hinge loss over pairs that are less than a margin apart"),
    line!("margin", PAIRWISE, pairwise::margin, "squared hinge summed over pairs: the loss of supervised PageRank"),
    line!("bpr", PAIRWISE, pairwise::bpr, "Bayesian personalised ranking: logistic loss over pairs of a relevant and another item"),
    line!("lambdarank", LAMBDA, lambda::lambdarank, "logistic loss over pairs, weighted by how much a swap changes NDCG"),
    line!("lambda-map", LAMBDA, lambda::lambda_map, "logistic loss over pairs, weighted by how much a swap changes average precision"),
    line!("lambda-mrr", LAMBDA, lambda::lambda_mrr, "logistic loss over pairs, weighted by how much a swap changes the reciprocal rank"),
    line!("lambda-err", LAMBDA, lambda::lambda_err, "logistic loss over pairs, weighted by how much a swap changes ERR"),
    line!("lambda-p", LAMBDA, lambda::lambda_p, "logistic loss over pairs, weighted by how much a swap changes precision at K"),
    line!("ndcg-loss1", LAMBDA, lambda::ndcg_loss1, "LambdaLoss: each gain against all other items"),
    line!("ndcg-loss2", LAMBDA, lambda::ndcg_loss2, "LambdaLoss: pairs weighted by a tight bound on NDCG"),
    line!("ndcg-loss2pp", LAMBDA, lambda::ndcg_loss2pp, "LambdaLoss: NDCG-Loss2 and LambdaRank together"),
    line!("listnet", LISTWISE, listwise::listnet, "cross-entropy between the top-one probabilities of labels and scores"),
    line!("listmle", LISTWISE, listwise::listmle, "likelihood of the order of the labels under the Plackett–Luce model"),
    line!("p-listmle", LISTWISE, listwise::p_listmle, "ListMLE with weights that halve from position to position"),
    line!("rankcosine", LISTWISE, listwise::rankcosine, "cosine of the angle between labels and scores"),
    line!("xe-ndcg", LISTWISE, listwise::xe_ndcg, "cross-entropy with perturbed gains, a convex bound on NDCG"),
    line!("approx-ndcg", LISTWISE, listwise::approx_ndcg, "NDCG with smooth ranks"),
    line!("gumbel-ndcg", LISTWISE, listwise::gumbel_ndcg, "ApproxNDCG averaged over perturbed scores"),
    line!("approx-mrr", LISTWISE, listwise::approx_mrr, "reciprocal rank with smooth ranks"),
    line!("neural-ndcg", LISTWISE, listwise::neural_ndcg, "NDCG of a relaxed sort with Sinkhorn scaling"),
    line!("neural-ndcg-stochastic", LISTWISE, listwise::neural_ndcg_stochastic, "NeuralNDCG averaged over perturbed scores"),
    line!("pirank", LISTWISE, listwise::pirank, "NDCG@K of a relaxed sort, of which only K rows are computed"),
    line!("smoothi", LISTWISE, listwise::smoothi, "NDCG@K by smooth rank indicators"),
    line!("softrank", LISTWISE, listwise::softrank, "expected NDCG if scores are normally distributed"),
    line!("yetirank", LISTWISE, listwise::yetirank, "logistic loss over adjacent items in random orders"),
    line!("global-contrastive", CONTRASTIVE, contrastive::global, "one relevant item against the tracked mean of all others (SogCLR)"),
    line!("nca", CONTRASTIVE, contrastive::nca, "fraction of the softmax mass on relevant items, tracked"),
    line!("log-nca", CONTRASTIVE, contrastive::log_nca, "logarithm of the fraction of the softmax mass on relevant items, tracked"),
    line!("sup-con", CONTRASTIVE, contrastive::sup_con, "supervised contrastive loss with one tracked normaliser per list"),
    line!("smooth-ap", CONTRASTIVE, contrastive::smooth_ap, "average precision of the batch with sigmoid ranks"),
    line!("fast-ap", CONTRASTIVE, contrastive::fast_ap, "average precision of the batch from soft histograms"),
    line!("contrastive", CONTRASTIVE, contrastive::pairs, "similarity of relevant items above one margin, of others below another"),
    line!("triplet", CONTRASTIVE, contrastive::triplet, "relevant items more similar than others by a margin, with mining"),
    line!("multi-similarity", CONTRASTIVE, contrastive::multi_similarity, "soft maxima over hard relevant items and hard others"),
];

/// Other names under which objectives are known.
pub static ALIASES: &[(&str, &str)] = &[("softmax", "listnet"), ("lambdamart", "lambdarank")];

/// Every name and alias.
pub fn names() -> impl Iterator<Item = &'static str> {
    OBJECTIVES.iter().map(|line| line.entry.name).chain(ALIASES.iter().map(|alias| alias.0))
}

/// The entry of a name or an alias.
pub fn find(name: &str) -> Option<&'static Listing> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    OBJECTIVES.iter().find(|line| line.entry.name == name)
}
