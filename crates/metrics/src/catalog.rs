//! The table of metrics. A new metric is one file, one page and one line here; the command's listing, its help and
//! the contract tests read only this.

use toprank_core::{Entry, Param};

use crate::metric::Metric;
use crate::{AveragePrecision, Dcg, F1, Judged, Ndcg, Precision, Recall, ReciprocalRank, Success};

/// The cut-off of `name@k`, shared by all metrics that have one.
pub(crate) const CUT: Param = Param {
    name: "@",
    default: "all",
    range: "a whole number from 1 on",
    about: "how many places from the top count",
};

const GRADED: &str = "graded gain";
const RELEVANCE: &str = "relevance";
const COVERAGE: &str = "judgements";

/// An entry whose page is `pages/NAME.md`.
macro_rules! entry {
    ($name:literal, $family:expr, $about:literal, $params:expr, $make:expr) => {
        Entry {
            name: $name,
            family: $family,
            about: $about,
            page: include_str!(concat!("pages/", $name, ".md")),
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

/// Every metric.
pub static METRICS: &[Entry<dyn Metric>] = &[
    cut_entry!("ndcg", GRADED, Ndcg, "DCG divided by the best possible DCG"),
    cut_entry!("dcg", GRADED, Dcg, "gains discounted by rank"),
    cut_entry!("map", RELEVANCE, AveragePrecision, "average precision (its mean over lists is MAP)"),
    cut_entry!("mrr", RELEVANCE, ReciprocalRank, "reciprocal rank of the first relevant item"),
    cut_entry!("p", RELEVANCE, Precision, "share of relevant items at the top"),
    cut_entry!("recall", RELEVANCE, Recall, "share of the relevant items found at the top"),
    cut_entry!("success", RELEVANCE, Success, "1 if a relevant item stands at the top"),
    cut_entry!("f1", RELEVANCE, F1, "harmonic mean of precision and recall at the top"),
    cut_entry!("judged", COVERAGE, Judged, "share of judged items at the top"),
];

/// Other names under which people know them.
pub static ALIASES: &[(&str, &str)] = &[
    ("ap", "map"),
    ("rr", "mrr"),
    ("recip_rank", "mrr"),
    ("precision", "p"),
    ("hit", "success"),
    ("hits", "success"),
];

/// The entry of a name or an alias.
pub fn find(name: &str) -> Option<&'static Entry<dyn Metric>> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    METRICS.iter().find(|entry| entry.name == name)
}

/// Names that look like `name`, nearest first: for the message about an unknown one.
pub fn nearest(name: &str) -> Vec<&'static str> {
    let known = METRICS.iter().map(|entry| entry.name).chain(ALIASES.iter().map(|(alias, _)| *alias));
    let mut near: Vec<(usize, usize, &str)> =
        known.map(|k| (edits(name, k), k.len().abs_diff(name.len()), k)).collect();
    near.sort_unstable();
    near.into_iter().filter(|(distance, ..)| *distance <= 2).map(|(.., k)| k).take(3).collect()
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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

    #[test]
    fn edit_distance_counts_insertions_deletions_and_replacements() {
        assert_eq!(
            [edits("ndcg", "ndcg"), edits("ncdg", "ndcg"), edits("", "map"), edits("mpa", "map")],
            [0, 2, 3, 2]
        );
    }
}
