//! Writes the text model.

use std::fmt::{Display, Write};

use toprank_core::ModelError;

use super::MOST_CATEGORIES;
use crate::ensemble::Ensemble;
use crate::interop::Export;
use crate::interop::shape::{categorical, categories_below, folded, names};
use crate::tree::{Next, Test, Tree};

pub(super) fn write(ensemble: &Ensemble, export: &Export) -> Result<Vec<u8>, ModelError> {
    if ensemble.width == 0 {
        return Err(ModelError::new("a model without features", "at least one: LightGBM needs it"));
    }
    let trees = folded(ensemble);
    let mut blocks = Vec::with_capacity(trees.len());
    for (t, tree) in trees.iter().enumerate() {
        let rows = export.cover.filter(|_| !ensemble.trees.is_empty());
        blocks.push(block(t, tree, rows.map(|cover| (cover.nodes(t), cover.leaves(t))))?);
    }
    let outputs = ensemble.outputs;
    let mut text = format!(
        "tree\nversion=v4\nnum_class={outputs}\nnum_tree_per_iteration={outputs}\nlabel_index=0\nmax_feature_idx={}\n",
        ensemble.width - 1
    );
    line(&mut text, "feature_names", names(ensemble, export.names));
    line(&mut text, "feature_infos", infos(ensemble));
    line(&mut text, "tree_sizes", blocks.iter().map(String::len));
    text.push('\n');
    text.extend(blocks);
    text.push_str("end of trees\n\nfeature_importances:\n\nparameters:\n\nend of parameters\n\npandas_categorical:null\n");
    Ok(text.into_bytes())
}

/// `key=value value …`
fn line<T: Display>(text: &mut String, key: &str, values: impl IntoIterator<Item = T>) {
    text.push_str(key);
    text.push('=');
    for (i, value) in values.into_iter().enumerate() {
        let _ = write!(text, "{}{value}", if i == 0 { "" } else { " " });
    }
    text.push('\n');
}

/// Ranges of the features that are looked at: of their thresholds, or their categories.
fn infos(ensemble: &Ensemble) -> Vec<String> {
    let mut ranges = vec![(f32::INFINITY, f32::NEG_INFINITY); ensemble.width];
    let mut categories = vec![std::collections::BTreeSet::new(); ensemble.width];
    for node in ensemble.trees.iter().flat_map(|tree| &tree.nodes) {
        let feature = node.feature as usize;
        match &node.test {
            Test::AtMost(threshold) => {
                let (low, high) = &mut ranges[feature];
                (*low, *high) = (low.min(*threshold), high.max(*threshold));
            }
            Test::In(some) => categories[feature].extend(some.iter()),
        }
    }
    let kinds = categorical(ensemble);
    let info = |feature: usize| {
        let (low, high) = ranges[feature];
        if kinds[feature] {
            categories[feature].iter().map(u32::to_string).collect::<Vec<_>>().join(":")
        } else if low <= high {
            format!("[{:?}:{:?}]", low.max(f32::MIN), high.min(f32::MAX))
        } else {
            "none".into()
        }
    };
    (0..ensemble.width).map(info).collect()
}

fn block(t: usize, tree: &Tree, rows: Option<(&[u64], &[u64])>) -> Result<String, ModelError> {
    let mut text = format!("Tree={t}\nnum_leaves={}\n", tree.leaves.len());
    let mut bounds = vec![0usize];
    let mut words: Vec<u32> = Vec::new();
    let mut thresholds = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        thresholds.push(match &node.test {
            Test::AtMost(threshold) => format!("{:?}", f64::from(*threshold)),
            Test::In(some) => {
                let end = categories_below(some, MOST_CATEGORIES, "LightGBM")?;
                let first = words.len();
                words.resize(first + (end as usize).div_ceil(32).max(1), 0);
                some.iter()
                    .for_each(|category| words[first + category as usize / 32] |= 1 << (category % 32));
                bounds.push(words.len());
                (bounds.len() - 2).to_string()
            }
        });
    }
    line(&mut text, "num_cat", [bounds.len() - 1]);
    line(&mut text, "split_feature", tree.nodes.iter().map(|node| node.feature));
    line(&mut text, "split_gain", tree.nodes.iter().map(|node| format!("{:?}", node.gain)));
    line(&mut text, "threshold", thresholds);
    let decision = |node: &crate::Node| match node.test {
        Test::AtMost(_) if node.missing_left => 10,
        Test::AtMost(_) => 8,
        Test::In(_) => 9,
    };
    line(&mut text, "decision_type", tree.nodes.iter().map(decision));
    line(&mut text, "left_child", tree.nodes.iter().map(|node| child(node.left)));
    line(&mut text, "right_child", tree.nodes.iter().map(|node| child(node.right)));
    line(&mut text, "leaf_value", tree.leaves.iter().map(|leaf| format!("{leaf:?}")));
    if let Some((nodes, leaves)) = rows {
        line(&mut text, "leaf_weight", leaves);
        line(&mut text, "leaf_count", leaves);
        line(&mut text, "internal_value", means(tree, nodes, leaves).iter().map(|mean| format!("{mean:?}")));
        line(&mut text, "internal_weight", nodes);
        line(&mut text, "internal_count", nodes);
    }
    if bounds.len() > 1 {
        line(&mut text, "cat_boundaries", bounds);
        line(&mut text, "cat_threshold", words);
    }
    text.push_str("is_linear=0\nshrinkage=1\n\n\n");
    Ok(text)
}

/// −1 is leaf 0, −2 leaf 1, …
fn child(next: Next) -> i64 {
    match next {
        Next::Node(node) => i64::from(node),
        Next::Leaf(leaf) => -1 - i64::from(leaf),
    }
}

/// The mean value of the rows at each node.
pub(super) fn means(tree: &Tree, nodes: &[u64], leaves: &[u64]) -> Vec<f64> {
    let mut sums = vec![0.0; nodes.len()];
    for (at, node) in tree.nodes.iter().enumerate().rev() {
        for next in [node.left, node.right] {
            sums[at] += match next {
                Next::Node(child) => sums[child as usize],
                Next::Leaf(leaf) => tree.leaves[leaf as usize] * leaves[leaf as usize] as f64,
            };
        }
    }
    sums.iter().zip(nodes).map(|(sum, &rows)| sum / rows.max(1) as f64).collect()
}
