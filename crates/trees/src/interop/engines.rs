/*!
XGBoost's JSON dump (`Booster.get_dump(dump_format="json")`) as search engines read it: Elasticsearch's and OpenSearch's Learning to
Rank plug-ins (`model/xgboost+json`) and Vespa.

All compare `value < split_condition`, so a threshold is written as the next float above it, with the digits of that float as `f64`:
Elasticsearch and OpenSearch read it as `f32`, Vespa as `f64`. What they do with a feature that has no value:

| engine | versions | missing values |
|---|---|---|
| Elasticsearch LTR | before the merge of #480 and #482 (January 2024) | count as 0 |
| Elasticsearch LTR | since then | NaN, by the node's `missing` |
| OpenSearch LTR | before 3.2 | count as 0 |
| OpenSearch LTR | 3.2 to the mending of #378 | NaN, always to `no` |
| OpenSearch LTR | since then | NaN, by the node's `missing`, as 0 where the model says `missing_as_zero` |
| Vespa | all | NaN by the node's `missing`; an attribute without a value is 0 |

The plug-ins of Elasticsearch and OpenSearch therefore get models only whose missing values follow the branch of 0, which both ways of
reading score alike; others are refused, unless [`Missing::AsZero`](super::Missing::AsZero) says that missing values were set to 0.
The versions of OpenSearch that send every missing value to `no` score such values otherwise whatever is written: update them, or log
0 for features without a value. Vespa gets any model.

Sources: the parsers of the plug-ins (`XGBoostJsonParser.java`, `NaiveAdditiveDecisionTree.java`) and their issues of these numbers;
Vespa's manual of ranking with XGBoost models.
*/

use serde_json::{Map, Value, json};
use toprank_core::ModelError;
use toprank_data::ReadError;

use super::shape::{folded_single, missing_as_zero, names, one_output, shallow, threshold};
use super::{Export, Format, Missing, Player};
use crate::ensemble::Ensemble;
use crate::tree::{Next, Node, Tree};

/// For Elasticsearch.
pub(crate) const ELASTICSEARCH: Format = Format {
    name: "es-ltr",
    extension: "json",
    about: "Elasticsearch's Learning to Rank plug-in (model/xgboost+json)",
    single: true,
    sees: |value, _| value,
    write: |ensemble, export| dump(ensemble, export, "Elasticsearch LTR", true),
    read: None,
    play: |bytes, names| play(bytes, names, |text| text.parse::<f32>().ok().map(f64::from)),
};

/// For OpenSearch.
pub(crate) const OPENSEARCH: Format = Format {
    name: "opensearch-ltr",
    about: "OpenSearch's Learning to Rank plug-in (model/xgboost+json)",
    write: |ensemble, export| dump(ensemble, export, "OpenSearch LTR", true),
    ..ELASTICSEARCH
};

/// For Vespa.
pub(crate) const VESPA: Format = Format {
    name: "vespa",
    about: "Vespa's xgboost(\"…\") ranking expression",
    write: |ensemble, export| dump(ensemble, export, "Vespa", false),
    play: |bytes, names| play(bytes, names, |text| text.parse::<f64>().ok()),
    ..ELASTICSEARCH
};

/// The array of trees. `by_zero`: missing values must follow the branch of 0.
fn dump(ensemble: &Ensemble, export: &Export, engine: &str, by_zero: bool) -> Result<Vec<u8>, ModelError> {
    one_output(ensemble, engine)?;
    let trees = folded_single(ensemble)?;
    let names = names(ensemble, export.names);
    let mut all = Vec::with_capacity(trees.len());
    for (t, tree) in trees.iter().enumerate() {
        shallow(tree, t)?;
        for (at, node) in tree.nodes.iter().enumerate() {
            let written = threshold(node, t, at, engine)?.next_up();
            if !written.is_finite() {
                return Err(ModelError::new(
                    format!("tree {}, split {} has the threshold {written:?}", t + 1, at + 1),
                    "a finite number, which JSON can hold",
                ));
            }
            if by_zero {
                missing_as_zero(node, t, at, export.missing, engine)?;
            }
        }
        let root = if tree.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) };
        all.push(place(tree, root, 0, &mut 0, &names, export.missing));
    }
    let mut bytes = serde_json::to_vec(&all)
        .map_err(|error| ModelError::new(error.to_string(), "a model that fits into JSON"))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// A node with those below it, numbered in the order of writing.
fn place(
    tree: &Tree,
    next: Next,
    depth: usize,
    free: &mut usize,
    names: &[String],
    missing: Missing,
) -> Value {
    let id = *free;
    *free += 1;
    match next {
        Next::Leaf(leaf) => json!({"nodeid": id, "leaf": f64::from(tree.leaves[leaf as usize] as f32)}),
        Next::Node(at) => {
            let node: &Node = &tree.nodes[at as usize];
            let crate::Test::AtMost(threshold) = node.test else { unreachable!("refused before") };
            let yes = *free;
            let left = place(tree, node.left, depth + 1, free, names, missing);
            let no = *free;
            let right = place(tree, node.right, depth + 1, free, names, missing);
            let to_yes = match missing {
                Missing::Exact => node.goes_left(f32::NAN),
                Missing::AsZero => node.goes_left(0.0),
            };
            let mut json = Map::new();
            json.insert("nodeid".into(), json!(id));
            json.insert("depth".into(), json!(depth));
            json.insert("split".into(), json!(names[node.feature as usize]));
            json.insert("split_condition".into(), json!(f64::from(threshold.next_up())));
            json.insert("yes".into(), json!(yes));
            json.insert("no".into(), json!(no));
            json.insert("missing".into(), json!(if to_yes { yes } else { no }));
            json.insert("children".into(), json!([left, right]));
            Value::Object(json)
        }
    }
}

