//! Writes the JSON of `dump_model()`, and evaluates it.

use serde_json::{Value, json};
use toprank_core::ModelError;
use toprank_data::ReadError;

use super::MOST_CATEGORIES;
use super::text::means;
use crate::ensemble::Ensemble;
use crate::interop::shape::{categories_below, folded, names, shallow};
use crate::interop::{Export, Player};
use crate::tree::{Next, Test, Tree};

pub(super) fn write(ensemble: &Ensemble, export: &Export) -> Result<Vec<u8>, ModelError> {
    let trees = folded(ensemble);
    let mut infos = Vec::with_capacity(trees.len());
    for (t, tree) in trees.iter().enumerate() {
        shallow(tree, t)?;
        for node in &tree.nodes {
            if let Test::In(some) = &node.test {
                categories_below(some, MOST_CATEGORIES, "LightGBM")?;
            }
        }
        let rows = export.cover.filter(|_| !ensemble.trees.is_empty());
        let rows = rows.map(|cover| {
            let (nodes, leaves) = (cover.nodes(t), cover.leaves(t));
            Rows { means: means(tree, nodes, leaves), nodes, leaves }
        });
        let root = if tree.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) };
        let sets = tree.nodes.iter().filter(|node| matches!(node.test, Test::In(_))).count();
        infos.push(json!({
            "tree_index": t,
            "num_leaves": tree.leaves.len(),
            "num_cat": sets,
            "shrinkage": 1,
            "tree_structure": place(tree, root, rows.as_ref()),
        }));
    }
    let model = json!({
        "name": "tree",
        "version": "v4",
        "num_class": ensemble.outputs,
        "num_tree_per_iteration": ensemble.outputs,
        "label_index": 0,
        "max_feature_idx": ensemble.width.saturating_sub(1),
        "average_output": false,
        "objective": "custom",
        "feature_names": names(ensemble, export.names),
        "monotone_constraints": [],
        "feature_infos": {},
        "tree_info": infos,
        "feature_importances": {},
        "pandas_categorical": null,
    });
    let mut bytes = serde_json::to_vec(&model)
        .map_err(|error| ModelError::new(error.to_string(), "a model that fits into JSON"))?;
    bytes.push(b'\n');
    Ok(bytes)
}

struct Rows<'a> {
    means: Vec<f64>,
    nodes: &'a [u64],
    leaves: &'a [u64],
}

fn place(tree: &Tree, next: Next, rows: Option<&Rows>) -> Value {
    match next {
        Next::Leaf(leaf) => {
            let leaf = leaf as usize;
            let count = rows.map_or(0, |rows| rows.leaves[leaf]);
            json!({
                "leaf_index": leaf,
                "leaf_value": tree.leaves[leaf],
                "leaf_weight": count,
                "leaf_count": count,
            })
        }
        Next::Node(at) => {
            let at = at as usize;
            let node = &tree.nodes[at];
            let count = rows.map_or(0, |rows| rows.nodes[at]);
            let (threshold, decision) = match &node.test {
                // JSON has no infinity, so infinite values are not promised.
                Test::AtMost(threshold) => (json!(f64::from(*threshold).clamp(f64::MIN, f64::MAX)), "<="),
                Test::In(some) => {
                    let members: Vec<String> = some.iter().map(|category| category.to_string()).collect();
                    (json!(members.join("||")), "==")
                }
            };
            json!({
                "split_index": at,
                "split_feature": node.feature,
                "split_gain": if node.gain.is_finite() { node.gain } else { 0.0 },
                "threshold": threshold,
                "decision_type": decision,
                "default_left": node.goes_left(f32::NAN),
                "missing_type": "NaN",
                "internal_value": rows.map_or(0.0, |rows| rows.means[at]),
                "internal_weight": count,
                "internal_count": count,
                "left_child": place(tree, node.left, rows),
                "right_child": place(tree, node.right, rows),
            })
        }
    }
}

/// Evaluates the JSON itself.
pub(super) fn play(bytes: &[u8]) -> Result<Player, ReadError> {
    let model: Value = serde_json::from_slice(bytes)
        .map_err(|error| ReadError::data("the written model", error.to_string(), "JSON"))?;
    let play = move |row: &[f32]| {
        let trees = model["tree_info"].as_array().map_or(&[][..], Vec::as_slice);
        trees.iter().map(|tree| walk(&tree["tree_structure"], row)).collect()
    };
    Ok(Box::new(play))
}

/// NaN where something is not as it should be: it equals no value of a leaf.
fn walk(mut at: &Value, row: &[f32]) -> f64 {
    while at["leaf_value"].is_null() {
        let feature = at["split_feature"].as_u64().and_then(|f| row.get(f as usize));
        let Some(&value) = feature else { return f64::NAN };
        let left = match (&at["threshold"], at["decision_type"].as_str()) {
            _ if value.is_nan() => at["default_left"].as_bool(),
            (Value::Number(threshold), Some("<=")) => threshold.as_f64().map(|t| f64::from(value) <= t),
            (Value::String(set), Some("==")) => {
                // As `static_cast<int>` and a search in the names of the set.
                let category = (value.abs() < 2e9).then(|| (value as i32).to_string());
                Some(category.is_some_and(|category| set.split("||").any(|member| member == category)))
            }
            _ => None,
        };
        let Some(left) = left else { return f64::NAN };
        at = &at[if left { "left_child" } else { "right_child" }];
    }
    at["leaf_value"].as_f64().unwrap_or(f64::NAN)
}
