//! Writes the JSON model.

use serde::Serialize;
use toprank_core::ModelError;

use super::{MOST_CATEGORIES, NOBODY};
use crate::ensemble::Ensemble;
use crate::interop::Export;
use crate::interop::shape::{categorical, categories_below, folded_single};
use crate::tree::{Next, Node, Test, Tree};

#[derive(Serialize)]
struct Model {
    version: [u32; 3],
    learner: Learner,
}

#[derive(Serialize)]
struct Learner {
    attributes: Empty,
    feature_names: Vec<String>,
    feature_types: Vec<&'static str>,
    gradient_booster: Booster,
    #[serde(rename = "learner_model_param")]
    param: Param,
    objective: Objective,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct Booster {
    name: &'static str,
    model: Forest,
}

#[derive(Serialize)]
struct Forest {
    gbtree_model_param: TreesParam,
    iteration_indptr: Vec<usize>,
    tree_info: Vec<usize>,
    trees: Vec<JsonTree>,
}

#[derive(Serialize)]
struct TreesParam {
    num_parallel_tree: String,
    num_trees: String,
}

#[derive(Serialize)]
struct Param {
    base_score: &'static str,
    boost_from_average: &'static str,
    num_class: String,
    num_feature: String,
    num_target: &'static str,
}

#[derive(Serialize)]
struct Objective {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lambdarank_param: Option<Empty>,
    #[serde(skip_serializing_if = "Option::is_none")]
    softmax_multiclass_param: Option<Classes>,
}

#[derive(Serialize)]
struct Classes {
    num_class: String,
}

#[derive(Serialize)]
struct TreeParam {
    num_deleted: &'static str,
    num_feature: String,
    num_nodes: String,
    size_leaf_vector: &'static str,
}

/// Floats have a decimal point or an exponent, which XGBoost insists on.
#[derive(Serialize)]
struct JsonTree {
    base_weights: Vec<f32>,
    categories: Vec<u32>,
    categories_nodes: Vec<usize>,
    categories_segments: Vec<usize>,
    categories_sizes: Vec<usize>,
    default_left: Vec<u8>,
    id: usize,
    left_children: Vec<i32>,
    loss_changes: Vec<f32>,
    parents: Vec<i32>,
    right_children: Vec<i32>,
    split_conditions: Vec<f32>,
    split_indices: Vec<u32>,
    split_type: Vec<u8>,
    sum_hessian: Vec<f32>,
    tree_param: TreeParam,
}

pub(super) fn write(ensemble: &Ensemble, export: &Export) -> Result<Vec<u8>, ModelError> {
    let outputs = ensemble.outputs;
    let folded = folded_single(ensemble)?;
    let mut trees = Vec::with_capacity(folded.len());
    for (t, tree) in folded.iter().enumerate() {
        let cover = export.cover.filter(|_| !ensemble.trees.is_empty());
        let rows = cover.map(|cover| (cover.nodes(t), cover.leaves(t)));
        trees.push(json_tree(t, tree, ensemble.width, rows)?);
    }
    let kinds = categorical(ensemble);
    let has_categories = kinds.iter().any(|&categorical| categorical);
    let model = Model {
        version: [3, 0, 0],
        learner: Learner {
            attributes: Empty {},
            feature_names: export.names.to_vec(),
            // Without categories the types may be left open, so that any matrix is accepted.
            feature_types: match has_categories {
                true => kinds.iter().map(|&categorical| if categorical { "c" } else { "float" }).collect(),
                false => Vec::new(),
            },
            gradient_booster: Booster {
                name: "gbtree",
                model: Forest {
                    gbtree_model_param: TreesParam {
                        num_parallel_tree: "1".into(),
                        num_trees: trees.len().to_string(),
                    },
                    iteration_indptr: (0..=trees.len()).step_by(outputs).collect(),
                    tree_info: (0..trees.len()).map(|t| t % outputs).collect(),
                    trees,
                },
            },
            param: Param {
                base_score: "0E0",
                boost_from_average: "0",
                num_class: if outputs == 1 { 0 } else { outputs }.to_string(),
                num_feature: ensemble.width.to_string(),
                num_target: "1",
            },
            objective: Objective {
                name: if outputs == 1 { "rank:ndcg" } else { "multi:softprob" },
                lambdarank_param: (outputs == 1).then_some(Empty {}),
                softmax_multiclass_param: (outputs > 1).then(|| Classes { num_class: outputs.to_string() }),
            },
        },
    };
    let mut bytes = serde_json::to_vec(&model)
        .map_err(|error| ModelError::new(error.to_string(), "a model that fits into JSON"))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn json_tree(
    t: usize,
    tree: &Tree,
    width: usize,
    rows: Option<(&[u64], &[u64])>,
) -> Result<JsonTree, ModelError> {
    let inner = tree.nodes.len();
    let all = inner + tree.leaves.len();
    if all >= NOBODY as usize {
        return Err(ModelError::new(format!("tree {t} has {all} nodes"), "fewer than 2^31"));
    }
    // Statistics: the rows if they are known, else what training left behind; beyond f32 they are cut.
    let single = |value: f64| if value.is_nan() { 0.0 } else { (value as f32).clamp(f32::MIN, f32::MAX) };
    let mut json = JsonTree {
        base_weights: vec![0.0; all],
        categories: Vec::new(),
        categories_nodes: Vec::new(),
        categories_segments: Vec::new(),
        categories_sizes: Vec::new(),
        default_left: vec![0; all],
        id: t,
        left_children: vec![-1; all],
        loss_changes: vec![0.0; all],
        parents: vec![NOBODY; all],
        right_children: vec![-1; all],
        split_conditions: vec![0.0; all],
        split_indices: vec![0; all],
        split_type: vec![0; all],
        sum_hessian: vec![0.0; all],
        tree_param: TreeParam {
            num_deleted: "0",
            num_feature: width.to_string(),
            num_nodes: all.to_string(),
            size_leaf_vector: "1",
        },
    };
    // In order of breadth, so that a right child stands right behind its left one.
    let mut places = vec![if inner == 0 { Next::Leaf(0) } else { Next::Node(0) }];
    let mut at = 0;
    while let Some(&place) = places.get(at) {
        match place {
            Next::Leaf(leaf) => {
                let leaf = leaf as usize;
                json.base_weights[at] = tree.leaves[leaf] as f32;
                json.split_conditions[at] = tree.leaves[leaf] as f32;
                json.sum_hessian[at] = rows.map_or(0.0, |(_, leaves)| leaves[leaf] as f32);
            }
            Next::Node(node) => {
                let rows = rows.map(|(nodes, _)| nodes[node as usize] as f64);
                let node = &tree.nodes[node as usize];
                json.loss_changes[at] = single(node.gain);
                json.sum_hessian[at] = single(rows.unwrap_or(node.hessian));
                json.split_indices[at] = node.feature;
                let children = json.test(at, node)?;
                json.left_children[at] = places.len() as i32;
                json.right_children[at] = places.len() as i32 + 1;
                for child in children {
                    json.parents[places.len()] = at as i32;
                    places.push(child);
                }
            }
        }
        at += 1;
    }
    Ok(json)
}

impl JsonTree {
    /// Writes the test of the node at this place; its left child and its right one.
    fn test(&mut self, at: usize, node: &Node) -> Result<[Next; 2], ModelError> {
        match &node.test {
            // Every number goes left. JSON has no infinity to be below: the other way round, no number goes left.
            Test::AtMost(threshold) if *threshold >= f32::MAX => {
                self.split_conditions[at] = f32::MIN;
                self.default_left[at] = u8::from(!node.missing_left);
                Ok([node.right, node.left])
            }
            Test::AtMost(threshold) => {
                self.split_conditions[at] = threshold.next_up();
                self.default_left[at] = u8::from(node.missing_left);
                Ok([node.left, node.right])
            }
            Test::In(some) => {
                categories_below(some, MOST_CATEGORIES, "XGBoost")?;
                self.split_type[at] = 1;
                self.default_left[at] = 1;
                self.categories_nodes.push(at);
                self.categories_segments.push(self.categories.len());
                self.categories_sizes.push(some.len());
                self.categories.extend(some.iter());
                Ok([node.right, node.left])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::test_models::models;

    #[test]
    fn a_right_child_stands_right_behind_its_left_one() {
        for (name, model) in models() {
            for (t, tree) in model.trees.iter().enumerate() {
                let json = json_tree(t, tree, model.width, None).unwrap();
                for (at, (&left, &right)) in json.left_children.iter().zip(&json.right_children).enumerate() {
                    assert!(left == -1 && right == -1 || left > at as i32 && right == left + 1, "{name}");
                }
                let leaves = json.left_children.iter().filter(|&&left| left == -1).count();
                assert_eq!(leaves, tree.leaves.len());
            }
        }
    }
}
