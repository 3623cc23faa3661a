//! Trees as users name them: `trees:leaves=63:features=0.5`.

use std::ops::RangeInclusive;
use std::str::FromStr;

use toprank_core::{Entry, Param, ParamError, Spec};

use crate::binning::BinSettings;
use crate::booster::{Boosting, Method};
use crate::growth::{Growth, Order};
use crate::sampling::Sampling;

/// Settings of boosted trees: how features become bins, and how trees grow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forest {
    /// How features become bins.
    pub bins: BinSettings,
    /// How trees grow; learning rate and seed are set by the trainer.
    pub boosting: Boosting,
    /// Penalty on the learned position biases, per row; default 0.
    pub bias_l2: f64,
    /// Whether every tree learns from the gradient before the first tree (a random forest), not from what the trees before it
    /// leave; default false.
    pub forest: bool,
}

/// Every kind of trees.
///
/// ```
/// use toprank_core::catalog;
/// let (_, forest) = catalog::make("model", toprank_trees::MODELS, "trees:leaves=7:increasing=1-3").unwrap();
/// assert_eq!(forest.boosting.growth.leaves, 7);
/// assert_eq!(forest.boosting.growth.monotone, [1, 0, 1]);
/// ```
pub static MODELS: &[Entry<Forest>] = &[Entry {
    name: "trees",
    family: "trees",
    about: "boosted trees over binned features (LambdaMART and every other objective)",
    page: include_str!("pages/trees.md"),
    params: PARAMS,
    make,
}];

const PARAMS: &[Param] = &[
    param("leaves", "31", "2 … 65536", "maximum number of leaves of a tree"),
    param("depth", "0", "0 … 1000", "maximum depth of a tree; 0: no limit"),
    param(
        "order",
        "leaf",
        "leaf or depth",
        "which leaf is split next: the one with the best split, or the one nearest to the root",
    ),
    param("min-rows", "20", "0 … 1000000000", "minimum rows per leaf"),
    param("min-hessian", "0.001", "[0, ∞)", "minimum Hessian sum of a leaf"),
    param("min-gain", "0", "[0, ∞)", "minimum loss reduction of a split"),
    param("l1", "0", "[0, ∞)", "penalty on |leaf|"),
    param("l2", "0", "[0, ∞)", "penalty on ½·leaf²"),
    param("method", "newton", "newton or gradient", "leaf values by Newton's step or by the mean gradient"),
    param("features", "1", "(0, 1]", "fraction of the features drawn for each tree"),
    param("node-features", "1", "(0, 1]", "fraction of these drawn for each node"),
    param(
        "extra",
        "no",
        "yes or no",
        "whether a node tries one random threshold of each feature instead of all (extra trees)",
    ),
    param(
        "smooth",
        "0",
        "[0, ∞)",
        "Hessian sum at which a leaf counts as much as the nodes above it (path smoothing)",
    ),
    param(
        "forest",
        "no",
        "yes or no",
        "whether all trees learn from the gradient before the first one and are averaged (random forest), not boosted",
    ),
    param("max-delta", "0", "[0, ∞)", "maximum of |leaf| before the learning rate; 0: no limit"),
    param("lists", "1", "(0, 1]", "fraction of the lists drawn for each tree"),
    param(
        "rows",
        "1",
        "(0, 1]",
        "fraction of the rows drawn for each tree, of those with a gradient below 0 as of the others",
    ),
    param(
        "goss",
        "none",
        "TOP-OTHER, two fractions",
        "gradient-based one-side sampling: the TOP lists by gradient, and a draw of OTHER that weigh more",
    ),
    param(
        "increasing",
        "none",
        "numbers of features from 1 on, joined by -",
        "monotone constraint: the score increases with these features",
    ),
    param(
        "decreasing",
        "none",
        "numbers of features from 1 on, joined by -",
        "monotone constraint: the score decreases with these features",
    ),
    param("bias-l2", "0", "[0, ∞)", "penalty on the learned position biases, for data with positions"),
    param("bins", "255", "2 … 255", "maximum number of bins of a feature"),
    param("min-in-bin", "3", "1 … 1000000000", "minimum rows per bin"),
    param(
        "bundles",
        "yes",
        "yes or no",
        "whether mutually exclusive features (one-hot columns) share a histogram",
    ),
    param("sample", "200000", "1 … 1000000000", "number of rows from which bins are made"),
];

