//! The metrics and their table. A new metric is its file beside this one (or an addition to that of its family), its page and its
//! lines here; the command's listing, its help and the contract tests read only the table.

mod at_cut;
mod average_precision;
mod bpref;
mod cascade;
mod dcg;
mod geometric;
mod pairwise;
mod precision_recall;
mod push;
mod reciprocal_rank;
mod roc;

pub use at_cut::{F1, Judged, Precision, RPrecision, Recall, Success};
pub use average_precision::AveragePrecision;
pub use bpref::Bpref;
pub use cascade::{ExpectedReciprocalRank, Rbp, RbpResidual, Stop};
pub use dcg::{Dcg, Ndcg};
pub use geometric::GeometricMap;
pub use pairwise::{Kendall, Pairs, Spearman};
pub use precision_recall::{
    Auprc, ElevenPoint, Form, InterpolatedPrecision, PrecisionAtRecall, RecallAtPrecision,
};
pub use push::{Anchor, PNormPush, PapAtK, TopPush};
pub use reciprocal_rank::ReciprocalRank;
pub use roc::{Auroc, PartialAuroc, Scale};

use toprank_core::{Entry, Param};

use crate::metric::Metric;

/// The cut-off of `name@k`, shared by all metrics that have one.
pub(crate) const CUT: Param = Param {
    name: "@",
    default: "all",
    range: "an integer ≥ 1",
    about: "number of items from the top that count",
};

const GRADED: &str = "graded gain";
const RELEVANCE: &str = "relevance";
const INCOMPLETE: &str = "incomplete judgements";
const AREAS: &str = "areas";
const PUSHES: &str = "top of the list";
const PAIRS: &str = "pairs";

/// An entry whose page is `pages/NAME.md`.
macro_rules! entry {
    ($name:literal, $family:expr, $about:literal, $params:expr, $make:expr) => {
        Entry {
            name: $name,
            family: $family,
            about: $about,
            page: include_str!(concat!("../pages/", $name, ".md")),
            params: $params,
            make: $make,
        }
    };
}

/// An entry whose only parameter is the cut-off.
macro_rules! cut_entry {
    ($name:literal, $family:expr, $metric:ident, $about:literal) => {
        entry!($name, $family, $about, &[CUT], |spec| Ok(Box::new($metric { cut: spec.cut })))
    };
}

/// An entry without parameters.
macro_rules! plain_entry {
    ($name:literal, $family:expr, $metric:ident, $about:literal) => {
        entry!($name, $family, $about, &[], |_| Ok(Box::new($metric)))
    };
}

