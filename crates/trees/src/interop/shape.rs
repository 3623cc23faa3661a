//! What all formats share: where the base goes, names, whether values sit in nested nodes.

use std::borrow::Cow;

use toprank_core::ModelError;

use super::Missing;
use crate::ensemble::Ensemble;
use crate::tree::{Categories, Node, Test, Tree};

/// The trees with the base in the leaves of the first one of each output. Adding in this order gives the same bits as
/// [`Ensemble::score_row`].
pub(crate) fn folded(ensemble: &Ensemble) -> Vec<Cow<'_, Tree>> {
    if ensemble.trees.is_empty() {
        return ensemble.base.iter().map(|&base| Cow::Owned(Tree::constant(base))).collect();
    }
    let with_base = |(t, tree)| {
        let base = ensemble.base.get::<usize>(t).copied().unwrap_or(0.0);
        if base == 0.0 {
            return Cow::Borrowed(tree);
        }
        let mut tree = Tree::clone(tree);
        tree.leaves.iter_mut().for_each(|leaf| *leaf += base);
        Cow::Owned(tree)
    };
    ensemble.trees.iter().enumerate().map(with_base).collect()
}

/// The same with leaves that fit into `f32`.
pub(crate) fn folded_single(ensemble: &Ensemble) -> Result<Vec<Cow<'_, Tree>>, ModelError> {
    let trees = folded(ensemble);
    for (t, tree) in trees.iter().enumerate() {
        if let Some(leaf) = tree.leaves.iter().find(|&&leaf| !(leaf as f32).is_finite()) {
            let what = format!("tree {} has a leaf of {leaf}", t + 1);
            return Err(ModelError::new(what, "numbers within ±3.4e38, the range of this format"));
        }
    }
    Ok(trees)
}

/// Names that every format can hold: as many as features, each once, no blanks or `=`.
pub(crate) fn check_names(ensemble: &Ensemble, names: &[String]) -> Result<(), ModelError> {
    if names.is_empty() {
        return Ok(());
    }
    if names.len() != ensemble.width {
        return Err(ModelError::new(
            format!("{} names", names.len()),
            format!("one for each of {} features", ensemble.width),
        ));
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    if let Some([twice, _]) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ModelError::new(format!("two features are called {twice:?}"), "different names"));
    }
    let bad = |c: char| c.is_whitespace() || c.is_control() || "=\"\\:,{}[]<>&".contains(c);
    match names.iter().find(|name| name.is_empty() || name.contains(bad)) {
        Some(name) => Err(ModelError::new(
            format!("a feature called {name:?}"),
            "names without blanks and without any of = \" \\ : , { } [ ] < > &, which other tools cannot read",
        )),
        None => Ok(()),
    }
}

/// The names, made up where there are none.
pub(crate) fn names(ensemble: &Ensemble, names: &[String]) -> Vec<String> {
    if names.is_empty() { (0..ensemble.width).map(|f| format!("f{f}")).collect() } else { names.to_vec() }
}

/// Which features are asked for categories.
pub(crate) fn categorical(ensemble: &Ensemble) -> Vec<bool> {
    let mut categorical = vec![false; ensemble.width];
    for node in ensemble.trees.iter().flat_map(|tree| &tree.nodes) {
        if matches!(node.test, Test::In(_)) {
            categorical[node.feature as usize] = true;
        }
    }
    categorical
}

/// The one score of formats that know only one.
pub(crate) fn one_output(ensemble: &Ensemble, format: &str) -> Result<(), ModelError> {
    if ensemble.outputs == 1 {
        return Ok(());
    }
    let what = format!("{} scores per row", ensemble.outputs);
    Err(ModelError::new(what, format!("one: {format} has no more")))
}