const fn param(name: &'static str, default: &'static str, range: &'static str, about: &'static str) -> Param {
    Param { name, default, range, about }
}

fn range_of(name: &str) -> &'static str {
    PARAMS.iter().find(|param| param.name == name).map_or("", |param| param.range)
}

/// An integer within the range of the table.
fn whole<T: FromStr + PartialOrd>(
    spec: &Spec,
    name: &str,
    default: T,
    within: RangeInclusive<T>,
) -> Result<T, ParamError> {
    let Some(text) = spec.args.get(name) else { return Ok(default) };
    match text.parse::<T>() {
        Ok(value) if within.contains(&value) => Ok(value),
        _ => Err(ParamError::new(name, text, range_of(name))),
    }
}

fn from_zero(spec: &Spec, name: &str, default: f64) -> Result<f64, ParamError> {
    spec.args.number(name, default, range_of(name), |value| value.is_finite() && value >= 0.0)
}

fn fraction(spec: &Spec, name: &str) -> Result<f64, ParamError> {
    spec.args.number(name, 1.0, range_of(name), |value| value > 0.0 && value <= 1.0)
}

fn word<T: Copy>(spec: &Spec, name: &str, words: &[(&str, T); 2]) -> Result<T, ParamError> {
    let Some(text) = spec.args.get(name) else { return Ok(words[0].1) };
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| ParamError::new(name, text, range_of(name)))
}

/// −1, 0 or 1 for each feature up to the last that is named.
fn monotone(spec: &Spec) -> Result<Vec<i8>, ParamError> {
    const MOST: usize = 10_000_000;
    let mut signs: Vec<i8> = Vec::new();
    for (name, sign) in [("increasing", 1), ("decreasing", -1)] {
        let Some(text) = spec.args.get(name) else { continue };
        for part in text.split('-') {
            let wrong = || ParamError::new(name, text, range_of(name));
            let feature =
                part.parse::<usize>().ok().filter(|n| (1..=MOST).contains(n)).ok_or_else(wrong)? - 1;
            signs.resize(signs.len().max(feature + 1), 0);
            if signs[feature] == -sign {
                return Err(ParamError::new(name, text, "features that are not also in the other list"));
            }
            signs[feature] = sign;
        }
    }
    Ok(signs)
}

fn sampling(spec: &Spec) -> Result<Sampling, ParamError> {
    let (lists, rows) = (fraction(spec, "lists")?, fraction(spec, "rows")?);
    let Some(text) = spec.args.get("goss") else {
        return match (lists < 1.0, rows < 1.0) {
            (true, true) => Err(ParamError::new("rows", &rows.to_string(), "omitted where lists are drawn")),
            (true, false) => Ok(Sampling::Lists { fraction: lists }),
            (false, true) => Ok(Sampling::Rows { fraction: rows }),
            (false, false) => Ok(Sampling::All),
        };
    };
    let wrong = || ParamError::new("goss", text, "TOP-OTHER, two fractions above 0 that add up to at most 1");
    let (top, other) = text.split_once('-').ok_or_else(wrong)?;
    let sampling =
        Sampling::Goss { top: top.parse().map_err(|_| wrong())?, other: other.parse().map_err(|_| wrong())? };
    sampling.check().map_err(|_| wrong())?;
    if let Some((name, fraction)) = [("lists", lists), ("rows", rows)].into_iter().find(|(_, f)| *f < 1.0) {
        return Err(ParamError::new(name, &fraction.to_string(), "omitted where goss draws the lists"));
    }
    Ok(sampling)
}

