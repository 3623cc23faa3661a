/*!
ONNX: operator `TreeEnsemble` of `ai.onnx.ml` 5, in `f64`, behind a cast, so that rows come in as `f32`.

```text
features: float[rows, width]  →  Cast to double  →  TreeEnsemble  →  scores: double[rows, outputs]
```

The converters of other tools write `f32` thresholds from `f64` ones, which flips splits; here nothing is rounded. A node
of categories is `BRANCH_MEMBER`, which looks for the value itself, not its integer part: 2.7 is no category there.

Messages are those of [`toprank_onnx`].
*/

mod play;

use toprank_core::ModelError;
use toprank_onnx::protobuf::Message;
use toprank_onnx::{Kind, described};

use super::shape::{categories_below, folded, names};
use super::{Export, Format};
use crate::ensemble::Ensemble;
use crate::tree::{Next, Test};

/// The model.
pub(crate) const FORMAT: Format = Format {
    name: "onnx",
    extension: "onnx",
    about: "ONNX TreeEnsemble in f64, for onnxruntime, Vespa and others",
    single: false,
    sees: |value, categorical| if categorical { value.trunc() } else { value },
    write,
    read: None,
    play: |bytes, _| play::play(bytes),
};

/// Categories below this: runtimes may turn a set into one node per member.
const MOST_CATEGORIES: u32 = 1 << 24;

/// `TensorProto.DataType`.
const UINT8: u64 = 2;
const DOUBLE: u64 = 11;

/// `AttributeProto.AttributeType`.
const INT: u64 = 2;
const TENSOR: u64 = 4;
const INTS: u64 = 7;

/// Modes of nodes.
const AT_MOST: u8 = 0;
const MEMBER: u8 = 6;

/// The arrays of the operator.
#[derive(Default)]
struct Nodes {
    features: Vec<u64>,
    splits: Vec<f64>,
    modes: Vec<u8>,
    missing_true: Vec<u64>,
    true_ids: Vec<u64>,
    true_leaves: Vec<u64>,
    false_ids: Vec<u64>,
    false_leaves: Vec<u64>,
    members: Vec<f64>,
    leaf_targets: Vec<u64>,
    leaf_weights: Vec<f64>,
    roots: Vec<u64>,
}

fn write(ensemble: &Ensemble, export: &Export) -> Result<Vec<u8>, ModelError> {
    if ensemble.width == 0 {
        return Err(ModelError::new("a model without features", "at least one: a node of ONNX tests one"));
    }
    let mut nodes = Nodes::default();
    for (t, tree) in folded(ensemble).iter().enumerate() {
        let (first, first_leaf) = (nodes.features.len() as u64, nodes.leaf_weights.len() as u64);
        nodes.roots.push(first);
        let place = |next: Next| match next {
            Next::Node(node) => (first + u64::from(node), 0),
            Next::Leaf(leaf) => (first_leaf + u64::from(leaf), 1),
        };
        let mut push = |feature: u32, mode, split, missing, left: (u64, u64), right: (u64, u64)| {
            nodes.features.push(u64::from(feature));
            nodes.modes.push(mode);
            nodes.splits.push(split);
            nodes.missing_true.push(u64::from(missing));
            nodes.true_ids.push(left.0);
            nodes.true_leaves.push(left.1);
            nodes.false_ids.push(right.0);
            nodes.false_leaves.push(right.1);
        };
        for node in &tree.nodes {
            let (left, right) = (place(node.left), place(node.right));
            match &node.test {
                Test::AtMost(threshold) => {
                    push(node.feature, AT_MOST, f64::from(*threshold), node.missing_left, left, right);
                }
                Test::In(some) => {
                    categories_below(some, MOST_CATEGORIES, "ONNX")?;
                    push(node.feature, MEMBER, 0.0, false, left, right);
                    // ONNX knows no empty set; one half is no category.
                    let no_category = some.is_empty().then_some(0.5);
                    nodes.members.extend(some.iter().map(f64::from).chain(no_category));
                    nodes.members.push(f64::NAN);
                }
            }
        }
        let mut leaves = tree.leaves.clone();
        if tree.nodes.is_empty() {
            // A tree starts with a node: one whose branches hold the same.
            push(0, AT_MOST, 0.0, true, (first_leaf, 1), (first_leaf + 1, 1));
            leaves.push(leaves[0]);
        }
        nodes.leaf_targets.extend(leaves.iter().map(|_| (t % ensemble.outputs) as u64));
        nodes.leaf_weights.extend(leaves);
    }
    Ok(model(ensemble, export, &nodes))
}

fn model(ensemble: &Ensemble, export: &Export, nodes: &Nodes) -> Vec<u8> {
    let cast = Message::new()
        .text(1, "features")
        .text(2, "values")
        .text(4, "Cast")
        .message(5, &number("to", DOUBLE));
    let mut trees = Message::new()
        .text(1, "values")
        .text(2, "scores")
        .text(4, "TreeEnsemble")
        .message(5, &number("n_targets", ensemble.outputs as u64))
        .message(5, &number("aggregate_function", 1))
        .message(5, &number("post_transform", 0))
        .message(5, &numbers("nodes_featureids", &nodes.features))
        .message(5, &doubles("nodes_splits", &nodes.splits))
        .message(5, &tensor("nodes_modes", UINT8, nodes.modes.len(), &nodes.modes))
        .message(5, &numbers("nodes_missing_value_tracks_true", &nodes.missing_true))
        .message(5, &numbers("nodes_truenodeids", &nodes.true_ids))
        .message(5, &numbers("nodes_trueleafs", &nodes.true_leaves))
        .message(5, &numbers("nodes_falsenodeids", &nodes.false_ids))
        .message(5, &numbers("nodes_falseleafs", &nodes.false_leaves))
        .message(5, &numbers("leaf_targetids", &nodes.leaf_targets))
        .message(5, &doubles("leaf_weights", &nodes.leaf_weights))
        .message(5, &numbers("tree_roots", &nodes.roots));
    if !nodes.members.is_empty() {
        trees = trees.message(5, &doubles("membership_values", &nodes.members));
    }
    let graph = Message::new()
        .message(1, &cast)
        .message(1, &trees.text(7, "ai.onnx.ml"))
        .text(2, "toprank")
        .message(11, &described("features", Kind::Float, &[None, Some(ensemble.width)]))
        .message(12, &described("scores", Kind::Double, &[None, Some(ensemble.outputs)]));
    let notes = [("features", &*names(ensemble, export.names).join(" "))];
    toprank_onnx::model(&graph, &[("", 21), ("ai.onnx.ml", 5)], &notes)
}

fn number(name: &str, value: u64) -> Message {
    Message::new().text(1, name).number(3, value).number(20, INT)
}

fn numbers(name: &str, values: &[u64]) -> Message {
    values
        .iter()
        .fold(Message::new().text(1, name), |message, &value| message.number(8, value))
        .number(20, INTS)
}

fn doubles(name: &str, values: &[f64]) -> Message {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor(name, DOUBLE, values.len(), &raw)
}

fn tensor(name: &str, kind: u64, len: usize, raw: &[u8]) -> Message {
    let tensor = Message::new().number(1, len as u64).number(2, kind).text(8, name).bytes(9, raw);
    Message::new().text(1, name).message(5, &tensor).number(20, TENSOR)
}
