/*!
Solr's `MultipleAdditiveTreesModel` (JSON for its model store).

Solr adds 1e-6 to every threshold when it loads a model, in `f32`: what is written is a number that becomes the threshold
that way. Few small thresholds (below about 1e-6, with digits finer than 1e-13) cannot be reached; such a model is refused.
With `isNullSameAsZero: false` (Solr 9.2) missing values go where a node's `"missing"` says; Solr fails where it is absent.
*/

use serde_json::{Map, Value, json};
use toprank_core::ModelError;
use toprank_data::ReadError;

use super::shape::{folded_single, java, names, one_output, shallow, threshold};
use super::{Export, Format, Player};
use crate::ensemble::Ensemble;
use crate::tree::{Next, Test, Tree};

/// The JSON.
pub(crate) const FORMAT: Format = Format {
    name: "solr",
    extension: "json",
    about: "Solr's MultipleAdditiveTreesModel",
    single: true,
    sees: |value, _| value,
    write,
    read: None,
    play: |bytes, _| play(bytes),
};

/// Solr's `NODE_SPLIT_SLACK`.
const SLACK: f32 = 1e-6;

/// The number that Solr turns into this threshold.
fn before_slack(threshold: f32) -> Option<f32> {
    let near = threshold - SLACK;
    [near, near.next_up(), near.next_down()].into_iter().find(|written| written + SLACK == threshold)
}

fn write(ensemble: &Ensemble, export: &Export) -> Result<Vec<u8>, ModelError> {
    one_output(ensemble, "Solr")?;
    let trees = folded_single(ensemble)?;
    let names = names(ensemble, export.names);
    let mut list = Vec::with_capacity(trees.len());
    for (t, tree) in trees.iter().enumerate() {
        shallow(tree, t)?;
        for (at, node) in tree.nodes.iter().enumerate() {
            let threshold = threshold(node, t, at, "Solr")?;
            if before_slack(threshold).is_none() {
                return Err(ModelError::new(
                    format!("tree {}, split {} has the threshold {threshold:?}", t + 1, at + 1),
                    "one that a number plus 1e-6 reaches in f32: Solr adds that to every threshold",
                ));
            }
        }
        let root = if tree.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) };
        list.push(json!({"weight": "1.0", "root": place(tree, root, &names)}));
    }
    let features: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    let model = json!({
        "class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel",
        "name": "toprank",
        "features": features,
        "params": {"isNullSameAsZero": false, "trees": list},
    });
    let mut bytes = serde_json::to_vec(&model)
        .map_err(|error| ModelError::new(error.to_string(), "a model that fits into JSON"))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn place(tree: &Tree, next: Next, names: &[String]) -> Value {
    match next {
        Next::Leaf(leaf) => json!({"value": java(tree.leaves[leaf as usize] as f32)}),
        Next::Node(at) => {
            let node = &tree.nodes[at as usize];
            let Test::AtMost(threshold) = node.test else { unreachable!("refused before") };
            let written = before_slack(threshold).unwrap_or(f32::NAN);
            let mut json = Map::new();
            json.insert("feature".into(), json!(names[node.feature as usize]));
            json.insert("threshold".into(), json!(java(written)));
            json.insert("missing".into(), json!(if node.missing_left { "left" } else { "right" }));
            json.insert("left".into(), place(tree, node.left, names));
            json.insert("right".into(), place(tree, node.right, names));
            Value::Object(json)
        }
    }
}

/// Evaluates the JSON itself.
fn play(bytes: &[u8]) -> Result<Player, ReadError> {
    let model: Value = serde_json::from_slice(bytes)
        .map_err(|error| ReadError::data("the written model", error.to_string(), "JSON"))?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let names: Vec<Value> = list(&model["features"]).iter().map(|feature| feature["name"].clone()).collect();
    let trees = list(&model["params"]["trees"]);
    let number = |value: &Value| value.as_str().and_then(|text| text.parse::<f32>().ok());
    let walk = move |tree: &Value, row: &[f32]| -> Option<f32> {
        let mut at = &tree["root"];
        while !at["feature"].is_null() {
            let value = *row.get(names.iter().position(|name| *name == at["feature"])?)?;
            let left = match value.is_nan() {
                true => at["missing"].as_str()? == "left",
                false => value <= number(&at["threshold"])? + SLACK,
            };
            at = &at[if left { "left" } else { "right" }];
        }
        Some(number(&tree["weight"])? * number(&at["value"])?)
    };
    // NaN, where the JSON lacks something, equals no value of a leaf.
    Ok(Box::new(move |row| trees.iter().map(|tree| walk(tree, row).map_or(f64::NAN, f64::from)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn thresholds_from_a_millionth_on_can_be_written(threshold in prop_oneof![1e-6f32..1e9, -1e9f32..-1e-5]) {
            let written = before_slack(threshold);
            prop_assert_eq!(written.map(|written| written + SLACK), Some(threshold));
        }
    }

    #[test]
    fn zero_can_be_written_and_a_finer_number_than_the_slack_holds_cannot() {
        assert_eq!(before_slack(0.0), Some(-1e-6));
        assert_eq!(before_slack(1e-30), None);
    }

    #[test]
    fn every_node_says_where_missing_values_go() {
        let (_, model) = super::super::test_models::models().swap_remove(0);
        let written = String::from_utf8(write(&model, &Export::default()).unwrap()).unwrap();
        let nodes: usize = model.trees.iter().map(|tree| tree.nodes.len()).sum();
        let sides = ["left", "right"].map(|side| written.matches(&format!(r#""missing":"{side}""#)).count());
        assert_eq!(sides[0] + sides[1], nodes);
        assert!(sides[0] > 0 && sides[1] > 0, "{sides:?}");
    }
}