/// A node as an engine keeps it.
enum Step {
    Leaf(f64),
    Split { feature: usize, condition: f64, missing_yes: bool, yes: Box<Step>, no: Box<Step> },
}

/// Evaluates the JSON itself; `names` say where the features are, `number` reads a condition as the engine does.
fn play(bytes: &[u8], names: &[String], number: fn(&str) -> Option<f64>) -> Result<Player, ReadError> {
    let wrong = |found: &str| ReadError::data("the written model", found, "XGBoost's JSON dump");
    let model: Value = serde_json::from_slice(bytes).map_err(|error| wrong(&error.to_string()))?;
    let trees = model.as_array().ok_or_else(|| wrong("no array of trees"))?;
    let steps: Option<Vec<Step>> = trees.iter().map(|tree| step(tree, names, number)).collect();
    let steps = steps.ok_or_else(|| wrong("a node that lacks something"))?;
    Ok(Box::new(move |row| steps.iter().map(|step| value(step, row)).collect()))
}

fn step(node: &Value, names: &[String], number: fn(&str) -> Option<f64>) -> Option<Step> {
    if let Some(leaf) = node.get("leaf") {
        return Some(Step::Leaf(f64::from(leaf.as_f64()? as f32)));
    }
    let children = node["children"].as_array()?;
    let [yes, no] = &children[..] else { return None };
    if yes["nodeid"] != node["yes"] || no["nodeid"] != node["no"] {
        return None;
    }
    Some(Step::Split {
        feature: names.iter().position(|name| node["split"] == **name)?,
        condition: number(&node["split_condition"].to_string())?,
        missing_yes: node["missing"] == node["yes"],
        yes: Box::new(step(yes, names, number)?),
        no: Box::new(step(no, names, number)?),
    })
}

fn value(step: &Step, row: &[f32]) -> f64 {
    match step {
        Step::Leaf(leaf) => *leaf,
        Step::Split { feature, condition, missing_yes, yes, no } => {
            let found = row.get(*feature).copied().unwrap_or(f32::NAN);
            let is_yes = if found.is_nan() { *missing_yes } else { f64::from(found) < *condition };
            value(if is_yes { yes } else { no }, row)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Test;

    fn model(missing_left: bool) -> Ensemble {
        let node = Node::new(1, Test::AtMost(0.1), missing_left, Next::Leaf(0), Next::Leaf(1));
        let trees = vec![Tree { nodes: vec![node], leaves: vec![-1.5, 2.0] }];
        Ensemble { trees, ..Ensemble::new(2, 1) }
    }

    #[test]
    fn a_tree_is_written_as_xgboost_dumps_it() {
        let names = ["title".to_string(), "body".to_string()];
        let export = Export { names: &names, ..Export::default() };
        let written = (ELASTICSEARCH.write)(&model(true), &export).unwrap();
        let above = f64::from(0.1f32.next_up());
        let expected = json!([{
            "nodeid": 0, "depth": 0, "split": "body", "split_condition": above, "yes": 1, "no": 2, "missing": 1,
            "children": [{"nodeid": 1, "leaf": -1.5}, {"nodeid": 2, "leaf": 2.0}],
        }]);
        assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), expected);
    }

    #[test]
    fn missing_values_that_do_not_follow_0_are_refused_or_rewritten_where_versions_differ() {
        let elsewhere = model(false);
        for format in [&ELASTICSEARCH, &OPENSEARCH] {
            let error = (format.write)(&elsewhere, &Export::default()).unwrap_err().to_string();
            assert!(error.contains("sends missing values of feature 2 elsewhere than 0"), "{error}");
            let zero = Export { missing: Missing::AsZero, ..Export::default() };
            let written = String::from_utf8((format.write)(&elsewhere, &zero).unwrap()).unwrap();
            assert!(written.contains(r#""missing":1"#), "{written}");
        }
        let vespa = String::from_utf8((VESPA.write)(&elsewhere, &Export::default()).unwrap()).unwrap();
        assert!(vespa.contains(r#""missing":2"#), "{vespa}");
    }

    #[test]
    fn a_condition_reads_as_the_same_float_in_both_precisions() {
        for threshold in [0.1f32, 0.3, 1e-30, 16_777_216.0, -0.7] {
            let text = json!(f64::from(threshold.next_up())).to_string();
            assert_eq!(text.parse::<f32>().unwrap(), threshold.next_up());
            assert_eq!(text.parse::<f64>().unwrap(), f64::from(threshold.next_up()));
        }
    }
}