/// Every metric.
#[rustfmt::skip]
pub static METRICS: &[Entry<dyn Metric>] = &[
    cut_entry!("ndcg", GRADED, Ndcg, "DCG divided by the best possible DCG"),
    cut_entry!("dcg", GRADED, Dcg, "gains discounted by rank"),
    entry!("err", GRADED, "expected reciprocal rank at which a reader is satisfied", cascade::ERR_PARAMS, cascade::err),
    cut_entry!("map", RELEVANCE, AveragePrecision, "average precision (its mean over lists is MAP)"),
    entry!("gm-map", RELEVANCE, "geometric mean over lists of average precision", geometric::GM_MAP_PARAMS, geometric::gm_map),
    cut_entry!("mrr", RELEVANCE, ReciprocalRank, "reciprocal rank of the first relevant item"),
    entry!("p", RELEVANCE, "precision: fraction of relevant items at the top, or at a recall", precision_recall::P_PARAMS, precision_recall::p),
    entry!("recall", RELEVANCE, "fraction of the relevant items found at the top, or at a precision", precision_recall::RECALL_PARAMS, precision_recall::recall),
    cut_entry!("success", RELEVANCE, Success, "1 if a relevant item is at the top"),
    cut_entry!("f1", RELEVANCE, F1, "harmonic mean of precision and recall at the top"),
    entry!("rprec", RELEVANCE, "precision at rank R, the number of relevant items", at_cut::RPREC_PARAMS, at_cut::rprec),
    entry!("rbp", RELEVANCE, "rank-biased precision of a reader who continues with probability p (persistence)", cascade::RBP_PARAMS, cascade::rbp),
    entry!("iprec", RELEVANCE, "highest precision at this recall or beyond", precision_recall::IPREC_PARAMS, precision_recall::iprec),
    entry!("11pt", RELEVANCE, "interpolated precision averaged over eleven recalls", precision_recall::ELEVEN_PARAMS, precision_recall::eleven_point),
    plain_entry!("bpref", INCOMPLETE, Bpref, "relevant items above judged non-relevant ones"),
    cut_entry!("judged", INCOMPLETE, Judged, "fraction of the top that is judged"),
    entry!("rbp-residual", INCOMPLETE, "how much rbp could rise if unjudged items were relevant (lower is better)", cascade::RESIDUAL_PARAMS, cascade::rbp_residual),
    plain_entry!("auroc", AREAS, Auroc, "probability that a relevant item is ranked above another one"),
    entry!("pauc", AREAS, "area under a part of the ROC curve", roc::PAUC_PARAMS, |spec| Ok(Box::new(PartialAuroc::from_args(&spec.args)?))),
    entry!("auprc", AREAS, "area under the precision-recall curve", precision_recall::AUPRC_PARAMS, precision_recall::auprc),
    cut_entry!("pap", PUSHES, PapAtK, "pairs in order among the K highest of each class"),
    plain_entry!("top-push", PUSHES, TopPush, "fraction of relevant items above the highest other one"),
    entry!("p-norm-push", PUSHES, "how far other items are ranked above relevant ones (lower is better)", push::PUSH_PARAMS, push::p_norm_push),
    plain_entry!("pairs", PAIRS, Pairs, "fraction of pairs of different label in order"),
    plain_entry!("kendall", PAIRS, Kendall, "Kendall's tau-b of scores and labels"),
    plain_entry!("spearman", PAIRS, Spearman, "Spearman's rho of scores and labels"),
];

/// Other names under which people know them.
pub static ALIASES: &[(&str, &str)] = &[
    ("ap", "map"),
    ("mauprc", "map"),
    ("mean_average_precision", "map"),
    ("gm_map", "gm-map"),
    ("gmap", "gm-map"),
    ("rr", "mrr"),
    ("recip_rank", "mrr"),
    ("precision", "p"),
    ("set_p", "p"),
    ("setp", "p"),
    ("r", "recall"),
    ("set_recall", "recall"),
    ("setr", "recall"),
    ("set_f", "f1"),
    ("setf", "f1"),
    ("hit", "success"),
    ("hits", "success"),
    ("hr", "success"),
    ("hit_rate", "success"),
    ("auc", "auroc"),
    ("roc_auc", "auroc"),
    ("roc_auc_score", "auroc"),
    ("average_precision", "auprc"),
    ("average_precision_score", "auprc"),
    ("ndcg_score", "ndcg"),
    ("dcg_score", "dcg"),
    ("r-prec", "rprec"),
    ("tau", "kendall"),
    ("kendalltau", "kendall"),
    ("spearmanr", "spearman"),
    ("11pt_avg", "11pt"),
    ("iprec_at_recall", "iprec"),
];

/// The entry of a name or an alias.
pub fn find(name: &str) -> Option<&'static Entry<dyn Metric>> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    METRICS.iter().find(|entry| entry.name == name)
}

/// Every name and alias, names first: for the message about an unknown one.
pub fn known() -> impl Iterator<Item = &'static str> {
    METRICS.iter().map(|entry| entry.name).chain(ALIASES.iter().map(|(alias, _)| *alias))
}

/// Names that look like `name`, nearest first.
pub fn nearest(name: &str) -> Vec<&'static str> {
    toprank_core::catalog::nearest(name, known())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_aliases_lead_to_an_entry() {
        let mut names: Vec<&str> =
            METRICS.iter().map(|entry| entry.name).chain(ALIASES.iter().map(|alias| alias.0)).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert!(ALIASES.iter().all(|(_, name)| METRICS.iter().any(|entry| entry.name == *name)));
    }
}