/// The threshold of a node, for formats without categories.
pub(crate) fn threshold(node: &Node, t: usize, at: usize, format: &str) -> Result<f32, ModelError> {
    match &node.test {
        Test::AtMost(threshold) => Ok(*threshold),
        Test::In(_) => Err(ModelError::new(
            format!("tree {}, split {} asks for categories of feature {}", t + 1, at + 1, node.feature + 1),
            format!("thresholds: {format} knows no categories"),
        )),
    }
}

/// An error if missing values do not follow the branch of 0, for formats that treat them as 0.
pub(crate) fn missing_as_zero(
    node: &Node,
    t: usize,
    at: usize,
    missing: Missing,
    format: &str,
) -> Result<(), ModelError> {
    if missing == Missing::AsZero || node.goes_left(f32::NAN) == node.goes_left(0.0) {
        return Ok(());
    }
    Err(ModelError::new(
        format!(
            "tree {}, split {} sends missing values of feature {} elsewhere than 0",
            t + 1,
            at + 1,
            node.feature + 1
        ),
        format!("the same way, since {format} takes missing values for 0"),
    ))
}

/// The largest category plus one; an error from `most` on.
pub(crate) fn categories_below(some: &Categories, most: u32, format: &str) -> Result<u32, ModelError> {
    let end = some.iter().last().map_or(0, |last| u64::from(last) + 1);
    if end > u64::from(most) {
        return Err(ModelError::new(
            format!("category {}", end - 1),
            format!("categories below {most}, which {format} can hold"),
        ));
    }
    Ok(end as u32)
}

/// Features of a model that is read: more would take memory that no file of this length can fill.
pub(crate) const MOST_FEATURES: usize = 1 << 24;

/// Deepest tree of the formats that write nodes inside nodes: readers of JSON stop at some depth.
pub(crate) const DEEPEST: usize = 100;

/// An error for trees too deep for nested formats.
pub(crate) fn shallow(tree: &Tree, t: usize) -> Result<(), ModelError> {
    let depth = tree.depth();
    if depth <= DEEPEST {
        return Ok(());
    }
    let what = format!("tree {} is {depth} tests deep", t + 1);
    Err(ModelError::new(what, format!("at most {DEEPEST} where nodes are written inside nodes")))
}

/// A number as Java reads it.
pub(crate) fn java(value: f32) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    format!("{value:?}")
}

/// The largest `f32` that is at most `value`: for features in `f32` it tests the same.
pub(crate) fn round_down(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) > value { near.next_down() } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_threshold_rounded_down_tests_the_same(threshold in any::<f64>(), value in any::<f32>()) {
            prop_assume!(!threshold.is_nan() && !value.is_nan());
            let low = round_down(threshold);
            for value in [value, low, low.next_up(), low.next_down(), f32::INFINITY, f32::NEG_INFINITY] {
                prop_assert_eq!(f64::from(value) <= threshold, value <= low);
            }
        }
    }

    #[test]
    fn the_base_goes_into_the_first_tree_of_each_output() {
        let trees = [1.0, 2.0, 3.0, 4.0].map(Tree::constant).to_vec();
        let model = Ensemble { base: vec![10.0, 20.0], trees, ..Ensemble::new(1, 2) };
        let leaves: Vec<f64> = folded(&model).iter().map(|tree| tree.leaves[0]).collect();
        assert_eq!(leaves, [11.0, 22.0, 3.0, 4.0]);
        let empty = Ensemble { base: vec![10.0, 20.0], ..Ensemble::new(1, 2) };
        assert_eq!(folded(&empty).len(), 2);
    }

    #[test]
    fn names_that_other_tools_stumble_over_are_refused() {
        let model = Ensemble::new(2, 1);
        let check = |a: &str, b: &str| check_names(&model, &[a.into(), b.into()]);
        assert!(check("length", "größe").is_ok());
        for (a, b) in [("a", "a"), ("a b", "c"), ("", "c"), ("a=b", "c"), ("a[0]", "c")] {
            assert!(check(a, b).is_err(), "{a} {b}");
        }
        assert!(check_names(&model, &["a".into()]).is_err());
    }
}