fn make(spec: &Spec) -> Result<Box<Forest>, ParamError> {
    let bins = BinSettings {
        max_bins: whole(spec, "bins", 255, 2..=255)?,
        min_rows: whole(spec, "min-in-bin", 3, 1..=1_000_000_000)?,
        sample: whole(spec, "sample", 200_000, 1..=1_000_000_000)?,
        bundles: word(spec, "bundles", &[("yes", true), ("no", false)])?,
        ..BinSettings::default()
    };
    let growth = Growth {
        order: word(spec, "order", &[("leaf", Order::Leaf), ("depth", Order::Depth)])?,
        leaves: whole(spec, "leaves", 31, 2..=65_536)?,
        depth: whole(spec, "depth", 0, 0..=1000)?,
        min_rows: whole(spec, "min-rows", 20, 0..=1_000_000_000)?,
        min_hessian: from_zero(spec, "min-hessian", 1e-3)?,
        min_gain: from_zero(spec, "min-gain", 0.0)?,
        l1: from_zero(spec, "l1", 0.0)?,
        l2: from_zero(spec, "l2", 0.0)?,
        features: fraction(spec, "features")?,
        node_features: fraction(spec, "node-features")?,
        extra: word(spec, "extra", &[("no", false), ("yes", true)])?,
        smooth: from_zero(spec, "smooth", 0.0)?,
        max_delta: from_zero(spec, "max-delta", 0.0)?,
        monotone: monotone(spec)?,
        ..Growth::default()
    };
    let boosting = Boosting {
        method: word(spec, "method", &[("newton", Method::Newton), ("gradient", Method::Gradient)])?,
        sampling: sampling(spec)?,
        growth,
        ..Boosting::default()
    };
    Ok(Box::new(Forest {
        bins,
        boosting,
        bias_l2: from_zero(spec, "bias-l2", 0.0)?,
        forest: word(spec, "forest", &[("no", false), ("yes", true)])?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::catalog;

    fn parse(text: &str) -> Result<Box<Forest>, ParamError> {
        Ok(catalog::make("model", MODELS, text)?.1)
    }

    #[test]
    fn the_defaults_of_the_table_are_those_of_the_library() {
        let plain = parse("trees").unwrap();
        assert_eq!(*plain, Forest::default());
        let words = ["none"];
        let all: Vec<String> = PARAMS
            .iter()
            .filter(|param| !words.contains(&param.default))
            .map(|param| format!(":{}={}", param.name, param.default))
            .collect();
        assert_eq!(parse(&format!("trees{}", all.concat())).unwrap(), plain);
    }

    #[test]
    fn every_parameter_is_read() {
        for text in [
            "leaves=7",
            "depth=3",
            "order=depth",
            "min-rows=1",
            "min-hessian=0",
            "min-gain=1",
            "l1=1",
            "l2=1",
            "method=gradient",
            "features=0.5",
            "lists=0.5",
            "rows=0.5",
            "node-features=0.5",
            "extra=yes",
            "smooth=1",
            "forest=yes",
            "max-delta=1",
            "goss=0.2-0.1",
            "increasing=2",
            "decreasing=1-2",
            "bins=63",
            "min-in-bin=1",
            "bundles=no",
            "bias-l2=1",
            "sample=1000",
        ] {
            assert_ne!(*parse(&format!("trees:{text}")).unwrap(), Forest::default(), "{text}");
        }
    }

    #[test]
    fn values_out_of_range_are_named_with_the_range() {
        for (text, message) in [
            ("leaves=1", "leaves must be 2 … 65536, but is 1"),
            ("bins=256", "bins must be 2 … 255, but is 256"),
            ("l2=-1", "l2 must be [0, ∞), but is -1"),
            ("features=0", "features must be (0, 1], but is 0"),
            ("order=best", "order must be leaf or depth, but is best"),
            (
                "goss=0.9-0.2",
                "goss must be TOP-OTHER, two fractions above 0 that add up to at most 1, but is 0.9-0.2",
            ),
            ("increasing=0", "increasing must be numbers of features from 1 on, joined by -, but is 0"),
            (
                "increasing=1:decreasing=1",
                "decreasing must be features that are not also in the other list, but is 1",
            ),
        ] {
            assert_eq!(parse(&format!("trees:{text}")).unwrap_err().to_string(), message);
        }
    }
}
