//! Writes the JSON model.

use serde::Serialize;
use toprank_core::ModelError;

use super::{MOST_CATEGORIES, NOBODY};
use crate::ensemble::Ensemble;
use crate::interop::Export;
use crate::interop::shape::{categorical, categories_below, folded_single};
use crate::tree::{Next, Test, Tree};

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

/// Nodes first, then leaves. Floats have a decimal point or an exponent, which XGBoost insists on.
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
    let place = |next: Next| match next {
        Next::Node(node) => node as i32,
        Next::Leaf(leaf) => inner as i32 + leaf as i32,
    };
    if all >= NOBODY as usize {
        return Err(ModelError::new(format!("tree {t} has {all} nodes"), "fewer than 2^31"));
    }
    // Statistics: the rows if they are known, else what training left behind; beyond f32 they are cut.
    let single = |value: f64| if value.is_nan() { 0.0 } else { (value as f32).clamp(f32::MIN, f32::MAX) };
    let weights: Vec<f32> = match rows {
        Some((nodes, leaves)) => nodes.iter().chain(leaves).map(|&rows| rows as f32).collect(),
        None => tree.nodes.iter().map(|node| single(node.curvature)).chain(vec![0.0; inner + 1]).collect(),
    };
    let leaves = || tree.leaves.iter().map(|&leaf| leaf as f32);
    let mut json = JsonTree {
        base_weights: vec![0.0; inner].into_iter().chain(leaves()).collect(),
        categories: Vec::new(),
        categories_nodes: Vec::new(),
        categories_segments: Vec::new(),
        categories_sizes: Vec::new(),
        default_left: vec![0; all],
        id: t,
        left_children: vec![-1; all],
        loss_changes: tree.nodes.iter().map(|node| single(node.gain)).chain(vec![0.0; inner + 1]).collect(),
        parents: vec![NOBODY; all],
        right_children: vec![-1; all],
        split_conditions: vec![0.0; inner].into_iter().chain(leaves()).collect(),
        split_indices: vec![0; all],
        split_type: vec![0; all],
        sum_hessian: weights,
        tree_param: TreeParam {
            num_deleted: "0",
            num_feature: width.to_string(),
            num_nodes: all.to_string(),
            size_leaf_vector: "1",
        },
    };
    for (at, node) in tree.nodes.iter().enumerate() {
        let (mut left, mut right, mut default_left) =
            (place(node.left), place(node.right), node.missing_left);
        match &node.test {
            Test::AtMost(threshold) => {
                json.split_conditions[at] = threshold.next_up();
                if *threshold >= f32::MAX {
                    // Every number goes left. JSON has no infinity to be below: the other way round, no number goes left.
                    json.split_conditions[at] = f32::MIN;
                    (left, right, default_left) = (right, left, !default_left);
                }
            }
            Test::In(some) => {
                categories_below(some, MOST_CATEGORIES, "XGBoost")?;
                (left, right, default_left) = (right, left, true);
                json.split_type[at] = 1;
                json.categories_nodes.push(at);
                json.categories_segments.push(json.categories.len());
                json.categories_sizes.push(some.len());
                json.categories.extend(some.iter());
            }
        }
        json.left_children[at] = left;
        json.right_children[at] = right;
        json.parents[left as usize] = at as i32;
        json.parents[right as usize] = at as i32;
        json.split_indices[at] = node.feature;
        json.default_left[at] = u8::from(default_left);
    }
    Ok(json)
}
